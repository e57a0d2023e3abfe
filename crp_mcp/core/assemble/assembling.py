"""One request, start to end: rank, fuse, choose, render, pack by tier, check the count, say what was done."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import orjson

from crp_mcp.core.model import CountTokens
from crp_mcp.core.request.ladders import resolve_depth
from crp_mcp.core.request.models import (
    AssembledContext,
    ContextBudget,
    ContextFragment,
    ContextRequest,
    FragmentProvenance,
)
from crp_mcp.core.request.nodes import MAX_DEPTH, Node, render

from . import strategies
from .choose import Told, check_backends, check_strategies, find_focus, keep, limit_of
from .corpus import About, Corpus
from .depths import deepest
from .explain import explain, preamble_of
from .fuse import Found, fuse
from .intent import Intent, read_intent
from .pack import Choice, Item, Option, extend, pack
from .paging import Nodes, after, digest_of, key_of
from .reply import NO_ROOM, Left, Reply

RENDERED_MOST = 100
"""Nodes that are rendered and weighed; the others are counted as left out."""
CONTAINER_DEPTH = 8
"""What was only found by words and has parts of its own is shown no deeper: its parts are candidates themselves."""
EXCLUDED_MOST = 40
PREAMBLE_TOKENS = 120
TELLS = (0.10, 0.13, 0.16, 0.22, 0.38, 0.46, 0.56, 0.66, 0.78, 1.0)
"""What a rendering of each depth tells, where the deepest tells all."""
STEEP = 2.0
"""A node half as relevant is worth a quarter."""
POSITION = 4.0
"""The node in this place counts half of the first, one in four times this place a fifth: scores fall too slowly."""
SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that may be delivered: its renderings by option number, and who found it."""

    found: Found
    about: About
    node: Node
    note: str
    deepest: int
    texts: tuple[str, ...]
    item: Item
    same: tuple[str, ...] = ()

    def delivered(self, option: int) -> str:
        """The text with what must be said beside it."""
        return f"{self.note}\n{self.texts[option]}" if self.note else self.texts[option]


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
    focus = list(dict.fromkeys((*implied, *find_focus(request, corpus, told))))
    search = strategies.start(request, corpus, focus)
    rankings = {name: ranked for name, run in strategies.eligible(search).items() if (ranked := run(search))}
    preferred = check_strategies(request, [*rankings, *_fusion(rankings)], told)
    found = keep(search, fuse(rankings, preferred), told)
    _tell_rest(search, told, depth)
    if implied:
        told.did("query", f"{told.applied['query']}; refers to {', '.join(implied)}")
    intent = read_intent(request.query, refers=any(uri.startswith("uko-tool:") for uri in focus))
    nodes = cache(corpus.node)  # some are looked at more than once, and each may be read from a file
    rest = after(found, corpus, nodes, before) if before else found
    candidates, left = _render_all(search, rest, depth, nodes, count, before or ())
    packing = _Packing(candidates, left, intent, count, limit, len(rest))
    context, text, preamble = packing.fit()
    used = list(dict.fromkeys(name for one in packing.chosen for name in one.found.ranks))
    used += _fusion(dict.fromkeys(used))
    return Reply(
        context=context.model_copy(update={"strategies_used": used, "preamble": preamble}),
        text=text,
        budget=limit,
        intent=intent,
        tiers=packing.tiers(),
        shares=intent.shares(limit),
        applied=told.applied,
        ignored=told.ignored,
        excluded=tuple(packing.left[:EXCLUDED_MOST]),
        found={name: len(ranked) for name, ranked in rankings.items()},
        notes={one.node.uri: one.note for one in packing.chosen if one.note},
        more=len(rest) > RENDERED_MOST or any(one.why == NO_ROOM for one in packing.left),
        found_digest=digest_of(found, nodes),
        explained=tuple(explain(rankings, candidates, packing.choice, packing.left)) if why else (),
    )


def _fusion(rankings: Collection[str]) -> list[str]:
    return [strategies.FUSION] if len(rankings) > 1 else []


def _tell_rest(search: strategies.Search, told: Told, depth: Mapping[str, int]) -> None:
    request = search.request
    steps = [reach.hop for reach in search.reached.values()]
    walked = f"walked {request.breadth} steps, reached {sum(1 for hop in steps if hop)} more nodes"
    told.did("breadth", walked) if steps else told.skipped("breadth", "nothing to walk from")
    told.did("depth", f"{request.depth} = {depth['uko:']}")
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


