"""Readings of a clause -> one judgement: supported when a good one holds, contradicted when all fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from . import (
    frame_compare,
    frame_count,
    frame_derived,
    frame_extreme,
    frame_groups,
    frame_implied,
    frame_lookup,
    frame_paired,
    frame_scores,
    frame_sets,
    frame_stated,
    frame_trend,
)
from .build import build
from .document import Table, transposed
from .limits import COLUMNS_A_STEP, Work
from .model import Outcome
from .parse import Parse, parse
from .reading import Reading, leftover
from .words import tokens

SUPPORT_AT = 0.85
"""Most cost at which a reading that holds supports its clause."""
CONTRADICT_AT = 0.55
"""Most cost at which readings that fail contradict it."""
MARKED = {
    "extreme": 0.15,
    "extreme-value": 0.1,
    "compare": 0.15,
    "compare-dates": 0.15,
    "aggregate": 0.15,
    "range": 0.15,
    "only": 0.1,
    "scores": 0.15,
    "trend": 0.15,
    "group-extreme": 0.15,
    "paired": 0.15,
}
"""More for frames that the clause's own words call for: fewer other things could be meant."""
NEAR = 0.45
"""Readings within this of the cheapest are alternatives to it."""
_FRAMES = (
    frame_count,
    frame_extreme,
    frame_derived,
    frame_sets,
    frame_compare,
    frame_lookup,
    frame_stated,
    frame_scores,
    frame_implied,
    frame_trend,
    frame_groups,
    frame_paired,
)


@dataclass(frozen=True, eq=False)
class Judgement:
    """What the readings of one clause over one table came to."""

    outcome: Outcome
    reading: Reading | None
    cost: float
    reason: str


def scored(
    text: str,
    table: Table,
    context: frozenset[str] = frozenset(),
    others: tuple[Table, ...] = (),
    work: Work | None = None,
) -> list[tuple[float, Reading]]:
    """Every reading with its cost, cheapest first. Raises TooMuch where there are more than `work` allows."""
    work = work or Work()
    work.spend(1 + len(tokens(text)) * len(table.columns) // COLUMNS_A_STEP)
    parsed = parse(text, table, context, others)
    scene = build(parsed, work)
    out = [(r.cost + leftover(scene, r.used), r) for frame in _FRAMES for r in frame.readings(scene)]
    if _crosswise(parsed):
        turned = build(parse(text, transposed(table), context), work)
        out += [(r.cost + leftover(turned, r.used), r) for frame in _FRAMES for r in frame.readings(turned)]
    return sorted(out, key=lambda x: (x[0], x[1].holds is not True))


def _crosswise(parsed: Parse) -> bool:
    """Whether the clause speaks of a table's columns as things and of its rows as their properties."""
    table = parsed.table
    if (
        table.kind != "rows"
        or not 2 <= len(table.columns) <= 40
        or not 1 < table.rows <= 60
        or table.key_column is not table.columns[0]
    ):
        return False
    first = table.columns[0]
    asked = any(
        v.column is first and v.exact
        for op in parsed.ops("max", "min", "avg", "sum", "more", "less", "median")
        for c in parsed.chunks[op.at + 1 : op.at + 3]
        for v in c.values
    )
    things = any(r.quality > 0.9 and r.column is not first for c in parsed.chunks for r in c.columns)
    return asked and things


def judge(readings: Iterable[tuple[float, Reading]]) -> Judgement:
    """Weigh scored readings: precision first, so two that disagree never contradict."""
    ranked = list(readings)
    if not ranked:
        return Judgement(Outcome.UNVERIFIABLE, None, 9.0, "no reading of the sentence can be computed from the result")
    best = ranked[0][0]
    near = [(c, r) for c, r in ranked if c <= best + NEAR]
    holding = [(c, r) for c, r in near if r.holds]
    if holding and holding[0][0] <= SUPPORT_AT + MARKED.get(holding[0][1].frame, 0.0):
        return Judgement(Outcome.SUPPORTED, holding[0][1], holding[0][0], "")
    if (
        not holding
        and best <= CONTRADICT_AT + MARKED.get(near[0][1].frame, 0.0)
        and near[0][1].firm
        and all(r.holds is False for _, r in near)
    ):
        return Judgement(Outcome.CONTRADICTED, near[0][1], best, "")
    if best > SUPPORT_AT + MARKED.get(near[0][1].frame, 0.0):
        return Judgement(
            Outcome.UNVERIFIABLE, near[0][1], best, "part of the sentence has no counterpart in the result"
        )
    return Judgement(
        Outcome.UNVERIFIABLE, near[0][1], best, "the sentence can be read in more than one way, and they differ"
    )
