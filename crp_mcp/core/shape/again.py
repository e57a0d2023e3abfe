"""Everything of a payload once more, from first to last: all rows in a stream, whole blocks of rows, the text inside.

For whoever derives something from all of it. Reads slices where the shape has a row index, else the payload whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from .cells import NotJson, load_json
from .decoding import find_encoding
from .json_stream import read_stream
from .model import Shape
from .rows import _all_rows, _enter, _from_index
from .typed_rows import RowForm, decode_block

Read = Callable[[int, int], bytes]
"""(offset, length) -> bytes of the payload, short at its end."""


def stream_rows(read: Read, size: int, shape: Shape) -> Iterator[tuple[Any, ...]]:
    """Every row (items of a list: one cell each), in the order of the columns, numbers exact."""
    if shape.row_index:
        yield from _from_index(read, size, shape, 0)
    else:
        yield from _all_rows(read(0, size), shape)


def has_blocks(shape: Shape) -> bool:
    """Whether `row_blocks` can read it: a long JSON list of objects, rows at bytes of the payload itself."""
    return (
        len(shape.row_index) > 2
        and shape.source in ("json_rows", "structured_content")
        and bool(shape.columns)
        and not shape.reader.get("node")
        and not shape.reader.get("header")
        and not shape.reader.get("steps")
    )


def row_blocks(read: Read, size: int, shape: Shape) -> Iterator[list[tuple[Any, ...]] | list[dict[str, Any]]]:
    """The rows in blocks, fast: tuples in the order of the columns (nested cells as raw JSON), or dicts where a block
    is not of one form. Numbers with fractions are floats. Requires `has_blocks(shape)`.
    """
    names = tuple(column.name for column in shape.columns or ())
    form = RowForm()
    for (_, start), (_, end) in zip(shape.row_index, shape.row_index[1:], strict=False):
        chunk = read(start, end - start).rstrip(b" \t\r\n,")
        rows = form.decode(chunk)
        if rows is not None and form.names == names:
            yield list(map(msgspec.structs.astuple, rows))
            continue
        items = decode_block(chunk)
        if items is None or not all(isinstance(item, dict) for item in items):
            yield [dict(zip(names, row, strict=True)) for row in _between(read, size, shape, start, end)]
            continue
        form.learn(items)
        yield items
    last = shape.row_index[-1][0]
    rest = [dict(zip(names, row, strict=True)) for row in _from_index(read, size, shape, last)]
    if rest:
        yield rest


SMALL = 4 << 20


def small_rows(payload: bytes, shape: Shape, *, literals: bool) -> list[dict[str, Any]] | None:
    """The rows of a JSON list of objects that is small enough to be decoded at once; None for every other.

    `literals`: numbers with fractions as `Num`, else as floats.
    """
    plain = shape.source in ("json_rows", "structured_content") and not shape.reader.get("node")
    if not plain or not shape.columns or len(payload) > SMALL:
        return None
    body = open_body(payload, shape).strip(b" \t\r\n\f\v\x00")
    try:
        value: Any = load_json(body) if literals else msgspec.json.decode(body)
        if shape.reader.get("steps") and shape.reader["steps"][-1][0] == "structured":
            value = value["structuredContent"]
        for part in shape.reader.get("path", ()):
            value = value[part]
    except (NotJson, ValueError, LookupError, TypeError, RecursionError, OverflowError):
        return None
    if not isinstance(value, list) or len(value) != shape.rows or not all(type(item) is dict for item in value):
        return None
    return value


def _between(read: Read, size: int, shape: Shape, start: int, end: int) -> Iterator[tuple[Any, ...]]:
    numbers = {at: row for row, at in shape.row_index}
    count = numbers[end] - numbers[start]
    for row in _from_index(read, size, shape, numbers[start]):
        if count <= 0:
            return
        count -= 1
        yield row


def open_body(payload: bytes, shape: Shape) -> bytes:
    """The text inside a payload: every wrapping the shape's reader took off, as UTF-8."""
    codec, skip = shape.reader.get("encoding", ("utf-8", 0))
    if "encoding" in shape.reader and codec != "utf-8":
        body = payload[skip:].decode(codec, "replace").encode()
    else:
        body = payload.removeprefix(b"\xef\xbb\xbf")
        if not shape.reader.get("steps"):
            found = find_encoding(body[: 1 << 16], whole=False)
            if found.codec != "utf-8" and not found.binary:
                body = payload[found.skip :].decode(found.codec, "replace").encode()
    for step in shape.reader.get("steps", ()):
        body = _enter(body, step)
    return body


def open_document(payload: bytes, shape: Shape) -> Any:
    """The JSON value inside a payload, whole. Raises NotJson."""
    body = open_body(payload, shape)
    try:
        value = load_json(body.strip(b" \t\r\n\f\v\x00"))
    except NotJson:
        value = read_stream(body).value
        if value is None or not isinstance(value, dict | list):
            raise
    steps: Sequence[Any] = shape.reader.get("steps", ())
    if steps and steps[-1][0] == "structured":
        value = value.get("structuredContent")
    return value


__all__ = ["Read", "has_blocks", "open_body", "open_document", "row_blocks", "stream_rows"]
