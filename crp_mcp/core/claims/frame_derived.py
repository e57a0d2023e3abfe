"""Figures made of other figures: differences, ratios, shares of a total, ranks, the top few. One frame of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .document import Column
from .frame_aggregate import aggregate, targets
from .frame_extreme import directions, few
from .model import Distortion
from .numbers import Number, agrees
from .parse import Chunk
from .reading import Reading
from .rows import bears_out, quote
from .scene import Mention, Scene


def readings(scene: Scene) -> Iterator[Reading]:
    """Readings for each such figure the clause has words for."""
    if scene.table.kind == "record" or not scene.mentions:
        return
    for op in scene.parse.ops("max", "min"):
        yield from _ranked(scene, op)
        yield from _top(scene, op)
    for op in scene.parse.ops("diff"):
        yield from _difference(scene, op)
    if any(c.qty and c.qty.unit == "%" for c in scene.numbers):
        yield from _share_of_sum(scene)


def _sort_keys(column: Column) -> Sequence[Any]:
    """What each row of a column sorts by: its number, or its moment where all moments compare; None for none."""
    values = column.values()
    return values if values is not None else column.time_order or [None] * len(column.cells)


def _order(keys: Sequence[Any], rows: frozenset[int], direction: str) -> list[int]:
    picked = [r for r in rows if keys[r] is not None]
    return sorted(picked, key=lambda r: (keys[r], r), reverse=direction == "max")


def _ranked(scene: Scene, op: Chunk) -> Iterator[Reading]:
    """`the second highest X`."""
    before = scene.chunks[op.at - 1] if op.at else None
    if before is None or not before.ordinal or before.ordinal < 2:
        return
    for ref, named, cost in targets(scene, op):
        for subject, filters in _roles(scene):
            for selection in scene.combine(filters):
                values = _sort_keys(ref.column)
                ranked = _order(values, selection.rows, op.op)
                if len(ranked) < before.ordinal:
                    continue
                kth = values[ranked[before.ordinal - 1]]
                steps = sorted({v for r in ranked if (v := values[r]) is not None}, reverse=op.op == "max")
                fits = {kth, steps[before.ordinal - 1] if len(steps) >= before.ordinal else kth}
                for cond in subject.options:
                    if cond.column is ref.column:
                        continue
                    holds = any(values[r] in fits for r in cond.rows & selection.rows)
                    used = selection.used | subject.chunks | named | {op.at, before.at} | _near_numbers(scene, fits)
                    sql = (
                        f"SELECT * FROM {{table}}{selection.where} ORDER BY {quote(ref.column.name)}"
                        f" {'DESC' if op.op == 'max' else 'ASC'} LIMIT 1 OFFSET {before.ordinal - 1}"
                    )
                    found = ", ".join(_label(scene, r) for r in ranked if values[r] in fits)
                    yield Reading(
                        "extreme", holds, used, sql, found, cond.text, Distortion.ENTITY_SUBSTITUTED, cost + cond.cost
                    )


def _near_numbers(scene: Scene, values: set[Any]) -> frozenset[int]:
    return frozenset(
        c.at for c in scene.numbers if c.qty and any(isinstance(v, int | float) and agrees(c.qty, v) for v in values)
    )


def _roles(scene: Scene) -> Iterator[tuple[Mention, tuple[Mention, ...]]]:
    for i, subject in enumerate(scene.mentions):
        yield subject, scene.mentions[:i] + scene.mentions[i + 1 :]


def _label(scene: Scene, row: int) -> str:
    key = scene.table.key_column
    return key.texts[row] if key else f"row {row + 1}"


def _top(scene: Scene, op: Chunk) -> Iterator[Reading]:
    """`the top 3 X by Y are A, B and C`."""
    number = few(scene, op)
    if number is None or number.qty is None:
        return
    for ref, named, cost, way in ((*t, w) for t in targets(scene, op) for w in directions(t[0].column, op, op.op)):
        for subject, filters in _roles(scene):
            if subject.listed != number.qty.value:
                continue
            for selection in scene.combine(filters):
                values = _sort_keys(ref.column)
                ranked = _order(values, selection.rows, way)
                if len(ranked) <= number.qty.value:
                    continue
                edge = values[ranked[int(number.qty.value) - 1]]
                top = {r for r in ranked if _as_good(values[r], edge, way)}
                for cond in subject.options:
                    holds = all(top & m for m in cond.members)
                    nouns = {c.at for c in scene.columns if not any(r.column.is_measure for r in c.columns)}
                    used = selection.used | subject.chunks | named | nouns | {op.at, number.at}
                    sql = (
                        f"SELECT * FROM {{table}}{selection.where} ORDER BY {quote(ref.column.name)}"
                        f" {'DESC' if way == 'max' else 'ASC'} LIMIT {number.qty.value}"
                    )
                    found = ", ".join(_label(scene, r) for r in ranked[: int(number.qty.value)])
                    yield Reading(
                        "extreme", holds, used, sql, found, cond.text, Distortion.ENTITY_SUBSTITUTED, cost + cond.cost
                    )


def _as_good(value: Any, edge: Any, direction: str) -> bool:
    return value is not None and edge is not None and (value >= edge if direction == "max" else value <= edge)


def _difference(scene: Scene, op: Chunk) -> Iterator[Reading]:
    """`the difference in X between A and B is N`."""
    pairs = [(o.members, o, m) for m in scene.mentions if m.listed == 2 for o in m.options if len(o.members) == 2]
    for members, cond, mention in pairs:
        for chunk in scene.columns:
            for ref in chunk.columns:
                values = ref.column.values()
                if values is None or ref.column is cond.column:
                    continue
                sides = [_only(values, m) for m in members]
                for number in scene.numbers:
                    if number.qty is None or sides[0] is None or sides[1] is None:
                        continue
                    gap = round(abs(sides[0] - sides[1]), 9)
                    sql = f"SELECT {quote(ref.column.name)} FROM {{table}} WHERE {cond.sql}"
                    used = frozenset({op.at, chunk.at, number.at}) | mention.chunks
                    yield Reading(
                        "compare", bears_out(ref.column, number.qty, gap), used, sql,
                        f"{sides[0]} and {sides[1]}, {gap} apart", number.text,
                        Distortion.NUMBER_CHANGED, cond.cost,
                    )  # fmt: skip


def _only(values: Sequence[Number | None], rows: frozenset[int]) -> Number | None:
    found = {v for r in rows if (v := values[r]) is not None}
    return next(iter(found)) if len(found) == 1 else None


def _share_of_sum(scene: Scene) -> Iterator[Reading]:
    """`A accounts for N % of the total X`."""
    for number in (c for c in scene.numbers if c.qty and c.qty.unit == "%"):
        for chunk, ref, cost in scene.near_columns(number.at, after=8, before=8):
            if ref.column.values() is None or ref.column.unit == "%":
                continue
            whole = aggregate(ref.column, scene.body, "sum")
            for selection in scene.combine(scene.mentions):
                part = aggregate(ref.column, selection.rows, "sum")
                if not whole or part is None or not selection.conds or number.qty is None:
                    continue
                share = round(100 * part / whole, 9)
                name = quote(ref.column.name)
                sql = (
                    f"SELECT 100.0 * (SELECT SUM({name}) FROM {{table}}{selection.where}) / SUM({name}) FROM {{table}}"
                )
                used = selection.used | {number.at, chunk.at} | {c.at for c in scene.parse.ops("sum", "all")}
                yield Reading(
                    "share", agrees(number.qty, share), used, sql, f"{share:.1f}%", number.text,
                    Distortion.NUMBER_CHANGED,
                    cost + selection.cost + 0.1,
                )  # fmt: skip