class _Packing:
    """Candidates packed by tier, then counted as they will be delivered, until they fit."""

    def __init__(
        self, candidates: list[Candidate], left: list[Left], intent: Intent, count: CountTokens, limit: int, found: int
    ) -> None:
        self._all, self._left, self._intent, self._count, self._limit = candidates, left, intent, count, limit
        self._found = found
        self.choice: Choice = {}
        self.left: list[Left] = []
        self._inside: dict[int, str] = {}

    @property
    def chosen(self) -> list[Candidate]:
        return [self._all[number] for number in sorted(self.choice)]

    def fit(self) -> tuple[AssembledContext, str, str | None]:
        """Pack, compose and count; on the rare text that counts higher in one piece, pack tighter."""
        reserve = min(PREAMBLE_TOKENS, self._limit // 6)
        room = self._limit - reserve
        while True:
            self._pack(max(0, room))
            self._leave()
            text = SEPARATOR.join(self._all[number].delivered(option) for number, option in sorted(self.choice.items()))
            tokens = self._count(text) if text else 0
            shown = [self._all[number] for number in sorted(self.choice)]
            preamble = (
                preamble_of(shown, self.left, self._found, tokens, self._limit, self._count) if self._limit else None
            )
            total = tokens + (self._count(preamble) if preamble else 0)
            if total <= self._limit:
                return self._context(total, preamble), text, preamble
            room -= total - self._limit

    def tiers(self) -> dict[str, int]:
        """Tokens delivered of each tier."""
        given = dict.fromkeys(self._intent.percent, 0)
        for number, option in self.choice.items():
            given[self._all[number].about.tier] += self._all[number].item.options[option].tokens
        return given

    def _pack(self, room: int) -> None:
        self._inside = {}
        for _ in range(4):
            self.choice = self._pack_tiers(room)
            inside = self._contained()
            if not inside:
                return
            self._inside |= inside
        for number in self._contained():
            del self.choice[number]

    def _pack_tiers(self, room: int) -> Choice:
        tiers: dict[str, list[int]] = {}
        for number, one in enumerate(self._all):
            if number not in self._inside:
                tiers.setdefault(one.about.tier, []).append(number)
        choice: Choice = {}
        for tier, grant in _grants(self._intent, room, {t: self._need(ns) for t, ns in tiers.items()}).items():
            numbers = tiers[tier]
            picked = pack([self._all[number].item for number in numbers], grant)
            choice |= {numbers[at]: option for at, option in picked.items()}
        if len(tiers) > 1:
            items = [Item("", ()) if n in self._inside else one.item for n, one in enumerate(self._all)]
            choice = extend(items, room, choice)
        return choice

    def _need(self, numbers: Sequence[int]) -> int:
        return sum(max(option.tokens for option in self._all[number].item.options) for number in numbers)

    def _contained(self) -> dict[int, str]:
        """Chosen nodes whose whole content stands in another chosen one."""
        full = {
            self._all[number].node.uri
            for number, option in self.choice.items()
            if self._all[number].node.whole and self._all[number].item.options[option].depth >= MAX_DEPTH
        }
        inside = {}
        for number in self.choice:
            parent = self._all[number].about.parent
            if parent in full:
                inside[number] = str(parent)
        return inside

    def _leave(self) -> None:
        """What was found and is not delivered, the most relevant first."""
        left = list(self._left)
        for number, one in enumerate(self._all):
            if number in self.choice:
                continue
            parent = self._inside.get(number)
            why = f"stands in {parent}" if parent else NO_ROOM
            last = one.item.options[-1]
            left.append(Left(one.node.uri, last.depth, last.tokens, one.found.relevance, why))
        self.left = sorted(left, key=lambda one: (-one.relevance, one.uri))

    def _context(self, total: int, preamble: str | None) -> AssembledContext:
        fragments = [self._fragment(self._all[number], option) for number, option in sorted(self.choice.items())]
        body = [[f.uko_node, f.detail_depth, hashlib.sha256(f.content.encode()).hexdigest()] for f in fragments]
        return AssembledContext(
            fragments=fragments,
            total_tokens=total,
            budget_used=round(total / self._limit, 6) if self._limit else 0.0,
            context_hash="sha256:" + hashlib.sha256(orjson.dumps(body)).hexdigest(),
            preamble=preamble,
            provenance_map={
                f.uko_node: {"resource_uri": f.provenance.resource_uri, "location": f.provenance.location}
                for f in fragments
            },
        )

    def _fragment(self, one: Candidate, option: int) -> ContextFragment:
        content = one.texts[option]
        metadata: dict[str, object] = {"tier": one.about.tier, "ranks": dict(one.found.ranks)}
        if one.same:
            metadata["same_content"] = list(one.same)
        return ContextFragment(
            uko_node=one.node.uri,
            content=content,
            detail_depth=one.item.options[option].depth,
            token_count=self._count(content),
            relevance_score=one.found.relevance,
            provenance=FragmentProvenance(
                resource_uri=one.node.resource_uri, location=one.node.location, strategy=one.found.strategy
            ),
            metadata=metadata,
        )


def _grants(intent: Intent, room: int, need: dict[str, int]) -> dict[str, int]:
    """Tokens for each tier that has something: its share, and of what others leave its part by weight."""
    grants: dict[str, int] = {}
    waiting = dict(need)
    left = room
    while waiting:
        weights = sum(intent.percent[tier] for tier in waiting)
        shares = {tier: intent.percent[tier] * left // weights for tier in waiting}
        content = [tier for tier in waiting if waiting[tier] <= shares[tier]]
        if not content:
            return grants | shares
        for tier in content:
            grants[tier] = waiting.pop(tier)
            left -= grants[tier]
    return grants
