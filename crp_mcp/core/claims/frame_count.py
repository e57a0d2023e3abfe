"""Counts: `three rows`, `only five X did Y`, `ten out of fourteen`, `four different countries`. One frame of several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .document import Column
from .lexicon import REPORT, ROW_NOUNS
from .model import Distortion
from .numbers import Quantity, agrees
from .parse import Chunk
from .reading import Reading
from .scene import Scene, Selection, quote

_NONE = Quantity(0, "no", 0, 0)
_FEW = frozenset(("max", "min", "more", "less", "same", "than", "avg", "median", "twice", "mostof", "half", "fewof"))


def readings(scene: Scene) -> Iterator[Reading]:
    """Each unbound number as a count of rows, of distinct values, or as part of a whole."""
    if scene.table.kind == "record" or any(c.op in _FEW and not c.columns for c in scene.chunks):
        return
    for chunk in scene.numbers:
        if chunk.qty and isinstance(chunk.qty.value, int) and chunk.qty.unit in ("", "kg", "m", "s", "B") and chunk.qty.value >= 0:
            yield from _as_count(scene, chunk, chunk.qty)
    for chunk in scene.parse.ops("multiple"):
        if not any(c.qty for c in scene.numbers):
            yield from _as_count(scene, chunk, Quantity(1, chunk.text, chunk.start, chunk.end, compare="gt"))
    for chunk in scene.parse.ops("none"):
        if not scene.numbers and chunk.low in ("no", "none"):
            yield from _as_count(scene, chunk, replace(_NONE, literal=chunk.text))


def _as_count(scene: Scene, number: Chunk, qty: Quantity) -> Iterator[Reading]:
    noun, noun_cost = _noun(scene, number)
    extra = {c.at for c in scene.chunks if c.op in ("sum", "only", "distinct", "both") and not c.columns}
    if noun is not None:
        extra.add(noun.at)
    whole, used_whole = _whole(scene, number)
    if whole is not None:
        extra |= used_whole
    for selection in scene.combine(scene.mentions):
        used = selection.used | extra | {number.at}
        stated = qty.literal
        if whole is not None and not _whole_fits(scene, selection, whole):
            yield _reading(scene, "count-of", False, used, selection, f"of {scene.table.rows}", whole.literal, selection.cost + 0.3)
        columns = [r.column for r in noun.columns] if noun and noun.columns else []
        distinct = [c for c in columns if c not in selection.columns and _countable(scene, c)]
        cost = selection.cost + noun_cost
        for column in distinct:
            count = _distinct(column, selection.rows)
            holds = agrees(qty, count)
            sql = f"SELECT COUNT(DISTINCT {quote(column.name)}) FROM {{table}}{selection.where}"
            yield Reading("count-distinct", holds, used, sql, str(count), stated, _kind(qty, count), cost + 0.02)
        if any(c.op == "distinct" for c in scene.chunks) and distinct:
            continue
        if scene.table.partial and not selection.conds:
            yield _reading(scene, "count", None, used, selection, str(len(selection.rows)), stated, cost, qty)
            continue
        holds = agrees(qty, len(selection.rows))
        yield _reading(scene, "count", holds, used, selection, str(len(selection.rows)), stated, cost, qty)


def _reading(
    scene: Scene, frame: str, holds: bool | None, used: frozenset[int] | set[int], selection: Selection, found: str, stated: str, cost: float,
    qty: Quantity | None = None,
) -> Reading:  # fmt: skip
    sql = f"SELECT COUNT(*) FROM {{table}}{selection.where}"
    kind = _kind(qty, len(selection.rows)) if qty else Distortion.NUMBER_CHANGED
    return Reading(frame, holds, frozenset(used), sql, found, stated, kind, cost)


def _kind(qty: Quantity, found: int) -> Distortion:
    if (qty.value == 0) != (found == 0):
        return Distortion.NEGATION_FLIP
    return Distortion.NUMBER_CHANGED


def _distinct(column: Column, rows: frozenset[int]) -> int:
    return sum(1 for found in column.index.values() if any(r in rows for r in found))


def _countable(scene: Scene, column: Column) -> bool:
    return not column.is_number or column.is_date


def _noun(scene: Scene, number: Chunk) -> tuple[Chunk | None, float]:
    """The noun a count counts, and how doubtful it is that rows (or its column's values) are meant."""
    for chunk in scene.chunks[number.at + 1 : number.at + 5]:
        if chunk.op in ("sum", "only", "distinct") and not chunk.columns:
            continue
        if chunk.columns and chunk.at not in scene.bound:
            numeric = all(r.column.is_number and not r.column.is_date for r in chunk.columns)
            return chunk, 0.6 if numeric and not _row_noun(scene, chunk) else 0.0
        if chunk.values:
            return None, 0.0
        if chunk.is_plain and chunk.words[0].low[0].isalpha() and chunk.low not in ("of", "the", "out", "different", "other", "a", "an", "such", "total"):
            if _row_noun(scene, chunk):
                return chunk, 0.0
            if chunk.is_content:
                following = scene.chunks[chunk.at + 1] if chunk.at + 1 < len(scene.chunks) else None
                if following and (following.columns or following.values or following.is_content):
                    continue
                return chunk, 0.35
            if chunk.low in ("in", "on", "at", "with", "for", "that", "to", "from", "by", "where", "have", "has", "had", "are", "is", "were", "was"):
                return None, 0.1
    return None, 0.3


def _row_noun(scene: Scene, chunk: Chunk) -> bool:
    return chunk.words[0].stem in ROW_NOUNS or chunk.words[0].stem in scene.table.nouns or chunk.words[0].stem in scene.parse.context


def _whole(scene: Scene, number: Chunk) -> tuple[Quantity | None, set[int]]:
    """`N of M`, `N out of M`, `N of the M`: the second number."""
    after = scene.chunks[number.at + 1 : number.at + 7]
    for i, chunk in enumerate(after):
        if chunk.qty and any(c.low == "of" for c in after[:i]):
            return chunk.qty, {chunk.at}
        if chunk.low not in ("out", "of", "the", "all", "their", "its", "a", "total", "'", "s", "cav", "this", "these", "last", "final") and not chunk.is_content:
            break
    return None, set()


def _whole_fits(scene: Scene, selection: Selection, whole: Quantity) -> bool:
    sizes = {len(scene.body), scene.table.total or -1}
    for cond in selection.conds:
        sizes.add(len(scene.body & cond.rows))
    return any(agrees(whole, size) for size in sizes)


def reports(scene: Scene) -> bool:
    """Whether the clause speaks of how many there are at all (`returned`, `there are`, `I found`)."""
    return any(c.words[0].stem in REPORT for c in scene.chunks)
