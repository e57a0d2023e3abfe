"""The spans of a message that arrives in pieces and is never held whole. The streaming twin of `scan.members`.

Goes one level deeper, into the members named in `INNER`: what the proxy must know of a large message is there.
"""

from __future__ import annotations

import re

from .scan import Nest, NotJson, Span, key_text

INNER = ("params", "result", "error")
MAX_TOKEN = 64 * 1024
"""A member's name or a number longer than this is refused: it would have to be held until its end is seen."""
MAX_MEMBERS = 4096

_WS = rb"[ \t\r\n]*+"
_SPACE = re.compile(_WS)
_NAME = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"(' + _WS + rb":)?+", re.S)
_SCALAR = re.compile(rb"[-+.0-9A-Za-z]++(?=[ \t\r\n,}\]])")


class Level:
    """An object being read: where it began and what was found in it."""

    __slots__ = ("key", "members", "name", "start", "value_at", "want")

    def __init__(self, name: str, start: int) -> None:
        self.name = name
        self.start = start
        self.members: dict[str, Span] = {}
        self.key = ""
        self.value_at = 0
        self.want = "name or end"


class LineScan:
    """Feed the pieces of one line in order; then `top` and `inner` hold the spans, counted from the line's start.

    Raises:
        NotJson: from `feed` or `finish`; nothing may be fed after it.
    """

    __slots__ = ("_base", "_buffer", "_levels", "_nest", "inner", "top")

    def __init__(self) -> None:
        self.top: dict[str, Span] = {}
        self.inner: dict[str, dict[str, Span]] = {}
        self._levels: list[Level] | None = None
        self._nest: Nest | None = None
        self._buffer = b""
        self._base = 0

    def feed(self, piece: bytes) -> None:
        data = self._buffer + piece if self._buffer else piece
        at = 0
        while True:
            if self._nest:
                then = self._nested(data, at)
            else:
                # White space is passed over at once: however much there is, none of it is held.
                at = _SPACE.match(data, at).end()  # type: ignore[union-attr]
                then = self._step(data, at) if at < len(data) else -1
            if then < 0:
                break
            at = then
        if self._nest:
            at = len(data)
        self._base += at
        self._buffer = data[at:]
        if len(self._buffer) > MAX_TOKEN:
            raise NotJson("a name or a number is longer than any honest one")

    @property
    def blank(self) -> bool:
        """Whether nothing but white space came."""
        return self._levels is None and not self._buffer

    def finish(self) -> None:
        if self._levels is None or self._levels or self._buffer.strip():
            raise NotJson("the line ends before its object does")

    def _nested(self, data: bytes, at: int) -> int:
        nest = self._nest
        assert nest is not None
        end = nest.feed(data, at)
        if end >= 0:
            self._nest = None
            self._value_ends(self._base + end)
        return end

    def _step(self, data: bytes, at: int) -> int:
        """Read one token at `at`, where there is no white space. Index after it, or -1 where more must come first."""
        if self._levels is None:
            if data[at] != 0x7B:
                raise NotJson("not a JSON object")
            self._levels = [Level("", self._base + at)]
            return at + 1
        if not self._levels:
            raise NotJson(f"something follows the object at byte {self._base + at}")
        level = self._levels[-1]
        if level.want == "colon":
            if data[at] != 0x3A:
                raise NotJson(f"no colon at byte {self._base + at}")
            level.want = "value"
            return at + 1
        if level.want == "value":
            return self._value(level, data, at)
        return self._between(level, data, at)

    def _between(self, level: Level, data: bytes, at: int) -> int:
        byte = data[at : at + 1]
        if byte == b"}" and level.want != "name":
            self._close(self._base + at + 1)
            return at + 1
        if level.want == "comma or end":
            if byte != b",":
                raise NotJson(f"neither comma nor end at byte {self._base + at}")
            level.want = "name"
            return at + 1
        match = _NAME.match(data, at)
        if match:
            level.key, level.want = key_text(match[1]), "value" if match[2] else "colon"
            return match.end()
        if byte != b'"':
            raise NotJson(f"no member name at byte {self._base + at}")
        return -1

    def _value(self, level: Level, data: bytes, at: int) -> int:
        level.value_at = self._base + at
        first = data[at]
        if first in b'"[{':
            levels = self._levels
            assert levels is not None
            if first == 0x7B and len(levels) == 1 and level.key in INNER:
                levels.append(Level(level.key, level.value_at))
            else:
                self._nest = Nest(first)
            return at + 1
        match = _SCALAR.match(data, at)
        if match:
            self._value_ends(self._base + match.end())
            return match.end()
        if data[at : at + 1] in b"]},:":
            raise NotJson(f"no JSON value at byte {level.value_at}")
        return -1

    def _value_ends(self, end: int) -> None:
        levels = self._levels
        assert levels
        level = levels[-1]
        if len(level.members) < MAX_MEMBERS:
            level.members[level.key] = (level.value_at, end)
        level.want = "comma or end"

    def _close(self, end: int) -> None:
        levels = self._levels
        assert levels
        closed = levels.pop()
        if levels:
            self.inner[closed.name] = closed.members
            self._value_ends(end)
        else:
            self.top = closed.members
