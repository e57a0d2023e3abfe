"""Conditions on one column: which rows meet them, and the SQL that says so. Knows no sentences."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from .dates import When, matches
from .document import Column
from .numbers import Number, Quantity, agrees


def quote(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    """An SQL literal."""
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


def number_rows(column: Column, qty: Quantity) -> frozenset[int]:
    """Rows whose number bears out the quantity: only those near enough are looked at."""
    values, rows = column.sorted_values
    if qty.compare == "eq":
        reach = max(abs(qty.value) * 0.1, qty.step, 1)
        first, last = bisect_left(values, qty.value - reach), bisect_right(values, qty.value + reach)
    elif qty.compare in ("gt", "ge"):
        first, last = bisect_left(values, qty.value), len(values)
    elif qty.compare in ("lt", "le"):
        first, last = 0, bisect_right(values, qty.value)
    else:
        first, last = 0, len(values)
    found: set[int] = set()
    known: dict[Number, bool] = {}
    for at in range(first, last):
        value = values[at]
        if value not in known:
            known[value] = bool(agrees(qty, value))
        if known[value]:
            found.add(rows[at])
    return frozenset(found)


def number_sql(column: Column, qty: Quantity) -> str:
    """The comparison a quantity makes with a column."""
    sign = {"eq": "=", "gt": ">", "ge": ">=", "lt": "<", "le": "<=", "ne": "<>"}.get(qty.compare)
    name = quote(column.name)
    return f"{name} {sign} {qty.value}" if sign else f"{name} BETWEEN {qty.value} AND {qty.high}"


def date_rows(column: Column, when: When, *, embedded: bool = False) -> frozenset[int] | None:
    """Rows of a date column inside what was stated; None when they have no field in common."""
    if embedded and not any(column.dates):
        groups = [(list(dates), [row]) for row, dates in enumerate(column.embedded_dates)]
    else:
        groups = [([d], rows) for rows in column.moments.values() if (d := column.dates[rows[0]]) is not None]
    found: set[int] = set()
    known = False
    for dates, rows in groups:
        hits = [matches(when, d) for d in dates]
        known = known or any(h is not None for h in hits)
        if any(hits):
            found.update(rows)
    return frozenset(found) if known else None


def date_sql(column: Column, when: When) -> str:
    """What a date condition asks, as near to SQL as dates in text allow."""
    name = quote(column.name)
    parts = ("year", when.year), ("month", when.month), ("day", when.day), ("hour", when.hour), ("minute", when.minute)
    stated = " ".join(f"{k}={v}" for k, v in parts if v is not None)
    relation = {"eq": "in", "lt": "before", "gt": "after", "le": "not after", "ge": "not before", "between": "between"}[
        when.compare
    ]
    more = f" and {date_sql(column, when.until).split(' in ')[-1]}" if when.until else ""
    if when.year_end:
        return f"{name} between {when.year} and {when.year_end}"
    return f"{name} {relation} ({stated}){more}"
