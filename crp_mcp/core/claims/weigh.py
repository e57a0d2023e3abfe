"""One clause against one result: every table and statement of it, weighed into one judgement. Knows no stores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .document import Document, Table
from .judge import judge, scored
from .limits import TooMuch, Work
from .lines import said_in_line
from .model import Distortion, Outcome
from .numbers import Number, agrees
from .outcome import answers
from .quantities import find_quantities
from .split import asides, clauses, in_order, states_nothing
from .testruns import Answer
from .totals import count_answer
from .words import rejoin, stems

MAX_TABLES = 12
TOO_MUCH = "too-much"
ASIDE = 0.35
"""What it costs to take a sentence that names no table to be about another than the main one."""


@dataclass(frozen=True, eq=False)
class Judged:
    """What one clause came to against one result."""

    outcome: Outcome
    cost: float
    computed: str = ""
    found: str = ""
    stated: str = ""
    distortion: Distortion | None = None
    reason: str = ""
    frame: str = ""


_NOTHING = Judged(Outcome.UNVERIFIABLE, 9.0, reason="nothing in the result bears on it")


def weigh(text: str, document: Document, context: frozenset[str] = frozenset(), work: Work | None = None) -> Judged:
    """The judgement of a sentence: as a whole when that can be read, else clause by clause.

    What has more readings than are tried is left undecided.
    """
    try:
        return _weigh(text, document, context, work or Work())
    except TooMuch:
        return Judged(Outcome.UNVERIFIABLE, 0.0, reason="it has more readings than are tried", frame=TOO_MUCH)


def _weigh(text: str, document: Document, context: frozenset[str], work: Work) -> Judged:
    text = in_order(rejoin(text))
    found = _by_tables(text, document, context, work)
    if found.outcome is not Outcome.UNVERIFIABLE or found.frame == TOO_MUCH or not document.lines:
        return found
    return _by_line(text, document, context) or found


def _by_line(text: str, document: Document, context: frozenset[str]) -> Judged | None:
    """What one line of a text says, where that decides it."""
    said = said_in_line(text, document, context)
    if said is None:
        return None
    outcome, line, stated, kind = said
    return Judged(outcome, 0.3, "the line that says so", line.strip()[:200], stated, kind, frame="line")


def _by_tables(text: str, document: Document, context: frozenset[str], work: Work) -> Judged:
    if parts := asides(text):
        return _all_of([_weigh(p, document, context, work) for p in parts])
    whole = _clause(text, document, context, work)
    if whole.outcome is Outcome.SUPPORTED:
        return whole
    if whole.frame == "stated-partial":
        return whole
    for parts in clauses(text):
        kept = [p for p in parts if not states_nothing(p)]
        if len(kept) < 2:
            continue
        kept = carried(kept)
        found = _together([_clause(p, document, context, work) for p in kept], kept)
        if found and not (whole.outcome is Outcome.CONTRADICTED and found.outcome is Outcome.CONTRADICTED):
            return found
    return whole


def _all_of(judged: Sequence[Judged]) -> Judged:
    """What a sentence with an aside comes to: wrong where either is, right only where both are."""
    wrong = [j for j in judged if j.outcome is Outcome.CONTRADICTED]
    if wrong:
        return min(wrong, key=lambda j: j.cost)
    undecided = [j for j in judged if j.outcome is Outcome.UNVERIFIABLE]
    return undecided[0] if undecided else _joined(judged)


def _joined(right: Sequence[Judged]) -> Judged:
    """Several supports as one."""
    first = max(right, key=lambda j: j.cost)
    computed = "; ".join(dict.fromkeys(j.computed for j in right))
    return replace(first, computed=computed, found="; ".join(j.found for j in right))


def _together(judged: Sequence[Judged], parts: Sequence[str]) -> Judged | None:
    """Clauses as one: all supported, or one surely contradicted; None when that does not decide it."""
    wrong = [j for j in judged if j.outcome is Outcome.CONTRADICTED]
    right = [j for j in judged if j.outcome is Outcome.SUPPORTED]
    if wrong and len(wrong) + len(right) == len(judged):
        alone = [j for j, p in zip(judged, parts, strict=True) if j.outcome is Outcome.CONTRADICTED and not _leans(p)]
        return min(alone, key=lambda j: j.cost) if alone else None
    if len(right) == len(judged):
        return _joined(right)
    return None


_SUBJECT = re.compile(
    r"^(?P<subject>.{2,70}?)\s+(?P<verb>has|have|had|is|are|was|were|made|scored|recorded|"
    r"achieved|got|received|won|reached|shows?)\s",
    re.IGNORECASE,
)
_VERB_FIRST = re.compile(
    r"^(?:also\s+)?(?:has|have|had|is|are|was|were|made|scored|recorded|achieved|got|received|won)\b", re.IGNORECASE
)
_NOUN_FIRST = re.compile(
    r"^(?:with\s+)?(?:the|a|an)\s+(?:most|least|highest|lowest|largest|smallest|fewest|best|worst|\w+est)\b",
    re.IGNORECASE,
)
_NUMBER_FIRST = re.compile(r"^[$€£]?\d[\d,.]*%?\s+(?:in|for|at|on|by|from|during)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"^(?:it|he|she|they)\s+", re.IGNORECASE)
_POSSESSIVE = re.compile(r"^(?:its|his|her|their)\s+", re.IGNORECASE)


def carried(parts: Sequence[str]) -> list[str]:
    """Clauses each with a subject: one that lacks its own takes the first one's (`X has A and B`: `X has B`)."""
    match = _SUBJECT.match(parts[0])
    if match is None:
        return list(parts)
    subject = match["subject"].strip(" ,")
    out = [parts[0]]
    for part in parts[1:]:
        if _VERB_FIRST.match(part):
            part = f"{subject} {part}"
        elif _NUMBER_FIRST.match(part):
            part = f"{subject} {match['verb']} {part}"
        elif _NOUN_FIRST.match(part) and not _SUBJECT.match(part):
            part = f"{subject} {match['verb']} {part.removeprefix('with ')}"
        elif _PRONOUN.match(part):
            part = _PRONOUN.sub(lambda _: subject + " ", part, count=1)
        elif _POSSESSIVE.match(part):
            part = _POSSESSIVE.sub(lambda _: subject + "'s ", part, count=1)
        out.append(part)
    return _with_noun(out)


