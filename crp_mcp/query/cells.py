"""Cells as SQLite can hold them: numbers exact, texts of a known spelling read as what they mean. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from crp_mcp.core.shape.cells import LongText, OddNumber, compact_json
from crp_mcp.core.shape.column_values import Reading
from crp_mcp.core.shape.columns import Num

from .columns import PLAIN_NUMBERS, ColumnPlan

_INT64 = 2**63
_WHOLE_JSON = 1 << 40
_CODE = re.compile(r"[+-]?(?:0\d+|\d{19,})", re.ASCII)


def column_values(plan: ColumnPlan, cells: Sequence[Any], *, text_cells: bool) -> list[Sequence[Any]]:
    """A batch of one column as SQLite takes it: one sequence, or two where the original stands beside."""
    if plan.reading is None:
        return [list(map(plain_cell, cells))]
    spelled = text_cells and plan.reading not in PLAIN_NUMBERS
    values = _read_cells(plan.reading, cells, plan.beside is None, spelled)
    if plan.beside is None:
        return [values]
    return [values, list(map(plain_cell if plan.mixed else original, cells))]


def _read_cells(reading: Reading, cells: Sequence[Any], keep: bool, spelled: bool) -> list[Any]:
    """What the cells mean; a text that comes again is read once."""
    known: dict[str, Any] = {}
    values = []
    for cell in cells:
        if type(cell) is not str:
            values.append(read_cell(reading, cell, keep=keep, spelled=spelled))
            continue
        if cell not in known:
            known[cell] = read_cell(reading, cell, keep=keep, spelled=spelled)
        values.append(known[cell])
    return values


def plain_cell(cell: Any) -> Any:
    """A cell as SQLite can hold it: numbers exact, nested ones as JSON text."""
    kind = type(cell)
    if cell is None or kind is float or kind is bool:
        return cell
    if kind is str:
        return cell if cell.isascii() else whole_text(cell)
    if kind is int:
        return cell if -_INT64 <= cell < _INT64 else str(cell)
    if kind is Num or kind is OddNumber:
        return number_cell(str(cell))
    if kind is LongText:
        return whole_text(cell.head)
    return whole_text(compact_json(cell, _WHOLE_JSON))


def whole_text(text: str) -> str:
    """Text that has UTF-8: half surrogates are replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def number_cell(literal: str) -> Any:
    """The value of a number's literal; the literal itself where no number of SQLite is near it."""
    try:
        value = float(literal)
    except ValueError:
        return literal
    if value != value:
        return None
    return literal if value in (float("inf"), float("-inf")) else value


def read_cell(reading: Reading, cell: Any, *, keep: bool, spelled: bool = False) -> Any:
    """What a text of this spelling means. `keep`: other texts stay as they are, instead of null. `spelled`: a number's
    literal is a text like any other (`1.234` where the comma is the decimal sign).
    """
    if type(cell) is not str and not (spelled and type(cell) is Num):
        return plain_cell(cell)
    text = cell.strip(" ")
    if not text:
        return None
    try:
        if reading.one.fullmatch(text) is None:
            return cell if keep else None
        value = reading.key(text)
    except (ValueError, ArithmeticError):
        return cell if keep else None
    if reading.type in ("date", "datetime"):
        return iso_text(reading.type, value)
    return exact_number(value)


def exact_number(value: int | Decimal) -> Any:
    """A number as SQLite holds it; whole ones beyond 64 bits as text."""
    if isinstance(value, int):
        return value if -_INT64 <= value < _INT64 else str(value)
    if value == value.to_integral_value() and abs(value) < _INT64 and value.as_tuple().exponent == 0:
        return int(value)
    number = float(value)
    return number if abs(number) < float("inf") else str(value)


def iso_text(kind: str, value: Any) -> str:
    """A date's sort key as ISO text, in UTC where it had a zone."""
    if isinstance(value, str):
        return value
    _, moment, seconds = value
    if kind == "date":
        return str(moment.date().isoformat())
    fraction = seconds[2:].rstrip("0")
    return f"{moment:%Y-%m-%d %H:%M}:{seconds[:2]}" + (f".{fraction}" if fraction else "")


def original(cell: Any) -> Any:
    """The cell's text as it was."""
    return whole_text(cell) if isinstance(cell, str) else None if cell is None else str(plain_cell(cell))


def has_codes(cells: Iterable[Any]) -> bool:
    """Whether some texts are digits that no number holds: with a zero in front (007), or beyond 64 bits."""
    return any(type(cell) is str and _CODE.fullmatch(cell) is not None and is_code(cell) for cell in cells)


def is_code(digits: str) -> bool:
    """Whether text that `_CODE` fits would lose something as a number."""
    return digits.lstrip("+-").startswith("0") or not -_INT64 <= int(digits[:400]) < _INT64
