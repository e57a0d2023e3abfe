"""Where things stand in JSON bytes: the spans of members and items, found without decoding the values.

Lenient on purpose: it follows quotes and brackets and does not judge what is inside a value. Strategy for large values:
blank the escapes, delete everything that is neither quote nor bracket, cancel what closes, and look only at the rest;
all of it runs at the speed of bytes methods, so the cost is linear whatever the value looks like.
"""

from __future__ import annotations

import re
from itertools import accumulate

Span = tuple[int, int]
"""Start and end, in bytes, of one JSON value."""

STEP = 64 * 1024
_SHORT = 512
_OPEN, _CLOSE, _QUOTE, _BACKSLASH = 0x7B, 0x7D, 0x22, 0x5C
_BRACKETS = bytes.maketrans(b"[]", b"{}")
_NOT_STRUCTURE = bytes(c for c in range(256) if c not in b'"[]{}')
_CANCEL_PASSES = 12
_DEPTH = {_OPEN: 1, _CLOSE: -1}

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+'
_WS = rb"[ \t\r\n]*+"
_KEY = re.compile(_WS + rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"' + _WS + rb":" + _WS, re.S)
_TOKEN = re.compile(_STRING + rb'("?)|[\[\]{}]', re.S)
_NUMBER = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?(?![0-9A-Za-z.+-])"
_SCALAR = re.compile(_NUMBER + rb"|true\b|false\b|null\b")
_START = re.compile(_WS + rb"([\[{])" + _WS + rb"([\]}]?)")
_NEXT = re.compile(_WS + rb"([,\]}])" + _WS)
_SPACE = re.compile(_WS)


class NotJson(ValueError):
    """These bytes are no JSON object or array; the message says where it went wrong."""


class Nest:
    """Follows one value to its end, over any number of pieces. The value's first byte is not fed."""

    __slots__ = ("depth", "escaped", "in_string")

    def __init__(self, first: int) -> None:
        self.in_string = first == _QUOTE
        self.depth = 0 if self.in_string else 1
        self.escaped = False

    def feed(self, data: bytes, start: int = 0) -> int:
        """Index just past the value's end, or -1 where the value goes on after `data`."""
        at = start
        step = STEP
        while at < len(data):
            piece = _blank_escapes(data[at : at + step], self.escaped)
            if not self.depth:
                end = piece.find(b'"')
                if end >= 0:
                    return at + end + 1
            elif not self._pass_over(piece):
                if len(piece) <= 256:
                    return at + self._walk(piece)
                step = max(256, len(piece) // 8)
                continue
            self.escaped = piece.endswith(b"\\")
            at += len(piece)
        return -1

    def _pass_over(self, piece: bytes) -> bool:
        """Account for a whole piece; False, and nothing changed, where the value may end inside it."""
        structure = piece.translate(_BRACKETS, _NOT_STRUCTURE)
        if self.in_string:
            structure = b'"' + structure
        parts = structure.replace(b'""', b"").split(b'"')
        closing, opening = _unmatched(b"".join(parts[::2]))
        if closing >= self.depth:
            return False
        self.depth += opening - closing
        self.in_string = len(parts) % 2 == 0
        return True

    def _walk(self, piece: bytes) -> int:
        depth, in_string = self.depth, self.in_string
        for index, byte in enumerate(piece.translate(_BRACKETS)):
            if byte == _QUOTE:
                in_string = not in_string
            elif not in_string and byte in _DEPTH:
                depth += _DEPTH[byte]
                if not depth:
                    return index + 1
        raise AssertionError("the piece was said to hold the end")


def _blank_escapes(piece: bytes, escaped: bool) -> bytes:
    """The piece with every escape sequence's first two bytes made spaces; a lone last backslash stays."""
    if escaped:
        piece = b" " + piece[1:]
    if b"\\" in piece:
        # Pairs of backslashes first, from the left: what is left before a quote is then a real escape.
        piece = piece.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")
    return piece


def _unmatched(brackets: bytes) -> tuple[int, int]:
    """Closing brackets without their opening one, and opening without closing."""
    for _ in range(_CANCEL_PASSES):
        shorter = brackets.replace(b"{}", b"")
        if len(shorter) == len(brackets):
            return brackets.count(b"}"), brackets.count(b"{")
        brackets = shorter
    lowest = min(accumulate(map(_DEPTH.__getitem__, brackets)), default=0)
    closing = max(0, -lowest)
    return closing, closing + brackets.count(b"{") - brackets.count(b"}")


def skip_value(data: bytes, at: int) -> int:
    """Index just past the value that begins at `at`.

    Raises:
        NotJson: no value begins there, or it has no end.
    """
    first = data[at] if at < len(data) else 0
    if first == _QUOTE:
        end = data.find(b'"', at + 1)
        if end > 0 and data[end - 1] != _BACKSLASH:
            return end + 1
    elif first in b"[{":
        end = _skip_short(data, at)
        if end:
            return end
    else:
        match = _SCALAR.match(data, at)
        if not match:
            raise NotJson(f"no JSON value at byte {at}")
        return match.end()
    end = Nest(first).feed(data, at + 1)
    if end < 0:
        raise NotJson(f"the value at byte {at} has no end")
    return end


def _skip_short(data: bytes, at: int) -> int:
    """Like `skip_value`, for brackets that close soon; 0 where they do not."""
    depth = 0
    for match in _TOKEN.finditer(data, at, at + _SHORT):
        byte = data[match.start()]
        if byte == _QUOTE:
            if not match[1]:
                return 0
        elif byte in b"[{":
            depth += 1
        else:
            depth -= 1
            if not depth:
                return match.end()
    return 0


def _opening(data: bytes, at: int, bracket: bytes) -> tuple[int, bool]:
    """Past an opening bracket: index of the first member or item, or of what follows an empty container."""
    match = _START.match(data, at)
    if not match or match[1] != bracket:
        raise NotJson("not a JSON object" if bracket == b"{" else "not a JSON array")
    return match.end(), bool(match[2])


def key_text(raw: bytes) -> str:
    """A member's name, from the bytes between its quotes."""
    if b"\\" not in raw:
        return raw.decode("utf-8", "surrogateescape")
    import json

    try:
        name: str = json.loads(b'"' + raw + b'"')
    except ValueError:
        return raw.decode("utf-8", "surrogateescape")
    return name


def members(data: bytes, at: int = 0, *, whole: bool = True, names: list[str] | None = None) -> dict[str, Span]:
    """Spans of the values of an object's members, by name; of a repeated name, the last.

    `whole`: nothing but white space may follow the object. `names`: takes every name, as often as it stands there.

    Raises:
        NotJson: no object begins at `at`, or it is broken.
    """
    found: dict[str, Span] = {}
    at, empty = _opening(data, at, b"{")
    closed = empty
    while not closed:
        key = _KEY.match(data, at)
        if not key:
            raise NotJson(f"no member name at byte {at}")
        start = key.end()
        end = skip_value(data, start)
        name = key_text(key[1])
        found[name] = (start, end)
        if names is not None:
            names.append(name)
        then = _NEXT.match(data, end)
        if not then or then[1] == b"]":
            raise NotJson(f"neither comma nor end at byte {end}")
        closed = then[1] == b"}"
        at = then.end()
    if whole and at != len(data) and _SPACE.match(data, at).end() != len(data):  # type: ignore[union-attr]
        raise NotJson(f"something follows the object at byte {at}")
    return found


def items(data: bytes, at: int = 0) -> list[Span]:
    """Spans of an array's items.

    Raises:
        NotJson: no array begins at `at`, or it is broken.
    """
    found: list[Span] = []
    at, closed = _opening(data, at, b"[")
    while not closed:
        end = skip_value(data, at)
        found.append((at, end))
        then = _NEXT.match(data, end)
        if not then or then[1] == b"}":
            raise NotJson(f"neither comma nor end at byte {end}")
        closed = then[1] == b"]"
        at = then.end()
    return found


def is_deep(data: bytes, limit: int) -> bool:
    """Whether brackets nest to `limit` levels or more."""
    if data.count(b"[") + data.count(b"{") < limit:
        return False
    structure = _blank_escapes(data, False).translate(_BRACKETS, _NOT_STRUCTURE).replace(b'""', b"")
    brackets = b"".join(structure.split(b'"')[::2])
    for level in range(limit):
        # Every pass takes one level off the inside.
        shorter = brackets.replace(b"{}", b"")
        if len(shorter) == len(brackets) or level > _CANCEL_PASSES:
            return max(accumulate(map(_DEPTH.__getitem__, brackets)), default=0) + level >= limit
        brackets = shorter
    return True
