"""Quantities: numbers of a cell and of a sentence, with unit, rounding and comparison. Knows no tables."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite

from .units import UNITS, measure_of
from .words import clean, fold, word_list

Number = int | float

SCALE = {
    "k": 10**3, "thousand": 10**3, "m": 10**6, "mn": 10**6, "million": 10**6, "millions": 10**6, "bn": 10**9,
    "b": 10**9,
    "billion": 10**9, "billions": 10**9, "trillion": 10**12, "hundred": 100, "dozen": 12,
}  # fmt: skip

ONES = dict(
    zip(
        word_list(
            """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen"""
        ),
        range(20),
        strict=True,
    )
)
TENS = dict(
    zip(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], range(20, 100, 10), strict=True)
)
ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12,
}  # fmt: skip
TIMES = {"once": 1, "twice": 2, "thrice": 3}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as a sentence states it. `step` is the size of its last stated digit: what rounding may have removed."""

    value: Number
    literal: str
    start: int
    end: int
    unit: str = ""
    scale: float = 1
    """What one `unit` is in its base unit; comparisons convert."""
    step: float = 1
    approx: bool = False
    compare: str = "eq"
    """eq, ne, gt, ge, lt, le, or between (then `high` holds)."""
    high: Number | None = None
    word: bool = False
    """Written as a word (`five`, `twice`)."""
    fraction: bool = False
    """A share in words (`two thirds`), which nobody takes to the digit."""


_CELL = re.compile(
    r"(?P<sign>[-+~]?)\s?(?P<cur>US\$|[$€£¥₹])?\s?(?P<sign2>-?)(?P<num>\d{1,3}(?:[, ’']\d{3})+(?:\.\d+)?|"
    r"\d+(?:\.\d+)?|\.\d+)(?P<exp>[eE][-+]?\d+)?"
    r"\s?(?P<unit>%|[^\W\d_]{1,12}|[$€£°]C?)?(?P<rest>\s*(?:\([^()]*\)|\[[^\]]*\]|[*†‡#+]))?"
)


@lru_cache(maxsize=65536)
def cell_number(text: str) -> tuple[Number, str] | None:
    """The number a cell holds, and its unit, or None when the cell is more than a number."""
    text = clean(text).replace("−", "-").replace(" ,", ",").strip()
    if not text or len(text) > 60 or not any(c.isdigit() for c in text):
        return None
    negative = text.startswith("(") and text.endswith(")") and text[1:-1].strip()[:1] in "$€£0123456789"
    match = _CELL.fullmatch(text[1:-1].strip() if negative else text)
    if match is None:
        return None
    unit = fold(match["unit"] or match["cur"] or "")
    value = number_of(match["num"] + (match["exp"] or ""))
    if value is None or _second_number(match["rest"] or ""):
        return None
    factor = SCALE.get(unit, 1) if unit in ("million", "billion", "thousand", "trillion", "k", "mn", "bn") else 1
    if factor != 1:
        value, unit = exact(value * factor), fold(match["cur"] or "")
    if (negative and text[1:-1].strip()[:1] in "$€£") or "-" in (match["sign"], match["sign2"]):
        value = -value
    return value, UNITS.get(unit, unit)


def _second_number(rest: str) -> bool:
    """Whether what follows a number in a cell is a number with as good a claim (`8 (280)`), no note and no unit."""
    return any(c.isdigit() for c in rest) and (any(c in "=+" for c in rest) or not any(c.isalpha() for c in rest))


def number_of(text: str) -> Number | None:
    """A literal without unit as int or float; thousands separators allowed."""
    text = re.sub(r"[,’' ]", "", text)
    try:
        value: Number = int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
    except ValueError:
        return None
    return value if isinstance(value, int) or isfinite(value) else None


def exact(value: Number) -> Number:
    return (
        round(value) if isinstance(value, float) and abs(value) < 1e15 and abs(value - round(value)) < 1e-9 else value
    )


def agrees(stated: Quantity, found: Number) -> bool | None:
    """Whether a found number bears out the stated one as a person would read it; None = neither clearly yes nor no."""
    if stated.compare != "eq":
        return _compares(stated, found)
    if found == stated.value:
        return True
    gap = abs(found - stated.value)
    whole = isinstance(found, int) and isinstance(stated.value, int)
    if whole and max(abs(found), abs(stated.value)) >= 10**15:
        return False
    if not whole and gap <= max(abs(found), abs(stated.value)) * 1e-9:
        return True
    if isinstance(found, float) and gap <= stated.step * 0.5000001:
        return True
    if stated.approx and not stated.fraction:
        return (
            True
            if gap <= max(_roundness(stated) / 2, 0.05 * abs(found))
            else (None if gap <= 0.12 * abs(found) else False)
        )
    if stated.fraction:
        return True if gap <= 2 else None if gap <= 6 else False
    if stated.step > 1 and gap <= stated.step * 0.5:
        return True
    if stated.step > 1 and gap < stated.step and not whole_as_written(stated):
        return None
    if (
        isinstance(found, float)
        and abs(math.trunc(found / stated.step) * stated.step - stated.value) < stated.step * 1e-6
    ):
        return None
    return None if _roundness(stated) >= 100 and gap <= _roundness(stated) / 2 else False


def whole_as_written(stated: Quantity) -> bool:
    """Whether a number was written out in full, so that its last digit counts (`115,000`, not `115k`)."""
    digits = re.sub(r"\D", "", stated.literal)
    value = str(abs(stated.value))
    return bool(digits) and value.startswith(digits) and len(digits) == len(value)


def _compares(stated: Quantity, found: Number) -> bool | None:
    if stated.compare == "between" and stated.high is not None:
        low, high = sorted((stated.value, stated.high))
        return low <= found <= high
    results = {
        "gt": found > stated.value, "ge": found >= stated.value, "lt": found < stated.value,
        "le": found <= stated.value,
        "ne": found != stated.value,
    }  # fmt: skip
    return results[stated.compare]


def _roundness(stated: Quantity) -> float:
    """The power of ten the stated number is a multiple of: what a rounding person has dropped."""
    value = abs(stated.value)
    if not isinstance(value, int) or value == 0:
        return stated.step
    power = 1
    while value % (power * 10) == 0:
        power *= 10
    return max(float(power), stated.step)


def in_one_unit(found: list[tuple[Number, str] | None]) -> list[tuple[Number, str] | None]:
    """Numbers of several units of one kind (`300 ms`, `1.2 s`) in the unit that most of them have."""
    units = [p[1] for p in found if p and p[1]]
    if len(set(units)) < 2:
        return found
    main = Counter(units).most_common(1)[0][0]
    base = measure_of(main)
    out: list[tuple[Number, str] | None] = []
    for cell in found:
        mine = measure_of(cell[1]) if cell and cell[1] else None
        if cell is None or base is None or mine is None or mine[0] != base[0] or mine == base:
            out.append(cell)
        else:
            out.append((exact(cell[0] * mine[1] / base[1]), main))
    return out
