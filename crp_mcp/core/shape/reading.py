"""Payload -> shape: which reader takes it. Total: any bytes at all give a shape."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crp_mcp.core.model import Kind

from .aligned import read_aligned
from .cells import LongText, NotJson, load_json, to_value
from .decoding import decode, find_encoding
from .delimited import read_delimited
from .embedded import Embedded, fenced_blocks, find_embedded, without_fences
from .fault_texts import text_fault
from .faults import value_fault
from .json_shapes import error_shape, list_shape, object_shape, shape_json
from .json_stream import JsonReader, read_stream
from .line_lists import read_line_list
from .lists import ListFacts, list_facts
from .model import Shape
from .ndjson import LineRows, event_stream, looks_like_lines
from .nothing import says_nothing
from .partial import text_extent
from .pyrepr import python_to_json
from .records import read_pairs, read_records, read_settings
from .ruled import count_ruled, read_ruled
from .text_tables import text_table_shape
from .texts import text_facts
from .vocabulary import QUIET, plain

_DEPTH = 3
_SMALL_JSON = 65_536
"""Bytes of JSON that are simply read whole."""
_DATA = (Kind.TABULAR, Kind.LIST, Kind.OBJECT, Kind.ERROR)
_CUT = "cut at the end"


def read_text(data: bytes, is_error: bool = False) -> Shape:
    """The shape of one text payload; `is_error`: the result it came in says that it failed."""
    whole = len(data) <= _SMALL_JSON
    encoding = find_encoding(data[:_SMALL_JSON], whole=whole)
    if encoding.binary:
        return Shape(Kind.BINARY, "binary", text={"mime": encoding.binary, "bytes": len(data)})
    shape = None
    if encoding.is_utf8 and not is_error:
        shape = _as_data(data[encoding.skip :], 0)
    if shape is None and not whole:
        encoding = find_encoding(data)
    if is_error:
        return failed_text(decode(data, encoding))
    if shape is None and encoding.is_utf8:
        shape = _as_other(data[encoding.skip :], 0)
    if shape is not None:
        shape = _moved(shape, encoding.skip) if encoding.skip else shape
    else:
        shape = shape_text(decode(data, encoding))
        shape = replace(shape, reader={**shape.reader, "encoding": [encoding.codec, encoding.skip]})
    return replace(shape, unwrapped=(encoding.mark, *shape.unwrapped)) if encoding.mark else shape


def failed_text(text: str) -> Shape:
    """An error by its flag: its message is what the text says, or the message inside the JSON it is."""
    bare = text.strip()
    value: Any = None
    if bare[:1] in ("{", "["):
        try:
            value = load_json(bare.encode("utf-8", "surrogatepass"))
        except NotJson:
            value = None
    message = value_fault(value) if value is not None else None
    return error_shape(message or text, "is_error", value)


def _moved(shape: Shape, by: int) -> Shape:
    return replace(shape, row_index=tuple((row, at + by) for row, at in shape.row_index))


def step(shape: Shape, *how: Any) -> Shape:
    """The shape of what stands inside something, with the step that leads there put in front of its recipe."""
    return replace(shape, reader={**shape.reader, "steps": [list(how), *shape.reader.get("steps", ())]})


def shape_text(text: str, depth: int = 0) -> Shape:
    """The shape of decoded text; its rows have no place in the payload. `depth`: wrappings taken off so far."""
    shape = shape_body(text.encode("utf-8", "surrogatepass"), depth)
    return replace(shape, row_index=()) if shape.row_index else shape


def shape_body(body: bytes, depth: int = 0) -> Shape:
    """The shape of UTF-8 text."""
    return _as_data(body, depth) or _as_other(body, depth)


def _as_data(body: bytes, depth: int) -> Shape | None:
    """What can be told from the bytes as they are: nothing at all, JSON, JSON lines."""
    bare = body.strip(b" \t\r\n\f\v\x00")
    if not bare:
        return Shape(Kind.EMPTY, "text", rows=0)
    shape = _as_json(body, bare, depth)
    if shape is None and looks_like_lines(body[: 4 * _SMALL_JSON], whole=len(body) <= 4 * _SMALL_JSON):
        return _as_lines(body)
    return shape


def _as_other(body: bytes, depth: int) -> Shape:
    text = body.decode("utf-8", "replace")
    return _as_python(text, depth) or _as_text(text, text.strip("\ufeff \t\r\n\f\v\x00"), depth)


# --- JSON ---


def _as_json(body: bytes, bare: bytes, depth: int) -> Shape | None:
    container = bare[:1] in (b"{", b"[", b'"')
    if len(bare) <= (_SMALL_JSON if container else 400):
        try:
            return shape_value(load_json(bare), depth)
        except NotJson:
            pass
    if not container:
        return None
    reader = read_stream(body)
    if reader.broken is not None:
        return _broken(reader, body, depth)
    if not reader.found:
        return None
    if reader.cut:
        return cut_shape(reader.value, depth) or _cut_short(body)
    rest = body[reader.end :].strip(b" \t\r\n\f\v\x00")
    return shape_value(reader.value, depth) if not rest else _followed(reader, body, rest, depth)


def cut_shape(value: Any, depth: int) -> Shape | None:
    """A document that ends too early: what there is of it, never as if it were all."""
    something = value.lstrip()[:1] in ("{", "[") if isinstance(value, str) else bool(value)
    if not something or (isinstance(value, ListFacts) and not value.count):
        return None
    shape = shape_value(value, depth)
    return shape if shape.kind is Kind.ERROR else replace(shape, partial=True, partial_why=_CUT)


def _cut_short(body: bytes) -> Shape | None:
    """A document that was cut before anything in it was complete."""
    bare = body.strip()
    if bare[:1] == b'"' or len(bare) < 3:
        return None
    return replace(plain_text_shape(text_facts(body.decode("utf-8", "replace"))), partial=True, partial_why=_CUT)


def _broken(reader: JsonReader, body: bytes, depth: int) -> Shape | None:
    """JSON up to a mark like `… (truncated)`."""
    rest = body[reader.broken or 0 :]
    if len(rest) > max(400, len(body) // 20) or not isinstance(reader.value, dict | ListFacts | list):
        return None
    if not re.search(rb"(?i)\.\.\.|truncat|\xe2\x80\xa6|more|omitted|cut", rest):
        return None
    return cut_shape(reader.value, depth)


def _followed(reader: JsonReader, body: bytes, rest: bytes, depth: int) -> Shape | None:
    """A document with something after it: more documents, or a remark."""
    if looks_like_lines(body[: 4 * _SMALL_JSON], whole=len(body) <= 4 * _SMALL_JSON):
        return _as_lines(body)
    if rest[:1] in (b"{", b"["):
        return _sequence(reader.value, rest)
    if isinstance(reader.value, str) or len(rest) > max(reader.end // 2, min(200, 2 * reader.end)):
        return None
    lines = rest.decode("utf-8", "replace").splitlines()
    return _wrapped(Embedded(reader.value, "prose", 0, tuple(line.strip() for line in lines if line.strip())), depth)


def _sequence(first: Any, rest: bytes) -> Shape | None:
    """Documents one after another: rows where all are objects."""
    values = [first]
    while rest:
        reader = read_stream(rest)
        if reader.broken is not None or not reader.found or reader.cut or len(values) > 100_000:
            return None
        values.append(reader.value)
        rest = rest[reader.end :].strip(b" \t\r\n\f\v\x00,")
    facts = list_facts([list(value.head) if isinstance(value, ListFacts) else value for value in values])
    return replace(list_shape(facts), source="json_sequence")


def shape_value(value: Any, depth: int = 0) -> Shape:
    """The shape of a JSON value, with what is encoded inside its one string taken out."""
    if isinstance(value, LongText):
        return step(value.shape, "string")
    if type(value) is str and depth < _DEPTH:
        inner = shape_text(value, depth + 1)
        if inner.kind in _DATA:
            return step(replace(inner, unwrapped=("double-encoded", *inner.unwrapped)), "string")
        if len(value) > 200 or "\n" in value:
            return inner
    if isinstance(value, dict) and depth < _DEPTH:
        inner_member = _payload_text(value)
        if inner_member is not None:
            shape = _unwrap_member(value, inner_member, depth)
            if shape is not None:
                return shape
    return shape_json(value)


def _payload_text(value: Mapping[str, Any]) -> str | None:
    """The one member that holds the answer, where that is a text."""
    full = [key for key, item in value.items() if item not in (None, "", [], {}) and plain(key) not in QUIET]
    full = full or [key for key, item in value.items() if type(item) is str and item and len(item) > 40]
    if len(full) != 1 or len(value) > 8:
        return None
    text = value[full[0]]
    return full[0] if isinstance(text, LongText) or (type(text) is str and len(text) >= 2) else None


def _unwrap_member(value: Mapping[str, Any], key: str, depth: int) -> Shape | None:
    outer = shape_json({name: item for name, item in value.items() if name != key})
    if outer.kind is Kind.ERROR:
        return None
    text = value[key]
    inner = text.shape if isinstance(text, LongText) else shape_text(text, depth + 1)
    if inner.kind is Kind.ERROR or (inner.kind in _DATA and inner.source not in ("key_value", "lines")):
        path = ".".join((key, inner.path) if inner.path else (key,))
        how = (
            "double-encoded"
            if inner.source.startswith(("json", "ndjson", "python")) or inner.kind is Kind.ERROR
            else "in a member"
        )
        return step(replace(inner, path=path, unwrapped=(how, *inner.unwrapped)), "member", key)
    return None


def _as_lines(body: bytes) -> Shape:
    rows = LineRows()
    start = 0
    while start < len(body):
        end = (
            body.rfind(b"\n", start, start + 4 * _SMALL_JSON) + 1 if len(body) - start > 4 * _SMALL_JSON else len(body)
        )
        end = end or (body.find(b"\n", start) + 1 or len(body))
        rows.feed(body[start:end])
        start = end
    return rows.shape()


# --- text ---


def _as_python(text: str, depth: int) -> Shape | None:
    spelled = python_to_json(text)
    if spelled is None:
        return None
    body = spelled.encode("utf-8", "surrogatepass")
    shape = _as_json(body, body.strip(), depth)
    if shape is None or shape.kind is Kind.SCALAR:
        return None
    return step(replace(shape, unwrapped=("python repr", *shape.unwrapped), row_index=()), "python")


def _as_text(text: str, bare: str, depth: int) -> Shape:
    message = text_fault(text)
    if message is not None:
        return error_shape(message, "text_error")
    one_line = "\n" not in bare
    if one_line and says_nothing(bare):
        return Shape(Kind.EMPTY, "text", rows=0, text={"message": bare})
    shape = _as_events(text) or (_unfenced(text, depth) if depth < _DEPTH else None) or _table(text)
    if shape is not None:
        return shape
    found = find_embedded(text)
    if found is not None:
        return _wrapped(found, depth)
    if one_line and len(bare) <= 100 and not re.search(r"\s", bare):
        return Shape(Kind.SCALAR, "text", head=((to_value(bare),),))
    settings = read_settings(bare)
    items = read_line_list(bare) if settings is None else None
    if items is not None:
        return replace(list_shape(list_facts(items)), source="lines", row_index=())
    pairs = settings or read_pairs(bare)
    if pairs is not None:
        return replace(object_shape(pairs), source="key_value")
    return plain_text_shape(text_facts(text))


def plain_text_shape(facts: Mapping[str, Any]) -> Shape:
    """Prose, code or a log, with its facts."""
    extent = text_extent([*facts.get("head", ()), *facts.get("tail", ())], None)
    return Shape(Kind.TEXT, "text", text=facts, partial=extent.why is not None, partial_why=extent.why)


def _table(text: str) -> Shape | None:
    table = read_ruled(text)
    if table is None:
        if count_ruled(text) > 1:
            return None
        # Columns of blanks first: commas that group digits part no cells. Tabs may do both.
        early = None if "\t" in text else read_aligned(text)
        table = early or read_records(text) or read_delimited(text) or read_aligned(text)
    return None if table is None else text_table_shape(table)


def _as_events(text: str) -> Shape | None:
    data = event_stream(text) if text.lstrip()[:6].startswith(("data:", "event:", "id:", ":")) else None
    if data is None:
        return None
    shape = shape_text(data, 1)
    return step(replace(shape, unwrapped=("event stream", *shape.unwrapped)), "events") if shape.kind in _DATA else None


_MOST_FENCES = 20
_FENCED = frozenset({"", "json", "jsonl", "ndjson", "json5", "jsonc", "csv", "tsv", "text", "txt", "markdown", "md"})


def _unfenced(text: str, depth: int) -> Shape | None:
    """The one fenced block with data in it, where it is most of the text."""
    if "```" not in text and "~~~" not in text:
        return None
    blocks = [(number, *block) for number, block in enumerate(fenced_blocks(text)) if block[0] in _FENCED]
    if len(blocks) > _MOST_FENCES:
        return None
    shapes = [(number, content, shape_text(content, depth + 1)) for number, _, content in blocks]
    found = [(number, content, shape) for number, content, shape in shapes if _is_data(shape)]
    around = without_fences(text).strip()
    if len(found) != 1 or len(around) > max(600, len(found[0][1])):
        return None
    number, _, shape = found[0]
    return remarked(step(replace(shape, unwrapped=("fenced", *shape.unwrapped)), "fence", number), around.splitlines())


def _is_data(shape: Shape) -> bool:
    return shape.kind in _DATA and shape.source not in ("key_value", "text_error")


def _wrapped(found: Embedded, depth: int) -> Shape:
    shape = shape_value(found.value, depth + 1)
    if found.cut and shape.kind is not Kind.ERROR:
        shape = replace(shape, partial=True, partial_why=_CUT)
    shape = replace(shape, unwrapped=(found.how, *shape.unwrapped), row_index=())
    return remarked(step(shape, "at", found.start) if found.start else shape, found.around)


def remarked(shape: Shape, around: Any) -> Shape:
    """With what the text around it says of how much there is."""
    lines = [line.strip() for line in around if line.strip()]
    extent = text_extent([*lines[:6], *lines[-6:]], shape.rows)
    notes = {"around": [line[:200] for line in lines[:6]]} if lines else {}
    shape = replace(shape, text={**shape.text, **notes})
    if extent.total is None and extent.why is None:
        return shape
    return replace(
        shape,
        rows_total=shape.rows_total if shape.rows_total is not None else extent.total,
        partial=shape.partial or extent.why is not None,
        partial_why=shape.partial_why or extent.why,
    )
