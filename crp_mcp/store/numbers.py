"""Numbers that only ever grow: of entries and payloads (one for the store), of scratch_ids (one for each tenant).

Taken inside a write transaction, where nobody comes between; read and written apart, which is cheaper than RETURNING.
"""

from __future__ import annotations

import sqlite3

from crp_mcp.errors import StoreError


def peek(db: sqlite3.Connection, tenant: int) -> tuple[int, int]:
    """The numbers the store's next entry and the tenant's next scratch_id get. Whoever uses one must write it back."""
    rows = db.execute("SELECT last_number FROM tally WHERE id IN (?, 0) ORDER BY id", (-tenant,)).fetchall()
    if len(rows) != 2:
        raise StoreError("the store is damaged, its totals are missing: `crp-mcp audit verify` tells more")
    return rows[1][0] + 1, rows[0][0] + 1


def next_of_store(db: sqlite3.Connection) -> int:
    """Take a number for an entry or a payload. Never one used before: an old id must not show other bytes."""
    return _take(db, 0)


def next_of_tenant(db: sqlite3.Connection, tenant: int) -> int:
    """Take the number of the tenant's next scratch_id."""
    return _take(db, -tenant)


def last_of_tenant(db: sqlite3.Connection, name: str) -> int:
    """The number of the tenant's newest scratch_id; 0 where it has none yet."""
    row = db.execute(
        "SELECT last_number FROM tally WHERE id = (SELECT -id FROM tenant WHERE name = ?)", (name,)
    ).fetchone()
    return int(row[0]) if row else 0


def give_tenant(db: sqlite3.Connection, tenant: int, number: int) -> None:
    """Note that a number was used for a scratch_id."""
    db.execute("UPDATE tally SET last_number = ? WHERE id = ?", (number, -tenant))


def _take(db: sqlite3.Connection, row: int) -> int:
    db.execute("UPDATE tally SET last_number = last_number + 1 WHERE id = ?", (row,))
    return int(db.execute("SELECT last_number FROM tally WHERE id = ?", (row,)).fetchone()[0])
