"""Streams as rows: one for each listing or output that came in pieces. Runs inside the caller's transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from crp_mcp.core.model import Scope
from crp_mcp.store import scopes

LOOK_BACK = 200


def ensure(db: sqlite3.Connection, scope: Scope, stream_id: str, tool: str, digest: bytes | None, now: float) -> bool:
    """Make a stream known to its conversation; True where it was new."""
    place = scopes.ensure_conversation(db, scope, now)
    return bool(
        db.execute(
            "INSERT OR IGNORE INTO stream (conversation_id, stream_id, tool_name, call_hash, at) "
            "VALUES (?, ?, ?, ?, ?)",
            (place.conversation, stream_id, tool, digest, now),
        ).rowcount
    )


def join(
    db: sqlite3.Connection,
    scope: Scope,
    stream_id: str,
    server: str,
    tool: str,
    rest: Mapping[str, Any],
    digest: bytes,
    now: float,
) -> None:
    """Make a listing's stream known; its first page, which was asked for without a cursor, becomes part of it."""
    if not ensure(db, scope, stream_id, tool, digest, now):
        return
    place = scopes.ensure_conversation(db, scope, now)
    rows = db.execute(
        "SELECT seq, tool_call_args FROM entry WHERE conversation_id = ? AND tool_name = ? AND server = ? "
        "AND stream_id IS NULL ORDER BY seq DESC LIMIT ?",
        (place.conversation, tool, server, LOOK_BACK),
    ).fetchall()
    first = next((row[0] for row in rows if json.loads(row[1]) == dict(rest)), None)
    if first is not None:
        db.execute("UPDATE entry SET stream_id = ? WHERE seq = ?", (stream_id, first))


def newest(db: sqlite3.Connection, scope: Scope, limit: int = 50) -> list[tuple[str, str, int]]:
    """Return streams of a conversation, newest first: id, tool, number of entries."""
    place = scopes.conversation_of(db, scope)
    rows = db.execute(
        "SELECT s.stream_id, s.tool_name, (SELECT count(*) FROM entry e WHERE e.conversation_id = s.conversation_id "
        "AND e.stream_id = s.stream_id) FROM stream s WHERE s.conversation_id = ? ORDER BY s.id DESC LIMIT ?",
        (place.conversation if place else -1, limit),
    ).fetchall()
    return [(row[0], row[1], row[2]) for row in rows]
