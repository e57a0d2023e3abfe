"""Conditions on one column: which rows meet them, and the SQL that says so. Knows no sentences."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace

from .dates import When, matches
from .document import Column
from .numbers import Number, Quantity, agrees, exact
from .units import CURRENCIES, factors, guesses, of_other_degrees, scale_in_name


def quote(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    """An SQL literal."""
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


def as_written(column: Column, qty: Quantity) -> tuple[Quantity, ...]:
    """A stated number in the column's unit, in each way it may be meant, likeliest first; none where units differ."""
    scale = scale_in_name(column.name)
    if scale != 1 and abs(qty.value) >= scale and qty.unit != "%":
        return _as_written(column, _times(qty, 1 / scale))
    return _as_written(column, qty)


def _as_written(column: Column, qty: Quantity) -> tuple[Quantity, ...]:
    if not qty.unit or qty.compare == "ne":
        return (qty,)
    if qty.unit == "%" and column.measure is None and column.holds_no_share:
        return ()
    if of_other_degrees(qty.unit, column.name):
        return ()
    stated = (qty.unit, float(qty.scale))
    if column.measure is None or column.measure[0] == "%":
        return tuple(_times(qty, f) for f in dict.fromkeys(guesses(stated)))
    return tuple(_times(qty, f) for f in factors(stated, column.measure))


def _times(qty: Quantity, factor: float) -> Quantity:
    if factor == 1:
        return qty
    high = None if qty.high is None else exact(qty.high * factor)
    return replace(qty, value=exact(qty.value * factor), high=high, step=qty.step * factor, unit="", scale=1)


def bears_out(column: Column, qty: Quantity, found: Number) -> bool | None:
    """Whether a figure of a column is the stated one, in whatever unit that is stated; None = neither yes nor no."""
    results = [agrees(q, found) for q in as_written(column, qty)]
    if True in results:
        return True
    return None if None in results or foreign(column, qty) else False


def clash(column: Column, qty: Quantity) -> bool:
    """Whether a number is stated in another currency than the column's."""
    known = column.measure[0] if column.measure else ""
    return qty.unit in CURRENCIES and known in CURRENCIES and qty.unit != known


def foreign(column: Column, qty: Quantity) -> bool:
    """Whether a stated unit shows that the number is of another column (seconds over bytes)."""
    return not as_written(column, qty) and not clash(column, qty)


def number_rows(column: Column, qty: Quantity) -> frozenset[int]:
    """Rows whose number bears out the quantity."""
    found = frozenset().union(*(_number_rows(column, q) for q in as_written(column, qty)))
    if column.is_mixed and qty.unit in CURRENCIES:
        return frozenset(r for r in found if (cell := column.parsed[r]) and cell[1] in ("", qty.unit))
    return found


def _number_rows(column: Column, qty: Quantity) -> frozenset[int]:
    """Rows whose number bears out the quantity as it stands: only those near enough are looked at."""
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
    qty = next(iter(as_written(column, qty)), qty)
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
