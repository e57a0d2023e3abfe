"""What reads a long text on as it comes: prose, JSON lines, delimited rows, one JSON document. One class each."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from crp_mcp.core.model import Kind

from .csv_stream import CsvBlocks
from .decoding import Encoding
from .delimited import Dialect, recipe
from .edges import FOOTER
from .json_stream import JsonReader
from .model import Shape
from .ndjson import LineRows
from .pyrepr import NotPython, PythonSpeller
from .reading import cut_shape, plain_text_shape, remarked, shape_value, step
from .text_tables import TableCollector, named
from .texts import TextStats

_BLOCK = 262_144
_SPELLED = 65_536
"""Characters of a Python value put into JSON at a time."""
_MOST_PREAMBLE = 1_048_576
_MOST_AFTER = 4_000
"""Bytes behind a document that may be a remark; with more it is no document but a text."""
_WHITE = b" \t\r\n\f\v\x00"


class BinaryStream:
    def __init__(self, mime: str) -> None:
        self._mime, self._size = mime, 0

    def feed(self, piece: bytes) -> None:
        self._size += len(piece)

    def finish(self) -> Shape:
        return Shape(Kind.BINARY, "binary", text={"mime": self._mime, "bytes": self._size})


class TextStream:
    """Prose and logs: a block of whole lines at a time; of a line that is longer, whole words."""

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
            end = end or self._rest.rfind(" ", start, start + _BLOCK) + 1 or start + _BLOCK
            self._stats.feed(self._rest[start:end])
            start = end
        self._rest = self._rest[start:]

    def finish(self) -> Shape:
        self._rest += self._decoder.decode(b"", final=True)
        self._take(1)
        marks = (self._encoding.mark,) if self._encoding.mark else ()
        if not self._stats.words:
            return Shape(Kind.EMPTY, "text", rows=0, unwrapped=marks)
        return replace(plain_text_shape(self._stats.facts()), unwrapped=marks)


class ErrorStream(TextStream):
    """A long text that is an error by its flag."""

    def finish(self) -> Shape:
        shape = super().finish()
        facts = dict(shape.text)
        facts["message"] = "\n".join([*facts.get("head", ()), "…", *facts.get("tail", ())])
        return replace(shape, kind=Kind.ERROR, source="is_error", is_error=True, text=facts)


class LinesStream:
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


class CsvStream:
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
        lines = bytes(self._preamble).splitlines(keepends=True)
        if len(lines) <= self._lines and len(self._preamble) < _MOST_PREAMBLE:
            return b""
        lines = lines[: self._lines]
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


class JsonStream:
    """One long document, maybe with a few words around it. Falls back to what is known of a text."""

    def __init__(
        self, encoding: Encoding, start: int, before: str, long_text: Callable[[str], Any] | None = None
    ) -> None:
        self._reader = JsonReader(long_text)
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


class PythonStream:
    """Python's spelling of one long value, put into JSON as it comes. Its rows have no place in the payload."""

    def __init__(self, encoding: Encoding) -> None:
        self._json = JsonStream(Encoding("utf-8"), 0, "")
        self._edges = TextEdges(encoding)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._speller: PythonSpeller | None = PythonSpeller()
        self._pending = ""

    def feed(self, piece: bytes) -> None:
        self._edges.feed(piece)
        self._pending += self._decoder.decode(piece)
        while self._speller is not None and len(self._pending) >= _SPELLED:
            self._spell(self._speller.feed, self._pending[:_SPELLED])
            self._pending = self._pending[_SPELLED:]

    def _spell(self, speller: Callable[[str], str], text: str) -> None:
        try:
            self._json.feed(speller(text).encode("utf-8", "surrogatepass"))
        except NotPython:
            self._speller, self._pending = None, ""

    def finish(self) -> Shape:
        if self._speller is not None:
            self._spell(self._speller.feed, self._pending)
        if self._speller is not None:
            self._spell(lambda _: self._speller.finish() if self._speller else "", "")
        if self._speller is None:
            return self._edges.shape(None)
        shape = self._json.finish()
        if shape.kind is Kind.TEXT:
            return self._edges.shape(None)
        return step(replace(shape, unwrapped=("python repr", *shape.unwrapped), row_index=()), "python")


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
        lines = self._lines + (self._tail[-1:] not in (b"", b"\n"))
        facts.update(lines=lines, bytes=self._bytes, tail=tail.facts().get("tail", []))
        return replace(plain_text_shape(facts), unwrapped=(mark,) if mark else ())
