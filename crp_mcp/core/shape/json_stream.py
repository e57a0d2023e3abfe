"""JSON read as it arrives: long lists are let go of as facts, everything else is kept as values.

Strategy: a list is taken in blocks that end between two items. Where such an end lies is guessed from how the first two
items were set apart, and proved by decoding the block: what decodes as whole items ends between items. A guess that
fails costs one slower pass over that block, never a wrong answer. Nothing depends on how the input was cut into pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Any, Protocol

from .cells import NotJson, load_json, scan_json
from .json_items import NOTHING, Taken, byte_length, error_place, goes_on, runs_out, scan_items, what_there_is

BLOCK = 65_536
"""Bytes of a list decoded at a time: below the size from which memory is fetched anew for every block."""
_FIRST_BLOCK = 16_384
"""The first block is small: it is where the form of the rows is learnt."""
_SMALL = 4_096
_DEEPEST = 5
"""Levels of objects entered member by member; deeper ones are read whole."""
_LEAD = re.compile(rb'\{\s*"[^"\\]{0,200}"|["\[{]|')
_SPACE = re.compile(rb"[ \t\r\n]*")
_KEY = re.compile(rb'"([ !#-\[\]-~]{0,200})"[ \t\r\n]*:')
_PLAIN_MEMBERS = re.compile(
    rb'(?:[ \t\r\n]*+"[^"\\]{0,200}+"[ \t\r\n]*+:[ \t\r\n]*+'
    rb'(?:"[^"\\]{0,1000}+"|[-+0-9.eE]++|true|false|null)[ \t\r\n]*+,)++'
)
_OPENERS = b'"{['
_BODY = re.compile(rb'(?:[^"\\]++|\\(?:u[0-9a-fA-F]{4}|[^u]))*+', re.S)
_HIGH_HALF = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}$")

_Steps = Generator[None, None, Any]


class JsonBroken(Exception):
    """Not JSON from here on. `at` is a byte offset."""

    def __init__(self, at: int, value: Any = None) -> None:
        super().__init__(at)
        self.at = at
        self.value = value
        """What was read before."""


class TextSink(Protocol):
    """Takes a long string as it is read."""

    def feed(self, piece: bytes) -> None: ...

    def finish(self) -> Any: ...


class _Cut(Exception):
    """The input ended inside a value; `value` is what there was of it."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class JsonReader:
    """Feed the document in any pieces, then `finish()`; `value`, `end`, `cut` and `broken` then tell the result."""

    def __init__(self, long_text: Callable[[str], TextSink] | None = None, spine: str | None = None) -> None:
        """`long_text`: makes what takes long strings piece by piece (by member name). `spine`: the list at the top
        whose items are entered like objects.
        """
        self._long_text = long_text
        self._spine = spine
        self._buffer = bytearray()
        self._base = 0
        self._pos = 0
        self._eof = False
        self._run: _Steps | None = self._document()
        self.value: Any = None
        self.found = False
        self.end = 0
        """Where the document ended (byte offset)."""
        self.cut = False
        self.broken: int | None = None

    def feed(self, piece: bytes) -> None:
        if self._run is not None:
            self._buffer += piece
            if len(self._buffer) - self._pos >= BLOCK:
                self._step()

    def finish(self) -> None:
        self._eof = True
        while self._run is not None:
            self._step()

    @property
    def done(self) -> bool:
        return self._run is None

    def rest(self) -> bytes:
        """What was fed after the document's end, once it is done."""
        return bytes(self._buffer)

    def _step(self) -> None:
        try:
            next(self._run)  # type: ignore[arg-type]
        except StopIteration:
            self._run = None
        self._drop()

    def _drop(self) -> None:
        """Forget what was read, in big strides."""
        if self._pos > BLOCK or self._run is None:
            del self._buffer[: self._pos]
            self._base += self._pos
            self._pos = 0

    def _document(self) -> _Steps:
        try:
            self.value = yield from self._value(0, "")
            self.found = True
        except _Cut as cut:
            self.cut, self.found = True, cut.value is not NOTHING
            self.value = cut.value if self.found else None
        except JsonBroken as broken:
            self.broken, self.value = broken.at, broken.value
        self.end = self._base + self._pos

    # --- the window ---------------------------------------------------------------------------------------------------

    def _have(self, size: int) -> Generator[None, None, bool]:
        """Wait until `size` bytes lie ahead, or the input is over. Says which."""
        while len(self._buffer) - self._pos < size and not self._eof:
            yield
        return len(self._buffer) - self._pos >= size

    def _space(self) -> Generator[None, None, int]:
        """Skip white space; the next byte, or -1 at the end."""
        while True:
            found = _SPACE.match(self._buffer, self._pos)
            self._pos = found.end() if found else self._pos
            if self._pos < len(self._buffer):
                return self._buffer[self._pos]
            if self._eof:
                return -1
            yield

    def _text(self, size: int) -> str:
        return bytes(self._buffer[self._pos : self._pos + size]).decode("utf-8", "surrogateescape")

    def _advance(self, text: str) -> None:
        self._pos += len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))

    # --- values -------------------------------------------------------------------------------------------------------

    def _value(self, depth: int, name: str) -> _Steps:
        first = yield from self._space()
        if first < 0:
            raise _Cut(NOTHING)
        if depth and first in _OPENERS:
            small = yield from self._small()
            if small is not None:
                return small[0]
        if first == 0x22 and self._long_text is not None and (depth or not (yield from self._small())):
            return (yield from self._long(self._long_text(name)))
        if first == 0x5B and depth == 1 and name == self._spine:
            return (yield from self._spine_list(depth))
        if first == 0x5B:
            return (yield from self._list(name))
        if first == 0x7B and depth < _DEEPEST:
            return (yield from self._object(depth))
        return (yield from self._whole(first))

    def _small(self) -> Generator[None, None, tuple[Any] | None]:
        """The value, where it ends within the next few kilobytes."""
        yield from self._have(_SMALL)
        text = self._text(_SMALL)
        try:
            value, end = scan_json(text, 0)
        except (ValueError, RecursionError):
            return None
        self._advance(text[:end])
        return (value,)

    def _whole(self, first: int) -> _Steps:
        """A value of any size, in one piece."""
        size = _SMALL
        while True:
            yield from self._have(size + 1)
            text = self._text(size)
            last = self._eof and size >= len(self._buffer) - self._pos
            try:
                value, end = scan_json(text, 0)
            except RecursionError:
                raise JsonBroken(self._base + self._pos) from None
            except ValueError as error:
                if not runs_out(error, text):
                    raise JsonBroken(self._base + self._pos + error_place(error)) from None
                if last:
                    raise _Cut(what_there_is(text, first)) from None
            else:
                if last or first in b'"{[' or not goes_on(text, end):
                    self._advance(text[:end])
                    return value
            size *= 4

    def _object(self, depth: int) -> _Steps:
        self._pos += 1
        members: dict[str, Any] = {}
        if (yield from self._space()) == 0x7D:
            self._pos += 1
            return members
        try:
            while not (yield from self._member(members, depth)):
                self._plain_members(members)
        except _Cut:
            raise _Cut(members) from None
        except JsonBroken as broken:
            raise JsonBroken(broken.at, members) from None
        return members

    def _plain_members(self, members: dict[str, Any]) -> None:
        """Step over a run of members with short values, each with its comma, all at once."""
        found = _PLAIN_MEMBERS.match(self._buffer, self._pos, min(len(self._buffer), self._pos + BLOCK))
        if found is None:
            return
        try:
            members.update(load_json(b"{" + bytes(found[0]).rstrip(b", \t\r\n") + b"}"))
        except NotJson:
            return  # read one by one, it is found out where it breaks
        self._pos = found.end()

    def _member(self, members: dict[str, Any], depth: int) -> Generator[None, None, bool]:
        """Read one `"key": value` and what follows it; True at the object's end."""
        mark = yield from self._space()
        if mark not in (0x22, -1):
            raise JsonBroken(self._base + self._pos)
        plain = _KEY.match(self._buffer, self._pos)
        if plain:
            key = plain[1].decode()
            self._pos = plain.end()
        else:
            key = (yield from self._whole(mark)) if mark == 0x22 else ""
            yield from self._mark(b":")
        try:
            members[key] = yield from self._value(depth + 1, key)
        except (_Cut, JsonBroken) as stop:
            if stop.value is not NOTHING and stop.value is not None:
                members[key] = stop.value
            raise
        return (yield from self._mark(b",}")) == 0x7D

    def _mark(self, wanted: bytes) -> Generator[None, None, int]:
        """Step over one of these bytes; anything else breaks the document."""
        mark = yield from self._space()
        if mark < 0:
            raise _Cut(NOTHING)
        if mark not in wanted:
            raise JsonBroken(self._base + self._pos)
        self._pos += 1
        return mark

    def _spine_list(self, depth: int) -> _Steps:
        self._pos += 1
        items: list[Any] = []
        if (yield from self._space()) == 0x5D:
            self._pos += 1
            return items
        try:
            while True:
                items.append((yield from self._value(depth + 1, "")))
                if (yield from self._mark(b",]")) == 0x5D:
                    return items
        except _Cut as cut:
            raise _Cut(items if cut.value is NOTHING else [*items, cut.value]) from None

    def _long(self, sink: TextSink) -> _Steps:
        """A string of any length, handed on piece by piece."""
        self._pos += 1
        while True:
            yield from self._have(BLOCK)
            found = _BODY.match(self._buffer, self._pos, min(len(self._buffer), self._pos + BLOCK))
            end = self._boundary(found.end() if found else self._pos)
            piece = bytes(self._buffer[self._pos : end])
            try:
                sink.feed(str(load_json(b'"' + piece + b'"')).encode("utf-8", "surrogatepass"))
            except NotJson:
                raise JsonBroken(self._base + self._pos) from None
            progress = end > self._pos
            self._pos = end
            self._drop()
            if self._buffer[self._pos : self._pos + 1] == b'"':
                self._pos += 1
                return sink.finish()
            if not progress:
                raise _Cut(sink.finish())

    def _boundary(self, end: int) -> int:
        """`end`, or a little before it where a character or a pair of surrogates would be cut in two."""
        if end >= len(self._buffer) and self._eof:
            return end
        if self._buffer[end : end + 1] == b'"':
            return end
        while end > self._pos and end < len(self._buffer) and self._buffer[end] & 0xC0 == 0x80:
            end -= 1
        return end - 6 if _HIGH_HALF.match(self._buffer, max(self._pos, end - 6), end) else end

    # --- lists --------------------------------------------------------------------------------------------------------

    def _list(self, name: str) -> _Steps:
        self._pos += 1
        taken = Taken(name)
        if (yield from self._space()) == 0x5D:
            self._pos += 1
            return []
        taken.mark(self._base + self._pos)
        pattern = yield from self._pattern()
        room = _FIRST_BLOCK
        try:
            while True:
                yield from self._have(room)
                if pattern is not None and self._block(taken, pattern, room):
                    room = BLOCK
                elif (yield from self._items(taken, BLOCK)):
                    return taken.result(cut=False)
                else:
                    taken.mark(self._base + self._pos)
        except _Cut:
            raise _Cut(taken.result(cut=True)) from None
        except JsonBroken as broken:
            raise JsonBroken(broken.at, taken.result(cut=True)) from None

    def _pattern(self) -> Generator[None, None, tuple[bytes, int] | None]:
        """(how the second item is set apart from the first and begins, length of the part before its first byte)."""
        size = _SMALL
        while True:
            yield from self._have(size + 1)
            text = self._text(size)
            items, at, state, end = scan_items(text, False, 1)
            if items and state == "more":
                gap = text[end:at].encode()
                lead = _LEAD.match(self._buffer, self._pos + byte_length(text, at))
                return gap + (lead.group() if lead else b""), len(gap)
            if items or state != "more" or size >= len(self._buffer) - self._pos or size > 4 * BLOCK:
                return None
            size *= 4

    def _block(self, taken: Taken, pattern: tuple[bytes, int], room: int) -> bool:
        """Take all whole items of the next block at once; False where no end between items was found."""
        seam, gap = pattern
        limit = min(len(self._buffer), self._pos + room)
        cut = self._buffer.rfind(seam, self._pos, limit)
        if cut <= self._pos:
            return False
        with memoryview(self._buffer) as view:
            chunk = bytes(view[self._pos : cut])
        if not taken.block(chunk):
            return False
        self._pos = cut + gap
        taken.mark(self._base + self._pos)
        return True

    def _items(self, taken: Taken, most: int) -> Generator[None, None, bool]:
        """Take items one by one: one if `most` is 1, else about a block of them. True at the list's end."""
        size = _SMALL if most == 1 else most
        while True:
            yield from self._have(size + 1)
            text = self._text(size)
            last = self._eof and size >= len(self._buffer) - self._pos
            items, at, state, _ = scan_items(text, last, most)
            if items:
                taken.items(items)
            self._advance(text[:at])
            if state == "end":
                return True
            if state == "broken":
                raise JsonBroken(self._base + self._pos)
            if state == "cut":
                raise _Cut(NOTHING)
            if items:
                return False
            size *= 4


def read_stream(data: bytes) -> JsonReader:
    """The same for bytes at hand."""
    reader = JsonReader()
    view = memoryview(data)
    for at in range(0, len(data), 4 * BLOCK):
        reader.feed(bytes(view[at : at + 4 * BLOCK]))
    reader.finish()
    return reader
