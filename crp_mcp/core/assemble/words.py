"""Text as search terms: identifiers whole and in their parts, light stems, no filler words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_WORD = re.compile(r"[^\W_](?:\w*[^\W_])?")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_NAMED = re.compile(r"`+([^`\n]{1,80})`+|\b(\w*[a-z][A-Z]\w*|[^\W_]+(?:_[^\W_]+)+)\b")
_LONGEST = 64
_MEMO_MOST = 200_000

FILLER = frozenset(
    """
    a about above after all also am an and any are as at be because been before being below between both but by
    can could did do does doing don down during each else few for from further get had has have having he her here
    how i if in into is it its just let may me might more most must my no nor not now of off on once only or other
    our out over own same shall she should so some such than that the their them then there these they this those
    through to too under until up us very was we were what when where which while who whom why will with would you
    your self cls
    """.split()  # noqa: SIM905 - a list of words is read as words
)
"""Words too common to tell anything. Programming keywords are not among them: they are rare in questions."""

_memo: dict[str, tuple[str, ...]] = {}


def stem(word: str) -> str:
    """A lower-case word without the endings that English puts on it. Deliberately crude: equal for both sides."""
    if len(word) <= 3 or not word.isascii():
        return word
    for ending, put in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("ly", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word.endswith("ss")):
            word = word[: len(word) - len(ending)] + put
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def word_terms(word: str) -> tuple[str, ...]:
    """The terms of one word: itself, and its parts where it is `snake_case` or `camelCase`."""
    known = _memo.get(word)
    if known is not None:
        return known
    lower = word.lower()
    found: tuple[str, ...] = ()
    if lower not in FILLER and 1 < len(word) <= _LONGEST:
        parts = [part.lower() for part in _PART.findall(word)]
        stems = [stem(part) for part in parts if len(part) > 1 and part not in FILLER] if len(parts) > 1 else []
        found = tuple(dict.fromkeys([stem(lower) if len(parts) < 2 else lower, *stems]))
    if len(_memo) > _MEMO_MOST:
        _memo.clear()
    _memo[word] = found
    return found


def count_terms(texts: Iterable[str]) -> Counter[str]:
    """How often each term stands in the texts."""
    words: Counter[str] = Counter()
    for text in texts:
        words.update(_WORD.findall(text))
    found: Counter[str] = Counter()
    for word, times in words.items():
        for term in _memo.get(word) or word_terms(word):
            found[term] += times
    return found


def names_in(text: str) -> list[str]:
    """What a text spells as a name: in code quotes, or with capitals or underscores inside a word."""
    return [quoted or word for quoted, word in _NAMED.findall(text)]


def weigh_terms(*texts: tuple[str, float]) -> dict[str, float]:
    """Terms of several texts, each with the highest weight it came with. A term said twice counts no more than once."""
    found: dict[str, float] = {}
    for text, weight in texts:
        for word in _WORD.findall(text):
            terms = word_terms(word)
            for at, term in enumerate(terms):
                part = weight if at == 0 else weight * 0.7
                found[term] = max(found.get(term, 0.0), part)
    return found
