"""Statements about a test run, held against the counts of its own summary; and the answer they come to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

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
    if named := _IDENTIFIER.findall(text):
        return _of_named(named, text, document, stated, counts)
    if (took := _took(text, document)) is not None:
        return answer_of(took[0], "test summary", took[1], text, Distortion.NUMBER_CHANGED)
    if share := _passed_share(text, counts):
        return answer_of(share[0], "test summary", found, share[1], Distortion.NUMBER_CHANGED)
    if any(q.unit for _, q in stated):
        return None
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


_IDENTIFIER = re.compile(r"[\w./-]+::[\w.\[\]-]+|\b[A-Za-z]\w*_\w+\b|\b[\w/-]+\.[a-z]{1,4}\b")
"""Names of tests and their files."""
_FAILS = re.compile(r"\bfail(?:s|ed|ing|ures?)?\b", re.IGNORECASE)
_PASSES = re.compile(r"\bpass(?:ed|es|ing)?\b", re.IGNORECASE)


def _of_named(
    named: list[str], text: str, document: Document, stated: list[tuple[str, Quantity]], counts: dict[str, Any]
) -> Answer:
    """What is said of tests by name, where every name stands in lines that say one thing of it."""
    unsaid = Answer(
        Outcome.UNVERIFIABLE, "lines that name them", "", "", None, "the output does not say this of each test by name"
    )
    fails, passes = bool(_FAILS.search(text)), bool(_PASSES.search(text))
    if fails == passes or re.search(r"\b(?:not|no|never|only)\b|n't\b", text, re.IGNORECASE):
        return unsaid
    lines = [[line for line in document.lines if re.search(rf"(?<!\w){re.escape(n)}(?!\w)", line)] for n in named]
    marks = [(any(map(_FAILS.search, of)), any(map(_PASSES.search, of))) for of in lines]
    if any(failed == passed for failed, passed in marks) or not all(agrees(q, counts.get(k, 0)) for k, q in stated):
        return unsaid
    found = "; ".join(next(line for line in of if _FAILS.search(line) or _PASSES.search(line)) for of in lines)
    holds = all(failed == fails for failed, _ in marks)
    said = f"{', '.join(named)} {'failed' if fails else 'passed'}"
    return answer_of(holds, "lines that name them", found[:300], said, Distortion.NEGATION_FLIP)


_LASTED = re.compile(r"\b(?:took|takes|ran (?:in|for)|finished in|completed in|lasted)\b", re.IGNORECASE)


def _took(text: str, document: Document) -> tuple[bool, str] | None:
    """How long the run says that it took, against the one duration of a statement."""
    quantities = find_quantities(text)
    found = next((float(m[1]) for line in document.lines[:-30:-1] if (m := _SECONDS.search(line))), None)
    if found is None or len(quantities) != 1 or quantities[0].unit != "s" or not _LASTED.search(text):
        return None
    qty = quantities[0]
    fits = agrees(qty, found / qty.scale)
    return None if fits is None else (fits, f"{found:g} s")


_SECONDS = re.compile(r"\b(?:in|Time:)\s+(\d+(?:\.\d+)?) ?s\b")


def _passed_share(text: str, counts: dict[str, Any]) -> tuple[bool, str] | None:
    """`96% of the tests passed`: of all that were run, or of those that were not skipped."""
    quantities = find_quantities(text)
    if len(quantities) != 1 or quantities[0].unit != "%" or not counts.get("total"):
        return None
    kinds = [kind for kind in ("passed", "failed", "skipped") if re.search(rf"\b{kind[:4]}", text, re.IGNORECASE)]
    wholes = {counts["total"], counts["total"] - counts.get("skipped", 0)} - {0}
    results = {agrees(quantities[0], 100 * counts.get(k, 0) / whole) for k in kinds for whole in wholes}
    said = f"{quantities[0].literal} {kinds[0]}" if kinds else ""
    return (True in results, said) if results and None not in results else None


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
