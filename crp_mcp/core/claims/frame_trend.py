"""How a measure moved in time: rose, fell, grew from A to B, by so much, every month. One frame of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from .document import Column
from .frame_aggregate import aggregate, show
from .model import Distortion
from .numbers import Number, Quantity
from .parse import Chunk
from .reading import Reading
from .rows import bears_out, quote
from .scene import Mention, Scene
from .words import stem, word_list

_UP = frozenset(
    stem(w)
    for w in word_list(
        "rise rises rose risen rising increase increased increases increasing grow grew grown grows growing climb "
        "climbed climbs jump jumped surge surged soared"
    )
)
_DOWN = frozenset(
    stem(w)
    for w in word_list(
        "fall falls fell fallen falling drop drops dropped decline declined declines declining decrease decreased "
        "decreases decreasing dip dipped dips shrink shrank shrunk plunged slipped slid"
    )
)
_STEADY = frozenset(word_list("steadily continuously consistently monotonically"))
_STEP = frozenset(word_list("day week month quarter year"))


@dataclass(frozen=True, eq=False)
class _Series:
    """A measure's value at each moment of some rows, in order of time."""

    measure: Column
    moments: Sequence[Any]
    values: Sequence[Number]
    rows: Sequence[frozenset[int]]
    where: str

    def at(self, rows: frozenset[int]) -> list[int]:
        """The places of the moments that lie within these rows."""
        return [i for i, mine in enumerate(self.rows) if mine & rows]


def readings(scene: Scene) -> Iterator[Reading]:
    """Each verb of movement with each measure and column of time that it may be about."""
    if scene.table.kind == "record" or scene.table.rows < 2:
        return
    verbs = [c for c in scene.chunks if c.words[0].stem in _UP | _DOWN and not c.columns and not c.values]
    if len(verbs) != 1 or scene.parse.ops("than", "max", "min", "more", "less", "only", "none"):
        return
    verb = verbs[0]
    for chunk, ref, cost in scene.near_columns(verb.at, after=5, before=8):
        if ref.column.is_measure and not ref.column.is_mixed and not ref.column.is_date:
            for time in scene.table.columns:
                if time.is_date:
                    yield from _moved(scene, verb, chunk, ref.column, time, cost)


def _moved(scene: Scene, verb: Chunk, named: Chunk, measure: Column, time: Column, cost: float) -> Iterator[Reading]:
    times = [m for m in scene.mentions if any(o.column is time for o in m.options)]
    others = [m for m in scene.mentions if m not in times and named.at not in m.chunks]
    averaged = scene.parse.ops("avg", "sum", "median")
    how = averaged[0].op if len(averaged) == 1 else ""
    base = {verb.at, named.at} | {c.at for c in averaged} | scene.nots
    for selection in scene.combine(others):
        series = _series(measure, time, selection.rows, how, selection.where)
        if series is None or len(series.values) < 2:
            continue
        used = frozenset(base | selection.used)
        yield from _every(scene, verb, series, times, used, cost + selection.cost)
        ends = _ends(series, times, time)
        if ends is not None:
            yield from _between(scene, verb, series, ends, times, used, cost + selection.cost)


def _series(measure: Column, time: Column, rows: frozenset[int], how: str, where: str) -> _Series | None:
    """One value for each moment; None where moments cannot be ordered or have several values and none is asked for."""
    order = time.time_order if time.values() is None else time.values()
    values = measure.values()
    if order is None or values is None:
        return None
    by_time: dict[Any, set[int]] = {}
    for row in rows:
        if order[row] is not None and values[row] is not None:
            by_time.setdefault(order[row], set()).add(row)
    moments = sorted(by_time)
    if not how and any(len(r) > 1 for r in by_time.values()):
        return None
    groups = [frozenset(by_time[m]) for m in moments]
    found = [aggregate(measure, g, how or "max") for g in groups]
    return _Series(measure, moments, [v for v in found if v is not None], groups, where)


