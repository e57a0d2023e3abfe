"""Erasure as rows: taking items out with all that names them, and putting in what stands in for them.

Runs inside the caller's transaction. Which items go, and what stands in for them, is decided above; `scrub` cleans up.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from crp_mcp.core.model import Entry, Scope
from crp_mcp.errors import NotFound
from crp_mcp.store import entries, mutate, scopes
from crp_mcp.store.descent import answers_with, built_on, delivered, fact_item, facts_on, turn_item
from crp_mcp.store.ids import number_of
from crp_mcp.store.model import CaptureDraft, SealEntry
from crp_mcp.store.payloads import WrittenPayload
from crp_mcp.store.schema import CHUNK_BITS

AT_ONCE = 4 << 20
"""Stored bytes of a payload that are overwritten in the erasure's own transaction; larger ones follow in steps."""


class PlanChanged(Exception):
    """Something was built on an item or delivered it, or it left, since the erasure was planned: plan again."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What stands in for an entry: a new one, stored before the old one goes."""

    instead_of: str
    draft: CaptureDraft
    payload: WrittenPayload
    seal: SealEntry
    name: str | None = None


@dataclass(frozen=True, slots=True)
class StoneRow:
    """A signed tombstone as it is kept."""

    scratch_id: str
    digest: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Work:
    """One erasure within one tenant and project: all of it happens, or nothing."""

    scope: Scope
    entries: tuple[str, ...]
    """Entries that leave, sources first."""
    rebuilt: tuple[Rebuilt, ...] = ()
    stubs: tuple[str, ...] = ()
    """Entries that had left already, whose arguments and summaries are still in their stubs."""
    receipts: tuple[str, ...] = ()
    """Receipts of those."""
    turns: tuple[int, ...] = ()
    facts: tuple[int, ...] = ()
    stones: tuple[StoneRow, ...] = ()
    why: str = "purged"
    at: float = 0.0


def apply(db: sqlite3.Connection, work: Work) -> list[Entry]:
    """Store what stands in, take out what must go, keep the tombstones. Returns the new entries.

    Raises:
        PlanChanged: more was built on the items than the work knows of, or one of them is gone.
    """
    leaving = {*work.entries}
    for item in work.entries:
        if not leaving.issuperset(built_on(db, work.scope, item)):
            raise PlanChanged
        if not set(facts_on(db, work.scope, item)) <= set(work.facts):
            raise PlanChanged
    made = [(mutate.capture(db, one.draft, one.payload, one.seal), one) for one in work.rebuilt]
    successors = {one.instead_of: entry.receipt for entry, one in made}
    for item in work.entries:
        _take_out(db, work, item, successors)
    space = scopes.space_of(db, work.scope) or 0
    for scratch_id in work.stubs:
        _empty_stub(db, work.scope, scratch_id)
        _revoke_built(db, space, scratch_id, work.at)
    for digest in work.receipts:
        _revoke(db, space, digest, None, work.at)
    _empty_turns(db, work, work.turns)
    _drop_facts(db, work, space)
    for entry, one in made:
        named = "UPDATE entry SET name = ? WHERE space_id = ? AND number = ?"
        db.execute(named, (one.name, space, number_of(entry.scratch_id)))
    db.executemany(
        "INSERT INTO tombstone (space_id, scratch_id, digest, body, at) VALUES (?, ?, ?, ?, ?)",
        [(space, stone.scratch_id, stone.digest, stone.body, work.at) for stone in work.stones],
    )
    db.execute("INSERT INTO scrub (at, needs) VALUES (?, 'file')", (work.at,))
    return [entry for entry, _ in made]


def _take_out(db: sqlite3.Connection, work: Work, item: str, successors: dict[str, str | None]) -> None:
    found = entries.find(db, work.scope, item)
    if found is None or found[1].scratch_id != item:
        raise PlanChanged
    seq, entry = found
    space = scopes.space_of(db, work.scope) or 0
    _empty_turns(db, work, [answer.key for answer in answers_with(db, work.scope, item)])
    db.execute(
        "DELETE FROM stream WHERE stream_id = ? AND conversation_id = "
        "(SELECT conversation_id FROM entry WHERE seq = ?) AND NOT EXISTS "
        "(SELECT 1 FROM entry e WHERE e.conversation_id = stream.conversation_id AND e.stream_id = stream.stream_id "
        "AND e.seq != ?)",
        (entry.stream_id, seq, seq),
    )
    _revoke_own(db, space, entry.receipt, work.at, replaced=item in successors, successor=successors.get(item))
    _revoke_built(db, space, item, work.at)
    db.execute("DELETE FROM derivation WHERE space_id = ? AND (source = ? OR entry = ?)", (space, item, item))
    payload_id = entries.remove(db, seq, why=work.why, at=work.at, erase=True)
    small = db.execute("SELECT stored_bytes FROM payload WHERE id = ?", (payload_id,)).fetchone()
    if small and small[0] <= AT_ONCE:
        first, past = payload_id << CHUNK_BITS, (payload_id + 1) << CHUNK_BITS
        db.execute("DELETE FROM chunk WHERE id >= ? AND id < ?", (first, past))
        db.execute("DELETE FROM payload WHERE id = ?", (payload_id,))


