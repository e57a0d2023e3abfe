"""One message as it came: what it is, what is forwarded, what becomes of broken ones."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.wire.frame import Frame, Malformed, likely_ids, parse_line, spooled_frame, text_of
from crp_mcp.core.wire.sound import check_sound, repair_surrogates
from crp_mcp.core.wire.stream import LineScan


def frame(line: bytes) -> Frame:
    found = parse_line(line)
    assert isinstance(found, Frame)
    return found


def spooled(line: bytes) -> Frame | Malformed:
    scan = LineScan()
    scan.feed(line)
    scan.finish()
    return spooled_frame(scan, "file", len(line), lambda start, end: line[start:end])


@pytest.mark.parametrize(
    ("line", "ident", "method"),
    [
        (b'{"id":1,"method":"a/b"}', b"1", "a/b"),
        (b' { "method" : "n\\u00e9" } ', None, "né"),
        (b'{"result":{},"id":"x"}', b'"x"', None),
        (b'{"id":-1.5e3,"error":null}', b"-1.5e3", None),
    ],
)
def test_the_envelope(line: bytes, ident: bytes | None, method: str | None) -> None:
    """Request, notification, answer: by what is there, in memory and in the spool alike."""
    for found in (frame(line), spooled(line)):
        assert isinstance(found, Frame)
        assert (found.id, found.method) == (ident, method)
    assert b"".join(frame(line).forward()) == line  # type: ignore[arg-type]


def test_edits_leave_everything_else_alone() -> None:
    """Also what is odd about it."""
    line = b'{"x":1.0, "id" : 7 ,"result":{"a":[ 1],"b":2e0}, "x":2}'
    message = frame(line)
    edits = [(*message.inner["b"], b"5"), message.with_id(b'"new"')]
    assert b"".join(message.forward(edits)) == b'{"x":1.0, "id" : "new" ,"result":{"a":[ 1],"b":5}, "x":2}'  # type: ignore[arg-type]
    long = spooled(line)
    assert isinstance(long, Frame)
    pieces = long.forward(edits)
    assert [piece for piece in pieces if isinstance(piece, bytes)] == [b'"new"', b"5"]
    cuts = [piece if isinstance(piece, bytes) else line[piece.start : piece.end] for piece in pieces]
    assert b"".join(cuts) == b"".join(message.forward(edits))  # type: ignore[arg-type]
    assert long.part("a") == b"[ 1]"
    assert long.part("none") is None


@given(st.binary(max_size=300))
def test_any_bytes_are_something(line: bytes) -> None:
    """A frame, a list, or malformed with a code; never an exception."""
    found = parse_line(line)
    for one in found if isinstance(found, list) else [found]:
        assert isinstance(one, Frame) or one.code in (-32700, -32600)


@given(st.text(max_size=50), st.integers(), st.booleans())
def test_surrogates_are_repaired_alone(text: str, ident: int, escaped: bool) -> None:
    """Pairs, escapes and everything else keep their bytes; the capture sees what came."""
    lone = "\\ud83d" if escaped else "\\uDE00"
    body = json.dumps({"id": ident, "result": {"t": text + "😀"}})
    line = body[:-2].encode() + b',"u":"' + lone.encode() + b' \\\\ud83d"}}'
    message = frame(line)
    assert message.part("u") == b'"' + lone.encode() + b' \\\\ud83d"'
    sent = b"".join(message.forward())  # type: ignore[arg-type]
    assert sent == line.replace(lone.encode() + b" ", b"\\ufffd ")
    assert json.loads(sent)["result"]["t"] == text + "😀"


def test_long_messages_are_checked_as_short_ones() -> None:
    """The fast reader and the standard one agree on what is sound."""
    pad = b'"' + b"x" * 40_000 + b'"'
    for value in (b"1e400", b"9" * 5000, b'"\\ud83d\\ude00"', b'"\\ud800"', b"[[]]", b'{"a":1,"a":2}', b'"\xc3\xa9"'):
        short = b'{"id":1,"result":{"v":%b}}' % value
        long = b'{"id":1,"result":{"v":%b,"pad":%b}}' % (value, pad)
        assert check_sound(short) == check_sound(long)
        assert isinstance(parse_line(long), Frame)
    for value in (b"NaN", b"Infinity", b'"\x01"', b"01", b"tru", b'"\\x"', b"[1,]", b"'a'", b""):
        for line in (b'{"id":1,"result":%b}' % value, b'{"id":1,"pad":%b,"result":%b}' % (pad, value)):
            assert isinstance(parse_line(line), Malformed)


def test_repair_keeps_the_length() -> None:
    """So every span stays where it is."""
    data = b'"\\ud800\\ud83d\\ude00\\udc00\\\\ud800\\uD8Ff"'
    assert repair_surrogates(data) == b'"\\ufffd\\ud83d\\ude00\\ufffd\\\\ud800\\ufffd"'


def test_ids_of_broken_messages() -> None:
    """Those at the edges come first: an id inside a result is rarely the message's."""
    inside = b'{"id":77},' * 100
    assert likely_ids(b'{"result":[' + inside + b'tru,"id":"real"}')[0] in (b"77", b'"real"')
    assert b'"real"' in likely_ids(b'{"result":[' + inside + b'tru,"id":"real"}')[:2]
    assert likely_ids(b'{"jsonrpc":"2.0","id":5,"result":{"x":' + inside)[0] == b"5"
    assert likely_ids(b"no id") == ()
    assert likely_ids(b'{"id":"\\x","result":') == ()


def test_text_of_raw_tokens() -> None:
    """Strings and nothing else."""
    assert text_of(b'"a\\nb"') == "a\nb"
    assert [text_of(raw) for raw in (None, b"", b"5", b"{}", b"null")] == [None] * 5
