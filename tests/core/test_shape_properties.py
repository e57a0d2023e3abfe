"""Any bytes whatever give a shape; the same bytes the same shape; the pieces they come in make no difference."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from crp_mcp.core.shape import iter_rows, read_shape, rows_at, shape_from_json, shape_to_json
from crp_mcp.core.shape.cells import load_json
from crp_mcp.core.shape.csv_stream import CsvBlocks
from crp_mcp.core.shape.delimited import Dialect
from crp_mcp.core.shape.json_stream import JsonReader
from crp_mcp.core.shape.lists import ListFacts

PARTS = [
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"|",
    b"\n",
    b"\t",
    b";",
    b"'",
    b"---",
    b"\\",
    b"```\n",
    b"a",
    b"1",
    b" ",
]
PARTS += [
    b"\x00",
    b"\xff",
    b"\xc3\xa9",
    b"true",
    b"null",
    b"Error: ",
    b"\xef\xbb\xbf",
    b"\r",
    b"\xe2\x94\x80",
    b"data: ",
    b"# ",
]
SOUP = st.lists(st.sampled_from(PARTS), max_size=60).map(b"".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**25), 10**25) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=6), inner, max_size=6),
    max_leaves=30,
)
ROWS = st.lists(st.dictionaries(st.sampled_from(["id", "näme", "x y"]), JSON, min_size=1), min_size=1, max_size=20)


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=300) | SOUP, st.sampled_from(["text", "result"]), st.booleans())
def test_any_bytes_have_a_shape_that_survives_storing(data: bytes, form: str, is_error: bool) -> None:
    """No exception, the same twice, and through JSON and back."""
    shape = read_shape(data, form=form, is_error=is_error)
    assert read_shape(data, form=form, is_error=is_error) == shape
    assert shape_from_json(json.loads(json.dumps(shape_to_json(shape)))) == shape


@settings(max_examples=300, deadline=None)
@given(SOUP | JSON.map(lambda value: json.dumps(value).encode()))
def test_as_many_rows_come_back_as_the_shape_counts(data: bytes) -> None:
    """Each with a cell for every column."""
    shape = read_shape(data)
    if shape.kind in ("tabular", "list") and not shape.is_error:
        rows = list(iter_rows(data, shape))
        assert len(rows) == shape.rows
        assert shape.columns is None or all(len(row) == len(shape.columns) for row in rows)
        assert rows_at(lambda at, size: data[at : at + size], len(data), shape, 1, 3) == rows[1:4]


@settings(max_examples=200, deadline=None)
@given(JSON, st.integers(1, 9), st.sampled_from([None, 2]))
def test_a_document_in_pieces_is_the_document(value: Any, size: int, indent: int | None) -> None:
    """The streaming reader and the plain one agree on every value."""
    data = json.dumps(value, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass")
    reader = JsonReader()
    for at in range(0, len(data), size):
        reader.feed(data[at : at + size])
    reader.finish()
    assert (reader.found, reader.cut, reader.broken) == (True, False, None)
    assert reader.end == len(data)
    _agree(load_json(data), reader.value)


def _agree(expected: Any, actual: Any) -> None:
    if isinstance(actual, ListFacts):
        assert actual.count + (actual.names is not None) == len(expected)
        if actual.names is None and not actual.node:
            assert list(actual.head) == expected[: len(actual.head)]
    elif isinstance(expected, dict):
        assert list(actual) == list(expected)
        for key, item in expected.items():
            _agree(item, actual[key])
    else:
        assert actual == expected


def test_a_document_cut_anywhere_is_cut_and_not_broken() -> None:
    """In a word, a number, an escape, between a key and its colon."""
    text = '[{"a": "x\\u00e9\\n\\"q\\ud83d\\ude00", "b": [1.5e-3, true, false, null, -2], "c": {} , "d" : [ ] }, NaN]'
    for end in range(1, len(text)):
        reader = JsonReader()
        reader.feed(text[:end].encode())
        reader.finish()
        assert (reader.cut, reader.broken) == (True, None), text[:end]


@settings(max_examples=100, deadline=None)
@given(ROWS, st.integers(0, 10**6))
def test_a_cut_document_is_never_taken_for_all_of_it(rows: list[dict[str, Any]], cut: int) -> None:
    """Wherever it ends too early it is partial, an error, or no table."""
    data = json.dumps(rows).encode()
    shape = read_shape(data[: cut % len(data)])
    assert shape.kind != "tabular" or shape.partial
    assert shape.rows is None or shape.rows <= len(rows)


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from('ab,"\n\r é'), max_size=200), st.integers(1, 20))
def test_delimited_blocks_give_the_rows_of_the_whole(text: str, size: int) -> None:
    """Open quotes reach over the blocks."""
    whole, pieces = CsvBlocks(Dialect(",", 2)), CsvBlocks(Dialect(",", 2))
    data = text.encode()
    expected = whole.feed(data) + whole.finish()
    rows = [row for at in range(0, len(data), size) for row in pieces.feed(data[at : at + size])]
    assert rows + pieces.finish() == expected


def test_hash_seeds_change_nothing() -> None:
    """Two processes with different seeds print the same shapes."""
    program = (
        "import json\n"
        "from crp_mcp.core.shape import read_shape, shape_to_json\n"
        "rows = [{'b': 1, 'a': 'x'}, {'c': None}, {'a': 'y', 'd': {'e': [1]}}]\n"
        "texts = [json.dumps(rows), 'a,b\\n1,2\\n3,x\\n', 'ERROR x\\nINFO y\\nsee Ann Lee, Bob Roe, /etc/hosts']\n"
        "print(json.dumps([shape_to_json(read_shape(text.encode())) for text in texts]))\n"
    )
    root = Path(__file__).resolve().parents[2]
    printed = {
        hashlib.sha256(
            subprocess.run(
                [sys.executable, "-c", program],
                capture_output=True,
                check=True,
                env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            ).stdout
        ).hexdigest()
        for seed in ("1", "2")
    }
    assert len(printed) == 1
