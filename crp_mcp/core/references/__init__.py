"""What a phrase such as "that first table" or "the hotel you found" means among earlier results (SPEC-029 §7). Pure."""

from .candidate import Candidate, candidate_of
from .phrases import Phrase, find_phrases
from .resolve import Resolution, resolve, resolve_phrase

__all__ = ["Candidate", "Phrase", "Resolution", "candidate_of", "find_phrases", "resolve", "resolve_phrase"]
