"""Long payloads in pieces: the same shape as at once, little memory, and pages out of the middle by slices."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from collections.abc import Iterator
from functools import cache

import pytest

from crp_mcp.core.model import Kind
from crp_mcp.core.shape import HEAD, Shape, ShapeBuilder, iter_rows, read_shape, rows_at

COUNT = 24_000


@cache
def rows() -> list[dict[str, object]]:
    return [
        {
            "id": n,
            "name": f"näme {n % 97}",
            "score": n / 8,
            "text": "x" * (n % 50),
            "ok": n % 3 == 0,
            "more": None if n % 5 else {"a": [1, 2]},
        }
        for n in range(COUNT)
    ]


def as_csv() -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["id", "name", "score", "text"])
    for row in rows():
        name = f'{row["name"]}\nsays "hi",' if int(str(row["id"])) % 7 == 0 else row["name"]
        writer.writerow(
            [
                row["id"],
                name,
                row["score"],
                row["text"],
            ][:4]
        )
    return out.getvalue() * 1 if len(out.getvalue()) > HEAD else out.getvalue() + out.getvalue().split("\r\n", 1)[1] * 2


@cache
def payload(name: str) -> bytes:
    table = rows()
    dumps = json.dumps
    made = {
        "array": lambda: dumps(table),
        "indented": lambda: dumps(table, indent=2, ensure_ascii=False),
        "wrapped": lambda: dumps(
            {"ok": True, "total": 99_999, "data": {"items": table, "next_cursor": "abc"}, "took": 3}
        ),
        "lists": lambda: dumps({"rows": [list(row.values()) for row in table], "columns": list(table[0])}) + " " * HEAD,
        "lines": lambda: "\n".join(map(dumps, table)),
        "noisy lines": lambda: (
            "# start\n" + "\n".join(dumps(row) if n % 50 else "noise" for n, row in enumerate(table))
        ),
        "csv": as_csv,
        "ragged": lambda: dumps([row if n % 11 else {"other": n} for n, row in enumerate(table)]),
        "numbers": lambda: dumps([n / 7 for n in range(150_000)]),
        "prose": lambda: f"Found rows:\n{dumps(table)}\n\nShowing 24000 of 99999 rows.",
        "string": lambda: dumps(dumps(table)),
        "cut": lambda: dumps(table)[:-1_000],
        "python": lambda: str([{**row, "more": None, "who": f"O'Neil {row['id']}"} for row in table]),
    }
    return made[name]().encode()


NAMES = [
    "array",
    "indented",
    "wrapped",
    "lists",
    "lines",
    "noisy lines",
    "csv",
    "ragged",
    "numbers",
    "prose",
    "string",
    "cut",
    "python",
]
TOTALS = {"noisy lines": COUNT - COUNT // 50, "numbers": 150_000}


def built(data: bytes, sizes: list[int], form: str = "text") -> Shape:
    builder = ShapeBuilder(form=form)
    at = turn = 0
    while at < len(data):
        builder.feed(data[at : at + sizes[turn % len(sizes)]])
        at, turn = at + sizes[turn % len(sizes)], turn + 1
    return builder.finish()


@pytest.mark.parametrize("name", NAMES)
def test_pieces_make_no_difference_and_every_row_is_counted(name: str) -> None:
    """Odd sizes, even sizes, one byte between."""
    data = payload(name)
    assert len(data) > HEAD
    shape = read_shape(data)
    assert shape.kind in (Kind.TABULAR, Kind.LIST)
    if name not in ("csv", "cut"):
        assert shape.rows == TOTALS.get(name, COUNT)
    for sizes in ([1_048_576], [65_537, 1, 7_919]):
        assert built(data, sizes) == shape


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("string", "python")])
def test_a_page_out_of_the_middle_costs_a_slice(name: str) -> None:
    """The same rows as reading all of them, from a small part of the bytes."""
    data = payload(name)
    shape = read_shape(data)
    assert shape.row_index
    assert shape.rows
    every = list(iter_rows(data, shape))
    assert len(every) == shape.rows
    read = 0

    def slices(at: int, size: int) -> bytes:
        nonlocal read
        read += size
        return data[at : at + size]

    for offset in (0, 999, shape.rows // 2, shape.rows - 5):
        read = 0
        assert rows_at(slices, len(data), shape, offset, 20) == every[offset : offset + 20]
        assert read <= 1_300_000


def test_the_long_way_and_the_short_way_agree_on_columns() -> None:
    """Types, nulls, ranges and counts do not depend on the size of a payload."""
    long = read_shape(payload("array"))
    short = read_shape(json.dumps(rows()[:200]).encode())
    assert long.columns is not None
    assert short.columns is not None
    assert [column.name for column in long.columns] == [column.name for column in short.columns]
    assert {column.name: column.types for column in long.columns} == {
        column.name: column.types for column in short.columns
    }
    by_name = {column.name: column for column in long.columns}
    assert (by_name["id"].low, by_name["id"].high, by_name["id"].nulls) == ("0", "23999", 0)
    assert (by_name["score"].low, by_name["score"].high) == ("0.0", "2999.875")
    assert by_name["more"].nulls == COUNT - COUNT // 5


def test_a_log_is_counted_line_by_line() -> None:
    """Levels, first and last error, words and lines are exact."""
    lines = [
        f"2024-01-01 00:00:{n % 60:02} {'ERROR' if n % 1000 == 7 else 'INFO'} worker {n} did något"
        for n in range(60_000)
    ]
    data = "\n".join(lines).encode()
    shape = read_shape(data)
    assert shape.kind is Kind.TEXT
    assert (shape.text["lines"], shape.text["words"], shape.text["levels"]) == (
        60_000,
        420_000,
        {"ERROR": 60, "INFO": 59_940},
    )
    assert (shape.text["first_error"], shape.text["last_error"]) == (lines[7], lines[59_007])
    assert built(data, [65_537, 1, 7_919]) == shape


def test_a_long_result_is_read_without_holding_its_images() -> None:
    """The text block gives the rows, the image its size."""
    image = {"type": "image", "data": "A" * 4_000_000, "mimeType": "image/png"}
    data = json.dumps({"content": [{"type": "text", "text": json.dumps(rows(), ensure_ascii=False)}, image]}).encode()
    shape = read_shape(data, form="result")
    assert (shape.kind, shape.rows, shape.media) == (Kind.TABULAR, COUNT, ((1, "image", "image/png", 3_000_000),))
    assert built(data, [65_537, 1, 7_919], form="result") == shape


def pieces(first: bytes, item: bytes, last: bytes, count: int) -> Iterator[bytes]:
    yield first
    for _ in range(count):
        yield item
    yield last


@pytest.mark.parametrize("form", ["array", "lines", "csv", "log"])
def test_memory_stays_bounded_whatever_the_length(form: str) -> None:
    """Five megabytes are shaped holding a part of them, and no more than that of any number."""
    row = b'{"id": 12345, "name": "some name or other", "score": 0.125, "note": "lorem ipsum dolor sit amet"}'
    item = {
        "array": b",".join([row] * 2_000) + b",",
        "lines": b"\n".join([row] * 2_000) + b"\n",
        "csv": b'12345,some name or other,0.125,"lorem, ipsum"\n' * 4_000,
        "log": b"2024-01-01 00:00:00 INFO nothing happened here, as ever\n" * 4_000,
    }[form]
    first, last = (b"[", row + b"]") if form == "array" else (b"id,name,score,note\n" if form == "csv" else b"", b"")
    peaks = []
    for megabytes in (3, 5):
        builder = ShapeBuilder()
        tracemalloc.start()
        for piece in pieces(first, item, last, megabytes * 1_000_000 // len(item)):
            builder.feed(piece)
        shape = builder.finish()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert shape.kind is (Kind.TEXT if form == "log" else Kind.TABULAR)
    assert peaks[1] < peaks[0] * 1.1
    assert peaks[1] < 15_000_000
