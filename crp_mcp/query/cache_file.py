"""The file behind a cache of derived tables: made, opened, told from another one in its place, removed."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from pathlib import Path

from crp_mcp.core.model import Scope
from crp_mcp.errors import StoreError

FORMAT = 3
"""Raised when tables are built differently: older files are removed."""
BUSY_SECONDS = 60.0
CATALOGUE = "crp_tables"
_INCREMENTAL = 2


def scope_file(folder: Path, scope: Scope) -> Path:
    """The cache file of tenant + project."""
    key = hashlib.sha256(f"{scope.tenant}\0{scope.project}".encode()).hexdigest()[:32]
    return folder / f"{key}.db"


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, made where it is not there. Raises sqlite3.DatabaseError for one that is none of ours."""
    _make_private(path)
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        if db.execute("PRAGMA auto_vacuum").fetchone()[0] != _INCREMENTAL:
            db.execute(
                "PRAGMA auto_vacuum=INCREMENTAL"
            )  # writes, even where nothing changes: it would wait for a build
        db.execute("PRAGMA journal_mode=WAL").fetchone()
        for pragma in ("synchronous=OFF", "secure_delete=ON", "cache_size=-16384", "temp_store=MEMORY"):
            db.execute(f"PRAGMA {pragma}").fetchall()
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version != FORMAT:
            _make_catalogue(db, version)
    except sqlite3.Error:
        db.close()
        raise
    return db


def _make_catalogue(db: sqlite3.Connection, version: int) -> None:
    if version:
        raise sqlite3.DatabaseError(f"format {version}")
    db.execute("BEGIN IMMEDIATE")
    db.execute(
        f"CREATE TABLE IF NOT EXISTS {CATALOGUE} (name TEXT PRIMARY KEY COLLATE NOCASE, scratch_id TEXT NOT NULL, "
        "rows INTEGER NOT NULL, columns TEXT NOT NULL, text INTEGER NOT NULL, indexed INTEGER NOT NULL DEFAULT 0, "
        "decimals TEXT NOT NULL DEFAULT '{}', lost TEXT NOT NULL DEFAULT '{}', looks TEXT NOT NULL DEFAULT '{}', "
        "grouped TEXT NOT NULL DEFAULT '{}', sums TEXT NOT NULL DEFAULT '{}')"
    )
    db.execute("CREATE TABLE IF NOT EXISTS crp_results (scratch_id TEXT UNIQUE, state INTEGER NOT NULL)")
    db.execute(f"PRAGMA user_version={FORMAT}")
    db.execute("COMMIT")


def _make_private(path: Path) -> None:
    """Make folder and file. One that is there is not opened and closed: that would drop this process's locks on it."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(f"tables {path}: cannot be made ({error.strerror}): make its folder writable") from error


def files(path: Path) -> tuple[Path, ...]:
    """The file, its log and the index of that."""
    return path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def identity(path: Path) -> tuple[int, int]:
    """Which file is there now; (-1, -1) for none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return -1, -1
    return found.st_dev, found.st_ino


def size_of(path: Path) -> int:
    """Bytes of a file; 0 for none."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def remove(path: Path) -> None:
    """Remove a cache file and its log."""
    for one in files(path):
        one.unlink(missing_ok=True)
