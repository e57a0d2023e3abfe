"""Opening the file: what it is, one tuned connection a thread, and write transactions that wait their turn.

Knows SQLite and files; of the tables it knows only that `schema.migrate` makes them.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from crp_mcp.errors import StoreBusy, StoreError, StoreGone
from crp_mcp.store import place, schema, scopes
from crp_mcp.store.faults import named

PAGE_SIZE = 4096
WAL_KEEP = 4 * 1024 * 1024
"""Bytes the log file keeps once it has been copied and starts again; more is cut off."""
_MAGIC = b"SQLite format 3\x00"
_PATIENCE_MS = 18
"""SQLite's own wait for a lock: it asks after 1, 3, 8 and 18 ms; beyond that it would sleep longer and longer."""
_SECOND_LOOK = 0.1
"""Seconds after which a file that looked wrong is looked at again."""
_OLDEST_SQLITE = (3, 37, 0)  # STRICT tables, RETURNING, generated columns


def look_at(path: Path) -> int:
    """Return the schema version of the store at `path`, 0 for an absent or empty file. Changes nothing.

    Raises:
        StoreError: not SQLite, not ours, damaged, or written by a newer version.
    """
    try:
        return _look(path)
    except StoreError:
        time.sleep(_SECOND_LOOK)  # another process may be making it at this moment: what is wrong stays wrong
        return _look(path)


def _look(path: Path) -> int:
    try:
        head, size, logged = _first_bytes(path)
    except OSError as error:
        raise StoreError(
            f"store {path}: cannot be read ({error.strerror}): check its permissions, or choose another place with "
            "--store"
        ) from error
    if not size:
        return 0
    _check_header(path, head, size, logged)
    with named(path):
        version = _read_version(path, logged)
    if version > schema.VERSION:
        raise StoreError(
            f"store {path}: made by a newer crp-mcp (schema {version}, this one knows {schema.VERSION}): "
            "upgrade crp-mcp, or choose another store with --store"
        )
    return version


def _first_bytes(path: Path) -> tuple[bytes, int, bool]:
    """Return the file's header, its size, and whether its log holds anything."""
    log = path.with_name(path.name + "-wal")
    logged = log.exists() and log.stat().st_size > 0
    try:
        with path.open("rb") as file:
            return file.read(100), file.seek(0, 2), logged
    except FileNotFoundError:
        return b"", 0, False


def _read_version(path: Path, logged: bool) -> int:
    """Read version and table list without leaving a trace: a log is read read-only, else the file as it stands.

    The application id is in the file before the log is ever used, so the header tells ours from foreign; the version
    may stand in the log alone.
    """
    how = "mode=ro" if logged else "immutable=1"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=10)) as db:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def _check_header(path: Path, head: bytes, size: int, logged: bool) -> None:
    if len(head) < 100 or not head.startswith(_MAGIC):
        raise StoreError(f"store {path}: not a SQLite file: move it away, or choose another place with --store")
    pages, cookie, version, application = struct.unpack(">28xI8xI16xI4xI28x", head)
    never_used = not (cookie or version or application or logged)  # a database nobody has put a table into yet
    if application != schema.APPLICATION_ID and not never_used:
        raise StoreError(
            f"store {path}: a SQLite file of another program: move it away, or choose another place with --store"
        )
    page = struct.unpack_from(">H", head, 16)[0]
    if not logged and size < pages * (65536 if page == 1 else page):  # a log may hold what the file lacks
        raise StoreError(
            f"store {path}: damaged, its end is missing ({size} of {pages * page} bytes): keep a copy, and restore "
            "a backup or move it away to start afresh"
        )


def prepare(path: Path, *, create: bool, busy_seconds: float) -> None:
    """Make sure a current store is at `path`, private to its owner.

    Raises:
        StoreError: as `look_at`; or there is no store and `create` is False.
    """
    if not create and not path.exists():
        raise StoreError(f"store {path}: there is none yet; `crp-mcp serve` makes it, or name another with --store")
    version = look_at(path)
    place.make_private(path)
    if version < schema.VERSION:
        _bring_up(path, busy_seconds)


def _bring_up(path: Path, busy_seconds: float) -> None:
    """Make the store at `path` current: any number of processes may do so at once. An existing one is migrated."""
    deadline = time.monotonic() + busy_seconds
    with named(path), closing(connect(path, busy_seconds)) as db:
        _retry(lambda: _lay_out(db), deadline)
        with write(db, path, busy_seconds):
            schema.migrate(db)


