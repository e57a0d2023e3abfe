"""Event streams: every way the standard lets one be written, cut anywhere, of any size."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.wire.frame import Frame, Malformed
from crp_mcp.mcp.framing import LineReader
from crp_mcp.mcp.remote.events import Event, EventReader
from crp_mcp.mcp.spool import Spool

from .support import whole

NOTE = b'{"jsonrpc":"2.0","method":"n"}'


def read(*chunks: bytes, end: bool = False) -> tuple[list[Event], EventReader]:
    reader = EventReader(lambda: LineReader(Spool(Path("/nowhere"))))
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    last = reader.finish() if end else None
    return [*events, *([last] if last else [])], reader


def methods(events: list[Event]) -> list[str | None]:
    return [event.message.method for event in events if isinstance(event.message, Frame)]


@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"])
def test_each_line_end_is_understood(line_end: bytes) -> None:
    """LF, CR and CRLF end lines; a byte order mark, comments and unknown fields do not count."""
    lines = [
        b"\xef\xbb\xbf: hello",
        b"id: 7",
        b"event: message",
        b"strange: x",
        b"retry: 1500",
        b"data: " + NOTE,
        b"",
        b"",
    ]
    events, reader = read(line_end.join(lines))
    assert methods(events) == ["n"]
    assert (events[0].kind, events[0].id, reader.retry) == ("message", "7", 1.5)


def test_data_over_many_lines_is_one_message() -> None:
    """Lines of data belong together; their ends are space between JSON tokens."""
    events, _ = read(b'data: {"jsonrpc":"2.0",\ndata:"method":\ndata:  "n"}\n\n')
    assert methods(events) == ["n"]
    assert whole(events[0].message) == b'{"jsonrpc":"2.0", "method":  "n"}'


def test_an_event_without_data_only_sets_the_id() -> None:
    """A priming event has an id and empty data; one without any data line is none at all."""
    events, reader = read(b"id: 1\ndata:\n\nid: 2\n\nevent: x\n\n")
    assert [(event.id, event.message) for event in events] == [("1", None)]
    assert reader.last_id == "2"


def test_odd_fields_do_no_harm() -> None:
    """An id with NUL, a retry that is no number, endless names and a field without a colon are let pass."""
    stream = (
        b"id: a\x00b\nretry: soon\n" + b"x" * 200_000 + b"\nid: " + b"y" * 200_000 + b"\ndata\ndata: " + NOTE + b"\n\n"
    )
    events, reader = read(stream)
    assert methods(events) == ["n"]
    assert (reader.last_id, reader.retry) == (None, None)


def test_a_last_event_without_its_blank_line_counts_if_it_is_whole() -> None:
    """A server that ends the stream right after the data loses nothing; half an event is none."""
    assert methods(read(b"data: " + NOTE, end=True)[0]) == ["n"]
    half, _ = read(b"data: " + NOTE[:10], end=True)
    assert isinstance(half[0].message, Malformed)


def test_an_address_is_kept_as_text() -> None:
    """Data that is no JSON, such as an endpoint's address, is there as it came."""
    events, _ = read(b"event: endpoint\ndata: /messages?s=1\n\n")
    assert (events[0].kind, events[0].head) == ("endpoint", b"/messages?s=1")


@given(st.data())
def test_it_does_not_matter_where_chunks_end(data: st.DataObject) -> None:
    """The same events, whatever the network cuts the stream into."""
    field = st.sampled_from(
        [b"data: " + NOTE, b"data:", b"data", b"id: 1", b"id:", b"event: e", b": c", b"retry: 5", b"", b""]
    )
    lines = data.draw(st.lists(field, max_size=14))
    ends = [data.draw(st.sampled_from([b"\n", b"\r", b"\r\n"])) for _ in lines]
    stream = b"".join(line + end for line, end in zip(lines, ends, strict=True))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    once, one = read(stream, end=True)
    often, other = read(*chunks, end=True)
    assert [(e.kind, e.id, e.head) for e in once] == [(e.kind, e.id, e.head) for e in often]
    assert (one.last_id, one.retry) == (other.last_id, other.retry)
    assert [type(e.message) for e in once] == [type(e.message) for e in often]


def test_large_data_goes_to_the_spool_in_linear_time(tmp_path: Path) -> None:
    """Four times the data takes about four times as long, and is not held in memory."""

    def seconds(size: int) -> float:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"x": "y" * size}}).encode()
        reader = EventReader(lambda: LineReader(Spool(tmp_path / "spool")))
        begun = time.perf_counter()
        events = []
        stream = b"data: " + body + b"\n\n"
        for at in range(0, len(stream), 16_384):
            events += reader.feed(stream[at : at + 16_384])
        took = time.perf_counter() - begun
        frame = events[0].message
        assert isinstance(frame, Frame)
        assert frame.spooled
        assert whole(frame) == body
        return took

    seconds(2_000_000)
    assert seconds(32_000_000) < 12 * seconds(8_000_000) + 0.5
