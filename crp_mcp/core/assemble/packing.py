"""Packs candidates by tier into a budget, puts the text together and counts it as it will be delivered."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from crp_mcp.core.model import CountTokens
from crp_mcp.core.request.models import AssembledContext, ContextFragment, FragmentProvenance
from crp_mcp.core.request.nodes import MAX_DEPTH, Node

from .corpus import About
from .explain import preamble_of
from .fuse import Found
from .intent import Intent
from .pack import Choice, Item, extend, pack
from .reply import NO_ROOM, Left

PREAMBLE_TOKENS = 120
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


class Packing:
    """Candidates packed by tier, then counted as they will be delivered, until they fit."""

    def __init__(
        self, candidates: list[Candidate], left: list[Left], intent: Intent, count: CountTokens, limit: int, found: int
    ) -> None:
        self._all, self._left, self._count, self._found = candidates, left, count, found
        self.intent, self.limit = intent, limit
        self.choice: Choice = {}
        self.left: list[Left] = []
        self._inside: dict[int, str] = {}

    @property
    def chosen(self) -> list[Candidate]:
        return [self._all[number] for number in sorted(self.choice)]

    def fit(self) -> tuple[AssembledContext, str, str | None]:
        """Pack, compose and count; on the rare text that counts higher in one piece, pack tighter."""
        reserve = min(PREAMBLE_TOKENS, self.limit // 6)
        room = self.limit - reserve
        while True:
            self._pack(max(0, room))
            self._leave()
            text = SEPARATOR.join(self._all[number].delivered(option) for number, option in sorted(self.choice.items()))
            tokens = self._count(text) if text else 0
            shown = [self._all[number] for number in sorted(self.choice)]
            preamble = (
                preamble_of(shown, self.left, self._found, tokens, self.limit, self._count) if self.limit else None
            )
            total = tokens + (self._count(preamble) if preamble else 0)
            if total <= self.limit:
                return self._context(total, preamble), text, preamble
            room -= total - self.limit

    def tiers(self) -> dict[str, int]:
        """Tokens delivered of each tier."""
        given = dict.fromkeys(self.intent.percent, 0)
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
        for tier, grant in _grants(self.intent, room, {t: self._need(ns) for t, ns in tiers.items()}).items():
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
            budget_used=round(total / self.limit, 6) if self.limit else 0.0,
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
