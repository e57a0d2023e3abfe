"""Where a query reckons with dates, or compares them with texts in another spelling; and other slips SQLite lets pass.

Pure: it looks at the query's words alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from .cautions import caller, held_by_name, sides
from .findings import SHIFTED
from .sql import Statement, Token, closing, split_arguments

_COMPARING = frozenset({"<", ">", "<=", ">=", "=", "==", "<>", "!=", "between", "is"})
_ISO = re.compile(r"'\d{4}(?:-\d\d(?:-\d\d(?P<sign>[T ])?.*)?)?'", re.ASCII)
_DATES = frozenset({"date", "time", "datetime", "julianday", "unixepoch", "strftime"})
_TEXTS = frozenset({"date", "time", "datetime"})
"""Functions that give a date as a text."""


@dataclass(slots=True)
class DateUses:
    """Columns of dates (folded names) a query uses as something."""

    shifted: set[str] = field(default_factory=set)
    """Beside + or -."""
    with_t: set[str] = field(default_factory=set)
    """Compared with a text that has a T between date and time."""
    with_blank: set[str] = field(default_factory=set)
    """The same with a blank, as `datetime()` writes it."""
    foreign: set[str] = field(default_factory=set)
    """Compared with a text that is no ISO date."""
    called: set[str] = field(default_factory=set)
    """Given to a date function as it is."""


def find_date_uses(statement: Statement, columns: Collection[str]) -> DateUses:
    """What a query does with these columns of dates (folded names)."""
    tokens, uses = statement.tokens, DateUses()
    if not columns:
        return uses
    stands_for = held_by_name(statement, columns)
    for at, token in enumerate(tokens):
        held = stands_for.get(token.key, set()) if token.name else set()
        if held and _is_given_alone(tokens, at) and caller(tokens, at, _DATES):
            uses.called |= held
        for sign, other in sides(tokens, at) if held else ():
            if sign in ("+", "-"):
                uses.shifted |= held
            elif sign in _COMPARING and other is not None:
                _compare(uses, held, other)
    return uses


def _is_given_alone(tokens: Sequence[Token], at: int) -> bool:
    before = tokens[at - 1].text if at else ""
    after = tokens[at + 1].text if at + 1 < len(tokens) else ""
    return before in ("(", ",", ".") and after in (",", ")")


def _compare(uses: DateUses, held: set[str], other: Token) -> None:
    if other.kind != "text":
        uses.with_blank |= held if other.low == "datetime" else set()
        return
    found = _ISO.fullmatch(other.text)
    if found is None:
        uses.foreign |= held if any(sign.isdigit() for sign in other.text) else set()
    elif found["sign"] is not None:
        (uses.with_t if found["sign"] == "T" else uses.with_blank).update(held)


def find_slips(tokens: Sequence[Token]) -> list[str]:
    """What must be said of a query whatever its columns are."""
    found: dict[str, None] = {}
    for at, token in enumerate(tokens):
        before = tokens[at - 1].low if at else ""
        if token.low == "null" and token.kind == "word" and before in ("=", "==", "<>", "!="):
            found["nothing is ever = NULL or <> NULL; write IS NULL or IS NOT NULL"] = None
        if token.kind == "word" and token.low in _TEXTS and at + 1 < len(tokens) and tokens[at + 1].text == "(":
            end = closing(tokens, at + 1)
            after = tokens[end + 1].text if end is not None and end + 1 < len(tokens) else ""
            if before in ("+", "-") or after in ("+", "-"):
                found[SHIFTED] = None
        elif token.kind == "text" and _is_day(token) and _is_shifted(tokens, at):
            found[SHIFTED] = None
        if token.low == "strftime" and _is_turned(tokens, at):
            found["strftime takes the format first: strftime('%Y-%m', d)"] = None
    return list(found)


def _is_day(token: Token) -> bool:
    found = _ISO.fullmatch(token.text)
    return found is not None and len(token.text) > len("'2024-05-'")


def _is_shifted(tokens: Sequence[Token], at: int) -> bool:
    near = (tokens[at - 1].text if at else "", tokens[at + 1].text if at + 1 < len(tokens) else "")
    return "+" in near or "-" in near


def _is_turned(tokens: Sequence[Token], at: int) -> bool:
    end = closing(tokens, at + 1) if at + 1 < len(tokens) and tokens[at + 1].text == "(" else None
    if end is None:
        return False
    parts = split_arguments(tokens, at + 1, end)
    return len(parts) > 1 and "%" not in tokens[parts[0][0]].text and tokens[parts[1][0]].text.startswith("'%")
