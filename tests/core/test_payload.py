"""Payload extraction and the rewrite with summaries, on results in memory."""

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.payload import Structured, extract_payload, replace_with_summary, strip_reserved, text_blocks


def result(*blocks: object, **members: object) -> bytes:
    return json.dumps({"content": list(blocks), **members}, ensure_ascii=False).encode()


def text(value: str, **members: object) -> dict[str, object]:
    return {"type": "text", "text": value, **members}


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
IMAGE = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png", "_meta": {"a": 1}}


@given(st.text())
def test_one_text_block_is_its_exact_utf8(value):
    """One text block and nothing else: the payload is the text's exact UTF-8."""
    payload = extract_payload(result(text(value), isError=False))
    assert (value.encode(), "text", False) == (payload.data, payload.form, payload.is_error)


@pytest.mark.parametrize(
    "members",
    [
        {"isError": True},
        {"resultType": "complete"},
        {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "x"}, "traceparent": "00-1"}},
    ],
)
def test_envelope_members_are_not_data(members):
    """What describes the message is recorded beside the payload and leaves its form alone."""
    payload = extract_payload(result(text("hi"), **members))
    assert payload.form == "text"
    assert payload.is_error == members.get("isError", False)
    assert payload.result_type == members.get("resultType")
    assert (json.loads(payload.meta) if payload.meta else None) == members.get("_meta")


@pytest.mark.parametrize(
    "raw",
    [
        result(text("a"), text("b")),
        result(text("a"), vendor=1),
        result(text("a"), _meta={"vendor/cursor": "n"}),
        result(text("a"), _meta={"dev.crp/label": "PUBLIC"}),
        result(text("a", annotations={"audience": ["user"]})),
        result(text("a", _meta={"x": 1})),
        result(text("a", extra=1)),
        result(text("a"), structuredContent=None),
        result(text("a"), structuredContent={"b": 1}),
        result(text("a"), isError="yes"),
        result(),
        result(IMAGE),
        b'{"content":[{"type":"text","text":"\\ud800"}]}',
        b'{"content":[{"type":"text","text":"\xff"}]}',
        b'{"content":{"type":"text"}}',
        b'{"content":[1,null,"x",[]]}',
        b'{"structuredContent":{"a":1}}',
        b'"scalar"',
        b"17",
        b"null",
        b"[]",
        b"",
        b"{",
        b"\xff\xfe",
        b'{"content":' + b"[" * 100_000,
    ],
)
def test_anything_else_is_the_result_as_received(raw):
    """Whatever is not one plain text block is kept exactly as it came, malformed JSON included."""
    payload = extract_payload(raw)
    assert (raw, "result") == (payload.data, payload.form)
    assert isinstance(text_blocks(raw), list)
    assert isinstance(strip_reserved(raw), bytes)
    assert json.loads(replace_with_summary(raw, {0: "S"}, {}, modern=False))["content"][0]["text"] == "S"


@given(st.binary())
def test_no_bytes_raise(raw):
    """Any bytes at all are a payload."""
    assert extract_payload(raw).data == raw


@pytest.mark.parametrize(
    ("value", "structured", "equal"),
    [
        ('{"a": 1, "b": [true, null]}', '{"a":1,"b":[true,null]}', True),
        ('{"b": 2, "a": 1}', '{"a":1,"b":2}', True),
        ('{\n  "a": "\\u00e9\\/"\n}', '{"a":"é/"}', True),
        ('{"a": "\\""}', '{"a":"\\u0022"}', True),
        ('{"a": 1.0}', '{"a":1}', False),
        ('{"a": 1e2}', '{"a":1E2}', False),
        ('{"a": 12345678901234567890}', '{"a":12345678901234567890}', True),
        ('{"a": 12345678901234567890}', '{"a":12345678901234567891}', False),
        ('{"a":1,"a":2}', '{"a":2}', False),
        ('{"b":0,"a":1,"a":2}', '{"a":1,"b":0,"a":2}', False),
        ("[1 2]", "[12]", False),
        ("[1,2]", "[12]", False),
        ('{"a": "x y"}', '{"a":"xy"}', False),
        ("null", "null", True),
        ("5", "5", True),
        ("true", "1", False),
        ("[]", "{}", False),
        ('["a","b"]', '["a\\",\\"b"]', False),
    ],
)
def test_structured_content_is_equal_token_by_token(value, structured, equal):
    """Equal structured content is stored once, as the text; numbers count as written."""
    raw = b'{"content":[%s],"structuredContent":%s}' % (json.dumps(text(value)).encode(), structured.encode())
    payload = extract_payload(raw)
    assert ("text" if equal else "result") == payload.form
    assert (payload.structured is Structured.EQUAL) == equal


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values, st.sampled_from([None, 2]), st.booleans(), st.booleans())
def test_a_value_equals_itself_in_any_spelling(value, indent, ascii_only, sort):
    """White space, escapes and member order do not make a structured twin differ."""
    spelled = json.dumps(value, indent=indent, ensure_ascii=ascii_only, sort_keys=sort)
    assert extract_payload(result(text(spelled), structuredContent=value)).structured is Structured.EQUAL


@given(json_values, json_values)
def test_different_values_are_never_equal(left, right):
    """Equality never holds between JSON texts whose tokens differ."""
    same = json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
    payload = extract_payload(result(text(json.dumps(left)), structuredContent=right))
    assert same == (payload.structured is Structured.EQUAL)


