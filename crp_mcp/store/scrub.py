"""Cleaning the file after an erasure: no byte of what was erased in it, its free pages or its log."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from crp_mcp.store import upkeep, uploads

IN_MEMORY = 64 << 20
"""Bytes of file up to which rewriting it uses memory; beyond, a nameless temporary file with what is kept."""
_VACUUM_MS = 20_000


def scrub(db: sqlite3.Connection, path: Path, write: uploads.Write, now: float, most_bytes: int | None) -> bool:
    """Leave nothing of what was erased in the file, its free pages or its log. Returns False where it must wait.

    Deleting overwrites a row where it stands, but not copies that stay in unused room when SQLite moves rows between
    pages; so the file is written anew, which blocks writers for as long as that takes. Files over `most_bytes` are
    left for a better moment. It also waits for processes that still read from the log.
    """
    uploads.sweep(db, write, now)
    rows = db.execute("SELECT id, needs FROM scrub").fetchall()
    if not rows:
        return True
    last = max(row[0] for row in rows)
    if any(needs == "file" for _, needs in rows):
        size = path.stat().st_size + upkeep.log_bytes(path)
        if (most_bytes is not None and size > most_bytes) or not _rewrite(db, size):
            upkeep.checkpoint(db, truncate=True)
            return False
        with write() as inside:
            inside.execute("UPDATE scrub SET needs = 'log' WHERE id <= ?", (last,))
    if upkeep.checkpoint(db, truncate=True).busy:
        return False
    with write() as inside:
        inside.execute("DELETE FROM scrub WHERE id <= ? AND needs = 'log'", (last,))
    return True


def _rewrite(db: sqlite3.Connection, size: int) -> bool:
    """Write the file anew; False if others did not let us for as long as we may wait."""
    patience = db.execute("PRAGMA busy_timeout").fetchone()[0]
    try:
        db.execute(f"PRAGMA busy_timeout = {_VACUUM_MS}")
        if size > IN_MEMORY:
            db.execute("PRAGMA temp_store = FILE")
        db.execute("VACUUM")
    except sqlite3.OperationalError as error:
        if (error.sqlite_errorname or "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return False
        raise
    finally:
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute(f"PRAGMA busy_timeout = {patience}")
    return True
