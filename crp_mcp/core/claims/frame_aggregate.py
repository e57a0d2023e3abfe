"""Averages, totals, medians and ranges of a column, and which column is meant. One frame of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .bind import is_money
from .dates import When
from .document import Column
from .lexicon import ATTRIBUTES
from .link import ColumnRef
from .model import Distortion
from .numbers import Number, Quantity, agrees
from .parse import Chunk, attribute_columns, names_column
from .reading import Reading
from .rows import bears_out, foreign, quote
from .scene import Scene, Selection
from .units import CURRENCIES
from .versions import Version
from .words import stem

Held = Number | When | Version
"""What a row can have in a column that rows are ordered by."""
LOW_IS_GOOD = frozenset(stem(w) for w in ("rank", "place", "position", "pos", "finish", "standing"))
AGGREGATES = {"avg": "AVG", "sum": "SUM", "median": "MEDIAN", "max": "MAX", "min": "MIN"}


def targets(scene: Scene, op: Chunk) -> list[tuple[ColumnRef, frozenset[int], float]]:
    """Columns an extreme may be about: (column, chunks that name it, doubt)."""
    out: list[tuple[ColumnRef, frozenset[int], float]] = []
    for ref in op.columns or attribute_columns(scene.table, op.words[-1].stem):
        out.append((ref, frozenset((op.at,)), 0.05))
    for chunk, ref, cost in scene.near_columns(op.at, after=5, before=12):
        if ordered(ref.column):
            out.append((ref, frozenset((chunk.at,)), cost))
    for chunk in scene.chunks[op.at + 1 : op.at + 3]:
        if chunk.is_plain and chunk.stem in ATTRIBUTES:
            out += [(r, frozenset((chunk.at,)), 0.1) for r in attribute_columns(scene.table, chunk.stem)]
    if not out and op.low in _PLAIN_EXTREMES and len(one := [c for c in scene.table.columns if c.is_measure]) == 1:
        out.append((ColumnRef(one[0], 0.6), frozenset((op.at,)), 0.2))
    if op.low in ("most", "least", "fewest"):
        out = [o for o in out if o[0].column.is_measure or o[0].column.facet]
    named = [o for o in out if o[1] != {op.at}]
    if len(op.words) == 1 and op.words[0].low in ("most", "least", "highest", "lowest", "best", "worst", "top"):
        out = named or out
    elif named and op.words[-1].stem in ATTRIBUTES:
        out = [o for o in out if o[1] == {op.at}] or named
    return sorted((o for o in out if ordered(o[0].column)), key=lambda o: o[2])[:4]


_PLAIN_EXTREMES = frozenset(("largest", "biggest", "highest", "smallest", "lowest", "top"))
"""Extremes that do not say of what: of the one measure, where a table has one."""


def ordered(column: Column) -> bool:
    if column.is_serial and not set(column.words) & LOW_IS_GOOD:
        return False
    return (column.values() is not None and not column.is_mixed) or column.is_date or column.is_version


def order_values(column: Column) -> Sequence[Held | None]:
    """What a column is ordered by: its numbers, versions or dates."""
    if column.is_version:
        return column.versions
    values = column.values()
    return values if values is not None else column.dates


def aggregate(column: Column, rows: frozenset[int], name: str) -> Number | None:
    """AVG, SUM, MEDIAN, MIN or MAX of a column over rows; None where there is nothing to add."""
    values = None if column.is_mixed else column.values()
    picked = sorted(v for r in rows if values is not None and (v := values[r]) is not None)
    if not picked:
        return None
    if name == "sum":
        return sum(picked)
    if name == "avg":
        return sum(picked) / len(picked)
    if name == "median":
        middle = len(picked) // 2
        return picked[middle] if len(picked) % 2 else (picked[middle - 1] + picked[middle]) / 2
    return picked[-1] if name == "max" else picked[0]


def aggregates(scene: Scene, op: Chunk) -> Iterator[Reading]:
    near = scene.near_columns(op.at, after=6, before=12)
    if op.columns:
        near = [(op, r, 0.2) for r in op.columns] + near
    near = [n for n in near if not (n[1].column.is_number and not n[1].column.is_measure)]
    near = [n for n in near if n[0].op not in ("max", "min", "more", "less") or names_column(n[0])]
    for chunk, ref, cost in near[:5] or _amounts(scene, op):
        if ref.column.values() is None:
            continue
        if op.op == "sum" and scene.parse.ops("each"):
            continue
        for selection in scene.combine(scene.mentions):
            if any(c.column is ref.column for c in selection.conds):
                continue
            found = aggregate(ref.column, selection.rows, op.op)
            counted = frozenset(
                at
                for c in scene.numbers
                if c.qty and agrees(c.qty, len(selection.rows)) and len(scene.numbers) > 1
                for at in (c.at, c.at + 1)
            )
            for number in scene.numbers:
                if found is None or number.qty is None or number.at in counted or foreign(ref.column, number.qty):
                    continue
                holds = bears_out(ref.column, number.qty, _tidy(found))
                sql = f"SELECT {AGGREGATES[op.op]}({quote(ref.column.name)}) FROM {{table}}{selection.where}"
                used = selection.used | {op.at, chunk.at, number.at} | counted | of_all(scene)
                doubt = (
                    0.5 if op.op == "sum" and (len(selection.rows) == 1 or set(ref.column.words) & {"total"}) else 0.0
                )
                yield Reading(
                    "aggregate",
                    holds,
                    used,
                    sql,
                    show(found),
                    number.text,
                    Distortion.NUMBER_CHANGED,
                    cost + selection.cost + doubt,
                )


def _amounts(scene: Scene, op: Chunk) -> list[tuple[Chunk, ColumnRef, float]]:
    """The table's one column of money, where an amount of it is stated and no column named."""
    money = [c for c in scene.table.columns if c.is_measure and is_money(c)]
    stated = any(c.qty and c.qty.unit in CURRENCIES for c in scene.numbers)
    return [(op, ColumnRef(money[0], 0.7), 0.15)] if stated and len(money) == 1 else []