@pytest.mark.parametrize(
    ("blocks", "structured"),
    [
        (["plain text"], {"result": "plain text"}),
        (["plain text"], "plain text"),
        (['[{"a": 1}]'], {"result": [{"a": 1}]}),
        (['{"a": 1}', '{"a": 2}'], {"result": [{"a": 1}, {"a": 2}]}),
        (["x", "y"], {"items": ["x", "y"]}),
    ],
)
def test_structured_content_that_only_wraps_the_text_is_known(blocks, structured):
    """A wrapper an SDK puts round text is told from data of its own, and kept exactly."""
    payload = extract_payload(result(*map(text, blocks), structuredContent=structured))
    assert (payload.structured, payload.form) == (Structured.WRAPPED, "result")


def test_media_blocks_are_recorded_by_digest_of_decoded_bytes():
    """Images, audio, resources, links and unknown types are recorded; text blocks are not."""
    blob = {"type": "resource", "resource": {"uri": "x:1", "blob": base64.b64encode(PNG).decode()}}
    page = {"type": "resource", "resource": {"uri": "x:2", "mimeType": "text/html", "text": "é"}}
    link = {"type": "resource_link", "uri": "x:3", "name": "n", "mimeType": "text/csv"}
    bad = {"type": "audio", "data": "!!", "mimeType": "audio/wav"}
    payload = extract_payload(result(text("t"), IMAGE, blob, page, link, bad, {"type": "hologram"}))
    digest = "sha256:" + hashlib.sha256(PNG).hexdigest()
    assert [b.index for b in payload.blocks] == [1, 2, 3, 4, 5, 6]
    assert [b.type for b in payload.blocks] == ["image", "resource", "resource", "resource_link", "audio", "hologram"]
    assert [digest, digest] == [b.digest for b in payload.blocks[:2]]
    assert [len(PNG), len(PNG), 2, len(json.dumps(link)), 2] == [b.size for b in payload.blocks[:5]]
    assert [b.mime for b in payload.blocks] == ["image/png", None, "text/html", "text/csv", "audio/wav", None]


def test_text_blocks_are_what_a_model_reads():
    """Text blocks and embedded text resources, in order; a text without exact UTF-8 is marked."""
    page = {"type": "resource", "resource": {"uri": "x:2", "text": "page"}}
    raw = result(text("é"), IMAGE, page).replace("é".encode(), b"\\ud800")
    found = text_blocks(raw)
    assert [(b.index, b.data, b.exact, b.uri) for b in found] == [(0, b"?", False, None), (2, b"page", True, "x:2")]


def test_a_big_block_is_swapped_and_everything_else_stays():
    """Only the summarised block's text and what is reserved change; all other values are the same bytes."""
    raw = (
        b'{"content":[ {"type":"text","text":"small","_meta":{"v":1.0}},'
        b'{"type":"text","annotations":{"priority":1.0},"text":"FLOOD"}, {"type":"hologram","n":12345678901234567890 },'
        b'{"type":"resource","resource":{"uri":"x:1","mimeType":"application/json","text":"FLOOD"},"annotations":{}}],'
        b'"structuredContent":{"f":1e400},"isError":true,"vendor":{ "x" : 1.50 },'
        b'"_meta":{"dev.crp/label":"PUBLIC","v/x":1.0},"resultType":"odd"}'
    )
    out = replace_with_summary(raw, {1: "S1", 3: "S3"}, {"dev.crp/receipt": "sha256:00"}, modern=True)
    assert out == (
        b'{"content":[{"type":"text","text":"small","_meta":{"v":1.0}},'
        b'{"type":"text","annotations":{"priority":1.0},"text":"S1"},{"type":"hologram","n":12345678901234567890 },'
        b'{"type":"resource","resource":{"uri":"x:1","mimeType":"text/plain","text":"S3"},"annotations":{}}],'
        b'"isError":true,"vendor":{ "x" : 1.50 },'
        b'"_meta":{"v/x":1.0,"dev.crp/receipt":"sha256:00"},"resultType":"odd"}'
    )


def test_blocks_that_share_a_summary_go_once():
    """Many small blocks may share one summary; structured content alone gets one block of its own."""
    raw = result(text("1"), text("2"), IMAGE, structuredContent={"rows": [1, 2]})
    out = json.loads(replace_with_summary(raw, {0: "S", 1: None}, {}, modern=False, keep_structured=True))
    assert {"content": [text("S"), IMAGE], "structuredContent": {"rows": [1, 2]}} == out
    out = json.loads(replace_with_summary(raw, {}, {}, modern=True, structured_summary="T"))
    assert {"content": [text("1"), text("2"), IMAGE, text("T")], "resultType": "complete"} == out


def test_reserved_keys_are_stripped_and_only_they():
    """Reserved keys of an upstream go, escaped spellings and blocks included; nothing to strip is the same object."""
    clean = result(text("dev.crp/"), _meta={"a": 1})
    assert strip_reserved(clean) is clean
    dirty = b'{"content":[{"type":"x","_meta":{"dev.crp/a":1,"b":2.0}}],"_meta":{"dev\\u002ecrp/x":1},"z":1.0}'
    assert strip_reserved(dirty) == b'{"content":[{"type":"x","_meta":{"b":2.0}}],"_meta":{},"z":1.0}'


@pytest.mark.parametrize("raw", [b'"flood"', b"[1]", b"nonsense", b'{"structuredContent":[1]}', b'{"content":7}'])
def test_a_result_that_cannot_be_told_apart_becomes_the_summary(raw):
    """Where there are no blocks the summary is the content."""
    out = json.loads(replace_with_summary(raw, {0: "S"}, {"dev.crp/x": 1}, modern=True))
    assert {"content": [text("S")], "resultType": "complete", "_meta": {"dev.crp/x": 1}} == out
