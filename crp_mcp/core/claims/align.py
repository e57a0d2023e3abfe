"""Which results a claim may rest on: citations, names, phrases, columns, arguments and values in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .document import Document
from .lexicon import REPORT, ROW_NOUNS
from .model import Claim, Evidence, Options
from .words import LIGHT, STOP, Token, keys, name_words, stem, stems, tokens

GUESS = 0.5
"""The score of a result that hardly more than its being the latest speaks for: it may support, not contradict."""


@dataclass(frozen=True, eq=False)
class Aligned:
    """A result and why it may bear on the claim."""

    evidence: Evidence
    score: float


def align(claim: Claim, evidence: Sequence[Evidence], options: Options) -> list[Aligned]:
    """The results a claim is held against, likeliest first. A citation or an exact name leaves no choice."""
    if claim.cited:
        return [Aligned(e, 10.0) for e in evidence if e.scratch_id in claim.cited]
    if options.picked and len(evidence) <= options.max_evidence:
        return [Aligned(e, 1.0) for e in evidence]
    text = f"{claim.context} {claim.text}"
    words = _content(text)
    telling = _telling(text)
    scored = [Aligned(e, _score(e, words, telling, i / len(evidence))) for i, e in enumerate(evidence)]
    hinted = max(scored, key=lambda a: a.score, default=None)
    scored = [a for a in scored if a.score >= 1.0]
    scored.sort(key=lambda a: -a.score)
    if scored:
        top = scored[0].score
        return [a for a in scored if a.score >= top * 0.5][: options.max_evidence]
    guessed = [hinted.evidence] if hinted and hinted.score >= GUESS else list(evidence)[-1:]
    return [Aligned(e, GUESS) for e in guessed]


def bears(claim: Claim, evidence: Sequence[Evidence]) -> bool:
    """Whether anything given shares a name, a column or a value with a claim, or cannot be asked whether it does."""
    text = f"{claim.context} {claim.text}"
    words, telling = _content(text), _telling(text)
    return any((e.mentions is None and not e.columns) or _score(e, words, telling, 0.0) >= 1.0 for e in evidence)


def _content(text: str) -> frozenset[str]:
    return frozenset(t.stem for t in tokens(text) if t.is_word and t.low not in STOP and len(t.low) > 1)


def _telling(text: str) -> list[str]:
    """Names and numbers of a claim, as written: what a payload that bears on it is likely to hold."""
    found = tokens(text)
    return [
        t.text
        for i, t in enumerate(found)
        if (t.is_number and len(t.low) > 2)
        or (t.text[:1].isupper() and (i or len(found) > 1) and t.stem not in LIGHT and t.low not in STOP)
    ]


def _score(evidence: Evidence, words: frozenset[str], telling: Sequence[str], age: float) -> float:
    names = (
        frozenset(name_words(evidence.tool))
        | frozenset(name_words(evidence.server))
        | frozenset(w for n in evidence.names for w in name_words(n))
    )
    columns = frozenset(w for c in evidence.columns for w in name_words(c))
    score = 2.0 * len(words & (names - LIGHT)) + 1.5 * min(3, len(words & (columns - LIGHT)))
    score += 1.0 * len(words & columns & LIGHT) + 0.5 * len(words & names & LIGHT)
    arguments = frozenset(_argument_words(evidence))
    score += 2.0 * len(words & arguments)
    score += 2.0 * any(len(w) > 3 and w in a and w != a for w in words - LIGHT for a in arguments | names)
    if evidence.mentions is not None and telling and evidence.mentions(telling):
        score += 2.5
    return score + 0.4 * age if score else 0.3 * age


def _argument_words(evidence: Evidence) -> Iterable[str]:
    for value in evidence.args.values():
        if isinstance(value, str | int | float):
            for key in keys(str(value))[:40]:
                if key not in STOP and len(key) > 2:
                    yield stem(key)


LEAST_NAME = 4
"""Letters of a word that is looked for in payloads: shorter ones stand in any."""


def of_another(claim: Claim, one: Evidence, document: Document, evidence: Sequence[Evidence], *, by_name: bool) -> str:
    """A word of the claim that this result knows nothing of, and that another is about or holds; empty for none.

    Then the claim is likely about that other one. `by_name`: only what the other is called counts.
    """
    mine = context_of(one) | frozenset(w for c in one.columns for w in name_words(c))
    words = tokens(claim.text)
    for before, token in zip([None, *words], words, strict=False):
        general = token.stem in LIGHT and not _is_noun(before, token)
        if not token.is_word or token.low in STOP or general or token.stem in mine or _holds(document, token.stem):
            continue
        for other in evidence:
            named = other is not one and token.stem in context_of(other) - frozenset(name_words(other.server))
            held = not by_name and other is not one and other.mentions is not None and _mentioned(other, token.text)
            if named or (held and token.stem not in LIGHT and len(token.low) >= LEAST_NAME - token.text[:1].isupper()):
                return token.text
    return ""


def _is_noun(before: Token | None, token: Token) -> bool:
    """Whether a word that is mostly said of anything stands as the name of something here (`the run`, `orders`)."""
    if token.stem in ROW_NOUNS or token.stem in REPORT:
        return False
    plural = token.low.endswith("s") and token.low != token.stem
    return plural or (before is not None and (before.low in _DETERMINERS or before.low.endswith("est")))


_DETERMINERS = frozenset(("the", "this", "that", "each", "every", "no", "a", "an"))


def _mentioned(evidence: Evidence, word: str) -> bool:
    """Whether a payload has a word of its own: quoted, or as the start of something longer."""
    forms = {word, word.lower(), word.capitalize()}
    tests = [f"{a}{form}{b}" for form in forms for a, b in (('"', '"'), ('"', " "), (" ", " "), (",", ","))]
    return evidence.mentions is not None and evidence.mentions(tests)


def _holds(document: Document, root: str) -> bool:
    """Whether a word is what rows, a column or a cell of a result is called."""
    if any(
        root in t.nouns or any(root in c.path_words or root in c.postings for c in t.columns) for t in document.tables
    ):
        return True
    return any(root in stems(line) for line in document.lines[:2000])


def context_of(evidence: Evidence) -> frozenset[str]:
    """Words that the call itself accounts for: its tool, server, arguments and names."""
    words = set(_argument_words(evidence))
    for name in (evidence.tool, evidence.server, *evidence.names, *evidence.args):
        words.update(name_words(str(name)))
    return frozenset(words)
