"""The cache files of derived tables: one for each access scope, holding nothing else, gone with what it came from.

Whatever is in them can be built again, so a damaged file is removed, not repaired.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from crp_mcp.core.model import Entry, Scope
from crp_mcp.core.shape.model import Shape
from crp_mcp.errors import StoreError

from .build import Built, Payload, build, build_index, build_parts
from .measures import find_decimals, looks_like_amounts
from .rewrite import Decimals
from .sql import quote
from .tables import has_parts, sources

FORMAT = 2
"""Raised when tables are built differently: older files are removed."""
BUSY_SECONDS = 60.0
MOST_BYTES = 4 << 30
"""Size of a cache file above which the tables built first make room for others."""
CATALOGUE = "crp_tables"
_MEMBERS = ("name", "scratch_id", "rows", "columns", "text", "indexed", "decimals", "lost", "amounts", "sums")
_MADE = ("name", "scratch_id", "rows", "columns", "text", "lost", "sums")
_INCREMENTAL = 2
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Table:
    """A derived table. `columns`: (name, kind, column with the original text or None)."""

    name: str
    scratch_id: str
    rows: int
    columns: tuple[tuple[str, str, str | None], ...]
    text: bool = False
    indexed: bool = False
    decimals: Mapping[str, Decimals | None] = field(default_factory=dict)
    """For float columns that were asked: how exact sums can be had; None where there are too many digits."""
    lost: Mapping[str, int] = field(default_factory=dict)
    """Columns of numbers or dates -> how many texts were neither, and are null."""
    amounts: Mapping[str, bool] = field(default_factory=dict)
    """For text columns that were asked: whether they look like numbers all the same."""
    sums: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Columns of fractions -> (hidden column with them as whole numbers, digits these are shifted by)."""
    union: tuple[Table, ...] = ()
    """Of a stream: the tables of its chunks, in order; such a table is in no file."""


def scope_file(folder: Path, scope: Scope) -> Path:
    """The cache file of tenant + project."""
    key = hashlib.sha256(f"{scope.tenant}\0{scope.project}".encode()).hexdigest()[:32]
    return folder / f"{key}.db"


class Vanished(StoreError):
    """A table that was there a moment ago is gone: another process needed the room. It can be built again."""


