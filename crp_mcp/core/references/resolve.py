"""Weighs phrases against earlier results: the most recent one *of the type that was said*, or none (SPEC-029 §7).

Strategy: evidence for a word comes from the tool's name, its class, the shape, the columns, the arguments, and only
then from values; results whose evidence is about as good as the best are alike, and the most recent of them is meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from crp_mcp.core.model import Kind, ToolClass

from .candidate import Candidate
from .phrases import OLDEST, Phrase, content_stems, find_phrases, phrase_of
from .words import NEAR, stem, tokens

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


Is = Callable[[Candidate], float]

_KINDS: dict[str, Is] = {
    "table": lambda c: 0.9 if c.kind is Kind.TABULAR else 0.0,
    "row": lambda c: 0.9 if c.kind is Kind.TABULAR else 0.6 if c.kind is Kind.LIST else 0.0,
    "record": lambda c: 0.9 if c.kind is Kind.TABULAR else 0.6 if c.kind is Kind.LIST else 0.0,
    "column": lambda c: 0.9 if c.kind is Kind.TABULAR else 0.0,
    "spreadsheet": lambda c: 0.9 if c.kind is Kind.TABULAR else 0.0,
    "query": lambda c: 1.0 if c.tool_class is ToolClass.SQL else 0.6 if c.kind is Kind.TABULAR else 0.0,
    "sql": lambda c: 1.0 if c.tool_class is ToolClass.SQL else 0.0,
    "api": lambda c: 1.0 if c.tool_class is ToolClass.API else 0.5 if _is_untold_object(c) else 0.0,
    "object": lambda c: 0.9 if c.kind is Kind.OBJECT else 0.0,
    "json": lambda c: 0.7 if c.is_json else 0.0,
    "calculation": lambda c: 1.0 if c.tool_class is ToolClass.COMPUTATION else 0.6 if c.kind is Kind.SCALAR else 0.0,
    "number": lambda c: 0.9 if c.kind is Kind.SCALAR else 0.6 if c.has_number and _computed(c) else 0.0,
    "error": lambda c: 1.0 if c.is_error else 0.5 if c.has_errors else 0.0,
    "log": lambda c: 0.9 if c.is_log else 0.0,
    "line": lambda c: 0.9 if c.is_log else 0.8 if c.kind is Kind.TEXT else 0.0,
    "text": lambda c: 0.8 if c.kind is Kind.TEXT else 0.0,
    "file": lambda c: 0.8 if c.tool_class is ToolClass.FILE else 0.0,
    "search": lambda c: 0.9 if c.tool_class is ToolClass.SEARCH else 0.0,
    "metric": lambda c: 0.9 if c.tool_class is ToolClass.METRIC else 0.0,
    "failing": lambda c: 1.0 if c.is_error or c.has_errors else 0.0,
    "empty": lambda c: 1.0 if c.kind is Kind.EMPTY or c.rows == 0 else 0.0,
    "image": lambda c: 0.9 if c.kind is Kind.BINARY else 0.0,
}


def _computed(c: Candidate) -> bool:
    return c.tool_class is ToolClass.COMPUTATION


def _is_untold_object(c: Candidate) -> bool:
    """An object of a tool nobody declared a class of; what a file or a query gives is no API's response."""
    return c.kind is Kind.OBJECT and c.tool_class is ToolClass.OTHER


_SAME_KIND = {
    "computation": "calculation", "figure": "number", "value": "number", "total": "number", "sum": "number",
    "failure": "error", "exception": "error", "traceback": "error", "crash": "error", "trace": "error",
    "stacktrace": "error",
    "failed": "failing", "broken": "failing", "erroring": "failing", "csv": "table", "grid": "table",
    "document": "file", "database": "query", "endpoint": "api", "reading": "metric", "status": "metric",
    "dataframe": "table", "count": "number", "formula": "calculation", "picture": "image", "screenshot": "image",
}  # fmt: skip


def resolve(sentence: str, earlier: Sequence[Candidate]) -> Resolution:
    """What a sentence refers to among `earlier` results, oldest first. Never a guess: without evidence, nothing."""
    return _decide(sentence, find_phrases(sentence), earlier)


