"""Every receipt verified again with its leaves, and held against the record that it was issued."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from crp_mcp.errors import Rejected
from crp_mcp.proof.chain_verify import FaultKind
from crp_mcp.proof.eccr import VerifiedReceipt, verify
from crp_mcp.proof.lattice import Lattice
from crp_mcp.proof.signed import Keys, VerifySignature
from crp_mcp.store.ids import number_of
from crp_mcp.store.survey import ReceiptRow, receipt_rows

from .findings import Findings
from .ledger import Ledger

_LOST = (
    "SELECT i.receipt, i.id, min(i.seq), count(*) FROM said.issued i WHERE NOT EXISTS ("
    "SELECT 1 FROM said.gone g WHERE g.id = i.id AND g.session = i.session AND g.how = 'purged' AND g.seq > i.seq) "
    "AND NOT EXISTS (SELECT 1 FROM said.promoted p JOIN said.gone g ON g.id = p.source AND g.how = 'purged' "
    "AND g.seq > p.seq WHERE p.receipt = i.receipt) "
    "AND NOT EXISTS (SELECT 1 FROM said.promoted p JOIN said.erased e ON e.fact = p.fact AND e.seq > p.seq "
    "WHERE p.receipt = i.receipt) "
    "GROUP BY i.receipt HAVING count(*) > coalesce((SELECT copies FROM said.stored s WHERE s.receipt = i.receipt), 0) "
    "ORDER BY 3"
)
"""Receipts that were issued and are not here, though nothing they are of was erased."""


@dataclass(slots=True)
class Receipts:
    """`checked`: receipts that were verified. Fills the ledger's `stored`, `off` and `built`."""

    ledger: Ledger
    findings: Findings
    keys: Keys
    verify_signature: VerifySignature
    lattice: Lattice
    checked: int = 0

    def check(self) -> None:
        for row in receipt_rows(self.ledger.db):
            self.checked += 1
            self._check(row)
        for digest, name, seq, _ in self.ledger.db.execute(_LOST):
            of = f" of {name}" if name else ""
            message = f"receipt {digest}{of} was issued (record {seq}) and is not here, and nothing it is of was erased"
            self.findings.add(FaultKind.RECEIPT, message, seq=seq, item=name or digest)
        orphans = (
            "SELECT DISTINCT receipt_id FROM leaf WHERE NOT EXISTS (SELECT 1 FROM receipt r WHERE r.id = receipt_id)"
        )
        for (number,) in self.ledger.db.execute(orphans):
            self.findings.add(FaultKind.RECEIPT, f"leaves are here of a receipt that is not (row {number})")

    def _check(self, row: ReceiptRow) -> None:
        self.ledger.db.execute(
            "INSERT INTO said.stored VALUES (?, 1) ON CONFLICT DO UPDATE SET copies = copies + 1", (row.digest,)
        )
        issued = self.ledger.ask("SELECT id, session, seq FROM said.issued WHERE receipt = ? LIMIT 1", row.digest)
        own, session, seq = issued[0] if issued else (None, None, 0)
        if not issued:
            self._fault(row, 0, "no record says that it was issued")
        try:
            found = self._verify(row)
        except Rejected as refusal:
            return self._fault(row, seq, f"it does not verify: {refusal}")
        if not row.well:
            self._fault(row, seq, "its leaves were added to, moved or taken away")
        if found.receipt.supersedes != row.supersedes:
            self._fault(row, seq, "it says that it replaces another receipt than the row does")
        place = "SELECT max(space_id = ?) FROM conversation WHERE name = ?"
        if self.ledger.ask(place, row.space_id, session)[0][0] == 0:
            self._fault(row, seq, "it stands in another project than the conversation it was issued in")
        gone = "SELECT 1 FROM said.gone WHERE id = ? AND session = ? AND how = 'purged'"
        self._check_leaves(row, found, own, seq, built=own is not None and not self.ledger.ask(gone, own, session))
        return None

    def _fault(self, row: ReceiptRow, seq: int, what: str) -> None:
        where = f" (record {seq})" if seq else ""
        self.findings.add(FaultKind.RECEIPT, f"receipt {row.digest}: {what}{where}", seq=seq, item=row.digest)

    def _verify(self, row: ReceiptRow) -> VerifiedReceipt:
        found = verify(
            row.body,
            keys=self.keys,
            verify_signature=self.verify_signature,
            now=None,  # as history: its times are past
            lattice=self.lattice,
            leaves=[body for _, body in row.leaves],
        )
        if "sha256:" + hashlib.sha256(row.body).hexdigest() != row.digest:
            raise Rejected("its bytes do not have its digest", code="BAD_HASH")
        return found

    def _check_loose(self, row: ReceiptRow, leaf: int, digest: str, item: str, seq: int) -> None:
        """A leaf of a turn, a fact or a file in an assembled context: kept as what was recorded, in force or not."""
        given = dict(self.ledger.ask("SELECT leaf, item FROM said.given WHERE receipt = ?", row.digest))
        said = given.get(leaf) if given else item  # records of older versions say nothing of it
        if item != said and (said is not None or item.startswith(("uko-fact:", "uko-turn:"))):
            self._fault(row, seq, f"a leaf of it is kept as that of {item}, but is that of {said or 'a file'}")
        if self.ledger.ask("SELECT 1 FROM said.gone WHERE digest = ?", digest):
            self.ledger.db.execute("INSERT OR IGNORE INTO said.off VALUES (?)", (row.digest,))

    def _check_leaves(self, row: ReceiptRow, found: VerifiedReceipt, own: str | None, seq: int, *, built: bool) -> None:
        """Which entry each leaf stands for, whether that was purged, and what was therefore built on what."""
        for number, ((item, _), source) in enumerate(zip(row.leaves, found.items or (), strict=True)):
            known = self.ledger.ask("SELECT id FROM said.call WHERE digest = ?", source.digest)
            name = known[0][0] if known else None
            if name is None and item is not None and number_of(item) is None:
                self._check_loose(row, number, source.digest, item, seq)
                continue
            if name is None or item != (None if name == own else name):
                self._fault(row, seq, f"a leaf of it is kept as that of {item or own}, but is that of {name}")
                continue
            purged = self.ledger.ask("SELECT seq FROM said.gone WHERE digest = ?", source.digest)
            if purged and purged[0][0] < seq:
                self._fault(row, seq, f"it was issued over {name} after that was purged")
            elif purged:
                self.ledger.db.execute("INSERT OR IGNORE INTO said.off VALUES (?)", (row.digest,))
            elif built and item is not None:
                noted = "INSERT OR IGNORE INTO said.built VALUES (?, ?, ?)"
                self.ledger.db.execute(noted, (row.space_id, item, own))
