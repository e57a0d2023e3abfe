"""The rows that hold the extreme of a column: of numbers, versions or moments. Knows no sentences."""

from __future__ import annotations

from .dates import When, compare
from .document import Column
from .frame_aggregate import Held
from .numbers import Number


def extreme_rows(column: Column, rows: frozenset[int], direction: str) -> tuple[frozenset[int], Held | None]:
    """Rows that hold a column's extreme among `rows`, and the extreme itself."""
    if column.values() is None:
        return _extreme_moments(column, rows, direction)
    values, order = column.sorted_values
    best: Number | None = None
    held: list[int] = []
    for at in reversed(range(len(values))) if direction == "max" else range(len(values)):
        if best is not None and values[at] != best:
            break
        if order[at] in rows:
            best = values[at]
            held.append(order[at])
    return frozenset(held), best


def _extreme_moments(column: Column, rows: frozenset[int], direction: str) -> tuple[frozenset[int], Held | None]:
    """The same for versions and dates, where they all state the same fields or can be told apart in time."""
    order = column.time_order
    if order is not None:
        keys = [(k, r) for r in rows if (k := order[r]) is not None]
        if not keys:
            return frozenset(), None
        edge = max(keys)[0] if direction == "max" else min(keys)[0]
        held = frozenset(r for k, r in keys if k == edge)
        return held, (column.versions if column.is_version else column.dates)[next(iter(held))]
    best: When | None = None
    found: list[int] = []
    for row in sorted(rows):
        moment = column.dates[row]
        step = 1 if best is None else (compare(moment, best) if moment is not None else None)
        if moment is None or step is None:
            continue
        step = step if direction == "max" or best is None else -step
        if step > 0:
            best, found = moment, [row]
        elif step == 0:
            found.append(row)
    return frozenset(found), best
