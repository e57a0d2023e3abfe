"""A stream of chunks as one table: all its rows in order, the highest label, the worst freshness, every chunk named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from crp_mcp.errors import BadRequest
from crp_mcp.relay.labels import Withheld
from tests.query.support import Room
from tests.relay.support import Bench, bench, text_result, texts


@pytest.fixture
def room(tmp_path: Any) -> Iterator[Room]:
    with bench(tmp_path) as made:
        yield Room(made)


def pages(at: Bench, listing: list[list[dict[str, Any]]], total: int | None = None) -> tuple[str, list[str]]:
    """The pages of one listing as a host asks for them: (stream_id, their ids)."""
    ids = []
    for number, rows in enumerate(listing):
        after = f"c{number + 1}" if number + 1 < len(listing) else None
        body = {"items": rows, "next_cursor": after, **({"total": total} if total else {})}
        arguments = {"q": "open", **({"cursor": f"c{number}"} if number else {})}
        ids.append(at.host_call("list_orders", text_result(json.dumps(body)), arguments))
    return str(at.entry(ids[0]).stream_id), ids


def orders(first: int, count: int = 3, **more: Any) -> list[dict[str, Any]]:
    return [{"id": first + n, "amount": f"{first + n}.10", **more} for n in range(count)]


def test_the_pages_of_a_listing_are_one_table(room: Room) -> None:
    """Rows in the order of the pages, columns by name, and where each row comes from."""
    stream, ids = pages(room.bench, [orders(0), orders(3, extra=5), orders(6)])
    answer = room.answer(f"SELECT * FROM {stream}")
    assert answer.columns == ("id", "amount", "extra", "amount_text", "_chunk")
    rows = [json.loads(row) for row in answer.rows]
    assert [row[0] for row in rows] == list(range(9))
    assert rows[3] == [3, 3.1, 5, "3.10", ids[1]]
    assert room.rows(f"SELECT count(*), sum(amount), avg(amount) FROM {stream}") == [[9, 36.9, 4.1]]
    assert [entry.scratch_id for entry in answer.inputs] == ids
    joined = f"SELECT s.id FROM {stream} s JOIN {ids[1]} p USING (id) WHERE s._chunk <> p.amount_text ORDER BY 1"
    assert room.rows(joined) == [[3], [4], [5]]


def test_a_result_from_a_stream_names_every_chunk(room: Room) -> None:
    """derivedFrom, receipt, label and freshness are of all of them; a listing that is whole is not called partial."""
    stream, ids = pages(room.bench, [orders(0), orders(3)], total=6)
    made = room.bench.tool("scratch_query", sql=f"SELECT sum(amount) FROM {stream}")
    entry = room.bench.entry(made["structuredContent"]["scratch_id"])
    assert [one["scratch_id"] for one in entry.tool_call_args["derivedFrom"]] == ids
    assert "partial" not in entry.tool_call_args
    assert "partial" not in texts(made)[0]
    assert f"from {stream} (2 chunks; {ids[0]} captured" in texts(made)[0]
    receipt = room.bench.tool("scratch_get", scratch_id=entry.scratch_id, view="receipt")
    assert "over 2 sources; verified" in texts(receipt)[0]


def test_a_listing_that_goes_on_is_called_partial_once(room: Room) -> None:
    """Not once for each page."""
    stream, _ = pages(room.bench, [orders(0), orders(3)], total=90)
    last = room.bench.host_call(
        "list_orders",
        text_result(json.dumps({"items": orders(6), "next_cursor": "c9", "total": 90})),
        {"q": "open", "cursor": "c5"},
    )
    assert room.bench.entry(last).stream_id == stream
    line = texts(room.bench.tool("scratch_query", sql=f"SELECT count(*) FROM {stream}"))[0]
    assert line.count("partial") == 1
    assert f"{stream} is partial: 9 rows are stored, 90 exist at the source" in line


def test_the_worst_chunk_decides(room: Room) -> None:
    """The answer is as stale as its stalest chunk and as secret as its most secret one."""
    stream, ids = pages(room.bench, [orders(0), orders(3)])
    room.bench.clock.at += 200
    late = room.bench.host_call(
        "list_orders",
        text_result(json.dumps({"items": orders(6)})) | {"_meta": {"dev.crp/label": "CONFIDENTIAL"}},
        {"q": "open", "cursor": "c9"},
    )
    made = room.bench.tool("scratch_query", sql=f"SELECT count(*) FROM {stream}")
    entry = room.bench.entry(made["structuredContent"]["scratch_id"])
    labels = {room.bench.entry(one).label for one in (*ids, late)}
    assert entry.label == ("CONFIDENTIAL" if "CONFIDENTIAL" in labels else "INTERNAL")
    assert entry.freshness_ttl == 100
    room.bench.clock.at += 150
    line = texts(room.bench.tool("scratch_query", sql=f"SELECT count(*) FROM {stream}"))[0]
    assert f"(3 chunks; {ids[0]} " in line
    assert "old and may not reflect" in line or "again for current data" in line
    assert "originals" not in line  # no column was read


def test_a_chunk_that_failed_has_no_rows_and_is_named(room: Room) -> None:
    """An error among the pages is no row of data."""
    stream, _ = pages(room.bench, [orders(0), orders(3)])
    failed = room.bench.host_call("list_orders", text_result("boom", isError=True), {"q": "open", "cursor": "c7"})
    line = texts(room.bench.tool("scratch_query", sql=f"SELECT count(*) AS n FROM {stream}"))
    assert line[1] == "n\n6\n"
    assert f"{failed} of {stream} failed and has no rows in it" in line[0]


def test_a_chunk_that_is_forgotten_is_no_row_any_more(room: Room) -> None:
    """What was made from the stream is made anew from what stays."""
    stream, ids = pages(room.bench, [orders(0), orders(3), orders(6)])
    made = room.bench.tool("scratch_query", sql=f"SELECT sum(id) FROM {stream}")["structuredContent"]["scratch_id"]
    room.bench.tool("scratch_forget", scratch_id=ids[1])
    assert room.one(f"SELECT count(*) FROM {stream}") == 6
    again = [
        e
        for e in room.bench.engine.store.list(room.bench.scope).entries
        if e.origin == "query" and e.supersedes == made
    ]
    assert [room.one(f"SELECT * FROM {one.scratch_id}") for one in again] == [24]


def test_a_log_in_chunks_is_searched_as_one(room: Room) -> None:
    """Lines keep their numbers, chunks their order, and MATCH finds what any of them says."""
    for part in range(3):
        lines = [f"2024-05-01 10:0{part}:{n:02d} INFO job {n} done" for n in range(5)]
        room.capture("\n".join(lines), tool="log", stream_id="build")
    assert room.one("SELECT count(*) FROM build") == 15
    assert [row[1] for row in room.rows("SELECT line_no, ts FROM build WHERE text MATCH 'job AND 3'")] == [
        f"2024-05-01 10:0{part}:03" for part in range(3)
    ]
    inner = "SELECT count(*) FROM (SELECT line_no FROM build WHERE text MATCH 'job' LIMIT -1)"
    assert room.one(inner) == 15
    with pytest.raises(BadRequest, match=r"line_no .* in the inner SELECT"):
        room.one("SELECT count(*) FROM (SELECT text FROM build) WHERE text MATCH 'job'")
    with pytest.raises(BadRequest, match="put words with signs in double quotes"):
        room.one("SELECT count(*) FROM build WHERE text MATCH 'a-b'")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("SELECT count(*) FROM {t} WHERE text MATCH 'job'", 60),
        ("SELECT count(*) FROM {t} WHERE text MATCH 'three' OR line_no = 1", 24),
        ("SELECT count(*) FROM {t} WHERE NOT text MATCH 'three'", 48),
        ("SELECT count(*) FROM {t} WHERE text NOT MATCH 'three'", 48),
        ("SELECT count(*) FILTER (WHERE text MATCH 'three') FROM {t}", 12),
        ("SELECT sum(b.text MATCH 'three') FROM {t} AS b", 12),
        ("SELECT count(*) FROM {t} b WHERE b.text MATCH 'job' AND b.text MATCH 'three' AND b.level = 'WARN'", 12),
        ("SELECT count(*) FROM {t} WHERE {t} MATCH 'three' GROUP BY level", 12),
        ("SELECT count(*) FROM {t} a JOIN {t} b ON a.line_no = b.line_no WHERE a.text MATCH 'three'", None),
    ],
)
def test_match_may_stand_anywhere(room: Room, asked: str, found: int | None) -> None:
    """Under OR and NOT, in counts, sums and joins, over a stream of many chunks as over one text."""
    parts = [
        [f"2024-05-01 10:{part:02d}:{n:02d} {'WARN three' if n == 3 else 'INFO'} job" for n in range(5)]
        for part in range(12)
    ]
    for part in parts:
        room.capture("\n".join(part), tool="log", stream_id="build")
    whole = room.capture("\n".join(line for part in parts for line in part), tool="log")
    assert room.one(asked.format(t="build")) == (found if found is not None else 144)
    assert room.one(asked.format(t=whole)) == ({24: 13, None: 12}.get(found, found))


def test_a_stream_of_hundreds_of_chunks_is_one_table(room: Room) -> None:
    """As many as a query may read."""
    for part in range(120):
        room.capture(
            f"2024-05-01 10:00:00 INFO part {part}\n2024-05-01 10:00:01 INFO done", tool="log", stream_id="many"
        )
    assert room.one("SELECT count(*) FROM many") == 240
    assert room.one("SELECT count(*) FROM many WHERE text MATCH 'part'") == 120


def test_streams_are_among_the_names(room: Room) -> None:
    """A wrong stream id is answered with the right one."""
    stream, _ = pages(room.bench, [orders(0), orders(3)])
    with pytest.raises(BadRequest, match=f"did you mean {stream}"):
        room.answer(f"SELECT * FROM {stream[:-1]}")


def test_a_chunk_above_the_clearance_withholds_the_stream(tmp_path: Any) -> None:
    """A union is not a way around a label, nor are its errors."""
    with bench(tmp_path, clearance=(("*", "INTERNAL"),)) as made:
        room = Room(made)
        stream, _ = pages(made, [orders(0), orders(3)])
        made.host_call(
            "list_orders",
            text_result(json.dumps({"items": orders(6)})) | {"_meta": {"dev.crp/label": "RESTRICTED"}},
            {"q": "open", "cursor": "c9"},
        )
        with pytest.raises(Withheld):
            room.answer(f"SELECT * FROM {stream}")
