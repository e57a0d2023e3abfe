"""Whether two JSON texts are the same tokens. Numbers are compared as written: 1.0 is not 1, and no digit is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from .memory import exact_text, is_json
from .model import NotExact
from .text import whole_end

_SPACE = b" \t\r\n"
_QUOTE_MARK, _SLASH_MARK = b"\xff", b"\xfe"
"""Stand for an escaped quote and backslash: bytes that UTF-8 never has, so nothing else can mean the same."""

_QUOTE_STANDIN, _SLASH_STANDIN = "\ufdd0".encode(), "\ufdd1".encode()
_STANDIN = re.compile(rb"\xef\xb7[\x90\x91]|\\u[fF][dD][dD][01]")
_BLANKS = bytes.maketrans(b"\t\r\n", b"   ")
_CONTROL = bytes(range(0x20))
_TORN = re.compile(rb'[^ \t\r\n,:\[\]{}"][ \t\r\n]+[^ \t\r\n,:\[\]{}"]')
"""White space inside a number or a word."""

_SIMPLE = ((b"\\n", b"\n"), (b"\\t", b"\t"), (b"\\r", b"\r"), (b"\\/", b"/"), (b"\\b", b"\b"), (b"\\f", b"\f"))
_UNICODE = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+")
_MARKS = bytes.maketrans(b'"\\', b"\xff\xfe")


class Tokens(NamedTuple):
    """A JSON text taken apart: what stands outside strings, without white space, each string a quote; and the strings,
    unescaped, each behind a quote."""

    outside: bytes
    inside: bytes


def json_equal(text: bytes, other: bytes) -> bool:
    """Whether `text` is JSON with the same value as `other`, number tokens and string values exact.

    Members may stand in another order; an object with duplicate keys then equals nothing. `other` must be JSON.
    """
    if text == other:
        return True
    if text.lstrip(_SPACE)[:1] != other.lstrip(_SPACE)[:1]:
        return False
    mine, theirs = Splitter().feed(text), Splitter().feed(other)
    if mine == theirs:
        return is_json(text) and _QUOTE_MARK not in other and _SLASH_MARK not in other
    if len(mine.outside) != len(theirs.outside) or len(mine.inside) != len(theirs.inside):
        return False
    return _equal_unordered(text, other)


def json_equal_pieces(text: Iterator[bytes], other: Iterator[bytes]) -> bool:
    """The same for texts that come in pieces, members in the same order only. Stops at the first difference."""
    left, right = _Side(text), _Side(other)
    while left.more or right.more:
        min((side for side in (left, right) if side.more), key=_Side.pending).pull()
        if not (_drop_common(left.outside, right.outside) and _drop_common(left.inside, right.inside)):
            return False
        if not (left.valid and right.valid):
            return False
        if (left.pending() and not right.more) or (right.pending() and not left.more):
            return False
    return True


def _drop_common(left: bytearray, right: bytearray) -> bool:
    size = min(len(left), len(right))
    if left[:size] != right[:size]:
        return False
    del left[:size], right[:size]
    return True


class _Side:
    """One of two JSON texts that are compared: what was taken apart of it and not compared yet."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._splitter = Splitter()
        self._waiting = b""
        self.more = True
        self.valid = True
        self.outside = bytearray()
        self.inside = bytearray()

    def pending(self) -> int:
        """Bytes taken apart and not compared."""
        return len(self.outside) + len(self.inside)

    def pull(self) -> None:
        piece = next(self._pieces, None)
        self.more = piece is not None
        data = self._waiting + (piece or b"")
        end = whole_end(data) if self.more else len(data)
        self._waiting = data[end:]
        if _QUOTE_MARK in data or _SLASH_MARK in data:
            self.valid = False
        found = self._splitter.feed(data[:end], strict=True)
        self.valid = self.valid and self._splitter.valid
        self.outside += found.outside
        self.inside += found.inside


class Splitter:
    """Takes JSON apart, piece by piece. Pieces must not end inside an escape or a surrogate pair."""

    def __init__(self) -> None:
        self._in_string = False
        self._last = b""
        self.valid = True
        """False once a piece cannot be JSON: a control character in a string, a blank inside a number or word."""

    def feed(self, data: bytes, *, strict: bool = False) -> Tokens:
        """Take one piece apart; `strict` also looks for what makes it no JSON."""
        masked = data.replace(b"\\\\", _SLASH_MARK).replace(b'\\"', _QUOTE_MARK) if b"\\" in data else data
        parts = masked.split(b'"')
        begins_inside = self._in_string
        self._in_string = begins_inside ^ (len(parts) % 2 == 0)
        outside, inside = (parts[1::2], parts[0::2]) if begins_inside else (parts[0::2], parts[1::2])
        skeleton, strings = b'"'.join(outside), b'"'.join(inside)
        if self._in_string and outside:
            skeleton += b'"'
        if not begins_inside and inside:
            strings = b'"' + strings
        tight = skeleton.translate(None, _SPACE)
        if strict:
            self._check(skeleton, len(tight) != len(skeleton), strings)
        return Tokens(tight, unescape(strings))

    def _check(self, skeleton: bytes, spaced: bool, strings: bytes) -> None:
        whole = self._last + skeleton
        if ((spaced or self._last.endswith(b" ")) and _TORN.search(whole)) or len(
            strings.translate(None, _CONTROL)
        ) != len(strings):
            self.valid = False
        words = whole.rstrip(_SPACE)
        self._last = words[-1:] + whole[len(words) :][:1].translate(_BLANKS)


def unescape(strings: bytes) -> bytes:
    """Resolve every escape that is left once quotes and backslashes are marked; `\\u` runs pair their surrogates."""
    if b"\\" not in strings:
        return strings
    if b"\\u" in strings and not _STANDIN.search(strings):
        try:
            return _decode_all(strings)
        except NotExact:
            pass
    for escape, char in _SIMPLE:
        strings = strings.replace(escape, char)
    return _UNICODE.sub(_decode_run, strings) if b"\\u" in strings else strings


def _decode_all(strings: bytes) -> bytes:
    """All escapes at once, the marks in the guise of two noncharacters. Raises NotExact where UTF-8 cannot say it."""
    for escape, mark in ((b"\\u0022", _QUOTE_MARK), (b"\\u005c", _SLASH_MARK), (b"\\u005C", _SLASH_MARK)):
        strings = strings.replace(escape, mark)
    strings = strings.replace(b'"', b'\\"').replace(_QUOTE_MARK, _QUOTE_STANDIN).replace(_SLASH_MARK, _SLASH_STANDIN)
    text = exact_text(b'"%b"' % strings)
    return text.replace(_QUOTE_STANDIN, _QUOTE_MARK).replace(_SLASH_STANDIN, _SLASH_MARK)


def _decode_run(match: re.Match[bytes]) -> bytes:
    units = bytes.fromhex(match[0].replace(b"\\u", b"").decode("ascii"))
    return units.decode("utf-16-be", "surrogatepass").encode("utf-8", "surrogatepass").translate(_MARKS)


def _equal_unordered(text: bytes, other: bytes) -> bool:
    try:
        return bool(_strict(text) == _strict(other))
    except (ValueError, RecursionError):
        return False


def _strict(data: bytes) -> Any:
    """The value with every number as its token, for comparison only."""

    def number(token: str) -> tuple[str]:
        return (token,)

    return json.loads(
        data, object_pairs_hook=_unique, parse_int=number, parse_float=number, parse_constant=_no_constant
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate key")
    return members


def _no_constant(token: str) -> None:
    raise ValueError(f"{token} is not JSON")
