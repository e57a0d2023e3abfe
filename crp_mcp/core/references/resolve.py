"""Weighs phrases against earlier results: the most recent one *of the type that was said*, or none (SPEC-029 §7).

Strategy: evidence for a word comes from the tool's name, its class, the shape, the columns, the arguments, and only
then from values; results whose evidence is about as good as the best are alike, and the most recent of them is meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .candidate import Candidate
from .evidence import evidence, foreign_noun, word_evidence
from .phrases import OLDEST, Phrase, content_stems, find_phrases, phrase_of
from .spelled import literals_in, named_in, unknown_id
from .words import NEAR

ALIKE = 0.75
"""Share of the best evidence from which on results count as equally meant."""
ENOUGH = 0.3
POINTS = 0.9
"""Weight from which on a phrase points back by itself: "those", "other", "the last", "you found"."""
RUNNERS_UP = 3
_ANCHOR = re.compile(r"\s(?:from\s+)?(?P<where>before|after)\s+(?P<what>(?:the|that|this|those|these)\s+[^.?!]+)", re.I)
_NONE: frozenset[str] = frozenset()
TOPIC_WORDS = 2
"""So many words of a sentence must be columns of an older result before "any of those" means that one."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """`id` None: unresolved. `why` says what decided, `others` lists what else it could have meant, best first."""

    id: str | None
    why: str
    phrase: str = ""
    others: tuple[str, ...] = ()
    several: tuple[str, ...] = ()
    """Where one phrase means several results, which: `id` is None then."""


def resolve(sentence: str, earlier: Sequence[Candidate]) -> Resolution:
    """What a sentence refers to among `earlier` results, oldest first. Never a guess: without evidence, nothing."""
    return _decide(sentence, find_phrases(sentence), earlier)


def resolve_phrase(phrase: str, earlier: Sequence[Candidate]) -> Resolution:
    """The same for a bare reference phrase, as an argument of a tool gives it: "query result", "the second one"."""
    phrases = phrase_of(phrase)
    foreign = foreign_noun(phrases, earlier)
    if foreign and earlier and not (named_in(phrase, earlier) or unknown_id(phrase) or literals_in(phrase, earlier)):
        return Resolution(None, f"nothing stored answers to {foreign!r}", phrase)
    return _decide(phrase, phrases, earlier)


def _decide(text: str, phrases: Sequence[Phrase], earlier: Sequence[Candidate]) -> Resolution:
    if not earlier:
        return Resolution(None, "nothing is stored yet")
    named = named_in(text, earlier)
    if named is not None:
        return Resolution(named.id, "its id or name was said", named.name or named.id)
    if unknown := unknown_id(text):
        return Resolution(None, f"there is no {unknown}", unknown)
    cut = _cut_at_anchor(text, earlier)
    if cut is not None:
        return _decide(cut[0], phrase_of(cut[0]), cut[1])
    phrases = [*phrases, *literals_in(text, earlier)]
    if not phrases:
        return Resolution(None, "no phrase refers to an earlier result")
    phrases = [settled for one in phrases if (settled := _settle(one, earlier)) is not None]
    if not phrases:
        return Resolution(None, "nothing stored answers to its words")
    typed = [one for one in phrases if one.head is not None or one.count is not None]
    scores = [sum(one.weight * evidence(one, c, earlier) for one in typed) for c in earlier]
    best = max(scores)
    if best >= ENOUGH:
        alike = [c for c, score in zip(earlier, scores, strict=True) if score >= ALIKE * best]
        leading = max(typed, key=lambda one: one.weight * max(evidence(one, c, earlier) for c in alike))
        if leading.several:
            return _means_several(leading, alike)
        alike = _asked_for(leading, alike)
        if leading.ordinal is None and not leading.size:
            alike = _several(leading, alike)
        if leading.ordinal in (None, -1):
            alike = _got_by(typed, alike)
        return _pick(leading, alike, earlier, "the most recent result of that type")
    free = [one for one in phrases if one.head is None and one.count is None]
    if free and free[0].several and not typed:
        counted = [c for c in earlier if c.rows == free[0].several]
        return _pick(free[0], counted, earlier, "its rows") if counted else _means_several(free[0], list(earlier))
    strong = [one for one in typed if one.weight >= 0.9]
    if not free or (strong and max(one.weight for one in free) < 0.6):
        said = (strong or typed)[0].text
        return Resolution(None, f"no earlier result is of the type said by {said!r}", said)
    return _untyped(max(free, key=lambda one: one.weight), text, earlier)


def _means_several(phrase: Phrase, alike: Sequence[Candidate]) -> Resolution:
    """So many of the results that are meant, the newest of them unless the first are said."""
    number = phrase.several
    if len(alike) < number:
        why = f"there are {len(alike)} such results, fewer than {phrase.text!r} says"
        return Resolution(None, why, phrase.text, tuple(c.id for c in reversed(alike)))
    chosen = alike[:number] if phrase.ordinal in (1, OLDEST) else alike[-number:]
    ids = tuple(c.id for c in chosen)
    return Resolution(None, ", ".join(ids), phrase.text, ids, ids)


def _asked_for(phrase: Phrase, alike: list[Candidate]) -> list[Candidate]:
    """Those that have what the phrase says after a preposition (`the flights to Oslo`), where some do."""
    known = [(c, (c.tables, c.asked_words, c.column_words | c.value_words)) for c in alike]
    for kind in range(3):  # what was read, what was asked, what it holds
        if found := [c for c, words in known if phrase.near & words[kind]]:
            return found
    return alike


def _cut_at_anchor(text: str, earlier: Sequence[Candidate]) -> tuple[str, Sequence[Candidate]] | None:
    """ "The query before the git log": the words before that, and the results it leaves; None where it says nothing."""
    found = _ANCHOR.search(text)
    if found is None or not phrase_of(text[: found.start()]):
        return None
    anchor = _decide(found["what"], find_phrases(found["what"]), earlier).id
    if anchor is None:
        return None
    at = next(number for number, c in enumerate(earlier) if c.id == anchor)
    left = earlier[:at] if found["where"].lower() == "before" else earlier[:at:-1]  # the nearest stands last
    return (text[: found.start()], left) if left else None


def _got_by(typed: Sequence[Phrase], alike: list[Candidate]) -> list[Candidate]:
    """ "The file you read": those whose tool is named after what was done, where there are some."""
    verbs = {one.verb for one in typed if one.verb}
    return [
        c for c in alike if any(verb in c.tool_words or NEAR.get(verb, _NONE) & c.tool_words for verb in verbs)
    ] or alike


def _settle(phrase: Phrase, earlier: Sequence[Candidate]) -> Phrase | None:
    """The phrase with the last of its nouns that any result answers to as its head: the others may be no nouns.

    None for one that points at nothing ("the cache entries") and whose nouns no result answers to.
    """
    if phrase.literal:
        return phrase
    nouns = () if phrase.head is None else (*phrase.modifiers, phrase.head)
    for at in range(len(nouns) - 1, -1, -1):
        if any(word_evidence(nouns[at], c) for c in earlier):
            return replace(phrase, head=nouns[at], modifiers=nouns[:at])
    if not phrase.generic:
        return phrase
    return replace(phrase, head=None, modifiers=()) if not nouns or phrase.weight >= POINTS else None


def _untyped(phrase: Phrase, text: str, earlier: Sequence[Candidate]) -> Resolution:
    if phrase.ordinal is not None and phrase.ordinal > 0:
        return _counted(phrase, phrase.ordinal, earlier)
    alike = _several(phrase, earlier)
    if phrase.ordinal is None:
        alike = _on_topic(text, alike)
    return _pick(phrase, alike, earlier, "the most recent result")


def _several(phrase: Phrase, alike: Sequence[Candidate]) -> list[Candidate]:
    """For a plural ("those query results") the results that hold several, where there are some."""
    return [c for c in alike if phrase.plural and (c.rows or 0) > 1] or list(alike)


def _on_topic(text: str, alike: list[Candidate]) -> list[Candidate]:
    """Where the newest has nothing of what is asked, and others have columns for it: those."""
    words = content_stems(text)
    known = [len(words & (c.column_words | c.tool_words)) for c in alike]
    if known[-1] or max(known) < TOPIC_WORDS:
        return alike
    return [c for c, count in zip(alike, known, strict=True) if count == max(known)]


def _counted(phrase: Phrase, number: int, earlier: Sequence[Candidate]) -> Resolution:
    """ "the second one": of the results that came last from one tool, else a row of the last, else of them all."""
    run = [earlier[-1]]
    for c in reversed(earlier[:-1]):
        if c.tool != run[0].tool:
            break
        run.insert(0, c)
    if 1 < len(run) >= number:
        return _pick(phrase, run, earlier, f"number {number} of the last results of one tool")
    if (earlier[-1].rows or 0) >= number and len(earlier) != number:
        return Resolution(earlier[-1].id, f"row {number} of the most recent result", phrase.text)
    return _pick(phrase, list(earlier), earlier, f"result {number} of the conversation")


def _pick(phrase: Phrase, alike: Sequence[Candidate], earlier: Sequence[Candidate], why: str) -> Resolution:
    chosen = _by_ordinal(phrase, alike, earlier)
    if chosen is None:
        return Resolution(None, f"there are {len(alike)} such results, fewer than {phrase.text!r} says", phrase.text)
    others = tuple(c.id for c in reversed(alike) if c is not chosen)[:RUNNERS_UP]
    return Resolution(chosen.id, why, phrase.text, others)


def _by_ordinal(phrase: Phrase, alike: Sequence[Candidate], earlier: Sequence[Candidate]) -> Candidate | None:
    number = phrase.ordinal
    if phrase.size and number is None:
        if phrase.head is None:
            alike = [c for c in alike if c.rows is not None] or alike
        sizes = [phrase.size * c.extent for c in alike]
        return max(zip(sizes, range(len(alike)), alike, strict=True))[2]
    if number is None or number == -1:
        return alike[-1]
    if number == OLDEST:
        return alike[0]
    if number < -2:  # "the one before last"
        return alike[number + 1] if len(alike) >= -number - 1 else None
    if number == -2:  # "the previous one": not what lies before us just now, if there is another
        return alike[-2] if len(alike) > 1 and alike[-1] is earlier[-1] else alike[-1]
    return alike[number - 1] if number <= len(alike) else None
