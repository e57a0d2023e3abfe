"""Housekeeping off the capture path: copying the log, giving disk space back, and what `doctor` wants to know."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from crp_mcp.store import scopes
from crp_mcp.store.model import Checkpointed, StoreStats
from crp_mcp.store.scopes import STORE
from crp_mcp.store.uploads import Write

WAL_DUE = 1024 * 1024
"""Bytes of log from which on an idle moment should be used to copy it."""
WAL_LIMIT = 8 * 1024 * 1024
"""Bytes of log at which a writer copies it itself, after its commit, because nobody was idle enough to."""
WAL_MOST = 64 * 1024 * 1024
"""Bytes of log at which other writers are held up for a moment, so that it can begin again."""
_WAL_SHARE = 2 * 1024 * 1024
"""Bytes a process must have written itself before it takes its turn: small writers need not tidy up after a big one."""
_ENTRY_BYTES = 80 * 1024
"""What one capture adds to the log besides its payload: about 18 pages and their frames."""
_RESTART_MS = 100
_TRUNCATE_MS = 2_000
_PAGES_A_STEP = 256


def log_bytes(path: Path) -> int:
    """Return the size of the write-ahead log; 0 if there is none."""
    try:
        return os.stat(f"{path}-wal").st_size
    except FileNotFoundError:
        return 0


def checkpoint(db: sqlite3.Connection, *, truncate: bool) -> Checkpointed:
    """Copy the log into the file; PASSIVE unless `truncate`."""
    if truncate:
        return _checkpoint_waiting(db, "TRUNCATE", _TRUNCATE_MS)
    return Checkpointed.of(db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone())


class Valve:
    """Keeps the log bounded while everybody is busy.

    Copying it blocks nobody, but under steady writing by several it never catches up; only past `WAL_MOST` are
    writers made to wait for it. One for each store object; threads may meet in it, which at worst copies twice.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._written = 0

    def relieve(self, db: sqlite3.Connection, payload_bytes: int) -> None:
        """Copy the log if it is time to. Called after a commit, outside any transaction."""
        self._written += payload_bytes + _ENTRY_BYTES
        if self._written < _WAL_SHARE:
            return
        self._written = 0
        if log_bytes(self._path) >= WAL_LIMIT:
            checkpoint(db, truncate=False)
            if log_bytes(self._path) >= WAL_MOST:
                _checkpoint_waiting(db, "RESTART", _RESTART_MS)  # then the next writer starts it from the front


def _checkpoint_waiting(db: sqlite3.Connection, mode: str, wait_ms: int) -> Checkpointed:
    """Copy all of the log with writers held up, waiting for readers; not for long."""
    patience = db.execute("PRAGMA busy_timeout").fetchone()[0]
    try:
        db.execute(f"PRAGMA busy_timeout = {wait_ms}")
        return Checkpointed.of(db.execute(f"PRAGMA wal_checkpoint({mode})").fetchone())
    finally:
        db.execute(f"PRAGMA busy_timeout = {patience}")


def shrink(db: sqlite3.Connection, write: Write, max_pages: int | None) -> int:
    """Return free pages to the disk in short transactions; the file gets smaller when the log is next copied."""
    done = 0
    while max_pages is None or done < max_pages:
        free = int(db.execute("PRAGMA freelist_count").fetchone()[0])
        step = min(_PAGES_A_STEP, free, free if max_pages is None else max_pages - done)
        if step == 0:
            break
        with write() as inside:
            inside.execute(f"PRAGMA incremental_vacuum({step})").fetchall()
        done += step
    return done


def stats(db: sqlite3.Connection, path: Path, *, check: bool) -> StoreStats:
    """Return sizes, counts and, if asked, the findings of an integrity check."""

    def one(sql: str) -> int:
        return int(db.execute(sql).fetchone()[0] or 0)

    page = one("PRAGMA page_size")
    return StoreStats(
        path=str(path),
        schema=one("PRAGMA user_version"),
        sqlite=sqlite3.sqlite_version,
        page_size=page,
        file_bytes=path.stat().st_size,
        wal_bytes=log_bytes(path),
        free_bytes=one("PRAGMA freelist_count") * page,
        counters=scopes.counters(db, STORE),
        conversations=one("SELECT count(*) FROM conversation"),
        records=one("SELECT count(*) FROM record"),
        receipts=one("SELECT count(*) FROM receipt"),
        stubs=one("SELECT count(*) FROM stub"),
        turns=one("SELECT count(*) FROM turn"),
        facts=one("SELECT count(*) FROM fact"),
        open_uploads=one("SELECT count(*) FROM payload WHERE owner IS NOT NULL"),
        integrity=_check(db) if check else None,
    )


def _check(db: sqlite3.Connection) -> str:
    found = [str(row[0]) for row in db.execute("PRAGMA quick_check(10)").fetchall()]
    return "; ".join(found)
