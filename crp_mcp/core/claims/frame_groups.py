"""Extremes among groups of rows: by how many there are, or by a sum or average of a measure. One frame of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from .document import Column
from .frame_aggregate import AGGREGATES, aggregate, of_all, show
from .lexicon import ATTRIBUTES
from .model import Distortion
from .numbers import Number, agrees
from .parse import Chunk
from .reading import Reading
from .rows import bears_out, quote
from .scene import Cond, Mention, Scene, Selection
from .words import word_list

MOST_GROUPS = 2000
_BY_SIZE = frozenset(word_list("largest biggest smallest top busiest common frequent active"))
"""Superlatives that may be of how many rows a group has."""


@dataclass(frozen=True, eq=False)
class _Ranking:
    """Each group's figure, the best of them, and what computes it."""

    figures: dict[tuple[str, ...], Number]
    best: Number
    sql: str
    measure: Column | None
    used: frozenset[int]
    cost: float


def readings(scene: Scene) -> Iterator[Reading]:
    """`X has the highest average Y`, `X is the largest Z with N rows`."""
    if scene.table.kind != "rows" or scene.parse.ops("than", "more", "less", "only", "none", "range"):
        return
    ops = scene.parse.ops("max", "min")
    if len(ops) != 1 or (ops[0].at and scene.chunks[ops[0].at - 1].ordinal):
        return
    for subject in scene.mentions:
        if subject.listed > 1 or subject.negated:
            continue
        for cond in subject.options:
            column = cond.column
            if column.is_number or column.is_date or not 2 <= column.distinct <= MOST_GROUPS or column.is_listed:
                continue
            if column.distinct <= 0.7 * scene.table.rows:
                yield from _among(scene, ops[0], subject, cond)


def _among(scene: Scene, op: Chunk, subject: Mention, cond: Cond) -> Iterator[Reading]:
    for selection in scene.combine(m for m in scene.mentions if m is not subject):
        if cond.column in selection.columns:
            continue
        for ranking in _rankings(scene, op, cond.column, selection):
            mine = next((v for k, v in ranking.figures.items() if set(cond.column.index[k]) <= set(cond.rows)), None)
            if mine is None:
                continue
            holds: bool | None = mine == ranking.best
            spent = ranking.used | of_all(scene) | selection.used | subject.chunks | {op.at} | scene.nots
            for number in scene.numbers:
                fits, beside = _fits(scene, number, ranking, mine, cond.rows & selection.rows)
                if fits is not True:
                    holds = False if fits is False and holds is not None else None
                spent |= {number.at} | beside
            yield Reading(
                "group-extreme", None if holds is None else holds != scene.negated, spent, ranking.sql,
                f"{_holders(cond.column, ranking)} ({show(ranking.best)})", f"{cond.text} ({show(mine)})",
                Distortion.ENTITY_SUBSTITUTED, ranking.cost + cond.cost + selection.cost,
            )  # fmt: skip


def _holders(column: Column, ranking: _Ranking) -> str:
    held = [k for k, v in ranking.figures.items() if v == ranking.best]
    return ", ".join(column.texts[column.index[k][0]] for k in held[:3])


def _rankings(scene: Scene, op: Chunk, column: Column, selection: Selection) -> Iterator[_Ranking]:
    """By an aggregate that is named; by how many rows, where the superlative is of the group itself."""
    groups = {k: frozenset(rows) & selection.rows for k, rows in column.index.items()}
    groups = {k: rows for k, rows in groups.items() if rows}
    if len(groups) < 2:
        return
    nouns = frozenset(c.at for c in scene.columns if any(r.column is column for r in c.columns))
    order = "DESC" if op.op == "max" else "ASC"
    by = f"FROM {{table}}{selection.where} GROUP BY {quote(column.name)} ORDER BY 2 {order} LIMIT 1"
    hows = scene.parse.ops("avg", "sum", "median")
    for how in hows if len(hows) == 1 else ():
        for chunk, ref, cost in _measures(scene, op, how):
            figures = {k: v for k, rows in groups.items() if (v := aggregate(ref, rows, how.op)) is not None}
            if len(figures) < 2:
                continue
            sql = f"SELECT {quote(column.name)}, {AGGREGATES[how.op]}({quote(ref.name)}) {by}"
            yield _Ranking(figures, _edge(figures, op), sql, ref, nouns | {how.at} | chunk, cost)
    if not hows and _of_the_group(scene, op, column):
        sizes: dict[tuple[str, ...], Number] = {k: len(rows) for k, rows in groups.items()}
        sql = f"SELECT {quote(column.name)}, COUNT(*) {by}"
        yield _Ranking(sizes, _edge(sizes, op), sql, None, nouns, 0.1)


