"""Extremes and aggregates: who has the most, what the highest is, averages, totals, ranges. One frame of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .bind import options
from .compared import TAKES_TIME
from .dates import When
from .document import Column
from .extremes import extreme_rows
from .frame_aggregate import AGGREGATES, LOW_IS_GOOD, Held, aggregates, ranges, ranges_by_between, show, targets
from .frame_groups import most_rows
from .model import Distortion
from .numbers import Number, Quantity, agrees
from .parse import Chunk
from .reading import Reading
from .roles import beside_them, describes, roles
from .rows import bears_out, number_rows, quote
from .scene import Cond, Mention, Scene, Selection
from .versions import Version
from .words import stem, word_list


def readings(scene: Scene) -> Iterator[Reading]:
    """Superlatives with or without who holds them, and aggregates with their value."""
    if scene.table.kind == "record":
        return
    if any(c.op in ("than", "more", "less", "only") and not c.columns for c in scene.chunks) and not _than_any(scene):
        return
    for chunk in scene.chunks:
        if chunk.op in ("max", "min") and (few(scene, chunk) or (chunk.at and scene.chunks[chunk.at - 1].ordinal)):
            continue
        if chunk.op in ("max", "min") and not bare_most(scene, chunk):
            yield from _superlative(scene, chunk, chunk.op)
        elif chunk.op in ("more", "less") and _than_any(scene):
            yield from _superlative(scene, chunk, "max" if chunk.op == "more" else "min")
        elif chunk.op in ("avg", "sum", "median"):
            yield from aggregates(scene, chunk)
        elif chunk.op == "range":
            yield from ranges(scene, chunk)
    if not any(c.op for c in scene.chunks if c.op not in ("sum", "not", "both")):
        yield from ranges_by_between(scene)


def few(scene: Scene, op: Chunk) -> Chunk | None:
    """The number of `the top 3`, `the two youngest`: how many share the extreme."""
    noun = scene.chunks[max(0, op.at - 5) : op.at]
    ahead = [c.at for c in noun if c.qty] if any(c.low in ("with", "having") for c in noun) else []
    for at in (op.at + 1, op.at - 1, *ahead):
        chunk = scene.chunks[at] if 0 <= at < len(scene.chunks) else None
        if chunk is None or chunk.qty is None or not isinstance(chunk.qty.value, int) or chunk.qty.value < 2:
            continue
        lead = scene.chunks[at - 1].low if at else ""
        plain = not chunk.qty.unit and chunk.qty.compare == "eq"
        told = op.low in _FEW if at > op.at else lead in ("", "the", "these", "its", "their")
        if plain and told:
            return chunk
    return None


_FEW = frozenset(
    word_list(
        """top best worst latest newest oldest earliest highest lowest largest biggest smallest fastest slowest
        cheapest"""
    )
) | {"most recent", "most expensive"}


def bare_most(scene: Scene, op: Chunk) -> bool:
    """A bare `most` before its noun: more than half of them (`the most` is another thing)."""
    lead = scene.chunks[op.at - 1].low if op.at else ""
    return op.low == "most" and lead not in ("the", "has", "have", "had", "'s", "is", "was")


def _than_any(scene: Scene) -> frozenset[int]:
    """`than any other X`, `of all`: words that make a comparative a superlative."""
    for chunk in scene.parse.ops("than"):
        after = scene.chunks[chunk.at + 1 : chunk.at + 4]
        if any(c.low in ("any", "every", "all", "everyone") for c in after):
            end = next((c.at for c in after if c.columns), after[-1].at if after else chunk.at)
            return frozenset(range(chunk.at, end + 1)) | frozenset(
                c.at for c in scene.chunks[chunk.at : chunk.at + 6] if c.columns or c.low == "other" or c.is_content
            )
    return frozenset()


_BETTER_LOW = TAKES_TIME | {stem(w) for w in word_list("error failure loss defect delay complaint crash bug downtime")}
"""What a column is called of which less is better."""


def directions(column: Column, op: Chunk, direction: str) -> list[str]:
    """Where less is better, `best` is the smallest; `highest` rank may be either."""
    if op.low in ("fastest", "slowest", "quickest") and set(column.words) & TAKES_TIME:
        return ["min" if op.low != "slowest" else "max"]
    if op.low in ("oldest", "youngest") and column.is_date:
        return ["min" if direction == "max" else "max"]
    if set(column.words) & LOW_IS_GOOD and column.is_number and not column.is_date:
        flipped = "min" if direction == "max" else "max"
        return [flipped] if op.low in ("best", "worst") else [direction, flipped]
    if op.low in ("best", "worst") and set(column.words) & _BETTER_LOW:
        return ["max" if op.low == "worst" else "min"]
    if op.low in ("best", "worst", "top") and not column.is_number:
        return [direction, "min" if direction == "max" else "max"]
    return [direction]


def _superlative(scene: Scene, op: Chunk, direction: str) -> Iterator[Reading]:
    extra = frozenset(_than_any(scene)) | {
        c.at
        for c in scene.chunks
        if (c.op in ("only", "sum") and not c.columns and abs(c.at - op.at) < 3)
        or (c.op == "all" and c.at and scene.chunks[c.at - 1].low in ("of", "among"))
    }
    for ref, named, cost in targets(scene, op):
        for way in directions(ref.column, op, direction):
            yield from _who(scene, op, ref.column, named | extra, way, cost)
            yield from _how_much(scene, op, ref.column, named | extra, way, cost)
    if (
        op.words[0].low in ("most", "least", "fewest", "more")
        and op.at
        and scene.chunks[op.at - 1].low in ("the", "has", "have", "had")
        and _names_something(scene, op)
    ):
        yield from most_rows(scene, op, direction, extra)


def _names_something(scene: Scene, op: Chunk) -> bool:
    """Whether `the most` is of something named; alone (`spent the most`) it is of what the verb says."""
    after = scene.chunks[op.at + 1] if op.at + 1 < len(scene.chunks) else None
    return after is not None and after.words[0].is_word and after.low not in ("of", "in", "on", "at", "by", "among")


def _who(scene: Scene, op: Chunk, column: Column, named: frozenset[int], way: str, cost: float) -> Iterator[Reading]:
    """Each mention in turn as the holder of the extreme, the others as filters; all together too."""
    negated = scene.negated
    nots = scene.nots
    for subject, filters, doubt in roles(scene, op):
        for selection in scene.combine(filters):
            held, best = extreme_rows(column, selection.rows, way)
            if best is None or len(selection.rows) < 2 or beside_them(subject, selection):
                continue
            holds, used, stated, extra_cost = _holder_check(scene, subject, held, column, best)
            if holds is None:
                continue
            if holds and filters and describes(scene, op, subject, filters):
                overall, best_of_all = extreme_rows(column, scene.body, way)
                whole = (
                    best_of_all is not None and _holder_check(scene, scene.mentions, overall, column, best_of_all)[0]
                )
                holds = True if whole else None
            order = "DESC" if way == "max" else "ASC"
            sql = f"SELECT * FROM {{table}}{selection.where} ORDER BY {quote(column.name)} {order} LIMIT 1"
            found = f"{_names(scene, held)} ({show(best)})"
            spent = selection.used | used | named | {op.at} | nots
            yield Reading(
                "extreme",
                None if holds is None else holds != negated,
                spent,
                sql,
                found,
                stated,
                Distortion.ENTITY_SUBSTITUTED,
                cost + doubt + selection.cost + extra_cost,
            )


def _holder_check(
    scene: Scene, subject: Sequence[Mention], held: frozenset[int], column: Column, best: Held
) -> tuple[bool | None, frozenset[int], str, float]:
    """Whether the subject holds the extreme and, where the sentence also states its value, that this is it."""
    ways: list[tuple[bool, frozenset[int], str, float]] = []
    for selection in scene.combine(subject):
        if not selection.conds or (not selection.rows and len(subject) == 1):
            continue
        if any(c.column is column and len(subject) == 1 and not _is_moment(c) for c in selection.conds):
            continue
        ok = bool(held & selection.rows) and all(_each_holds(m, held, c.members) for m, c in selection.pairs)
        ways.append((ok, selection.used, ", ".join(c.text for c in selection.conds), selection.cost))
    if not ways:
        return None, frozenset(), "", 0.0
    ok, used, stated, cost = next((w for w in ways if w[0]), ways[0])
    for chunk in scene.numbers:
        if chunk.qty is None or isinstance(best, When | Version) or (chunk.when and chunk.qty.value != best):
            continue
        if any(v.exact and v.rows & held for v in chunk.values):
            used |= {chunk.at}  # a name of digits
            continue
        if scene.chunks[chunk.at - 2].low == "of" and agrees(chunk.qty, len(scene.body)):
            used |= {chunk.at}  # `of the five`
            continue
        fits, named = _value_fits(scene, chunk, chunk.qty, column, best, held)
        if fits is not None:
            ok, used, stated = ok and fits, used | named | {chunk.at}, f"{stated} {chunk.text}"
    return ok, used, stated, cost


def _is_moment(cond: Cond) -> bool:
    """Whether a condition says when, rather than since or until when: then it may be who holds an extreme in time."""
    return cond.column.is_date and " in (" in cond.sql


def _value_fits(
    scene: Scene, chunk: Chunk, qty: Quantity, column: Column, best: Number, held: frozenset[int]
) -> tuple[bool | None, frozenset[int]]:
    """Whether a number beside a superlative is the extreme, or what its holder has in the column named with it."""
    if bears_out(column, qty, best):
        return True, frozenset()
    if rows := _is_name(scene, qty):
        return bool(rows & held), frozenset()
    found = options(scene, chunk)
    for cond, used, _ in found:
        if cond.rows & held:
            return True, used
    return (False, found[0][1]) if found else (bears_out(column, qty, best), frozenset())


def _is_name(scene: Scene, qty: Quantity) -> frozenset[int]:
    """Rows that a number is the name of, where the clause has the noun that they are called by (`the order is 17`)."""
    refs = [r.column for c in scene.columns for r in c.columns if r.column.is_id or r.column.is_serial]
    return frozenset().union(*(number_rows(c, qty) for c in refs if qty.compare == "eq"))


def _each_holds(mention: Mention, held: frozenset[int], members: Sequence[frozenset[int]]) -> bool:
    """A list joined by `and` claims the extreme for each of its names."""
    return mention.listed < 2 or not mention.conjoined or not members or all(held & m for m in members)


def _several(scene: Scene, selection: Selection) -> bool:
    """Whether there is something to be the extreme of: several rows, or a group that happens to have one."""
    grouped = any(c.column.distinct < 0.9 * scene.table.rows for c in selection.conds)
    return len(selection.rows) > 1 or (len(selection.rows) == 1 and len(selection.conds) == 1 and grouped)


def _how_much(
    scene: Scene, op: Chunk, column: Column, named: frozenset[int], way: str, cost: float
) -> Iterator[Reading]:
    """The extreme's value alone (`the highest X is 12`)."""
    for selection in scene.combine(scene.mentions):
        if any(c.column is column for c in selection.conds) or not _several(scene, selection):
            continue
        _, best = extreme_rows(column, selection.rows, way)
        for chunk in scene.numbers:
            if best is None or isinstance(best, When | Version) or chunk.qty is None or chunk.at in named:
                continue
            holds = bears_out(column, chunk.qty, best)
            holds = None if holds is False and _is_name(scene, chunk.qty) else holds
            sql = f"SELECT {AGGREGATES[way]}({quote(column.name)}) FROM {{table}}{selection.where}"
            yield Reading(
                "extreme-value",
                holds,
                selection.used | named | {op.at, chunk.at},
                sql,
                show(best),
                chunk.text,
                Distortion.NUMBER_CHANGED,
                cost + selection.cost,
            )


def _names(scene: Scene, rows: frozenset[int]) -> str:
    key = scene.table.key_column
    return ", ".join(key.texts[r] for r in sorted(rows)[:3]) if key else f"row {min(rows, default=0) + 1}"
