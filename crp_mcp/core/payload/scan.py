"""Skeleton of a result in a spooled line: read in windows, never held. Lenient: it follows quotes and brackets only."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from crp_mcp.core.wire.scan import Nest

from .memory import as_key, short_string
from .model import MAX_BLOCKS, BlockScan, Malformed, Scan, Span

Read = Callable[[int, int], bytes]
"""Bytes from one offset to another; fewer only at the end of what there is."""

WINDOW = 1 << 20
MAX_KEY = 1 << 16
"""Bytes of a member name or a scalar; longer ones are taken for an attack."""

_SPACE = re.compile(rb"[ \t\r\n]*+")
_SHORT_STRING = re.compile(rb'"[^"\\]{0,256}+"')
_SCALAR = re.compile(rb"[-+.0-9A-Za-z]++")

Visit = Callable[[int], int]
"""Reads the value that begins at an offset, remembers what is in it, returns where it ends."""


class Cursor:
    """Finds ends of JSON values in windows of bytes. Raises Malformed where there is no value, or no end to it."""

    def __init__(self, read: Read, end: int, window: int = WINDOW) -> None:
        self._read = read
        self._end = end
        self._window = window
        self._data = b""
        self._base = 0

    def _index(self, at: int) -> int:
        """Where offset `at` stands in the current window; moves it there. Raises Malformed at the end."""
        if not self._base <= at < self._base + len(self._data):
            self._data = self._read(at, min(at + self._window, self._end)) if at < self._end else b""
            self._base = at
            if not self._data:
                raise Malformed(f"nothing at byte {at}")
        return at - self._base

    def _slice(self, start: int, end: int) -> bytes:
        first = start - self._base
        inside = first >= 0 and end <= self._base + len(self._data)
        return self._data[first : end - self._base] if inside else self._read(start, end)

    def short_string(self, span: Span | None) -> str | None:
        """The value of a string that is not too long to be looked at; None for anything else."""
        if span is None or span.end - span.start > MAX_KEY:
            return None
        return short_string(self._slice(span.start, span.end))

    def byte(self, at: int) -> int:
        """The byte at an offset."""
        index = self._index(at)
        return self._data[index]

    def space(self, at: int) -> int:
        """Offset of the first byte that is no white space. Raises Malformed where only white space is left."""
        while True:
            index = self._index(at)
            found = _SPACE.match(self._data, index)
            assert found is not None
            at = self._base + found.end()
            if found.end() < len(self._data):
                return at

    def value(self, at: int) -> int:
        """Offset just past the value that begins at `at`."""
        index = self._index(at)
        first = self._data[index]
        if first in b'"[{':
            short = _SHORT_STRING.match(self._data, index) if first == 0x22 else None
            return self._base + short.end() if short else self._nested(at, first)
        return self._scalar(at)

    def _nested(self, at: int, first: int) -> int:
        nest, at = Nest(first), at + 1
        while True:
            index = self._index(at)
            end = nest.feed(self._data, index)
            if end >= 0:
                return self._base + end
            at = self._base + len(self._data)

    def _scalar(self, start: int) -> int:
        at = start
        while True:
            index = self._index(at)
            found = _SCALAR.match(self._data, index)
            if found is None:
                break
            at = self._base + found.end()
            if found.end() < len(self._data) or at == self._end or at - start > MAX_KEY:
                break
        if not start < at <= start + MAX_KEY:
            raise Malformed(f"no value at byte {start}")
        return at

    def members(self, at: int, visit: Mapping[str, Visit]) -> tuple[dict[str, Span], int]:
        """Members of the object that begins at `at`, and where it ends. `visit` reads the values it names."""
        found: dict[str, Span] = {}
        at = self.space(at + 1)
        if self.byte(at) == 0x7D:
            return found, at + 1
        while True:
            key, at = self._key(at)
            end = visit[key](at) if key in visit else self.value(at)
            found[key] = Span(at, end)
            if len(found) > MAX_BLOCKS:
                raise Malformed("more members than can be told apart")
            at, closed = self._next(end, 0x7D)
            if closed:
                return found, at

    def _key(self, at: int) -> tuple[str, int]:
        """A member's name, and where its value begins."""
        end = self.value(at) if self.byte(at) == 0x22 else at
        if not at < end <= at + MAX_KEY:
            raise Malformed(f"no member name at byte {at}")
        key = as_key(self._slice(at, end))
        colon = self.space(end)
        if self.byte(colon) != 0x3A:
            raise Malformed(f"no colon at byte {colon}")
        return key, self.space(colon + 1)

    def items(self, at: int, visit: Visit) -> int | None:
        """Visit the items of the array that begins at `at`. Where it ends; None after more than `MAX_BLOCKS` items."""
        at = self.space(at + 1)
        if self.byte(at) == 0x5D:
            return at + 1
        for _ in range(MAX_BLOCKS):
            at, closed = self._next(visit(at), 0x5D)
            if closed:
                return at
        return None

    def list(self, at: int) -> list[Span] | None:
        """The items of the array that begins at `at`; None where there are more than `MAX_BLOCKS`."""
        found: list[Span] = []

        def note(start: int) -> int:
            found.append(Span(start, self.value(start)))
            return found[-1].end

        return None if self.items(at, note) is None else found

    def _next(self, at: int, closing: int) -> tuple[int, bool]:
        """Past what follows a value: the next one's start, or the end of the container."""
        at = self.space(at)
        byte = self.byte(at)
        if byte == closing:
            return at + 1, True
        if byte != 0x2C:
            raise Malformed(f"neither comma nor end at byte {at}")
        return self.space(at + 1), False


