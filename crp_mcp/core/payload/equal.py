"""Whether two JSON texts are the same tokens. Numbers are compared as written: 1.0 is not 1, and no digit is lost."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from .memory import is_json

_SPACE = b" \t\r\n"
_QUOTE_MARK, _SLASH_MARK = b"\xff", b"\xfe"
"""Stand for an escaped quote and backslash: bytes that UTF-8 never has, so nothing else can mean the same."""

_SIMPLE = ((b"\\n", b"\n"), (b"\\t", b"\t"), (b"\\r", b"\r"), (b"\\/", b"/"), (b"\\b", b"\b"), (b"\\f", b"\f"))
_UNICODE = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+")
_MARKS = bytes.maketrans(b'"\\', b"\xff\xfe")


class Tokens(NamedTuple):
    """A JSON text taken apart: what stands outside strings, without white space, each string a bare quote;
    and the strings, unescaped, each behind a quote."""

    outside: bytes
    inside: bytes


def json_equal(text: bytes, other: bytes) -> bool:
    """Whether `text` is JSON with the same value as `other`, number tokens and string values exact.

    Members may stand in another order; an object with duplicate keys then equals nothing. `other` must be JSON.
    """
    if text == other:
        return True
    if not _same_start(text, other):
        return False
    mine, theirs = tokens(text), tokens(other)
    if mine == theirs:
        return is_json(text) and _QUOTE_MARK not in other and _SLASH_MARK not in other
    if len(mine.outside) != len(theirs.outside) or len(mine.inside) != len(theirs.inside):
        return False
    return _equal_unordered(text, other)


def tokens(data: bytes) -> Tokens:
    """Take one whole JSON text apart (see `Tokens`). Any bytes at all; only of JSON does the answer mean anything."""
    masked = data.replace(b"\\\\", _SLASH_MARK).replace(b'\\"', _QUOTE_MARK) if b"\\" in data else data
    parts = masked.split(b'"')
    return Tokens(b'"'.join(parts[0::2]).translate(None, _SPACE), unescape(b'"'.join(parts[1::2])))


def unescape(strings: bytes) -> bytes:
    """Resolve every escape that is left once quotes and backslashes are marked; `\\u` runs pair their surrogates."""
    if b"\\" not in strings:
        return strings
    for escape, char in _SIMPLE:
        strings = strings.replace(escape, char)
    return _UNICODE.sub(_decode_run, strings) if b"\\u" in strings else strings


def _decode_run(match: re.Match[bytes]) -> bytes:
    units = bytes.fromhex(match[0].replace(b"\\u", b"").decode("ascii"))
    return units.decode("utf-16-be", "surrogatepass").encode("utf-8", "surrogatepass").translate(_MARKS)


def _same_start(text: bytes, other: bytes) -> bool:
    return text.lstrip(_SPACE)[:1] == other.lstrip(_SPACE)[:1]


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
