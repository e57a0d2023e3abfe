"""Claims against evidence: which results bear on a claim, what they say, and the verdict with its proof."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .align import GUESS, Aligned, align, bears, context_of, of_another
from .cells import weigh_cells
from .document import Document
from .limits import too_long
from .model import Attribution, Claim, Distortion, Evidence, Finding, Options, Outcome, Source, Verdict
from .restate import restates
from .split import claims_of
from .sums import over_several
from .weigh import TOO_MUCH, Judged, choose, weigh

UNREAD = "unread"
_ATTRIBUTION = {
    Source.TOOL: Attribution.TOOL_GROUNDED,
    Source.FACT: Attribution.CONTEXT_GROUNDED,
    Source.TURN: Attribution.CONVERSATION_GROUNDED,
}


def check_claims(text: str, evidence: Sequence[Evidence], *, options: Options | None = None) -> list[Verdict]:
    """Every claim of `text` with its verdict, in order. Evidence is ordered oldest first. Never raises on any text."""
    chosen = options or Options()
    return [check_claim(claim, evidence, options=chosen) for claim in claims_of(text)]


def check_claim(claim: Claim | str, evidence: Sequence[Evidence], *, options: Options | None = None) -> Verdict:
    """The verdict on one claim (SPEC-029 §6.2)."""
    chosen = options or Options()
    if isinstance(claim, str):
        claim = Claim(claim, 0, len(claim))
    unknown = [c for c in claim.cited if c not in {e.scratch_id for e in evidence} and c not in chosen.known_ids]
    if unknown:
        reason = f"cites {unknown[0]}, which does not exist"
        return Verdict(claim, Outcome.UNVERIFIABLE, Attribution.UNVERIFIABLE, reason, citation="unknown")
    if too_long(claim):
        reason = "it is too long to be read as one statement"
        return Verdict(claim, Outcome.UNVERIFIABLE, Attribution.UNVERIFIABLE, reason)
    if not evidence:
        reason = "there is no result to hold it against"
        return Verdict(claim, Outcome.UNVERIFIABLE, Attribution.UNVERIFIABLE, reason)
    held = _hold(claim, evidence, chosen)
    if held and (held[0].best.outcome is not Outcome.UNVERIFIABLE or bears(claim, evidence)):
        return _verdict(claim, held, chosen)
    reason = "no stored result bears on it"
    parametric = not _of_the_call(claim) and not bears(claim, evidence)
    if parametric:
        reason += ": it rests on what the speaker knows, not on what was returned or said"
    attribution = Attribution.PARAMETRIC if parametric else Attribution.UNVERIFIABLE
    return Verdict(claim, Outcome.UNVERIFIABLE, attribution, reason)


@dataclass(frozen=True, eq=False)
class _Held:
    """What evidence of one kind comes to, and which of it."""

    best: Judged
    holders: tuple[Evidence, ...]


def _hold(claim: Claim, evidence: Sequence[Evidence], options: Options) -> list[_Held]:
    """What decides a claim first; with a support, what supports it of another kind too. Undecided: one that says why.

    Results come before answers computed from them, then facts, then what was said.
    """
    chosen = bool(claim.cited) or options.picked
    results = [e for e in evidence if e.source is Source.TOOL]
    first = [e for e in results if chosen or not e.derived_from]
    groups = [first, [e for e in results if e not in first]]
    groups += [[e for e in evidence if e.source is source] for source in (Source.FACT, Source.TURN)]
    found: list[_Held] = []
    undecided: list[_Held] = []
    for group in groups:
        asked = [e for e in group if e.words] if found else group
        held = _of_kind(claim, asked, options, only_support=bool(found) or (group is groups[1])) if asked else None
        if held is not None and held.best.outcome is Outcome.UNVERIFIABLE:
            undecided.append(held)
        elif held is not None:
            found.append(held)
            if held.best.outcome is Outcome.CONTRADICTED:
                break
    return found or undecided[:1]


def _of_kind(claim: Claim, evidence: Sequence[Evidence], options: Options, *, only_support: bool) -> _Held | None:
    for one in reversed(evidence):  # what was said last holds
        if one.words and (again := restates(claim.text, one.words)) is not None:
            return _Held(again, (one,))
    aligned = align(claim, evidence, options)
    if not aligned:
        return None
    judged = [(a, _weigh(claim, a, evidence, options)) for a in aligned]
    best = choose([j for _, j in judged])
    if best.outcome is Outcome.CONTRADICTED and (unread := [j for _, j in judged if j.frame in (UNREAD, TOO_MUCH)]):
        best = unread[0]  # what one result contradicts, one that could not be read may yet say
    if best.outcome is not Outcome.SUPPORTED and len(aligned) > 1:
        best = over_several(claim.text, [a.evidence for a in aligned]) or best
    if only_support and (best.outcome is not Outcome.SUPPORTED or best.frame.startswith(_OF_THE_WHOLE)):
        return None
    holders = tuple(a.evidence for a, j in judged if j is best) or tuple(a.evidence for a, _ in judged)
    return _Held(best, holders)


_OF_THE_WHOLE = ("count", "sum-of-rows", "outcome", "stated-partial")
"""What says how many rows there are: those of a computed answer are not those of what it was computed from."""
_CALL = re.compile(
    r"\b(?:results?|quer(?:y|ies)|responses?|outputs?|tools?|calls?|requests?|search(?:es)?|apis?|tables?|lists?|rows?|"
    r"records?|entr(?:y|ies)|files?|data|logs?|tests?)\b|^\W*(?:it|they|he|she|this|that|these|those|there|all|both|none)\b",
    re.IGNORECASE,
)


def _of_the_call(claim: Claim) -> bool:
    """Whether a sentence speaks of what was called or done, or of something said before, whatever it shares."""
    return bool(claim.cells or claim.cited or _CALL.search(claim.text) or _OWN_DEED.match(claim.text))


_OWN_DEED = re.compile(
    r"^\W*(?:(?:then|also|so|first|next|finally),?\s+)?(?:I|we)(?:'ve|'d)?\s+(?:have |had |also |then |just |now )*"
    r"(?!found|find|see|saw|seen|got|get|count|receiv|retriev|fetch|have\b)\w+",
    re.IGNORECASE,
)
SURE = 0.35
"""Words left unexplained, as a cost, with which a sentence may still be said to be wrong of a result nobody picked."""


def _weigh(claim: Claim, aligned: Aligned, evidence: Sequence[Evidence], options: Options) -> Judged:
    document: Document = aligned.evidence.load()
    if document.unread:
        return Judged(Outcome.UNVERIFIABLE, 9.0, reason=document.unread, frame=UNREAD)
    context = context_of(aligned.evidence)
    if claim.cells:
        return weigh_cells(claim, document)
    found = weigh(claim.text, document, context)
    wrong = found.outcome is Outcome.CONTRADICTED
    if found.outcome is not Outcome.UNVERIFIABLE and (
        word := of_another(claim, aligned.evidence, document, evidence, by_name=not wrong)
    ):
        return replace(found, outcome=Outcome.UNVERIFIABLE, reason=f"{word!r} is of another result")
    doubted = (
        bool(aligned.evidence.words)
        or aligned.score <= GUESS
        or _OWN_DEED.match(claim.text) is not None
        or (not options.picked and found.cost > SURE)
    )
    if doubted and found.outcome is Outcome.CONTRADICTED:
        return replace(found, outcome=Outcome.UNVERIFIABLE, reason="no stored result clearly bears on it")
    if found.outcome is Outcome.UNVERIFIABLE and claim.context and len(claim.text.split()) <= 12:
        for text in _in_context(claim):
            longer = weigh(text, document, context)
            if longer.outcome is not Outcome.UNVERIFIABLE:
                return longer
    return found


_ITEM = re.compile(r"^(?P<label>[^:]{1,60}?)(?::| -| –|,)\s+(?P<value>\S.{0,60})$")


def _in_context(claim: Claim) -> list[str]:
    """A fragment as a sentence: `Station: 21` under `Staff by shop` is `staff of Station is 21`."""
    context = claim.context.rstrip(" .:")
    out = []
    if (item := _ITEM.match(claim.text)) and len(context) < 120:
        measure = (
            re.split(r"\b(?:by|per|for each|of each|of the|in the|of|for|in)\b", context, maxsplit=1)[0].strip()
            or context
        )
        out.append(f"The {measure} of {item['label']} is {item['value']}")
    return [*out, f"{context}, {claim.text}"]


def _verdict(claim: Claim, held: Sequence[_Held], options: Options) -> Verdict:
    best = held[0].best
    if best.outcome is Outcome.UNVERIFIABLE:
        return Verdict(
            claim, best.outcome, Attribution.UNVERIFIABLE, best.reason or "it cannot be decided from the results"
        )
    holders = [e for one in held for e in one.holders]
    sources = {e.source for e in holders}
    attribution = _ATTRIBUTION[holders[0].source] if len(sources) == 1 else Attribution.MIXED
    findings = tuple(
        Finding(
            e.scratch_id,
            e.provenance_hash,
            one.best.computed.replace("{table}", f'"{_runnable(e)}"'),
            one.best.found,
            one.best.stated,
        )
        for one in held
        for e in one.holders
    )
    reason = best.reason or (
        f"found {best.found}" if best.outcome is Outcome.SUPPORTED else f"stated {best.stated}, found {best.found}"
    )
    distortion = (best.distortion or Distortion.NUMBER_CHANGED) if best.outcome is Outcome.CONTRADICTED else None
    return Verdict(claim, best.outcome, attribution, reason, distortion, findings, _citation(claim, holders, options))


def _runnable(evidence: Evidence) -> str:
    """The id under which a reader can run what was computed: a fact's is that of the result it was taken from."""
    of_result = evidence.source is Source.FACT and evidence.derived_from
    return evidence.derived_from[0] if of_result else evidence.scratch_id


def _citation(claim: Claim, holders: Sequence[Evidence], options: Options) -> str | None:
    ids = {e.scratch_id for e in holders}
    if claim.cited and not ids & set(claim.cited):
        return "wrong"
    if options.require_citation and not claim.cited and any(e.source is Source.TOOL for e in holders):
        return "missing"
    return None
