"""Payloads on their way in and out: spilled in short transactions under a lease, finished with the entry, swept.

A payload row with an owner belongs to no entry yet (or no more): nobody can read it, and it is removed once its
owner is dead or its lease ran out.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager

from crp_mcp.errors import StoreError
from crp_mcp.store import lease, numbers
from crp_mcp.store.codec import CHUNK_BYTES
from crp_mcp.store.payloads import PayloadWriter, WrittenPayload, insert_chunks
from crp_mcp.store.schema import CHUNK_BITS

Write = Callable[[], AbstractContextManager[sqlite3.Connection]]
_CHUNKS_A_STEP = 8
"""Chunks removed in one transaction: at most 2 MiB are overwritten while others wait."""
_LOST = "the upload was given up: it showed no sign of life for longer than its lease; capture the result again"


def spill(db: sqlite3.Connection, writer: PayloadWriter, now: float) -> int:
    """Write a batch of chunks and renew the lease; returns the bytes written.

    Raises:
        StoreError: the payload was swept meanwhile.
    """
    until = now + lease.LEASE_SECONDS
    if writer.payload_id is None:
        writer.payload_id, writer.owner = numbers.next_of_store(db), lease.new_owner()
        db.execute(
            "INSERT INTO payload (id, raw_bytes, stored_bytes, chunk_bytes, sha256, owner, lease_until) "
            "VALUES (?, 0, 0, ?, x'', ?, ?)",
            (writer.payload_id, CHUNK_BYTES, writer.owner, until),
        )
    elif not db.execute(
        "UPDATE payload SET lease_until = ? WHERE id = ? AND owner = ?", (until, writer.payload_id, writer.owner)
    ).rowcount:
        raise StoreError(_LOST)
    first, chunks = writer.take_pending()
    insert_chunks(db, writer.payload_id, first, chunks)
    return sum(len(data) for _, data in chunks)


def finish(db: sqlite3.Connection, payload: WrittenPayload, new_id: int) -> int:
    """Write what is left of a payload and make it readable; part of the transaction that stores its entry.

    `new_id` is used where nothing was spilled yet. Returns the payload's id.
    """
    if payload.payload_id is None:
        only = payload.pending[0] if len(payload.pending) == 1 else (None, None)
        db.execute(
            "INSERT INTO payload (id, raw_bytes, stored_bytes, chunk_bytes, sha256, codec, data) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (new_id, payload.size, payload.stored_bytes, CHUNK_BYTES, payload.sha256, *only),
        )
        if len(payload.pending) > 1:
            insert_chunks(db, new_id, 0, payload.pending)
        return new_id
    if not db.execute(
        "UPDATE payload SET raw_bytes = ?, stored_bytes = ?, sha256 = ?, owner = NULL, lease_until = NULL "
        "WHERE id = ? AND owner = ?",
        (payload.size, payload.stored_bytes, payload.sha256, payload.payload_id, payload.owner),
    ).rowcount:
        raise StoreError(_LOST)
    insert_chunks(db, payload.payload_id, payload.first_pending, payload.pending)
    return payload.payload_id


def sweep(db: sqlite3.Connection, write: Write, now: float) -> int:
    """Remove every payload whose owner is dead or whose lease ran out; returns how many."""
    rows = db.execute("SELECT id, owner, lease_until FROM payload WHERE owner IS NOT NULL").fetchall()
    dead = [row for row in rows if row[2] <= now or lease.is_gone(row[1])]
    return sum(_drop(write, *row) for row in dead)


def drop(write: Write, payload_id: int, owner: str) -> None:
    """Remove an upload its own writer gives up."""
    _drop(write, payload_id, owner, None)


def _drop(write: Write, payload_id: int, owner: str, lease_until: float | None) -> bool:
    """Remove a payload that belongs to no entry, a few chunks a transaction; its row last, so it can be resumed.

    It is taken over first, and only if nothing changed since it was looked at: an owner that was alive after all keeps
    its upload, one that comes back later finds it lost instead of writing on.
    """
    first, past = payload_id << CHUNK_BITS, (payload_id + 1) << CHUNK_BITS
    while True:
        with write() as db:
            taken = db.execute(
                "UPDATE payload SET owner = '', lease_until = 0 "
                "WHERE id = ? AND owner = ? AND (? IS NULL OR lease_until = ?)",
                (payload_id, owner, lease_until, lease_until),
            ).rowcount
            if not taken:
                return False
            owner, lease_until = "", None
            gone = db.execute(
                "DELETE FROM chunk WHERE id IN (SELECT id FROM chunk WHERE id >= ? AND id < ? LIMIT ?)",
                (first, past, _CHUNKS_A_STEP),
            ).rowcount
            if gone < _CHUNKS_A_STEP:
                db.execute("DELETE FROM payload WHERE id = ?", (payload_id,))
                return True
