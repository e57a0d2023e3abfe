"""Turns of a conversation and what they used, as rows (SPEC-029 tier C). Runs inside the caller's transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from crp_mcp.core.model import Scope, Turn
from crp_mcp.errors import BadRequest
from crp_mcp.store import entries, scopes

_TURN = "number, role, at, declared, text, decision"


def last(db: sqlite3.Connection, scope: Scope) -> Turn | None:
    """Return the newest turn of the conversation, without what it produced."""
    place = scopes.conversation_of(db, scope)
    if place is None:
        return None
    row = db.execute(
        f"SELECT {_TURN} FROM turn WHERE conversation_id = ? ORDER BY number DESC LIMIT 1", (place.conversation,)
    ).fetchone()
    return _turn_of(row) if row else None


def at_hand(db: sqlite3.Connection, scope: Scope) -> tuple[Turn, float] | None:
    """Return the newest turn, and when the conversation was last active; None where it has no turn yet."""
    place = scopes.conversation_of(db, scope)
    row = (
        place
        and db.execute(
            "SELECT number, role, at, declared, text, decision, y.last_used_at FROM turn JOIN tally y "
            "ON y.id = turn.conversation_id WHERE conversation_id = ? ORDER BY number DESC LIMIT 1",
            (place.conversation,),
        ).fetchone()
    )
    return (_turn_of(row[:6]), max(row[2], row[6])) if row else None


def begin(
    db: sqlite3.Connection,
    scope: Scope,
    now: float,
    *,
    role: str,
    declared: bool,
    number: int | None = None,
    text: str | None = None,
    decision: Mapping[str, Any] | None = None,
) -> Turn:
    """Make a turn: the next one, or the one of that number, which keeps what it has and gains what is given."""
    place = scopes.ensure_conversation(db, scope, now)
    if number is None:
        top = db.execute("SELECT max(number) FROM turn WHERE conversation_id = ?", (place.conversation,)).fetchone()[0]
        number = (top or 0) + 1
    elif text is not None:
        known = db.execute(
            "SELECT text FROM turn WHERE conversation_id = ? AND number = ?", (place.conversation, number)
        ).fetchone()
        if known is not None and known[0] not in (None, text):
            raise BadRequest(f"turn: {number} was recorded with other words; leave `turn` out to record the next one")
    encoded = None if decision is None else json.dumps(decision, ensure_ascii=False)
    row = db.execute(
        "INSERT INTO turn (conversation_id, number, role, declared, text, at, decision) VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (conversation_id, number) DO UPDATE SET declared = max(declared, excluded.declared), "
        "role = CASE WHEN excluded.role = 'unknown' THEN role ELSE excluded.role END, "
        "text = coalesce(excluded.text, text), decision = coalesce(excluded.decision, decision) "
        f"RETURNING {_TURN}",
        (place.conversation, number, role, int(declared), text, now, encoded),
    ).fetchall()[0]
    return _turn_of(row)


def list_turns(db: sqlite3.Connection, scope: Scope, limit: int = 50, before: int | None = None) -> list[Turn]:
    """Return turns newest first, with the entries each produced and referenced."""
    place = scopes.conversation_of(db, scope)
    if place is None:
        return []
    rows = db.execute(
        f"SELECT {_TURN} FROM turn WHERE conversation_id = ? AND number < ? ORDER BY number DESC LIMIT ?",
        (place.conversation, before if before is not None else 2**62, limit),
    ).fetchall()
    return [_turn_of(row, *_used(db, place.conversation, row[0])) for row in rows]


def _used(db: sqlite3.Connection, conversation: int, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    made = db.execute(
        "SELECT scratch_id FROM entry WHERE conversation_id = ? AND turn_id = ? ORDER BY seq", (conversation, number)
    ).fetchall()
    used = db.execute(
        "SELECT DISTINCT e.scratch_id FROM reference r JOIN entry e ON e.seq = r.entry_seq "
        "WHERE r.turn = ? AND e.conversation_id = ? ORDER BY e.seq",
        (number, conversation),
    ).fetchall()
    return tuple(row[0] for row in made), tuple(row[0] for row in used)


def refer(db: sqlite3.Connection, scope: Scope, scratch_id: str, turn: int | None, how: str, now: float) -> bool:
    """Note that an entry was used: `how` is resolved, injected or cited. True if its turn had not used it before.

    The turn that produced it does not count as one that referenced it, nor does a turn of another conversation.
    """
    seq, entry = entries.must_find(db, scope, scratch_id)
    db.execute("UPDATE entry SET last_used_at = max(last_used_at, ?) WHERE seq = ?", (now, seq))
    if turn is None or entry.scope.conversation != scope.conversation or entry.turn_id == turn:
        return False
    known = db.execute("SELECT 1 FROM reference WHERE entry_seq = ? AND turn = ?", (seq, turn)).fetchone()
    db.execute("INSERT OR IGNORE INTO reference (entry_seq, turn, how, at) VALUES (?, ?, ?, ?)", (seq, turn, how, now))
    return known is None


def declared_references(db: sqlite3.Connection, scope: Scope, scratch_id: str) -> tuple[int, ...]:
    """Return the declared turns that referenced an entry."""
    place = scopes.conversation_of(db, scope)
    seq, _ = entries.must_find(db, scope, scratch_id)
    rows = db.execute(
        "SELECT DISTINCT r.turn FROM reference r JOIN turn t ON t.number = r.turn AND t.conversation_id = ? "
        "WHERE r.entry_seq = ? AND t.declared = 1 ORDER BY 1",
        (place.conversation if place else 0, seq),
    ).fetchall()
    return tuple(row[0] for row in rows)


def give_name(db: sqlite3.Connection, scope: Scope, scratch_id: str, name: str) -> bool:
    """Name an entry without pinning it; a name another entry has stays there. Whether this one has it now."""
    seq, _ = entries.must_find(db, scope, scratch_id)
    held = entries.find(db, scope, name)
    if held is None:
        db.execute("UPDATE entry SET name = ? WHERE seq = ?", (name, seq))
    return held is None or held[0] == seq


def _turn_of(row: Any, produced: tuple[str, ...] = (), referenced: tuple[str, ...] = ()) -> Turn:
    number, role, at, declared, text, decision = row
    return Turn(
        number, role, at, bool(declared), text, None if decision is None else json.loads(decision), produced, referenced
    )
