"""Puts a query differently where SQLite alone would lose something: exact sums, full-text search. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from sqlite3 import sqlite_version_info

from crp_mcp.core.folding import fold

from .sql import Statement, Token, closing, quote, table_places, written

_ADDING = frozenset({"sum", "total", "avg"})
_OPENERS = frozenset({"select", "distinct", "all"})


@dataclass(frozen=True, slots=True, order=True)
class Decimals:
    """A float column whose values have few digits after the point: how many values, and the sum of their sizes."""

    digits: int
    count: int
    size: float

    @property
    def safe(self) -> bool:
        """Whether SQLite's own sum of any of its rows, rounded to these digits, is certainly the exact one."""
        return is_safe(self.count, self.size, self.digits, compensated=COMPENSATED)


COMPENSATED = sqlite_version_info >= (3, 43)
"""From then on SQLite keeps what is rounded off, so that its sums are as exact as their result can be."""


def is_safe(count: int, size: float, digits: int, *, compensated: bool = False) -> bool:
    """Whether adding `count` doubles, whose sizes sum to `size`, errs by less than half a unit of the last digit.

    Each value is as far from its decimal as it is rounded, each addition as its result; where those are compensated,
    only the square of that is left of each.
    """
    roundings = 4 + count * 2.0**-52 * count if compensated else max(count, 4)
    return bool(roundings * size * 2.0**-53 * 10.0**digits < 0.25)


_NONE: Mapping[str, tuple[str, int]] = {}
Digits = Callable[[str], "Decimals | None"]
"""Name of a float column -> how exact sums of it can be had; None where they cannot."""


def fix_match(statement: Statement, columns: Collection[str]) -> bool:
    """`some_table MATCH 'x'` means its text. Returns whether the query searches by MATCH at all.

    `columns`: names of the columns of its tables, in lower case.
    """
    tokens, found = statement.tokens, False
    for at, token in enumerate(tokens):
        if token.kind != "word" or token.low != "match" or at == 0:
            continue
        place = at - 2 if tokens[at - 1].low == "not" and at > 1 else at - 1
        before = tokens[place]
        found = found or bool(before.name)
        dotted = place >= 1 and tokens[place - 1].text == "."
        if before.name and not dotted and before.key not in columns:
            tokens[place] = Token("quoted", f"{before.text}.text", before.name, before.lead)
    return found


def is_joined(statement: Statement) -> bool:
    """Whether rows of more than one table are put together anywhere."""
    return len(table_places(statement.tokens)) != 1


def only_sorts(statement: Statement) -> bool:
    """Whether it sorts rows of one table, and puts nothing else aside on the way."""
    words = {token.low for token in statement.tokens if token.kind == "word"}
    alone = sum(token.low == "select" for token in statement.tokens) == 1 and not is_joined(statement)
    return alone and bool(words & {"group", "order"}) and not words & {"distinct", "over", "json_each", "json_tree"}


def adds(statement: Statement) -> bool:
    """Whether a sum or an average may stand in it."""
    return any(token.low in _ADDING for token in statement.tokens)


def computes(statement: Statement) -> bool:
    """Whether numbers are put together in it, so that binary fractions may leave noise in what comes out."""
    tokens = statement.tokens
    for at, token in enumerate(tokens):
        if token.low in ("avg", "total", "exact_sum", "sum", "median"):
            return True
        if at and token.text in ("*", "/", "+", "-", "%"):
            before = tokens[at - 1]
            if before.text == ")" or before.kind == "number" or (before.name and before.low not in _OPENERS):
                return True
    return False


def fix_sums(
    statement: Statement, kinds: Mapping[str, str], digits: Digits, hidden: Mapping[str, tuple[str, int]] = _NONE
) -> None:
    """Make sums and averages exact: of a decimal column by whole numbers, of an expression by exact addition.

    `kinds`: column name, folded -> kind, over all tables of the query (`float` wins). `hidden`: column name, folded ->
    (the column that has it as whole numbers, shifted by how many digits).
    """
    alone = sum(token.low == "select" for token in statement.tokens if token.kind == "word") == 1
    for at in range(len(statement.tokens) - 1, -1, -1):
        token = statement.tokens[at]
        called = token.kind == "word" and at + 1 < len(statement.tokens) and statement.tokens[at + 1].text == "("
        if called and token.low in _ADDING:
            # Under another SELECT a name may stand for something else than the column of a table.
            _fix_sum(statement, at, kinds, digits if alone else _unknown, hidden)


def sum_exactly(statement: Statement) -> None:
    """Every plain sum without overflow: whole numbers of any size."""
    tokens = statement.tokens
    for at in range(len(tokens) - 1):
        end = closing(tokens, at + 1) if tokens[at].low == "sum" and tokens[at + 1].text == "(" else None
        if end is not None and not any(
            token.low == "over" for token in tokens[end + 1 : _past_filter(tokens, end) + 2]
        ):
            _rename(statement, at, "exact_sum")