def of_all(scene: Scene) -> set[int]:
    """`of all X`, `across all X`: the whole, said once more."""
    out: set[int] = set()
    for op in scene.parse.ops("all"):
        if op.at and scene.chunks[op.at - 1].low in ("of", "across", "over", "for", "among"):
            out |= {op.at, *(c.at for c in scene.chunks[op.at + 1 : op.at + 3] if not c.qty and not c.values)}
    return out


def _tidy(value: Number) -> Number:
    return (
        round(value) if isinstance(value, float) and abs(value - round(value)) < 1e-9 and abs(value) < 1e15 else value
    )


def ranges(scene: Scene, op: Chunk) -> Iterator[Reading]:
    yield from _spans(scene, {op.at}, 0.0)


def ranges_by_between(scene: Scene) -> Iterator[Reading]:
    if any(c.qty and c.qty.compare == "between" for c in scene.numbers) and any(c.low == "with" for c in scene.chunks):
        yield from _spans(scene, set(), 0.15)


def _spans(scene: Scene, extra: set[int], cost: float) -> Iterator[Reading]:
    """`X ranges from A to B`: A is the smallest and B the largest."""
    for number in scene.numbers:
        qty = number.qty
        if qty is None or qty.compare != "between" or qty.high is None:
            continue
        extra = {number.at} | extra
        for chunk, ref, doubt in scene.near_columns(number.at, after=4, before=14):
            for selection in scene.combine(scene.mentions):
                low, high = aggregate(ref.column, selection.rows, "min"), aggregate(ref.column, selection.rows, "max")
                if low is None or high is None:
                    continue
                ends = [
                    bears_out(ref.column, Quantity(v, "", 0, 0, qty.unit, qty.scale, qty.step), x)
                    for v, x in zip(sorted((qty.value, qty.high)), (low, high), strict=True)
                ]
                holds = all(ends) if None not in ends else None
                name = quote(ref.column.name)
                sql = f"SELECT MIN({name}), MAX({name}) FROM {{table}}{selection.where}"
                used = selection.used | {number.at, chunk.at} | extra
                counted, fits = _counted(scene, number, selection)
                used, holds = used | counted, holds if fits else False
                yield Reading(
                    "range",
                    holds,
                    used,
                    sql,
                    f"{show(low)} to {show(high)}",
                    number.text,
                    Distortion.NUMBER_CHANGED,
                    cost + doubt + selection.cost,
                )


def _counted(scene: Scene, number: Chunk, selection: Selection) -> tuple[frozenset[int], bool]:
    """Another number of the clause that counts the rows (`40 rows with X between A and B`), and whether it is right."""
    others = [c for c in scene.numbers if c is not number and c.qty and isinstance(c.qty.value, int) and not c.when]
    if len(others) != 1 or others[0].qty is None:
        return frozenset(), True
    return frozenset((others[0].at,)), bool(agrees(others[0].qty, len(selection.rows)))


def show(value: Held) -> str:
    if isinstance(value, When | Version):
        return value.literal
    return f"{value:.10g}" if isinstance(value, float) else str(value)
