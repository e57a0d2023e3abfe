"""A message on its way to a client: what it is, read from its bytes without holding or decoding what is large."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crp_mcp.core.wire.frame import Cut, Piece, size_of
from crp_mcp.core.wire.scan import Span
from crp_mcp.core.wire.stream import LineScan
from crp_mcp.mcp.spool import SpoolFile

CHUNK = 64 * 1024
_EDGE = 512
_BEGIN = rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?'
_ID_FIRST = re.compile(_BEGIN + rb'"id"\s*:\s*(\d+)\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"\s*:')
_ANSWER = re.compile(_BEGIN + rb'"(?:result|error)"\s*:')
_ID_LAST = re.compile(rb',\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
"""Exactly one brace follows, so it is the message's own id and none within its result."""


class Outgoing:
    """The message in pieces. Spans count from its start."""

    __slots__ = ("_scan", "pieces", "size")

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        self.pieces = pieces
        self.size = sum(map(size_of, pieces))
        self._scan: LineScan | None = None

    @property
    def in_memory(self) -> int:
        """How many bytes of it are held in memory."""
        return sum(len(piece) for piece in self.pieces if isinstance(piece, bytes))

    def read(self, start: int, end: int) -> bytes:
        found, at = [], 0
        for piece in self.pieces:
            size = size_of(piece)
            if at < end and start < at + size:
                found.append(part_of(piece, max(0, start - at), min(size, end - at)))
            at += size
        return b"".join(found)

    def scan(self) -> LineScan:
        """Where its parts are. Reads all of it.

        Raises:
            NotJson: a server or the core has sent what is no message.
        """
        if self._scan is None:
            scan = LineScan()
            for chunk in chunks(self.pieces):
                scan.feed(chunk)
            scan.finish()
            self._scan = scan
        return self._scan

    def top(self, name: str) -> bytes | None:
        """Raw JSON of one of its own members."""
        span = self.scan().top.get(name)
        return self.read(*span) if span else None

    def inner(self, owner: str, name: str) -> bytes | None:
        """Raw JSON of a member of `params`, `result` or `error`."""
        span = self.inner_span(owner, name)
        return self.read(*span) if span else None

    def inner_span(self, owner: str, name: str) -> Span | None:
        return self.scan().inner.get(owner, {}).get(name)

    def answered(self) -> tuple[int, Span] | None:
        """The request it answers and where that id stands, if it is an answer under an id of ours, a plain number."""
        head = self.read(0, _EDGE)
        found = _ID_FIRST.match(head)
        if found:
            return int(found[1]), found.span(1)
        if _ANSWER.match(head):
            base = max(0, self.size - _EDGE)
            last = _ID_LAST.search(self.read(base, self.size))
            if last:
                return int(last[1]), (base + last.start(1), base + last.end(1))
        top = self.scan().top
        if "method" in top or "id" not in top:
            return None
        ident = self.read(*top["id"])
        return (int(ident), top["id"]) if ident.isdigit() else None

    def replaced(self, span: Span, text: bytes) -> tuple[Piece, ...]:
        """Its pieces with one span replaced."""
        start, end = span
        before, after, at = [], [], 0
        for piece in self.pieces:
            size = size_of(piece)
            if at < start:
                before.append(cut(piece, 0, min(size, start - at)))
            if at + size > end:
                after.append(cut(piece, max(0, end - at), size))
            at += size
        return (*before, text, *after)


def cut(piece: Piece, start: int, end: int) -> Piece:
    if isinstance(piece, bytes):
        return piece[start:end]
    return Cut(piece.source, piece.start + start, piece.start + end)


def part_of(piece: Piece, start: int, end: int) -> bytes:
    """Bytes of a piece, wherever it lies."""
    if isinstance(piece, bytes):
        return piece[start:end]
    assert isinstance(piece.source, SpoolFile)
    return piece.source.read(piece.start + start, piece.start + end)


def chunks(pieces: tuple[Piece, ...]) -> Iterator[bytes]:
    """All bytes in order, no more than a chunk at a time; small pieces that stand together come together."""
    small: list[bytes] = []
    held = 0
    for piece in pieces:
        if isinstance(piece, bytes) and len(piece) + held <= CHUNK:
            small.append(piece)
            held += len(piece)
            continue
        if small:
            yield b"".join(small)
            small, held = [], 0
        for at in range(0, size_of(piece), CHUNK):
            yield part_of(piece, at, min(at + CHUNK, size_of(piece)))
    if small:
        yield b"".join(small)
