"""The fact store (SPEC-029 §5.4, tier P) as rows: durable statements of a project, searchable as text.

Runs inside the caller's transaction.
"""

from __future__ import annotations

import re
import sqlite3
from typing import Any

from crp_mcp.core.model import Fact, FactStatus, Scope
from crp_mcp.errors import NotFound
from crp_mcp.store import scopes

_FACT = (
    "f.id, f.content, f.content_hash, f.source, f.provenance, f.importance, f.created_at, f.access_count, f.ttl, "
    "f.status, f.supersedes, f.expires_at, f.flag"
)
WORDS_MOST = 100
"""Words of a question that are looked up."""
_WORD = re.compile(r"\w+")


def add(
    db: sqlite3.Connection,
    scope: Scope,
    *,
    content: str,
    content_hash: str,
    source: str,
    about: tuple[str, ...],
    importance: float,
    now: float,
    ttl: int | None,
    expires_at: int,
) -> tuple[Fact, Fact | None]:
    """Keep a statement. Returns it, and the fact whose place it took: one from any of the entries `about`.

    A statement that is there already is given back as it is.
    """
    space = scopes.ensure_conversation(db, scope, now).space
    known = db.execute(
        f"SELECT {_FACT} FROM fact f WHERE f.space_id = ? AND f.content_hash = ? AND f.status = 'ACTIVE'",
        (space, content_hash),
    ).fetchone()
    if known:
        return _fact_of(known), None
    marks = ", ".join("?" * len(about))
    old = db.execute(
        f"SELECT {_FACT} FROM fact f WHERE f.space_id = ? AND f.source IN ({marks}) "
        "AND f.status IN ('ACTIVE', 'STALE') "
        "ORDER BY f.id DESC LIMIT 1",
        (space, *about),
    ).fetchone()
    key = db.execute(
        "INSERT INTO fact (space_id, content, content_hash, source, provenance, importance, created_at, access_count, "
        "ttl, status, supersedes, expires_at) VALUES (?, ?, ?, ?, 'tool-derived', ?, ?, 0, ?, 'ACTIVE', ?, ?)",
        (space, content, content_hash, source, importance, now, ttl, old[0] if old else None, expires_at),
    ).lastrowid
    if old:
        db.execute("UPDATE fact SET status = 'STALE', flag = ? WHERE id = ?", (f"superseded by fact {key}", old[0]))
    return get(db, scope, key or 0), _fact_of(old) if old else None


def get(db: sqlite3.Connection, scope: Scope, key: int) -> Fact:
    """Return a fact of the project. Raises NotFound."""
    row = db.execute(
        f"SELECT {_FACT} FROM fact f WHERE f.space_id = ? AND f.id = ?", (scopes.space_of(db, scope), key)
    ).fetchone()
    if row is None:
        raise NotFound(f"no fact {key} in this project")
    return _fact_of(row)


def search(db: sqlite3.Connection, scope: Scope, words: str, limit: int = 20, *, some: bool = False) -> list[Fact]:
    """Return facts that hold all the words, the best match first; the newest ones where no word is given.

    Only ACTIVE and STALE ones; stale ones say so. `some`: those that hold any of the words.
    """
    space = scopes.space_of(db, scope)
    terms = (" OR " if some else " ").join(f'"{word}"' for word in _WORD.findall(words)[:WORDS_MOST])
    if not terms:
        rows = db.execute(
            f"SELECT {_FACT} FROM fact f WHERE f.space_id = ? AND f.status IN ('ACTIVE', 'STALE') "
            "ORDER BY f.id DESC LIMIT ?",
            (space, limit),
        ).fetchall()
    else:
        rows = db.execute(
            f"SELECT {_FACT} FROM fact_fts s JOIN fact f ON f.id = s.rowid WHERE fact_fts MATCH ? AND f.space_id = ? "
            "AND f.status IN ('ACTIVE', 'STALE') ORDER BY s.rank, f.id DESC LIMIT ?",
            (terms, space, limit),
        ).fetchall()
    return [_fact_of(row) for row in rows]


def accessed(db: sqlite3.Connection, facts: list[Fact]) -> None:
    """Count one more use of each."""
    db.executemany("UPDATE fact SET access_count = access_count + 1 WHERE id = ?", [(fact.id,) for fact in facts])


def set_status(db: sqlite3.Connection, scope: Scope, key: int, status: FactStatus, why: str | None) -> Fact:
    """Change what a fact counts as. Raises NotFound."""
    fact = get(db, scope, key)
    db.execute("UPDATE fact SET status = ?, flag = ? WHERE id = ?", (status.value, why, fact.id))
    return get(db, scope, key)


def _fact_of(row: Any) -> Fact:
    values = list(row)
    values[9] = FactStatus(values[9])
    return Fact(*values)