def _ends(series: _Series, times: Sequence[Mention], time: Column) -> list[tuple[int, int]] | None:
    """(from, to) for each movement that is meant: between two moments, or into one from the one before it."""
    points: list[list[int]] = []
    if len(times) == 1 and (span := next((o for o in times[0].options if " between " in o.sql), None)) is not None:
        inside = series.at(span.rows)
        return [(inside[0], inside[-1])] if len(inside) > 1 else None
    for mention in times:
        cond = next(o for o in mention.options if o.column is time)
        points += [series.at(rows) for rows in (cond.members or (cond.rows,))]
    if any(len(p) != 1 for p in points) or len(points) > 3:
        return None
    places = [p[0] for p in points]
    listed = any(m.listed > 1 and m.conjoined for m in times)
    if len(places) == 2 and not listed:
        return [(places[0], places[1])] if places[0] < places[1] else None
    if not places:
        return [(0, len(series.values) - 1)]
    return [(p - 1, p) for p in places] if all(p > 0 for p in places) else None


def _between(
    scene: Scene, verb: Chunk, series: _Series, ends: list[tuple[int, int]], times: Sequence[Mention],
    used: frozenset[int], cost: float,
) -> Iterator[Reading]:  # fmt: skip
    if len(ends) > 1 and scene.numbers:
        return
    results: list[bool | None] = []
    for first, last in ends:
        x, y = series.values[first], series.values[last]
        results.append(y > x if verb.words[0].stem in _UP else y < x)
        results += [_says(scene, c, series.measure, x, y) for c in scene.numbers]
    if not times and not scene.numbers:
        return
    holds = False if False in results else None if None in results else True
    if not times and not holds:
        holds = None  # which time is meant is not said
    found = "; ".join(f"{show(series.values[a])} to {show(series.values[b])}" for a, b in ends)
    spent = used.union(*(m.chunks for m in times)) | {c.at for c in scene.numbers}
    sql = f"SELECT {quote(series.measure.name)} FROM {{table}}{series.where}"
    yield Reading(
        "trend", None if holds is None else holds != scene.negated, spent, sql, found, scene.parse.text,
        Distortion.MAGNITUDE_ALTERED, cost + 0.05 + (0.3 if not times else 0.0),
    )  # fmt: skip


def _says(scene: Scene, chunk: Chunk, measure: Column, x: Number, y: Number) -> bool | None:
    """Whether a number of the clause is what its preposition makes it: `from` x, `to` y, `by` their difference."""
    qty = chunk.qty
    if qty is None:
        return None
    if qty.compare == "between" and qty.high is not None:
        ends = [bears_out(measure, Quantity(v, "", 0, 0, qty.unit, qty.scale, qty.step), w)
                for v, w in ((qty.value, x), (qty.high, y))]  # fmt: skip
        return False if False in ends else None if None in ends else True
    lead = next((c.low for c in reversed(scene.chunks[: chunk.at]) if c.low in ("from", "to", "by", "at", "of")), "")
    if lead == "from":
        return bears_out(measure, qty, x)
    if lead == "to":
        return bears_out(measure, qty, y)
    if lead != "by":
        return None
    if qty.unit == "%" and measure.unit != "%":
        return bears_out(Column("share", [], -1), qty, round(abs(y - x) / abs(x) * 100, 9)) if x else None
    return bears_out(measure, qty, round(abs(y - x), 9))


def _every(
    scene: Scene, verb: Chunk, series: _Series, times: Sequence[Mention], used: frozenset[int], cost: float
) -> Iterator[Reading]:
    """`rose every month`: each value against the one before it, within the time that is named."""
    words = {c.at for c in scene.chunks if c.low in _STEADY}
    for op in scene.parse.ops("all", "each"):
        if any(c.low in _STEP for c in scene.chunks[op.at + 1 : op.at + 2]):
            words |= {op.at, op.at + 1}
    if not words or scene.numbers or len(times) > 1:
        return
    places = range(len(series.values))
    if times:
        rows = frozenset().union(*(o.rows for o in times[0].options))
        places = range(min(series.at(rows), default=0), max(series.at(rows), default=-1) + 1)
    steps = [(b > a) if verb.words[0].stem in _UP else (b < a) for a, b in pairwise(series.values)]
    inside = [steps[i - 1] for i in places if i > places.start]
    before = [steps[i - 1] for i in places if i > 0]
    if not inside:
        return
    holds = all(inside) if all(inside) == all(before) else None
    sql = f"SELECT {quote(series.measure.name)} FROM {{table}}{series.where}"
    spent = used | words | frozenset().union(*(m.chunks for m in times))
    found = f"{sum(inside)} of {len(inside)} steps"
    yield Reading(
        "trend", None if holds is None else holds != scene.negated, spent, sql, found, scene.parse.text,
        Distortion.MAGNITUDE_ALTERED, cost + 0.05,
    )  # fmt: skip
