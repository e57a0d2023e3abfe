"""What happened in a conversation, read back by time: assemblies, audited events, removed entries, turns.

Runs inside the caller's transaction. A page begins at a time and goes on in one direction; callers drop what of that
very time they have seen.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from crp_mcp.core.model import Entry, Scope, Turn
from crp_mcp.store import entries, scopes, turns

EVER = (0.0, 1e18)
SCANNED_MOST = 200_000
"""Audit records looked through for one page."""


@dataclass(frozen=True, slots=True)
class Window:
    """Times from `since` (included) up to `until` (included), and which end comes first."""

    since: float = EVER[0]
    until: float = EVER[1]
    newest_first: bool = True

    @property
    def order(self) -> str:
        return "DESC" if self.newest_first else "ASC"


@dataclass(frozen=True, slots=True)
class Assembly:
    """One context that was delivered. Tokens; `tiers` as P, C, E."""

    id: int
    at: float
    turn: int | None
    intent: str
    tokens: int
    budget: int
    tiers: tuple[int, int, int]
    fragments: int
    context_hash: str


@dataclass(frozen=True, slots=True)
class Event:
    """One audit record of a conversation."""

    seq: int
    at: float
    type: str
    turn: int | None
    data: dict[str, Any]


def add_assembly(
    db: sqlite3.Connection,
    scope: Scope,
    made: Assembly,
    nodes: Sequence[tuple[str, int]] = (),
    previous: int | None = None,
) -> int:
    """Keep what was delivered; returns its number. `nodes` (with their depth): where a cursor goes on from here."""
    place = scopes.ensure_conversation(db, scope, made.at)
    row = (place.conversation, made.at, made.turn, made.intent, made.tokens, made.budget, *made.tiers)
    number = db.execute(
        "INSERT INTO assembly (conversation_id, at, turn, intent, tokens, budget, persistent, conversation, "
        "ephemeral, fragments, context_hash, previous) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, made.fragments, made.context_hash, previous),
    ).lastrowid
    db.executemany(
        "INSERT INTO delivered (assembly_id, uko_node, depth) VALUES (?, ?, ?)",
        [(number, node, depth) for node, depth in nodes],
    )
    return number or 0


def given_before(db: sqlite3.Connection, scope: Scope, number: int) -> dict[str, int]:
    """Nodes, and how deep, of a context of this conversation and of those it went on from; none where it is unknown."""
    place = scopes.conversation_of(db, scope)
    rows = db.execute(
        "WITH RECURSIVE page (id, previous) AS (SELECT id, previous FROM assembly WHERE id = ? AND conversation_id = ? "
        "UNION SELECT a.id, a.previous FROM assembly a JOIN page p ON a.id = p.previous) "
        "SELECT d.uko_node, max(d.depth) FROM page p JOIN delivered d ON d.assembly_id = p.id GROUP BY d.uko_node",
        (number, place.conversation if place else 0),
    ).fetchall()
    return dict(rows)


def assemblies(db: sqlite3.Connection, scope: Scope, window: Window, limit: int) -> list[Assembly]:
    place = scopes.conversation_of(db, scope)
    rows = db.execute(
        "SELECT id, at, turn, intent, tokens, budget, persistent, conversation, ephemeral, fragments, context_hash "
        f"FROM assembly WHERE conversation_id = ? AND at BETWEEN ? AND ? ORDER BY at {window.order}, "
        f"id {window.order} LIMIT ?",
        (place.conversation if place else 0, window.since, window.until, limit),
    ).fetchall()
    return [
        Assembly(key, at, turn, intent, tokens, budget, (p, c, e), fragments, context_hash)
        for key, at, turn, intent, tokens, budget, p, c, e, fragments, context_hash in rows
    ]


def delivered(db: sqlite3.Connection, scope: Scope) -> tuple[int, int, int, int]:
    """Tokens delivered on request in a conversation: in all, and of each tier."""
    place = scopes.conversation_of(db, scope)
    row = db.execute(
        "SELECT coalesce(sum(tokens), 0), coalesce(sum(persistent), 0), coalesce(sum(conversation), 0), "
        "coalesce(sum(ephemeral), 0) FROM assembly WHERE conversation_id = ?",
        (place.conversation if place else 0,),
    ).fetchone()
    return (row[0], row[1], row[2], row[3])


def captured(db: sqlite3.Connection, scope: Scope, window: Window, limit: int, tools: Sequence[str]) -> list[Entry]:
    """Entries of a conversation by time of capture."""
    place = scopes.conversation_of(db, scope)
    marks = f"AND tool_name IN ({', '.join('?' * len(tools))})" if tools else ""
    rows = db.execute(
        f"SELECT seq FROM entry WHERE conversation_id = ? AND created_at BETWEEN ? AND ? {marks} "
        f"ORDER BY created_at {window.order}, seq {window.order} LIMIT ?",
        (place.conversation if place else 0, window.since, window.until, *tools, limit),
    ).fetchall()
    return [entry for row in rows if (entry := entries.by_seq(db, row[0])) is not None]


def turns_at(db: sqlite3.Connection, scope: Scope, window: Window, limit: int, only_decisions: bool) -> list[Turn]:
    place = scopes.conversation_of(db, scope)
    decided = "AND decision IS NOT NULL" if only_decisions else ""
    numbers = db.execute(
        f"SELECT number FROM turn WHERE conversation_id = ? AND at BETWEEN ? AND ? {decided} "
        f"ORDER BY at {window.order}, number {window.order} LIMIT ?",
        (place.conversation if place else 0, window.since, window.until, limit),
    ).fetchall()
    found = [turns.list_turns(db, scope, 1, before=number + 1) for (number,) in numbers]
    return [turn for one in found for turn in one]


def events(db: sqlite3.Connection, scope: Scope, types: Sequence[str], window: Window, limit: int) -> list[Event]:
    """Audit records of a conversation of some types, by their place in the chain."""
    found: list[Event] = []
    tests = " OR ".join("instr(body, ?) > 0" for _ in types)
    needles = [f'"event_type":"{one}"'.encode() for one in types]
    top = db.execute("SELECT max(seq) FROM record").fetchone()[0] or 0
    session = b'"session_id":' + json.dumps(scope.conversation, ensure_ascii=False).encode()
    rows = db.execute(
        f"SELECT seq, body FROM record WHERE seq > ? AND instr(body, ?) > 0 AND ({tests}) ORDER BY seq {window.order}",
        (top - SCANNED_MOST, session, *needles),
    )
    for seq, body in rows:
        record = json.loads(body)
        if record["session_id"] != scope.conversation or record["event_type"] not in types:
            continue
        at = datetime.fromisoformat(record["timestamp"]).timestamp()
        if window.since <= at <= window.until:
            found.append(Event(seq, at, record["event_type"], record["turn_id"], record["data"]))
        if len(found) >= limit:
            break
    return found


def gone(db: sqlite3.Connection, scope: Scope, window: Window, limit: int) -> list[str]:
    """Ids of entries of a conversation that were removed, by when."""
    place = scopes.conversation_of(db, scope)
    rows = db.execute(
        "SELECT scratch_id FROM stub WHERE conversation_id = ? AND gone_at BETWEEN ? AND ? "
        f"ORDER BY gone_at {window.order}, number {window.order} LIMIT ?",
        (place.conversation if place else 0, window.since, window.until, limit),
    ).fetchall()
    return [row[0] for row in rows]


def superseded(db: sqlite3.Connection, scope: Scope, limit: int) -> list[str]:
    """Ids of entries of a conversation whose place another one took, the newest first."""
    place = scopes.conversation_of(db, scope)
    rows = db.execute(
        "SELECT scratch_id FROM entry WHERE conversation_id = ? AND superseded_by IS NOT NULL "
        "ORDER BY seq DESC LIMIT ?",
        (place.conversation if place else 0, limit),
    ).fetchall()
    return [row[0] for row in rows]
