"""Entries as rows: SQL to put them in, find them, list them and take them out. Runs inside the caller's transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from crp_mcp.core.model import Entry, Kind, Persistence, Scope, ToolClass, Volatility
from crp_mcp.errors import BadRequest, NotFound
from crp_mcp.store import scopes
from crp_mcp.store.ids import number_of
from crp_mcp.store.model import CaptureDraft, Filters, Stub
from crp_mcp.store.scopes import Place

_OWN = (
    "scratch_id, tool_name, raw_token_count, created_at, freshness_ttl, persistence, provenance_hash, kind, "
    "tool_class, label, server, payload_id, payload_bytes, is_error, rows, rows_total, partial, inline, volatility, "
    "turn_id, stream_id, supersedes, name, receipt, expires_at, form, origin, stale_since, stale_why, superseded_by, "
    "tool_call_args, summary"
)
_COLUMNS = (
    ", ".join(f"e.{column}" for column in _OWN.split(", ")) + ", t.name, s.project, c.name, e.seq, "
    "(SELECT group_concat(DISTINCT turn) FROM reference r WHERE r.entry_seq = e.seq)"
)
_FROM = (
    "FROM entry e JOIN conversation c ON c.id = e.conversation_id JOIN space s ON s.id = e.space_id "
    "JOIN tenant t ON t.id = s.tenant_id"
)
_NARROW = f"SELECT {_COLUMNS}, NULL {_FROM}"
_WHOLE = f"SELECT {_COLUMNS}, structured {_FROM}"

_INSERT_COLUMNS = (
    "seq, number, space_id, conversation_id, payload_id, created_at, expires_at, last_used_at, kind, tool_class, "
    "persistence, origin, volatility, freshness_ttl, is_error, inline, partial, rows, rows_total, payload_bytes, "
    "stored_bytes, raw_token_count, sent_tokens, turn_id, tool_name, server, label, form, scratch_id, stream_id, "
    "supersedes, provenance_hash, receipt, salt, call_hash, tool_call_args, summary, structured"
)
_INSERT = (
    f"INSERT OR ROLLBACK INTO entry ({_INSERT_COLUMNS}) VALUES ({', '.join('?' * (_INSERT_COLUMNS.count(',') + 1))})"
)


def encode(value: Mapping[str, Any] | Sequence[object]) -> str:
    """Return JSON text. Integers of any size and lone surrogates, which orjson refuses, are written by json (ASCII)."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return json.dumps(value, separators=(",", ":"))


def insert_entry(
    db: sqlite3.Connection,
    draft: CaptureDraft,
    entry: Entry,
    where: Place,
    seq: int,
    stored_bytes: int,
    sent_tokens: int | None,
) -> None:
    # Exact str and int throughout: sqlite3 binds an enum or a bool by a slow detour.
    row = (
        seq, number_of(entry.scratch_id), where.space, where.conversation, entry.payload_id, entry.created_at,
        entry.expires_at, entry.created_at, entry.kind.value, entry.tool_class.value, entry.persistence.value,
        entry.origin, entry.volatility.value, entry.freshness_ttl, int(entry.is_error), int(entry.inline),
        int(entry.partial), entry.rows, entry.rows_total, entry.payload_bytes, stored_bytes, entry.raw_token_count,
        sent_tokens, entry.turn_id, entry.tool_name, entry.server, entry.label, entry.form, entry.scratch_id,
        entry.stream_id, entry.supersedes, entry.provenance_hash, entry.receipt, draft.salt, draft.call_hash,
        encode(entry.tool_call_args), entry.summary,
        None if entry.structured is None else encode(entry.structured),
    )  # fmt: skip
    db.execute(_INSERT, row)


def entry_of(row: Sequence[Any]) -> Entry:
    """Return the Entry of a row of `_NARROW` or `_WHOLE`."""
    (
        scratch_id, tool_name, tokens, created_at, ttl, persistence, digest, kind, tool_class, label, server,
        payload_id, payload_bytes, is_error, rows, rows_total, partial, inline, volatility, turn_id, stream_id,
        supersedes, name, receipt, expires_at, form, origin, stale_since, stale_why,
        superseded_by, args, summary, tenant, project, conversation, _seq,
        turns, structured,
    ) = row  # fmt: skip
    return Entry(
        scratch_id=scratch_id,
        tool_name=tool_name,
        tool_call_args=json.loads(args),
        raw_token_count=tokens,
        summary=summary,
        structured=None if structured is None else json.loads(structured),
        created_at=created_at,
        freshness_ttl=ttl,
        persistence=Persistence(persistence),
        referenced_by=tuple(sorted(map(int, turns.split(",")))) if turns else (),
        provenance_hash=digest,
        kind=Kind(kind),
        tool_class=ToolClass(tool_class),
        label=label,
        scope=Scope(tenant, project, conversation),
        server=server,
        payload_id=payload_id,
        payload_bytes=payload_bytes,
        is_error=bool(is_error),
        rows=rows,
        rows_total=rows_total,
        partial=bool(partial),
        inline=bool(inline),
        volatility=Volatility(volatility),
        turn_id=turn_id,
        stream_id=stream_id,
        supersedes=supersedes,
        name=name,
        receipt=receipt,
        expires_at=expires_at,
        form=form,
        origin=origin,
        stale_since=stale_since,
        stale_why=stale_why,
        superseded_by=superseded_by,
    )


