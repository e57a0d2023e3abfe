"""The audit chain of a store: sealing its head, verifying it against everything at hand, exporting it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from crp_mcp.errors import NotFound
from crp_mcp.keys import Keyring
from crp_mcp.proof.chain import Head, Record, read_checkpoint
from crp_mcp.proof.chain_verify import MAX_FAULTS, ChainVerdict, Fault, FaultKind, Verdict, verify_chain
from crp_mcp.proof.export import ExportedReceipt, export_lines
from crp_mcp.store import Snapshot, SqliteStore, chain, stones
from crp_mcp.store.survey import survey

from .audit.entries import Entries
from .audit.erasures import Erasures
from .audit.findings import Findings
from .audit.ledger import Ledger
from .audit.payloads import Payloads
from .audit.receipts import Receipts
from .audit.rest import Rest
from .sealing import Sealer


@dataclass(frozen=True, slots=True)
class Audit:
    """The verdict on a store: its chain's, worsened by what else does not fit."""

    verdict: Verdict
    chain: ChainVerdict
    faults: tuple[Fault, ...]
    """The first ones; `total` counts all."""
    total: int
    receipts: int
    entries: int
    payload_bytes: int
    """Bytes of payloads that were read and hashed."""
    note: str


@dataclass(slots=True)
class Auditor:
    """One store's chain. `now`: epoch seconds."""

    store: SqliteStore
    keyring: Keyring
    sealer: Sealer
    now: Callable[[], float]

    def seal(self, *, every: int = 1) -> bool:
        """Sign a checkpoint over the head if at least `every` records came since the last one."""
        head, marks = self.store.head(), self.store.checkpoints()
        if head.seq - (marks[-1].seq if marks else 0) < every:
            return False
        mark = self.sealer.checkpoint(head, self.now())
        self.store.add_checkpoint(mark.seq, mark.body, mark.at)
        return True

    def verify(self, *, conversation: str | None = None, kept: Iterable[bytes] = (), payloads: bool = True) -> Audit:
        """Hold one state of the store against its chain, its receipts and checkpoints (`kept`: from elsewhere).

        With `conversation` MACs, entries and payloads of that one alone: for who wants to show it. Without `payloads`
        their bytes are not read. Memory does not grow with the store.

        Raises:
            StoreError: SQLite cannot read the store.
            NotFound: the chain is whole and nothing in it, nor in the store, is of such a conversation.
        """
        findings = Findings()
        with survey(self.store.path, self.store.busy_seconds) as db:
            ledger = Ledger(db, conversation)
            walked = verify_chain(
                ledger.over(chain.records(db, 1)),
                checkpoints=[*(mark.body for mark in chain.checkpoints(db)), *kept],
                keys=self.keyring.own,
                verify_signature=self.keyring.verify,
                mac_keys=self.keyring.mac_keys,
                session=conversation,
                expected_head=_head(chain.snapshot(db), findings),
            )
            keys, check, lattice = self.keyring.public_keys(), self.keyring.verify, self.sealer.lattice
            entries = Entries(ledger, findings, lattice)
            receipts = Receipts(ledger, findings, keys, check, lattice)
            held = Payloads(db, findings)
            entries.check()
            receipts.check()
            erasures = Erasures(ledger, findings, keys, check)
            erasures.check()
            Rest(ledger, findings).check()
            held.check(conversation, bytes_too=payloads)
        verdict, note = _judge(walked, findings, entries.thin, erasures.thin, payloads)
        if conversation is not None and not ledger.seen:
            if not walked.faults:  # a record of it that was taken away would have left a gap
                self._must_know(conversation)
            note += f" No record is of {conversation!r}."
        faults = (*walked.faults, *findings.faults)[:MAX_FAULTS]
        total = len(walked.faults) + findings.total
        return Audit(verdict, walked, faults, total, receipts.checked, entries.checked, held.read, note)

    def _must_know(self, conversation: str) -> None:
        """Raises NotFound, with the names nearest to it, for a conversation that the store does not have."""
        there = {one.scope.conversation for one in self.store.conversations()}
        if conversation in there:
            return
        import difflib  # only on the way to an error

        near = difflib.get_close_matches(conversation, sorted(there), n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "`crp-mcp audit verify` checks all of them"
        raise NotFound(f"--conversation: there is no conversation {conversation!r} in this store; {hint}")

    def export(self) -> Iterator[bytes]:
        """The export, line by line; ends with a checkpoint over its head and a seal over all lines."""
        self.seal()
        snapshot = self.store.snapshot()
        head = snapshot.head
        at = int(self.now())
        marks = [mark.body for mark in self.store.checkpoints() if mark.seq <= head.seq]
        own, check = self.keyring.own, self.keyring.verify
        return export_lines(
            head=head,
            records=_until(self.store.records(), head.seq),
            checkpoints=[read_checkpoint(body, keys=own, verify_signature=check) for body in marks],
            receipts=(ExportedReceipt(r.body, r.leaves) for r in self.store.all_receipts(snapshot.receipts)),
            tombstones=self.store.ask(stones.tombstones, snapshot.tombstones),
            public_keys=self.keyring.public_keys(),
            at=at,
            kid=self.keyring.kid,
            sign=self.keyring.sign,
            lattice=self.sealer.lattice,
        )


def _head(snapshot: Snapshot | None, findings: Findings) -> Head | None:
    """Where the chain must end, as it is noted apart from the records."""
    if snapshot is None:
        findings.add(FaultKind.TAIL, "the note of where the chain ends is not here, so a cut end would not show")
    return None if snapshot is None else snapshot.kept


def _judge(walked: ChainVerdict, findings: Findings, thin: int, evicted: int, payloads: bool) -> tuple[Verdict, str]:
    if walked.verdict is Verdict.BROKEN:
        return Verdict.BROKEN, walked.note
    if findings.total:
        return Verdict.BROKEN, f"The store is broken: {findings.faults[0].message}."
    verdict, note = walked.verdict, walked.note
    older = "the records, made by an older version, do not cover arguments and times."
    for count, what in ((thin, "entries"), (evicted, "evicted entries")):
        if count:
            verdict = Verdict.PARTIAL if verdict is Verdict.VALID else verdict
            note += f" Of {count:,} {what} {older}"
    return verdict, note if payloads else note + " Payload bytes were not read."


def _until(records: Iterable[Record], last: int) -> Iterator[Record]:
    for record in records:
        if record.seq > last:
            return
        yield record


def checkpoint_bodies(texts: Sequence[bytes]) -> list[bytes]:
    """Checkpoints in files kept elsewhere: one a line, or lines of an export."""
    found = []
    for text in texts:
        for line in text.splitlines():
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except ValueError:
                found.append(line)
                continue
            if isinstance(value, dict) and value.get("type") == "checkpoint" and isinstance(value.get("body"), str):
                found.append(value["body"].encode())
            elif not (
                isinstance(value, dict) and value.get("type") in ("header", "record", "receipt", "tombstone", "seal")
            ):
                found.append(line)
    return found
