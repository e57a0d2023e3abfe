"""What may be evicted, in which order, and what is pinned: SQL of the buffer's limits (SPEC-029 §5.1, §11).

Runs inside the caller's transaction. How much is too much is the caller's to say.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from crp_mcp.core.model import Entry, Scope
from crp_mcp.store import entries, scopes
from crp_mcp.store.fixed import STUB_COLUMNS, stub_bytes
from crp_mcp.store.model import Counters

RECENT_TURNS = 6
"""An entry that one of the last so many turns of its conversation referenced is still referenced."""


class Evictable(NamedTuple):
    """One entry that may go: row, bytes on disk."""

    seq: int
    stored_bytes: int


class Evicted(NamedTuple):
    """An entry that went: its salt, and the bytes of what is left of it (`fixed.stub_bytes`)."""

    entry: Entry
    salt: bytes
    left: bytes


_NEWEST_TURN = "coalesce((SELECT max(number) FROM turn t WHERE t.conversation_id = e.conversation_id), 0)"
_CANDIDATES = f"""
    SELECT e.seq, e.stored_bytes FROM entry e
    WHERE e.persistence = 'EPHEMERAL'
      AND (e.turn_id IS NULL OR e.turn_id < {_NEWEST_TURN} OR e.created_at < :turn_over
           OR e.last_used_at < :idle AND NOT EXISTS (
               SELECT 1 FROM turn t
               WHERE t.conversation_id = e.conversation_id AND t.number = e.turn_id AND t.declared))
      AND NOT EXISTS (SELECT 1 FROM reference r WHERE r.entry_seq = e.seq AND r.turn > {_NEWEST_TURN} - {RECENT_TURNS})
      AND (:conversation IS NULL OR e.conversation_id = :conversation)
      AND e.scratch_id != :spared
    ORDER BY (e.freshness_ttl IS NULL OR e.created_at + e.freshness_ttl > :now) AND e.stale_since IS NULL,
             e.last_used_at, e.seq
    LIMIT :most
"""


def candidates(
    db: sqlite3.Connection, conversation: int | None, now: float, turn_over: float, idle: float, spared: str, most: int
) -> list[Evictable]:
    """Return what may be evicted, in order: past its time to live first, then longest unused; of a conversation or all.

    Never the pinned, what a recent turn referenced, or what the turn at hand produced. `turn_over`: entries older than
    this belong to no turn at hand, whatever the turns say. `idle`: neither do those not used since, unless their turn
    was declared: where nobody declares any, a stream of calls would else be one turn for as long as it lasts.
    """
    values = {"conversation": conversation, "now": now, "turn_over": turn_over, "idle": idle, "spared": spared}
    rows = db.execute(_CANDIDATES, values | {"most": most}).fetchall()
    return [Evictable(*row) for row in rows]


def evict(db: sqlite3.Connection, seqs: Sequence[int], at: float) -> list[Evicted]:
    """Take entries out, each leaving its stub. Returns them as they were, and what is left."""
    gone = []
    for seq in seqs:
        entry = entries.by_seq(db, seq)
        if entry is not None:
            entries.remove(db, seq, why="evicted", at=at, erase=False)
            left = f"SELECT salt, {', '.join(STUB_COLUMNS)} FROM stub WHERE id = last_insert_rowid()"
            salt, *values = db.execute(left).fetchone()
            gone.append(Evicted(entry, bytes(salt), stub_bytes(values)))
    return gone


def totals(db: sqlite3.Connection, scope: Scope) -> tuple[Counters, Counters]:
    """Return the totals of a conversation and of the store; asked after every capture."""
    place = scopes.conversation_of(db, scope)
    return scopes.both_counters(db, place.conversation if place else None)


def pinned_bytes(db: sqlite3.Connection, scope: Scope | None) -> int:
    """Return the bytes on disk of the pinned entries of a conversation, or of the store."""
    if scope is None:
        row = db.execute("SELECT sum(stored_bytes) FROM entry WHERE persistence = 'PINNED'").fetchone()
        return int(row[0] or 0)
    place = scopes.conversation_of(db, scope)
    row = db.execute(
        "SELECT sum(stored_bytes) FROM entry WHERE conversation_id = ? AND persistence = 'PINNED'",
        (place.conversation if place else -1,),
    ).fetchone()
    return int(row[0] or 0)


def conversation_row(db: sqlite3.Connection, scope: Scope) -> int | None:
    """Return the row of a conversation."""
    place = scopes.conversation_of(db, scope)
    return place.conversation if place else None
