"""What a summary says of sizes, names and faults is so, also where a reader's own limits are passed."""

from __future__ import annotations

import pytest

from crp_mcp.core.model import SummaryOptions
from crp_mcp.core.shape import read_shape
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
@pytest.mark.parametrize("around", ["{}", "[{}]", '[{{"a": {}}}]', '{{"a": {}, "b": "x"}}'])
def test_a_long_number_is_told_by_its_real_length(digits: int, around: str) -> None:
    """However many of its digits a shape keeps."""
    if digits == 1_000_000 and around == "{}":
        pytest.skip("a text of digits alone is a text")
    said = _said(around.format("7" * digits))
    assert f"({digits} characters long)" in said
