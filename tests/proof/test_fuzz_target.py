"""The fuzz target itself: it runs over its seeds and small mutations of them without atheris."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.fuzz_proof import SEEDS, one_input


def test_seeds_pass() -> None:
    """Every seed goes through every reader."""
    for seed in SEEDS:
        one_input(seed)


@given(st.sampled_from(SEEDS), st.data())
def test_mutations_raise_nothing_unexpected(seed: bytes, data: st.DataObject) -> None:
    """Bytes cut out and put in: only the typed rejection is ever raised."""
    start = data.draw(st.integers(0, len(seed)))
    end = data.draw(st.integers(start, min(len(seed), start + 40)))
    one_input(seed[:start] + data.draw(st.binary(max_size=10)) + seed[end:])
