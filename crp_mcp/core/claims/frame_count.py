"""Counts: `three rows`, `only five X did Y`, `ten out of fourteen`, `four different towns`. One frame of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .bind import ways
from .counted import (
    after_verb,
    among_given,
    counted_by_all,
    counts_subject,
    gives_examples,
    is_measured,
    is_of_a_unit,
    is_own_name,
    is_row_noun,
    names_something,
    noun_of,
    picks_one,
    says_more,
    whole_fits,
    whole_of,
)
from .document import Column
from .lacking import has_none
from .model import Distortion
from .numbers import Quantity, agrees
from .parse import Chunk, names_column
from .reading import Reading
from .rows import quote
from .scene import Cond, Mention, Scene, Selection
from .units import CURRENCIES
from .words import word_list

_NO = Quantity(0, "no", 0, 0)
_BLOCK = frozenset(word_list("max min more less same than avg median twice mostof nearall half fewof not"))


def readings(scene: Scene) -> Iterator[Reading]:
    """Each unbound number as a count of rows, of distinct values, or as part of a whole."""
    if scene.table.kind == "record" or any(
        c.op in _BLOCK and not names_column(c) and c.at not in scene.bound for c in scene.chunks
    ):
        return
    numbers = [c for c in scene.numbers if not (c.when and len(scene.numbers) > 1) and not picks_one(scene, c)]
    for chunk in numbers:
        qty = chunk.qty
        if (
            qty
            and counted_by_all(scene, chunk)
            and not is_of_a_unit(scene, chunk)
            and isinstance(qty.value, int)
            and qty.unit != "%"
            and qty.unit not in CURRENCIES
            and qty.value >= 0
            and qty.compare != "between"
        ):
            yield from _as_count(scene, chunk, qty, [n for n in numbers if n is not chunk])
    if not numbers:
        yield from _worded(scene)


def _worded(scene: Scene) -> Iterator[Reading]:
    """`multiple X`, `no X`."""
    only = bool(scene.parse.ops("only"))
    for chunk in scene.chunks:
        if chunk.op == "multiple" and not only:
            yield from _as_count(scene, chunk, Quantity(1, chunk.text, chunk.start, chunk.end, compare="gt"), [])
        elif chunk.op == "none" and chunk.low in ("no", "none") and chunk.at not in scene.bound:
            noun = scene.chunks[chunk.at + 1] if chunk.at + 1 < len(scene.chunks) else None
            if noun is not None and noun.columns and is_measured(noun) and not is_row_noun(scene, noun):
                yield from has_none(scene, chunk, noun)
            else:
                yield from _as_count(scene, chunk, replace(_NO, literal=chunk.text), [])


def _as_count(scene: Scene, number: Chunk, qty: Quantity, others: Sequence[Chunk]) -> Iterator[Reading]:
    noun, doubt = noun_of(scene, number)
    if noun is None and not counts_subject(scene, number):
        doubt += 0.5
    if scene.table.kind == "list" and (noun is None or not is_row_noun(scene, noun)):
        return
    extra = {number.at} | {c.at for c in scene.chunks if c.op in ("sum", "only", "distinct", "both") and not c.columns}
    if noun is not None:
        extra.add(noun.at)
    loose = noun is None and after_verb(scene, number)
    whole, used_whole = whole_of(scene, number)
    others = [o for o in others if o.at not in used_whole]
    one_of = _one_of(scene, number)
    extra |= used_whole | one_of
    seconds, spent_seconds = _second_counts(scene, others)
    others = [o for o in others if o.at not in spent_seconds]
    extra |= spent_seconds
    bound = [c for c in scene.chunks if c.at in scene.bound and c.at != number.at and not c.when]
    if scene.parse.ops("sum") and any(o.qty and o.qty.compare == "eq" for o in (*others, *bound)):
        return  # a sum is stated beside the count, which is no value of a row
    if number.at + 1 < len(scene.chunks) and scene.chunks[number.at + 1].low in ("together", "combined", "altogether"):
        return  # what they come to
    for filters, told, cost, numbers, named in _filters(scene, number, noun, others, bool(one_of)):
        for selection in scene.combine(filters):
            for conds, used, more in ways(scene, numbers):
                rows = selection.rows
                for cond in conds:
                    rows = rows & cond.rows
                measured = noun is not None and bool(noun.columns) and is_measured(noun)
                if (qty.value > 1 or measured) and any(_names_one(scene, c) for c in selection.conds):
                    continue
                spent = selection.used | used | told | frozenset(extra)
                picked = Selection(rows, (*selection.conds, *conds), spent, selection.cost + more + cost + doubt)
                for reading in _judged(scene, picked, noun, qty, whole):
                    wrong = any(not agrees(q, _distinct(c, picked.rows)) for c, q in seconds)
                    wrong = wrong or not all(_all_among(m, picked.rows) for m in named)
                    unclear = not selection.conds and not conds and says_more(scene, noun)
                    unclear = unclear or any(_is_torn(scene, selection, at) for at in selection.used)
                    holds = None if unclear else False if wrong and reading.holds else reading.holds
                    bare = noun is None and bool(selection.conds) and not names_something(scene, number.at + 1)
                    yield replace(reading, holds=holds, firm=reading.firm and not (loose or bare or unclear))


def _is_torn(scene: Scene, selection: Selection, at: int) -> bool:
    """Whether a word picks rows by a cell, and is what a measure is called too (`it rained`: `rain`, or `rain_mm`).

    The very word of the cell picks rows (`paid`).
    """
    chunk = scene.chunks[at]
    picked = {cond.column.name for cond in selection.conds}
    measured = any(ref.column.is_measure and ref.column.name not in picked for ref in chunk.columns)
    return measured and bool(chunk.values) and not any(cond.text == chunk.low for cond in selection.conds)


def _all_among(mention: Mention, rows: frozenset[int]) -> bool:
    """Whether each name given as an example, or as who they are, is among what was counted."""
    return any(all(part & rows for part in o.members or (o.rows,)) for o in mention.options)


_SLICES = frozenset(("final", "last", "first", "previous", "next", "past", "recent", "opening", "closing", "remaining"))


def _second_counts(scene: Scene, others: Sequence[Chunk]) -> tuple[list[tuple[Column, Quantity]], set[int]]:
    """Other counts of the clause, each of the distinct values of a column (`5 shops in 3 towns`)."""
    found: list[tuple[Column, Quantity]] = []
    spent: set[int] = set()
    for other in others:
        noun = scene.chunks[other.at + 1] if other.at + 1 < len(scene.chunks) else None
        if noun is not None and noun.at not in scene.bound and other.qty is not None:
            columns = [r.column for r in noun.columns if r.quality > 0.7 and not r.column.is_number]
            if len(columns) == 1:
                found.append((columns[0], other.qty))
                spent |= {other.at, noun.at}
    return found, spent


def _distinct(column: Column, rows: frozenset[int]) -> int:
    return sum(1 for cells in column.index.values() if any(r in rows for r in cells))


def _judged(
    scene: Scene, picked: Selection, noun: Chunk | None, qty: Quantity, whole: Quantity | None
) -> Iterator[Reading]:
    if whole is not None and not whole_fits(scene, picked, whole):
        if not any(c.low in _SLICES for c in scene.chunks):
            yield _count(picked, "count-of", False, f"of {scene.table.rows}", whole.literal, 0.3)
        return
    listed = [c for c in picked.conds if len(c.members) > 1]
    if listed and scene.parse.ops("both", "each"):
        yield _each_count(picked, listed[0], qty)
    else:
        yield from _counts(scene, picked, noun, qty)


def _names_one(scene: Scene, cond: Cond) -> bool:
    """Whether a condition names a single row: several of that one row would make no sense."""
    equal = " = " in cond.sql or " IN (" in cond.sql
    return equal and len(cond.rows) == 1 and not cond.column.is_date and cond.column.distinct >= 0.9 * scene.table.rows


def _filters(
    scene: Scene, number: Chunk, noun: Chunk | None, others: Sequence[Chunk], one_of: bool
) -> Iterator[tuple[tuple[Mention, ...], frozenset[int], float, Sequence[Chunk], Sequence[Mention]]]:
    """Which mentions and numbers restrict the count: all; all but the noun's own; none that only give an example.

    Last, the names that must be among what is counted.
    """
    mentions = scene.mentions
    if noun is not None and noun.values and not noun.is_exact and not noun.text[:1].isupper():
        mentions = tuple(m for m in mentions if noun.at not in m.chunks)
    if one_of:
        subject = [m for m in mentions if m.last < number.at]
        rest = tuple(m for m in mentions if m not in subject)
        if subject and _exists(scene, (*subject, *rest), ()):
            yield rest, frozenset().union(*(m.chunks for m in subject)), 0.0, others, ()
        return
    yield mentions, frozenset(), 0.0, others, ()
    if noun is not None and noun.values and (own := [m for m in mentions if _is_common(scene, m, noun)]):
        rest = tuple(m for m in mentions if m not in own)
        yield rest, frozenset((noun.at,)), 0.05, others, ()
    start = next((c.at for c in scene.chunks[number.at + 1 :] if gives_examples(scene, c)), None)
    if start is None:
        return
    kept, told = tuple(m for m in mentions if m.first < start), [m for m in mentions if m.first >= start]
    stated = [n for n in others if n.at > start]
    if told and _exists(scene, told, stated):
        beside = {c.at for c in scene.columns if c.at > start}
        spent = frozenset(beside | {n.at for n in stated}).union(*(m.chunks for m in told))
        named = [m for m in told if m.listed > 1 or among_given(scene, m)]
        yield kept, spent, 0.02, [n for n in others if n.at < start], named


def _is_common(scene: Scene, mention: Mention, noun: Chunk) -> bool:
    """Whether a noun stands in cells by the way, or in most of them: then it may just be what the rows are called."""
    common = not noun.is_exact or any(len(o.rows) >= 0.6 * len(scene.body) for o in mention.options)
    return noun.at in mention.chunks and common


def _exists(scene: Scene, mentions: Sequence[Mention], numbers: Sequence[Chunk]) -> bool:
    """Whether some row meets all of it."""
    return any(
        s.rows.intersection(*(c.rows for c in conds))
        for s in scene.combine(mentions)
        for conds, _, _ in ways(scene, numbers)
    )


def _one_of(scene: Scene, number: Chunk) -> set[int]:
    """`one of four X`: the chunk of `one`, when `number` is the four."""
    before = scene.chunks[max(0, number.at - 3) : number.at]
    for i, chunk in enumerate(before):
        if chunk.qty and chunk.qty.value == 1 and any(c.low == "of" for c in before[i:]):
            return {chunk.at}
    return set()


def _counts(scene: Scene, picked: Selection, noun: Chunk | None, qty: Quantity) -> Iterator[Reading]:
    """Distinct values of the noun's column where it has several rows a value, and the rows themselves."""
    apart = any(c.op == "distinct" for c in scene.chunks)
    columns = [r.column for r in noun.columns] if noun else []
    if apart and not columns:
        columns = [r.column for c in scene.columns for r in c.columns]
    distinct = [c for c in columns if c not in picked.columns and (apart or not c.is_measure)]
    repeated = False
    for column in distinct:
        count = sum(1 for found in column.index.values() if any(r in picked.rows for r in found))
        repeated = repeated or count < len(picked.rows)
        sql = f"SELECT COUNT(DISTINCT {quote(column.name)}) FROM {{table}}{picked.where}"
        yield Reading(
            "count-distinct",
            None if column.is_listed else agrees(qty, count),
            picked.used | {c.at for c in scene.columns if any(r.column is column for r in c.columns)},
            sql,
            str(count),
            qty.literal,
            _kind(qty, count),
            picked.cost + 0.02,
        )
    if apart and distinct:
        return
    doubt = 0.3 if repeated and noun and not is_row_noun(scene, noun) and is_own_name(noun) else 0.0
    holds = None if scene.table.partial and not picked.conds else agrees(qty, len(picked.rows))
    if not holds and noun is not None and noun.values and noun.text.islower() and agrees(qty, len(scene.body)):
        holds = None  # what every row is called may be a cell of some
    yield _count(picked, "count", holds, str(len(picked.rows)), qty.literal, doubt, _kind(qty, len(picked.rows)))


def _each_count(picked: Selection, listed: Cond, qty: Quantity) -> Reading:
    """`both A and B have two`: each of them."""
    counts = [len(picked.rows & m) for m in listed.members]
    results = [agrees(qty, n) for n in counts]
    holds = all(results) if None not in results else None
    return _count(picked, "count-each", holds, " and ".join(map(str, counts)), qty.literal, 0.0)


def _count(
    picked: Selection,
    frame: str,
    holds: bool | None,
    found: str,
    stated: str,
    more: float,
    kind: Distortion = Distortion.NUMBER_CHANGED,
) -> Reading:
    sql = f"SELECT COUNT(*) FROM {{table}}{picked.where}"
    return Reading(frame, holds, picked.used, sql, found, stated, kind, picked.cost + more)


def _kind(qty: Quantity, found: int) -> Distortion:
    return Distortion.NEGATION_FLIP if (qty.value == 0) != (found == 0) else Distortion.NUMBER_CHANGED
