"""What was erased or left, held against its records: tombstones, receipts out of force, stubs, refusals."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from crp_mcp.errors import Rejected
from crp_mcp.proof.chain import SALT_BYTES, salted_hash
from crp_mcp.proof.chain_verify import FaultKind
from crp_mcp.proof.signed import Keys, Tombstone, VerifySignature, verify_rejection, verify_tombstone
from crp_mcp.relay.sealing import text_hash
from crp_mcp.store.fixed import STUB_COLUMNS, stub_bytes
from crp_mcp.store.ids import number_of

from .findings import Findings
from .ledger import Ledger

_OFF = (
    "INSERT OR IGNORE INTO said.off SELECT i.receipt FROM said.issued i JOIN said.gone g ON g.id = i.id "
    "AND g.session = i.session AND g.how = 'purged' AND g.seq > i.seq "
    "UNION SELECT p.receipt FROM said.promoted p JOIN said.gone g ON g.id = p.source AND g.how = 'purged' "
    "AND g.seq > p.seq WHERE p.receipt IS NOT NULL "
    "UNION SELECT p.receipt FROM said.promoted p JOIN said.erased e ON e.fact = p.fact AND e.seq > p.seq "
    "WHERE p.receipt IS NOT NULL"
)
_STUBS = (
    "SELECT b.scratch_id, b.number, b.why, b.tool_name, c.name, b.summary, "
    "coalesce(b.name, b.tool_call_args, b.call_hash, b.provenance_hash, b.summary, b.salt, b.label, b.expires_at, "
    "b.receipt, b.turn_id) IS NOT NULL, "
    f"b.salt, {', '.join('b.' + column for column in STUB_COLUMNS)}, "
    "(SELECT r.body FROM said.issued i JOIN receipt r ON r.digest = i.receipt WHERE i.id = b.scratch_id "
    "AND i.session = c.name ORDER BY i.seq DESC LIMIT 1) "
    "FROM stub b LEFT JOIN conversation c ON c.id = b.conversation_id AND c.space_id = b.space_id ORDER BY b.id"
)
_WHY = {"evicted": ("evicted",), "purged": ("purged", "expired")}


@dataclass(slots=True)
class Erasures:
    """To be checked after entries and receipts. `thin`: evictions whose records say less than records do now."""

    ledger: Ledger
    findings: Findings
    keys: Keys
    verify_signature: VerifySignature
    thin: int = 0

    def check(self) -> None:
        self._tombstones()
        self._out_of_force()
        self._stubs()
        self._refusals()

    def _add(self, message: str, *, seq: int = 0, item: str = "") -> None:
        self.findings.add(FaultKind.ERASURE, message + (f" (record {seq})" if seq else ""), seq=seq, item=item)

    # -- tombstones

    def _tombstones(self) -> None:
        here = self.ledger.db
        here.execute("CREATE TABLE said.stone (hash)")
        for name, digest, body, at in here.execute("SELECT scratch_id, digest, body, at FROM tombstone ORDER BY id"):
            hashed = "sha256:" + hashlib.sha256(body).hexdigest()
            here.execute("INSERT INTO said.stone VALUES (?)", (hashed,))
            said = self.ledger.ask("SELECT id, seq FROM said.gone WHERE digest = ? AND stone = ?", digest, hashed)
            if not said:
                self._add(f"a tombstone of {name} is here that no record tells of, or it was changed", item=name)
                continue
            stone = self._read(verify_tombstone, body)
            if stone is None or (stone.item_digest, stone.at, name) != (digest, int(at), said[0][0]):
                self._add(f"the tombstone of {said[0][0]} was changed", seq=said[0][1], item=said[0][0])
        lost = (
            "SELECT id, seq FROM said.gone WHERE how != 'evicted' AND stone NOT IN (SELECT hash FROM said.stone) "
            "ORDER BY seq"
        )
        for name, seq in here.execute(lost):
            self._add(f"the tombstone of {name} is not here", seq=seq, item=name)

    def _read(self, reader: Callable[..., Tombstone], body: bytes) -> Tombstone | None:
        try:
            return reader(body, keys=self.keys, verify_signature=self.verify_signature)
        except Rejected:
            return None

    # -- receipts out of force

    def _out_of_force(self) -> None:
        here = self.ledger.db
        here.execute(_OFF)
        lost = "SELECT receipt FROM said.off WHERE receipt NOT IN (SELECT digest FROM revoked)"
        for (digest,) in here.execute(lost):
            self._add(f"receipt {digest} is of what was purged, but counts as in force", item=digest)
        added = "SELECT digest FROM revoked WHERE digest NOT IN (SELECT receipt FROM said.off)"
        for (digest,) in here.execute(added):
            self._add(f"receipt {digest} counts as out of force, but nothing it is of was purged", item=digest)

    # -- stubs

    def _stubs(self) -> None:
        here = self.ledger.db
        here.execute("CREATE TABLE said.stub (id, session, PRIMARY KEY (id, session)) WITHOUT ROWID")
        for name, number, why, tool, session, summary, holds, salt, *left, receipt in here.execute(_STUBS):
            here.execute("INSERT OR IGNORE INTO said.stub VALUES (?, ?)", (name, session or ""))
            known = "SELECT how, seq FROM said.gone WHERE id = ? AND session = ? ORDER BY seq DESC LIMIT 1"
            said = self.ledger.ask(known, name, session)
            if not said:
                self._add(f"{name} is said to be gone, but no record tells of it", item=name)
                continue
            how, seq = said[0]
            calls = "SELECT tool FROM said.call WHERE id = ? AND session = ?"
            tools = [row[0] for row in self.ledger.ask(calls, name, session)]
            if number_of(name) != number or tool not in tools or why not in _WHY[how]:
                self._add(f"what is left of {name} is not what was recorded", seq=seq, item=name)
            elif how == "purged" and holds:
                self._add(f"what is left of {name} holds content although it was purged", seq=seq, item=name)
            elif how == "evicted" and not self._is_summary(summary, receipt, name, session):
                self._add(f"the summary that is left of {name} is not the one it had", seq=seq, item=name)
            elif how == "evicted" and not self._is_left(name, session, salt, left):
                self._add(f"what is left of {name} is not what was recorded when it left", seq=seq, item=name)
        lost = (
            "SELECT id, min(seq) FROM said.gone g WHERE how != 'loose' AND NOT EXISTS "
            "(SELECT 1 FROM said.stub b WHERE b.id = g.id AND b.session = g.session) GROUP BY id, session ORDER BY 2"
        )
        for name, seq in here.execute(lost):
            self._add(f"nothing is left that says what {name} was", seq=seq, item=name)

    def _is_left(self, name: str, session: str | None, salt: object, left: list[object]) -> bool:
        """Whether the digest of what is left stands in the record of the eviction; older records have none."""
        known = "SELECT rest FROM said.gone WHERE id = ? AND session = ? AND how = 'evicted'"
        said = [row[0] for row in self.ledger.ask(known, name, session)]
        if None in said:
            self.thin += 1
            return True
        return isinstance(salt, bytes) and len(salt) == SALT_BYTES and salted_hash(salt, stub_bytes(left)) in said

    def _is_summary(self, summary: str | None, receipt: bytes | None, name: str, session: str | None) -> bool:
        try:
            output = orjson.loads(receipt or b"")["compacted_output_hash"]
        except (ValueError, TypeError, KeyError):
            return True  # without its receipt nothing can be said; that is a fault of its own
        if summary is not None:
            return bool(output == text_hash(summary))
        return bool(self.ledger.ask("SELECT 1 FROM said.call WHERE digest = ? AND id = ?", output, name))

    # -- refusals

    def _refusals(self) -> None:
        here = self.ledger.db
        here.execute("CREATE TABLE said.refusal (hash)")
        for number, body, at in here.execute("SELECT id, body, at FROM rejection ORDER BY id"):
            hashed = "sha256:" + hashlib.sha256(body).hexdigest()
            here.execute("INSERT INTO said.refusal VALUES (?)", (hashed,))
            if not self.ledger.ask("SELECT 1 FROM said.refused WHERE rejection = ?", hashed):
                self._add(f"refusal {number} was changed, or no record tells of it")
                continue
            try:
                fits = verify_rejection(body, keys=self.keys, verify_signature=self.verify_signature).at == int(at)
            except Rejected:
                fits = False
            if not fits:
                self._add(f"refusal {number} is not the one that was signed then")
        lost = "SELECT seq FROM said.refused WHERE rejection NOT IN (SELECT hash FROM said.refusal) ORDER BY seq"
        for (seq,) in here.execute(lost):
            self._add("a signed refusal is not here", seq=seq)
