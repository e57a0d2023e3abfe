"""Audit records and receipts as rows: the head, appending, reading in order. Bytes in, the same bytes out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from crp_mcp.errors import NotFound
from crp_mcp.proof.chain import Head, Record
from crp_mcp.store.ids import number_of
from crp_mcp.store.model import Sealed, SealedReceipt, Snapshot, StoredCheckpoint, StoredReceipt

_BATCH = 500


def head(db: sqlite3.Connection) -> Head:
    """Return the newest record's number and hash."""
    row = db.execute("SELECT seq, hash FROM record ORDER BY seq DESC LIMIT 1").fetchone()
    return Head(row[0], row[1]) if row else Head(0, "")


def store(
    db: sqlite3.Connection, after: Head, sealed: Sealed, *, space_id: int, own: str | None = None, taken: int = 0
) -> None:
    """Insert the records and the receipt of one seal. A record that does not follow `after` is refused.

    `own` is the entry the receipt belongs to: that entry leads to it by itself, so it is not indexed as a source.
    `taken`: the number of an entry or payload that is stored in the same transaction (see `numbers`).
    """
    for expected, record in enumerate(sealed.records, after.seq + 1):
        if record.seq != expected:
            raise ValueError(f"audit record {record.seq} does not follow record {expected - 1}")
    db.executemany("INSERT INTO record (seq, body, hash, mac) VALUES (?, ?, ?, ?)", sealed.records)
    if sealed.records:
        last = sealed.records[-1]
        db.execute(
            "UPDATE tally SET head_seq = ?, head_hash = ?, last_number = max(last_number, ?) WHERE id = 0",
            (last.seq, last.hash, taken),
        )
    elif taken:
        db.execute("UPDATE tally SET last_number = max(last_number, ?) WHERE id = 0", (taken,))
    for mark in sealed.checkpoints:
        add_checkpoint(db, mark.seq, mark.body, mark.at)
    for receipt in (*(() if sealed.receipt is None else (sealed.receipt,)), *sealed.more):
        _store_receipt(db, receipt, space_id, own)


def _store_receipt(db: sqlite3.Connection, receipt: SealedReceipt, space_id: int, own: str | None) -> None:
    leaves = [(None if leaf.item == own else leaf.item, leaf.body) for leaf in receipt.leaves]
    if own is not None:
        sources = [(space_id, item, own) for item, _ in leaves if item is not None]
        if sources:
            db.executemany("INSERT OR IGNORE INTO derivation (space_id, source, entry) VALUES (?, ?, ?)", sources)
    only = leaves[0][1] if len(leaves) == 1 and leaves[0][0] is None else None  # a plain capture: one row less
    receipt_id = db.execute(
        "INSERT INTO receipt (digest, body, supersedes, space_id, only_leaf) VALUES (?, ?, ?, ?, ?)",
        (receipt.digest, receipt.body, receipt.supersedes, space_id, only),
    ).lastrowid
    if only is None:
        db.executemany(
            "INSERT INTO leaf (receipt_id, idx, item, body) VALUES (?, ?, ?, ?)",
            [(receipt_id, number, item, body) for number, (item, body) in enumerate(leaves)],
        )


def records(db: sqlite3.Connection, from_seq: int) -> Iterator[Record]:
    """Yield records from `from_seq` on, a batch at a time, so that no read transaction stays open in between."""
    while True:
        rows = db.execute(
            "SELECT seq, body, hash, mac FROM record WHERE seq >= ? ORDER BY seq LIMIT ?", (from_seq, _BATCH)
        ).fetchall()
        for row in rows:
            yield Record(*row)
        if len(rows) < _BATCH:
            return
        from_seq = rows[-1][0] + 1


def receipt(db: sqlite3.Connection, space_id: int | None, digest: str) -> StoredReceipt:
    """Return a receipt with its leaves; `space_id` None looks in the whole store.

    Raises:
        NotFound: there is none with this digest here.
    """
    row = db.execute(
        "SELECT id, body, supersedes, only_leaf FROM receipt WHERE digest = ? AND (? IS NULL OR space_id = ?) "
        "ORDER BY id LIMIT 1",
        (digest, space_id, space_id),
    ).fetchone()
    if row is None:
        raise NotFound(f"no receipt {digest!r} here")
    leaves: tuple[bytes, ...] = (row[3],)
    if row[3] is None:
        found = db.execute("SELECT body FROM leaf WHERE receipt_id = ? ORDER BY idx", (row[0],)).fetchall()
        leaves = tuple(leaf[0] for leaf in found)
    return StoredReceipt(digest, row[1], leaves, row[2])


def receipts_on(db: sqlite3.Connection, space_id: int, item: str) -> list[str]:
    """Return the digests of receipts that have `item` among their sources, and of the item's own, in order."""
    rows = db.execute(
        "SELECT r.id, r.digest FROM leaf l JOIN receipt r ON r.id = l.receipt_id WHERE l.item = ? AND r.space_id = ? "
        "UNION SELECT r.id, r.digest FROM entry e JOIN receipt r ON r.digest = e.receipt "
        "WHERE e.space_id = ? AND e.scratch_id = ? AND e.number = ? ORDER BY 1",
        (item, space_id, space_id, item, number_of(item)),
    ).fetchall()
    return list(dict.fromkeys(row[1] for row in rows))


def all_receipts(db: sqlite3.Connection, up_to: int) -> Iterator[StoredReceipt]:
    """Yield the receipts of the whole store up to a row number, in order, with their leaves."""
    last = 0
    while rows := db.execute(
        "SELECT id, digest, body, supersedes, only_leaf FROM receipt WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
        (last, up_to, _BATCH),
    ).fetchall():
        for number, digest, body, supersedes, only in rows:
            leaves: tuple[bytes, ...] = (only,)
            if only is None:
                found = db.execute("SELECT body FROM leaf WHERE receipt_id = ? ORDER BY idx", (number,)).fetchall()
                leaves = tuple(leaf[0] for leaf in found)
            yield StoredReceipt(digest, body, leaves, supersedes)
        last = rows[-1][0]


def snapshot(db: sqlite3.Connection) -> Snapshot | None:
    """Return how far everything goes at one moment: a statement reads one state of the file.

    None where somebody removed the row that is kept of it.
    """
    row = db.execute(
        "SELECT coalesce((SELECT max(seq) FROM record), 0), "
        "coalesce((SELECT hash FROM record ORDER BY seq DESC LIMIT 1), ''), "
        "coalesce(head_seq, 0), coalesce(head_hash, ''), "
        "coalesce((SELECT max(id) FROM receipt), 0), coalesce((SELECT max(id) FROM tombstone), 0) "
        "FROM tally WHERE id = 0"
    ).fetchone()
    return None if row is None else Snapshot(Head(row[0], row[1]), Head(row[2], row[3]), row[4], row[5])


def add_checkpoint(db: sqlite3.Connection, seq: int, body: bytes, at: float) -> None:
    """Keep a signed checkpoint."""
    db.execute("INSERT INTO checkpoint (seq, body, created_at) VALUES (?, ?, ?)", (seq, body, at))


def checkpoints(db: sqlite3.Connection) -> list[StoredCheckpoint]:
    """Return the signed checkpoints, by the record they seal."""
    rows = db.execute("SELECT seq, body, created_at FROM checkpoint ORDER BY seq, id").fetchall()
    return [StoredCheckpoint(*row) for row in rows]
