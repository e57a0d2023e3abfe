"""Audit records and receipts as rows: the head, appending, reading in order. Bytes in, the same bytes out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from .model import Head, Sealed, SealedReceipt, StoredRecord

_BATCH = 500


def head(db: sqlite3.Connection) -> Head:
    """Return the newest record's number and hash."""
    row = db.execute("SELECT seq, hash FROM record ORDER BY seq DESC LIMIT 1").fetchone()
    return Head(row[0], row[1]) if row else Head(0, "")


def store(db: sqlite3.Connection, sealed: Sealed, *, space_id: int) -> None:
    """Insert the records and the receipt of one seal. A record out of order is refused: heads must not fork."""
    expected = head(db).seq
    for record in sealed.records:
        expected += 1
        if record.seq != expected:
            raise ValueError(f"audit record {record.seq} does not follow record {expected - 1}")
        db.execute(
            "INSERT INTO record (seq, body, hash, mac) VALUES (?, ?, ?, ?)",
            (record.seq, record.body, record.hash, record.mac),
        )
    if sealed.receipt is not None:
        _store_receipt(db, sealed.receipt, space_id)


def _store_receipt(db: sqlite3.Connection, receipt: SealedReceipt, space_id: int) -> None:
    receipt_id = db.execute(
        "INSERT INTO receipt (digest, body, supersedes, space_id) VALUES (?, ?, ?, ?)",
        (receipt.digest, receipt.body, receipt.supersedes, space_id),
    ).lastrowid
    db.executemany(
        "INSERT INTO leaf (receipt_id, idx, item, body) VALUES (?, ?, ?, ?)",
        [(receipt_id, number, leaf.item, leaf.body) for number, leaf in enumerate(receipt.leaves)],
    )


def records(db: sqlite3.Connection, from_seq: int) -> Iterator[StoredRecord]:
    """Yield records from `from_seq` on, a batch at a time, so that no read transaction stays open in between."""
    while True:
        rows = db.execute(
            "SELECT seq, body, hash, mac FROM record WHERE seq >= ? ORDER BY seq LIMIT ?", (from_seq, _BATCH)
        ).fetchall()
        for row in rows:
            yield StoredRecord(*row)
        if len(rows) < _BATCH:
            return
        from_seq = rows[-1][0] + 1
