"""The batch form of checking: one JSON object a line in, one verdict a line out. The caller's `load` opens files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .check import check_claims
from .model import Evidence, Options, Outcome, Verdict
from .quantities import find_quantities

Load = Callable[[str], Evidence]


def run_batch(lines: Iterable[str], load: Load, *, options: Options | None = None) -> Iterator[dict[str, Any]]:
    """One `{"id", "verdict", "attribution", "distortion", "evidence", "reason"}` for each `{"id", "claim", "against"}`.

    `against` lists files; `load(path)` gives a file's evidence. Its OSError, or a bad line, gives `unverifiable`.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _one(line, number, load, options)


def _one(line: str, number: int, load: Load, options: Options | None) -> dict[str, Any]:
    case: Any = None
    try:
        case = json.loads(line, parse_constant=str)
        text, files = str(case["claim"]), _files(case.get("against"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        case_id = case.get("id") if isinstance(case, dict) else None
        return _row(case_id, f"line {number} is not a case: {error}")
    try:
        evidence = [load(str(f)) for f in files]
    except OSError as error:
        return _row(case.get("id"), f"cannot read {error.filename or files}: {error.strerror or error}")
    try:
        return {"id": case.get("id"), **as_one(check_claims(text, evidence, options=options))}
    except Exception as error:  # noqa: BLE001 - whatever one case meets, the others must have their verdicts
        return _row(case.get("id"), f"it could not be checked: {type(error).__name__}")


def _files(against: Any) -> list[Any]:
    """One file or several."""
    return [against] if isinstance(against, str) else list(against or [])


def _row(case_id: Any, reason: str) -> dict[str, Any]:
    return {
        "id": case_id,
        "verdict": "unverifiable",
        "attribution": "UNVERIFIABLE",
        "distortion": None,
        "evidence": [],
        "reason": reason,
    }


def as_one(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Several verdicts of one text as one: contradicted by any, supported when nothing of weight is left undecided."""
    if not verdicts:
        return {k: v for k, v in _row(None, "it claims nothing that can be checked").items() if k != "id"}
    wrong = [v for v in verdicts if v.outcome is Outcome.CONTRADICTED]
    right = [v for v in verdicts if v.outcome is Outcome.SUPPORTED]
    open_ = [v for v in verdicts if v.outcome is Outcome.UNVERIFIABLE]
    if wrong:
        chosen, outcome = wrong, Outcome.CONTRADICTED
    elif right and not any(_weighty(v.claim.text) for v in open_):
        chosen, outcome = right, Outcome.SUPPORTED
    else:
        chosen, outcome = open_ or list(verdicts), Outcome.UNVERIFIABLE
    first = chosen[0]
    return {
        "verdict": str(outcome),
        "attribution": str(first.attribution),
        "distortion": str(first.distortion) if first.distortion else None,
        "evidence": [_finding(f) for v in chosen for f in v.findings],
        "reason": first.reason,
    }


def _finding(finding: Any) -> dict[str, str]:
    names = ("scratch_id", "provenance_hash", "computed", "found", "stated")
    return {name: getattr(finding, name) for name in names}


def _weighty(text: str) -> bool:
    """Whether an undecided claim states something definite, so that a text that has it is not simply supported."""
    return bool(find_quantities(text)) or any(
        w[:1].isupper() for w in text.split()[1:] if w.lower() not in ("i", "i'm", "i've")
    )
