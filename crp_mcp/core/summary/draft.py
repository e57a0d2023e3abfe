"""Drafts of a summary, richest first, and the choice of the first that fits. Knows nothing of kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crp_mcp.core.model import CountTokens

PREFIX = "| "
"""Begins every line but the first: no line of the data can be taken for one of ours."""
_MOST_BYTES = 8
"""Bytes a token above which a text is taken for too long without being counted. Dense data has 2 to 5."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One way to say it. Lines carry no prefix yet and no line ends; `shown` says what is and is not there."""

    shown: str
    ways: tuple[str, ...]
    lines: tuple[str, ...] = ()


Step = Callable[[], Draft]


def pointer(draft: Draft, scratch_id: str) -> str:
    """Our own line: what is not shown, the id, the way to it."""
    return f"{draft.shown}; {scratch_id}; use {' or '.join(draft.ways)}"


def written(draft: Draft, scratch_id: str) -> str:
    """The whole text of a draft."""
    return "\n".join([pointer(draft, scratch_id), *(PREFIX + line for line in draft.lines)])


class Fits:
    """Whether a text is within the cap, with as few counts as that takes (bytes bound tokens from above)."""

    def __init__(self, count: CountTokens, cap: int) -> None:
        self.cap = cap
        self._count = count

    def __call__(self, text: str) -> bool:
        size = len(text.encode("utf-8", "replace"))
        if size <= self.cap:
            return True
        return size <= _MOST_BYTES * self.cap and self._count(text) <= self.cap


def first_fit(steps: Sequence[Step], fits: Callable[[Draft], bool]) -> Draft | None:
    """The first step that fits, supposing that later ones are shorter; None where not even the last does.

    Takes about log2(steps) tries. What is returned has itself been tried.
    """
    first = steps[0]()
    if fits(first):
        return first
    best: Draft | None = None
    low, high = 1, len(steps)
    while low < high:
        middle = (low + high) // 2
        draft = steps[middle]()
        if fits(draft):
            best, high = draft, middle
        else:
            low = middle + 1
    return best
