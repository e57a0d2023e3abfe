"""Columns of a derived table: their names, their types in SQLite, and how the texts in them are read.

Pure. A number or date spelled as text becomes a number or an ISO date in the column itself, and the text as it was
stands in `<column>_text` beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from crp_mcp.core.folding import fold, unique_names
from crp_mcp.core.shape.column_values import NUMBERS, Reading, all_readings, find_reading, fits
from crp_mcp.core.shape.model import Column

from .rewrite import COMPENSATED, is_safe

MOST = 1_900
"""Columns of a table, those beside others counted; SQLite holds 2,000, and some are hidden."""
_INT64 = 2**63
_LONG = 2**62
_NATIVE_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:Z|[+-]\d\d:\d\d))?)?", re.ASCII)
"""What SQLite's own date functions take as it is."""
_MONTH_ONLY = re.compile(r"\d{4}-\d\d", re.ASCII)
_THREE_AFTER = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)
_LEADING_ZERO = re.compile(r"-?0\d+", re.ASCII)


PLAIN_NUMBERS = NUMBERS[:2]
"""Spellings that JSON has too, or nearly: what is a number in every language."""


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """How one column is stored. `position`: its place in a row of the source."""

    name: str
    position: int
    declared: str
    """Declared type: what SQLite compares it as."""
    kind: str
    """For the reader: int, float, text, bool, date, datetime, json, mixed."""
    reading: Reading | None = None
    """Texts of this spelling are converted, and the original is kept beside."""
    beside: str | None = None
    """Name of the column that has the original."""
    mixed: bool = False
    """Numbers and texts stand in it: the original is kept as what it is, number or text."""
    digits: int | None = None
    """Of fractions whose sums need it: digits after the point they seem to have at most."""


@dataclass(frozen=True, slots=True)
class _Stored:
    declared: str
    kind: str
    reading: Reading | None = None
    beside: bool = False
    mixed: bool = False


def plan_columns(columns: Sequence[Column], *, text_cells: bool, rows: int) -> list[ColumnPlan]:
    """One plan for each column, names unique as SQLite has it. `text_cells`: every cell of the source is text."""
    columns = columns[:MOST]
    names = unique_names([column.name for column in columns])
    used = set(map(fold, names))
    plans: list[ColumnPlan] = []
    room = MOST
    for at, (name, column) in enumerate(zip(names, columns, strict=True)):
        stored = _store_as(column, text_cells)
        room -= 1 if stored.reading is None else 2
        if room < 0:
            break
        kind = "bigint" if stored.kind == "int" and _may_overflow(column, rows) else stored.kind
        second = free_beside(name, used) if stored.beside else None
        digits = _digits(column) if stored.declared == "REAL" and not _adds_up(column, rows) else None
        plans.append(ColumnPlan(name, at, stored.declared, kind, stored.reading, second, stored.mixed, digits))
    return plans


def _adds_up(column: Column, rows: int) -> bool:
    """Whether there is so little to add up that SQLite's own sum, rounded, is certainly the exact one."""
    if not set(column.types) <= {"int", "float"} or column.low is None or column.high is None:
        return False
    most = max(abs(_decimal(column.low)), abs(_decimal(column.high)))
    digits = _digits(column)
    return digits is not None and is_safe(rows, float(most) * rows, digits, compensated=COMPENSATED)


def _digits(column: Column) -> int | None:
    """2, 4 or 6, whichever is enough for the values that the shape has; None where none is."""
    seen = (column.low, column.high, *(text for text, _ in column.top))
    sign = "," if column.spelling == NUMBERS[3].name else "."
    parts = [re.match(r"\d*", text.partition(sign)[2]) for text in seen if text]
    most = max((len(part.group()) for part in parts if part), default=0)
    if any("e" in text.lower() and column.spelling != NUMBERS[2].name for text in seen if text):
        return None
    return next((digits for digits in (2, 4, 6) if most <= digits), None)


def free_beside(name: str, used: set[str]) -> str:
    """A name for the originals of a column that no other column has; it is added to those that are used."""
    second = f"{name}_text"
    while fold(second) in used:
        second += "_"
    used.add(fold(second))
    return second


def _store_as(column: Column, text_cells: bool) -> _Stored:
    types = set(column.types)
    if not types:
        return _Stored("", "null")
    if types & {"date", "datetime"}:
        kind = "datetime" if "datetime" in types else "date"
        if types - {"date", "datetime", "str"}:
            return _Stored("", "mixed")
        reading = None if _is_native_date(column) else _reading_of(column, kind)
        return _Stored("TEXT", kind, reading, reading is not None)
    if types <= {"int", "float"}:
        return _store_numbers(column, types, text_cells)
    if types <= {"str", "int", "float"}:
        return _store_texts(column, text_cells or types == {"str"})
    if types <= {"bool"}:
        return _Stored("TEXT" if text_cells else "INTEGER", "bool")
    return _Stored("TEXT", "json") if types <= {"object", "list"} else _Stored("", "mixed")


