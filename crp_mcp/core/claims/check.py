"""Claims against evidence: which results bear on a claim, what they say, and the verdict with its proof."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from .align import GUESS, Aligned, align, context_of
from .cells import weigh_cells
from .document import Document
from .model import Attribution, Claim, Distortion, Evidence, Finding, Options, Outcome, Source, Verdict
from .split import claims_of
from .sums import over_several
from .weigh import Judged, choose, weigh

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
    aligned = align(claim, evidence, chosen)
    if not aligned:
        reason = "there is no result to hold it against" if not evidence else "no stored result bears on it"
        return Verdict(claim, Outcome.UNVERIFIABLE, Attribution.UNVERIFIABLE, reason)
    judged = [(a, _weigh(claim, a, chosen)) for a in aligned]
    best = choose([j for _, j in judged])
    if best.outcome is Outcome.CONTRADICTED and (unread := [j for _, j in judged if j.frame == UNREAD]):
        best = unread[0]  # what one result contradicts, one that could not be read may yet say
    if (
        best.outcome is not Outcome.SUPPORTED
        and len(aligned) > 1
        and (summed := over_several(claim.text, [a.evidence for a in aligned]))
    ):
        best = summed
    return _verdict(claim, best, judged, evidence, chosen)


_OWN_DEED = re.compile(
    r"^\W*(?:(?:then|also|so|first|next|finally),?\s+)?(?:I|we)(?:'ve|'d)?\s+(?:have |had |also |then |just |now )*"
    r"(?!found|find|see|saw|seen|got|get|count|receiv|retriev|fetch|have\b)\w+",
    re.IGNORECASE,
)
SURE = 0.35
"""Words left unexplained, as a cost, with which a sentence may still be said to be wrong of a result nobody picked."""


def _of_something_else(claim: Claim, found: Judged) -> bool:
    """Whether a sentence may well not be about a result at all: what the speaker did, or mostly words it has not."""
    return found.cost > SURE or _OWN_DEED.match(claim.text) is not None


def _weigh(claim: Claim, aligned: Aligned, options: Options) -> Judged:
    document: Document = aligned.evidence.load()
    if document.unread:
        return Judged(Outcome.UNVERIFIABLE, 9.0, reason=document.unread, frame=UNREAD)
    context = context_of(aligned.evidence)
    if claim.cells:
        return weigh_cells(claim, document)
    found = weigh(claim.text, document, context)
    doubted = aligned.score <= GUESS or (not options.picked and _of_something_else(claim, found))
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


def _verdict(
    claim: Claim, best: Judged, judged: Sequence[tuple[Aligned, Judged]], evidence: Sequence[Evidence], options: Options
) -> Verdict:
    holders = [a.evidence for a, j in judged if j is best] or [a.evidence for a, _ in judged]
    if best.outcome is Outcome.UNVERIFIABLE:
        return Verdict(
            claim, best.outcome, Attribution.UNVERIFIABLE, best.reason or "it cannot be decided from the results"
        )
    sources = {e.source for e in holders}
    attribution = _ATTRIBUTION[holders[0].source] if len(sources) == 1 else Attribution.MIXED
    findings = tuple(
        Finding(
            e.scratch_id,
            e.provenance_hash,
            best.computed.replace("{table}", f'"{e.scratch_id}"'),
            best.found,
            best.stated,
        )
        for e in holders
    )
    reason = best.reason or (
        f"found {best.found}" if best.outcome is Outcome.SUPPORTED else f"stated {best.stated}, found {best.found}"
    )
    distortion = (best.distortion or Distortion.NUMBER_CHANGED) if best.outcome is Outcome.CONTRADICTED else None
    return Verdict(claim, best.outcome, attribution, reason, distortion, findings, _citation(claim, holders, options))


def _citation(claim: Claim, holders: Sequence[Evidence], options: Options) -> str | None:
    ids = {e.scratch_id for e in holders}
    if claim.cited and not ids & set(claim.cited):
        return "wrong"
    if options.require_citation and not claim.cited and any(e.source is Source.TOOL for e in holders):
        return "missing"
    return None
