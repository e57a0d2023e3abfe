"""Results in spooled lines: read in windows of any size, they give what the same bytes give in memory."""

import base64
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crp_mcp.core.payload import (
    NotExact,
    Span,
    Structured,
    extract_payload,
    iter_text,
    model,
    open_payload,
    replace_spooled,
    replace_with_summary,
    scan,
    scan_result,
    strip_reserved,
    strip_spooled,
    text,
    text_blocks,
)
from crp_mcp.core.payload.equal import json_equal, json_equal_pieces
from crp_mcp.core.payload.memory import scan_bytes
from crp_mcp.core.payload.text import digest_base64, whole_end

strings = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('\\"/\n\u0000é中😀{}[],:'), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | strings,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3),
    max_leaves=8,
)
metas = st.dictionaries(
    st.sampled_from(["dev.crp/a", "io.modelcontextprotocol/b", "traceparent", "v"]), values, max_size=2
)
bases = st.binary(max_size=9).map(lambda data: base64.b64encode(data).decode()) | strings
blocks = (
    st.fixed_dictionaries(
        {"type": st.just("text"), "text": strings}, optional={"_meta": metas, "annotations": st.just({})}
    )
    | st.fixed_dictionaries({"type": st.sampled_from(["image", "audio"]), "data": bases, "mimeType": st.just("a/b")})
    | st.fixed_dictionaries(
        {
            "type": st.just("resource"),
            "resource": st.fixed_dictionaries(
                {"uri": strings}, optional={"text": strings, "blob": bases, "mimeType": strings}
            ),
        }
    )
    | st.fixed_dictionaries({"type": strings}, optional={"text": values, "resource": values, "data": values})
    | values
)
results = st.fixed_dictionaries(
    {},
    optional={
        "content": st.lists(blocks, max_size=4) | values,
        "structuredContent": values,
        "isError": st.booleans() | values,
        "resultType": strings | values,
        "_meta": metas | values,
        "x": values,
    },
)


@st.composite
def twins(draw):
    """One text block whose structured content says the same, nearly the same, or wraps it."""
    value = draw(values)
    said = json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))
    other = draw(st.sampled_from([value, {"result": value}, {"result": said}, said, [value]]))
    return {"content": [{"type": "text", "text": said}], "structuredContent": other}


@st.composite
def spelled(draw, source):
    """A JSON value as bytes, with escapes and white space of all kinds."""
    value = draw(source)
    tight = draw(st.booleans())
    said = json.dumps(value, ensure_ascii=draw(st.booleans()), separators=(",", ":") if tight else (" ,\n", "\t: "))
    return (" " + said + "\r\n" if draw(st.booleans()) else said).encode()


def reader(data):
    return lambda start, end: data[start:end]


@settings(max_examples=150, deadline=None)
@given(spelled(results | twins() | values), st.binary(max_size=9), st.integers(1, 40))
def test_a_skeleton_is_the_same_in_windows(raw, around, size):
    """Members, blocks, resources and `_meta` stand where the in-memory reader finds them, wherever the line begins."""
    line = around + raw + around
    found = scan_result(reader(line), len(around), len(around) + len(raw), window=size)
    expected = scan_bytes(raw)

    def said(members):
        return None if members is None else {key: line[span.start : span.end] for key, span in members.items()}

    def bytes_of(members):
        return None if members is None else {key: bytes(node) for key, node in members.items()}

    assert bytes_of(expected.members) == said(found.members)
    assert bytes_of(expected.meta) == said(found.meta)
    assert (expected.blocks is None) == (found.blocks is None)
    for mine, other in zip(expected.blocks or (), found.blocks or (), strict=True):
        assert bytes(mine.node) == line[other.node.start : other.node.end]
        assert (mine.type, bytes_of(mine.members)) == (other.type, said(other.members))
        assert (bytes_of(mine.resource), bytes_of(mine.meta)) == (said(other.resource), said(other.meta))