def find(db: sqlite3.Connection, scope: Scope, reference: str) -> tuple[int, Entry] | None:
    """Return (seq, entry) of an id or pinned name within tenant + project, or None."""
    space = scopes.space_of(db, scope)
    if space is None:
        return None
    number = number_of(reference)
    if number is not None:
        row = db.execute(f"{_WHOLE} WHERE e.space_id = ? AND e.number = ?", (space, number)).fetchone()
        return (row[-3], entry_of(row)) if row and row[0] == reference else None
    row = db.execute(f"{_WHOLE} WHERE e.space_id = ? AND e.name = ?", (space, reference)).fetchone()
    return (row[-3], entry_of(row)) if row else None


def by_seq(db: sqlite3.Connection, seq: int) -> Entry | None:
    """Return the entry of a row, or None."""
    row = db.execute(f"{_WHOLE} WHERE e.seq = ?", (seq,)).fetchone()
    return entry_of(row) if row else None


def salt(db: sqlite3.Connection, scope: Scope, reference: str) -> bytes:
    """Return the entry's salt. Raises NotFound, also where another process takes it out meanwhile."""
    while True:
        seq, _ = must_find(db, scope, reference)
        row = db.execute("SELECT salt FROM entry WHERE seq = ?", (seq,)).fetchone()
        if row is not None:
            return bytes(row[0])


def must_find(db: sqlite3.Connection, scope: Scope, reference: str) -> tuple[int, Entry]:
    """Return (seq, entry).

    Raises:
        NotFound: it is not there, or no longer there (says when it left and why).
    """
    found = find(db, scope, reference)
    if found is not None:
        return found
    stub = find_stub(db, scope, reference)
    if stub is not None:
        raise NotFound(f"{stub.scratch_id} is gone ({stub.why}): call {stub.tool_name} again for its data")
    raise unknown(reference)


def unknown(reference: str) -> NotFound:
    """Return the error for an id or name that never was here."""
    return NotFound(f"no entry {reference!r} here: `scratch_list` shows what there is")


def find_stub(db: sqlite3.Connection, scope: Scope, reference: str) -> Stub | None:
    """Return what is left of an entry that is gone, by its id or its last pinned name."""
    space = scopes.space_of(db, scope)
    if space is None:
        return None
    number = number_of(reference)
    column, value = ("number", number) if number is not None else ("name", reference)
    row = db.execute(
        "SELECT scratch_id, t.server, tool_name, kind, tool_class, t.created_at, gone_at, why, t.rows, "
        "t.payload_bytes, t.name, tool_call_args, provenance_hash, summary, t.name, s.project, c.name, "
        "salt, label, t.expires_at, receipt "
        "FROM stub t JOIN space s ON s.id = t.space_id LEFT JOIN conversation c ON c.id = t.conversation_id "
        f"WHERE t.space_id = ? AND t.{column} = ? ORDER BY t.id DESC LIMIT 1",
        (space, value),
    ).fetchone()
    if row is None or (number is not None and row[0] != reference):
        return None
    return Stub(
        scratch_id=row[0],
        scope=Scope(scope.tenant, scope.project, row[16] or ""),
        server=row[1],
        tool_name=row[2],
        kind=Kind(row[3]),
        tool_class=ToolClass(row[4]),
        created_at=row[5],
        gone_at=row[6],
        why=row[7],
        rows=row[8],
        payload_bytes=row[9],
        name=row[10],
        tool_call_args=None if row[11] is None else json.loads(row[11]),
        provenance_hash=row[12],
        summary=row[13],
        salt=row[17],
        label=row[18],
        expires_at=row[19] or 0,
        receipt=row[20],
    )


