"""One cell as text, and the number, date or list of names that it may be. Knows no columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .dates import When, cell_date, year_of
from .numbers import Number, cell_number

NULLS = frozenset(("", "null", "none", "n/a", "nan", "-", "--", "—", "n / a", "nil"))


def cell_text(cell: Any) -> str:
    """A cell as it would be read aloud: booleans lower-case, null empty."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell if isinstance(cell, str) else str(cell)


class Listed(str):
    """A cell that held a list of several: its text, and what was in it."""

    __slots__ = ("parts",)
    parts: tuple[str, ...]

    @classmethod
    def of(cls, members: Sequence[Any]) -> str:
        """The members of a list, joined; a plain text where there are not several."""
        texts = tuple(cell_text(m) for m in members)
        joined = ", ".join(texts)
        if len(texts) < 2:
            return joined
        made = cls(joined)
        made.parts = texts
        return made


def is_day(text: str) -> bool:
    when = cell_date(text)
    return when is not None and when.day is not None


def single_number(text: str) -> Number | None:
    if "=" in text and (last := cell_number(text.rsplit("=", 1)[1].strip(" )"))):
        return last[0]
    found = [p for part in text.replace("(", " ").replace(")", " ").split() if (p := cell_number(part))]
    return found[0][0] if len(found) == 1 else None


def cell_when(text: str, number: Number | None) -> When | None:
    if (year := year_of(number)) is not None and len(text.strip()) == 4:
        return When(year=year, literal=text)
    return cell_date(text)


_MONTH = re.compile(r"(?P<year>1[5-9]\d\d|20\d\d)-(?P<month>0[1-9]|1[0-2])")


def month_of(text: str) -> When | None:
    """The month that a cell like `2008-09` states; None for any other."""
    match = _MONTH.fullmatch(text.strip())
    return None if match is None else When(int(match["year"]), int(match["month"]), literal=text.strip())
