"""Whether something stands in a result at all (`X is not in the list`). Knows nothing else of a sentence."""

from __future__ import annotations

import re

from .document import Document
from .model import Distortion
from .testruns import Answer, answer_of
from .words import LIGHT, STOP, stem, stems

_PLACE = (
    r"(?:the |this |that )?(?:list|results?|output|table|response|data(?:set)?|log|file|search results?|"
    r"directory|rows?)"
)
_ABSENT = re.compile(
    rf"^\W*(?P<name>['\"“‘`]?.{{2,60}}?['\"”’`]?) (?:is|was|are|were|does|do) (?P<no>not |"
    rf"n[o']t )?(?:in|listed in|included in|present in|part of|appear in|mentioned in|on) {_PLACE}\W*$|"
    rf""
    rf"^\W*(?:the |this )?{_PLACE} (?:does |do )?(?P<no2>not )?(?:contains?|includes?|mentions?|"
    rf"has|have|lists?|shows?) (?P<no3>no )?(?P<name2>['\"“‘`].{{2,60}}['\"”’`])\W*$|"
    rf"^\W*there (?:is|are|was|were) (?P<no4>no |not any )(?:\w+ ){{0,3}}(?:in|from|called|"
    rf"named|for|by) (?P<name3>['\"“‘`]?[A-Z][\w .'&-]{{1,50}}?['\"”’`]?)(?: in {_PLACE})?\W*$|"
    rf""
    rf"^\W*(?P<no5>no|none of the|not one of the) (?:\w+ ){{0,3}}(?:is|are|was|were) (?:in|"
    rf"from|called|named|for|by) (?P<name4>[A-Z][\w .'&-]{{1,50}}?)\W*$",
    re.IGNORECASE,
)


_QUOTED = re.compile(r"\s*['\"“‘`]")


def _is_name(text: str) -> bool:
    """Whether words look like a name or a code rather than like what the sentence is about (`the log`)."""
    return not text[:1].isalpha() or any(c.isupper() or c.isdigit() or c in "._-/@" for c in text)


def presence(text: str, document: Document) -> Answer | None:
    """Whether something stands in the result at all (`X is not in the list`, `there are no rows from X`)."""
    match = _ABSENT.match(text)
    if match is None or document.is_error:
        return None
    groups = match.groupdict()
    given = next(v for k, v in groups.items() if k.startswith("name") and v)
    name = given.strip(" '\"“”‘’`.")
    negated = any(v for k, v in groups.items() if k.startswith("no") and v)
    wanted = stems(name)
    if not wanted or all(w in STOP or w in LIGHT for w in wanted) or not (_is_name(name) or _QUOTED.match(given)):
        return None
    whole, part = _stands(document, wanted)
    if not part and not document.partial and negated:
        return answer_of(True, f"search for {name!r}", "no cell has it", f"no {name}", None)
    listed = any(t.kind != "record" for t in document.tables)
    if not part and not document.partial and (listed or not document.lines):
        return answer_of(False, f"search for {name!r}", "no cell has it", name, Distortion.ENTITY_SUBSTITUTED)
    if whole:
        return answer_of(
            not negated,
            f"search for {name!r}",
            "it is there",
            f"no {name}" if negated else name,
            Distortion.NEGATION_FLIP,
        )
    return None


def _stands(document: Document, wanted: tuple[str, ...]) -> tuple[bool, bool]:
    """Whether a name is a whole cell, and whether its words stand together anywhere."""
    part = any(_within(stems(line), wanted) for line in document.lines[:5000])
    for table in document.tables:
        for column in table.columns:
            for key in column.postings.get(wanted[0], ()):
                found = tuple(stem(k) for k in key)
                if found == wanted:
                    return True, True
                part = part or _within(found, wanted)
    return False, part


def _within(found: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    size = len(wanted)
    return any(found[i : i + size] == wanted for i in range(len(found) - size + 1))
