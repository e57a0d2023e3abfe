"""Response headers: what of an answer's `_meta` may go onto the wire."""

from __future__ import annotations

import pytest

from crp_mcp.core.headers import HEADERS_KEY, NAMES, response_headers

ALL = {
    "CRP-Context-Scratch-Entries": "7/2",
    "CRP-Context-Scratch-Freshness": "stale; age=240s; class=VOLATILE",
    "CRP-Context-Scratch-Tokens-Saved": "18400",
    "CRP-Context-Scratch-Full": "true",
    "CRP-Safety-Tool-Attribution": "5/0",
    "Agent-Memory-Lineage-Receipt": "sha256:" + "0f" * 32,
}


def test_every_header_passes_as_it_is() -> None:
    """An answer's headers are its HTTP headers, in a fixed order."""
    assert list(response_headers({HEADERS_KEY: dict(reversed(ALL.items()))}).items()) == list(ALL.items())
    assert tuple(ALL) == NAMES


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CRP-Context-Scratch-Entries", "7/2\r\nSet-Cookie: a=b"),
        ("CRP-Context-Scratch-Entries", "7/2\n"),
        ("CRP-Context-Scratch-Freshness", "fresh; said the tool"),
        ("CRP-Context-Scratch-Tokens-Saved", "-3"),
        ("CRP-Context-Scratch-Tokens-Saved", "٣"),
        ("CRP-Context-Scratch-Tokens-Saved", 3),
        ("CRP-Context-Scratch-Full", "false"),
        ("X-Other", "1"),
    ],
)
def test_what_is_no_value_of_ours_is_absent(name: str, value: object) -> None:
    """Anything that does not read exactly as one of our headers is left out."""
    assert response_headers({HEADERS_KEY: {name: value}}) == {}


@pytest.mark.parametrize("meta", [None, {}, [], {HEADERS_KEY: None}, {HEADERS_KEY: "7/2"}])
def test_an_answer_without_headers_has_none(meta: object) -> None:
    """Results that are passed on untouched carry nothing of ours."""
    assert response_headers(meta) == {}
