"""Made-up sentences over made-up tables: what is decided is right, and most is decided."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.claims_made import measure


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_what_is_decided_of_made_up_sentences_is_right(seed: int) -> None:
    """Nearly every decided sentence is decided as plain Python has it; what the table does not say is left open."""
    kinds, wrong = measure(8, seed)
    asked = sum((count for kind, count in kinds.items() if kind != "open"), Counter[str]())
    assert asked["right"] / asked["decided"] >= 0.99, wrong
    assert asked["right"] / asked["n"] >= 0.92
    assert kinds["open"]["right"] == kinds["open"]["n"], wrong
