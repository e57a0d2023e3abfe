"""Whether two values found stand to each other as a clause says: more, twice, as many, N more, before and after."""

from __future__ import annotations

from collections.abc import Iterator

from .dates import When, compare, days
from .document import Column
from .frame_aggregate import Held, show
from .model import Distortion
from .numbers import Number, agrees
from .parse import Chunk
from .reading import Reading
from .rows import bears_out
from .scene import Scene
from .versions import Version
from .words import stem

_MONTH_WORDS = {"day": 1, "week": 7, "month": 30.4375, "year": 365.25}


TAKES_TIME = frozenset(stem(w) for w in ("time", "duration", "lap", "latency", "elapsed", "runtime"))


def less_time(column: Column, op: Chunk) -> bool:
    """Whether a word for speed is said of a time, of which the faster has less."""
    return op.low in ("faster", "quicker", "slower") and bool(set(column.words) & TAKES_TIME)


def _factor(scene: Scene, op: Chunk) -> Chunk | None:
    """`three times as many`: the three."""
    for chunk in scene.chunks[max(0, op.at - 3) : op.at]:
        if chunk.qty and chunk.at + 1 < len(scene.chunks) and scene.chunks[chunk.at + 1].low == "times":
            return chunk
    return None


def judge_pair(
    scene: Scene, op: Chunk, column: Column, x: Held, y: Held, used: frozenset[int], sql: str, cost: float
) -> Iterator[Reading]:
    """Whether x stands to y as the sentence says, with the difference where it gives one."""
    spent = used | {op.at} | {c.at for c in scene.parse.ops("than", "not")}
    spent |= {c.at for c in scene.chunks if c.op == "same" and c.at > op.at}
    if isinstance(x, Version) and isinstance(y, Version):
        yield from _judge_versions(scene, op, x, y, spent, sql, cost)
    elif isinstance(x, When) and isinstance(y, When):
        yield from _judge_dates(scene, op, x, y, spent, sql, f"{show(x)} and {show(y)}", cost)
    elif not isinstance(x, When | Version) and not isinstance(y, When | Version):
        yield from _judge_numbers(scene, op, column, x, y, spent, sql, cost)


def _judge_numbers(
    scene: Scene, op: Chunk, column: Column, x: Number, y: Number, used: frozenset[int], sql: str, cost: float
) -> Iterator[Reading]:
    amount = _amount(scene, op)
    kind = Distortion.NUMBER_CHANGED if amount else Distortion.MAGNITUDE_ALTERED
    found = f"{show(x)} and {show(y)}"
    said: tuple[bool | None, set[int]] | None = None
    if op.op == "twice":
        more = scene.parse.ops("more")
        said = x > 2 * y if more else abs(x - 2 * y) <= 1e-9, {c.at for c in scene.parse.ops("more", "same")}
    elif op.op == "same":
        said = _as_many(scene, op, x, y)
    elif op.op in ("more", "less"):
        said = _differs(op, column, x - y, amount)
    if said is not None:
        holds, spent = said
        holds = None if holds is None else holds != scene.negated
        spent = spent | _sides_stated(scene, x, y)
        yield Reading("compare", holds, used | spent, sql, found, scene.parse.text, kind, cost)


def _as_many(scene: Scene, op: Chunk, x: Number, y: Number) -> tuple[bool | None, set[int]]:
    """`as many as`, `three times as many as`."""
    factor = _factor(scene, op)
    if factor is None or factor.qty is None:
        return abs(x - y) <= 1e-9, set()
    return agrees(factor.qty, round(x / y if y else 0.0, 9)), {factor.at}


def _differs(op: Chunk, column: Column, gap: Number, amount: Chunk | None) -> tuple[bool | None, set[int]]:
    """`more than`, `5 more than`; what is faster has less of a time."""
    more = (op.op == "more") != less_time(column, op)
    holds: bool | None = gap > 1e-9 if more else gap < -1e-9
    if amount is None or amount.qty is None:
        return holds, set()
    fits = bears_out(column, amount.qty, round(abs(gap), 9))
    return (None if fits is None and holds else holds and bool(fits)), {amount.at}


def _judge_versions(
    scene: Scene, op: Chunk, x: Version, y: Version, used: frozenset[int], sql: str, cost: float
) -> Iterator[Reading]:
    """Versions part by part: newer and higher are one."""
    a, b = x.key(), y.key()
    older = op.op == "less" or op.words[-1].low == "older"
    holds = a == b if op.op == "same" else a < b if older else a > b
    if op.op in ("more", "less", "same"):
        found = f"{show(x)} and {show(y)}"
        kind = Distortion.MAGNITUDE_ALTERED
        yield Reading("compare", holds != scene.negated, used, sql, found, scene.parse.text, kind, cost)


def _amount(scene: Scene, op: Chunk) -> Chunk | None:
    """The number that says by how much: right before the comparative, or after `by`."""
    for chunk in scene.numbers:
        before = scene.chunks[chunk.at - 1].low if chunk.at else ""
        near = 0 < op.at - chunk.at <= 3 and before not in _OF_A_SIDE
        if chunk.qty and chunk.qty.compare == "eq" and (near or before == "by"):
            return chunk
    return None


_OF_A_SIDE = frozenset(("of", "at", "with"))
"""After these a number is what one side has: `a total of 61 exceeded that of 52`."""


def _sides_stated(scene: Scene, x: Number, y: Number) -> set[int]:
    """Numbers of the sentence that are the figures compared."""
    return {
        c.at
        for c in scene.numbers
        if c.qty and scene.chunks[c.at - 1].low in _OF_A_SIDE and (agrees(c.qty, x) or agrees(c.qty, y))
    }


def _judge_dates(
    scene: Scene, op: Chunk, x: When, y: When, used: frozenset[int], sql: str, found: str, cost: float
) -> Iterator[Reading]:
    order = compare(x, y)
    if order is None:
        return
    later = op.op == "after" or op.words[-1].low in ("later", "newer", "recently", "recent")
    younger = op.words[-1].low in ("younger",)
    if op.op == "same":
        period = next((c.low for c in scene.chunks[op.at + 1 : op.at + 3] if c.low in ("year", "month", "day")), "")
        fields = {"year": ("year",), "month": ("year", "month")}.get(period, ())
        holds: bool | None = all(getattr(x, f) == getattr(y, f) for f in fields) if fields else order == 0
        used = used | {c.at for c in scene.chunks[op.at + 1 : op.at + 3] if c.low == period}
    elif op.words[-1].low == "older":
        holds = order < 0
    else:
        holds = order > 0 if later or younger else order < 0
    amount = _amount(scene, op)
    spent = set(used)
    if amount and amount.qty:
        unit = next((c for c in scene.chunks[amount.at + 1 : amount.at + 3] if c.words[0].stem in _MONTH_WORDS), None)
        first, last = days(x), days(y)
        if unit is None or first is None or last is None:
            return
        size = _MONTH_WORDS[unit.words[0].stem]
        spent |= {amount.at, unit.at}
        near = abs(abs(first - last) / size - amount.qty.value)
        exact = near <= (0.02 if size == 1 else 0.12)
        holds = False if not holds else True if exact else None if near < 0.6 else False
    yield Reading(
        "compare-dates",
        None if holds is None else holds != scene.negated,
        frozenset(spent),
        sql,
        found,
        scene.parse.text,
        Distortion.DATE_SHIFTED,
        cost,
    )
