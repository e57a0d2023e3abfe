"""A whole CallToolResult -> shape: each text block its own, images by type and size alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from crp_mcp.core.model import Kind

from .cells import LongText, NotJson, compact_json, load_json
from .faults import value_fault
from .json_shapes import error_shape, list_shape
from .lists import list_facts
from .model import Shape
from .reading import failed_text, plain_text_shape, read_text, shape_text, shape_value, step
from .texts import text_facts

MOST_SHAPED = 1_000
"""More text blocks than this are not looked at one by one, which takes a millisecond each: all are one text."""


def read_result(data: bytes, is_error: bool) -> Shape:
    """The shape of a result as it was received; what is no result at all is read as text."""
    try:
        result = load_json(data)
    except NotJson:
        return read_text(data, is_error)
    if not isinstance(result, dict) or not isinstance(result.get("content", []), list):
        return read_text(data, is_error)
    if "content" not in result and "structuredContent" not in result:
        return read_text(data, is_error)
    return shape_result(result, is_error)


def is_result(head: bytes) -> bool:
    """Whether a long document begins like a result."""
    return head.lstrip()[:1] == b"{" and (b'"content"' in head[:65_536] or b'"structuredContent"' in head[:65_536])


def shape_result(result: Mapping[str, Any], is_error: bool) -> Shape:
    blocks = [block if isinstance(block, dict) else {} for block in result.get("content") or []]
    failed = is_error or result.get("isError") is True
    texts = [(at, text) for at, block in enumerate(blocks) for text in [_text_of(block)] if text is not None]
    media = tuple(_medium(at, block) for at, block in enumerate(blocks) if _text_of(block) is None)
    if failed:
        return replace(_failure([_head_of(text) for _, text in texts], result), media=media)
    shape = _shape_texts(texts)
    if shape is None or (shape.kind in (Kind.EMPTY, Kind.TEXT, Kind.SCALAR) and _structured(result) not in (None, {})):
        shape = _prefer_structured(shape, _structured(result))
    if shape is None:
        kind = (
            Kind.BINARY
            if any(entry[1] in ("image", "audio", "resource") for entry in media)
            else Kind.LIST
            if media
            else Kind.EMPTY
        )
        shape = Shape(kind, "result", rows=0 if kind is Kind.EMPTY else None)
    return replace(shape, media=media)


def _structured(result: Mapping[str, Any]) -> Any:
    return result.get("structuredContent")


_Text = str | LongText


def _text_of(block: Mapping[str, Any]) -> _Text | None:
    if block.get("type") == "text" and isinstance(block.get("text"), str | LongText):
        return cast(_Text, block["text"])
    resource = block.get("resource")
    if (
        block.get("type") == "resource"
        and isinstance(resource, dict)
        and isinstance(resource.get("text"), str | LongText)
    ):
        return cast(_Text, resource["text"])
    return None


def _shape_of(text: _Text) -> Shape:
    return cast(Shape, text.shape) if isinstance(text, LongText) else shape_text(text)


def _head_of(text: _Text) -> str:
    return text.head if isinstance(text, LongText) else text


def _medium(at: int, block: Mapping[str, Any]) -> tuple[int, str, str, int]:
    resource = block.get("resource") if isinstance(block.get("resource"), dict) else {}
    inner: Mapping[str, Any] = resource if isinstance(resource, dict) else {}
    mime = block.get("mimeType") or inner.get("mimeType") or ""
    data = block.get("data") if isinstance(block.get("data"), str | LongText) else inner.get("blob")
    size = _decoded_size(data) if isinstance(data, str) else data.size * 3 // 4 if isinstance(data, LongText) else 0
    return at, str(block.get("type") or "unknown"), str(mime), size


def _decoded_size(text: str) -> int:
    """Bytes a base64 text stands for, without decoding it."""
    return len(text.rstrip("=\r\n ")) * 3 // 4


def _failure(texts: Sequence[str], result: Mapping[str, Any]) -> Shape:
    """An error by its flag: its message from the text, else from structuredContent. Never an empty one."""
    text = "\n".join(text for text in texts if text.strip())
    structured = _structured(result)
    if text.strip():
        return failed_text(text)
    if structured not in (None, {}, []):
        message = value_fault(structured)
        shape = error_shape(message or "", "is_error", structured)
        return shape if message else error_shape(_as_text(structured), "is_error", structured)
    return error_shape("", "is_error")


def _as_text(value: Any) -> str:
    return compact_json(value, 8_000)


def _shape_texts(texts: Sequence[tuple[int, _Text]]) -> Shape | None:
    if not texts:
        return None
    if len(texts) == 1:
        return step(_shape_of(texts[0][1]), "block", texts[0][0])
    rows = _object_blocks([text for _, text in texts])
    if rows is not None:
        return replace(list_shape(list_facts(rows)), source="json_blocks")
    if len(texts) > MOST_SHAPED:
        return plain_text_shape(text_facts("\n".join(_head_of(text) for _, text in texts)))
    blocks = tuple((at, step(_shape_of(text), "block", at)) for at, text in texts)
    full = [(at, shape) for at, shape in blocks if shape.kind is not Kind.EMPTY]
    main = next((shape for _, shape in full if shape.kind is not Kind.TEXT), full[0][1] if full else blocks[0][1])
    if sum(shape.kind not in (Kind.TEXT, Kind.SCALAR) for _, shape in full) != 1:
        main = (
            shape_text("\n".join(_head_of(text) for _, text in texts))
            if all(s.kind in (Kind.TEXT, Kind.SCALAR, Kind.EMPTY) for _, s in blocks)
            else main
        )
    return replace(main, blocks=blocks)


def _object_blocks(texts: Sequence[_Text]) -> list[Any] | None:
    """One row for each block, where every block is one JSON object."""
    rows = []
    for text in texts:
        if isinstance(text, LongText):
            return None
        try:
            value = load_json(text.strip().encode("utf-8", "surrogatepass"))
        except NotJson:
            return None
        if not isinstance(value, dict):
            return None
        rows.append(value)
    return rows


def _prefer_structured(shape: Shape | None, structured: Any) -> Shape | None:
    """The text says it (`{"result": "the text"}`) or it alone holds the data."""
    if structured in (None, {}):
        return shape
    if shape is not None and shape.kind is not Kind.EMPTY and _is_copy(structured):
        return shape
    other = step(replace(shape_value(structured), row_index=()), "structured")
    if other.kind is Kind.EMPTY and shape is not None:
        return shape
    if shape is None or other.kind in (Kind.TABULAR, Kind.LIST, Kind.OBJECT, Kind.ERROR):
        return other
    return shape


def _is_copy(structured: Any) -> bool:
    return (
        isinstance(structured, dict)
        and len(structured) == 1
        and all(isinstance(item, str) for item in structured.values())
    )
