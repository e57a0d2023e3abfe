"""Statements about a test run, held against the counts of its own summary; and the answer they come to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .document import Document
from .model import Distortion, Outcome
from .numbers import Quantity, agrees
from .quantities import find_quantities


@dataclass(frozen=True, slots=True)
class Answer:
    """A decided or knowingly undecided statement about a whole result."""

    outcome: Outcome
    computed: str
    found: str
    stated: str
    distortion: Distortion | None = None
    reason: str = ""


NO_FAILURE = re.compile(
    r"\b(?:no|without|zero|0|none|not any|n't any)\s+(?:\w+\s+){0,2}(?:fail|error|problem|"
    r"issue)\w*|\b(?:none|nothing) failed|did(?:n't| not) fail|never failed",
    re.IGNORECASE,
)


def test_answer(text: str, document: Document) -> Answer | None:
    """`all tests passed`, `tests pass`, `nothing failed` over a test run's summary."""
    table = next(t for t in document.tables if t.name == "tests")
    counts = {c.name: c.cells[0] for c in table.columns}
    bad = counts.get("failed", 0) + counts.get("errors", 0)
    found = ", ".join(f"{v} {k}" for k, v in counts.items())
    stated = _test_numbers(text)
    if stated:
        right = all(agrees(q, counts.get(kind, 0)) for kind, q in stated)
        return answer_of(
            right, "test summary", found, ", ".join(f"{q.literal} {k}" for k, q in stated), Distortion.NUMBER_CHANGED
        )
    if find_quantities(text):
        return None
    if NO_FAILURE.search(text) or re.search(
        r"\b(?:none|no tests?|nothing) (?:\w+ )?(?:fail|broke)", text, re.IGNORECASE
    ):
        return answer_of(bad == 0, "test summary", found, "no failures", Distortion.NEGATION_FLIP)
    if re.search(
        r"\b(?:pass(?:ed|es|ing)?|green|succeed(?:ed|s)?|successful(?:ly)?)\b", text, re.IGNORECASE
    ) and not re.search(r"\b(?:not|n't|fail\w*)\b", text, re.IGNORECASE):
        if bad == 0 and counts.get("skipped") and re.search(r"\b(?:all|every)\b", text, re.IGNORECASE):
            return Answer(
                Outcome.UNVERIFIABLE,
                "test summary",
                found,
                "all passed",
                None,
                "nothing failed, but some tests were skipped",
            )
        return answer_of(bad == 0, "test summary", found, "passed", Distortion.NEGATION_FLIP)
    if re.search(r"\bfail", text, re.IGNORECASE):
        negated = bool(re.search(r"\b(?:not|n't|never)\b", text, re.IGNORECASE))
        return answer_of((bad > 0) != negated, "test summary", found, "failed", Distortion.NEGATION_FLIP)
    return None


_TEST_WORDS = {
    "passed": "pass passed passing succeeded",
    "failed": "fail failed failures failure failing",
    "skipped": "skipped skip",
    "errors": "errors error errored",
    "warnings": "warnings warning",
    "xfailed": "xfailed",
    "total": "ran run executed total collected",
}
_TEST_KINDS = {word: kind for kind, words in _TEST_WORDS.items() for word in words.split()}


def _test_numbers(text: str) -> list[tuple[str, Quantity]]:
    """(outcome, number) pairs a sentence states of a test run (`12 tests passed and 3 failed`)."""
    out: list[tuple[str, Quantity]] = []
    quantities = find_quantities(text)
    for i, qty in enumerate(quantities):
        stop = quantities[i + 1].start if i + 1 < len(quantities) else len(text)
        words = re.findall(r"[a-z]+", text[qty.end : stop].lower())
        if words[:1] in (["of"], ["out"]) and i + 1 < len(quantities):
            words = re.findall(r"[a-z]+", text[quantities[i + 1].end :].lower())
        kind = next((_TEST_KINDS[w] for w in words[:5] if w in _TEST_KINDS), None)
        if i and re.fullmatch(r"\s*(?:of|out of)(?: the| all)?\s*", text[quantities[i - 1].end : qty.start]):
            kind = "total"
        if kind:
            out.append((kind, qty))
    if re.search(r"\b(?:none|no (?:tests? )?|nothing )(?:have |were )?fail", text, re.IGNORECASE) and out:
        out.append(("failed", Quantity(0, "none", 0, 0)))
    return out if len({k for k, _ in out}) == len(out) else []


def answer_of(holds: bool, computed: str, found: str, stated: str, distortion: Distortion | None) -> Answer:
    return Answer(
        Outcome.SUPPORTED if holds else Outcome.CONTRADICTED, computed, found, stated, None if holds else distortion
    )
