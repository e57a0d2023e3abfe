"""The shape of a payload that arrives in pieces: what is long is never held as a whole.

The first two megabytes decide. What ends within them is read like any payload at hand; longer JSON, JSON lines,
delimited rows and texts are read on as they come. Where the pieces were cut makes no difference.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from .cells import LongText
from .decoding import Encoding, find_encoding
from .delimited import find_dialect
from .embedded import embedded_start
from .json_stream import JsonReader
from .model import Shape
from .ndjson import looks_like_lines
from .pyrepr import python_to_json
from .reading import read_text
from .results import is_result, read_result, shape_result
from .streams import BinaryStream, CsvStream, ErrorStream, JsonStream, LinesStream, PythonStream, TextEdges, TextStream

HEAD = 2_097_152
"""Bytes looked at before anything is decided."""
_SNIFF = 262_144
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
        return BinaryStream(encoding.binary)
    if is_error:
        return ErrorStream(encoding)
    if encoding.is_utf8:
        body = head[encoding.skip :]
        stream = _open_utf8(body, encoding)
        if stream is not None:
            return stream
    text = head[encoding.skip : encoding.skip + _SNIFF].decode(encoding.codec, "ignore")
    dialect = find_dialect(text, whole=False) if encoding.codec in ("utf-8", "latin-1") else None
    return TextStream(encoding) if dialect is None else CsvStream(dialect, encoding)


def _open_utf8(body: bytes, encoding: Encoding) -> _Stream | None:
    if looks_like_lines(body[:_SNIFF], whole=False):
        return LinesStream(encoding)
    first = body.lstrip(_WHITE)[:1]
    if first in (b"{", b"[", b"(") and _is_python(body[:_SNIFF]):
        return PythonStream(encoding)
    if first in (b"{", b"[", b'"'):
        return JsonStream(encoding, 0, "", _long_text)
    start = embedded_start(body[:_SNIFF].decode("utf-8", "ignore"))
    if start is not None:
        before = body[:_SNIFF].decode("utf-8", "ignore")[:start]
        return JsonStream(encoding, len(before.encode()), before, _long_text)
    return None


def _is_python(head: bytes) -> bool:
    """A value in Python's spelling, by its beginning: no JSON, and JSON once it is spelled so."""
    text = head.decode("utf-8", "ignore")
    as_it_is, spelled = JsonReader(), python_to_json(text)
    as_it_is.feed(text.encode())
    as_it_is.finish()
    if as_it_is.broken is None or spelled is None:
        return False
    reader = JsonReader()
    reader.feed(spelled.encode("utf-8", "surrogatepass"))
    reader.finish()
    return reader.cut and reader.found


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
