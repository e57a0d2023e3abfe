"""Spans in JSON bytes: whole and in pieces, against the standard reader."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.wire.scan import NotJson, is_deep, items, members, skip_value
from crp_mcp.core.wire.stream import INNER, LineScan

TEXT = st.one_of(st.text(max_size=12), st.sampled_from(['"', "\\", '\\"', "{", "}]", "x" * 700, "\\" * 9, "é\u0000"]))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=25,
)
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=6)
MESSAGES = st.fixed_dictionaries({}, optional=dict.fromkeys(("id", "method", *INNER), VALUES))


def encode(value: object, ascii_only: bool, indent: int | None) -> bytes:
    return json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")


@given(OBJECTS, st.booleans(), st.sampled_from([None, 1]))
def test_members_are_where_the_standard_reader_finds_them(value: dict, ascii_only: bool, indent: int | None) -> None:
    """Names and values, whatever they hold; items of arrays too."""
    data = encode(value, ascii_only, indent)
    found = members(data)
    assert {name: json.loads(data[start:end]) for name, (start, end) in found.items()} == value
    for name, (start, _) in found.items():
        if isinstance(value[name], list):
            assert [json.loads(data[s:e]) for s, e in items(data, start)] == value[name]


@given(MESSAGES, st.booleans(), st.sampled_from([None, 0, 70]), st.lists(st.integers(1, 60), min_size=1, max_size=30))
def test_pieces_give_the_same_spans(value: dict, ascii_only: bool, indent: int | None, sizes: list[int]) -> None:
    """However the line is cut and spaced, the streaming twin finds what the whole line shows."""
    data = encode(value, ascii_only, indent)
    scan, at = LineScan(), 0
    while at < len(data):
        size = sizes[at % len(sizes)]
        scan.feed(data[at : at + size])
        at += size
    scan.finish()
    assert scan.top == members(data)
    assert scan.inner == {
        name: members(data, scan.top[name][0], whole=False) for name in INNER if isinstance(value.get(name), dict)
    }


@pytest.mark.parametrize("line", [b'{"id"@:1}', b'{@"id":1}', b'{"id":@1}', b'{"id":1@}', b'@{"id":1}', b'{"id":1}@'])
def test_white_space_is_not_held(line: bytes) -> None:
    """Megabytes of it, piece by piece, cost no more memory than one piece, and no more time than reading it."""
    before, after = line.split(b"@")
    scan, piece = LineScan(), b" \t" * 32_768
    scan.feed(before)
    begun = time.process_time()
    for _ in range(200):
        scan.feed(piece)
        assert len(scan._buffer) <= len(before)
    assert time.process_time() - begun < 5
    scan.feed(after)
    scan.finish()
    start, end = scan.top["id"]
    moved = 200 * len(piece) if start >= len(before) else 0
    assert (before + after)[start - moved : end - moved] == b"1"


@pytest.mark.parametrize(
    "data",
    [
        b"", b"  ", b"[]", b"17", b'"x"', b"{", b"}", b'{"a"}', b'{"a":}', b'{"a":1', b'{"a":1,}', b'{"a":1 "b":2}',
        b'{"a":1}x', b'{"a":"x}', b'{"a":[1,{]}', b"{'a':1}", b'{"a":1]', b'{,}', b'{"a"::1}', b'{"a":1}{"b":2}',
    ],
)  # fmt: skip
def test_broken_objects(data: bytes) -> None:
    """They are refused, whole and in pieces, and never looped over."""
    with pytest.raises(NotJson):
        members(data)
    with pytest.raises(NotJson):  # noqa: PT012 - either step may be the one that notices
        scan = LineScan()
        for start in range(len(data)):
            scan.feed(data[start : start + 1])
        scan.finish()


def test_a_name_without_end_is_refused() -> None:
    """It would have to be held until its end is seen."""
    scan = LineScan()
    scan.feed(b'{"' + b"x" * 40_000)
    with pytest.raises(NotJson, match="longer"):
        scan.feed(b"x" * 40_000)


@pytest.mark.parametrize(
    ("unit", "wrap"),
    [
        (b'{\\"id\\": 12, \\"name\\": \\"c 9\\"},', b'"%b"'),
        (b"plain words without end, ", b'"%b"'),
        (b"\\\\", b'"%b"'),
        (b'{"id": 1, "tags": ["a", {}]},', b"[%b0]"),
        (b"[[[[]]]],", b"[%b0]"),
        (b'"{[",', b"[%b0]"),
        (b"1,", b"[%b0]"),
    ],
)
def test_time_is_linear(unit: bytes, wrap: bytes) -> None:
    """Eight times the bytes take about eight times as long, whatever they are."""

    def seconds(size: int) -> float:
        data = wrap % (unit * (size // len(unit)))
        best = 9.0
        for _ in range(3):
            begun = time.process_time()
            assert skip_value(data, 0) == len(data)
            best = min(best, time.process_time() - begun)
        return best

    assert seconds(4_000_000) < 8 * 4 * seconds(500_000) + 0.01


@pytest.mark.parametrize("size", [10, 300, 100_000, 400_000])
def test_nesting_bombs_are_linear(size: int) -> None:
    """Brackets alone: opened, never closed, closed again, in one line or in pieces."""
    begun = time.process_time()
    data = b'{"a":' + b"[" * size + b"]" * size + b"}"
    assert members(data) == {"a": (5, 5 + 2 * size)}
    scan = LineScan()
    for start in range(0, len(data), 65_536):
        scan.feed(data[start : start + 65_536])
    scan.finish()
    with pytest.raises(NotJson):
        members(data[: 5 + size])
    assert time.process_time() - begun < 5


@given(VALUES, st.integers(1, 9))
def test_depth(value: object, limit: int) -> None:
    """Levels are counted outside strings alone."""

    def depth(value: object) -> int:
        if isinstance(value, dict):
            return 1 + max(map(depth, value.values()), default=0)
        if isinstance(value, list):
            return 1 + max(map(depth, value), default=0)
        return 0

    assert is_deep(json.dumps(value).encode(), limit) == (depth(value) >= limit)


@pytest.mark.parametrize("levels", [3, 13, 14, 100, 5000])
def test_depth_of_deep_nesting(levels: int) -> None:
    """Exact at both sides of the limit."""
    data = (b"[" * levels + b"]" * levels) if levels % 2 else (b'{"":' * (levels - 1) + b"{}" + b"}" * (levels - 1))
    assert is_deep(data, levels)
    assert not is_deep(data, levels + 1)
