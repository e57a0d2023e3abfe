"""Data inside other text: JSON lines, fences, prose, strings, Python reprs, events, documents that were cut."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crp_mcp.core.model import Kind
from crp_mcp.core.shape import iter_rows, read_shape

ROWS = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
TEXT = json.dumps(ROWS, indent=1)
EXPECTED = [(1, "a"), (2, "b")]

WAYS: list[tuple[str, str, tuple[str, ...]]] = [
    ("lines", "\n".join(map(json.dumps, ROWS)) + "\n", ()),
    ("concatenated", "".join(map(json.dumps, ROWS)), ()),
    ("pretty documents", "\n".join(json.dumps(row, indent=2) for row in ROWS), ()),
    ("fenced", f"Here are the results:\n```json\n{TEXT}\n```\nLet me know.", ("fenced",)),
    ("prose before", f"Found 2 users:\n{TEXT}", ("prose",)),
    ("prose after", f"{TEXT}\n\nThat is all.", ("prose",)),
    ("same line", f"Query returned: {json.dumps(ROWS)}", ("prose",)),
    ("sections", f"### Result\n{TEXT}\n### Ran code\n```js\nawait page.x();\n```\n", ("markdown section",)),
    ("string", json.dumps(json.dumps(ROWS)), ("double-encoded",)),
    ("member", json.dumps({"error": "", "response": json.dumps(ROWS)}), ("double-encoded",)),
    ("python", str(ROWS), ("python repr",)),
    ("python in a member", json.dumps({"error": "", "response": str(ROWS)}), ("double-encoded", "python repr")),
    (
        "events",
        "".join(f"event: row\ndata: {json.dumps(row)}\n\n" for row in ROWS) + "data: [DONE]\n",
        ("event stream",),
    ),
]


@pytest.mark.parametrize(("text", "unwrapped"), [way[1:] for way in WAYS], ids=[way[0] for way in WAYS])
def test_rows_are_found_in_every_wrapping_which_is_named_and_the_rows_come_back(
    text: str, unwrapped: tuple[str, ...]
) -> None:
    """The same two rows each time."""
    shape = read_shape(text.encode())
    assert (shape.kind, shape.rows, shape.unwrapped) == (Kind.TABULAR, 2, unwrapped)
    assert list(iter_rows(text.encode(), shape)) == EXPECTED


def test_lines_that_are_no_json_are_counted_apart() -> None:
    """Noise is reported, never a row."""
    text = "# start\n" + "\n".join(map(json.dumps, ROWS * 5)) + "\nnot json\n"
    shape = read_shape(text.encode())
    assert (shape.source, shape.rows, shape.text["noise_lines"]) == ("ndjson", 10, 2)
    assert shape.text["around"] == ["# start", "not json"]


def test_python_values_are_read_without_being_evaluated() -> None:
    """Quotes, None, tuples, dates and decimals."""
    text = """[{'s': "it's", 'n': None, 'd': datetime.date(2024, 1, 2), 'x': Decimal('1.50'), 't': (1, 2)}]"""
    shape = read_shape(text.encode())
    assert list(iter_rows(text.encode(), shape)) == [("it's", None, "2024-01-02", "1.50", [1, 2])]


def test_tuples_are_rows() -> None:
    """What a database cursor prints."""
    shape = read_shape(b"[(1, 'Rock', None), (2, 'R&B', 'x')]")
    assert (shape.kind, shape.rows) == (Kind.TABULAR, 2)


CUT: list[tuple[str, int]] = [
    (json.dumps(ROWS * 3)[:-20], 5),
    (json.dumps({"ok": True, "rows": ROWS * 3})[:-30], 4),
    (json.dumps({"error": "", "response": json.dumps(ROWS * 3)})[:-40], 4),
    (str(ROWS * 3)[:-12], 5),
    (json.dumps(ROWS * 30)[:-200] + "... (truncated)", 0),
]


@pytest.mark.parametrize(("text", "rows"), CUT)
def test_a_document_that_was_cut_is_partial_and_never_taken_for_all(text: str, rows: int) -> None:
    """Complete rows count, the broken one does not."""
    shape = read_shape(text.encode())
    assert (shape.kind, shape.partial, shape.partial_why) == (Kind.TABULAR, True, "cut at the end")
    assert not rows or shape.rows == rows


NOT_DATA: list[Any] = [
    'HTTP/1.0 200 OK\r\nServer: x\r\n\r\n{"a": 1, "b": [1, 2, 3], "c": {"d": 4}}',
    "[File: /a/b.py (372 lines total)]\n(237 more lines above)\n1:x = {'a': 1}\n2:y = [1, 2]\n",
    "The set {1, 2} and the list [3] are written in braces and brackets.\nNothing else here.\n",
    "function f() {\n  return {a: 1};\n}\n",
    '{"hi": "there"} is what the server says, and then it goes on and on about other things for a long while.\n' * 3,
]


@pytest.mark.parametrize("text", NOT_DATA)
def test_braces_in_other_text_do_not_make_it_data(text: str) -> None:
    """Messages, code and prose stay text."""
    assert read_shape(text.encode()).kind is Kind.TEXT


def test_an_environment_is_an_object_and_a_list_of_versions_is_none() -> None:
    """Quotes around a value are none of it; `name==1.0` sets nothing."""
    shape = read_shape(b'HOME=/root\nEMPTY=\nexport SECRET="a=b c"\n')
    assert (shape.kind, [(key, value.text) for key, value in shape.scalars]) == (
        Kind.OBJECT,
        [("HOME", "/root"), ("SECRET", "a=b c"), ("EMPTY", "")],
    )
    assert read_shape(b"attrs==26.1.0\nmypy==2.4.1\nrich==15.0\n").kind is Kind.LIST


def test_columns_that_are_most_of_an_object_are_its_table() -> None:
    """However many scalars and units stand beside them."""
    hours = {"time": [f"2024-06-03T{hour:02}:00" for hour in range(24)], "rain": [0.5] * 24}
    beside = {"latitude": 52.5, "longitude": 13.4, "elevation": 38.0, "timezone": "GMT", "units": {"rain": "mm"}}
    shape = read_shape(json.dumps({**beside, "hourly": hours}).encode())
    assert (shape.kind, shape.rows, shape.path) == (Kind.TABULAR, 24, "hourly")
