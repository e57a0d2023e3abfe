"""What a question wants, and how much of each tier it gets for that (SPEC-029 §10, SPEC-028 §5)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .corpus import CONVERSATION, EPHEMERAL, PERSISTENT

_BLENDS = {
    "EXPLORE": (70, 25, 5),
    "DRILL_DOWN": (30, 65, 5),
    "CLARIFY": (20, 75, 5),
    "CONTINUE": (50, 40, 10),
    "TOOL_REFERENCE": (20, 30, 50),
}
_WITH_ANALYSIS = (25, 25, 50)
"""TOOL_REFERENCE with analysis, as SPEC-029 §10 prints it."""

_THING = (
    r"(?:tool|query|search|api|sql|database|function|command)?[ -]?"
    r"(?:results?|quer(?:y|ies)|rows?|tables?|responses?|outputs?|calculations?|records?|errors?|readings?|logs?|"
    r"listings?|dataset|data ?set|csv|spreadsheet|numbers|figures?)"
)
_TOOL = re.compile(
    rf"\bscratch_\w+_\d+\b|\b(?:that|this|those|these|previous|last|earlier|same)\s+(?:\w+\s+){{0,2}}?{_THING}\b"
    r"|\bwhat (?:the )?tools? returned\b",
    re.I,
)
_CLARIFY = re.compile(
    r"\b(?:what (?:do|did) you mean|clarif(?:y|ication)|i meant|you said|you mean|did you say|rephrase|say that again|"
    r"which one do you mean|misunderst\w+)\b",
    re.I,
)
_REFERENCE = re.compile(
    r"^(?:and |so |but )?(?:what about|how about)\b|\btell me more\b|\bmore (?:about|on|detail)|"
    r"\bin (?:more )?detail\b|"
    r"\bgo deeper\b|\b(?:that|this|those|these) (?:one|ones|part|point|idea|decision|approach|step)\b|\bthe (?:first|"
    r"second|third|last|former|latter) one\b|\b(?:we|you|i) (?:discussed|decided|mentioned|talked about|agreed)\b",
    re.I,
)
_CONTINUE = re.compile(
    r"^\s*(?:please )?(?:continue|go on|carry on|keep going|proceed|next(?: step)?|and then)\b", re.I
)
_ANALYSIS = re.compile(r"\b(?:explain|why|trends?|compar\w+|analy[sz]\w+|correlat\w+|reasons?|cause[sd]?)\b", re.I)


@dataclass(frozen=True, slots=True)
class Intent:
    """`percent`: share of the budget for each tier, together 100."""

    name: str
    percent: dict[str, int]
    analysis: bool = False

    def shares(self, budget: int) -> dict[str, int]:
        """Whole tokens for each tier; what rounding leaves is nobody's yet."""
        return {tier: percent * budget // 100 for tier, percent in self.percent.items()}

    @property
    def text(self) -> str:
        """`TOOL_REFERENCE + analysis`."""
        return self.name + (" + analysis" if self.analysis else "")


def read_intent(query: str | None, *, refers: bool = False) -> Intent:
    """The first that fits of tool reference, clarify, other reference, continue; else explore.

    `refers`: the request names stored results, in its words or as focus.
    """
    text = query or ""
    if refers or _TOOL.search(text):
        analysis = bool(_ANALYSIS.search(text))
        return _intent("TOOL_REFERENCE", _WITH_ANALYSIS if analysis else _BLENDS["TOOL_REFERENCE"], analysis)
    for name, pattern in (("CLARIFY", _CLARIFY), ("DRILL_DOWN", _REFERENCE), ("CONTINUE", _CONTINUE)):
        if pattern.search(text):
            return _intent(name, _BLENDS[name])
    return _intent("EXPLORE", _BLENDS["EXPLORE"])


def _intent(name: str, blend: tuple[int, int, int], analysis: bool = False) -> Intent:
    return Intent(name, dict(zip((PERSISTENT, CONVERSATION, EPHEMERAL), blend, strict=True)), analysis)