def scan_result(read: Read, start: int, end: int, *, window: int = WINDOW) -> Scan[Span]:
    """Skeleton of the result that stands between two offsets: one pass, a window in memory. Never raises."""
    node = Span(start, end)
    walk = _Walk(Cursor(read, end, window))
    try:
        at = walk.cursor.space(start)
        if walk.cursor.byte(at) != 0x7B:
            return Scan(node, None, None)
        members, at = walk.cursor.members(at, {"content": walk.content, "_meta": walk.meta})
    except Malformed:
        return Scan(node, None, None)
    while at < end:
        rest = read(at, min(at + window, end))
        if not rest or rest.strip(b" \t\r\n"):
            return Scan(node, None, None)
        at += len(rest)
    return Scan(node, members, walk.blocks, walk.found_meta)


class _Walk:
    """One pass over a result: goes down into content, blocks, resources and `_meta`, over everything else."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.blocks: tuple[BlockScan[Span], ...] | None = None
        self.found_meta: dict[str, Span] | None = None
        self._found: list[BlockScan[Span]] = []

    def content(self, at: int) -> int:
        self.blocks = None
        if self.cursor.byte(at) != 0x5B:
            return self.cursor.value(at)
        self._found = []
        end = self.cursor.items(at, self.block)
        if end is None:
            return self.cursor.value(at)
        self.blocks = tuple(self._found)
        return end

    def meta(self, at: int) -> int:
        self.found_meta, end = self._object(at)
        return end

    def _object(self, at: int) -> tuple[dict[str, Span] | None, int]:
        if self.cursor.byte(at) != 0x7B:
            return None, self.cursor.value(at)
        return self.cursor.members(at, {})

    def block(self, at: int) -> int:
        inner: dict[str, dict[str, Span] | None] = {}

        def visit(key: str) -> Visit:
            def read(start: int) -> int:
                inner[key], end = self._object(start)
                return end

            return read

        if self.cursor.byte(at) != 0x7B:
            end = self.cursor.value(at)
            self._found.append(BlockScan(Span(at, end), None))
            return end
        members, end = self.cursor.members(at, {"resource": visit("resource"), "_meta": visit("_meta")})
        kind = self.cursor.short_string(members.get("type"))
        self._found.append(BlockScan(Span(at, end), members, kind, inner.get("resource"), inner.get("_meta")))
        return end
