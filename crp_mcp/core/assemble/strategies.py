"""The strategies: each ranks nodes of a corpus for a request, by one idea. They know nothing of budgets or depths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from crp_mcp.core.request.models import ContextRequest, TemporalScope

from .corpus import CONTAINS, Corpus, Ranked
from .words import names_in, weigh_terms

KEYWORD = "simple-keyword"
NAVIGATOR = "breadth-depth-navigator"
ARCHAEOLOGY = "temporal-archaeology"
DECISIONS = "plan-decision-context"
EMBEDDING = "semantic-embedding"
FUSION = "arce"
NAMES = (KEYWORD, NAVIGATOR, ARCHAEOLOGY, DECISIONS, EMBEDDING, FUSION)

FOUND_MOST = 200
"""Nodes one strategy may bring."""
STARTS = 5
"""Without a focus, so many of the best hits are where walks begin."""
PURPOSE_WEIGHT = 0.4
ENTITY_WEIGHT = 1.5
"""Of named entities; what a question itself spells as a name is one."""
FADE = 0.5
"""What a step away from where a walk began costs."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How a node was reached: steps from where the walk began, and whether the first one was by containment."""

    hop: int
    contained: bool


@dataclass(slots=True)
class Search:
    """What strategies share for one request: terms, starting points, and what they learn."""

    request: ContextRequest
    corpus: Corpus
    focus: Sequence[str]
    terms: Mapping[str, float]
    hits: Ranked
    hit_uris: frozenset[str] = frozenset()
    reached: dict[str, Reach] = field(default_factory=dict)

    @property
    def starts(self) -> Sequence[str]:
        """Where walks begin: the focus, or the best hits where there is none."""
        return self.focus or [uri for uri, _ in self.hits[:STARTS]]


def start(request: ContextRequest, corpus: Corpus, focus: Sequence[str]) -> Search:
    """Read a request's words and look them up once."""
    terms = weigh_terms(
        (request.query or "", 1.0),
        (request.purpose, PURPOSE_WEIGHT),
        *((one, ENTITY_WEIGHT) for one in (*request.entities, *names_in(request.query or ""))),
    )
    hits = corpus.search(terms, FOUND_MOST) if terms else ()
    return Search(request, corpus, focus, terms, hits, frozenset(uri for uri, _ in hits))


def by_keyword(search: Search) -> Ranked:
    """BM25 over what nodes hold and are called."""
    return search.hits


def by_walking(search: Search) -> Ranked:
    """Outward from the focus along relations, `breadth` steps; cycles end where they meet what was seen."""
    scores = dict(search.hits)
    found: dict[str, float] = {}
    for uri in search.starts:
        search.reached.setdefault(uri, Reach(0, True))
        found.setdefault(uri, 1.0 if search.focus else scores.get(uri, 0.0))
    edge = list(search.starts)
    for hop in range(1, search.request.breadth + 1):
        outer: list[str] = []
        for uri in edge:
            for relation, other in search.corpus.neighbours(uri):
                if other in search.reached or len(found) >= FOUND_MOST:
                    continue
                contained = relation == CONTAINS if hop == 1 else search.reached[uri].contained
                search.reached[other] = Reach(hop, contained)
                near = found[uri] * FADE
                found[other] = min(1.0, near + scores.get(other, 0.0) * (1 - near))
                outer.append(other)
        edge = outer
    return sorted(found.items(), key=lambda pair: (search.reached[pair[0]].hop, -pair[1], pair[0]))


def by_time(search: Search) -> Ranked:
    """What was superseded or removed, the newest first; what the words say of it counts before its age."""
    scores = dict(search.hits)
    past = search.corpus.past()
    order = {uri: at for at, uri in enumerate(past)}
    ranked = sorted(past, key=lambda uri: (-scores.get(uri, 0.0), order[uri]))[:FOUND_MOST]
    return [(uri, max(scores.get(uri, 0.0), 0.3)) for uri in ranked]


def by_decision(search: Search) -> Ranked:
    """Pins, facts and decisions that the words touch; all of them where there are no words."""
    scores = dict(search.hits)
    chosen = search.corpus.chosen()
    order = {uri: at for at, uri in enumerate(chosen)}
    kept = [uri for uri in chosen if uri in scores or not search.terms]
    ranked = sorted(kept, key=lambda uri: (-scores.get(uri, 0.0), order[uri]))[:FOUND_MOST]
    return [(uri, max(scores.get(uri, 0.0), 0.3)) for uri in ranked]


def eligible(search: Search) -> dict[str, Callable[[Search], Ranked]]:
    """The strategies that have something to go by in this request, in a fixed order."""
    chosen: dict[str, Callable[[Search], Ranked]] = {}
    if search.terms:
        chosen[KEYWORD] = by_keyword
    if search.starts:
        chosen[NAVIGATOR] = by_walking
    if search.request.temporal in (TemporalScope.HISTORICAL, TemporalScope.ALL):
        chosen[ARCHAEOLOGY] = by_time
    chosen[DECISIONS] = by_decision
    return chosen
