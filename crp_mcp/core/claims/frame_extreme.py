"""Extremes and aggregates: who has the most, what the highest is, averages, totals, ranges. One frame of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from .bind import options
from .dates import When, compare
from .document import Column
from .lexicon import ATTRIBUTES
from .link import ColumnRef
from .model import Distortion
from .numbers import Number, Quantity, agrees
from .parse import Chunk, attribute_columns
from .reading import Reading
from .rows import quote
from .scene import Mention, Scene, Selection
from .words import stem

_LOW_IS_GOOD = frozenset(stem(w) for w in ("rank", "place", "position", "pos", "finish", "standing"))
_AGG = {"avg": "AVG", "sum": "SUM", "median": "MEDIAN", "max": "MAX", "min": "MIN"}


def readings(scene: Scene) -> Iterator[Reading]:
    """Superlatives with or without who holds them, and aggregates with their value."""
    if scene.table.kind == "record":
        return
    if any(c.op in ("than", "more", "less", "only") and not c.columns for c in scene.chunks) and not _than_any(scene):
        return
    for chunk in scene.chunks:
        if chunk.at and scene.chunks[chunk.at - 1].ordinal and chunk.op in ("max", "min"):
            continue
        if chunk.op in ("max", "min"):
            yield from _superlative(scene, chunk, chunk.op)
        elif chunk.op in ("more", "less") and _than_any(scene):
            yield from _superlative(scene, chunk, "max" if chunk.op == "more" else "min")
        elif chunk.op in ("avg", "sum", "median"):
            yield from _aggregate(scene, chunk)
        elif chunk.op == "range":
            yield from _range(scene, chunk)
    if not any(c.op for c in scene.chunks if c.op not in ("sum", "not", "both")):
        yield from _range_by_between(scene)


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


def targets(scene: Scene, op: Chunk) -> list[tuple[ColumnRef, frozenset[int], float]]:
    """Columns an extreme may be about: (column, chunks that name it, doubt)."""
    out: list[tuple[ColumnRef, frozenset[int], float]] = []
    for ref in op.columns or attribute_columns(scene.table, op.words[-1].stem):
        out.append((ref, frozenset((op.at,)), 0.05))
    for chunk, ref, cost in scene.near_columns(op.at, after=5, before=12):
        if _ordered(ref.column):
            out.append((ref, frozenset((chunk.at,)), cost))
    for chunk in scene.chunks[op.at + 1 : op.at + 3]:
        if chunk.is_plain and chunk.stem in ATTRIBUTES:
            out += [(r, frozenset((chunk.at,)), 0.1) for r in attribute_columns(scene.table, chunk.stem)]
    named = [o for o in out if o[1] != {op.at}]
    if len(op.words) == 1 and op.words[0].low in ("most", "least", "highest", "lowest", "best", "worst", "top"):
        out = named or out
    elif named and op.words[-1].stem in ATTRIBUTES:
        out = [o for o in out if o[1] == {op.at}] or named
    return sorted((o for o in out if _ordered(o[0].column)), key=lambda o: o[2])[:4]


def _ordered(column: Column) -> bool:
    if column.is_serial and not set(column.words) & _LOW_IS_GOOD:
        return False
    return column.values() is not None or column.is_date


def order_values(column: Column) -> Sequence[Number | When | None]:
    """What a column is ordered by: its numbers, else its dates."""
    values = column.values()
    return values if values is not None else column.dates


def extreme_rows(column: Column, rows: frozenset[int], direction: str) -> tuple[frozenset[int], Number | When | None]:
    """Rows that hold a column's extreme among `rows`, and the extreme itself."""
    values = order_values(column)
    best: Number | When | None = None
    held: list[int] = []
    for row in rows:
        value = values[row]
        if value is None:
            continue
        order = 1 if best is None else _cmp(value, best)
        if order is None:
            continue
        order = order if direction == "max" else (-order if best is not None else 1)
        if order > 0:
            best, held = value, [row]
        elif order == 0:
            held.append(row)
    return frozenset(held), best


def _cmp(a: Number | When, b: Number | When) -> int | None:
    if isinstance(a, When) or isinstance(b, When):
        return compare(a, b) if isinstance(a, When) and isinstance(b, When) else None
    return (a > b) - (a < b)


