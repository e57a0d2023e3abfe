"""Numbers that only ever grow: of entries and payloads (one for the store), of scratch_ids (one for each tenant)."""

from __future__ import annotations

import sqlite3


def next_of_store(db: sqlite3.Connection) -> int:
    """Take a number for an entry or a payload. Never one used before: an old id must not show other bytes."""
    return _take(db, 0)


def next_of_tenant(db: sqlite3.Connection, tenant: int) -> int:
    """Take the number of the tenant's next scratch_id."""
    return _take(db, -tenant)


def _take(db: sqlite3.Connection, row: int) -> int:
    # Inside a write transaction nobody comes between; cheaper than RETURNING, which builds a table for its one row.
    db.execute("UPDATE tally SET last_number = last_number + 1 WHERE id = ?", (row,))
    return int(db.execute("SELECT last_number FROM tally WHERE id = ?", (row,)).fetchone()[0])
