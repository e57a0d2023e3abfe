"""Cells: JSON read with every number exact, and cells shown as the literals they are. Knows nothing of tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from .columns import Num
from .model import Value

LONGEST = 2_000
"""Characters of one value kept in a shape; the summary cuts far below that, the payload has the rest."""
_STACK_SAFE = 400
"""Levels of nesting read by recursion: far from the interpreter's limit, whatever the caller's depth."""


class OddNumber(str):
    """A number nothing can be computed with: NaN, Infinity, an exponent beyond every library. Kept as it stands."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class LongText:
    """A text too long to be held: its beginning, its length in characters, and what was found out about it."""

    head: str
    size: int
    shape: Any = None


def number(literal: str) -> Num | OddNumber:
    """A number with a fraction or an exponent, as its literal."""
    if len(literal) < 18:
        return Num(literal)
    exponent = literal.lower().rpartition("e")[2]
    return OddNumber(literal) if len(exponent) > 15 and exponent != literal.lower() else Num(literal)


_decode = msgspec.json.Decoder(float_hook=number).decode


class NotJson(ValueError):
    """The text is no JSON document."""


def load_json(data: bytes) -> Any:
    """One JSON document -> None, bool, int, Num, str, list, dict. Also reads what strict readers refuse but tools send:
    lone surrogates, control characters in strings, NaN and Infinity (as Num). Raises NotJson.
    """
    try:
        return _decode(data)
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except (msgspec.MsgspecError, ValueError, OverflowError):
        return _load_leniently(data)


def _load_leniently(data: bytes) -> Any:
    try:
        return _LENIENT.decode(data.decode("utf-8", "surrogatepass"))
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except ValueError:
        raise NotJson("not JSON") from None


def whole_number(literal: str) -> int | OddNumber:
    """An int, or the literal itself where it has more digits than Python will convert."""
    return int(literal) if len(literal) <= 4_000 else OddNumber(literal)


_LENIENT = json.JSONDecoder(strict=False, parse_float=number, parse_int=whole_number, parse_constant=OddNumber)
scan_json = _LENIENT.raw_decode
"""(text, start) -> (value, end) for the document that begins exactly there; raises ValueError or RecursionError."""


def type_name(cell: Any) -> str:
    """`null`, `bool`, `int`, `float`, `str`, `object` or `list`."""
    if cell is None:
        return "null"
    if isinstance(cell, bool):
        return "bool"
    if isinstance(cell, int):
        return "int"
    if isinstance(cell, Num | OddNumber):
        return "int" if cell.lstrip("-").isdecimal() else "float"
    if isinstance(cell, float):
        return "float"
    if isinstance(cell, str | LongText):
        return "str"
    return "object" if isinstance(cell, dict) else "list"


def to_value(cell: Any) -> Value:
    """The cell as its literal; nested ones as compact JSON; long ones cut, and marked."""
    kind = type_name(cell)
    if isinstance(cell, LongText):
        return Value(cell.head[:LONGEST], kind, True)
    exact = not isinstance(cell, dict | list | tuple)
    text = cell if isinstance(cell, str) else str(cell) if kind == "int" else compact_json(cell, LONGEST + 1)
    if len(text) > LONGEST:
        return Value(text[:LONGEST], kind, True, len(text) if exact else 0)
    return Value(str(text), kind)


def compact_json(cell: Any, limit: int) -> str:
    """JSON without spaces, numbers as their literals, at most about `limit` characters (then simply cut)."""
    parts: list[str] = []
    _write(cell, parts, limit, 0)
    return "".join(parts)[:limit]


def _write(cell: Any, parts: list[str], room: int, depth: int) -> int:
    """Append the pieces of one value and give back the room that is left."""
    if room <= 0 or depth > _STACK_SAFE:
        return 0
    if isinstance(cell, dict):
        return _write_many(
            ((json.dumps(key, ensure_ascii=False) + ":", item) for key, item in cell.items()), "{}", parts, room, depth
        )
    if isinstance(cell, list | tuple):
        return _write_many((("", item) for item in cell), "[]", parts, room, depth)
    text = _scalar_text(cell, room)
    parts.append(text)
    return room - len(text)


def _write_many(pairs: Iterable[tuple[str, Any]], ends: str, parts: list[str], room: int, depth: int) -> int:
    parts.append(ends[0])
    for at, (lead, item) in enumerate(pairs):
        if room <= 0:
            break
        parts.append("," + lead if at else lead)
        room = _write(item, parts, room - len(parts[-1]), depth + 1)
    parts.append(ends[1])
    return room - 2


def _scalar_text(cell: Any, room: int) -> str:
    if cell is None:
        return "null"
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, LongText):
        cell = cell.head
    if isinstance(cell, str) and not isinstance(cell, Num | OddNumber):
        return json.dumps(cell[:room], ensure_ascii=False)
    return str(cell)
