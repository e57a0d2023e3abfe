"""What later calls do to earlier entries: a write makes them stale, a refresh takes their place (SPEC-029 §4.2).

Runs inside the caller's transaction.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

from crp_mcp.core.model import Entry, Scope
from crp_mcp.store import entries, scopes
from crp_mcp.store.ids import number_of


class Live(NamedTuple):
    """As much of an entry as tells whether a write was about the same thing."""

    seq: int
    scratch_id: str
    server: str
    tool: str
    arguments: dict[str, Any]


def live(db: sqlite3.Connection, scope: Scope, limit: int = 5_000) -> list[Live]:
    """Return the newest captures of tenant + project that nothing is known to have changed."""
    rows = db.execute(
        "SELECT seq, scratch_id, server, tool_name, tool_call_args FROM entry WHERE space_id = ? "
        "AND stale_since IS NULL AND origin = 'capture' ORDER BY seq DESC LIMIT ?",
        (scopes.space_of(db, scope), limit),
    ).fetchall()
    return [Live(seq, made, server, tool, json.loads(given)) for seq, made, server, tool, given in rows]


def make_stale(db: sqlite3.Connection, seqs: Sequence[int], at: float, why: str) -> None:
    """Mark entries as changed at their source."""
    db.executemany(
        "UPDATE entry SET stale_since = ?, stale_why = ? WHERE seq = ? AND stale_since IS NULL",
        [(at, why, seq) for seq in seqs],
    )


def supersede(db: sqlite3.Connection, scope: Scope, old: str, new: str, at: float) -> None:
    """Note that `new` took the place of `old`."""
    found = entries.find(db, scope, old)
    if found is not None:
        db.execute(
            "UPDATE entry SET superseded_by = ?, stale_since = coalesce(stale_since, ?), "
            "stale_why = coalesce(stale_why, ?) WHERE seq = ?",
            (new, at, f"{new} has taken its place", found[0]),
        )


def revisions(db: sqlite3.Connection, scope: Scope, scratch_id: str) -> list[Entry]:
    """Return the earlier results of the same tool with the same canonical arguments, newest first."""
    found = entries.find(db, scope, scratch_id)
    if found is None:
        return []
    rows = db.execute(
        "SELECT e.seq FROM entry e JOIN entry n ON n.seq = ? WHERE e.space_id = n.space_id "
        "AND e.call_hash = n.call_hash AND e.call_hash IS NOT NULL AND e.seq < n.seq ORDER BY e.seq DESC LIMIT 20",
        (found[0],),
    ).fetchall()
    return [entry for row in rows if (entry := entries.by_seq(db, row[0])) is not None]


def before(db: sqlite3.Connection, scope: Scope, scratch_id: str) -> tuple[str, str] | None:
    """Return id and provenance hash of the result that the same call gave last; asked after every capture."""
    row = db.execute(
        "SELECT o.scratch_id, o.provenance_hash FROM entry n JOIN entry o ON o.space_id = n.space_id "
        "AND o.call_hash = n.call_hash AND o.seq < n.seq WHERE n.space_id = ? AND n.number = ? "
        "AND o.call_hash IS NOT NULL ORDER BY o.seq DESC LIMIT 1",
        (scopes.space_of(db, scope), number_of(scratch_id)),
    ).fetchone()
    return (row[0], row[1]) if row else None


def newest_of_call(db: sqlite3.Connection, scope: Scope, call_hash: bytes) -> Entry | None:
    """Return the newest result of a call (tool and canonical arguments) in tenant + project."""
    row = db.execute(
        "SELECT seq FROM entry WHERE space_id = ? AND call_hash = ? AND origin = 'capture' ORDER BY seq DESC LIMIT 1",
        (scopes.space_of(db, scope), call_hash),
    ).fetchone()
    return entries.by_seq(db, row[0]) if row else None


def built_on(db: sqlite3.Connection, scope: Scope, scratch_id: str) -> list[int]:
    """Return the rows of entries made from an entry, however indirectly."""
    space = scopes.space_of(db, scope)
    rows = db.execute(
        "WITH RECURSIVE built (id) AS (SELECT entry FROM derivation WHERE space_id = :space AND source = :id UNION "
        "SELECT d.entry FROM derivation d JOIN built b ON d.source = b.id WHERE d.space_id = :space) "
        "SELECT e.seq FROM entry e WHERE e.space_id = :space AND e.scratch_id IN (SELECT id FROM built)",
        {"space": space, "id": scratch_id},
    ).fetchall()
    return [row[0] for row in rows]


def flag_facts(db: sqlite3.Connection, scope: Scope, scratch_id: str, why: str) -> int:
    """Mark the facts derived from an entry as doubtful; returns how many."""
    return db.execute(
        "UPDATE fact SET status = 'STALE', flag = ? WHERE space_id = ? AND source = ? AND status = 'ACTIVE'",
        (why, scopes.space_of(db, scope), scratch_id),
    ).rowcount
