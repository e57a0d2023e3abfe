"""Payload bytes as chunks of 256 KiB: writing in pieces, reading any slice.

Chunks are numbered inside the payload, so the chunk of an offset is a division and a slice touches only its own; the
only chunk of a small payload stands in the payload's own row. Payloads are never shared between entries: what is
purged is gone (see docs/decisions/0002-store.md).
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from crp_mcp.errors import NotFound, StoreError
from crp_mcp.store import codec
from crp_mcp.store.codec import CHUNK_BYTES, Chunk
from crp_mcp.store.schema import CHUNK_BITS

BATCH_BYTES = 512 * 1024
"""Stored bytes kept in memory; more is written in a short transaction of its own, so that nobody waits long."""


@dataclass(frozen=True, slots=True)
class WrittenPayload:
    """A payload that was written to its end. Handed to `commit_capture` once; until then it belongs to no entry."""

    size: int
    sha256: bytes
    stored_bytes: int
    pending: tuple[Chunk, ...]
    first_pending: int
    payload_id: int | None = None
    owner: str | None = None

    @property
    def provenance_hash(self) -> str:
        return "sha256:" + self.sha256.hex()


class PayloadWriter:
    """Takes a payload piece by piece; memory stays under about 1 MiB whatever its size. For one thread at a time.

    `spill(writer)` is the store's: it writes `take_pending()` under the upload's lease. Use it as a context manager,
    or call `abort()` when the payload is given up.
    """

    def __init__(self, spill: Callable[[PayloadWriter], None], drop: Callable[[PayloadWriter], None]) -> None:
        self.size = 0
        self.stored_bytes = 0
        self.payload_id: int | None = None
        self.owner: str | None = None
        self._spill = spill
        self._drop = drop
        self._hash = hashlib.sha256()
        self._rest = bytearray()
        self._pending: list[Chunk] = []
        self._pending_bytes = 0
        self._written = 0
        self._open = True

    def write(self, piece: bytes | bytearray | memoryview) -> None:
        """Take the next bytes.

        Raises:
            StoreError: a batch could not be written, or the upload was given up as dead by another process.
        """
        if not self._open:
            raise ValueError("this payload was already closed")
        self._hash.update(piece)
        view = memoryview(piece).cast("B")
        self.size += len(view)
        if self._rest:
            take = min(CHUNK_BYTES - len(self._rest), len(view))
            self._rest += view[:take]
            view = view[take:]
            if len(self._rest) == CHUNK_BYTES:
                self._add(self._rest)
                self._rest = bytearray()
        while len(view) >= CHUNK_BYTES:
            self._add(view[:CHUNK_BYTES])
            view = view[CHUNK_BYTES:]
        self._rest += view

    def close(self) -> WrittenPayload:
        """Finish; what is still in memory is written together with the entry."""
        if self._rest:
            self._add(self._rest)
            self._rest = bytearray()
        self._open = False
        return WrittenPayload(
            self.size,
            self._hash.digest(),
            self.stored_bytes,
            tuple(self._pending),
            self._written,
            self.payload_id,
            self.owner,
        )

    def abort(self) -> None:
        """Give the payload up; what was already written of it is removed."""
        self._open = False
        self._pending.clear()
        if self.payload_id is not None:
            self._drop(self)

    def take_pending(self) -> tuple[int, list[Chunk]]:
        """Return the number of the first pending chunk and the chunks, and forget them. For `spill` only."""
        first, chunks = self._written, self._pending
        self._written += len(chunks)
        self._pending, self._pending_bytes = [], 0
        return first, chunks

    def _add(self, raw: bytearray | memoryview) -> None:
        chunk = codec.pack(raw)
        self._pending.append(chunk)
        self._pending_bytes += len(chunk[1])
        self.stored_bytes += len(chunk[1])
        if self._pending_bytes >= BATCH_BYTES:
            self._spill(self)

    def __enter__(self) -> PayloadWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.abort()


def insert_chunks(db: sqlite3.Connection, payload_id: int, first: int, chunks: Sequence[Chunk]) -> None:
    """Insert consecutive chunks of a payload, the first of them number `first`."""
    base = (payload_id << CHUNK_BITS) + first
    db.executemany(
        "INSERT INTO chunk (id, codec, data) VALUES (?, ?, ?)",
        [(base + number, how, data) for number, (how, data) in enumerate(chunks)],
    )


class PayloadReader:
    """Slices of one payload, which never changes; keeps the chunk it read last. Make one for each request."""

    def __init__(self, connection: Callable[[], sqlite3.Connection], payload_id: int) -> None:
        row = connection().execute(
            "SELECT raw_bytes, chunk_bytes, sha256, codec, data FROM payload WHERE id = ? AND owner IS NULL",
            (payload_id,),
        )
        found = row.fetchone()
        if found is None:
            raise NotFound("the payload is gone: it was evicted, expired or purged")
        self.size: int = found[0]
        self.sha256: bytes = found[2]
        self._chunk_bytes: int = found[1]
        self._only: Chunk | None = None if found[4] is None else (found[3], found[4])
        self._connection = connection
        self._id = payload_id
        self._number = -1
        self._chunk = b""

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`; short at the end, empty past it.

        Raises:
            ValueError: a negative offset or length.
            NotFound: the payload was removed meanwhile.
            StoreError: a stored chunk is damaged.
        """
        if offset < 0 or length < 0:
            raise ValueError("offset and length must not be negative")
        end = min(offset + length, self.size)
        if offset >= end:
            return b""
        parts = []
        for number in range(offset // self._chunk_bytes, (end - 1) // self._chunk_bytes + 1):
            start = number * self._chunk_bytes
            parts.append(self._load(number)[max(0, offset - start) : end - start])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def pieces(self) -> Iterator[bytes]:
        """Yield the whole payload chunk by chunk; the hash is checked at the end.

        No read transaction stays open between chunks, so a slow reader does not keep the log from being emptied.
        """
        digest = hashlib.sha256()
        for number in range(-(-self.size // self._chunk_bytes)):
            piece = self._load(number)
            digest.update(piece)
            yield piece
        if digest.digest() != self.sha256:
            raise StoreError(f"payload {self._id} is damaged: its bytes no longer have the hash they were stored with")

    def _load(self, number: int) -> bytes:
        if number != self._number:
            how, data = self._only or self._fetch(number)
            size = min(self._chunk_bytes, self.size - number * self._chunk_bytes)
            self._chunk = codec.unpack(how, data, size, f"payload {self._id}, chunk {number},")
            self._number = number
        return self._chunk

    def _fetch(self, number: int) -> Chunk:
        db = self._connection()
        key = (self._id << CHUNK_BITS) + number
        row = db.execute("SELECT codec, data FROM chunk WHERE id = ?", (key,)).fetchone()
        if row is not None:
            return row[0], row[1]
        if db.execute("SELECT 1 FROM payload WHERE id = ? AND owner IS NULL", (self._id,)).fetchone() is None:
            raise NotFound("the payload is gone: it was evicted, expired or purged while it was read")
        raise StoreError(f"payload {self._id} is damaged: chunk {number} is missing")
