"""The headers object of an answer (SPEC-029 §4.3, §9, §11): exact, or absent. Content never goes into a header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crp_mcp.core.freshness import is_current
from crp_mcp.core.model import Entry
from crp_mcp.store import Counters


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
