"""The numbers and dates of a clause, each once: years that count, versions and pronouns are told apart. No meanings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from .dates import When, claim_dates
from .document import Table
from .lexicon import ROW_NOUNS
from .numbers import Quantity
from .quantities import find_quantities
from .words import fold, stem, tokens


def numbers_and_dates(text: str, table: Table) -> tuple[list[When], list[Quantity]]:
    """What a clause states in numbers, read against one table."""
    amounts = find_quantities(text)
    dates = [d for d in claim_dates(text) if not _counts_rows(text, d) and not _compared(d, amounts)]
    quantities = [
        q for q in amounts if not any(d.start < q.end and q.start < d.end and not bare_year_number(d, q) for d in dates)
    ]
    quantities = [q for q in quantities if not _stands_for(text, q)]
    if any(c.is_version for c in table.columns):
        quantities = [q for q in quantities if not _is_version(text, q, table)]
    more = [w for q in quantities if (w := _another_day(text, q, dates)) is not None]
    quantities = [q for q in quantities if not any(w.start == q.start for w in more)]
    return sorted([*dates, *more], key=lambda w: w.start), quantities


def _another_day(text: str, qty: Quantity, dates: Sequence[When]) -> When | None:
    """The 24 of `September 20 and 24`: a day of the month before it."""
    before = next((d for d in reversed(dates) if d.end <= qty.start), None)
    if before is None or before.day is None or before.year is not None or before.has_time or before.compare != "eq":
        return None
    plain = isinstance(qty.value, int) and 1 <= qty.value <= 31 and not (qty.unit or qty.word) and qty.compare == "eq"
    joined = re.fullmatch(r"\s*(?:,|and|or|&)\s*", text[before.end : qty.start])
    after = tokens(text[qty.end : qty.end + 24])[:1]
    if not plain or not joined or (after and after[0].is_word and after[0].low.endswith("s")):
        return None
    return replace(before, day=int(qty.value), literal=qty.literal, start=qty.start, end=qty.end)


_THE_ONE = re.compile(
    r"\b(?:\w+est|most \w+|least \w+|first|last|next|this|that|which|another|other|every|each|no|right|same)\s+$",
    re.IGNORECASE,
)


def _stands_for(text: str, qty: Quantity) -> bool:
    """Whether `one` stands for a noun (`the deepest one`), and counts nothing."""
    return qty.word and qty.value == 1 and qty.literal.lower() == "one" and bool(_THE_ONE.search(text[: qty.start]))


_BEFORE_VERSION = re.compile(r"\b(?P<word>\w+)(?:\s+(?:number|is|was|at|to|of|:|=|of \w+ is|of \w+ was))*\s*$")


def _is_version(text: str, qty: Quantity, table: Table) -> bool:
    """Whether a dotted number is a version: it stands in a column of those, or follows the column's name."""
    literal = text[qty.start : qty.end].strip()
    if "." not in literal or qty.unit or qty.compare != "eq":
        return False
    columns = [c for c in table.columns if c.is_version]
    lead = _BEFORE_VERSION.search(text[max(0, qty.start - 40) : qty.start])
    named = lead is not None and any(stem(fold(lead["word"])) in c.words for c in columns)
    return named or any((literal,) in c.index for c in columns)


def _compared(when: When, amounts: Sequence[Quantity]) -> bool:
    """Whether a lone year is the number of a comparison (`more than 1400`)."""
    bare = when.year is not None and when.month is None and when.year_end is None and when.compare == "eq"
    return bare and any(
        q.start < when.end and when.start < q.end and q.compare in ("gt", "ge", "lt", "le") for q in amounts
    )


def _counts_rows(text: str, when: When) -> bool:
    """Whether a lone year-like number counts rows (`2000 rows`)."""
    following = tokens(text[when.end : when.end + 24])
    bare = when.year is not None and when.month is None and when.end - when.start <= 5
    return bare and bool(following) and following[0].stem in ROW_NOUNS


def bare_year_number(when: When, qty: Quantity) -> bool:
    """A lone year may be a plain number just as well."""
    return (
        when.year is not None
        and when.month is None
        and when.year_end is None
        and qty.value == when.year
        and qty.compare == "eq"
    )
