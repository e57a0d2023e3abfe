"""The headers object of an answer (SPEC-029 §4.3, §9): exact, or absent. Content never goes into a header."""

from __future__ import annotations

from collections.abc import Mapping

from crp_mcp.core.ages import is_fresh
from crp_mcp.core.model import Entry
from crp_mcp.store import Counters


def headers_of(entry: Entry, counters: Counters, now: float) -> Mapping[str, str]:
    """Headers of an answer that used one entry. `counters` are the conversation's."""
    headers = {
        "CRP-Context-Scratch-Entries": f"{counters.entries}/{counters.pinned}",
        "CRP-Context-Scratch-Freshness": freshness_header(entry, now),
    }
    if entry.raw_token_count is not None and entry.summary is not None:
        headers["CRP-Context-Scratch-Tokens-Saved"] = str(counters.tokens_saved)
    if entry.receipt is not None:
        headers["Agent-Memory-Lineage-Receipt"] = entry.receipt
    return headers


def freshness_header(entry: Entry, now: float) -> str:
    """`fresh`, or `stale; age=240s; class=VOLATILE`."""
    age = now - entry.created_at
    if is_fresh(age, entry.freshness_ttl):
        return "fresh"
    return f"stale; age={max(0, int(age))}s; class={entry.volatility.value}"
