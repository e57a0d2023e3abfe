"""Fuses what strategies ranked into one order (reciprocal rank fusion, Cormack et al. 2009) with relevance 0 to 1."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from .corpus import Ranked

RANK_CONSTANT = 60
PREFERRED = 2.0
"""A preferred strategy's ranks count so many times."""
RANK_SHARE = 0.35
"""Part of relevance that is rank; the rest is the best score any strategy gave, over the best of all."""


@dataclass(frozen=True, slots=True)
class Found:
    """A node, how relevant it is, and who found it: strategy → rank from 1."""

    uri: str
    relevance: float
    score: float
    ranks: Mapping[str, int]

    @property
    def strategy(self) -> str:
        """The one that ranked it best."""
        return min(self.ranks.items(), key=lambda pair: (pair[1], pair[0]))[0]


def fuse(rankings: Mapping[str, Ranked], preferred: Collection[str] = ()) -> list[Found]:
    """All nodes of all rankings, the most relevant first; ties by URI."""
    fused: dict[str, float] = {}
    scores: dict[str, float] = {}
    ranks: dict[str, dict[str, int]] = {}
    for name, ranked in rankings.items():
        weight = PREFERRED if name in preferred else 1.0
        for rank, (uri, score) in enumerate(ranked, start=1):
            fused[uri] = fused.get(uri, 0.0) + weight / (RANK_CONSTANT + rank)
            scores[uri] = max(scores.get(uri, 0.0), score)
            ranks.setdefault(uri, {})[name] = rank
    most, best = max(fused.values(), default=1.0), max(scores.values(), default=0.0) or 1.0
    found = []
    for uri, value in fused.items():
        relevance = RANK_SHARE * value / most + (1 - RANK_SHARE) * scores[uri] / best
        found.append(Found(uri, round(min(1.0, relevance), 6), scores[uri], ranks[uri]))
    return sorted(found, key=lambda one: (-one.relevance, one.uri))
