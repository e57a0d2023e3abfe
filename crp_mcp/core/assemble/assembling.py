"""One request, start to end: rank, fuse, choose, render, pack by tier, check the count, say what was done."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from crp_mcp.core.model import CountTokens
from crp_mcp.core.request.ladders import resolve_depth
from crp_mcp.core.request.models import (
    ContextBudget,
    ContextRequest,
)
from crp_mcp.core.request.nodes import MAX_DEPTH, Node, render

from . import strategies
from .choose import Told, check_backends, check_strategies, find_focus, keep, limit_of
from .corpus import About, Corpus, Ranked
from .depths import deepest
from .explain import explain
from .fuse import Found, fuse
from .intent import read_intent
from .pack import Item, Option
from .packing import SEPARATOR, Candidate, Packing
from .paging import Nodes, after, digest_of, key_of
from .reply import NO_ROOM, Left, Reply

RENDERED_MOST = 100
"""Nodes that are rendered and weighed; the others are counted as left out."""
CONTAINER_DEPTH = 8
"""What was only found by words and has parts of its own is shown no deeper: its parts are candidates themselves."""
EXCLUDED_MOST = 40
TELLS = (0.10, 0.13, 0.16, 0.22, 0.38, 0.46, 0.56, 0.66, 0.78, 1.0)
"""What a rendering of each depth tells, where the deepest tells all."""
STEEP = 2.0
"""A node half as relevant is worth a quarter."""
POSITION = 4.0
"""The node in this place counts half of the first, one in four times this place a fifth: scores fall too slowly."""


def assemble(
    request: ContextRequest,
    corpus: Corpus,
    *,
    budget: ContextBudget,
    count: CountTokens,
    implied: Sequence[str] = (),
    why: bool = False,
    before: Mapping[str, int] | None = None,
) -> Reply:
    """The context for a request. Equal inputs give an equal reply; never more than its budget.

    `implied`: nodes the question refers to without naming them; they count as focus. `why`: also tell a
    person how it came about. `before`: nodes, and how deep, that were delivered already: what is left comes now.

    Raises:
        BackendMissing: a required backend is not there. LevelError: `depth` is no level of any domain.
    """
    told = Told(request)
    check_backends(request, corpus.backends, told)
    depth = resolve_depth(request.depth)
    limit = limit_of(request, budget, told)
    search, rankings, found = _find(request, corpus, implied, told)
    _tell_rest(search, told, depth)
    if implied:
        told.did("query", f"{told.applied['query']}; refers to {', '.join(implied)}")
    intent = read_intent(request.query, refers=any(uri.startswith("uko-tool:") for uri in search.focus))
    nodes = cache(corpus.node)  # some are looked at more than once, and each may be read from a file
    rest = after(found, corpus, nodes, before) if before else found
    candidates, left = _render_all(search, rest, depth, nodes, count, before or ())
    packing = Packing(candidates, left, intent, count, limit, len(rest))
    reply = _reply(packing, told)
    return replace(
        reply,
        found={name: len(ranked) for name, ranked in rankings.items()},
        found_digest=digest_of(found, nodes),
        more=reply.more or len(rest) > RENDERED_MOST,
        explained=tuple(explain(rankings, candidates, packing.choice, packing.left)) if why else (),
    )


def _find(
    request: ContextRequest, corpus: Corpus, implied: Sequence[str], told: Told
) -> tuple[strategies.Search, Mapping[str, Ranked], list[tuple[Found, About]]]:
    """The search, what each strategy ranked, and all of it as one ranking. Raises BackendMissing."""
    focus = list(dict.fromkeys((*implied, *find_focus(request, corpus, told))))
    search = strategies.start(request, corpus, focus)
    rankings = {name: ranked for name, run in strategies.eligible(search).items() if (ranked := run(search))}
    preferred = check_strategies(request, [*rankings, *_fusion(rankings)], told)
    return search, rankings, keep(search, fuse(rankings, preferred), told)


def _reply(packing: Packing, told: Told) -> Reply:
    """What was packed, as a reply that does not say yet how it was found."""
    context, text, preamble = packing.fit()
    used = list(dict.fromkeys(name for one in packing.chosen for name in one.found.ranks))
    used += _fusion(dict.fromkeys(used))
    return Reply(
        context=context.model_copy(update={"strategies_used": used, "preamble": preamble}),
        text=text,
        budget=packing.limit,
        intent=packing.intent,
        tiers=packing.tiers(),
        shares=packing.intent.shares(packing.limit),
        applied=told.applied,
        ignored=told.ignored,
        excluded=tuple(packing.left[:EXCLUDED_MOST]),
        notes={one.node.uri: one.note for one in packing.chosen if one.note},
        more=any(one.why == NO_ROOM for one in packing.left),
    )


def _fusion(rankings: Collection[str]) -> list[str]:
    return [strategies.FUSION] if len(rankings) > 1 else []


def _tell_rest(search: strategies.Search, told: Told, depth: Mapping[str, int]) -> None:
    request = search.request
    steps = [reach.hop for reach in search.reached.values()]
    walked = f"walked {request.breadth} steps, reached {sum(1 for hop in steps if hop)} more nodes"
    told.did("breadth", walked) if steps else told.skipped("breadth", "nothing to walk from")
    whole = "; what the focus names as deep as fits" if search.focus and request.depth_gradient else ""
    told.did("depth", f"{request.depth} = {depth['uko:']}{whole}")
    told.did("depth_gradient", "deeper near the focus" if request.depth_gradient else "the same depth everywhere")
    if search.terms:
        told.did("query", f"searched for {len(search.terms)} terms, {len(search.hits)} nodes have some")
        told.did("purpose", f"its words searched for with weight {strategies.PURPOSE_WEIGHT}")
    else:
        told.skipped("query", "no words to search for")
        told.skipped("purpose", "no words to search for")


def _render_all(
    search: strategies.Search,
    found: Sequence[tuple[Found, About]],
    depth: Mapping[str, int],
    nodes: Nodes,
    count: CountTokens,
    before: Iterable[str] = (),
) -> tuple[list[Candidate], list[Left]]:
    """Candidates with their renderings; the same content only once, under the most relevant node that has it."""
    made: list[Candidate] = []
    seen: dict[str, int] = {}
    left: list[Left] = []
    had = {key_of(node): uri for uri in before if (node := nodes(uri)) is not None}
    for one, about in found[:RENDERED_MOST]:
        node = nodes(one.uri)
        if node is None:
            continue
        key = key_of(node)
        if key and key in had:
            left.append(Left(one.uri, 0, 0, one.relevance, f"same content as {had[key]}"))
            continue
        if key and key in seen:
            first = made[seen[key]]
            made[seen[key]] = replace(first, same=(*first.same, one.uri))
            left.append(Left(one.uri, 0, 0, one.relevance, f"same content as {first.node.uri}"))
            continue
        if key:
            seen[key] = len(made)
        most = min(deepest(search, one.uri, depth), node.deepest)
        if about.container and one.uri not in search.focus and most > 0:
            most = min(most, max(CONTAINER_DEPTH, depth["uko:"]))
        made.append(
            _candidate(one, about, node, search.corpus.note(one.uri), most, count, one.uri in search.focus, len(made))
        )
    return made, left


def _candidate(
    one: Found, about: About, node: Node, note: str, most: int, count: CountTokens, must: bool, position: int
) -> Candidate:
    texts: list[str] = []
    options: list[Option] = []
    worth = one.relevance**STEEP / ((1 + position / POSITION) if POSITION else 1)
    for depth in range(most + 1):
        text = render(node, depth)
        if texts and text == texts[-1]:
            options[-1] = replace(options[-1], depth=depth, gain=worth * _tells(node, depth, most))
            continue
        whole = (f"{note}\n{text}" if note else text) + SEPARATOR
        options.append(Option(depth, count(whole), worth * _tells(node, depth, most)))
        texts.append(text)
    item = Item(node.uri, tuple(options), must)
    return Candidate(one, about, node, note, most, tuple(texts), item)


def _tells(node: Node, depth: int, most: int) -> float:
    """What a rendering tells; a node without more to say has said all at the depth where its text ends."""
    return TELLS[MAX_DEPTH] if depth == most == MAX_DEPTH else TELLS[depth]
