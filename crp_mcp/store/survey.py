"""One state of the store as an auditor reads it: everything, in order, whatever somebody has put there.

A connection of its own that holds one read transaction, with an empty scratch database beside it (`said`) that is
private to it and gone when it closes. Text that is not UTF-8 comes out as what cannot equal anything signed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from crp_mcp.store import connection
from crp_mcp.store.faults import named
from crp_mcp.store.fixed import COLUMNS


@contextmanager
def survey(path: Path, busy_seconds: float) -> Iterator[sqlite3.Connection]:
    """A connection that sees the store as it is now until the block ends, and writes nothing to it.

    Raises:
        StoreError: SQLite itself cannot read the file.
    """
    with named(path):
        db = connection.connect(path, busy_seconds)
    try:
        db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        with named(path):
            db.execute("PRAGMA temp_store = FILE")  # what is sorted is ids and digests, and may be much
            db.execute("ATTACH '' AS said")
            db.execute("PRAGMA said.journal_mode = OFF")
            db.execute("PRAGMA said.synchronous = OFF")
            db.execute("PRAGMA said.secure_delete = OFF")
            db.execute("BEGIN")
            yield db
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
        db.close()


class EntryRow(NamedTuple):
    """One entry with the rows that belong to it; None for what is not there."""

    seq: int
    number: int
    payload_id: int
    salt: bytes
    persistence: str
    expires_at: int
    stored_bytes: int
    summary: str | None
    receipt: str | None
    call_hash: bytes | None
    superseded_by: str | None
    arguments: str
    structured: str | None
    fixed: tuple[Any, ...]
    """Values of fixed.COLUMNS."""
    tenant: str | None
    project: str | None
    conversation: str | None
    receipt_body: bytes | None
    payload: PayloadRow | None

    def __getattr__(self, name: str) -> Any:
        if name in COLUMNS:
            return self.fixed[COLUMNS.index(name)]
        raise AttributeError(name)


class PayloadRow(NamedTuple):
    raw_bytes: int
    stored_bytes: int
    chunk_bytes: int
    sha256: bytes
    owner: str | None


_OWN = (
    "seq, number, payload_id, salt, persistence, expires_at, stored_bytes, summary, receipt, call_hash, "
    "superseded_by, tool_call_args, structured"
)
_ENTRIES = (
    f"SELECT {', '.join('e.' + column for column in _OWN.split(', '))}, t.name, s.project, c.name, "
    "(SELECT body FROM receipt r WHERE r.digest = e.receipt ORDER BY r.id LIMIT 1), "
    "p.raw_bytes, p.stored_bytes, p.chunk_bytes, p.sha256, p.owner, "
    f"{', '.join('e.' + column for column in COLUMNS)} FROM entry e "
    "LEFT JOIN conversation c ON c.id = e.conversation_id AND c.space_id = e.space_id "
    "LEFT JOIN space s ON s.id = e.space_id LEFT JOIN tenant t ON t.id = s.tenant_id "
    "LEFT JOIN payload p ON p.id = e.payload_id ORDER BY e.seq"
)


def entry_rows(db: sqlite3.Connection) -> Iterator[EntryRow]:
    """Yield every entry in the order of capture."""
    for row in db.execute(_ENTRIES):
        payload = None if row[17] is None else PayloadRow(*row[17:22])
        yield EntryRow._make((*row[:13], tuple(row[22:]), *row[13:17], payload))


class ReceiptRow(NamedTuple):
    """One receipt with its leaves as (item, body), in order. `well`: whether they stand where they should."""

    id: int
    digest: str
    body: bytes
    supersedes: str | None
    space_id: int
    leaves: list[tuple[str | None, bytes]]
    well: bool


def receipt_rows(db: sqlite3.Connection) -> Iterator[ReceiptRow]:
    """Yield every receipt in order."""
    columns = "SELECT id, digest, body, supersedes, space_id, only_leaf FROM receipt ORDER BY id"
    for number, digest, body, supersedes, space_id, only in db.execute(columns):
        found = db.execute("SELECT idx, item, body FROM leaf WHERE receipt_id = ? ORDER BY idx", (number,)).fetchall()
        well = [row[0] for row in found] == list(range(len(found))) and (only is None or not found)
        leaves: list[tuple[str | None, bytes]] = [(row[1], row[2]) for row in found] if only is None else [(None, only)]
        yield ReceiptRow(number, digest, body, supersedes, space_id, leaves, well)
