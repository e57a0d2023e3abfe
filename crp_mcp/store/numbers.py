"""Numbers that only ever grow: of entries and payloads (one for the store), of scratch_ids (one for each tenant)."""

from __future__ import annotations

import sqlite3


def next_of_store(db: sqlite3.Connection) -> int:
    """Take a number for an entry or a payload. Never one used before: an old id must not show other bytes."""
    rows = db.execute("UPDATE tally SET last_number = last_number + 1 WHERE id = 0 RETURNING last_number").fetchall()
    return int(rows[0][0])


def next_of_tenant(db: sqlite3.Connection, tenant: int) -> int:
    """Take the number of the tenant's next scratch_id."""
    rows = db.execute(
        "UPDATE tally SET last_number = last_number + 1 WHERE id = ? RETURNING last_number", (-tenant,)
    ).fetchall()
    return int(rows[0][0])


def next_of_both(db: sqlite3.Connection, tenant: int) -> tuple[int, int]:
    """Take (a number of the store, a number of the tenant) in one statement."""
    rows = dict(
        db.execute(
            "UPDATE tally SET last_number = last_number + 1 WHERE id IN (0, ?) RETURNING id, last_number", (-tenant,)
        ).fetchall()
    )
    return rows[0], rows[-tenant]
