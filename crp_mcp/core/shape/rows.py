"""The rows of a payload again, by the recipe its shape carries. Every reader's rows come back typed, numbers exact."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from sys import maxsize
from typing import Any

from .aligned import read_aligned
from .cells import NotJson, compact_json, load_json
from .columns import Num
from .csv_stream import CsvBlocks
from .delimited import Dialect, read_rows
from .embedded import fenced_blocks
from .json_items import byte_length, scan_items
from .json_stream import BLOCK, read_stream
from .line_lists import read_line_list
from .lists import ListFacts
from .model import Shape
from .ndjson import event_stream
from .pyrepr import python_to_json
from .records import read_records
from .ruled import read_ruled

Cell = Any
"""None, bool, int, Num (a number's literal), str, dict or list."""
_INT = re.compile(r"-?(?:0|[1-9]\d{0,4000})", re.ASCII)
_FLOAT = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,9})?", re.ASCII)
_WHITE = b" \t\r\n\f\v\x00"


def iter_rows(payload: bytes, shape: Shape, *, start: int = 0) -> Iterator[tuple[Cell, ...]]:
    """Every row of a table (items of a list: one cell each) from number `start` on, in the order of the columns."""
    if shape.row_index:
        yield from _from_index(lambda at, size: payload[at : at + size], len(payload), shape, start)
        return
    yield from islice(_all_rows(payload, shape), start, None)


def rows_at(
    read: Callable[[int, int], bytes], size: int, shape: Shape, offset: int, limit: int
) -> list[tuple[Cell, ...]]:
    """`limit` rows from number `offset` on. `read(offset, length)` gives bytes of the payload, `size` is its length.

    Where the shape has a row index only the slices around the rows are read, else the payload as a whole.
    """
    if shape.row_index:
        return list(islice(_from_index(read, size, shape, offset), limit))
    return list(islice(_all_rows(read(0, size), shape), offset, offset + limit))


# --- by the index ---


def _from_index(read: Callable[[int, int], bytes], size: int, shape: Shape, start: int) -> Iterator[tuple[Cell, ...]]:
    row, at = next((row, at) for row, at in reversed(shape.row_index) if row <= start or row == shape.row_index[0][0])
    skipped = start - row + (1 if shape.reader.get("header") and shape.source.startswith("json") else 0)
    if shape.source == "ndjson":
        items = _lines(_pieces(read, size, at))
    elif shape.source in ("csv", "tsv", "delimited"):
        cells = _text_cells(_csv_from(read, size, at, shape), shape)
        yield from islice(cells, start - row, None if shape.rows is None else max(0, shape.rows - row))
        return
    else:
        items = scan_list(read, size, at)
    yield from islice(_as_rows(items, shape), skipped, None)


def _pieces(read: Callable[[int, int], bytes], size: int, at: int) -> Iterator[bytes]:
    while at < size:
        yield read(at, min(BLOCK, size - at))
        at += BLOCK


def _lines(pieces: Iterable[bytes]) -> Iterator[Any]:
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from _documents(lines)
    yield from _documents([rest])


def _documents(lines: Iterable[bytes]) -> Iterator[Any]:
    for line in lines:
        if line.lstrip()[:1] in (b"{", b"["):
            try:
                yield load_json(line)
            except NotJson:
                continue


def scan_list(read: Callable[[int, int], bytes], size: int, at: int) -> Iterator[Any]:
    """The items of a JSON list from the one that begins at byte `at` to the list's end."""
    window, ahead = b"", BLOCK
    while True:
        if len(window) < ahead and at + len(window) < size:
            window += read(at + len(window), min(ahead - len(window), size - at - len(window)))
        last = at + len(window) >= size
        text = window.decode("utf-8", "surrogateescape")
        items, stop, state, _ = scan_items(text, last, 2)
        yield from items
        if state != "more" or (last and not items):
            return
        used = byte_length(text, stop)
        window, at = window[used:], at + used
        ahead = BLOCK if items else 4 * ahead


def _csv_from(read: Callable[[int, int], bytes], size: int, at: int, shape: Shape) -> Iterator[list[str]]:
    blocks = CsvBlocks(_dialect(shape))
    while at < size:
        piece = read(at, min(BLOCK, size - at))
        at += len(piece)
        yield from blocks.feed(piece)
    yield from blocks.finish()


# --- by the recipe ---


def _all_rows(payload: bytes, shape: Shape) -> Iterator[tuple[Cell, ...]]:
    body = payload.removeprefix(b"\xef\xbb\xbf")
    if "encoding" in shape.reader:
        codec, skip = shape.reader["encoding"]
        body = payload[skip:].decode(codec, "replace").encode()
    for step in shape.reader.get("steps", ()):
        body = _enter(body, step)
    if shape.source.startswith("json") or shape.source == "ndjson":
        yield from _as_rows(_json_items(body, shape), shape)
    else:
        yield from _text_rows(body.decode("utf-8", "replace"), shape)


