"""Comparisons of two things: more than, as many as, the same, N more, before and after. One frame of several."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from .compared import judge_pair
from .document import Column
from .frame_aggregate import Held, aggregate, order_values, ordered
from .link import ColumnRef
from .model import Distortion
from .parse import Chunk, attribute_columns
from .reading import Reading
from .rows import quote
from .scene import Cond, Mention, Scene


def readings(scene: Scene) -> Iterator[Reading]:
    """Two mentions compared in a column or by their rows; two columns compared in a row."""
    op = _operator(scene)
    if op is None or scene.parse.ops("only") or any(c.low in ("any", "every") for c in scene.chunks if c.at > op.at):
        return
    if len(scene.mentions) == 1 and scene.mentions[0].listed == 2:
        yield from _listed(scene, op)
    for left, right, filters in _sides(scene, op):
        yield from _in_column(scene, op, left, right, filters)
        yield from _by_rows(scene, op, left, right, filters)
    yield from _between_columns(scene, op)


def _operator(scene: Scene) -> Chunk | None:
    found = [
        c
        for c in scene.chunks
        if c.op in ("more", "less", "same", "before", "after", "twice") and not (c.columns and c.op == "same")
    ]
    strong = [c for c in found if c.op in ("more", "less", "twice")]
    if strong and not scene.parse.ops("than") and strong[0].op != "twice":
        strong = [c for c in strong if len(scene.mentions) == 2]
    twice = [c for c in found if c.op == "twice"]
    return next(iter(twice or strong or found), None)


def _pivot(scene: Scene, op: Chunk) -> int:
    than = [c.at for c in scene.parse.ops("than")]
    if than:
        return than[0]
    if op.op in ("before", "after"):
        return op.at
    as_words = [c.at for c in scene.chunks if c.low == "as" and c.at > op.at]
    return as_words[0] if as_words else op.at


def _sides(scene: Scene, op: Chunk) -> Iterator[tuple[Mention, Mention, tuple[Mention, ...]]]:
    """The two things compared, nearest to the word between them; what else is mentioned filters both."""
    pivot = _pivot(scene, op)
    before = [m for m in scene.mentions if m.last < pivot]
    after = [m for m in scene.mentions if m.first > pivot]
    if not after or not before:
        if len(scene.mentions) == 2 and op.op == "same":
            yield scene.mentions[0], scene.mentions[1], ()
        return
    for left in before:
        right = after[0]
        rest = tuple(m for m in scene.mentions if m is not left and m is not right)
        if {o.column for o in left.options} & {o.column for o in right.options}:
            yield left, right, rest


def _pairs(left: Mention, right: Mention) -> Iterator[tuple[Cond, Cond]]:
    for a, b in product(left.options, right.options):
        if a.column is b.column:
            yield a, b


def _targets(scene: Scene, op: Chunk) -> list[tuple[ColumnRef, frozenset[int], float]]:
    out = []
    for chunk, ref, cost in scene.near_columns(op.at, after=5, before=12):
        if ordered(ref.column) and not ref.column.is_serial:
            same = frozenset(c.at for c in scene.columns if any(r.column is ref.column for r in c.columns))
            out.append((ref, same | {chunk.at}, cost))
    implied = attribute_columns(scene.table, op.words[-1].stem) if not op.columns else list(op.columns)
    out += [(r, frozenset((op.at,)), 0.1) for r in implied if ordered(r.column)]
    measures = [c for c in scene.table.columns if c.is_measure]
    if op.low in ("more", "less") and not out and not implied and len(measures) == 1 and scene.parse.ops("than"):
        out.append((ColumnRef(measures[0], 0.6), frozenset((op.at,)), 0.25))
    if op.op in ("before", "after") and not out:
        out += [(ColumnRef(c, 0.6), frozenset((op.at,)), 0.2) for c in scene.table.columns if c.is_date]
    return sorted(out, key=lambda o: o[2])[:4]


def _in_column(
    scene: Scene, op: Chunk, left: Mention, right: Mention, filters: tuple[Mention, ...]
) -> Iterator[Reading]:
    for ref, named, cost in _targets(scene, op):
        for (a, b), selection in product(_pairs(left, right), scene.combine(filters)):
            if ref.column is a.column:
                continue
            x = _figure(scene, ref.column, a.rows & selection.rows)
            y = _figure(scene, ref.column, b.rows & selection.rows)
            if x is None or y is None:
                continue
            used = left.chunks | right.chunks | selection.used | named | _aggregated(scene)
            name = quote(ref.column.name)
            sql = f"SELECT {name} FROM {{table}} WHERE {a.sql} OR {b.sql}"
            yield from judge_pair(scene, op, ref.column, x, y, used, sql, cost + a.cost + b.cost + selection.cost)


def _value(column: Column, rows: frozenset[int]) -> Held | None:
    """The one value rows have in a column; None when there are none or several."""
    values = {repr(v): v for r in rows if (v := order_values(column)[r]) is not None}
    return next(iter(values.values())) if len(values) == 1 else None


def _aggregated(scene: Scene) -> frozenset[int]:
    """The word by which the figures of several rows are compared (`average`), where there is one."""
    found = scene.parse.ops("avg", "sum", "median")
    return frozenset((found[0].at,)) if len(found) == 1 else frozenset()


def _figure(scene: Scene, column: Column, rows: frozenset[int]) -> Held | None:
    """What rows come to in a column: the aggregate that the clause names, else their one value."""
    found = scene.parse.ops("avg", "sum", "median")
    if len(found) == 1 and column.is_measure and not found[0].columns:
        return aggregate(column, rows, found[0].op)
    return _value(column, rows)


_OF_NUMBER = frozenset(("more", "less", "fewer"))
"""Comparatives of how many there are; `better` and `larger` are of something else."""


def _by_rows(scene: Scene, op: Chunk, left: Mention, right: Mention, filters: tuple[Mention, ...]) -> Iterator[Reading]:
    """`more games in A than in B`: how many rows each has."""
    after = scene.chunks[op.at + 1].low if op.at + 1 < len(scene.chunks) else ""
    counts = op.low in _OF_NUMBER or (
        op.low in ("higher", "lower", "greater", "larger", "smaller") and after == "number"
    )
    if after == "than" and op.op in ("more", "less"):
        return  # of what the verb says, not of how many rows there are
    if op.op not in ("more", "less", "same", "twice") or (op.op in ("more", "less") and not counts):
        return
    numeric = [c for c in scene.columns if 0 < c.at - op.at <= 2 and any(r.column.is_measure for r in c.columns)]
    nouns = frozenset(c.at for c in scene.columns if not any(r.column.is_measure for r in c.columns) or c in numeric)
    nouns |= {c.at for c in scene.chunks[op.at + 1 : op.at + 2] if c.is_content}
    for (a, b), selection in product(_pairs(left, right), scene.combine(filters)):
        x, y = len(a.rows & selection.rows), len(b.rows & selection.rows)
        if not x or not y:
            continue
        used = left.chunks | right.chunks | selection.used | nouns
        name = quote(a.column.name)
        sql = f"SELECT {name}, COUNT(*) FROM {{table}} WHERE {a.sql} OR {b.sql} GROUP BY {name}"
        unique = x <= 1 and y <= 1
        cost = 0.15 + a.cost + b.cost + selection.cost + (1.0 if unique else 0.0) + (0.4 if numeric else 0.0)
        yield from judge_pair(scene, op, a.column, x, y, used, sql, cost)


def _between_columns(scene: Scene, op: Chunk) -> Iterator[Reading]:
    """`A has more X than Y`: two columns of the same rows."""
    pivot = _pivot(scene, op)
    first = [c for c in scene.columns if c.at < pivot]
    second = [c for c in scene.columns if c.at > pivot]
    if not first or not second:
        return
    yield from _by_place(scene, op, first[-1], second[0])
    for a, b in product(first[-1].columns, second[0].columns):
        if a.column is b.column or a.column.values() is None or b.column.values() is None:
            continue
        for selection in scene.combine(scene.mentions):
            x, y = _value(a.column, selection.rows), _value(b.column, selection.rows)
            if x is not None and y is not None:
                used = selection.used | {first[-1].at, second[0].at}
                sql = f"SELECT {quote(a.column.name)}, {quote(b.column.name)} FROM {{table}}{selection.where}"
                yield from judge_pair(scene, op, a.column, x, y, used, sql, 0.1 + selection.cost)


def _by_place(scene: Scene, op: Chunk, first: Chunk, second: Chunk) -> Iterator[Reading]:
    """`X has more home games than away games`: in how many rows X stands in the one column, and in the other."""
    for a, b in product(first.columns, second.columns):
        for mention in scene.mentions:
            here = next((o for o in mention.options if o.column is a.column), None)
            there = next((o for o in mention.options if o.column is b.column), None)
            if here is None or there is None or a.column is b.column:
                continue
            rest = tuple(m for m in scene.mentions if m is not mention)
            for selection in scene.combine(rest):
                x, y = len(here.rows & selection.rows), len(there.rows & selection.rows)
                used = selection.used | mention.chunks | {first.at, second.at}
                used |= {c.at for c in scene.chunks if c.is_content and c.at - 1 in (first.at, second.at)}
                sql = f"SELECT SUM({here.sql}), SUM({there.sql}) FROM {{table}}{selection.where}"
                yield from judge_pair(scene, op, a.column, x, y, used, sql, 0.1 + selection.cost)


def _listed(scene: Scene, op: Chunk) -> Iterator[Reading]:
    """`A and B have the same X`."""
    if op.op != "same":
        return
    mention = scene.mentions[0]
    if any(c.low in ("number", "amount", "many", "count") for c in scene.chunks[op.at : op.at + 3]):
        yield from _same_counts(scene, op, mention)
        return
    for ref, named, cost in _targets(scene, op) + [
        (r, frozenset((c.at,)), 0.2) for c in scene.columns for r in c.columns
    ]:
        for cond in mention.options:
            if len(cond.members) != 2 or ref.column is cond.column:
                continue
            cells = [{ref.column.texts[r].strip().lower() for r in m} for m in cond.members]
            if any(len(c) != 1 for c in cells):
                continue
            sql = f"SELECT {quote(ref.column.name)} FROM {{table}} WHERE {cond.sql}"
            same = cells[0] == cells[1]
            used = mention.chunks | named | {op.at} | scene.nots
            yield Reading(
                "same",
                same != scene.negated,
                used,
                sql,
                f"{cells[0]} and {cells[1]}",
                "the same",
                Distortion.NUMBER_CHANGED,
                cost + cond.cost,
            )


def _same_counts(scene: Scene, op: Chunk, mention: Mention) -> Iterator[Reading]:
    """`A and B have the same number of X`: rows of each, or a number each has."""
    numeric = [r for c in scene.columns if c.at > op.at for r in c.columns if r.column.is_measure]
    nouns = frozenset(c.at for c in scene.columns if c.at > op.at)
    for cond in mention.options:
        sizes: list[Held | None] = [len(m & scene.body) for m in cond.members]
        if numeric:
            sizes = [_value(numeric[0].column, m) for m in cond.members]
        if len(sizes) != 2 or None in sizes:
            continue
        used = mention.chunks | nouns | {op.at} | scene.nots
        name = quote(numeric[0].column.name) if numeric else "COUNT(*)"
        sql = f"SELECT {name} FROM {{table}} WHERE {cond.sql} GROUP BY {quote(cond.column.name)}"
        found = " and ".join(str(x) for x in sizes)
        holds = (sizes[0] == sizes[1]) != scene.negated
        yield Reading("same", holds, used, sql, found, "the same number", Distortion.NUMBER_CHANGED, cond.cost)