def _index_for(filters: Filters) -> str:
    """Name the index that narrows most, instead of letting a planner without statistics guess."""
    if filters.stream_id is not None:
        return "entry_stream"
    if filters.pinned:
        return "entry_pinned"
    if filters.since is not None or filters.until is not None:
        return "entry_time"
    if filters.tool is not None:
        return "entry_tool"
    if filters.kind is not None:
        return "entry_kind"
    return "entry_class" if filters.tool_class is not None else "entry_conversation"


def _conditions(filters: Filters) -> list[tuple[str, Any]]:
    pinned = None if filters.pinned is None else Persistence.PINNED
    asked: list[tuple[str, Any]] = [
        ("e.kind = ?", filters.kind),
        ("e.tool_name = ?", filters.tool),
        ("e.tool_class = ?", filters.tool_class),
        ("e.stream_id = ?", filters.stream_id),
        ("e.origin = ?", filters.origin),
        ("e.created_at >= ?", filters.since),
        ("e.created_at < ?", filters.until),
        ("e.persistence != ?", pinned if filters.pinned is False else None),
    ]
    return [(condition, value) for condition, value in asked if value is not None]


def select(
    db: sqlite3.Connection, scope: Scope | None, filters: Filters, before: int | None, limit: int, within: str
) -> list[tuple[int, Entry]]:
    """Return (seq, entry) newest first: `within` the conversation, the project (any conversation), or the store."""
    where = _conditions(filters)
    index = ""
    if within == "conversation":
        known = scopes.conversation_of(db, scope) if scope else None
        if known is None:
            return []
        where.insert(0, ("e.conversation_id = ?", known.conversation))
        index = f"INDEXED BY {_index_for(filters)}"
    elif within == "project":
        where.insert(0, ("e.space_id = ?", scopes.space_of(db, scope) if scope else None))
    elif within != "store":
        raise BadRequest(f"within: {within!r} is not one of conversation, project, store")
    if before is not None:
        where.append(("e.seq < ?", before))
    conditions = [condition for condition, _ in where]
    if filters.pinned:
        conditions.append("e.persistence = 'PINNED'")  # spelled out: a partial index is used for a literal only
    if filters.stream_id is not None:
        conditions.append("e.stream_id IS NOT NULL")
    text = " AND ".join(conditions) or "1"
    # Rows are chosen before they are joined and widened, so that nothing is read for rows that are not shown.
    chosen = f"SELECT e.seq FROM entry e {index} WHERE {text} ORDER BY e.seq DESC LIMIT ?"
    values = [value for _, value in where]
    rows = db.execute(f"{_NARROW} WHERE e.seq IN ({chosen}) ORDER BY e.seq DESC", (*values, limit)).fetchall()
    return [(row[-3], entry_of(row)) for row in rows]


def expired(db: sqlite3.Connection, now: float, limit: int) -> list[Entry]:
    """Return entries whose retention epoch has passed, the longest expired first; 0 means none was set."""
    rows = db.execute(
        f"{_NARROW} WHERE e.seq IN (SELECT seq FROM entry INDEXED BY entry_expiry WHERE expires_at > 0 "
        "AND expires_at <= ? ORDER BY expires_at LIMIT ?) ORDER BY e.expires_at, e.seq",
        (now, limit),
    ).fetchall()
    return [entry_of(row) for row in rows]


def remove(db: sqlite3.Connection, seq: int, *, why: str, at: float, erase: bool) -> int:
    """Take one entry out and leave a stub. Its payload loses its owner and is removed by the next sweep.

    Args:
        erase: True for a purge: arguments, hashes, summary and salt are not kept in the stub either.

    Returns:
        The payload id.
    """
    content = "name, tool_call_args, call_hash, provenance_hash, summary, salt, label, expires_at, receipt, turn_id"
    kept = ", ".join(["NULL"] * 10) if erase else content
    db.execute(
        "INSERT INTO stub (space_id, conversation_id, number, scratch_id, server, tool_name, kind, tool_class, "
        f"created_at, gone_at, why, payload_bytes, rows, {content}) "
        "SELECT space_id, conversation_id, number, scratch_id, server, tool_name, kind, tool_class, created_at, ?, ?, "
        f"payload_bytes, rows, {kept} FROM entry WHERE seq = ?",
        (at, why, seq),
    )
    db.execute("DELETE FROM reference WHERE entry_seq = ?", (seq,))
    gone = db.execute("DELETE FROM entry WHERE seq = ? RETURNING payload_id", (seq,)).fetchall()
    if not gone:
        raise NotFound("the entry is already gone")
    payload_id = int(gone[0][0])
    db.execute("UPDATE payload SET owner = '', lease_until = 0 WHERE id = ?", (payload_id,))
    return payload_id
