"""Whether a sentence only says again what somebody said: word for word, or with another number. Knows no tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .model import Distortion, Outcome
from .split import sentences
from .weigh import Judged
from .words import STOP, Token, tokens

_QUESTION = re.compile(r"\?\s*[\"'”’)]*\s*$")
_NOT = frozenset(("not", "no", "never", "none", "without", "cannot", "nor", "neither"))
LEAST = 2
"""Telling words that a sentence must have besides its numbers, to be known again."""


def restates(claim: str, text: str) -> Judged | None:
    """The claim held against each statement of a text, the last that says the like deciding; None where none does."""
    mine = _content(claim)
    if sum(not t.is_number for t in mine) < LEAST:
        return None
    found: Judged | None = None
    for begin, end in sentences(text):
        said = text[begin:end]
        if not _QUESTION.search(said):
            found = _compare(mine, _negated(claim), said) or found
    return found


def _compare(mine: list[Token], negated: bool, said: str) -> Judged | None:
    for window in _windows(_content(said), len(mine)):
        differing = [(a, b) for a, b in zip(mine, window, strict=True) if a.stem != b.stem]
        shown = " ".join(said.split())[:160]
        if not differing:
            if negated == _negated(said):
                return Judged(Outcome.SUPPORTED, 0.2, "as said", shown, "the same", frame="restated")
            return Judged(
                Outcome.CONTRADICTED, 0.2, "as said", shown, "the opposite", Distortion.NEGATION_FLIP, frame="restated"
            )
        if len(differing) == 1 and all(t.is_number for t in differing[0]) and negated == _negated(said):
            stated, found = differing[0]
            return Judged(
                Outcome.CONTRADICTED, 0.2, "as said", found.text, stated.text, Distortion.NUMBER_CHANGED,
                frame="restated",
            )  # fmt: skip
    return None


def _content(text: str) -> list[Token]:
    """The words that say something, in order."""
    return [t for t in tokens(text) if t.is_number or (t.is_word and t.low not in STOP)]


def _negated(text: str) -> bool:
    return sum(t.low in _NOT or t.low.endswith("n't") for t in tokens(text)) % 2 == 1


def _windows(words: list[Token], size: int) -> Iterator[list[Token]]:
    for start in range(len(words) - size + 1):
        yield words[start : start + size]
