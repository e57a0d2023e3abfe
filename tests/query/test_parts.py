"""scratch_get's parts: a value by path, lines by pattern, one block, a long text by pages."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crp_mcp.core.jsonpath import find, names_one, parse_path
from crp_mcp.errors import BadRequest
from tests.query.support import LOG, Room
from tests.relay.support import texts

BODY = "Long text with ümlauts and 日本語.\n" * 900


def get(room: Room, scratch_id: str, **arguments: Any) -> dict[str, Any]:
    return room.bench.tool("scratch_get", scratch_id=scratch_id, **arguments)


def test_a_long_field_comes_in_pages_that_join(room: Room) -> None:
    """One value of any length, by character offset, exactly."""
    made = room.capture([{"id": 1, "body": "x"}, {"id": 2, "body": BODY}] * 5)
    got, offset = "", 0
    while offset is not None:
        answer = get(room, made, path="$[3].body", offset=offset, max_tokens=1_500)
        got += texts(answer)[1]
        offset = answer["structuredContent"].get("next_offset")
    assert got == BODY


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$.a.b[1]", "2"),
        ("a.b[1]", "2"),
        ("$['a']['b'][-1]", '{"c":1.10}'),
        ("$.a.b[*]", '[1,2,{"c":1.10}]'),
        ("$..c", '[1.10,"deep"]'),
        ("$.a.b[0:2]", "[1,2]"),
        ('$["odd key"]', "v"),
        ("$", '{"a":{"b":[1,2,{"c":1.10}]},"odd key":"v","z":[{"c":"deep"}]}'),
    ],
)
def test_paths_give_exact_values(room: Room, path: str, expected: str) -> None:
    """Members, indices from both ends, wildcards, slices, any depth; numbers as they stood."""
    made = room.capture('{"a": {"b": [1, 2, {"c": 1.10}]}, "odd key": "v", "z": [{"c": "deep"}]}')
    assert texts(get(room, made, path=path))[1] == expected


def test_paths_work_on_tables_too(room: Room) -> None:
    """A CSV is a list of rows by column name; a long JSON list is read at the row's own place."""
    made = room.capture("city,n\nOslo,1\nRome,2\n")
    assert texts(get(room, made, path="$[1].city"))[1] == "Rome"
    long = room.capture({"data": {"rows": [{"id": n, "pad": "y" * 40} for n in range(9_000)]}})
    assert texts(get(room, long, path="$.data.rows[8765].id"))[1] == "8765"
    assert texts(get(room, long, path="$.data.rows[-1].id"))[1] == "8999"


def test_a_path_that_finds_nothing_says_where_it_ended(room: Room) -> None:
    """The step that failed and what is there instead."""
    made = room.capture({"a": {"b": 1}})
    wrong = get(room, made, path="$.a.c.d")
    assert wrong["isError"]
    assert "step 2 finds nothing: there is an object with b" in texts(wrong)[0]
    assert "cannot be read from '[?(@.x)]'" in texts(get(room, made, path="$.a[?(@.x)]"))[0]


def test_grep_gives_lines_with_their_neighbours(room: Room) -> None:
    """Matches are numbered with `:`, context with `-`; offset and limit count matches."""
    line, data = texts(get(room, room.log, grep="ERROR", context=1))
    assert "matching lines 1-1 of 1, of 500 lines" in line
    assert data == f"61-{LOG[60]}\n62:{LOG[61]}\n63-{LOG[62]}\n"
    page = get(room, room.log, grep=r"req-\d00 ", context=0, limit=2, offset=1)
    assert texts(page)[1] == f"201:{LOG[200]}\n--\n301:{LOG[300]}\n"
    assert page["structuredContent"] == {"scratch_id": room.log, "total": 4, "next_offset": 3}


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_grep_shows_what_a_plain_reading_finds(room: Room, data: st.DataObject) -> None:
    """For any context, offset and limit: the lines a naive search gives, within the tokens asked for."""
    step, context = data.draw(st.integers(2, 50)), data.draw(st.integers(0, 3))
    offset, limit = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 5))
    pattern = rf"req-\d*{step} "
    hits = [
        n
        for n, line in enumerate(LOG)
        if f"{step} done" in line and line.split("req-")[1].split()[0].endswith(str(step))
    ]
    chosen = hits[offset : offset + limit]
    shown = sorted({n for hit in chosen for n in range(max(0, hit - context), min(len(LOG), hit + context + 1))})
    answer = get(room, room.log, grep=pattern, context=context, offset=offset, limit=limit, max_tokens=20_000)
    lines = [line for line in texts(answer)[1].splitlines() if line != "--"] if shown else []
    assert answer["structuredContent"]["total"] == len(hits)
    assert [int(line.replace(":", "-", 1).split("-")[0]) - 1 for line in lines] == shown


def test_grep_of_one_long_line_shows_what_is_around(room: Room) -> None:
    """A result on a single line is cut to the neighbourhood of the match, with its place."""
    made = room.capture([{"id": n, "pad": "z" * 30} for n in range(2_000)])
    line, data = texts(get(room, made, grep='"id": 1234,'))
    assert "of 1 lines" in line
    assert '"id": 1234,' in data
    assert len(data) < 1_000


def test_a_bad_pattern_is_explained(room: Room) -> None:
    """What is wrong with it, and where."""
    answer = get(room, room.log, grep="(unclosed")
    assert answer["isError"]
    assert "no regular expression" in texts(answer)[0]


def test_one_block_of_several(room: Room) -> None:
    """A block by its number, as text, as rows, by path or pattern; an unknown one names those there are."""
    rows = [{"a": n} for n in range(50)]
    blocks = ["first words", json.dumps(rows), "third\nERROR here"]
    made = room.bench.capture({"content": [{"type": "text", "text": text} for text in blocks]}).entry.scratch_id
    assert texts(get(room, made, block=1))[1] == "first words"
    assert texts(get(room, made, block=2, view="rows", limit=2, offset=10))[1] == "a\n10\n11\n"
    assert texts(get(room, made, block=2, path="$[7].a"))[1] == "7"
    assert texts(get(room, made, block=3, grep="ERR", context=0))[1] == "2:ERROR here\n"
    wrong = get(room, made, block=9)
    assert wrong["isError"]
    assert "it has 1, 2, 3" in texts(wrong)[0]


KEYS = st.text(min_size=1, max_size=5)
TREES = st.recursive(
    st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(tree=TREES, data=st.data())
def test_a_path_leads_to_the_value_it_was_made_for(tree: Any, data: st.DataObject) -> None:
    """A path written for any place of any document finds exactly what is there."""
    path, value = "$", tree
    while isinstance(value, dict | list) and value and data.draw(st.booleans()):
        if isinstance(value, dict):
            key = data.draw(st.sampled_from(sorted(value)))
            escaped = key.replace("\\", "\\\\").replace("'", "\\'")
            path, value = f"{path}['{escaped}']", value[key]
        else:
            at = data.draw(st.integers(-len(value), len(value) - 1))
            path, value = f"{path}[{at}]", value[at]
    steps = parse_path(path)
    assert names_one(steps)
    assert find(tree, steps) == [value]


@given(text=st.text(max_size=30))
def test_any_text_is_a_path_or_a_plain_error(text: str) -> None:
    """No path makes the reader fail in another way."""
    with contextlib.suppress(BadRequest):
        assert isinstance(find({"a": [1, {"b": 2}]}, parse_path(text)), list)