@settings(max_examples=200, deadline=None)
@given(spelled(results | twins()), st.sampled_from([1, 2, 7, 64, 1 << 20]))
def test_a_spooled_payload_is_the_payload_in_memory(raw, window):
    """Form, bytes, block records, texts, and both rewrites are equal, whatever the window."""
    expected, found = extract_payload(raw), open_payload(reader(raw), 0, len(raw), window=window)
    read = reader(raw)
    assert (expected.form, expected.is_error, expected.blocks) == (found.form, found.is_error, found.blocks)
    assert (expected.result_type, expected.structured) == (found.result_type, found.structured)
    assert expected.data == b"".join(found.pieces(read, window=window))
    texts = [(text.index, b"".join(iter_text(read, text.span, window=window)), text.uri) for text in found.texts]
    assert [(block.index, block.data, block.uri) for block in text_blocks(raw)] == texts
    given = {"dev.crp/x": {"a": [1]}}
    for summaries, structured in (({0: "S"}, None), ({0: "S", 1: None, 7: "T"}, "U"), ({}, None)):
        options = {"modern": True, "structured_summary": structured, "keep_structured": structured is None}
        whole = replace_with_summary(raw, summaries, given, **options)
        assert whole == b"".join(replace_spooled(read, found.scan, summaries, given, window=window, **options))
        json.loads(whole)
    stripped = strip_spooled(read, found.scan, window=window)
    assert strip_reserved(raw) == (raw if stripped is None else b"".join(stripped))


@settings(max_examples=150, deadline=None)
@given(strings | st.text(st.sampled_from('\\"u😀d8é/'), max_size=30), st.booleans(), st.integers(1, 20))
def test_text_is_unescaped_in_pieces_of_whole_characters(value, ascii_only, size):
    """Every piece is valid UTF-8 of its own, and together they are the text."""
    raw = json.dumps(value, ensure_ascii=ascii_only).encode()
    pieces = list(iter_text(reader(b"xx" + raw), Span(2, 2 + len(raw)), window=size))
    for piece in pieces:
        piece.decode()
    assert value.encode() == b"".join(pieces)


BROKEN = [
    rb"\ud800",
    rb"a\udc00b",
    rb"\ud800\ud800\udc00",
    rb"\ud83dA\ude00",
    b"\xff",
    b"\xed\xa0\x80",
    b"a\nb",
    rb"\q",
    rb"\u12",
]


@pytest.mark.parametrize("content", [*BROKEN, *(b"x" * 50 + broken + b"y" * 50 for broken in BROKEN)])
@pytest.mark.parametrize("size", [1, 3, 64, 1 << 20])
def test_text_without_exact_utf8_says_so(content, size):
    """Lone surrogates and what no JSON string may hold end in the signal, not in other bytes."""
    raw = b'"' + content + b'"'
    with pytest.raises(NotExact):
        list(iter_text(reader(raw), Span(0, len(raw)), window=size))
    result = b'{"content":[{"type":"text","text":' + raw + b"}]}"
    found = open_payload(reader(result), 0, len(result))
    with pytest.raises(NotExact):
        b"".join(found.pieces(reader(result)))
    assert result == b"".join(found.as_result().pieces(reader(result))) == extract_payload(result).data


@given(st.text(st.sampled_from('\\"u😀d8DCe/é'), max_size=40), st.booleans())
def test_a_place_to_part_text_never_goes_back(value, ascii_only):
    """Content parted at `whole_end` of any beginning gives the same text as in one piece."""
    content = json.dumps(value, ensure_ascii=ascii_only).encode()[1:-1]
    for stop in range(len(content) + 1):
        end = whole_end(content[:stop])
        assert stop - 12 <= end <= stop
        left, right = (json.loads(b'"' + part + b'"') for part in (content[:end], content[end:]))
        assert value == left + right