class Cache:
    """Derived tables of one access scope. Safe from several threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._read_lock = threading.RLock()
        self._reader: sqlite3.Connection | None = None
        self._file: dict[int, tuple[int, int]] = {}
        """Connection -> the file it was made for: another process may have put a new one in its place."""
        """Reads what is built while a build, which may take a while, has the other connection."""

    def touch(self) -> None:
        """Make sure the file is there, and stays open: its log can only be read while somebody may write it."""
        with self._read():
            pass

    def tables(self, scratch_id: str) -> tuple[Table, ...]:
        """Tables of one result that exist, the main one first."""
        with self._read() as db:
            rows = db.execute(
                f"SELECT {', '.join(_MEMBERS)} FROM {CATALOGUE} WHERE scratch_id = ? ORDER BY rowid",
                (scratch_id,),
            )
            return tuple(_table(row) for row in rows)

    def ensure(
        self, entry: Entry, shape_of: Callable[[], Shape], payload: Callable[[], Payload], *, parts: bool
    ) -> tuple[Table, ...]:
        """The tables of one result, built where they are missing. `parts`: also one for each list inside its object."""
        there = self.tables(entry.scratch_id)
        done = self._state(entry.scratch_id)
        if done >= (2 if parts else 1):
            return there
        shape = shape_of()
        places = sources(shape)
        wants_parts = parts and any(has_parts(place.shape) for place in places)
        if done >= (2 if wants_parts else 1):
            return there
        with self._write() as db:
            there, done = self.tables(entry.scratch_id), self._state(entry.scratch_id)
            source = payload()
            made: list[Built] = []
            if done < 1:
                for place in places:
                    made += build(db, f"{entry.scratch_id}{place.suffix}", place, source)
            if wants_parts and done < 2:
                for place in places:
                    taken = [table.name for table in there] + [one.name for one in made]
                    if has_parts(place.shape):
                        made += build_parts(db, f"{entry.scratch_id}{place.suffix}", place.shape, source, taken)
            for one in made:
                db.execute(
                    f"INSERT INTO {CATALOGUE} ({', '.join(_MADE)}) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (one.name, entry.scratch_id, one.rows, json.dumps(one.columns), one.text, *_noted(one)),
                )
            db.execute(
                "INSERT INTO crp_results (scratch_id, state) VALUES (?, ?) "
                "ON CONFLICT (scratch_id) DO UPDATE SET state = max(state, excluded.state)",
                (entry.scratch_id, 2 if wants_parts else 1),
            )
        return self.tables(entry.scratch_id)

    def ensure_index(self, table: Table) -> None:
        """Full-text search over a table of lines."""
        if table.indexed:
            return
        with self._write() as db:
            row = db.execute(f"SELECT indexed FROM {CATALOGUE} WHERE name = ?", (table.name,)).fetchone()
            if row and not row[0]:
                build_index(db, Built(table.name, table.rows, table.columns, True))
                db.execute(f"UPDATE {CATALOGUE} SET indexed = 1 WHERE name = ?", (table.name,))

    def decimals(self, table: Table, column: str) -> Decimals | None:
        """Digits after the point in a float column, if all its values have few: then sums can be exact."""
        if column in table.decimals:
            return table.decimals[column]
        with self._read() as db:
            try:
                found = find_decimals(db, table.name, column)
            except sqlite3.OperationalError as error:
                raise Vanished(f"tables {self.path}: {error}") from error
        self._note(table, "decimals", column, found and [found.digits, found.count, found.size])
        return found

    def looks_like_amounts(self, table: Table, column: str) -> bool:
        """Whether most texts of a text column begin like numbers: whoever adds or compares them must be told."""
        if column in table.amounts:
            return table.amounts[column]
        with self._read() as db:
            try:
                found = looks_like_amounts(db, table.name, column)
            except sqlite3.OperationalError as error:
                raise Vanished(f"tables {self.path}: {error}") from error
        self._note(table, "amounts", column, found)
        return found

    def results(self) -> tuple[str, ...]:
        """Ids of the results that have tables here."""
        with self._read() as db:
            return tuple(row[0] for row in db.execute("SELECT scratch_id FROM crp_results ORDER BY rowid"))

    def forget(self, scratch_ids: Sequence[str]) -> bool:
        """Remove everything derived from these results, from the file and its log.

        Returns False where another process still read the log, so that it could not be emptied yet.
        """
        with self._lock:
            if not self.path.exists():
                return True
            with self._write() as db:
                for scratch_id in scratch_ids:
                    for table in self.tables(scratch_id):
                        if table.indexed:
                            db.execute(f"DROP TABLE IF EXISTS {quote(table.name + '.fts')}")
                        db.execute(f"DROP TABLE IF EXISTS {quote(table.name)}")
                    db.execute(f"DELETE FROM {CATALOGUE} WHERE scratch_id = ?", (scratch_id,))
                    db.execute("DELETE FROM crp_results WHERE scratch_id = ?", (scratch_id,))
            self._open().execute("PRAGMA incremental_vacuum").fetchall()
            busy = self._open().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            return not busy

    def make_room(self, keep: Collection[str], most: int = MOST_BYTES) -> None:
        """Above the limit, forget results, those built first first, until half of it is free; never those of `keep`."""
        if self.bytes_used() <= most:
            return
        for scratch_id in self.results():
            if scratch_id not in keep:
                self.forget([scratch_id])
                if self.bytes_used() <= most // 2:
                    return

    def bytes_used(self) -> int:
        """Size of the file and its log."""
        return sum(path.stat().st_size for path in _files(self.path) if path.exists())

    def discard(self) -> None:
        """Give up a damaged file; what is asked for is built again."""
        self.close()
        remove(self.path)

    def close(self) -> None:
        """Close both connections."""
        with self._lock, self._read_lock:
            for db in (self._db, self._reader):
                if db is not None:
                    self._drop(db)
            self._db = self._reader = None

    # -- inside

    def _state(self, scratch_id: str) -> int:
        with self._read() as db:
            row = db.execute("SELECT state FROM crp_results WHERE scratch_id = ?", (scratch_id,)).fetchone()
            return int(row[0]) if row else 0

    def _note(self, table: Table, member: str, column: str, found: object) -> None:
        """Keep what was found out about a column; while something is built it is simply found out again."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            with self._write() as db:
                row = db.execute(f"SELECT {member} FROM {CATALOGUE} WHERE name = ?", (table.name,)).fetchone()
                noted = {**(json.loads(row[0]) if row else {}), column: found}
                db.execute(f"UPDATE {CATALOGUE} SET {member} = ? WHERE name = ?", (json.dumps(noted), table.name))
        finally:
            self._lock.release()

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        """The connection that reads; the file is there afterwards."""
        with self._read_lock:
            self._reader = self._opened(self._reader)
            yield self._reader

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            db = self._open()
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                raise StoreError(f"tables {self.path}: {error}; another process may be building, try again") from error
            try:
                yield db
                db.execute("COMMIT")
            except BaseException as error:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise StoreError(f"tables {self.path}: cannot be built: {error}") from error
                raise

    def _open(self) -> sqlite3.Connection:
        self._db = self._opened(self._db)
        return self._db

    def _opened(self, db: sqlite3.Connection | None) -> sqlite3.Connection:
        """A connection to the file that is there now."""
        if db is not None:
            if self._file.get(id(db)) == _identity(self.path):
                return db
            self._drop(db)
        try:
            fresh = _connect(self.path)
        except sqlite3.OperationalError as error:
            raise StoreError(f"tables {self.path}: {error}; another process may be building, try again") from error
        except sqlite3.DatabaseError:
            remove(self.path)
            fresh = _connect(self.path)
        self._file[id(fresh)] = _identity(self.path)
        return fresh

    def _drop(self, db: sqlite3.Connection) -> None:
        self._file.pop(id(db), None)
        db.close()


def _noted(built: Built) -> tuple[str, str]:
    return json.dumps(built.lost), json.dumps(built.sums)


def _table(row: tuple[Any, ...]) -> Table:
    columns = tuple((name, kind, beside) for name, kind, beside in json.loads(row[3]))
    decimals = {name: None if one is None else Decimals(*one) for name, one in json.loads(row[6]).items()}
    sums = {name: (hidden, digits) for name, (hidden, digits) in json.loads(row[9]).items()}
    flags = bool(row[4]), bool(row[5])
    return Table(row[0], row[1], row[2], columns, *flags, decimals, json.loads(row[7]), json.loads(row[8]), sums)


def _connect(path: Path) -> sqlite3.Connection:
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
        "decimals TEXT NOT NULL DEFAULT '{}', lost TEXT NOT NULL DEFAULT '{}', amounts TEXT NOT NULL DEFAULT '{}', "
        "sums TEXT NOT NULL DEFAULT '{}')"
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


def _files(path: Path) -> tuple[Path, ...]:
    return path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def _identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return -1, -1
    return found.st_dev, found.st_ino


def remove(path: Path) -> None:
    """Remove a cache file and its log."""
    for one in _files(path):
        one.unlink(missing_ok=True)
