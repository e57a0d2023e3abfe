"""The audit chain of a store: sealing its head, verifying it against everything at hand, exporting it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from crp_mcp.keys import Keyring
from crp_mcp.proof.chain import Record, read_checkpoint, salted_digest
from crp_mcp.proof.chain_verify import MAX_FAULTS, ChainVerdict, Fault, FaultKind, Verdict, verify_chain
from crp_mcp.proof.export import ExportedReceipt, export_lines
from crp_mcp.store import Snapshot, SqliteStore, erase

from .sealing import Sealer

_OTHER_LINES = ("header", "record", "receipt", "tombstone", "seal")


@dataclass(frozen=True, slots=True)
class Audit:
    """The verdict on a store: its chain's, worsened by what else does not fit."""

    verdict: Verdict
    chain: ChainVerdict
    faults: tuple[Fault, ...]
    receipts: int
    entries: int
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

    def verify(self, *, conversation: str | None = None, kept: Iterable[bytes] = ()) -> Audit:
        """Verify the whole chain with the secret, against checkpoints (`kept`: those from elsewhere) and the store.

        With `conversation` only its MACs are checked: that is for who wants to show one conversation.
        """
        there = list(self._digests(conversation))  # before the chain is looked at: what is there has its record by then
        snapshot, walk = self.store.snapshot(), _Walk(conversation)
        chain = verify_chain(
            walk.over(self.store.records(), snapshot.head.seq),
            checkpoints=[*(mark.body for mark in self.store.checkpoints()), *kept],
            keys=self.keyring.own,
            verify_signature=self.keyring.verify,
            mac_keys=self.keyring.mac_keys,
            session=conversation,
            expected_head=snapshot.kept,
        )
        faults = list(chain.faults)
        receipts = self._receipts(snapshot, walk, faults)
        for session, name, digest in there:
            faults += _misfit(name, digest, walk.outputs.get((session, name)))
        if conversation is not None and not walk.seen:
            faults.append(Fault(FaultKind.MISSING, 0, 0, f"no record of conversation {conversation!r} is here"))
        verdict, note = chain.verdict, chain.note
        if len(faults) > len(chain.faults):
            verdict = Verdict.BROKEN
            note = chain.note if chain.verdict is Verdict.BROKEN else f"The store is broken: {faults[0].message}."
        return Audit(verdict, chain, tuple(faults[:MAX_FAULTS]), receipts, len(there), note)

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
            tombstones=self.store.ask(erase.tombstones, snapshot.tombstones),
            public_keys=self.keyring.public_keys(),
            at=at,
            kid=self.keyring.kid,
            sign=self.keyring.sign,
            lattice=self.sealer.lattice,
        )

    def _receipts(self, snapshot: Snapshot, walk: _Walk, faults: list[Fault]) -> int:
        """Every receipt must have its record: else records were cut off, or it was never issued here."""
        count = 0
        for receipt in self.store.all_receipts(snapshot.receipts):
            count += 1
            if receipt.digest not in walk.issued:
                message = f"no record says that receipt {receipt.digest} was issued"
                faults.append(Fault(FaultKind.RECEIPT, 0, 0, message))
        return count

    def _digests(self, conversation: str | None) -> Iterator[tuple[str, str, str]]:
        """(conversation, id, salted digest) of every entry that is there."""
        for session, name, salt, digest in self.store.ask(erase.entry_digests):
            if conversation in (None, session):
                yield session, name, salted_digest(salt, digest)


def _misfit(name: str, digest: str, recorded: str | None) -> list[Fault]:
    """Every entry must be the one its call was recorded with."""
    if recorded == digest:
        return []
    what = "has no record of its call" if recorded is None else "is not what its call was recorded with"
    return [Fault(FaultKind.RECEIPT, 0, 0, f"{name} {what}")]


class _Walk:
    """What the records say of receipts and entries, gathered while the chain is verified."""

    def __init__(self, conversation: str | None) -> None:
        self._conversation = conversation
        self.issued: set[str] = set()
        self.outputs: dict[tuple[str, str], str] = {}
        self.seen = False

    def over(self, records: Iterable[Record], last: int) -> Iterator[Record]:
        for record in records:
            if record.seq > last:
                return
            if b'"RECEIPT_ISSUED"' in record.body or b'"TOOL_CALL"' in record.body or self._conversation:
                self._note(record.body)
            yield record

    def _note(self, body: bytes) -> None:
        try:
            record = json.loads(body)
            data, session = record["data"], record["session_id"]
            self.seen = self.seen or session == self._conversation
            if record["event_type"] == "RECEIPT_ISSUED":
                self.issued.add(data["receipt"])
            elif record["event_type"] == "TOOL_CALL" and "scratch_id" in data:
                self.outputs[session, data["scratch_id"]] = data["output_hash"]
        except (ValueError, KeyError, TypeError):
            return  # a record that is not one is a fault of the chain, named there


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
