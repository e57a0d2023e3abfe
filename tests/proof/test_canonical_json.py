"""Canonical JSON: the guarded fast path gives the reference's bytes, and refuses what it refuses."""

from __future__ import annotations

import json
import math
from enum import StrEnum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crp_mcp.proof.canonical import canonicalize, canonicalize_reference
from tests.proof.support import VECTORS, shared

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(1e-6, 1e-4)
    | st.floats(1e15, 1e22)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), inner, max_size=5)
    ),
    max_leaves=25,
)


@settings(max_examples=400)
@given(VALUES)
def test_equals_the_reference(value: object) -> None:
    """Whatever path is taken, the bytes are those of the reference implementation."""
    assert canonicalize(value) == canonicalize_reference(value)


@given(st.dictionaries(st.text("a\ud7ff\ue000\U00010000\U0010ffff", max_size=3), st.integers(0, 9), max_size=6))
def test_keys_are_in_utf_16_order(value: dict[str, int]) -> None:
    """Keys beyond U+D7FF are ordered by UTF-16 code units, not by code points."""
    keys = list(json.loads(canonicalize(value)))
    assert keys == sorted(value, key=lambda key: key.encode("utf-16-be"))


@pytest.mark.parametrize("folder", ["committed", "shared"])
def test_rfc_8785_samples(folder: str) -> None:
    """All six published samples come out byte for byte."""
    base = VECTORS / "rfc8785" if folder == "committed" else shared("rfc8785")
    names = sorted(path.name for path in (base / "input").iterdir())
    assert len(names) == 6
    for name in names:
        value = json.loads((base / "input" / name).read_bytes())
        expected = bytes.fromhex((base / "outhex" / name).with_suffix(".txt").read_text())
        assert canonicalize(value) == expected


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, 2**53, -(2**53), {1: 2}, {"a": "\ud800"}, {"\udc00": 1}, b"bytes", {"a": {1, 2}}]
)
def test_refuses_what_has_no_canonical_form(value: object) -> None:
    """ValueError, never a silent null or a rounded number."""
    with pytest.raises(ValueError):
        canonicalize(value)


def test_refuses_nesting_the_interpreter_cannot_walk() -> None:
    """Absurd depth is a ValueError, not a RecursionError."""
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ValueError, match="deeply"):
        canonicalize(value)
    while value:  # taken apart by hand: freeing it in one go recurses too
        value = value.pop()  # type: ignore[assignment]


def test_subclasses_are_spelled_like_their_base() -> None:
    """A string enum is its text, on the reference path."""

    class Colour(StrEnum):
        RED = "red"

    assert canonicalize({"c": Colour.RED}) == b'{"c":"red"}'