def _store_numbers(column: Column, types: set[str], text_cells: bool) -> _Stored:
    """Numbers alone; in a source of texts, as they are spelled there."""
    reading = _reading_of(column, "number") if text_cells else None
    if reading is not None and reading not in PLAIN_NUMBERS:
        return _Stored(*_read_as(reading, column), reading, True)
    declared, kind = _number(column, types)
    return _Stored(declared, kind, reading, reading is not None and _seem_grouped(column))


def _seem_grouped(column: Column) -> bool:
    """Whether what is known of a column leaves open if `1.234` is a fraction or a thousand: its texts will tell."""
    seen = (column.low, column.high, *(text for text, _ in column.top))
    parted = [text for text in seen if text and "." in text]
    return bool(parted) and all(_THREE_AFTER.fullmatch(text) for text in parted)


def _store_texts(column: Column, texts: bool) -> _Stored:
    """Texts, or texts among numbers: numbers where all that have digits are some, in one spelling."""
    plain = _Stored("TEXT", "text") if texts else _Stored("", "mixed")
    reading = _reading_of(column, "number") if column.low is not None else None
    if reading is None or (not texts and column.spelling is None):
        return plain
    seen = (column.low, column.high, *(text for text, _ in column.top))
    if any(_LEADING_ZERO.fullmatch(text) for text in seen if text):
        return plain
    declared, kind = _read_as(reading, column)
    return _Stored(declared if texts else "", kind, reading, True, not texts)


def _number(column: Column, types: set[str]) -> tuple[str, str]:
    ends = [_decimal(text) for text in (column.low, column.high) if text is not None]
    if types == {"int"}:
        return ("INTEGER" if len(ends) == 2 and all(-_INT64 <= end < _INT64 for end in ends) else ""), "int"
    return ("REAL" if len(ends) == 2 and all(abs(end) <= 2**53 for end in ends) else ""), "float"


def _may_overflow(column: Column, rows: int) -> bool:
    """Whether a sum of the column could leave 64 bits."""
    ends = [abs(_decimal(re.sub(r"[^0-9.eE+-]", "", text) or "0")) for text in (column.low, column.high) if text]
    return not ends or max(ends) * max(rows, 1) >= _INT64


def _read_as(reading: Reading, column: Column) -> tuple[str, str]:
    """(declared type, kind) of texts that are read as numbers."""
    seen = [
        text for text in (column.low, column.high, *(text for text, _ in column.top)) if text and fits(reading, text)
    ]
    values = [reading.key(text.strip(" ")) for text in seen]
    if not all(isinstance(value, int) for value in values):
        return "REAL", "float"
    if not all(-_INT64 <= value < _INT64 for value in values):
        return "", "int"
    certain = reading is NUMBERS[0] or column.distinct == len(column.top)
    return ("INTEGER", "int") if certain else ("NUMERIC", "float")


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except ArithmeticError:
        return Decimal(_LONG * 4)


def _is_native_date(column: Column) -> bool:
    ends = [text for text in (column.low, column.high, *(text for text, _ in column.top)) if text is not None]
    return all(_NATIVE_DATE.fullmatch(text) or _MONTH_ONLY.fullmatch(text) for text in ends)


def _reading_of(column: Column, kind: str) -> Reading | None:
    """The spelling of a column, as its shape says; where that does not, by the range. None if it is not certain."""
    if column.spelling is not None:
        return next((one for one in all_readings() if one.name == column.spelling and _is_of(one, kind)), None)
    if column.top and kind != "number":
        found = find_reading(dict(column.top))
        if found is not None:
            return found if _is_of(found, kind) else None
    ends = [text for text in (column.low, column.high) if text is not None]
    if not ends:
        return None
    found_all = [one for one in all_readings() if _is_of(one, kind) and all(fits(one, text) for text in ends)]
    ordered = [one for one in found_all if one.key(ends[0]) <= one.key(ends[-1])]
    if kind == "number":
        return next(
            (one for one in reversed(ordered) if one is not NUMBERS[3]), None
        )  # the widest: it takes the others
    return ordered[0] if len(ordered) == 1 else None


def _is_of(reading: Reading, kind: str) -> bool:
    return reading.type in (("int", "float") if kind == "number" else ("date", "datetime"))
