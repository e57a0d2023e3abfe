"""Sums that a clause implies (`in May, 90 units were sold`): so many of a measure, over several rows. Supports only."""

from __future__ import annotations

from collections.abc import Iterator

from .counted import noun_of
from .frame_aggregate import aggregate, show
from .model import Distortion
from .numbers import agrees
from .reading import Reading
from .rows import bears_out, quote
from .scene import Scene
from .words import stem


def readings(scene: Scene) -> Iterator[Reading]:
    """A number right before the plural of a measure, with something that picks several rows, and no operation."""
    if scene.table.kind == "rows" and scene.parse.ops("sum"):
        yield from _made_up(scene)
    if scene.table.kind != "rows" or len(scene.numbers) != 1 or any(c.op for c in scene.chunks):
        return
    number = scene.numbers[0]
    noun = scene.chunks[number.at + 1] if number.at + 1 < len(scene.chunks) else None
    if number.qty is None or number.qty.compare != "eq" or noun is None or not noun.low.endswith("s"):
        return
    for ref in noun.columns:
        if ref.quality < 0.9 or not ref.column.is_measure:
            continue
        for selection in scene.combine(scene.mentions):
            found = aggregate(ref.column, selection.rows, "sum")
            if not selection.conds or len(selection.rows) < 2 or found is None:
                continue
            holds = bears_out(ref.column, number.qty, found) or None
            sql = f"SELECT SUM({quote(ref.column.name)}) FROM {{table}}{selection.where}"
            used = selection.used | {number.at, noun.at} | _what_was_done(scene)
            kind = Distortion.NUMBER_CHANGED
            yield Reading("sum", holds, used, sql, show(found), number.text, kind, 0.1 + selection.cost, firm=False)


def _what_was_done(scene: Scene) -> set[int]:
    """The verb of a sum (`were sold`), which needs no counterpart."""
    return {c.at for c in scene.chunks[1:] if c.is_content and scene.chunks[c.at - 1].low in ("was", "were")}


_OF_MANY = frozenset(stem(w) for w in ("count", "counts", "headcount", "number", "num", "total", "quantity", "qty"))
"""What a column is called that says how many of something each row stands for."""


def _made_up(scene: Scene) -> Iterator[Reading]:
    """`105 people in total` over rows that each count some of them: their sum."""
    for column in (c for c in scene.table.columns if c.is_measure and set(c.words) & _OF_MANY):
        for number in scene.numbers:
            for selection in scene.combine(scene.mentions):
                found = aggregate(column, selection.rows, "sum")
                if number.qty is None or found is None or len(selection.rows) < 2 or not agrees(number.qty, found):
                    continue
                noun = noun_of(scene, number)[0]
                used = selection.used | {number.at, *(c.at for c in scene.parse.ops("sum"))}
                used |= set() if noun is None else {noun.at}
                sql = f"SELECT SUM({quote(column.name)}) FROM {{table}}{selection.where}"
                kind = Distortion.NUMBER_CHANGED
                yield Reading("sum", True, used, sql, str(found), number.text, kind, 0.15 + selection.cost, firm=False)
