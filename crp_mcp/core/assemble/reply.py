"""What an assembly answers: the context, what each field did, what was left out, and how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crp_mcp.core.request.models import AssembledContext, ContextFragment

from .intent import Intent

NO_ROOM = "did not fit"


@dataclass(frozen=True, slots=True)
class Left:
    """A node that was found and not delivered: `tokens` is what it needs at `depth`."""

    uri: str
    depth: int
    tokens: int
    relevance: float
    why: str


@dataclass(frozen=True, slots=True)
class Reply:
    """An assembly. `text` is what a reader is given: fragments with their notes, the preamble not among them."""

    context: AssembledContext
    text: str
    budget: int
    intent: Intent
    tiers: Mapping[str, int]
    """Tokens delivered of each tier."""
    shares: Mapping[str, int]
    """Tokens each tier was due by the intent, before what others left."""
    applied: Mapping[str, str]
    ignored: Mapping[str, str]
    excluded: tuple[Left, ...] = ()
    found: Mapping[str, int] = field(default_factory=dict)
    """How many nodes each strategy ranked."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """uri → what a reader was told beside it."""
    explained: tuple[str, ...] = ()
    more: bool = False
    """Whether something that was found is left for a next answer."""
    found_digest: str = ""
    """What was found, delivered or not: equal as long as neither the files nor what is stored have changed."""

    @property
    def fragments(self) -> list[ContextFragment]:
        return self.context.fragments

    def to_json(self, *, content: bool = True) -> dict[str, Any]:
        """The AssembledContext by its names, and ours beside them; without content for who has the text already."""
        made = self.context.model_dump(mode="json")
        if not content:
            for fragment in made["fragments"]:
                del fragment["content"]
        made["intent"] = self.intent.text
        made["blend"] = {tier: percent / 100 for tier, percent in self.intent.percent.items()}
        made["shares"], made["tiers"] = dict(self.shares), dict(self.tiers)
        made["applied"], made["ignored"] = dict(self.applied), dict(self.ignored)
        made["excluded"] = [
            {"uko_node": one.uri, "detail_depth": one.depth, "tokens_needed": one.tokens, "reason": one.why}
            for one in self.excluded
        ]
        return made
