"""Tenants, projects and conversations as rows: finding them, making them on first use."""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

from crp_mcp.core.model import Scope
from crp_mcp.store.model import Conversation, Counters

STORE = 0
"""The row of `tally` that counts the whole store."""


class Place(NamedTuple):
    """Row ids of a scope: tenant, space (tenant + project, what may be accessed), conversation."""

    tenant: int
    space: int
    conversation: int


MOST_KNOWN = 1_000


class Remembering(sqlite3.Connection):
    """A connection that remembers where scopes are: their rows are never removed, and never change their ids."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.spaces: dict[tuple[str, str], int] = {}
        self.places: dict[Scope, Place] = {}


def _keep(db: sqlite3.Connection, scope: Scope, found: int | Place) -> None:
    """Remember what was read of committed rows: those of a transaction under way may still be rolled back."""
    if not isinstance(db, Remembering) or db.in_transaction:
        return
    if len(db.places) + len(db.spaces) >= MOST_KNOWN:
        db.places.clear()
        db.spaces.clear()
    if isinstance(found, Place):
        db.places[scope] = found
    else:
        db.spaces[scope.tenant, scope.project] = found


def space_of(db: sqlite3.Connection, scope: Scope) -> int | None:
    """Return the id of tenant + project, or None if nothing was ever stored there."""
    known = db.spaces.get((scope.tenant, scope.project)) if isinstance(db, Remembering) else None
    if known is not None:
        return known
    row = db.execute(
        "SELECT s.id FROM tenant t JOIN space s ON s.tenant_id = t.id AND s.project = ? WHERE t.name = ?",
        (scope.project, scope.tenant),
    ).fetchone()
    if row is None:
        return None
    _keep(db, scope, row[0])
    return int(row[0])


def conversation_of(db: sqlite3.Connection, scope: Scope) -> Place | None:
    """Return where a conversation is, or None if it is not known."""
    known = db.places.get(scope) if isinstance(db, Remembering) else None
    if known is not None:
        return known
    row = db.execute(
        "SELECT t.id, s.id, c.id FROM tenant t JOIN space s ON s.tenant_id = t.id AND s.project = ? "
        "JOIN conversation c ON c.space_id = s.id AND c.name = ? WHERE t.name = ?",
        (scope.project, scope.conversation, scope.tenant),
    ).fetchone()
    if row is None:
        return None
    place = Place(*row)
    _keep(db, scope, place)
    return place


def ensure_tenant(db: sqlite3.Connection, name: str) -> int:
    """Return the tenant's id, made where missing."""
    row = db.execute("SELECT id FROM tenant WHERE name = ?", (name,)).fetchone()
    if row:
        return int(row[0])
    tenant = db.execute("INSERT INTO tenant (name) VALUES (?)", (name,)).lastrowid
    assert tenant is not None
    db.execute("INSERT INTO tally (id) VALUES (?)", (-tenant,))
    return tenant


def ensure_conversation(db: sqlite3.Connection, scope: Scope, now: float, host_key: str | None = None) -> Place:
    """Return where the conversation is, made where missing; a host key is kept from the first time on."""
    known = conversation_of(db, scope)
    if known is not None:
        return known
    tenant = ensure_tenant(db, scope.tenant)
    space = space_of(db, scope)
    if space is None:
        space = db.execute("INSERT INTO space (tenant_id, project) VALUES (?, ?)", (tenant, scope.project)).lastrowid
    made = db.execute(
        "INSERT INTO conversation (space_id, name, host_key, created_at) VALUES (?, ?, ?, ?)",
        (space, scope.conversation, host_key, now),
    ).lastrowid
    assert space is not None
    assert made is not None
    db.execute("INSERT INTO tally (id, last_used_at) VALUES (?, ?)", (made, now))
    return Place(tenant, space, made)


def touch(db: sqlite3.Connection, scope: Scope, host_key: str | None, now: float) -> None:
    """Note that a conversation was used, and by which host."""
    place = ensure_conversation(db, scope, now, host_key)
    db.execute("UPDATE tally SET last_used_at = max(last_used_at, ?) WHERE id = ?", (now, place.conversation))
    if host_key is not None:
        db.execute(
            "UPDATE conversation SET host_key = ? WHERE id = ? AND host_key IS NOT ?",
            (host_key, place.conversation, host_key),
        )


