"""What a summary says of sizes, names and faults is so, also where a reader's own limits are passed."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.model import Kind, SummaryOptions
from crp_mcp.core.shape import HEAD, Shape, read_shape, shape_from_json, shape_to_json
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


_PAGE = "This module has classes and functions that are described below at some length.\n" * 12


@pytest.mark.parametrize(
    "mention",
    [
        "        builtins.Exception(builtins.BaseException)",
        "    class ArgumentError(builtins.Exception)",
        "    Exception: the base class of them all, see ``Error(message)``.",
        "Raises:\n    ValueError: If the name is not known.",
        "   :raises ValueError: If the name is not known.",
        "With `level` set to ERROR (see logging.ERROR) only that is written.",
        "CRITICAL = 50\n    ERROR = 40",
        "| `KeyError: x` | the key is missing |",
        "        raise AttributeError(\n            'x')",
        "except ImportError: recount = None",
        "Both `fatal:` and `error:` lines are kept.",
    ],
)
def test_a_page_that_explains_errors_reports_none(mention: str) -> None:
    """A class name or a level in prose, documentation or code is no error that happened."""
    said = _said(f"{_PAGE}{mention}\n{_PAGE}")
    assert "first error" not in said
    assert "last error" not in said


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: relation users does not exist",
        "ValueError: invalid literal for int()",
        "E   AssertionError: 3 is not 4",
        "requests.exceptions.HTTPError: 404 Client Error",
        "fatal: not a git repository",
        "panic: runtime error: index out of range",
        "src/main.c:12:5: error: expected ';' before '}'",
        "gcc: fatal error: no input files",
        "error[E0308]: mismatched types",
        "src/app.ts(3,7): error TS2322: Type 'string' is not assignable",
        "[ERROR] Failed to execute goal",
        "FAILED tests/test_a.py::test_b - AssertionError",
        "Caused by: java.lang.IllegalStateException: closed",
        'Exception in thread "main" java.lang.NullPointerException: x',
        "2024-05-01 ERROR: disk full",
        "Database error: no such table",
        "npm ERR! code ELIFECYCLE",
        "##[error]Process completed with exit code 1.",
    ],
)
def test_a_line_that_states_an_error_is_shown_wherever_it_stands(line: str) -> None:
    """Such a line needs no log around it."""
    assert read_shape(f"{_PAGE}{line}\n{_PAGE}".encode()).text.get("first_error") == line


@pytest.mark.parametrize(
    ("usual", "red"),
    [
        ("2024-05-01T10:00:00Z db ready", "2024-05-01T10:00:09Z worker 3 got TimeoutError('late')"),
        ("web-1  | 2024-05-01 10:00:00,123 INFO ready", "web-1  | 2024-05-01 10:00:09,001 ERROR card refused"),
        ("12:00:01.123 [main] INFO  c.App - ready", "12:00:09.123 [main] ERROR c.App - refused"),
        ("May  1 10:00:00 host sshd[1]: ready", "May  1 10:00:09 host sshd[1]: error: kex refused"),
        ("INFO ready for orders", "ERROR order 12 refused"),
        ('10.0.0.1 - - [01/May/2024:10:00:00 +0000] "GET /"', "[error] 12#0: *3 upstream: ERROR connect refused"),
        ("tests/test_a.py::test_b PASSED", "tests/test_a.py::test_c FAILED"),
        ("time=1 level=info msg=ready", "time=2 level=error msg=refused ERROR"),
    ],
)
def test_a_log_shows_its_first_error_line(usual: str, red: str) -> None:
    """Timestamps, levels or a test run make it one, and then any line that names an error counts."""
    assert read_shape(f"{usual}\n{usual}\n{red}\n{usual}\n{usual}\n".encode()).text.get("first_error") == red


_MANY = {f"key{n}": n for n in range(60_000)}


@pytest.mark.parametrize(
    "value",
    [[_MANY], [_MANY] * 2, [{f"c{n}": n} for n in range(60_000)], {"columns": list(_MANY), "rows": [[*range(60_000)]]}],
    ids=["one row", "rows", "a key each", "lists"],
)
def test_more_columns_than_are_kept_are_not_given_as_their_number(value: object) -> None:
    """A limit of the reader is no fact of the payload."""
    said = _said(json.dumps(value))
    assert "| more than 50,000 columns, json" in said
    assert not re.search(r"(?<!more than )\b50,000 columns", said)
    assert shape_from_json(shape_to_json(read_shape(json.dumps(value).encode()))).more_columns


def test_as_many_columns_as_are_kept_are_their_number() -> None:
    """At the limit nothing is left out."""
    said = _said(json.dumps([{f"k{n}": n for n in range(50_000)}] * 2))
    assert "| 50,000 columns, json rows" in said
    assert "more than" not in said


@pytest.mark.parametrize(
    ("keys", "said"), [(59, "of 59 values shown"), (60, "of at least 60 values"), (5_000, "of at least 60 values")]
)
def test_values_beyond_those_kept_are_not_denied(keys: int, said: str) -> None:
    """Of an object's values and members only the first are kept."""
    text = _said(json.dumps({f"key{n}": n for n in range(keys)}))
    assert text.startswith(f"object of {keys:,} keys; ")
    assert said in text


@pytest.mark.parametrize(("count", "end"), [(20, "; and 4 more"), (24, "; and more"), (90, "; and more")])
def test_headings_beyond_those_kept_are_not_denied(count: int, end: str) -> None:
    """Nor are names in a text."""
    text = "".join(f"# h{n}\n\nplain words\n\n" for n in range(count))
    headings = next(line for line in _said(text).splitlines() if "headings: " in line)
    assert headings.endswith(end) or (count == 20 and "and" not in headings)


@pytest.mark.parametrize("encode", [base64.b64encode, base64.encodebytes, base64.urlsafe_b64encode])
def test_encoded_bytes_have_no_names_in_them(encode: Callable[[bytes], bytes]) -> None:
    """Whatever letters happen to stand side by side."""
    data = encode(b"".join(hashlib.sha256(bytes([n % 256, n // 256])).digest() for n in range(2_000)))
    assert "names in it" not in _said(data)
    assert "entities" not in read_shape(data).text
    beside = read_shape(b"Seen by Ada Lovelace in /srv/data/a.png\n" + data).text["entities"]
    assert beside == ["Ada Lovelace", "/srv/data/a.png"]


def test_a_thing_that_is_there_once_is_said_in_the_singular() -> None:
    """One row, one column, one line, one word, one byte."""
    assert "1 of 1 row shown" in _said('[{"a": 1}]')
    assert "| 1 column, " in _said('[{"a": 1}]')
    assert _said("x" * 3_000).startswith("excerpt of 1 line, 1 word;")
    one = Shape(Kind.BINARY, "result", media=((0, "image", "image/png", 1),))
    options = SummaryOptions(cap=256, sample_rows=3)
    assert "image/png, 1 byte" in render_summary(one, scratch_id=ID, tool="a:b", count=count_tokens, options=options)
