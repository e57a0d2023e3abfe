"""Conditions on one column: which rows meet them, and the SQL that says so. Knows no sentences."""

from __future__ import annotations

from collections.abc import Sequence

from .dates import When, matches
from .document import Column
from .numbers import Number, Quantity, agrees


def quote(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    """An SQL literal."""
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


def number_rows(values: Sequence[Number | None], qty: Quantity) -> frozenset[int]:
    """Rows whose number bears out the quantity."""
    return frozenset(r for r, n in enumerate(values) if n is not None and agrees(qty, n))


def number_sql(column: Column, qty: Quantity) -> str:
    """The comparison a quantity makes with a column."""
    sign = {"eq": "=", "gt": ">", "ge": ">=", "lt": "<", "le": "<=", "ne": "<>"}.get(qty.compare)
    name = quote(column.name)
    return f"{name} {sign} {qty.value}" if sign else f"{name} BETWEEN {qty.value} AND {qty.high}"


def date_rows(column: Column, when: When, *, embedded: bool = False) -> frozenset[int] | None:
    """Rows of a date column inside what was stated; None when they have no field in common."""
    found, known = set(), False
    cells = column.embedded_dates if embedded and not any(column.dates) else [(d,) if d else () for d in column.dates]
    for row, cell in enumerate(cells):
        hits = [matches(when, d) for d in cell]
        known = known or any(h is not None for h in hits)
        if any(hits):
            found.add(row)
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