def made_by_hook(db: sqlite3.Connection, scope: Scope) -> None:
    """Note that a conversation was made by a hook which found none to join."""
    place = conversation_of(db, scope)
    if place is not None:
        db.execute("UPDATE conversation SET by_hook = 1 WHERE id = ?", (place.conversation,))


def hook_alone(db: sqlite3.Connection, scope: Scope, hook_server: str) -> list[tuple[str, float]]:
    """Return what hooks made in tenant + project and no server captured into: name, time of last use; newest first."""
    rows = db.execute(
        "SELECT c.name, y.last_used_at FROM conversation c JOIN tally y ON y.id = c.id "
        "WHERE c.space_id = ? AND c.by_hook = 1 AND NOT EXISTS "
        "(SELECT 1 FROM entry e WHERE e.conversation_id = c.id AND e.server != ?) ORDER BY y.last_used_at DESC",
        (space_of(db, scope), hook_server),
    ).fetchall()
    return [(name, at) for name, at in rows]


def policy(db: sqlite3.Connection) -> str | None:
    """Return the operator's policy as it was last noted; None where none ever was."""
    row = db.execute("SELECT policy FROM tally WHERE id = ?", (STORE,)).fetchone()
    return row[0] if row else None


def set_policy(db: sqlite3.Connection, text: str) -> None:
    """Note the operator's policy."""
    db.execute("UPDATE tally SET policy = ? WHERE id = ?", (text, STORE))


def last_of_host(db: sqlite3.Connection, scope: Scope, host_key: str, since: float) -> str | None:
    """Return the name of the conversation a host used last in tenant + project, unless that is before `since`."""
    row = db.execute(
        "SELECT c.name FROM conversation c JOIN tally y ON y.id = c.id "
        "WHERE c.host_key = ? AND c.space_id = ? AND y.last_used_at >= ? "
        "ORDER BY y.last_used_at DESC, c.id DESC LIMIT 1",
        (host_key, space_of(db, scope), since),
    ).fetchone()
    return row[0] if row else None


_COUNTERS = "y.entries, y.pinned, y.payload_bytes, y.stored_bytes, y.raw_tokens, y.tokens_saved"


def counters(db: sqlite3.Connection, conversation: int) -> Counters:
    """Return the totals of a conversation, or of the store (row `STORE`)."""
    row = db.execute(f"SELECT {_COUNTERS} FROM tally y WHERE y.id = ?", (conversation,)).fetchone()
    return Counters(*row) if row else Counters()


def both_counters(db: sqlite3.Connection, conversation: int | None) -> tuple[Counters, Counters]:
    """Return the totals of a conversation and of the store."""
    rows = db.execute(f"SELECT y.id, {_COUNTERS} FROM tally y WHERE y.id IN (?, ?)", (conversation, STORE)).fetchall()
    found = {row[0]: Counters(*row[1:]) for row in rows}
    return found.get(conversation, Counters()), found.get(STORE, Counters())


def conversations(db: sqlite3.Connection, scope: Scope | None) -> list[Conversation]:
    """Return conversations, the last used first: of tenant + project, or all."""
    where, values = ("WHERE t.name = ? AND s.project = ?", (scope.tenant, scope.project)) if scope else ("", ())
    rows = db.execute(
        f"SELECT t.name, s.project, c.name, c.host_key, c.created_at, y.last_used_at, {_COUNTERS} "
        "FROM conversation c JOIN space s ON s.id = c.space_id JOIN tenant t ON t.id = s.tenant_id "
        f"JOIN tally y ON y.id = c.id {where} ORDER BY y.last_used_at DESC, c.id DESC",
        values,
    ).fetchall()
    return [Conversation(Scope(*row[:3]), row[3], row[4], row[5], Counters(*row[6:])) for row in rows]


def spaces(db: sqlite3.Connection) -> list[Scope]:
    """Return every tenant and project, by name."""
    rows = db.execute("SELECT t.name, s.project FROM space s JOIN tenant t ON t.id = s.tenant_id ORDER BY 1, 2")
    return [Scope(*row) for row in rows.fetchall()]
