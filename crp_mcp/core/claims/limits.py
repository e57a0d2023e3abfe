"""How much is tried on one sentence before it is left undecided. Counted in steps, never by a clock."""

from __future__ import annotations

from .model import Claim

MAX_CHARS = 4_000
MAX_WORDS = 300
"""What is longer is no sentence: it is not read."""
MAX_CELLS = 400
MAX_STEPS = 4_000
"""Steps that one sentence may take over one result; ordinary ones take a hundred at most."""
ROWS_A_STEP = 10_000
CHUNKS_A_STEP = 20
COLUMNS_A_STEP = 512
"""What makes a step longer: rows of the table, pieces of the sentence, words times columns to link."""


class TooMuch(Exception):
    """A sentence has more readings than are tried."""


class Work:
    """The steps that are left for one sentence over one result."""

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self.left = steps

    def spend(self, steps: int = 1) -> None:
        """Take steps off; raises TooMuch where none are left."""
        self.left -= steps
        if self.left < 0:
            raise TooMuch


def too_long(claim: Claim) -> bool:
    """Whether a claim is too long to be one sentence, or one row."""
    if claim.cells:
        return len(claim.cells) > MAX_CELLS or len(claim.text) > 10 * MAX_CHARS
    return is_too_long(claim.text)


def is_too_long(text: str) -> bool:
    return len(text) > MAX_CHARS or len(text.split(None, MAX_WORDS)) > MAX_WORDS
