"""What a summary says of sizes, names and faults is so, also where a reader's own limits are passed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.model import SummaryOptions
from crp_mcp.core.shape import HEAD, read_shape
from crp_mcp.core.shape.texts import TextStats
from crp_mcp.core.summary import render_summary
from tests.core.summary_checks import ID, count_tokens


def _said(payload: bytes | str) -> str:
    data = payload.encode() if isinstance(payload, str) else payload
    options = SummaryOptions(cap=256, sample_rows=3)
    return render_summary(read_shape(data), scratch_id=ID, tool="a:b", count=count_tokens, options=options)


@pytest.mark.parametrize("payload", ["a,b\n", "| a | b |\n|---|---|\n", "a\tb\n"])
def test_a_table_without_rows_has_its_columns_by_name(payload: str) -> None:
    """Names alone, with nothing to say of each."""
    assert _said(payload).splitlines()[-1] == "| columns: a, b"


@pytest.mark.parametrize("digits", [100, 3_000, 1_000_000])
@pytest.mark.parametrize("around", ["[{}]", '[{{"a": {}}}]', '{{"a": {}, "b": "x"}}'])
def test_a_long_number_is_told_by_its_real_length(digits: int, around: str) -> None:
    """However many of its digits a shape keeps."""
    said = _said(around.format("7" * digits))
    assert f"({digits} characters long)" in said


_LONG = 2 * HEAD
"""Characters: read in many pieces."""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x" * _LONG, 1),
        ("x" * _LONG + "\n", 1),
        ("word " * (_LONG // 5), 1),
        ("a" + " " * _LONG + "b", 1),
        ("x" * _LONG + "\n\n" + "word " * (_LONG // 5) + "\nlast", 4),
        ("short line\n" * 50_000 + "y" * _LONG, 50_001),
        ("ERROR " * (_LONG // 6) + "\nINFO ok\n", 2),
    ],
)
def test_lines_and_words_are_counted_right_however_long_a_line_is(text: str, lines: int) -> None:
    """The pieces a text comes in are no lines and no words of their own."""
    facts = read_shape(text.encode()).text
    assert (facts["lines"], facts["words"], facts["chars"]) == (lines, len(text.split()), len(text))
    assert facts.get("levels", {}).get("ERROR", 0) == ("ERROR" in text)


@given(st.text("aE# \nRO-", max_size=40), st.lists(st.integers(1, 39), max_size=6))
def test_counts_do_not_hang_on_where_a_text_is_cut(text: str, cuts: list[int]) -> None:
    """Lines, words and characters of the pieces are those of the whole."""
    stats, whole = TextStats(), TextStats()
    whole.feed(text)
    for start, end in pairwise(sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})):
        stats.feed(text[start:end])
    assert (stats.lines, stats.words, stats.chars) == (whole.lines, whole.words, whole.chars)
    assert (whole.lines, whole.words) == (text.count("\n") + (text[-1:] not in ("", "\n")), len(text.split()))


def test_a_long_text_of_nothing_but_blanks_is_empty() -> None:
    """As a short one is."""
    assert _said(b" " * _LONG).startswith("returned 0 rows")