@settings(max_examples=150, deadline=None)
@given(values, values, st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_equality_in_pieces_is_equality_in_memory(left, right, mine, other, same):
    """Pieces of any size, but for the order of members, are equal exactly where the whole texts are."""
    one = json.dumps(left, indent=1).encode()
    two = json.dumps(left if same else right, ensure_ascii=False, separators=(",", ":")).encode()
    pieces = [[data[i : i + size] for i in range(0, len(data), size)] for data, size in ((one, mine), (two, other))]
    assert json_equal(one, two) == json_equal_pieces(*map(iter, pieces))


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (b"[1 2]", b"[12]"),
        (b"[1\n,2]", b"[1,3]"),
        (b'["a\nb"]', rb'["a\nb"]'),
        (b"[1.0]", b"[1]"),
        (b"[tr ue]", b"[true]"),
        (b'["\xff"]', rb'["\""]'),
        (b"[1,2]", b"[1,2,3]"),
        (b'{"a":1,"b":2}', b'{"a":1}'),
        (b"[", b"[]"),
    ],
)
def test_what_is_not_the_same_json_is_not_equal(value, other):
    """No invalid text passes for the valid one it resembles."""
    for size in range(1, 8):
        pieces = [[data[i : i + size] for i in range(0, len(data), size)] for data in (value, other)]
        assert not json_equal_pieces(*map(iter, pieces))
        assert not json_equal_pieces(*map(iter, reversed(pieces)))


@given(st.binary(max_size=40), st.integers(1, 9), st.sampled_from(["", "\n", " "]))
def test_base64_is_decoded_in_pieces(data, size, gap):
    """Padding may be missing, white space may stand anywhere."""
    packed = gap.join(base64.b64encode(data).decode()).encode()
    for said in (packed, packed.rstrip(b"=")):
        pieces = [said[i : i + size] for i in range(0, len(said), size)]
        assert digest_base64([data])[1] >= 0
        assert text.digest_text([data]) == digest_base64(pieces)


@given(st.binary(max_size=60), st.integers(1, 9))
def test_no_bytes_raise(raw, size):
    """Any bytes in any window are a payload, a scan and a rewrite."""
    assert scan_result(reader(raw), 0, len(raw), window=size)
    found = open_payload(reader(raw), 0, len(raw))
    assert raw == b"".join(found.as_result().pieces(reader(raw)))
    json.loads(b"".join(replace_spooled(reader(raw), found.scan, {0: "S"}, {}, modern=True)))


def test_more_blocks_than_can_be_told_apart_are_opaque(monkeypatch):
    """A result with a flood of blocks is one payload, and becomes one summary."""
    monkeypatch.setattr(scan, "MAX_BLOCKS", 5)
    raw = json.dumps({"content": [{"type": "text", "text": "x"}] * 9, "isError": True}).encode()
    found = open_payload(reader(raw), 0, len(raw))
    assert (found.scan.blocks, found.form, found.is_error) == (None, "result", True)
    out = json.loads(b"".join(replace_spooled(reader(raw), found.scan, {0: "S"}, {}, modern=False)))
    assert out == {"content": [{"type": "text", "text": "S"}], "isError": True}


def test_deep_nesting_is_gone_through():
    """Nesting no recursive reader survives leaves the rest of the result readable, in memory too."""
    deep = b"[" * 100_000 + b"]" * 100_000
    raw = b'{"structuredContent":' + deep + b',"content":[{"type":"text","text":"x"}],"isError":true}'
    assert open_payload(reader(raw), 0, len(raw)).is_error
    assert extract_payload(raw).is_error
    assert [block.data for block in text_blocks(raw)] == [b"x"]


def test_structured_content_in_another_order_is_kept_apart():
    """What cannot be shown to be equal in one pass is not taken for equal."""
    raw = json.dumps(
        {"content": [{"type": "text", "text": '{"b":1,"a":2}'}], "structuredContent": {"a": 2, "b": 1}}
    ).encode()
    assert open_payload(reader(raw), 0, len(raw)).structured is Structured.OTHER
    assert extract_payload(raw).structured is Structured.EQUAL


def test_memory_stays_bounded():
    """No more than a few windows are asked for at once, however large the result."""
    rng = random.Random(3)
    rows = [{"id": i, "name": rng.choice(['é"\\', "b" * 30]), "v": rng.random()} for i in range(20_000)]
    said = json.dumps(rows)
    raw = json.dumps({"content": [{"type": "text", "text": said}], "structuredContent": rows}).encode()
    asked = []

    def read(start, end):
        asked.append(end - start)
        return raw[start:end]

    found = open_payload(read, 0, len(raw))
    assert said.encode() == b"".join(found.pieces(read))
    assert max(asked) <= scan.WINDOW
    assert sum(asked) <= 8 * len(raw)
    assert model.MAX_BLOCKS >= 1_000
