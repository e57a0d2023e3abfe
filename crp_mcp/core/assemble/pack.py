"""Packs renderings into a budget: what is told per token decides, and the budget is never passed.

Strategy: a multiple-choice knapsack. Greedy by gain per token over each item's next better rendering; the greedy's
weak spot, one large rendering it had no room left for, is tried again with that one taken first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

LARGE = 12
"""A rendering of more than one LARGEth of the budget may cost the greedy more than a few percent."""
TRIES = 24
FEW = 12
"""With no more items than this chosen, leaving each one out is tried too."""


@dataclass(frozen=True, slots=True)
class Option:
    """One rendering: depth, tokens with everything around it, and what it is worth."""

    depth: int
    tokens: int
    gain: float


@dataclass(frozen=True, slots=True)
class Item:
    """One node with its renderings, the shallow first. `key` orders what is otherwise equal."""

    key: str
    options: tuple[Option, ...]
    must: bool = False
    """Its shallowest rendering goes in before anything else, as far as there is room."""


Choice = dict[int, int]
"""Number of the item → number of its option. Items that are not in it were left out."""


def pack(items: Sequence[Item], budget: int) -> Choice:
    """The renderings to give, together at most `budget` tokens. Equal inputs give an equal choice."""
    base: Choice = {}
    left = budget
    for number, item in enumerate(items):
        if item.must and item.options and item.options[0].tokens <= left:
            base[number] = 0
            left -= item.options[0].tokens
    best = _greedy(items, budget, base)
    best_gain = gain_of(items, best)
    for number, option in _large(items, budget):
        tried = {**base, number: option}
        if tokens_of(items, tried) > budget:
            continue
        tried = _greedy(items, budget, tried)
        if (gain := gain_of(items, tried)) > best_gain + 1e-12:
            best, best_gain = tried, gain
    return _without_each(items, budget, base, best, best_gain)


def extend(items: Sequence[Item], budget: int, choice: Choice) -> Choice:
    """A choice made better with what room there is, nothing of it taken back."""
    return _greedy(items, budget, choice)


def tokens_of(items: Sequence[Item], choice: Choice) -> int:
    return sum(items[number].options[option].tokens for number, option in choice.items())


def gain_of(items: Sequence[Item], choice: Choice) -> float:
    return sum(items[number].options[option].gain for number, option in sorted(choice.items()))


def _greedy(items: Sequence[Item], budget: int, start: Choice, banned: int = -1) -> Choice:
    chosen = dict(start)
    left = budget - tokens_of(items, chosen)
    heap = []
    for number in range(len(items)):
        if number != banned and (step := _next(items, number, chosen.get(number, -1), left)):
            heap.append(step)
    heapify(heap)
    while heap:
        _, _, number, option, more = heappop(heap)
        if more <= left:
            chosen[number] = option
            left -= more
        step = _next(items, number, chosen.get(number, -1), left)
        if step:
            heappush(heap, step)
    return chosen


def _next(items: Sequence[Item], number: int, now: int, left: int) -> tuple[float, str, int, int, int] | None:
    """The best step up for one item that still fits: (-gain per token, key, item, option, tokens it adds)."""
    item = items[number]
    tokens, gain = (item.options[now].tokens, item.options[now].gain) if now >= 0 else (0, 0.0)
    best: tuple[float, str, int, int, int] | None = None
    for at in range(now + 1, len(item.options)):
        option = item.options[at]
        more = option.tokens - tokens
        if more > left or option.gain <= gain:
            continue
        step = (-(option.gain - gain) / max(more, 1), item.key, number, at, more)
        if best is None or step < best:
            best = step
    return best


def _large(items: Sequence[Item], budget: int) -> list[tuple[int, int]]:
    found = [
        (-option.gain, item.key, number, at)
        for number, item in enumerate(items)
        for at, option in enumerate(item.options)
        if budget < option.tokens * LARGE and option.tokens <= budget
    ]
    return [(number, at) for _, _, number, at in sorted(found)[:TRIES]]


def _without_each(items: Sequence[Item], budget: int, base: Choice, best: Choice, best_gain: float) -> Choice:
    improved = True
    while improved and len(best) <= FEW:
        improved = False
        for number in sorted(best):
            shallow = {n: o for n, o in best.items() if n != number or n in base}
            shallow |= {n: 0 for n in base if n == number}
            for start in (shallow, dict(base)):
                tried = _greedy(items, budget, start, banned=number)
                if (gain := gain_of(items, tried)) > best_gain + 1e-12:
                    best, best_gain, improved = tried, gain, True
                    break
            if improved:
                break
    return best
