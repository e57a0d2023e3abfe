"""What the query process adds to SQLite's functions: exact sums, regular expressions, what only newer ones have.

Standard library alone.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Any

LONGEST_PATTERN = 1_000
_LOST = 2.0**-40
"""Share of a sum that rounding may blur before its decimals are added as such."""


def add_functions(db: sqlite3.Connection) -> None:
    """Make them known to a connection; what its SQLite has itself stays."""
    db.create_function("regexp", 2, regexp, deterministic=True)
    db.create_aggregate("exact_sum", 1, ExactSum)
    if sqlite3.sqlite_version_info < (3, 44):
        db.create_function("concat", -1, concat, deterministic=True)
        db.create_function("concat_ws", -1, concat_ws, deterministic=True)
    try:
        db.execute("SELECT median(1)").close()
    except sqlite3.OperationalError:
        db.create_aggregate("median", 1, Median)


def concat(*parts: Any) -> str:
    """All of them as one text; null is nothing."""
    return "".join(_text(part) for part in parts if part is not None)


def concat_ws(sign: Any, *parts: Any) -> str | None:
    """The same with a sign between them; null where that is null."""
    return None if sign is None else _text(sign).join(_text(part) for part in parts if part is not None)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def without_noise(value: float) -> float:
    """The value with 15 digits where the 16th and 17th are what binary fractions leave behind (0.1 + 0.2)."""
    short = float(f"{value:.15g}")
    return short if len(repr(short).strip("0")) + 2 < len(repr(value).strip("0")) else value


class Median(list[Any]):
    """The middle of the values, or the mean of the two in the middle."""

    step = list.append

    def finalize(self) -> Any:
        numbers = sorted(_numbers(self))
        middle = len(numbers) // 2
        return (numbers[~middle] + numbers[middle]) / 2 if numbers else None


class ExactSum(list[Any]):
    """Sum without rounding on the way: floats are added exactly and rounded once; whole numbers stay whole."""

    step = list.append

    def finalize(self) -> Any:
        numbers = _numbers(self)
        if not numbers:
            return None
        if all(isinstance(value, int) for value in numbers):
            total = sum(numbers)
            return total if -(2**63) <= total < 2**63 else str(total)
        try:
            total = math.fsum(numbers)
            # What decimals lose as doubles is relative to the largest of them, also where they cancel out, and grows
            # with the root of their number; the exact total is then rounded once.
            count = min(len(numbers), 4 * math.sqrt(len(numbers)))
            noise = (count * max(map(abs, numbers)) + abs(total)) * 2.0**-53
            if noise > _LOST * abs(total) and all(float(f"{value:.15g}") == value for value in numbers):
                return float(sum(Decimal(repr(value)) for value in numbers))
            return round(total, math.floor(-math.log10(max(noise, 1e-300))))
        except OverflowError:  # of a part: the whole may still be a number
            return float(sum(Decimal(repr(value)) for value in numbers))
        except ValueError:
            return sum(float(value) for value in numbers)


def _numbers(values: list[Any]) -> list[int | float]:
    return [value if isinstance(value, int | float) else _number(value) for value in values if value is not None]


def _number(value: Any) -> float | int:
    """What a text counts for in a sum: the number it begins with, as SQLite has it."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    found = re.match(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)", text)
    if found is None:
        return 0.0
    return int(found[1]) if re.fullmatch(r"[+-]?\d+", found[1]) and found.end() == len(text) else float(found[1])


@lru_cache(maxsize=32)
def _compiled(pattern: str) -> re.Pattern[str]:
    return compile_pattern(pattern)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A user's pattern. Raises ValueError that says what is wrong with it."""
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"a pattern may have {LONGEST_PATTERN} characters, this one has {len(pattern)}")
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern is no regular expression: {error}") from None


_pattern_fault: list[str] = []


def regexp(pattern: Any, text: Any) -> int | None:
    """`text REGEXP pattern`: whether the pattern is found anywhere in the text."""
    if pattern is None or text is None:
        return None
    try:
        return int(_compiled(str(pattern)).search(str(text)) is not None)
    except ValueError as error:
        _pattern_fault[:] = [str(error)]
        raise


def take_pattern_fault() -> str | None:
    """Why the last pattern failed; SQLite itself only says that a function did."""
    return _pattern_fault.pop() if _pattern_fault else None


def search_lines(pattern: re.Pattern[str], lines: Iterable[str]) -> Iterable[tuple[int, str, tuple[int, int] | None]]:
    """(line number, line, where the pattern was found) of every line."""
    for number, line in enumerate(lines, 1):
        found = pattern.search(line)
        yield number, line, found.span() if found else None
