"""The cache files of derived tables: one for each access scope, holding nothing else, gone with what it came from.

Whatever is in them can be built again, so a damaged file is removed, not repaired.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from crp_mcp.core.model import Entry
from crp_mcp.core.shape.model import Shape
from crp_mcp.errors import StoreError

from .build import Built, Payload, build, build_index, build_parts
from .cache_file import CATALOGUE, connect, files, identity, remove, size_of
from .catalogue import MADE, MEMBERS, Table, noted, table_of
from .measures import find_decimals, find_grouped, look_of
from .rewrite import Decimals
from .sql import quote
from .tables import has_parts, sources

T = TypeVar("T")
_TABLES = f"SELECT {', '.join(MEMBERS)} FROM {CATALOGUE} WHERE scratch_id = ? ORDER BY rowid"
MOST_BYTES = 4 << 30
"""Size of a cache file above which the tables built first make room for others."""


class Vanished(StoreError):
    """A table that was there a moment ago is gone: another process needed the room. It can be built again."""


class Damaged(StoreError):
    """The cache file is not what it was built as. Removed, it can be built again."""


_DAMAGE = ("malformed", "not a database", "disk I/O error", "[Errno 2]")


def is_damage(error: object) -> bool:
    """Whether an error of SQLite's, or its text, says that the file itself is broken, or gone."""
    return any(sign in str(error) for sign in _DAMAGE)


class Cache:
    """Derived tables of one access scope. Safe from several threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept = files(path)[:2]
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._read_lock = threading.RLock()
        self._reader: sqlite3.Connection | None = None
        """Reads what is built while a build, which may take a while, has the other connection."""
        self._file: dict[int, tuple[int, int]] = {}
        """Connection -> the file it was made for: another process may have put a new one in its place."""

    def touch(self) -> None:
        """Make sure the file is there, and stays open: its log can only be read while somebody may write it."""
        with self._read():
            pass

    def tables(self, scratch_id: str) -> tuple[Table, ...]:
        """Tables of one result that exist, the main one first."""
        return self._known(scratch_id)[0]

    def ensure(
        self, entry: Entry, shape_of: Callable[[], Shape], payload: Callable[[], Payload], *, parts: bool
    ) -> tuple[Table, ...]:
        """The tables of one result, built where they are missing. `parts`: also one for each list inside its object."""
        there, done = self._known(entry.scratch_id)
        if done >= (2 if parts else 1):
            return there
        shape = shape_of()
        places = sources(shape)
        wants_parts = parts and any(has_parts(place.shape) for place in places)
        if done >= (2 if wants_parts else 1):
            return there
        with self._write() as db:
            there, done = self._known(entry.scratch_id)
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
                    f"INSERT INTO {CATALOGUE} ({', '.join(MADE)}) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (one.name, entry.scratch_id, one.rows, json.dumps(one.columns), one.text, *noted(one)),
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
        found = self._ask(lambda db: find_decimals(db, table.name, column))
        self._note(table, "decimals", column, found and [found.digits, found.count, found.size])
        return found

    def look(self, table: Table, expression: str) -> str:
        """What most texts of a column look like, or of another expression: amounts, dates, words; "" for nothing."""
        if expression in table.looks:
            return table.looks[expression]
        found = self._ask(lambda db: look_of(db, table.name, expression))
        self._note(table, "looks", expression, found)
        return found

    def grouped(self, table: Table, column: str, beside: str) -> tuple[str, str] | None:
        """A text of a converted column and its number, where nothing in the column says what the sign in it means."""
        if column in table.grouped:
            return table.grouped[column]
        found = self._ask(lambda db: find_grouped(db, table.name, column, beside))
        self._note(table, "grouped", column, found)
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
        return sum(map(size_of, self._kept))

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

    def _known(self, scratch_id: str) -> tuple[tuple[Table, ...], int]:
        """Tables of one result that exist, and what was built of it: 0 nothing, 1 its own tables, 2 those of parts."""
        with self._read() as db:
            rows = db.execute(_TABLES, (scratch_id,)).fetchall()
            state = db.execute("SELECT state FROM crp_results WHERE scratch_id = ?", (scratch_id,)).fetchone()
            return tuple(map(table_of, rows)), int(state[0]) if state else 0

    def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        with self._read() as db:
            try:
                return question(db)
            except sqlite3.OperationalError as error:
                raise Vanished(f"tables {self.path}: {error}") from error

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
            try:
                yield self._reader
            except sqlite3.DatabaseError as error:
                if is_damage(error):
                    raise Damaged(f"tables {self.path}: {error}") from error
                raise

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
                    kind = Damaged if is_damage(error) else StoreError
                    raise kind(f"tables {self.path}: cannot be built: {error}") from error
                raise

    def _open(self) -> sqlite3.Connection:
        self._db = self._opened(self._db)
        return self._db

    def _opened(self, db: sqlite3.Connection | None) -> sqlite3.Connection:
        """A connection to the file that is there now."""
        if db is not None:
            if self._file.get(id(db)) == identity(self.path):
                return db
            self._drop(db)
        try:
            fresh = connect(self.path)
        except sqlite3.OperationalError as error:
            raise StoreError(f"tables {self.path}: {error}; another process may be building, try again") from error
        except sqlite3.DatabaseError:
            remove(self.path)
            fresh = connect(self.path)
        self._file[id(fresh)] = identity(self.path)
        return fresh

    def _drop(self, db: sqlite3.Connection) -> None:
        self._file.pop(id(db), None)
        db.close()