def _enter(body: bytes, step: Sequence[Any]) -> bytes:
    """Take one wrapping off."""
    kind = step[0]
    if kind == "string":
        return str(_document(body)).encode("utf-8", "surrogatepass")
    if kind == "member":
        return str(_document(body)[step[1]]).encode("utf-8", "surrogatepass")
    if kind == "block":
        block = _document(body)["content"][step[1]]
        text = block["text"] if "text" in block else block["resource"]["text"]
        return str(text).encode("utf-8", "surrogatepass")
    if kind == "structured":
        value = _document(body)["structuredContent"]
        return compact_json(value, maxsize).encode("utf-8", "surrogatepass")
    text = body.decode("utf-8", "replace")
    if kind == "python":
        return (python_to_json(text) or "").encode("utf-8", "surrogatepass")
    if kind == "events":
        return (event_stream(text) or "").encode()
    if kind == "fence":
        return fenced_blocks(text)[int(step[1])][1].encode()
    if kind == "at":
        return text[int(step[1]) :].encode()
    return body


def _document(body: bytes) -> Any:
    bare = body.strip(_WHITE)
    try:
        return load_json(bare)
    except NotJson:
        return read_stream(bare).value


def _json_items(body: bytes, shape: Shape) -> Iterable[Any]:
    if shape.source == "ndjson":
        return _lines([body])
    if shape.source == "json_sequence":
        return _sequence(body)
    value = _document(body)
    if shape.source == "json_blocks":
        return (
            load_json(block["text"].strip().encode("utf-8", "surrogatepass"))
            for block in value["content"]
            if "text" in block
        )
    for part in shape.reader.get("path", ()):
        value = list(value.head)[part] if isinstance(value, ListFacts) else value[part]
    return _node_items(body.strip(_WHITE), value, shape.source)


def _node_items(body: bytes, value: Any, source: str) -> Iterable[Any]:
    if isinstance(value, ListFacts):
        return scan_list(lambda at, size: body[at : at + size], len(body), value.index[0][1]) if value.index else ()
    if source == "json_records":
        return ({"key": key, **node} for key, node in value.items())
    if source == "json_columns":
        return _columns(body, value)
    return value if isinstance(value, list) else (value,)


def _columns(body: bytes, value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    nodes = [
        list(node.values()) if isinstance(node, dict) else list(_node_items(body, node, "")) for node in value.values()
    ]
    for row in zip(*nodes, strict=False):
        yield dict(zip(value, row, strict=True))


def _sequence(body: bytes) -> Iterator[Any]:
    rest = body.strip(_WHITE)
    while rest:
        reader = read_stream(rest)
        if not reader.found:
            return
        yield _document(rest[: reader.end])
        rest = rest[reader.end :].strip(_WHITE + b",")


def _as_rows(items: Iterable[Any], shape: Shape) -> Iterator[tuple[Cell, ...]]:
    columns = shape.columns
    if columns is None:
        yield from ((item,) for item in items)
        return
    names = [column.name for column in columns]
    node, width = shape.reader.get("node"), len(names)
    header = bool(shape.reader.get("header")) and not shape.row_index
    for at, item in enumerate(items):
        if header and at == 0:
            continue
        if node and isinstance(item, dict):
            item = item.get("node")
        if isinstance(item, dict):
            yield tuple(item.get(name) for name in names)
        elif isinstance(item, list):
            yield tuple(item[:width]) + (None,) * (width - len(item))
        else:
            yield (None,) * width


def _text_rows(text: str, shape: Shape) -> Iterator[tuple[Cell, ...]]:
    if shape.source == "lines":
        yield from ((line,) for line in read_line_list(text.strip("\ufeff \t\r\n\f\v\x00")) or ())
        return
    if shape.source in ("csv", "tsv", "delimited"):
        rows: Iterable[Sequence[str | None]] = read_rows(text, _dialect(shape))
        rows = list(rows)[1 if shape.reader.get("header", True) else 0 :]
        rows = rows[: len(rows) - shape.reader.get("footer", 0)]
    else:
        table = {"records": read_records, "aligned": read_aligned}.get(shape.source, read_ruled)(text)
        rows = table.rows if table is not None else ()
    yield from _text_cells(rows, shape)


def _dialect(shape: Shape) -> Dialect:
    members = {name: value for name, value in shape.reader.items() if name in Dialect.__dataclass_fields__}
    return Dialect(**members)


def _text_cells(rows: Iterable[Sequence[str | None]], shape: Shape) -> Iterator[tuple[Cell, ...]]:
    """Cells of text, typed as their column is."""
    columns = shape.columns or ()
    width = len(columns)
    kinds = ["float" if "float" in column.types else "int" if "int" in column.types else "" for column in columns]
    for row in rows:
        cells = [_typed(cell, kind) for cell, kind in zip(row, kinds, strict=False)]
        yield tuple(cells) + (None,) * (width - len(cells))


def _typed(cell: str | None, kind: str) -> Cell:
    if not cell:
        return None
    if kind and _INT.fullmatch(cell):
        return int(cell)
    return Num(cell) if kind == "float" and _FLOAT.fullmatch(cell) else cell
