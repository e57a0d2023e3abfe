"""The shape of a payload that arrives in pieces: what is long is never held as a whole.

The first two megabytes decide. What ends within them is read like any payload at hand; longer JSON, JSON lines,
delimited rows and texts are read on as they come. Where the pieces were cut makes no difference.
"""

from __future__ import annotations

import codecs
from dataclasses import replace
from typing import Any, Protocol

from crp_mcp.core.model import Kind

from .cells import LongText
from .csv_stream import CsvBlocks
from .decoding import Encoding, find_encoding
from .delimited import FOOTER, Dialect, find_dialect, recipe
from .embedded import embedded_start
from .json_stream import JsonReader
from .model import Shape
from .ndjson import LineRows, looks_like_lines
from .reading import cut_shape, plain_text_shape, read_text, remarked, shape_value, step
from .results import is_result, read_result, shape_result
from .text_tables import TableCollector, named
from .texts import TextStats

HEAD = 2_097_152
"""Bytes looked at before anything is decided."""
_BLOCK = 262_144
_SNIFF = 262_144
_MOST_AFTER = 4_000
"""Bytes behind a document that may be a remark; with more it is no document but a text."""
_WHITE = b" \t\r\n\f\v\x00"


class _Stream(Protocol):
    def feed(self, piece: bytes) -> None: ...

    def finish(self) -> Shape: ...


class ShapeBuilder:
    """Feed the payload in any pieces, then `finish()`: the same shape as `read_shape` gives for the whole."""

    def __init__(self, *, form: str = "text", is_error: bool = False) -> None:
        self._form = form
        self._is_error = is_error
        self._head = bytearray()
        self._stream: _Stream | None = None

    def feed(self, piece: bytes) -> None:
        if self._stream is not None:
            self._stream.feed(piece)
            return
        self._head += piece
        if len(self._head) > HEAD:
            head, self._head = bytes(self._head), bytearray()
            self._stream = self._open(head[:HEAD])
            self._stream.feed(head)

    def finish(self) -> Shape:
        if self._stream is not None:
            return self._stream.finish()
        if self._form == "result":
            return read_result(bytes(self._head), self._is_error)
        return read_text(bytes(self._head), self._is_error)

    def _open(self, head: bytes) -> _Stream:
        if self._form == "result" and is_result(head):
            return _ResultStream(self._is_error)
        return open_text(head, self._is_error)


def open_text(head: bytes, is_error: bool = False) -> _Stream:
    """The stream for a long text that begins like this."""
    encoding = find_encoding(head, whole=False)
    if encoding.binary:
        return _BinaryStream(encoding.binary)
    if is_error:
        return _ErrorStream(encoding)
    if encoding.is_utf8:
        body = head[encoding.skip :]
        stream = _open_utf8(body, encoding)
        if stream is not None:
            return stream
    text = head[encoding.skip : encoding.skip + _SNIFF].decode(encoding.codec, "ignore")
    dialect = find_dialect(text, whole=False) if encoding.codec in ("utf-8", "latin-1") else None
    return _TextStream(encoding) if dialect is None else _CsvStream(dialect, encoding)


def _open_utf8(body: bytes, encoding: Encoding) -> _Stream | None:
    if looks_like_lines(body[:_SNIFF], whole=False):
        return _LinesStream(encoding)
    first = body.lstrip(_WHITE)[:1]
    if first in (b"{", b"[", b'"'):
        return _JsonStream(encoding, 0, "")
    start = embedded_start(body[:_SNIFF].decode("utf-8", "ignore"))
    if start is not None:
        before = body[:_SNIFF].decode("utf-8", "ignore")[:start]
        return _JsonStream(encoding, len(before.encode()), before)
    return None


class _BinaryStream:
    def __init__(self, mime: str) -> None:
        self._mime, self._size = mime, 0

    def feed(self, piece: bytes) -> None:
        self._size += len(piece)

    def finish(self) -> Shape:
        return Shape(Kind.BINARY, "binary", text={"mime": self._mime, "bytes": self._size})


