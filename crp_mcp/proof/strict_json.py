"""A JSON reader for things that are signed: bytes in, values out, or a typed rejection. Knows no schema.

Strategy: an own reader, because every common one keeps the last of two equal keys, and most read more than JSON.
Each token is matched by one anchored, ASCII-only, linear pattern of RFC 8259; what no pattern matches is refused.
"""

from __future__ import annotations

import re

from crp_mcp.proof.reasons import Reason, rejected

MAX_BYTES = 65_536
MAX_DEPTH = 16
MAX_INTEGER = 2**53 - 1
"""Largest magnitude a double holds exactly (RFC 8259 §6); beyond it two readers may see two values."""

JsonValue = str | int | bool | None | list["JsonValue"] | dict[str, "JsonValue"]

_S = r"[ \t\n\r]*"
_TEXT = r'"([^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*)"'
_DIGITS = r"(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
_NAME = re.compile(rf"{_S}{_TEXT}{_S}:")
_VALUE = re.compile(rf"{_S}(?:{_TEXT}|{_DIGITS}|(true|false|null)|(\{{)|(\[))")
_STRING, _NUMBER, _LITERAL, _BRACE, _BRACKET = 1, 2, 3, 4, 5
_AFTER_MEMBER = re.compile(rf"{_S}([,}}])")
_AFTER_ITEM = re.compile(rf"{_S}([,\]])")
_EMPTY_OBJECT = re.compile(rf"{_S}\}}")
_EMPTY_ARRAY = re.compile(rf"{_S}\]")
_END = re.compile(rf"{_S}\Z")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,15}")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_SURROGATE = re.compile("[\ud800-\udfff]")

_LITERALS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def read(data: bytes, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> JsonValue:
    """Read one JSON document. Only str, int, bool, None, list and dict come out; never a float.

    Raises Rejected: TOO_LARGE, BAD_ENCODING (BOM, not UTF-8), MALFORMED_JSON, TOO_DEEP, DUPLICATE_KEY,
    BAD_INTEGER (a fraction, an exponent, -0, or beyond ±(2^53 - 1)).
    """
    text = _decode(data, max_bytes)
    value, at = _value(text, 0, max_depth)
    if not _END.match(text, at):
        raise rejected(Reason.MALFORMED_JSON, f"something follows the document at character {at}")
    return value


def read_object(data: bytes, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> dict[str, JsonValue]:
    """Read one JSON document whose root is an object. Raises Rejected as `read`, and NOT_AN_OBJECT."""
    value = read(data, max_bytes=max_bytes, max_depth=max_depth)
    if not isinstance(value, dict):
        raise rejected(Reason.NOT_AN_OBJECT, "the root of the document is not an object")
    return value


def _decode(data: bytes, max_bytes: int) -> str:
    if len(data) > max_bytes:
        raise rejected(Reason.TOO_LARGE, f"{len(data)} bytes; at most {max_bytes} are read")
    if data.startswith(b"\xef\xbb\xbf"):
        raise rejected(Reason.BAD_ENCODING, "the document begins with a byte order mark")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise rejected(Reason.BAD_ENCODING, f"not UTF-8 at byte {error.start}") from None
    if "\x00" in text:
        # No JSON document holds a raw NUL; UTF-16 and UTF-32 without a mark do, and ASCII of them is valid UTF-8.
        raise rejected(Reason.BAD_ENCODING, "a zero byte: not UTF-8 text")
    return text


def _value(text: str, at: int, depth: int) -> tuple[JsonValue, int]:
    """The value that follows `at`, and where it ends. `depth` more containers may be opened."""
    found = _VALUE.match(text, at)
    if not found:
        raise rejected(Reason.MALFORMED_JSON, f"no JSON value at character {at}")
    kind, end = found.lastindex, found.end()
    if kind == _STRING:
        return _unescape(found[_STRING]), end
    if kind == _NUMBER:
        return _integer(found[_NUMBER]), end
    if kind == _LITERAL:
        return _LITERALS[found[_LITERAL]], end
    if depth == 0:
        raise rejected(Reason.TOO_DEEP, f"a container too deep at character {at}")
    return _object(text, end, depth - 1) if kind == _BRACE else _array(text, end, depth - 1)


def _object(text: str, at: int, depth: int) -> tuple[dict[str, JsonValue], int]:
    members: dict[str, JsonValue] = {}
    if empty := _EMPTY_OBJECT.match(text, at):
        return members, empty.end()
    while True:
        named = _NAME.match(text, at)
        if not named:
            raise rejected(Reason.MALFORMED_JSON, f"no member name and colon at character {at}")
        name = _unescape(named[1])
        if name in members:
            raise rejected(Reason.DUPLICATE_KEY, f"a member name appears twice, the second time at character {at}")
        members[name], at = _value(text, named.end(), depth)
        after = _AFTER_MEMBER.match(text, at)
        if not after:
            raise rejected(Reason.MALFORMED_JSON, f"neither comma nor brace at character {at}")
        at = after.end()
        if after[1] == "}":
            return members, at


def _array(text: str, at: int, depth: int) -> tuple[list[JsonValue], int]:
    items: list[JsonValue] = []
    if empty := _EMPTY_ARRAY.match(text, at):
        return items, empty.end()
    while True:
        item, at = _value(text, at, depth)
        items.append(item)
        after = _AFTER_ITEM.match(text, at)
        if not after:
            raise rejected(Reason.MALFORMED_JSON, f"neither comma nor bracket at character {at}")
        at = after.end()
        if after[1] == "]":
            return items, at


def _integer(token: str) -> int:
    if not _INTEGER.fullmatch(token):
        raise rejected(Reason.BAD_INTEGER, "a number that is no exact integer, is -0, or is too long")
    value = int(token)
    if abs(value) > MAX_INTEGER:
        raise rejected(Reason.BAD_INTEGER, "an integer beyond ±(2^53 - 1)")
    return value


def _unescape(content: str) -> str:
    """The text of a string token's content. Raises Rejected for a lone surrogate: no text has one."""
    if "\\" not in content:
        return content
    plain = _ESCAPE.sub(lambda found: _SHORT.get(found[1]) or chr(int(found[1][1:], 16)), content)
    if not _SURROGATE.search(plain):
        return plain
    try:  # a pair of escapes is one character (RFC 8259 §7)
        return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise rejected(Reason.MALFORMED_JSON, "a lone surrogate") from None
