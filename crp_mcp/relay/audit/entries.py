"""Every entry held against the record of its call, its receipt in force, and its payload's row."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import orjson

from crp_mcp.proof.chain import salted_digest, salted_hash
from crp_mcp.proof.chain_verify import FaultKind
from crp_mcp.proof.lattice import Lattice
from crp_mcp.relay.sealing import call_hash_of, canonical_arguments, text_hash
from crp_mcp.store.codec import CHUNK_BYTES
from crp_mcp.store.fixed import fixed_bytes
from crp_mcp.store.ids import number_of
from crp_mcp.store.survey import EntryRow, entry_rows

from .findings import Findings
from .ledger import Ledger

_CALL = """
SELECT c.session, c.id, c.seq, c.tool, c.input, c.fixed,
    (SELECT min(g.seq) FROM said.gone g WHERE g.digest = c.digest AND g.seq > c.seq),
    EXISTS (SELECT 1 FROM said.gone e WHERE e.id = c.id AND e.session = c.session AND e.how = 'evicted'),
    coalesce((SELECT p.pinned FROM said.pin p WHERE p.id = c.id AND p.session = c.session), 0),
    (SELECT min(i.seq) FROM said.issued i WHERE i.receipt = ?2 AND i.id = c.id AND i.session = c.session),
    (SELECT min(n.seq) FROM said.issued n WHERE n.supersedes = ?2 AND n.id = c.id AND n.session = c.session),
    (SELECT r.id FROM said.replaced r WHERE r.old = c.id AND r.session = c.session ORDER BY r.seq DESC LIMIT 1)
FROM said.call c WHERE c.digest = ?1
"""
"""For the digest and the receipt of an entry as it is here; in one statement, since there may be very many entries."""


@dataclass(frozen=True, slots=True)
class Call:
    """The record of an entry's call, and what later ones say of it; the numbers are those of records."""

    session: str
    id: str
    seq: int
    tool: str | None
    input: str | None
    fixed: str | None
    purged: int | None
    evicted: bool
    """Or another one of that name: tenants may share names."""
    pinned: bool
    issued: int | None
    """Where the receipt that the entry names was issued for it, and where another one replaced that."""
    replaced: int | None
    successor: str | None


