"""A reading of a clause: what it would compute, whether that holds, and how much of the clause it leaves unexplained."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .model import Distortion
from .scene import Scene


@dataclass(frozen=True, eq=False)
class Reading:
    """One executable reading, already evaluated. `holds` None: it cannot be decided on this table."""

    frame: str
    holds: bool | None
    used: frozenset[int]
    sql: str
    found: str
    stated: str
    distortion: Distortion
    cost: float = 0.0
    """What makes this reading less likely than another of the same clause."""
    firm: bool = True
    """Whether its failing is enough to contradict the clause."""


_OP_COST = {
    "max": 3.0, "min": 3.0, "more": 3.0, "less": 3.0, "only": 3.0, "none": 3.0, "not": 3.0, "all": 1.5, "than": 2.0, "same": 2.0,
    "avg": 3.0, "median": 3.0, "sum": 0.4, "mostof": 3.0, "half": 3.0, "fewof": 3.0, "range": 1.0, "diff": 1.5, "before": 2.0,
    "after": 2.0, "twice": 3.0, "multiple": 2.0, "distinct": 0.3, "both": 0.3, "percent": 0.5,
}  # fmt: skip
TOPIC_LEADS = frozenset("in at of during for from on by throughout the".split())


def leftover(scene: Scene, used: Iterable[int]) -> float:
    """Weight of what a reading does not explain: 0 = everything said is accounted for."""
    spent = set(used)
    cost = 0.0
    in_mention = {i: m for m in scene.mentions for i in m.chunks}
    counted: set[int] = set()
    for chunk in scene.chunks:
        if chunk.at in spent:
            continue
        if (mention := in_mention.get(chunk.at)) is not None:
            if mention.first not in counted and not mention.chunks & spent:
                counted.add(mention.first)
                cost += 2.5 if any(c.cost == 0 for c in mention.options) else 1.2
        elif chunk.qty:
            cost += 0.25 if chunk.when and _topical(scene, chunk.at) else 2.5
        elif chunk.when:
            cost += 0.3 if chunk.when.month is None else 1.5
        elif chunk.op:
            cost += _OP_COST.get(chunk.op, 1.0) if not chunk.columns else 0.8
        elif chunk.columns:
            cost += 0.15 if max(c.quality for c in chunk.columns) < 0.6 else 0.6
        elif chunk.ordinal:
            cost += 1.5
        elif chunk.is_content:
            cost += _word_cost(scene, chunk.at, spent)
    return cost


def _word_cost(scene: Scene, at: int, spent: set[int]) -> float:
    """A word without counterpart: cheap when the table's surroundings know it or it extends a name or sets the scene."""
    chunk = scene.chunks[at]
    if chunk.stem in scene.parse.context or chunk.stem in scene.table.nouns:
        return 0.0
    if len(chunk.low) < 2:
        return 0.05
    for beside in (at - 1, at + 1):
        if 0 <= beside < len(scene.chunks) and scene.chunks[beside].values and beside in spent:
            return 0.2
    return 0.25 if _topical(scene, at) else 0.8


def _topical(scene: Scene, at: int) -> bool:
    """Whether a word stands in a phrase that only sets the scene: after a preposition, or the clause's first words."""
    index = at - 1
    while index >= 0 and (scene.chunks[index].is_content or scene.chunks[index].low in ("-", "'", "s", ".", ",") or (scene.chunks[index].when and scene.chunks[index].qty)):
        index -= 1
    if index < 0:
        return True
    lead = scene.chunks[index].low
    return lead in TOPIC_LEADS and (lead != "the" or index == 0 or scene.chunks[index - 1].low in TOPIC_LEADS)