_OF_WHAT = re.compile(r"\d(?P<what>%?(?: [a-z][a-z'-]*){1,3})[. ]*$")
_BARE_NUMBER = re.compile(r"\b(?:has|have|had|got|with|is|was) (?:only |just |about )?[\d,.]*\d[. ]*$")


def _with_noun(parts: list[str]) -> list[str]:
    """`A has 5 points`, `B has 3`: so many points as well."""
    match = _OF_WHAT.search(parts[0])
    if match is None or not re.search(r"\b(?:has|have|had|got|with) ", parts[0]):
        return parts
    return [p.rstrip(" .") + match["what"] if _BARE_NUMBER.search(p) else p for p in parts]


_LEANING = re.compile(
    r"^\W*(?:they|it|he|she|who|which|that|this|these|those|his|her|their|its|one|and|at|in|on|with|for)\b",
    re.IGNORECASE,
)


def _leans(part: str) -> bool:
    """Whether a clause needs what stood before it to be understood."""
    return bool(_LEANING.match(part)) or len(re.findall(r"[^\W\d_]{2,}", part)) < 2


def _clause(text: str, document: Document, context: frozenset[str], work: Work) -> Judged:
    """One clause: statements about the whole result first, then its tables."""
    said = answers(text, document)
    if said:
        return _from_answer(next((a for a in said if a.outcome is Outcome.CONTRADICTED), said[0]))
    if (scalar := _scalar(text, document)) is not None:
        return scalar
    known = context | frozenset(stems(document.caption))
    tables = [t for t in document.tables[:MAX_TABLES] if t.rows]
    return choose([j for t in tables if (j := _table(text, t, document, known, work)) is not None])


