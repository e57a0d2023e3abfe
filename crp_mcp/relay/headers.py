"""The headers object of an answer (SPEC-029 §4.3, §9, §11): exact, or absent. Content never goes into a header."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from crp_mcp.core.freshness import is_current
from crp_mcp.core.model import Entry, Scope
from crp_mcp.store import Counters, SqliteStore

from .buffer import Buffer


@dataclass(frozen=True, slots=True)
class Headers:
    """Makes the headers of answers in one store."""

    store: SqliteStore
    buffer: Buffer
    now: Callable[[], float]

    def __call__(
        self, scope: Scope, used: Sequence[Entry] = (), saved: int | None = None, receipt: str | None = None
    ) -> Mapping[str, str]:
        """Headers of an answer in a conversation; see `headers_of`."""
        full = self.buffer.is_over(scope)
        return headers_of(used, self.store.counters(scope), self.now(), saved=saved, full=full, receipt=receipt)

    def of_entries(self, used: Sequence[Entry], saved: int | None) -> Mapping[str, str]:
        """Headers of an answer in the conversation of what it uses."""
        return self(used[0].scope, used, saved)


def headers_of(
    used: Sequence[Entry],
    counters: Counters,
    now: float,
    *,
    saved: int | None = None,
    full: bool = False,
    receipt: str | None = None,
) -> Mapping[str, str]:
    """Headers of an answer. `used`: the entries it gives something of; `counters` are the conversation's.

    `saved`: tokens of what was used less the tokens sent, never negative; None where that is not known. `receipt`:
    the answer's own; without one, that of the entry if it gives something of one alone.
    """
    headers = {"CRP-Context-Scratch-Entries": f"{counters.entries}/{counters.pinned}"}
    if used:
        headers["CRP-Context-Scratch-Freshness"] = worst_freshness(used, now)
    if saved is not None:
        headers["CRP-Context-Scratch-Tokens-Saved"] = str(saved)
    if full:
        headers["CRP-Context-Scratch-Full"] = "true"
    receipt = receipt or (used[0].receipt if len(used) == 1 else None)
    if receipt is not None:
        headers["Agent-Memory-Lineage-Receipt"] = receipt
    return headers


def worst_freshness(used: Sequence[Entry], now: float) -> str:
    """`fresh`, or `stale; age=240s; class=VOLATILE` of the oldest stale one."""
    stale = [entry for entry in used if not is_current(entry, now)]
    if not stale:
        return "fresh"
    oldest = min(stale, key=lambda entry: entry.created_at)
    return f"stale; age={max(0, int(now - oldest.created_at))}s; class={oldest.volatility.value}"