@dataclass(slots=True)
class Entries:
    """`checked`: entries looked at; `thin`: those whose record says less of them than records do now."""

    ledger: Ledger
    findings: Findings
    lattice: Lattice
    checked: int = 0
    thin: int = 0

    def check(self) -> None:
        """Entries of the conversation that is asked about, or all; then those that should be there."""
        wanted = self.ledger.session
        for row in entry_rows(self.ledger.db):
            self.ledger.db.execute("INSERT OR IGNORE INTO said.held VALUES (?)", (row.payload_id,))
            digest = self._digest(row)
            call = None if digest is None else self._call(digest, row.receipt)
            if wanted is not None and wanted not in (row.conversation, call and call.session):
                continue
            self.checked += 1
            if call is None or digest is None:
                self._unrecorded(row)
                continue
            self.ledger.db.execute("UPDATE said.call SET seen = 1 WHERE digest = ?", (digest,))
            self._check(row, call, digest)
        self._missing()

    def _fault(self, row: EntryRow, seq: int, what: str, kind: FaultKind = FaultKind.ENTRY) -> None:
        where = f" (record {seq})" if seq else ""
        self.findings.add(kind, f"{row.scratch_id} {what}{where}", seq=seq, item=row.scratch_id)

    def _digest(self, row: EntryRow) -> str | None:
        try:
            return salted_digest(row.salt, row.provenance_hash)
        except (ValueError, TypeError):
            return None

    def _call(self, digest: str, receipt: str | None) -> Call | None:
        found = self.ledger.ask(_CALL, digest, receipt)
        return Call(*found[0]) if found else None

    def _unrecorded(self, row: EntryRow) -> None:
        known = "SELECT digest, seq FROM said.call WHERE id = ? AND session = ? LIMIT 1"
        found = self.ledger.ask(known, row.scratch_id, row.conversation)
        if not found:
            self._fault(row, 0, "has no record of its call")
            return
        self.ledger.db.execute("UPDATE said.call SET seen = 1 WHERE digest = ?", found[0][:1])
        self._fault(row, found[0][1], "is not what its call was recorded with: its hash or salt was changed")

    def _check(self, row: EntryRow, call: Call, digest: str) -> None:
        if (row.scratch_id, row.conversation) != (call.id, call.session) or number_of(call.id) != row.number:
            self._fault(row, call.seq, f"is not where it was recorded: it was {call.id} of another place")
        self._check_fixed(row, call)
        self._check_gone(row, call)
        self._check_pin(row, call)
        self._check_receipt(row, call, digest)
        self._check_successor(row, call)
        self._check_payload(row, call)

    def _check_fixed(self, row: EntryRow, call: Call) -> None:
        """What was recorded of everything that never changes; and of what it was asked, by itself."""
        arguments = self._arguments(row)
        if row.tool_name != call.tool:
            self._fault(row, call.seq, "is labelled as the result of another tool than the one that was called")
        elif call.fixed is None:
            self.thin += 1
        elif salted_hash(row.salt, self._fixed(row, arguments)) != call.fixed:
            asked = salted_hash(row.salt, arguments) == call.input
            what = "label, times, shape or place" if asked else "arguments, label, times, shape or place"
            self._fault(row, call.seq, f"is not as it was recorded: its {what} were changed")
        if row.call_hash is None and not self._stands_in(row):
            self._fault(row, call.seq, "would not be found for the same call: its call_hash was taken")

    def _stands_in(self, row: EntryRow) -> bool:
        """Whether it was made anew after an erasure: then it is no answer to the same call."""
        gone = "SELECT 1 FROM said.gone WHERE id = ? AND session = ? AND how = 'purged'"
        return bool(self.ledger.ask(gone, row.supersedes, row.conversation))

    def _fixed(self, row: EntryRow, arguments: bytes) -> bytes:
        values = (*row.fixed, row.tenant, row.project, row.conversation)
        named = row.call_hash
        if named is None:
            named = call_hash_of(row.server, row.tool_name, arguments)
        return fixed_bytes(values, row.arguments, row.structured, named)

    def _arguments(self, row: EntryRow) -> bytes:
        try:
            value: Any = json.loads(row.arguments)
            return canonical_arguments(value, orjson.dumps(value, default=str))
        except ValueError:
            return b""

    def _check_gone(self, row: EntryRow, call: Call) -> None:
        if call.purged is not None:
            self._fault(row, call.purged, "was purged and is here again", FaultKind.ERASURE)
        evicted = self._evictions(call) if call.evicted else []
        if evicted and len(evicted) >= self._named(call):
            self._fault(row, evicted[0], "was evicted and is here again")

    def _named(self, call: Call) -> int:
        """How many entries were recorded under this id and conversation: one, but for tenants that share a name."""
        known = "SELECT count(*) FROM said.call WHERE id = ? AND session = ?"
        return int(self.ledger.ask(known, call.id, call.session)[0][0])

    def _evictions(self, call: Call) -> list[int]:
        known = "SELECT seq FROM said.gone WHERE id = ? AND session = ? AND how = 'evicted'"
        return [row[0] for row in self.ledger.ask(known, call.id, call.session)]

    def _check_pin(self, row: EntryRow, call: Call) -> None:
        if row.persistence != ("PINNED" if call.pinned else "EPHEMERAL") and self._named(call) == 1:
            said = self.ledger.ask("SELECT seq FROM said.pin WHERE id = ? AND session = ?", call.id, call.session)
            what = "is not pinned, but was" if call.pinned else "is pinned, which nobody recorded"
            self._fault(row, said[0][0] if said else call.seq, what)

    def _check_receipt(self, row: EntryRow, call: Call, digest: str) -> None:
        """The receipt in force is the last one issued for it, and says the same of summary, label and epoch."""
        if call.issued is None:
            return self._fault(row, call.seq, "names a receipt that was not issued for it", FaultKind.RECEIPT)
        if call.replaced is not None:
            return self._fault(row, call.replaced, "names a receipt that another one has replaced", FaultKind.RECEIPT)
        try:
            receipt: dict[str, Any] = orjson.loads(row.receipt_body or b"null") or {}
        except ValueError:
            receipt = {}
        if not receipt:
            return None  # missing or not a receipt: said where receipts are looked at
        for differs, what in self._differences(row, receipt, digest):
            if differs:
                self._fault(row, call.issued, f"differs from its receipt: {what} is another", FaultKind.RECEIPT)
        return None

    def _differences(self, row: EntryRow, receipt: dict[str, Any], digest: str) -> list[tuple[bool, str]]:
        output = digest if row.summary is None else text_hash(row.summary)
        ceiling = receipt.get("inherited_sensitivity_ceiling")
        return [
            (receipt.get("compacted_output_hash") != output, "the summary"),
            (self.lattice.rank(row.label) < self.lattice.rank(ceiling), "the label"),
            (receipt.get("retention_purge_epoch") != row.expires_at, "the retention epoch"),
        ]

    def _check_successor(self, row: EntryRow, call: Call) -> None:
        if row.superseded_by != call.successor and self._named(call) == 1:
            known = "SELECT max(seq) FROM said.replaced WHERE old = ? AND session = ?"
            seq = self.ledger.ask(known, call.id, call.session)[0][0] or call.seq
            self._fault(row, seq, "has a successor that was not recorded, or lost it")

    def _check_payload(self, row: EntryRow, call: Call) -> None:
        there = row.payload
        if there is None:
            return self._fault(row, call.seq, "has no payload", FaultKind.PAYLOAD)
        wrong = [
            what
            for differs, what in (
                (there.owner is not None, "it counts as unfinished, and would be swept"),
                (f"sha256:{there.sha256.hex()}" != row.provenance_hash, "its hash is another"),
                (there.raw_bytes != row.payload_bytes, "its size is another"),
                (there.chunk_bytes != CHUNK_BYTES, "its chunks are of another size"),
                (there.stored_bytes != row.stored_bytes, "its size on disk is another"),
            )
            if differs
        ]
        if wrong:
            self._fault(row, call.seq, f"has a payload that does not fit: {'; '.join(wrong)}", FaultKind.PAYLOAD)
        return None

    def _missing(self) -> None:
        """What was recorded and is neither here, nor purged, nor evicted."""
        sql = (
            "SELECT c.id, c.session, min(c.seq), count(*) FROM said.call c WHERE NOT c.seen AND (?1 IS NULL OR "
            "c.session = ?1) AND NOT EXISTS (SELECT 1 FROM said.gone g WHERE g.digest = c.digest) "
            "GROUP BY c.id, c.session HAVING count(*) > (SELECT count(*) FROM said.gone e WHERE e.id = c.id "
            "AND e.session = c.session AND e.how = 'evicted') ORDER BY 3"
        )
        for name, _, seq, _ in self.ledger.db.execute(sql, (self.ledger.session,)):
            message = f"{name} is gone, and no record says why (record {seq})"
            self.findings.add(FaultKind.ENTRY, message, seq=seq, item=name)
