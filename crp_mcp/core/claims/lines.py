"""A statement against single lines of a text: said by one of them, or by one with another number. Knows no tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .document import Document
from .lexicon import OPS, ROW_NOUNS
from .model import Distortion, Outcome
from .words import LIGHT, STOP, Token, tokens

MOST_LINES = 5_000
LONGEST_LINE = 2_000
LEAST = 3
"""Telling words, numbers among them, that a statement must share with a line."""
_NOT = frozenset(("not", "no", "never", "none", "without", "cannot", "nor", "neither", "unable", "n't"))
_OF_SEVERAL = frozenset(
    ("last", "first", "once", "twice", "thrice", "times", "again", "always", "every", "each", "both")
)
"""Words that say something of several lines, which no single one can bear out."""


def said_in_line(
    text: str, document: Document, context: frozenset[str]
) -> tuple[Outcome, str, str, Distortion | None] | None:
    """(outcome, line, what is stated, kind) where one line decides a statement; None where none does."""
    said = tokens(text)
    if not document.lines or document.kind != "text" or _is_of_several(said):
        return None
    telling = _telling(said, context)
    if len(telling) < LEAST or not any(t.is_word for t in telling):
        return None
    near: list[tuple[str, Token]] = []
    for line in document.lines[:MOST_LINES]:
        found = tokens(line[:LONGEST_LINE])
        stems_of = {t.stem for t in found}
        missing = _missing(telling, stems_of)
        if len(missing) > 1 or _negated(said) != _negated(found):
            continue
        if not missing:
            return Outcome.SUPPORTED, line, text, None
        shared = {t.stem for t in said if t.low not in STOP} & stems_of
        if missing[0].is_number and len(shared) >= LEAST and _is_replaced(said, missing[0], found):
            near.append((line, missing[0]))
    if len(near) == 1 and not document.partial:
        return Outcome.CONTRADICTED, near[0][0], near[0][1].text, Distortion.NUMBER_CHANGED
    return None


def _is_of_several(said: Sequence[Token]) -> bool:
    lows = [t.low for t in said]
    operations = any(OPS.get((low,)) not in (None, "not", "none", "after", "before", "sum") for low in lows)
    return operations or bool(_OF_SEVERAL & set(lows)) or any(t.stem in ROW_NOUNS for t in said)


def _telling(said: Sequence[Token], context: frozenset[str]) -> list[Token]:
    """The words that a line must have: not those of grammar, of the call, or that only say what a code is."""
    out = []
    for token, following in pairwise([*said, None]):
        if token is None or not token.low[0].isalnum() or token.low in STOP or token.low in _NOT:
            continue
        coded = following is not None and any(c.isdigit() for c in following.low)
        labels = coded and following is not None and (token.stem in context or any(c.isalpha() for c in following.low))
        if token.is_number or not (labels or token.stem in LIGHT):
            out.append(token)
    return out


def _missing(telling: Sequence[Token], line: set[str]) -> list[Token]:
    out = []
    for token in telling:
        if token.stem not in line:
            out.append(token)
            if len(out) > 1:
                break
    return out


def _is_replaced(said: Sequence[Token], stated: Token, line: Sequence[Token]) -> bool:
    """Whether a line has another number where a statement has this one: between the same words."""
    before, after = _beside(said, stated)
    places = [_beside(line, t) for t in line if t.is_number and t.low != stated.low]
    return before is not None and any(b == before and after in (a, None) for b, a in places)


def _beside(words: Sequence[Token], one: Token) -> tuple[str | None, str | None]:
    at = words.index(one)
    before = words[at - 1].stem if at else None
    after = next((t.stem for t in words[at + 1 : at + 2] if t.low[0].isalnum() or t.low == "%"), None)
    return before, after


def _negated(words: Sequence[Token]) -> bool:
    return sum(t.low in _NOT or t.low.endswith("n't") for t in words) % 2 == 1
