"""Payload bytes -> document: the shape's readers find the rows, this puts them in tables. Any bytes; never raises."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from crp_mcp.core.model import Kind
from crp_mcp.core.shape import Num, Shape, iter_rows, read_shape
from crp_mcp.core.shape.cells import NotJson, OddNumber, load_json
from crp_mcp.core.shape.decoding import decode as decode_bytes
from crp_mcp.core.shape.decoding import find_encoding
from crp_mcp.core.shape.embedded import find_embedded
from crp_mcp.core.shape.pyrepr import python_to_json

from .document import Document, Table, make_table
from .failures import decode, status_codes
from .numbers import number_of
from .text import read_text
from .tree import read_tree

_PROSE_LIMIT = 1_000_000


def read_document(
    payload: bytes, *, form: str = "text", is_error: bool = False, shape: Shape | None = None
) -> Document:
    """What a payload holds. `form="result"`: it is a whole CallToolResult, as is any text that is one."""
    try:
        return _read(payload, form, is_error, shape)
    except RecursionError:
        return Document(is_error=is_error, unread="the result is nested too deep to be read")


def _read(payload: bytes, form: str, is_error: bool, shape: Shape | None) -> Document:
    value = _json(payload)
    if isinstance(value, dict) and (form == "result" or _is_result(value)):
        return _of_result(value, is_error)
    return _of_text(payload, value, is_error, shape)


def _json(payload: bytes) -> Any:
    """A JSON value with plain numbers (whole ones exact), or None."""
    try:
        return json.loads(payload, parse_constant=str)
    except (ValueError, RecursionError):
        pass
    try:
        return plain(load_json(payload))
    except (NotJson, RecursionError):
        return None


def _is_result(value: Mapping[str, Any]) -> bool:
    """Whether an object is a tool's whole result: content blocks that say their type, or structured content."""
    content = value.get("content")
    blocks = isinstance(content, list) and all(isinstance(b, dict) and "type" in b for b in content)
    known = {"content", "isError", "structuredContent", "_meta", "resultType"}
    return set(value) <= known and (("content" in value and blocks) or "structuredContent" in value)


def _of_result(result: Mapping[str, Any], is_error: bool) -> Document:
    failed = is_error or result.get("isError") is True
    content = result.get("content")
    blocks = [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
    texts = [t for b in blocks for t in [_block_text(b)] if t is not None]
    found = [read_document(t.encode("utf-8", "surrogatepass"), is_error=failed) for t in texts]
    structured = result.get("structuredContent")
    tabled = any(t.kind != "record" for d in found for t in d.tables)
    if structured not in (None, {}) and not tabled and not (found and _same(structured, texts)):
        found = [read_tree(structured), *found]
    if not found:
        return Document(is_error=failed, is_empty=not blocks, kind="empty")
    return found[0] if len(found) == 1 else _joined(found)


def _block_text(block: Mapping[str, Any]) -> str | None:
    resource = block.get("resource")
    text = (
        block.get("text")
        if block.get("type") == "text"
        else resource.get("text")
        if isinstance(resource, dict)
        else None
    )
    return text if isinstance(text, str) else None


def _same(structured: Any, texts: list[str]) -> bool:
    """Whether structured content only repeats a text block, as it is or under one key."""
    if isinstance(structured, dict) and len(structured) == 1 and next(iter(structured.values())) in texts:
        return True
    return any(_json(t.encode("utf-8", "surrogatepass")) == structured for t in texts if t.lstrip()[:1] in ("{", "["))


def _joined(found: list[Document]) -> Document:
    """Several blocks as one result: their tables side by side; blocks of one object each are the rows of a table."""
    alone = [d.tables[0] for d in found if len(d.tables) == 1 and d.tables[0].kind == "record"]
    tables = [t for d in found for t in d.tables]
    if len(alone) == len(found) > 1 and len({tuple(c.name for c in t.columns) for t in alone}) == 1:
        tables = [make_table([c.name for c in alone[0].columns], [[c.cells[0] for c in t.columns] for t in alone])]
    first = found[0]
    return replace(
        first,
        tables=tuple(tables),
        lines=tuple(line for d in found for line in d.lines),
        scalars=tuple(s for d in found for s in d.scalars),
        is_error=any(d.is_error for d in found),
        is_empty=all(d.is_empty for d in found),
        partial=any(d.partial for d in found),
        statuses=tuple(dict.fromkeys(s for d in found for s in d.statuses)),
        message=next((d.message for d in found if d.is_error), first.message),
    )


def _of_text(payload: bytes, value: Any, is_error: bool, shape: Shape | None) -> Document:
    shape = shape if shape is not None else read_shape(payload, is_error=is_error)
    if value is not None:
        return _with_shape(read_tree(value), shape)
    text = decode_bytes(payload, find_encoding(payload))
    if shape.source == "ndjson":
        return _with_shape(read_tree(list(_lines(text))), shape)
    if shape.kind is Kind.TABULAR and shape.columns is not None and not shape.unwrapped:
        return _with_shape(replace(read_text(text), tables=(_table(payload, shape),), kind="table"), shape)
    inner = decode(text) if shape.partial else None
    if inner is None and (inner := _inside(text)) is None:
        inner = decode(text)
    if inner is not None:
        return _with_shape(replace(read_tree(inner), lines=tuple(text.splitlines()[:2000])), shape)
    return _with_shape(read_text(text, is_error=is_error), shape)


def _lines(text: str) -> Iterator[Any]:
    for line in text.splitlines():
        value = _json(line.encode("utf-8", "surrogatepass"))
        if isinstance(value, dict | list):
            yield value


def _inside(text: str) -> Any:
    """JSON or a Python literal that stands inside a text, or None."""
    if len(text) > _PROSE_LIMIT:
        return None
    if (spelled := python_to_json(text.strip())) is not None and (value := _json(spelled.encode())) is not None:
        return value
    found = find_embedded(text)
    return plain(found.value) if found is not None else None


def _table(payload: bytes, shape: Shape) -> Table:
    names = [c.name for c in shape.columns or ()]
    rows = [tuple(plain(cell) for cell in row) for row in iter_rows(payload, shape)]
    return make_table(names, rows, total=shape.rows_total, partial=shape.partial, path=shape.path or "")


def _with_shape(document: Document, shape: Shape) -> Document:
    """What the shape knows better: whether it is an error, empty, or not all there is."""
    message = str(shape.text.get("message") or "") if shape.is_error else ""
    codes = status_codes(message) if message else []
    return replace(
        document,
        is_error=shape.is_error,
        is_empty=shape.kind is Kind.EMPTY or (document.is_empty and not shape.is_error),
        partial=document.partial or shape.partial,
        total=document.total if document.total is not None else shape.rows_total,
        message=message or document.message,
        statuses=tuple(dict.fromkeys([*document.statuses, *codes])),
    )


def plain(value: Any) -> Any:
    """A value with its number literals as numbers, exact where they are whole."""
    if isinstance(value, OddNumber):
        return str(value)
    if isinstance(value, Num):
        number = number_of(str(value))
        return str(value) if number is None else number
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value
