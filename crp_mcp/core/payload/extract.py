"""Tool result JSON -> the exact bytes that are hashed and stored. Bytes in memory only; spooled lines: see stream."""

from __future__ import annotations

import binascii
import hashlib
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType, ValidationError, field
from msgspec.json import Decoder

from crp_mcp.core.model import Block

from .equal import json_equal
from .memory import as_list, as_object, exact_text, lenient_text, scan_bytes, short_string
from .model import (
    ENVELOPE_META,
    ENVELOPE_META_PREFIX,
    BlockScan,
    NotExact,
    Payload,
    Scan,
    Structured,
    TextBlock,
)


class _Text(Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["text"]
    text: str
    annotations: dict[str, Raw] | UnsetType | None = UNSET
    meta: dict[str, Raw] | UnsetType | None = field(name="_meta", default=UNSET)


class _OneText(Struct, forbid_unknown_fields=True, gc=False):
    """The commonest result there is: text, perhaps with its structured twin, and the protocol's own members."""

    content: tuple[_Text]
    is_error: bool = field(name="isError", default=False)
    result_type: str | None = field(name="resultType", default=None)
    meta: Raw | UnsetType = field(name="_meta", default=UNSET)
    structured: Raw | UnsetType = field(name="structuredContent", default=UNSET)


_ONE_TEXT = Decoder(_OneText)


def extract_payload(result: bytes) -> Payload:
    """The payload of a `tools/call` result, given as the JSON bytes that came. Never raises, whatever the bytes.

    The form is `text` where the result is one text block and nothing else; a later raw view then has all there was.
    "Nothing else" leaves out what describes the message and is recorded or forwarded beside the payload: `isError`
    (a bool), `resultType` (a string), `_meta` keys the protocol owns (`io.modelcontextprotocol/*`, trace context),
    an empty or null `annotations` or `_meta` of the block, and `structuredContent` whose JSON is equal to the text's
    (see `json_equal`). Any other member, `_meta` key or block, our reserved keys included, is data somebody may want
    back: then, as where the text has no exact UTF-8, the form is `result` and the payload is the bytes as received.
    """
    try:
        parsed = _ONE_TEXT.decode(result)
    except (DecodeError, ValidationError, RecursionError):
        return _result_payload(result)
    block = parsed.content[0]
    text = block.text.encode()
    structured = _compare(parsed.structured, text)
    meta = None if isinstance(parsed.meta, UnsetType) else bytes(parsed.meta)
    keys = {} if meta is None else as_object(meta)
    plain = structured in (Structured.ABSENT, Structured.EQUAL) and keys is not None and is_envelope_meta(keys)
    if plain and not block.annotations and not block.meta:
        return Payload(text, "text", parsed.is_error, (), parsed.result_type, structured, meta)
    return Payload(result, "result", parsed.is_error, (), parsed.result_type, structured, meta)


def _compare(structured: Raw | UnsetType, text: bytes) -> Structured:
    if isinstance(structured, UnsetType):
        return Structured.ABSENT
    raw = bytes(structured)
    if json_equal(text, raw):
        return Structured.EQUAL
    return Structured.WRAPPED if wraps(raw, [text]) else Structured.OTHER


def is_envelope_meta(keys: Iterable[str]) -> bool:
    """Whether a result's `_meta` holds nothing but what the protocol itself puts there."""
    return all(key.startswith(ENVELOPE_META_PREFIX) or key in ENVELOPE_META for key in keys)


def wraps(structured: bytes, texts: list[bytes]) -> bool:
    """Whether structured content is only the text blocks again: a bare string, or a one-member object around them.

    SDKs do this to results that are no objects: `{"result": "the text"}`, `{"result": [items, one block each]}`.
    """
    if structured[:1] == b'"':
        return len(texts) == 1 and _is_string(structured, texts[0])
    members = as_object(structured)
    if members is None or len(members) != 1:
        return False
    value = next(iter(members.values()))
    if len(texts) == 1 and _same(bytes(value), texts[0]):
        return True
    items = as_list(value)
    return items is not None and len(items) == len(texts) and all(map(_same, map(bytes, items), texts))


def _same(value: bytes, text: bytes) -> bool:
    return _is_string(value, text) if value[:1] == b'"' else json_equal(text, value)


def _is_string(value: bytes, text: bytes) -> bool:
    try:
        return len(value) >= len(text) and exact_text(value) == text
    except NotExact:
        return False


def _result_payload(result: bytes) -> Payload:
    scan = scan_bytes(result)
    members = scan.members or {}
    meta = members.get("_meta")
    structured = Structured.ABSENT
    if "structuredContent" in members:
        texts = [block.data for block in _texts(scan) if block.uri is None]
        structured = Structured.WRAPPED if wraps(bytes(members["structuredContent"]), texts) else Structured.OTHER
    return Payload(
        result,
        "result",
        is_error_of(members),
        tuple(media_block(i, b) for i, b in enumerate(scan.blocks or ()) if b.type != "text"),
        short_string(members.get("resultType")),
        structured,
        None if meta is None else bytes(meta),
    )


def is_error_of(members: Mapping[str, Raw]) -> bool:
    """Only a literal `true` is an error."""
    return bytes(members.get("isError", b"")) == b"true"


def text_blocks(result: bytes) -> list[TextBlock]:
    """Every text a model would read, in order: text blocks, and embedded resources that carry text."""
    return _texts(scan_bytes(result))


def _texts(scan: Scan[Raw]) -> list[TextBlock]:
    found = []
    for index, block in enumerate(scan.blocks or ()):
        if block.text is None:
            continue
        raw, uri = bytes(block.text), short_string((block.resource or {}).get("uri"))
        try:
            found.append(TextBlock(index, exact_text(raw), True, uri))
        except NotExact:
            data = lenient_text(raw)
            if data is not None:
                found.append(TextBlock(index, data, False, uri))
    return found


def media_block(index: int, block: BlockScan[Raw]) -> Block:
    """What is recorded of a block that is not a text block; the digest is of the decoded bytes.

    Links, unknown types and broken strings have no bytes of their own: then digest and size are of the block's JSON.
    """
    holder = block.resource or block.members or {}
    try:
        if block.text is not None:
            data = exact_text(block.text)
        else:
            data = bytes(block.node) if block.encoded is None else decode_base64(exact_text(block.encoded))
    except NotExact:
        data = bytes(block.node)
    mime = short_string(holder.get("mimeType"))
    return Block(index, block.type or "unknown", mime, "sha256:" + hashlib.sha256(data).hexdigest(), len(data))


def decode_base64(text: bytes) -> bytes:
    """The bytes behind a base64 text, padding optional; the text itself where it is no base64."""
    packed = text.translate(None, b"\r\n\t ").rstrip(b"=")
    try:
        return binascii.a2b_base64(packed + b"=" * (-len(packed) % 4), strict_mode=True)
    except binascii.Error:
        return text
