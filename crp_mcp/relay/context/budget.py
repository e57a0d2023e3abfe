"""How much of the context window is used: what was counted of what this conversation got, and what is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crp_mcp.core.freshness import is_current
from crp_mcp.core.request.models import ContextBudget, ContextRequest
from crp_mcp.errors import BadRequest
from crp_mcp.relay.using import Ask
from crp_mcp.store import SqliteStore, history

WINDOW_TOKENS = 128_000
"""A context window nobody told us of counts as this large."""
ANSWER_TOKENS = 2_000
"""Tokens of an answer that did not ask for another number."""
RECENT = 200


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens, of the counter named. `used` holds what was counted: summaries, and contexts delivered on request."""

    max_tokens: int
    told: bool
    """Whether somebody said how large the window is."""
    reserved: int
    used: int
    by_tier: dict[str, int]
    summaries: int
    saved: int
    entries: int
    pinned: int
    stale: int
    recent: int
    counter: str

    @property
    def available(self) -> int:
        return self.max_tokens - self.reserved

    @property
    def remaining(self) -> int:
        return max(0, self.available - self.used)

    def line(self) -> str:
        window = f"{self.max_tokens:,} tokens" + ("" if self.told else " (a default: nobody told us the window)")
        tiers = ", ".join(f"{tier} {tokens:,}" for tier, tokens in self.by_tier.items())
        return (
            f"{self.remaining:,} of {window} remain; {self.reserved:,} reserved; {self.used:,} used: "
            f"{self.summaries:,} by summaries and counted results, on request {tiers}; {self.saved:,} saved; "
            f"{self.pinned} of {self.entries} results pinned, {self.stale} of the newest {self.recent} stale; "
            f"counted with {self.counter}. Results passed on untouched and the host's own text come on top"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "max_tokens": self.max_tokens,
            "max_is_default": not self.told,
            "reserved_tokens": self.reserved,
            "available_tokens": self.available,
            "used_tokens": self.used,
            "remaining_tokens": self.remaining,
            "by_tier": self.by_tier,
            "pinned_share": round(self.pinned / self.entries, 4) if self.entries else 0.0,
            "stale_share": round(self.stale / self.recent, 4) if self.recent else 0.0,
            "tokens_saved": self.saved,
            "counter": self.counter,
        }


@dataclass(slots=True)
class Budgets:
    """Budgets of one store's conversations. `window`: tokens of the model's window, None where nobody said."""

    store: SqliteStore
    now: Callable[[], float]
    counter_name: Callable[[], str]
    window: int | None = None

    def of(self, ask: Ask, window: int | None = None, reserved: int = 0) -> Budget:
        """The budget as it is now. Raises BadRequest where more is reserved than there is."""
        told = window or ask.window or self.window
        most = told or WINDOW_TOKENS
        if reserved > most:
            raise BadRequest(f"get_context_budget: `reserved_tokens` ({reserved}) is more than max_tokens ({most})")
        counters = self.store.counters(ask.scope)
        total, persistent, conversation, ephemeral = self.store.ask(history.delivered, ask.scope)
        newest = self.store.list(ask.scope, limit=RECENT).entries
        now = self.now()
        counted = max(0, counters.raw_tokens - counters.tokens_saved)
        return Budget(
            max_tokens=most,
            told=told is not None,
            reserved=reserved,
            used=total + counted,
            by_tier={"P": persistent, "C": conversation, "E": ephemeral},
            summaries=counted,
            saved=counters.tokens_saved,
            entries=counters.entries,
            pinned=counters.pinned,
            stale=sum(1 for entry in newest if not is_current(entry, now)),
            recent=len(newest),
            counter=self.counter_name(),
        )

    def for_request(self, ask: Ask, request: ContextRequest) -> ContextBudget:
        """What an answer may have: what remains, and no more than an answer's usual size unless it asks for more."""
        remaining = self.of(ask).remaining
        return ContextBudget(max_tokens=remaining if request.max_tokens is not None else min(remaining, ANSWER_TOKENS))
