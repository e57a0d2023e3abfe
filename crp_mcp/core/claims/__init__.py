"""Text -> claims -> aligned results -> verdicts (SPEC-029 §6). Pure and deterministic; no model, no network."""

from .batch import run_batch
from .check import check_claim, check_claims
from .document import Document
from .evidence import make_evidence, said_evidence
from .model import Attribution, Claim, Distortion, Evidence, Finding, Options, Outcome, Source, Verdict
from .split import claims_of

__all__ = [
    "Attribution",
    "Claim",
    "Distortion",
    "Document",
    "Evidence",
    "Finding",
    "Options",
    "Outcome",
    "Source",
    "Verdict",
    "check_claim",
    "check_claims",
    "claims_of",
    "make_evidence",
    "run_batch",
    "said_evidence",
]
