"""Runs `verify_claims`: a text in, a line for each claim out, what is wrong first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crp_mcp.core.claims import Outcome, Verdict
from crp_mcp.core.model import Entry, Scope
from crp_mcp.core.summary.clean import printable
from crp_mcp.relay.checking import Checked, Checker
from crp_mcp.relay.service import Counter
from crp_mcp.relay.using import Ask

from .answers import HEADERS_KEY, answer
from .arguments import Arguments
from .definitions import MAX_TOKENS, MAX_TOKENS_LIMIT

LONGEST_TEXT = 100_000
LONGEST_CLAIM = 200
ATTRIBUTION = "CRP-Safety-Tool-Attribution"


@dataclass(slots=True)
class CheckTool:
    """`verify_claims` over one store. `headers`: those of an answer that gives something of some entries."""

    checker: Checker
    counter: Callable[[], Counter]
    headers: Callable[[Scope, Sequence[Entry]], Mapping[str, str]]

    def call(self, given: Arguments, ask: Ask) -> dict[str, Any]:
        """The result of one call. Raises CrpError for what is wrong with it."""
        text = str(given.text("text", required=True, limit=LONGEST_TEXT))
        references = given.texts("scratch_ids")
        require = given.flag("require_citation") or False
        max_tokens = given.whole("max_tokens", MAX_TOKENS, low=16, high=MAX_TOKENS_LIMIT)
        given.done()
        ids = [one.removeprefix("scratch://").strip() for one in references or ()]
        checked = self.checker.check(ask, text, ids, require_citation=require)
        headers = dict(self.headers(ask.scope, list(checked.entries.values())))
        if not checked.verdicts:
            return {**answer("the text claims nothing that can be checked"), "_meta": {HEADERS_KEY: headers}}
        headers[ATTRIBUTION] = f"{checked.attributed}/{checked.distorted}"
        lines, left_out = self._lines(checked, max_tokens)
        more = f"; {left_out} more with max_tokens" if left_out else ""
        more += f"; {checked.withheld}" if checked.withheld else ""
        result = answer(summary_line(checked) + more, lines, tally(checked.verdicts))
        return {**result, "_meta": {HEADERS_KEY: headers}}

    def _lines(self, checked: Checked, max_tokens: int) -> tuple[str, int]:
        """A line a claim, as many as fit, and how many did not."""
        counter, left, lines = self.counter(), max_tokens, list[str]()
        ordered = sorted(checked.verdicts, key=_weight)
        for verdict in ordered:
            line = verdict_line(verdict, checked.notes) + "\n"
            left -= counter.count(line)
            if left < 0:
                if not lines:
                    lines.append(counter.cut(line, max_tokens))
                break
            lines.append(line)
        return "".join(lines), len(ordered) - len(lines)


def _weight(verdict: Verdict) -> int:
    """What is wrong stands first, what is wrongly cited next; else the order of the text is kept."""
    if verdict.outcome is Outcome.CONTRADICTED:
        return 0
    return 1 if verdict.citation else 2


def tally(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """How many claims came to what."""
    return {str(one): sum(verdict.outcome is one for verdict in verdicts) for one in Outcome}


def summary_line(checked: Checked) -> str:
    """Our own words: how many claims, and what they came to."""
    count = len(checked.verdicts)
    parts = [f"{number} {name}" for name, number in tally(checked.verdicts).items() if number]
    said = f"{count} claim{'s' if count != 1 else ''}: {', '.join(parts)}"
    faults = sum(verdict.citation is not None for verdict in checked.verdicts)
    return said + (f"; {faults} with a citation missing, wrong or unknown" if faults else "")


def verdict_line(verdict: Verdict, notes: Mapping[str, str]) -> str:
    """One claim: verdict, its words, stated and found, where that stands; for a wrong one how to compute it."""
    claim = printable(" ".join(verdict.claim.text.split()))
    claim = claim if len(claim) <= LONGEST_CLAIM else claim[:LONGEST_CLAIM] + "…"
    kind = f" {verdict.distortion}" if verdict.distortion else ""
    ids = list(dict.fromkeys(finding.scratch_id for finding in verdict.findings))
    parts = [
        " ".join([f'{verdict.outcome}{kind}: "{claim}": {" ".join(verdict.reason.split())}', *(f"[{i}]" for i in ids)])
    ]
    if verdict.outcome is Outcome.CONTRADICTED and verdict.findings and verdict.findings[0].computed:
        parts.append("computed: " + " ".join(verdict.findings[0].computed.split()))
    if verdict.citation:
        parts.append(f"citation {verdict.citation}")
    parts += [f"NOTE: {one}: {notes[one]}" for one in ids if one in notes]
    return "; ".join(parts)