def resolve_phrase(phrase: str, earlier: Sequence[Candidate]) -> Resolution:
    """The same for a bare reference phrase, as an argument of a tool gives it: "query result", "the second one"."""
    return _decide(phrase, phrase_of(phrase), earlier)


def _decide(text: str, phrases: Sequence[Phrase], earlier: Sequence[Candidate]) -> Resolution:
    if not earlier:
        return Resolution(None, "nothing is stored yet")
    named = _named(text, earlier)
    if named is not None:
        return Resolution(named.id, "its id or name was said", named.name or named.id)
    cut = _cut_at_anchor(text, earlier)
    if cut is not None:
        return _decide(cut[0], phrase_of(cut[0]), cut[1])
    phrases = [*phrases, *_literals(text, earlier)]
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
        if leading.ordinal is None and not leading.size:
            alike = _several(leading, alike)
        if leading.ordinal in (None, -1):
            alike = _got_by(typed, alike)
        return _pick(leading, alike, earlier, "the most recent result of that type")
    free = [one for one in phrases if one.head is None and one.count is None]
    strong = [one for one in typed if one.weight >= 0.9]
    if not free or (strong and max(one.weight for one in free) < 0.6):
        said = (strong or typed)[0].text
        return Resolution(None, f"no earlier result is of the type said by {said!r}", said)
    return _untyped(max(free, key=lambda one: one.weight), text, earlier)


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


def _literals(text: str, earlier: Sequence[Candidate]) -> list[Phrase]:
    """Names of tools and files as they stand in the text; not those that something is to be written to."""
    plain = text.lower()
    spoken = re.sub(r"[_-]", " ", plain)
    found = []
    for literal in sorted({one for c in earlier for one in c.literals if " " in one or "." in one}):
        written = re.escape(literal)
        if re.search(rf"(?<![\w.])(?<!to )(?<!as )(?<!into ){written}(?!\w)", plain if "." in literal else spoken):
            found.append(Phrase(literal, 0.9, literal, literal=True))
    return found


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


def evidence(phrase: Phrase, c: Candidate, earlier: Sequence[Candidate]) -> float:
    """0 to about 1.5: how much speaks for a candidate being what the phrase says."""
    if phrase.count is not None and phrase.count in (c.rows, c.rows_total):
        return 1.5
    if phrase.head is None:
        return 0.0
    if phrase.literal:
        return 1.4 if phrase.head in c.literals else 0.0
    head = word_evidence(phrase.head, c)
    known = [word for word in phrase.modifiers if any(word_evidence(word, one) for one in earlier)]
    if not known:
        return head
    beside = sum(word_evidence(word, c) for word in known) / len(known)
    return 0.5 * head + 0.5 * beside if head or any(word_evidence(phrase.head, one) for one in earlier) else beside


def word_evidence(word: str, c: Candidate) -> float:
    """What speaks for one word, the strongest kind of evidence."""
    if c.name is not None and word in {stem(part) for part in tokens(c.name)}:
        return 1.4
    if word in c.tool_words:
        return 1.0
    rule = _KINDS.get(_SAME_KIND.get(word, word))
    found = rule(c) if rule is not None else 0.0
    near = NEAR.get(word, frozenset())
    if word in c.column_words or near & c.tool_words:
        return max(found, 0.8)
    if word in c.argument_words:
        return max(found, 0.7)
    if near & (c.column_words | c.asked_words) or word in c.asked_words:
        return max(found, 0.55)
    by_value = 0.4 if rule is None else 0.2  # what a kind is called says little where it stands in the data
    return max(found, by_value if word in c.value_words else 0.0)


def _named(text: str, earlier: Sequence[Candidate]) -> Candidate | None:
    """The newest result whose id or whole pinned name stands in the text."""
    words = tokens(text)
    plain = text.lower()
    for c in reversed(earlier):
        if re.search(rf"(?<!\w){re.escape(c.id.lower())}(?!\w)", plain):
            return c
        name = tokens(c.name) if c.name else []
        if len(name) > 1 and any(words[at : at + len(name)] == name for at in range(len(words))):
            return c
        if name and words in (name, ["the", *name], ["that", *name]):
            return c
    return None
