"""Facts, what was built on what, and signed checkpoints, held against the records of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import orjson

from crp_mcp.proof.chain import CHECKPOINT_EVERY
from crp_mcp.proof.chain_verify import FaultKind

from .findings import Findings
from .ledger import Ledger

_LOST_FACTS = (
    "SELECT p.fact, min(p.seq) FROM said.promoted p WHERE NOT EXISTS (SELECT 1 FROM fact f WHERE f.id = p.fact) "
    "AND NOT EXISTS (SELECT 1 FROM said.gone g WHERE g.id = p.source AND g.how = 'purged' AND g.seq > p.seq) "
    "AND NOT EXISTS (SELECT 1 FROM said.erased e WHERE e.fact = p.fact AND e.seq > p.seq) GROUP BY p.fact"
)
_MILLISECOND = 0.002


@dataclass(slots=True)
class Rest:
    """To be checked after receipts."""

    ledger: Ledger
    findings: Findings

    def check(self) -> None:
        self._facts()
        self._derivations()
        self._checkpoints()

    # -- facts

    def _facts(self) -> None:
        rows = "SELECT id, content, content_hash, source, supersedes, expires_at, created_at, space_id FROM fact"
        for key, content, digest, *rest in self.ledger.db.execute(rows):
            said = self._promotion(key, digest)
            if said is None:
                self._fault(key, 0, "was promoted by no record, or its hash was changed")
                continue
            seq, at, source, supersedes, epoch, space = said
            text = content.encode("utf-8", "surrogateescape")
            if "sha256:" + hashlib.sha256(text).hexdigest() != digest:
                self._fault(key, seq, "says something else than what its receipt was signed over")
            kept = (rest[0], rest[1], rest[2], rest[4])
            if kept != (source, supersedes, epoch, space) or abs(rest[3] - at) > _MILLISECOND:
                self._fault(key, seq, "has another source, predecessor, time, epoch or project than was recorded")
        for key, seq in self.ledger.db.execute(_LOST_FACTS):
            self._fault(key, seq, "is gone, and no record says why")

    def _promotion(self, key: int, digest: str) -> tuple[int, float, str, int | None, int, int] | None:
        """The first promotion whose receipt is over this content: record, time, source, predecessor, epoch, project."""
        sql = (
            "SELECT p.seq, p.at, p.source, p.supersedes, r.space_id, r.body FROM said.promoted p "
            "JOIN receipt r ON r.digest = p.receipt WHERE p.fact = ? ORDER BY p.seq"
        )
        for seq, at, source, supersedes, space, body in self.ledger.ask(sql, key):
            try:
                receipt = orjson.loads(body)
                if receipt["compacted_output_hash"] == digest:
                    return seq, at, source, supersedes, receipt["retention_purge_epoch"], space
            except (ValueError, TypeError, KeyError):
                continue  # no receipt any more: said where receipts are looked at
        return None

    def _fault(self, key: int, seq: int, what: str) -> None:
        where = f" (record {seq})" if seq else ""
        self.findings.add(FaultKind.FACT, f"fact {key} {what}{where}", seq=seq, item=f"fact {key}")

    # -- what was built on what

    def _derivations(self) -> None:
        lost = (
            "SELECT entry, source FROM (SELECT * FROM said.built EXCEPT SELECT space_id, source, entry FROM derivation)"
        )
        for entry, source in self.ledger.db.execute(lost):
            message = f"{entry} was made from {source}, but is not noted as such: a purge would miss it"
            self.findings.add(FaultKind.ENTRY, message, item=entry)
        added = (
            "SELECT entry, source FROM (SELECT space_id, source, entry FROM derivation EXCEPT SELECT * FROM said.built)"
        )
        for entry, source in self.ledger.db.execute(added):
            message = f"{entry} is noted as made from {source}, of which no receipt tells"
            self.findings.add(FaultKind.ENTRY, message, item=entry)

    # -- checkpoints

    def _checkpoints(self) -> None:
        """Their rows say what their signed bodies say, and those that fell due are here."""
        for number, seq, body, at in self.ledger.db.execute("SELECT id, seq, body, created_at FROM checkpoint"):
            try:
                signed = orjson.loads(body)
                fits = (signed["seq"], signed["time"]) == (seq, int(at))
            except (ValueError, TypeError, KeyError):
                fits = False
            if not fits:
                message = f"checkpoint {number} is kept under another record or time than it was signed for"
                self.findings.add(FaultKind.CHECKPOINT, message, seq=seq)
        due = (
            f"SELECT seq FROM record WHERE seq % {CHECKPOINT_EVERY} = 0 AND seq NOT IN (SELECT seq FROM checkpoint) "
            "ORDER BY seq"
        )
        for (seq,) in self.ledger.db.execute(due):
            message = f"the checkpoint that was due at record {seq} is not here"
            self.findings.add(FaultKind.CHECKPOINT, message, seq=seq)