def _scalar(text: str, document: Document) -> Judged | None:
    """A result that is one bare number, against the one number of the clause."""
    tables = document.tables
    if len(tables) != 1 or tables[0].kind != "record" or len(tables[0].columns) != 1 or document.lines:
        return None
    quantities = find_quantities(text)
    number = document.tables[0].columns[0].numbers[0]
    if number is None or len(quantities) != 1:
        return None
    fits = agrees(quantities[0], number)
    if not fits and not _slip(quantities[0].value, number):
        return Judged(
            Outcome.UNVERIFIABLE, 1.0, reason=f"the result is {number}: the sentence may be about something else"
        )
    outcome = Outcome.SUPPORTED if fits else Outcome.CONTRADICTED
    return Judged(
        outcome,
        0.3,
        "the value",
        str(number),
        quantities[0].literal,
        None if fits else Distortion.NUMBER_CHANGED,
        frame="scalar",
    )


def _slip(stated: Number, found: Number) -> bool:
    """Whether two numbers are so alike that one is the other gone wrong."""
    return stated != found and abs(stated - found) <= 0.15 * abs(found)


def _from_answer(answer: Answer) -> Judged:
    return Judged(
        answer.outcome, 0.1, answer.computed, answer.found, answer.stated, answer.distortion, answer.reason, "outcome"
    )


def _table(text: str, table: Table, document: Document, context: frozenset[str], work: Work) -> Judged | None:
    if table.kind == "list" and not table.columns:
        return None
    others = tuple(t for t in document.tables[:MAX_TABLES] if t is not table and t.rows)
    ranked = scored(text, table, context | frozenset(stems(table.caption)), others, work)
    if not ranked:
        return None
    result = judge(ranked)
    reading = result.reading
    if reading is None:
        return None
    whole = reading.frame.startswith("count") and " WHERE " not in reading.sql
    if whole and table is not document.main and not set(stems(text)) & table.nouns:
        return None
    if reading.frame == "count" and whole and table is document.main:
        answer = count_answer(text, document)
        if answer is None:
            return Judged(
                Outcome.UNVERIFIABLE, result.cost, reason="a count near the stated one: neither clearly right nor wrong"
            )
        judged = _from_answer(answer)
        if answer.outcome is Outcome.UNVERIFIABLE:
            return replace(judged, cost=result.cost, frame="stated-partial")
        unsure = result.cost > 0.55 or not reading.firm
        unsaid = reading.holds is None and not reading.firm
        if result.cost > 0.85 or unsaid or (answer.outcome is Outcome.CONTRADICTED and unsure):
            return replace(
                judged,
                outcome=Outcome.UNVERIFIABLE,
                cost=result.cost,
                reason=result.reason or "part of the sentence has no counterpart",
            )
        return replace(judged, cost=result.cost)
    main = document.main
    aside = table.kind != "record" and main is not None and table is not main and not set(stems(text)) & table.nouns
    return Judged(
        result.outcome,
        result.cost + (ASIDE if aside and reading.frame != "lookup" else 0.0),
        reading.sql,
        reading.found,
        reading.stated,
        reading.distortion if result.outcome is Outcome.CONTRADICTED else None,
        result.reason,
        reading.frame,
    )


def choose(found: Sequence[Judged]) -> Judged:
    """The judgement of several tables or results: a support stands unless a clearly better reading contradicts it."""
    if not found:
        return _NOTHING
    ranked = sorted(found, key=lambda j: j.cost)
    right = next((j for j in ranked if j.outcome is Outcome.SUPPORTED), None)
    wrong = next((j for j in ranked if j.outcome is Outcome.CONTRADICTED), None)
    if right and right.cost <= ranked[0].cost + 0.3:
        return right
    if wrong and all(j.outcome is not Outcome.UNVERIFIABLE or j.cost > wrong.cost for j in ranked):
        return wrong
    if wrong and right is None and ranked[0].outcome is Outcome.UNVERIFIABLE and ranked[0].frame == "stated-partial":
        return ranked[0]
    undecided = [j for j in ranked if j.outcome is Outcome.UNVERIFIABLE]
    return undecided[0] if undecided else _NOTHING
