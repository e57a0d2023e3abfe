"""Tells how an assembly came about: one line for a model (the preamble), many for a person (`--explain`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from crp_mcp.core.model import CountTokens

from .corpus import Ranked
from .reply import NO_ROOM

if TYPE_CHECKING:
    from .pack import Choice
    from .packing import Candidate
    from .reply import Left

SHOWN = 5
NAMED = 6
_LINE_MOST = 90
"""Tokens of a preamble; there is room for a cursor behind it."""


def preamble_of(
    shown: Sequence[Candidate], left: Sequence[Left], found: int, tokens: int, limit: int, count: CountTokens
) -> str | None:
    """What is here, what is not and what that needs; as much of it as there is room for."""
    room = min(limit - tokens, _LINE_MOST)
    if not found:
        parts = ["nothing found"]
    else:
        parts = [f"{len(shown)} of {found} found, {tokens:,} of {limit:,} tokens"]
        files = dict.fromkeys(one.node.resource_uri for one in shown)
        if len(files) > 1:
            parts.append(f"from {len(files)} places")
        cut = [one for one in left if one.why == NO_ROOM]
        if cut:
            parts.append("left out: " + ", ".join(f"{one.uri} ({one.tokens:,})" for one in cut[:NAMED]))
        if len(cut) > NAMED:
            parts.append(f"and {len(cut) - NAMED} more")
    line = ""
    for part in parts:
        longer = f"{line}; {part}" if line else part
        if count(longer) > room:
            break
        line = longer
    return line or None


def explain(
    rankings: Mapping[str, Ranked], candidates: Sequence[Candidate], choice: Choice, left: Sequence[Left]
) -> Iterator[str]:
    """Lines for a person: what each strategy found, how it was fused, what was shown how deep, what was cut and why."""
    for name, ranked in rankings.items():
        yield f"{name} ranked {len(ranked)} nodes"
        for rank, (uri, score) in enumerate(ranked[:SHOWN], start=1):
            yield f"  {rank:3}. {score:.3f}  {uri}"
    yield f"fused, the {len(candidates)} most relevant with equal content once"
    for number, one in enumerate(candidates):
        ranks = ", ".join(f"{name} {rank}" for name, rank in one.found.ranks.items())
        steps = " ".join(f"{option.depth}:{option.tokens}" for option in one.item.options)
        if number in choice:
            option = one.item.options[choice[number]]
            end = f"shown at depth {option.depth}, {option.tokens} tokens"
            end += "" if choice[number] == len(one.item.options) - 1 else f" (of {one.item.options[-1].tokens})"
        else:
            end = "not shown"
        yield f"  {one.found.relevance:.3f}  {one.node.uri}  [{ranks}]  {end}  (depth:tokens {steps})"
    if left:
        yield f"left out {len(left)}"
    for gone in left[: NAMED * 2]:
        yield f"  {gone.relevance:.3f}  {gone.uri}: {gone.why}" + (f", needs {gone.tokens}" if gone.tokens else "")
