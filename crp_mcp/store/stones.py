"""Signed words of an erasure and of refusals as rows: tombstones, rejections, what is out of force."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence


def tombstones(db: sqlite3.Connection, up_to: int | None = None) -> list[bytes]:
    """Return the signed tombstones in order."""
    rows = db.execute("SELECT body FROM tombstone WHERE ? IS NULL OR id <= ? ORDER BY id", (up_to, up_to))
    return [row[0] for row in rows.fetchall()]


def is_buried(db: sqlite3.Connection, digests: Sequence[str]) -> frozenset[str]:
    """Return those of the digests (of items or receipts) that an erasure has put out of force."""
    found: set[str] = set()
    for digest in digests:
        asked = "SELECT 1 FROM tombstone WHERE digest = ? UNION SELECT 1 FROM revoked WHERE digest = ?"
        if db.execute(asked, (digest, digest)).fetchone():
            found.add(digest)
    return frozenset(found)


def add_rejection(db: sqlite3.Connection, body: bytes, at: float) -> None:
    """Keep the signed word that something was refused."""
    db.execute("INSERT INTO rejection (body, at) VALUES (?, ?)", (body, at))


def rejections(db: sqlite3.Connection) -> list[bytes]:
    """Return the signed rejections in order."""
    return [row[0] for row in db.execute("SELECT body FROM rejection ORDER BY id").fetchall()]
