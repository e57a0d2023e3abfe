"""Dates of a clause -> conditions on the columns that they may be of. Knows no other words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from .dates import When
from .document import Column, Table
from .parse import Chunk
from .rows import date_rows, date_sql
from .scene import Cond


def date_conds(table: Table, group: Sequence[Chunk], *, negated: bool = False) -> list[Cond]:
    """What a date, or a list of dates, may say of each column; a date with a time may be of two."""
    paired = _date_and_time(table, group)
    if paired:
        return paired
    return [
        c for column in table.columns if _fits(table, column, group) for c in _of_column(table, column, group, negated)
    ]


def _fits(table: Table, column: Column, group: Sequence[Chunk]) -> bool:
    return table.kind == "record" or column.is_date or (_yearly(group) and column.holds_years)


def _of_column(table: Table, column: Column, group: Sequence[Chunk], negated: bool) -> list[Cond]:
    out = []
    for cost, whens in _ways([(c.when, c.text) for c in group if c.when], negated):
        members = [date_rows(column, w, embedded=table.kind == "record") for w in whens]
        if all(m is None for m in members):
            continue
        rows = frozenset().union(*(m for m in members if m))
        sql = " OR ".join(date_sql(column, w) for w in whens)
        text = ", ".join(c.text for c in group)
        parts = tuple(m or frozenset() for m in members)
        out.append(Cond(rows, f"({sql})" if len(group) > 1 else sql, column, parts, cost, text))
    return out


def _ways(stated: Sequence[tuple[When, str]], negated: bool) -> list[tuple[float, list[When]]]:
    """`from 2021` may mean in that year as well as since then; `not since 2021` that it was last so in that year."""
    plain = [w for w, _ in stated]
    if len(stated) == 1 and plain[0].compare == "ge" and plain[0].day and stated[0][1].lower().startswith("from"):
        return [(0.05, [replace(plain[0], compare="eq")]), (0.05, plain)]
    if negated and len(stated) == 1 and plain[0].compare == "ge" and stated[0][1].lower().startswith("since"):
        return [(0.05, plain), (0.05, [replace(plain[0], compare="gt")])]
    if len(stated) == 1 and plain[0].compare == "ge" and stated[0][1].lower().startswith("from"):
        return [(0.05, [replace(plain[0], compare="eq")]), (0.1, plain)]
    return [(0.05, plain)]


def _date_and_time(table: Table, group: Sequence[Chunk]) -> list[Cond]:
    """A date with a time of day over two columns, one of dates and one of times."""
    when = group[0].when
    if len(group) != 1 or when is None or not (when.has_date and when.has_time):
        return []
    day, hour = replace(when, hour=None, minute=None, second=None), replace(when, year=None, month=None, day=None)
    out = []
    for a, b in product([c for c in table.columns if c.is_date], repeat=2):
        if a is not b and (first := date_rows(a, day)) is not None and (second := date_rows(b, hour)) is not None:
            sql = f"{date_sql(a, day)} AND {date_sql(b, hour)}"
            out.append(Cond(first & second, sql, b, (), 0.05, group[0].text))
    return out


def _yearly(group: Sequence[Chunk]) -> bool:
    return all(c.when and c.when.year and not c.when.month for c in group)
