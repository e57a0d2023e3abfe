"""Payload -> shape: which reader takes it. Total: any bytes at all give a shape."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from crp_mcp.core.model import Kind

from .cells import NotJson, load_json, to_value
from .decoding import decode, find_encoding
from .delimited import read_delimited
from .fault_texts import text_fault
from .json_shapes import error_shape, shape_json
from .model import Shape
from .partial import text_extent
from .records import read_pairs, read_records
from .ruled import read_ruled
from .text_tables import text_table_shape
from .texts import text_facts

_DEPTH = 3


def read_text(data: bytes) -> Shape:
    """The shape of one text payload."""
    encoding = find_encoding(data)
    if encoding.binary:
        return Shape(Kind.BINARY, "binary", text={"mime": encoding.binary, "bytes": len(data)})
    text = decode(data, encoding)
    shape = shape_text(text)
    marks = (encoding.mark,) if encoding.mark else ()
    return replace(shape, unwrapped=marks + shape.unwrapped) if marks else shape


def shape_text(text: str, depth: int = 0) -> Shape:
    """The shape of decoded text; `depth`: how many wrappings were taken off already."""
    bare = text.strip("\ufeff \t\r\n\f\v\x00")
    if not bare:
        return Shape(Kind.EMPTY, "text", rows=0)
    try:
        value = load_json(bare.encode("utf-8", "surrogatepass"))
    except NotJson:
        pass
    else:
        return _json(value, depth)
    return _plain(text, bare)


def _json(value: Any, depth: int) -> Shape:
    if isinstance(value, str) and type(value) is str and depth < _DEPTH:
        inner = shape_text(value, depth + 1)
        if inner.kind not in (Kind.TEXT, Kind.SCALAR):
            return replace(inner, unwrapped=("double-encoded", *inner.unwrapped)) if value else inner
        if len(value) > 200 or "\n" in value:
            return inner
    return shape_json(value)


_NOTHING = re.compile(
    r"(?i)\W*(?:(?:no|zero|0)\s+(?:\w+\s+){0,4}?(?:found|matched|returned|available|match(?:es)?|results?|rows?|records?|items?|data|entries|documents?|hits|files?|output|content)\b[^\n]{0,100}"
    r"|nothing (?:found|to show|matched)|(?:query|search|request)?\s*(?:returned|found|got)\s+(?:no|0|zero)\b[^\n]{0,80}|empty (?:set|result|list|response)\b[^\n]{0,40}|null|none|nil|undefined|n/a|\(0 rows\)|\(\)|\(empty\)|no output|no data)\W*"
)
_NOT_NOTHING = re.compile(r"(?i)\b(?:errors?|problems?|warnings?|such|longer|need|changes?)\b")


def _plain(text: str, bare: str) -> Shape:
    """Text that is no table."""
    message = text_fault(text)
    if message is not None:
        return error_shape(message, "text_error")
    if len(bare) <= 160 and "\n" not in bare:
        if _NOTHING.fullmatch(bare) and not _NOT_NOTHING.search(bare):
            return Shape(Kind.EMPTY, "text", rows=0, text={"message": bare})
    table = read_ruled(text) or read_records(text) or read_delimited(text)
    if table is not None:
        return text_table_shape(table)
    if len(bare) <= 100 and not re.search(r"\s", bare):
        return Shape(Kind.SCALAR, "text", head=((to_value(bare),),))
    pairs = read_pairs(bare)
    if pairs is not None:
        return replace(shape_json(pairs), source="key_value", is_error=False)
    facts = text_facts(text)
    edges = [*facts.get("head", ()), *facts.get("tail", ())]
    extent = text_extent(edges, None)
    return Shape(Kind.TEXT, "text", text=facts, partial=extent.why is not None, partial_why=extent.why)