def _unknown(column: str) -> Decimals | None:
    return None


def _fix_sum(
    statement: Statement, at: int, kinds: Mapping[str, str], digits: Digits, hidden: Mapping[str, tuple[str, int]]
) -> None:
    tokens = statement.tokens
    end = closing(tokens, at + 1)
    if end is None:
        return
    inside = tokens[at + 2 : end]
    last = _past_filter(tokens, end)
    if last + 1 < len(tokens) and tokens[last + 1].low == "over":
        return  # windows keep SQLite's own sum
    column = _bare_column(inside)
    if column is not None and kinds.get(fold(column)) in ("bigint", "text"):
        if tokens[at].low == "sum":
            _rename(statement, at, "exact_sum")
        return
    if column is not None and kinds.get(fold(column)) != "float":
        return
    places = digits(column) if column is not None else None
    function = tokens[at].low
    if places is not None:
        if places.safe and not is_joined(statement):
            _by_rounding(statement, at, last, places.digits)
            return
        prepared, shift = hidden.get(fold(column or ""), ("", 0))
        if prepared and shift >= places.digits:
            whole = written([*inside[:-1], Token("quoted", quote(prepared), prepared, inside[-1].lead)])
            if function == "avg" and places.size * 10.0**shift < 2.0**53:
                _by_whole_mean(statement, at, end, last, shift, whole)
            else:
                _by_whole_numbers(statement, at, end, last, shift, whole)
        else:
            _by_whole_numbers(statement, at, end, last, places.digits)
    elif function == "sum" and _is_fractional(inside, kinds):
        _rename(statement, at, "exact_sum")


def _bare_column(inside: Sequence[Token]) -> str | None:
    names = [token for token in inside if token.text != "."]
    plain = len(inside) in (1, 3) and all(token.name for token in names) and len(names) == (len(inside) + 1) // 2
    return inside[-1].name if plain else None


def _is_fractional(inside: Sequence[Token], kinds: Mapping[str, str]) -> bool:
    return any(
        kinds.get(token.key, "") in ("float", "bigint", "mixed", "json")
        if token.name
        else token.text in ("/", "->>") or (token.kind == "number" and "." in token.text)
        for token in inside
    )


def _past_filter(tokens: Sequence[Token], end: int) -> int:
    if end + 2 < len(tokens) and tokens[end + 1].low == "filter" and tokens[end + 2].text == "(":
        return closing(tokens, end + 2) or end
    return end


def _by_whole_numbers(
    statement: Statement, at: int, end: int, last: int, places: int, whole: str | None = None
) -> None:
    """sum(c) -> (sum(CAST(round(c * 100.0) AS INTEGER)) / 100.0): no float is added, and one rounding is left.

    `whole`: what has these whole numbers already.
    """
    tokens = statement.tokens
    before = written(tokens[at : last + 1]).strip()
    factor = f"1{'0' * places}.0"
    column = written(tokens[at + 2 : end])
    condition = written(tokens[end + 1 : last + 1])
    mean = tokens[at].low == "avg"
    whole = whole or f"CAST(round({column} * {factor}) AS INTEGER)"
    call = f"{'sum' if mean else tokens[at].text}({whole}){condition}"
    text = f"({call} / ({factor} * count({column}){condition}))" if mean else f"({call} / {factor})"
    statement.renamed[text] = before
    tokens[at : last + 1] = [Token("other", text, "", tokens[at].lead)]


def _by_whole_mean(statement: Statement, at: int, end: int, last: int, places: int, whole: str) -> None:
    """avg(c) -> (avg("c in whole") / 100.0): up to 2^53 doubles add whole numbers exactly."""
    tokens = statement.tokens
    text = f"(avg({whole}){written(tokens[end + 1 : last + 1])} / 1{'0' * places}.0)"
    statement.renamed[text] = written(tokens[at : last + 1]).strip()
    tokens[at : last + 1] = [Token("other", text, "", tokens[at].lead)]


def _by_rounding(statement: Statement, at: int, last: int, places: int) -> None:
    """sum(c) -> round(sum(c), 2): what noise there is is known to be smaller. avg(c) -> that by count(c)."""
    tokens = statement.tokens
    before = written(tokens[at : last + 1]).strip()
    rest = written(tokens[at + 1 : last + 1])
    mean = tokens[at].low == "avg"
    text = f"(round(sum{rest}, {places}) / count{rest})" if mean else f"round({before}, {places})"
    statement.renamed[text] = before
    tokens[at : last + 1] = [Token("other", text, "", tokens[at].lead)]


def _rename(statement: Statement, at: int, name: str) -> None:
    statement.renamed[name] = statement.tokens[at].text
    statement.tokens[at] = Token("word", name, name, statement.tokens[at].lead)
