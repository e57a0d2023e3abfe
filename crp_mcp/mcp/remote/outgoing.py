"""A message on its way to a server: what its HTTP request must say of it, and its bytes as often as needed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from crp_mcp.core.wire.eras import ENVELOPE_VERSION, is_modern
from crp_mcp.core.wire.frame import Cut, Frame, Malformed, Piece, parse_line, size_of, spooled_frame, text_of
from crp_mcp.core.wire.requests import same_id
from crp_mcp.core.wire.scan import NotJson
from crp_mcp.mcp.sources import CHUNK
from crp_mcp.mcp.spool import SpoolFile

NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
SAFE = frozenset(
    {
        "initialize",
        "server/discover",
        "ping",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
    }
)
"""Requests that do no harm when they are made twice. What a tool says of itself is a hint, and not trusted here."""
WHOLE = 256 * 1024
"""Members of a large message are read up to this size."""


class Outgoing:
    """One message. `id` is the raw JSON token of a request, None for a notification or an answer."""

    def __init__(self, pieces: tuple[Piece, ...], inbound: Mapping[str, str] = MappingProxyType({})) -> None:
        self.inbound = inbound
        """Headers of the HTTP request it came with, if it came with one."""
        self.passed = asyncio.Event()
        """What comes after it may be sent."""
        self.settled = False
        """It has been answered."""
        self.waits = 0
        """How often its server asked us to come again later."""
        self.relisted = False
        """The tools have been listed for its sake."""
        self.pieces = pieces
        self.size = sum(map(size_of, pieces))
        self.held = sum(len(piece) for piece in pieces if isinstance(piece, bytes))
        """Bytes of it that are in memory."""
        frame = _frame_of(pieces)
        self.frame = frame
        self.method = frame.method if frame else None
        self.id = frame.id if frame and frame.method is not None else None
        self.modern = frame is not None and self.method is not None and is_modern(frame)

    @property
    def key(self) -> bytes | None:
        """The request's id, in one spelling."""
        return None if self.id is None else same_id(self.id)

    @property
    def safe(self) -> bool:
        return self.method in SAFE

    @property
    def name(self) -> str | None:
        """Name or URI of what is asked for."""
        member = NAMED_BY.get(self.method or "")
        return text_of(self.frame.part(member)) if member and self.frame else None

    @property
    def version(self) -> str | None:
        """The protocol version its envelope names."""
        meta = self.member("_meta")
        value = meta.get(ENVELOPE_VERSION.decode()) if isinstance(meta, dict) else None
        return value if isinstance(value, str) else None

    def member(self, name: str) -> Any:
        """A member of its params, decoded; None where it is missing, unreadable or longer than any reasonable one."""
        span = self.frame.inner.get(name) if self.frame else None
        if self.frame is None or span is None or span[1] - span[0] > WHOLE:
            return None
        piece = self.frame.piece(span)
        raw = piece if isinstance(piece, bytes) else _read(piece)
        try:
            return json.loads(raw)
        except (ValueError, RecursionError):
            return None

    def chunks(self) -> Iterator[bytes]:
        """Its bytes, each time anew."""
        for piece in self.pieces:
            if isinstance(piece, bytes):
                yield piece
            else:
                for at in range(piece.start, piece.end, CHUNK):
                    yield _read(Cut(piece.source, at, min(at + CHUNK, piece.end)))


def _frame_of(pieces: tuple[Piece, ...]) -> Frame | None:
    if all(isinstance(piece, bytes) for piece in pieces):
        message = parse_line(b"".join(pieces))  # type: ignore[arg-type]
    else:
        message = _scanned(pieces)
    return message if isinstance(message, Frame) else None


def _scanned(pieces: tuple[Piece, ...]) -> Frame | Malformed:
    """The frame of a message that is not all in memory."""
    from crp_mcp.core.wire.stream import LineScan

    scan, joined = LineScan(), _Joined(pieces)
    try:
        for at in range(0, joined.size, CHUNK):
            scan.feed(joined.read(at, min(at + CHUNK, joined.size)))
        scan.finish()
    except NotJson as error:
        return Malformed(-32700, str(error))
    return spooled_frame(scan, joined, joined.size, joined.read)


class _Joined:
    """The pieces as one run of bytes."""

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        self._pieces = pieces
        self.size = sum(map(size_of, pieces))

    def read(self, start: int, end: int) -> bytes:
        found, base = [], 0
        for piece in self._pieces:
            size = size_of(piece)
            low, high = max(start - base, 0), min(end - base, size)
            if low < high:
                found.append(
                    piece[low:high]
                    if isinstance(piece, bytes)
                    else _read(Cut(piece.source, piece.start + low, piece.start + high))
                )
            base += size
        return b"".join(found)


def _read(cut: Cut) -> bytes:
    source = cut.source
    assert isinstance(source, SpoolFile | _Joined)
    read: Callable[[int, int], bytes] = source.read
    return read(cut.start, cut.end)
