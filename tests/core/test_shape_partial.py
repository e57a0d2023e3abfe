"""Total, returned and shown are three numbers: what a source says of the rows that are not there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crp_mcp.core.shape import read_shape

ROWS = [{"id": 1}, {"id": 2}]

MARKED: list[tuple[Any, int | None, bool]] = [
    ({"rows": ROWS, "truncated": True}, None, True),
    ({"rows": ROWS, "truncated": False}, None, False),
    ({"data": ROWS, "has_more": True}, None, True),
    ({"channels": ROWS, "response_metadata": {"next_cursor": "dGVhbQ=="}}, None, True),
    ({"channels": ROWS, "response_metadata": {"next_cursor": ""}}, None, False),
    ({"items": ROWS, "nextPageToken": "abc"}, None, True),
    ({"items": ROWS, "next_page": None}, None, False),
    ({"issues": ROWS, "startAt": 0, "maxResults": 2, "total": 34}, 34, True),
    ({"comments": ROWS, "startAt": 0, "maxResults": 100, "total": 2}, 2, False),
    ({"items": ROWS, "total_count": 2, "incomplete_results": False}, 2, False),
    ({"results": ROWS, "count": 100, "next": "http://x?page=2"}, 100, True),
    ({"results": ROWS, "count": 2}, None, False),
    ({"items": ROWS, "metadata": {"continue": "abc", "remainingItemCount": 7}}, 9, True),
    ({"values": ROWS, "isLast": False}, None, True),
    ({"values": ROWS, "isLast": True}, None, False),
    ({"rows": ROWS, "limit": 2}, None, True),
    ({"rows": ROWS, "limit": 50}, None, False),
    ({"hits": {"total": {"value": 42}, "hits": ROWS}}, 42, True),
    ({"rows": ROWS, "cursor": "sDXF1ZXJ5"}, None, True),
    ({"rows": ROWS, "cursor": "sDXF1ZXJ5", "has_more": False}, None, False),
    ({"rows": ROWS, "cursor": "sDXF1ZXJ5", "next_cursor": None}, None, False),
    ({"rows": ROWS, "cursor": "0"}, None, False),
    ({"records": ROWS, "offset": "itrzKbzp/recdvz"}, None, True),
    ({"records": ROWS, "offset": "20"}, None, False),
    ({"records": ROWS, "offset": "+02:00"}, None, False),
    ({"items": ROWS, "after": "2024-01-31"}, None, False),
    ({"kind": "Listing", "data": {"after": "t3_15bfi0", "children": ROWS}}, None, True),
    ({"incidents": ROWS, "limit": 25, "offset": 0, "more": True}, None, True),
    ({"features": ROWS, "exceededTransferLimit": True}, None, True),
    ({"results": ROWS, "paging": {"next": {"after": "6"}}}, None, True),
    ({"type": "searchset", "total": 57, "link": [{"relation": "next", "url": "?p=2"}], "entry": ROWS}, 57, True),
    ({"items": ROWS, "links": [{"rel": "self", "href": "?p=1"}]}, None, False),
    ({"Contents": ROWS, "IsTruncated": False, "NextMarker": "b/2"}, None, False),
    ({"query": {"searchinfo": {"totalhits": 5060}, "search": ROWS}}, 5060, True),
    ({"features": ROWS, "metadata": {"count": 2, "status": 200}}, None, False),
]


@pytest.mark.parametrize(("value", "total", "partial"), MARKED)
def test_members_beside_the_rows_say_how_much_there_is(value: Any, total: int | None, partial: bool) -> None:
    """The rows that are here stay two."""
    shape = read_shape(json.dumps(value).encode())
    assert (shape.rows, shape.rows_total, shape.partial) == (2, total, partial)
    assert (shape.partial_why is not None) == partial


SAID: list[tuple[str, int | None, bool]] = [
    (json.dumps(ROWS) + "\n\nShowing 2 of 237 results", 237, True),
    ("Found 2 rows:\n" + json.dumps(ROWS), None, False),
    ("1. row\nid: 1\nname: x\n\n2. row\nid: 2\nname: y\n\nResult: showing first 2 rows (output truncated)", None, True),
    ("1. row\nid: 1\nname: x\n\n2. row\nid: 2\nname: y\n\nResult: 2 rows", None, False),
    ("| id | n |\n|---|---|\n| 1 | a |\n| 2 | b |\n\n... and 12 more rows\n", None, True),
    (" id | n \n----+---\n  1 | a\n  2 | b\n(2 rows)\n", 2, False),
    ("id,n\n1,a\n2,b\nShowing 2 of 99 rows\n", 99, True),
    ("Found 2 of 250 products:\n\n| id | n |\n|---|---|\n| 1 | a |\n| 2 | b |\n", 250, True),
    ("Showing all 2 results\n\n| id | n |\n|---|---|\n| 1 | a |\n| 2 | b |\n", None, False),
    ("id,n\n1,a\n2,b\nTotal: 250 rows\n", 250, True),
    ("2 rows (of 90)\n\nid,n\n1,a\n2,b\n", 90, True),
    ("Page 2 of 250\n\n| id | n |\n|---|---|\n| 1 | a |\n| 2 | b |\n", None, True),
    ("Page 1 of 1\n\n| id | n |\n|---|---|\n| 1 | a |\n| 2 | b |\n", None, False),
    ("Page 1 of 5 (2 of 9 users)\n\n| id | n |\n|---|---|\n| 1 | a |\n| 2 | b |\n", 9, True),
    ("The 3 of 250 best:\n\n| id | n |\n|---|---|\n| 1 | a |\n| 2 | b |\n", None, False),
]


@pytest.mark.parametrize(("text", "total", "partial"), SAID)
def test_lines_around_the_rows_say_how_much_there_is(text: str, total: int | None, partial: bool) -> None:
    """In words, in a footer, in brackets."""
    shape = read_shape(text.encode())
    assert (shape.rows, shape.rows_total, shape.partial) == (2, total, partial)


def test_a_window_of_a_file_is_partial_text() -> None:
    """The editor says how many lines are above and below."""
    shape = read_shape(
        b"[File: /a/b.py (372 lines total)]\n(272 more lines above)\n273:x = 1\n274:y = 2\n275:def f():\n"
    )
    assert shape.partial
    assert shape.partial_why == "272 more lines above"


def test_a_page_number_in_a_document_leaves_it_whole() -> None:
    """All pages may be there; over rows, one page is not all of them."""
    assert not read_shape(b"Annual report\nPage 3 of 12\nThe year began well. Then it rained.\n").partial


@pytest.mark.parametrize(
    ("text", "partial"),
    [
        ("a line\nanother line\n<response clipped>\n", True),
        ("a line\nanother line\n[Output truncated: 120,000 bytes total, 30,000 shown]\n", True),
        ("The file was truncated by its writer in 2019, so the index was rebuilt.\nAll is well.\n", False),
        ("There were only 3 items in stock.\nWe ordered more of them.\n", False),
    ],
)
def test_a_text_is_cut_where_a_mark_says_so(text: str, partial: bool) -> None:
    """A sentence about cutting is none."""
    assert read_shape(text.encode()).partial == partial