def _directions(column: Column, op: Chunk, direction: str) -> list[str]:
    """Where less is better (`rank`), `best` is the smallest, and `highest` may be either."""
    if op.low in ("fastest", "slowest", "quickest") and set(column.words) & {"time", "duration", "lap", "durat"}:
        return ["min" if op.low != "slowest" else "max"]
    if op.low in ("oldest", "youngest") and column.is_date:
        return ["min" if direction == "max" else "max"]
    if set(column.words) & _LOW_IS_GOOD:
        flipped = "min" if direction == "max" else "max"
        return [flipped] if op.low in ("best", "worst") else [direction, flipped]
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
        for way in _directions(ref.column, op, direction):
            yield from _who(scene, op, ref.column, named | extra, way, cost)
            yield from _how_much(scene, op, ref.column, named | extra, way, cost)
    if (
        op.words[0].low in ("most", "least", "fewest", "more")
        and op.at
        and scene.chunks[op.at - 1].low in ("the", "has", "have", "had")
    ):
        yield from _most_rows(scene, op, direction, extra)


def _who(scene: Scene, op: Chunk, column: Column, named: frozenset[int], way: str, cost: float) -> Iterator[Reading]:
    """Each mention in turn as the holder of the extreme, the others as filters; all together too."""
    negated = scene.negated
    nots = scene.nots
    for subject, filters, doubt in _roles(scene, op):
        for selection in scene.combine(filters):
            held, best = extreme_rows(column, selection.rows, way)
            if best is None or len(selection.rows) < 2:
                continue
            holds, used, stated, extra_cost = _holder_check(scene, subject, held, column, best)
            if holds is None:
                continue
            order = "DESC" if way == "max" else "ASC"
            sql = f"SELECT * FROM {{table}}{selection.where} ORDER BY {quote(column.name)} {order} LIMIT 1"
            found = f"{_names(scene, held)} ({_show(best)})"
            spent = selection.used | used | named | {op.at} | nots
            yield Reading(
                "extreme",
                holds != negated,
                spent,
                sql,
                found,
                stated,
                Distortion.ENTITY_SUBSTITUTED,
                cost + doubt + selection.cost + extra_cost,
            )


def _roles(scene: Scene, op: Chunk) -> Iterator[tuple[tuple[Mention, ...], tuple[Mention, ...], float]]:
    mentions = scene.mentions
    if mentions:
        yield mentions, (), 0.12 if len(mentions) > 1 else 0.0
    if len(mentions) > 1:
        for i, subject in enumerate(mentions):
            yield (subject,), mentions[:i] + mentions[i + 1 :], 0.05 * (i > 0)


def _holder_check(
    scene: Scene, subject: Sequence[Mention], held: frozenset[int], column: Column, best: Number | When
) -> tuple[bool | None, frozenset[int], str, float]:
    """Whether the subject holds the extreme and, where the sentence also states its value, that this is it."""
    ways: list[tuple[bool, frozenset[int], str, float]] = []
    for selection in scene.combine(subject):
        if not selection.conds or (not selection.rows and len(subject) == 1):
            continue
        if any(c.column is column and len(subject) == 1 and not column.is_date for c in selection.conds):
            continue
        ok = bool(held & selection.rows) and all(_each_holds(m, held, c.members) for m, c in selection.pairs)
        ways.append((ok, selection.used, ", ".join(c.text for c in selection.conds), selection.cost))
    if not ways:
        return None, frozenset(), "", 0.0
    ok, used, stated, cost = next((w for w in ways if w[0]), ways[0])
    for chunk in scene.numbers:
        if chunk.qty is None or isinstance(best, When) or (chunk.when and chunk.qty.value != best):
            continue
        fits, named = _value_fits(scene, chunk, chunk.qty, best, held)
        if fits is not None:
            ok, used, stated = ok and fits, used | named | {chunk.at}, f"{stated} {chunk.text}"
    return ok, used, stated, cost


def _value_fits(
    scene: Scene, chunk: Chunk, qty: Quantity, best: Number, held: frozenset[int]
) -> tuple[bool | None, frozenset[int]]:
    """Whether a number beside a superlative is the extreme, or what its holder has in the column named with it."""
    if agrees(qty, best):
        return True, frozenset()
    found = options(scene, chunk)
    for cond, used, _ in found:
        if cond.rows & held:
            return True, used
    return (False, found[0][1]) if found else (agrees(qty, best), frozenset())


