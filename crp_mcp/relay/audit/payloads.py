"""Payload bytes held against the hashes they were stored with, a chunk at a time; and none that belongs to nothing."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from crp_mcp.errors import NotFound, StoreError
from crp_mcp.proof.chain_verify import FaultKind
from crp_mcp.store.codec import CHUNK_BYTES, RAW, ZSTD
from crp_mcp.store.payloads import PayloadReader
from crp_mcp.store.schema import CHUNK_BITS

from .findings import Findings

_WHOSE = (
    "SELECT e.scratch_id, p.id, p.raw_bytes, p.stored_bytes, p.chunk_bytes, length(p.data), p.codec, c.name "
    "FROM entry e "
    "JOIN payload p ON p.id = e.payload_id LEFT JOIN conversation c ON c.id = e.conversation_id ORDER BY e.seq"
)


@dataclass(slots=True)
class Payloads:
    """`read`: bytes that were read."""

    db: sqlite3.Connection
    findings: Findings
    read: int = 0

    def check(self, conversation: str | None, *, bytes_too: bool) -> None:
        """Every payload's chunks; with `bytes_too` what is in them."""
        for name, key, size, stored, chunk, inside, codec, session in self.db.execute(_WHOSE):
            if conversation not in (None, session) or chunk != CHUNK_BYTES:
                continue  # chunks of another size: said where the entry was looked at
            what = self._chunks(key, size, stored, None if inside is None else (codec, inside))
            if what is None and bytes_too:
                what = self._bytes(key)
            if what is not None:
                self.findings.add(FaultKind.PAYLOAD, f"{name}: {what}", item=name)
        if conversation is None:
            self._orphans()

    def _chunks(self, key: int, size: int, stored: int, inside: tuple[int, int] | None) -> str | None:
        if not 0 < key < 1 << (62 - CHUNK_BITS):
            return "its payload has a number that no payload is given"
        first, past = key << CHUNK_BITS, (key + 1) << CHUNK_BITS
        sql = (
            "SELECT count(*), min(id), max(id), sum(length(data)), min(codec), max(codec) FROM chunk "
            "WHERE id >= ? AND id < ?"
        )
        count, low, high, held, *codecs = self.db.execute(sql, (first, past)).fetchone()
        if not {*codecs, *(inside or ())[:1]} <= {RAW, ZSTD, None} or (inside and inside[0] is None):
            good = False
        elif inside is not None:
            good = count == 0 and inside[1] == stored and size <= CHUNK_BYTES
        elif size <= 0:
            good = count == 0 and size == stored == 0
        else:
            wanted = -(-size // CHUNK_BYTES)
            good = (count, low, high, held) == (wanted, first, first + wanted - 1, stored)
        return None if good else "chunks of its payload are missing, added or of another size"

    def _bytes(self, key: int) -> str | None:
        try:
            for piece in PayloadReader(lambda: self.db, key).pieces():
                self.read += len(piece)
        except (StoreError, NotFound) as error:
            return str(error)
        return None

    def _orphans(self) -> None:
        loose = (
            "SELECT p.id FROM payload p WHERE p.owner IS NULL AND NOT EXISTS "
            "(SELECT 1 FROM said.held h WHERE h.payload = p.id)",
            f"SELECT DISTINCT id >> {CHUNK_BITS} FROM chunk WHERE NOT EXISTS "
            f"(SELECT 1 FROM payload p WHERE p.id = chunk.id >> {CHUNK_BITS})",
        )
        for sql in loose:
            for (key,) in self.db.execute(sql):
                message = f"payload {key} belongs to no entry: it was added, or stayed behind when its entry was taken"
                self.findings.add(FaultKind.PAYLOAD, message)