def _lay_out(db: sqlite3.Connection) -> None:
    """Set what must be set before the first table. Repeating it on a laid-out file changes nothing."""
    if db.execute("PRAGMA application_id").fetchone()[0] != schema.APPLICATION_ID:
        db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("BEGIN IMMEDIATE")
        db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        db.execute("COMMIT")
    mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise sqlite3.OperationalError(f"this file system cannot share a log between processes (journal mode {mode})")


def _retry(step: Callable[[], None], deadline: float) -> None:
    """Repeat `step` while SQLite answers busy at once: its busy timeout does not cover a change of journal mode."""
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Return a connection set up for this store's ways."""
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old, 3.37 or newer is needed: use a newer Python")
    # `timeout` is the busy timeout: set before anything else, the switch to WAL included.
    db = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, factory=scopes.Remembering
    )
    try:
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA secure_delete = ON")
        db.execute("PRAGMA wal_autocheckpoint = 0")
        db.execute(f"PRAGMA journal_size_limit = {WAL_KEEP}")
        db.execute("PRAGMA temp_store = MEMORY")  # content must not spill into temporary files
        # The first look at the file waits long: the last process to leave may be copying the log. From then on this
        # connection holds its share of the file, and only writers can be in the way.
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except BaseException:
        db.close()
        raise
    return db


class _Slot:
    """One thread's connection, closed when the thread is gone."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def __del__(self) -> None:
        self.db.close()


def _identity(path: str) -> tuple[int, int] | None:
    """Which file this is, whatever it is called; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Connections:
    """One connection for each thread that asks; all closed together."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.path = path
        self.busy_seconds = busy_seconds
        self._local = threading.local()
        self._slots: weakref.WeakSet[_Slot] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closed = False
        self._name = os.fspath(path)
        self._file: tuple[int, int] | None = None

    def get(self) -> sqlite3.Connection:
        """Return this thread's connection, opened on first use.

        Raises:
            StoreGone: the file was deleted or replaced: what is written to an open one would be lost with it.
        """
        file = _identity(self._name)
        if self._file is None:
            self._file = file
        elif file != self._file and not self._closed:
            raise StoreGone(f"store {self.path}: it was deleted or replaced while it was open")
        slot: _Slot | None = getattr(self._local, "slot", None)
        if slot is None or self._closed:
            if self._closed:
                raise StoreError(f"store {self.path}: already closed")
            with named(self.path):
                slot = _Slot(connect(self.path, self.busy_seconds))
                slot.db.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
            self._local.slot = slot
            with self._lock:
                self._slots.add(slot)
        return slot.db

    def close(self) -> None:
        """Close every connection; the last one of all processes copies the log into the file."""
        self._closed = True
        with self._lock:
            slots = list(self._slots)
        for slot in slots:
            slot.db.close()


class Reading(named):
    """A thread's connection for as long as something is read. No generator: it is opened many times a call."""

    __slots__ = ("_connections",)

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections.path)
        self._connections = connections

    def __enter__(self) -> sqlite3.Connection:  # type: ignore[override]
        return self._connections.get()


@contextmanager
def write(db: sqlite3.Connection, path: Path, busy_seconds: float) -> Iterator[sqlite3.Connection]:
    """Run the block as one `BEGIN IMMEDIATE` transaction: all of it is committed, or none.

    Raises:
        StoreBusy: another process held the write lock for longer than `busy_seconds`.
        StoreError: SQLite refused (disk full, damaged, not writable).
    """
    if db.in_transaction:
        raise RuntimeError("the store was called from inside one of its own transactions")
    try:
        with named(path):
            _begin(db, path, busy_seconds)
            yield db
            db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _begin(db: sqlite3.Connection, path: Path, busy_seconds: float) -> None:
    """Take the write lock, asking again every few milliseconds: each attempt waits `_PATIENCE_MS` by itself."""
    began = 0.0
    while True:
        try:
            db.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if not _is_busy(error):
                raise
            now = time.monotonic()
            began = began or now
            if now - began >= busy_seconds:
                raise StoreBusy(
                    f"store {path}: another process kept it locked for more than {busy_seconds:g} s; nothing was "
                    "stored, try again"
                ) from error


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return (error.sqlite_errorname or "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
