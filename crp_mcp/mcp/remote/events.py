"""Bytes of an event stream -> events. Incremental, linear, without a limit: large data goes to the spool as it comes.

Data is JSON here, in which a line's end stands only between tokens; so each end inside an event becomes a space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from crp_mcp.mcp.framing import LineReader, Message

_END = re.compile(rb"[\r\n]")
_BOM = b"\xef\xbb\xbf"
LONGEST_FIELD = 64 * 1024
"""An id or a name longer than this is ignored."""
HEAD = 8 * 1024
"""So much of an event's data is kept as text: all there is of data that is no JSON, such as an address."""


class Event(NamedTuple):
    """One event. `id` is the stream's last, as what is reconnected with."""

    kind: str
    id: str | None
    head: bytes
    """The beginning of its data."""
    message: Message | None
    """None: the data was empty, or none was asked for."""


class EventReader:
    """Feed chunks as they come; events come out as their blank lines do."""

    def __init__(self, lines: Callable[[], LineReader]) -> None:
        self.last_id: str | None = None
        self.retry: float | None = None
        """Seconds the server wants us to wait before we reconnect."""
        self._lines = lines
        self._begun = False
        self._after_cr = False
        self._name: bytes | None = None
        """The current line's field; None while its name is being read."""
        self._kept = b""
        """The name so far, or the value so far of a short field."""
        self._space_due = False
        self._clear()

    def _clear(self) -> None:
        self._kind = ""
        self._data: LineReader | None = None
        self._head = b""
        self._message: Message | None = None

    def feed(self, chunk: bytes) -> Iterator[Event]:
        if not self._begun:
            chunk = self._without_bom(chunk)
        at, size = 0, len(chunk)
        while at < size:
            if self._after_cr and chunk[at] == 0x0A:
                at += 1
            self._after_cr = False
            found = _END.search(chunk, at)
            end = found.start() if found else size
            if end > at:
                self._take(chunk[at:end])
            if not found:
                return
            self._after_cr = chunk[end] == 0x0D
            at = end + 1
            event = self._line_ends()
            if event:
                yield event

    def finish(self) -> Event | None:
        """The stream ended. An event that lacks nothing but its blank line counts."""
        if self._name is not None or self._kept:
            self._line_ends()
        return self._event() if self._data else None

    def _without_bom(self, chunk: bytes) -> bytes:
        self._kept += chunk
        if len(self._kept) < len(_BOM) and _BOM.startswith(self._kept):
            return b""
        self._begun = True
        chunk, self._kept = self._kept.removeprefix(_BOM), b""
        return chunk

    def _take(self, part: bytes) -> None:
        """A part of a line, without its end."""
        if self._name is None:
            name, colon, part = (self._kept + part).partition(b":")
            if not colon:
                self._kept = name[: LONGEST_FIELD + 1]
                return
            self._field(name)
        if self._space_due and part:
            self._space_due = False
            part = part.removeprefix(b" ")
        if not part:
            return
        if self._data is not None and self._name == b"data":
            self._head += part[: HEAD - len(self._head)]
            for message in self._data.feed(part):
                self._message = message
        elif self._name in (b"event", b"id", b"retry") and len(self._kept) <= LONGEST_FIELD:
            self._kept += part

    def _field(self, name: bytes) -> None:
        self._name, self._kept, self._space_due = name, b"", True
        if name != b"data":
            return
        if self._data is None:
            self._data = self._lines()
        else:
            self._head += b"\n"
            for message in self._data.feed(b" "):
                self._message = message

    def _line_ends(self) -> Event | None:
        name, value = self._name, self._kept
        if name is None and not value:
            return self._event()
        if name is None:
            self._field(value)
            name, value = value, b""
        self._name, self._kept, self._space_due = None, b"", False
        if len(value) > LONGEST_FIELD:
            return None
        if name == b"event":
            self._kind = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self.last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            self.retry = int(value) / 1000
        return None

    def _event(self) -> Event | None:
        if self._data is None:
            self._clear()
            return None
        event = Event(self._kind or "message", self.last_id, self._head, self._data.finish())
        self._clear()
        return event