def _revoke_built(db: sqlite3.Connection, space: int, item: str, at: float) -> None:
    """Put the receipts that have an item among their sources out of force."""
    built = "SELECT r.digest FROM leaf l JOIN receipt r ON r.id = l.receipt_id WHERE l.item = ? AND r.space_id = ?"
    for (digest,) in db.execute(built, (item, space)).fetchall():
        _revoke(db, space, digest, None, at, keep=True)


def _revoke_own(
    db: sqlite3.Connection, space: int, digest: str | None, at: float, *, replaced: bool, successor: str | None
) -> None:
    """Put an entry's receipts out of force. Where something stands in, the last one stays to be compared with."""
    seen: set[str] = set()
    while digest is not None and digest not in seen:
        seen.add(digest)
        row = db.execute(
            "SELECT supersedes FROM receipt WHERE digest = ? AND space_id = ? ORDER BY id LIMIT 1", (digest, space)
        ).fetchone()
        _revoke(db, space, digest, successor, at, keep=replaced)
        digest = row[0] if row else None


def _revoke(
    db: sqlite3.Connection, space: int, digest: str, successor: str | None, at: float, *, keep: bool = False
) -> None:
    db.execute(
        "INSERT INTO revoked (digest, at, successor) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING",
        (digest, at, successor),
    )
    if keep:
        return
    rows = db.execute("SELECT id FROM receipt WHERE digest = ? AND space_id = ?", (digest, space)).fetchall()
    db.executemany("DELETE FROM leaf WHERE receipt_id = ?", rows)
    db.executemany("DELETE FROM receipt WHERE id = ?", rows)


def _empty_stub(db: sqlite3.Connection, scope: Scope, scratch_id: str) -> None:
    if not db.execute(
        "UPDATE stub SET name = NULL, tool_call_args = NULL, call_hash = NULL, provenance_hash = NULL, summary = NULL, "
        "salt = NULL, label = NULL, expires_at = NULL, receipt = NULL, turn_id = NULL, why = 'purged' "
        "WHERE space_id = ? AND scratch_id = ?",
        (scopes.space_of(db, scope), scratch_id),
    ).rowcount:
        raise NotFound(f"no entry {scratch_id!r} here")


def _revoke_delivered(db: sqlite3.Connection, work: Work, item: str) -> None:
    """Put the contexts that delivered a fact or a turn out of force; each of its leaves must have its tombstone."""
    buried = {stone.digest for stone in work.stones}
    for digest, receipts in delivered(db, work.scope, item).items():
        if digest not in buried:
            raise PlanChanged
        for receipt in receipts:
            _revoke(db, 0, receipt, None, work.at, keep=True)


def _empty_turns(db: sqlite3.Connection, work: Work, turns: Sequence[int]) -> None:
    named = "SELECT c.name, t.number FROM turn t JOIN conversation c ON c.id = t.conversation_id WHERE t.id = ?"
    for key in turns:
        _revoke_delivered(db, work, turn_item(*db.execute(named, (key,)).fetchone()))
        db.execute("UPDATE turn SET text = NULL, decision = NULL WHERE id = ?", (key,))


def _drop_facts(db: sqlite3.Connection, work: Work, space: int) -> None:
    """Facts go with the receipts they were promoted with, which hold the plain hash of what they said."""
    if not work.facts:
        return
    for key in work.facts:
        _revoke_delivered(db, work, fact_item(key))
        digests = db.execute(
            "SELECT r.digest FROM fact f JOIN leaf l ON l.item = f.source JOIN receipt r ON r.id = l.receipt_id "
            "WHERE f.id = ? AND r.space_id = f.space_id AND instr(r.body, CAST(f.content_hash AS BLOB)) > 0",
            (key,),
        ).fetchall()
        for (digest,) in digests:
            _revoke(db, space, digest, None, work.at)
    db.executemany("DELETE FROM fact WHERE id = ?", [(key,) for key in work.facts])
    # A search index only marks words as deleted until its segments are merged; building it anew leaves none behind.
    db.execute("INSERT INTO fact_fts (fact_fts) VALUES ('rebuild')")