def _each_holds(mention: Mention, held: frozenset[int], members: Sequence[frozenset[int]]) -> bool:
    """A list joined by `and` claims the extreme for each of its names."""
    return mention.listed < 2 or not mention.conjoined or not members or all(held & m for m in members)


def _how_much(
    scene: Scene, op: Chunk, column: Column, named: frozenset[int], way: str, cost: float
) -> Iterator[Reading]:
    """The extreme's value alone (`the highest X is 12`)."""
    for selection in scene.combine(scene.mentions):
        if any(c.column is column for c in selection.conds) or len(selection.rows) < 2:
            continue
        _, best = extreme_rows(column, selection.rows, way)
        for chunk in scene.numbers:
            if best is None or isinstance(best, When) or chunk.qty is None or chunk.at in named:
                continue
            holds = agrees(chunk.qty, best)
            sql = f"SELECT {_AGG[way]}({quote(column.name)}) FROM {{table}}{selection.where}"
            yield Reading(
                "extreme-value",
                holds,
                selection.used | named | {op.at, chunk.at},
                sql,
                _show(best),
                chunk.text,
                Distortion.NUMBER_CHANGED,
                cost + selection.cost,
            )


def _most_rows(scene: Scene, op: Chunk, direction: str, extra: frozenset[int]) -> Iterator[Reading]:
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
                noun = _row_noun_after(scene, op)
                name = quote(cond.column.name)
                order = "DESC" if direction == "max" else "ASC"
                sql = f"SELECT {name}, COUNT(*) FROM {{table}}{selection.where} GROUP BY {name} ORDER BY 2 {order} LIMIT 1"
                used = selection.used | subject.chunks | extra | noun | {op.at}
                yield Reading(
                    "most-rows",
                    (mine == best) != scene.negated,
                    used,
                    sql,
                    f"{best}",
                    f"{mine}",
                    Distortion.ENTITY_SUBSTITUTED,
                    0.25 + cond.cost + selection.cost,
                )


def _row_noun_after(scene: Scene, op: Chunk) -> frozenset[int]:
    return frozenset(
        c.at
        for c in scene.chunks[op.at + 1 : op.at + 3]
        if (c.columns and not any(r.column.is_number for r in c.columns))
    )


def aggregate(column: Column, rows: frozenset[int], name: str) -> Number | None:
    """AVG, SUM, MEDIAN, MIN or MAX of a column over rows; None where there is nothing to add."""
    values = column.values()
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


def _aggregate(scene: Scene, op: Chunk) -> Iterator[Reading]:
    near = scene.near_columns(op.at, after=6, before=12)
    if op.columns:
        near = [(op, r, 0.2) for r in op.columns] + near
    for chunk, ref, cost in near[:5]:
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
                if found is None or number.qty is None or number.at in counted:
                    continue
                holds = agrees(number.qty, _tidy(found))
                sql = f"SELECT {_AGG[op.op]}({quote(ref.column.name)}) FROM {{table}}{selection.where}"
                used = selection.used | {op.at, chunk.at, number.at} | counted
                doubt = (
                    0.5 if op.op == "sum" and (len(selection.rows) == 1 or set(ref.column.words) & {"total"}) else 0.0
                )
                yield Reading(
                    "aggregate",
                    holds,
                    used,
                    sql,
                    _show(found),
                    number.text,
                    Distortion.NUMBER_CHANGED,
                    cost + selection.cost + doubt,
                )


def _tidy(value: Number) -> Number:
    return (
        round(value) if isinstance(value, float) and abs(value - round(value)) < 1e-9 and abs(value) < 1e15 else value
    )


def _range(scene: Scene, op: Chunk) -> Iterator[Reading]:
    yield from _spans(scene, {op.at}, 0.0)


def _range_by_between(scene: Scene) -> Iterator[Reading]:
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
                    agrees(Quantity(v, "", 0, 0, step=qty.step), x)
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
                    f"{_show(low)} to {_show(high)}",
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


def _show(value: Number | When) -> str:
    if isinstance(value, When):
        return value.literal
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _names(scene: Scene, rows: frozenset[int]) -> str:
    key = scene.table.key_column
    return ", ".join(key.texts[r] for r in sorted(rows)[:3]) if key else f"row {min(rows, default=0) + 1}"


def stated_of(selection: Selection) -> str:
    """The names a selection was made from, for messages."""
    return ", ".join(c.text for c in selection.conds)


def number_of(qty: Quantity) -> Number:
    """The stated number itself."""
    return qty.value