class _TextStream:
    """Prose and logs: a block of whole lines at a time."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding.codec)("replace")
        self._skip = encoding.skip
        self._stats = TextStats()
        self._rest = ""

    def feed(self, piece: bytes) -> None:
        if self._skip:
            self._skip, piece = max(0, self._skip - len(piece)), piece[self._skip :]
        self._rest += self._decoder.decode(piece)
        self._take(_BLOCK)

    def _take(self, least: int) -> None:
        start = 0
        while len(self._rest) - start >= least and start < len(self._rest):
            end = self._rest.rfind("\n", start, start + _BLOCK) + 1
            end = end or start + _BLOCK
            self._stats.feed(self._rest[start:end])
            start = end
        self._rest = self._rest[start:]

    def finish(self) -> Shape:
        self._rest += self._decoder.decode(b"", final=True)
        self._take(1)
        marks = (self._encoding.mark,) if self._encoding.mark else ()
        return replace(plain_text_shape(self._stats.facts()), unwrapped=marks)


class _ErrorStream(_TextStream):
    """A long text that is an error by its flag."""

    def finish(self) -> Shape:
        shape = super().finish()
        facts = dict(shape.text)
        facts["message"] = "\n".join([*facts.get("head", ()), "…", *facts.get("tail", ())])
        return replace(shape, kind=Kind.ERROR, source="is_error", is_error=True, text=facts)


class _LinesStream:
    """JSON lines."""

    def __init__(self, encoding: Encoding) -> None:
        self._rows = LineRows(encoding.skip)
        self._mark = encoding.mark
        self._skip = encoding.skip
        self._rest = bytearray()
        self._room = _BLOCK

    def feed(self, piece: bytes) -> None:
        if self._skip:
            self._skip, piece = max(0, self._skip - len(piece)), piece[self._skip :]
        self._rest += piece
        while len(self._rest) >= self._room:
            end = self._rest.rfind(b"\n", 0, self._room) + 1
            if not end:
                self._room *= 2
                continue
            self._rows.feed(bytes(self._rest[:end]))
            del self._rest[:end]
            self._room = _BLOCK

    def finish(self) -> Shape:
        self._rows.feed(bytes(self._rest))
        return replace(self._rows.shape(), unwrapped=(self._mark,) if self._mark else ())


class _CsvStream:
    """Delimited rows. The last few are held back: they may be a footer."""

    def __init__(self, dialect: Dialect, encoding: Encoding) -> None:
        self._dialect = dialect
        self._encoding = encoding
        self._blocks = CsvBlocks(dialect, encoding.codec)
        self._start = encoding.skip
        self._skip = encoding.skip
        self._lines = dialect.skip
        self._before: list[str] = []
        self._preamble = bytearray()
        self._table: TableCollector | None = None
        self._held: list[list[str]] = []

    def feed(self, piece: bytes) -> None:
        if self._skip:
            self._skip, piece = max(0, self._skip - len(piece)), piece[self._skip :]
        if self._lines:
            piece = self._step_over(piece)
        for at in range(0, len(piece), _BLOCK):
            self._add(self._blocks.feed(piece[at : at + _BLOCK]))

    def _step_over(self, piece: bytes) -> bytes:
        """Drop the lines before the first row."""
        self._preamble += piece
        if self._preamble.count(b"\n") + self._preamble.count(b"\r") < 2 * self._lines and len(self._preamble) < HEAD:
            return b""
        lines = bytes(self._preamble).splitlines(keepends=True)[: self._lines]
        size = sum(map(len, lines))
        self._before = [line.decode(self._encoding.codec, "replace").strip() for line in lines]
        piece, self._preamble, self._lines = bytes(self._preamble[size:]), bytearray(), 0
        self._start += size
        return piece

    def _add(self, rows: list[list[str]]) -> None:
        if self._table is None and rows:
            width = self._dialect.width
            names = named(rows.pop(0) if self._dialect.header else None, width)
            self._table = TableCollector(names)
        rows = self._held + rows
        cut = max(0, len(rows) - 3)
        self._held = rows[cut:]
        if cut and self._table is not None:
            self._table.feed(rows[:cut])

    def finish(self) -> Shape:
        self._add(self._blocks.finish())
        around = list(self._before)
        while self._held and len(self._held[-1]) == 1 and FOOTER.fullmatch(self._held[-1][0].strip()):
            around.append(self._held.pop()[0].strip())
        table = self._table or TableCollector(named(None, self._dialect.width))
        table.feed(self._held)
        source = {"\t": "tsv", "|": "delimited"}.get(self._dialect.delimiter, "csv")
        shape = table.shape(source, [line for line in around if line])
        marks = (self._encoding.mark,) if self._encoding.mark else ()
        reader = recipe(self._dialect)
        if self._encoding.codec != "utf-8":
            reader["encoding"] = [self._encoding.codec, self._encoding.skip]
        header = 1 if self._dialect.header else 0
        index = [(record - header, at + self._start) for record, at in self._blocks.starts]
        if not header:
            index.insert(0, (0, self._start))
        return replace(shape, row_index=tuple(index), reader=reader, unwrapped=marks)


class _JsonStream:
    """One long document, maybe with a few words around it. Falls back to what is known of a text."""

    def __init__(self, encoding: Encoding, start: int, before: str) -> None:
        self._reader = JsonReader(_long_text)
        self._mark = encoding.mark
        self._offset = encoding.skip + start
        self._skip = self._offset
        self._before = before
        self._edges = TextEdges(encoding)
        self._after = bytearray()

    def feed(self, piece: bytes) -> None:
        self._edges.feed(piece)
        if self._skip:
            self._skip, piece = max(0, self._skip - len(piece)), piece[self._skip :]
        if self._reader.done:
            self._add_after(piece)
            return
        self._reader.feed(piece)
        if self._reader.done:
            self._add_after(self._reader.rest())

    def _add_after(self, piece: bytes) -> None:
        """Keep what stands behind the document, a little of it."""
        piece = piece if self._after else piece.lstrip(_WHITE)
        if piece.strip(_WHITE) and len(self._after) <= _MOST_AFTER:
            self._after += piece[: _MOST_AFTER + 1 - len(self._after)]

    def finish(self) -> Shape:
        reader = self._reader
        if not reader.done:
            reader.finish()
            self._add_after(b"" if reader.cut else reader.rest())
        if not reader.found or reader.broken is not None or len(self._after) > _MOST_AFTER:
            return self._edges.shape(self._mark)
        if reader.cut:
            shape = cut_shape(reader.value, 0)
        else:
            shape = shape_value(reader.value)
        if shape is None:
            return self._edges.shape(self._mark)
        index = tuple((row, at + self._offset) for row, at in shape.row_index)
        marks = (self._mark,) if self._mark else ()
        shape = replace(shape, row_index=index, unwrapped=(*marks, *shape.unwrapped))
        around = [*self._before.splitlines(), *self._after.decode("utf-8", "replace").splitlines()]
        if not any(line.strip() for line in around):
            return shape
        if self._before:
            shape = step(shape, "at", len(self._before))
        return remarked(replace(shape, unwrapped=("prose", *shape.unwrapped)), around)


class TextEdges:
    """Lines, beginning and end of a text that was not read as text."""

    def __init__(self, encoding: Encoding) -> None:
        self._head, self._tail = bytearray(), b""
        self._lines = self._bytes = 0
        self._codec = encoding.codec

    def feed(self, piece: bytes) -> None:
        if len(self._head) < 65_536:
            self._head += piece[: 65_536 - len(self._head)]
        self._tail = (self._tail + piece[-8_192:])[-8_192:]
        self._lines += piece.count(b"\n")
        self._bytes += len(piece)

    def shape(self, mark: str | None) -> Shape:
        stats = TextStats()
        stats.feed(bytes(self._head).decode(self._codec, "replace"))
        tail = TextStats()
        tail.feed(self._tail.decode(self._codec, "replace"))
        facts = stats.facts()
        for name in ("words", "chars", "levels", "first_error", "last_error"):
            facts.pop(name, None)
        facts.update(lines=self._lines, bytes=self._bytes, tail=tail.facts().get("tail", []))
        return replace(plain_text_shape(facts), unwrapped=(mark,) if mark else ())


class _LongText:
    """A long string inside a document, itself read as a text."""

    def __init__(self) -> None:
        self._builder = ShapeBuilder()
        self._head = b""
        self._size = 0

    def feed(self, piece: bytes) -> None:
        if len(self._head) < 8_192:
            self._head += piece[:8_192]
        self._size += len(piece)
        self._builder.feed(piece)

    def finish(self) -> LongText:
        shape = self._builder.finish()
        return LongText(self._head.decode("utf-8", "replace")[:2_000], self._size, replace(shape, row_index=()))


class _LongData:
    """Base64 of an image or a file: only its length counts."""

    def __init__(self) -> None:
        self._size = 0

    def feed(self, piece: bytes) -> None:
        self._size += len(piece)

    def finish(self) -> LongText:
        return LongText("", self._size)


def _long_text(name: str) -> Any:
    return _LongData() if name in ("data", "blob") else _LongText()


class _ResultStream:
    """A whole CallToolResult, its long texts read as they come."""

    def __init__(self, is_error: bool) -> None:
        self._reader = JsonReader(_long_text, spine="content")
        self._is_error = is_error
        self._edges = TextEdges(Encoding("utf-8"))

    def feed(self, piece: bytes) -> None:
        self._edges.feed(piece)
        self._reader.feed(piece)

    def finish(self) -> Shape:
        self._reader.finish()
        value = self._reader.value
        if self._reader.broken is not None or not isinstance(value, dict):
            return self._edges.shape(None)
        return shape_result(value, self._is_error)
