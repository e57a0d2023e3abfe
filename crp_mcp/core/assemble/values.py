"""Which later call carries a value out of which earlier result (`dependsOn`). Pure: texts in, pairs of ids out.

A value counts where it is distinctive by its form (an id, a path, an address, a long number; no word, date or round
number), stands in few results, and was not known before: in no call's arguments and in no user's words until then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEAST, MOST = 4, 200
"""Characters of a value."""
PHRASE_WORDS, PHRASE_LEAST, PHRASE_MOST = 3, 16, 300
VALUES_MOST = 40
"""Values and phrases of one call that are looked for."""
COMMON_SHARE = 4
"""What stands in more than a quarter of the results says nothing of where it came from."""
FEW = 3
"""Results that may hold a value in any case, and sources of one value that are named."""

_RUN = re.compile(r"[^\W_](?:[\w./:@#+~-]*\w)?")
_PARTS = re.compile(r"[/:@#]+")
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?:T[\d:.]*Z?)?|\d{1,2}:\d\d(?::\d\d)?|(?:19|20)\d\d[01]\d[0-3]\d")
_NUMBER = re.compile(r"\d+(?:[.,:-]\d+)*")
_HUMPS = re.compile(r"[A-Z]?[a-z]+(?:[A-Z][a-z]+)+")
_BEFORE = re.compile(r"[\w.+~-]")
_BEHIND = re.compile(r"\w|[.+~-]\w")
"""What makes a value part of a longer one."""
_DIGITS = 5
"""A number with fewer digits that matter is met by chance."""


@dataclass(frozen=True, slots=True)
class Result:
    """One captured result. `given`: what its call's arguments say; `held`: what of all that is looked for it holds."""

    id: str
    at: float
    given: frozenset[str]
    held: frozenset[str]


def values_of(text: str) -> Iterator[str]:
    """The distinctive values in a text: whole runs, and their parts (`src/app.py` of a longer path)."""
    for run in _RUN.findall(text):
        if LEAST <= len(run) <= MOST and is_distinctive(run):
            yield run
        if len(run) > LEAST and _PARTS.search(run):
            yield from (part for part in _PARTS.split(run) if is_distinctive(part))


def is_distinctive(value: str) -> bool:
    """Whether a value is likely to stand for one thing."""
    if not LEAST <= len(value) <= MOST or _DATE.fullmatch(value):
        return False
    if _NUMBER.fullmatch(value):
        return len(re.sub(r"\D", "", value).strip("0")) >= _DIGITS
    if sum(one.isdigit() for one in value) >= 3 or _HUMPS.fullmatch(value):
        return True
    return len(value) >= 8 and any(one in value for one in "/.@:_")


def given_in(arguments: Mapping[str, Any]) -> frozenset[str]:
    """What a call's arguments say: distinctive values, and whole sentences."""
    found: dict[str, None] = {}
    for value in _leaves(arguments):
        text = value if isinstance(value, str) else json.dumps(value)
        found.update(dict.fromkeys(values_of(text)))
        if is_phrase(text):
            found[text.strip()] = None
        if len(found) >= VALUES_MOST:
            break
    return frozenset(list(found)[:VALUES_MOST])


def is_phrase(text: str) -> bool:
    """A text of several words that is unlikely to be written twice."""
    return PHRASE_LEAST <= len(text.strip()) <= PHRASE_MOST and len(text.split()) >= PHRASE_WORDS


def held_by(text: str, wanted: Iterable[str]) -> frozenset[str]:
    """Which of the wanted values a result's text holds, as values of its own and not as parts of others."""
    return frozenset(one for one in wanted if (_has_phrase if " " in one else _stands_in)(text, one))


def _has_phrase(text: str, phrase: str) -> bool:
    return phrase in text or json.dumps(phrase)[1:-1] in text


def _stands_in(text: str, value: str) -> bool:
    """Looked for in place: reading all values of a large text takes far longer."""
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        before, behind = text[max(0, start - 1) : start], text[end : end + 2]
        if not _BEFORE.match(before) and not _BEHIND.match(behind):
            return True
        start = text.find(value, start + 1)
    return False


def links(results: Sequence[Result], said: Sequence[tuple[float, str]] = ()) -> dict[str, list[str]]:
    """For each result the earlier ones, newest first, that its call carries a value out of.

    `results` in the order of capture; `said`: what users said, with its time.
    """
    known = _first_known(results, said)
    holders: dict[str, list[int]] = {}
    for place, one in enumerate(results):
        for value in one.held:
            holders.setdefault(value, []).append(place)
    common = max(FEW, len(results) // COMMON_SHARE)
    found: dict[str, list[str]] = {}
    for place, one in enumerate(results):
        sources: set[int] = set()
        for value in one.given:
            having = holders.get(value, ())
            if len(having) <= common:
                new = [other for other in having if other < place and other < known[value]]
                sources.update(new[-FEW:])
        if sources:
            found[one.id] = [results[other].id for other in sorted(sources, reverse=True)]
    return found


def _first_known(results: Sequence[Result], said: Sequence[tuple[float, str]]) -> dict[str, int]:
    """The first result whose call, or a user before it, named a value: nothing from there on is where it came from."""
    known: dict[str, int] = {}
    for place, one in enumerate(results):
        for value in one.given:
            known.setdefault(value, place)
    for at, text in said:
        place = next((number for number, one in enumerate(results) if one.at >= at), len(results))
        for value in set(values_of(text)) & known.keys():
            known[value] = min(known[value], place)
    return known


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(one)
    elif value is not None and not isinstance(value, bool):
        yield value
