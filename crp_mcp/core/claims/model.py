"""The nouns of claim checking: evidence, claim, finding, verdict. Knows nothing of how a sentence is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .document import Document


class Outcome(StrEnum):
    """What checking a claim came to."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNVERIFIABLE = "unverifiable"


class Attribution(StrEnum):
    """Where a claim comes from (SPEC-029 §6.2)."""

    TOOL_GROUNDED = "TOOL_GROUNDED"
    CONTEXT_GROUNDED = "CONTEXT_GROUNDED"
    CONVERSATION_GROUNDED = "CONVERSATION_GROUNDED"
    MIXED = "MIXED"
    PARAMETRIC = "PARAMETRIC"
    UNVERIFIABLE = "UNVERIFIABLE"


class Distortion(StrEnum):
    """How a contradicted claim departs from its source."""

    NUMBER_CHANGED = "NUMBER_CHANGED"
    NEGATION_FLIP = "NEGATION_FLIP"
    DATE_SHIFTED = "DATE_SHIFTED"
    ENTITY_SUBSTITUTED = "ENTITY_SUBSTITUTED"
    MAGNITUDE_ALTERED = "MAGNITUDE_ALTERED"
    CONTEXT_STRIPPED = "CONTEXT_STRIPPED"


class Source(StrEnum):
    """What kind of thing an evidence is: decides the attribution of a claim that rests on it."""

    TOOL = "tool"
    FACT = "fact"
    TURN = "turn"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One stored result a claim may rest on. `load` reads it on first need and must return the same value each time."""

    scratch_id: str
    load: Callable[[], Document]
    tool: str = ""
    server: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    provenance_hash: str = ""
    names: tuple[str, ...] = ()
    """Pinned names, the tool's class: what a sentence may call this result."""
    columns: tuple[str, ...] = ()
    """Column names or keys as far as known without loading."""
    mentions: Callable[[Sequence[str]], bool] | None = None
    """Whether any of these words stands in the payload: a cheap test that spares loading; None = not known."""
    source: Source = Source.TOOL
    derived_from: tuple[str, ...] = ()
    """Results that this one was computed from, or a fact was taken from: it is no second, independent evidence."""
    words: str = ""
    """What somebody said, where the evidence is that: a claim may say it again."""


@dataclass(frozen=True, slots=True)
class Options:
    """How strict to be. `require_citation`: a claim that rests on a tool must cite `[scratch_id]` (SPEC-029 §8)."""

    require_citation: bool = False
    known_ids: tuple[str, ...] = ()
    """Every id that exists, when more exist than are given as evidence."""
    max_evidence: int = 6
    """Most results loaded for one claim that names none."""
    picked: bool = True
    """Whether someone chose the results for this text. Else each must show that it bears on it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One checkable clause. `start` and `end` are character offsets in the text it was taken from."""

    text: str
    start: int
    end: int
    context: str = ""
    """What stands before it and says what it is about: a list's lead-in, a table's header, the sentence before."""
    cited: tuple[str, ...] = ()
    cells: tuple[tuple[str, str], ...] = ()
    """For a table row in the answer: (header, cell) pairs, the row's label first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was computed from one result, so that a reader can do it again."""

    scratch_id: str
    provenance_hash: str
    computed: str
    """SQL over the result's table, or a path into the result."""
    found: str
    stated: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one claim."""

    claim: Claim
    outcome: Outcome
    attribution: Attribution
    reason: str
    distortion: Distortion | None = None
    findings: tuple[Finding, ...] = ()
    citation: str | None = None
    """What is wrong with the claim's citation: `missing`, `unknown`, `wrong`; None when nothing is."""

    @property
    def checked(self) -> bool:
        """Whether evidence decided it, either way."""
        return self.outcome is not Outcome.UNVERIFIABLE