def _edge(figures: dict[tuple[str, ...], Number], op: Chunk) -> Number:
    return max(figures.values()) if op.op == "max" else min(figures.values())


def _measures(scene: Scene, op: Chunk, how: Chunk) -> Iterator[tuple[frozenset[int], Column, float]]:
    """The measure that an aggregate is of: named near it, or the one that the superlative is of."""
    found = [n for n in scene.near_columns(how.at, after=4, before=6) if n[1].column.is_measure]
    for chunk, ref, cost in found[:3]:
        yield frozenset((chunk.at,)), ref.column, cost
    if found:
        return
    for ref in how.columns:
        if ref.column.is_measure and len(how.columns) == 1:
            yield frozenset((how.at,)), ref.column, 0.1
            return
    wanted = [w.stem for c in scene.chunks[how.at + 1 : how.at + 3] for w in c.words if w.stem in ATTRIBUTES]
    implied = [c for c in scene.table.columns if c.is_measure and any(ATTRIBUTES[w] & set(c.words) for w in wanted)]
    if len(implied) == 1:
        yield frozenset((how.at + 1,)), implied[0], 0.2


def _of_the_group(scene: Scene, op: Chunk, column: Column) -> bool:
    """Whether a superlative stands before the group column's own name (`the largest department`)."""
    after = [c for c in scene.chunks[op.at + 1 : op.at + 3] if any(r.column is column for r in c.columns)]
    said = {op.low, scene.chunks[op.at + 1].low} if op.at + 1 < len(scene.chunks) else {op.low}
    return bool(said & _BY_SIZE) and bool(after)


def _fits(
    scene: Scene, number: Chunk, ranking: _Ranking, mine: Number, rows: frozenset[int]
) -> tuple[bool | None, frozenset[int]]:
    """Whether a number of the clause is the group's figure, or how many rows it has, by the noun that follows."""
    qty = number.qty
    if qty is None:
        return None, frozenset()
    following = scene.chunks[number.at + 1] if number.at + 1 < len(scene.chunks) else None
    counts = isinstance(qty.value, int) and not qty.unit and following is not None and following.words[0].is_word
    size = agrees(qty, len(rows)) if counts else False
    figure = agrees(qty, mine) if ranking.measure is None else bears_out(ranking.measure, qty, _round(mine))
    beside = frozenset((following.at,)) if counts and following is not None and following.is_plain else frozenset()
    if size or figure:
        return True, beside
    return (None if None in (size, figure) else False), beside


def _round(value: Number) -> Number:
    return round(value, 9) if isinstance(value, float) else value


_NOUN_AFTER = 3


def most_rows(scene: Scene, op: Chunk, direction: str, extra: frozenset[int]) -> Iterator[Reading]:
    """`X has the most rows`: the value of a column that occurs most often."""
    for i, subject in enumerate(scene.mentions):
        for cond in subject.options:
            for selection in scene.combine(scene.mentions[:i] + scene.mentions[i + 1 :]):
                counts = Counter(
                    {k: n for k, found in cond.column.index.items() if (n := sum(r in selection.rows for r in found))}
                )
                if len(counts) < 2 or max(counts.values()) < 2:
                    continue
                mine = len(cond.rows & selection.rows)
                best = max(counts.values()) if direction == "max" else min(counts.values())
                name = quote(cond.column.name)
                order = "DESC" if direction == "max" else "ASC"
                by = f"FROM {{table}}{selection.where} GROUP BY {name} ORDER BY 2 {order} LIMIT 1"
                sql = f"SELECT {name}, COUNT(*) {by}"
                used = selection.used | subject.chunks | extra | _row_noun_after(scene, op) | {op.at}
                yield Reading(
                    "most-rows", (mine == best) != scene.negated, used, sql, f"{best}", f"{mine}",
                    Distortion.ENTITY_SUBSTITUTED, 0.25 + cond.cost + selection.cost,
                )  # fmt: skip


def _row_noun_after(scene: Scene, op: Chunk) -> frozenset[int]:
    return frozenset(
        c.at
        for c in scene.chunks[op.at + 1 : op.at + _NOUN_AFTER]
        if c.columns and not any(r.column.is_number for r in c.columns)
    )
