"""Bytes of a stream -> messages. One message a line, any chunking, linear in its size; long lines go to the spool."""

from __future__ import annotations

from collections.abc import Iterator

from crp_mcp.core.wire.frame import Frame, Malformed, likely_ids, parse_line, spooled_frame
from crp_mcp.core.wire.scan import NotJson
from crp_mcp.log import log

from .spool import Spool, SpoolFile

IN_MEMORY = 1024 * 1024
"""Longest line, in bytes, that is held in memory."""
LONGEST = 4 * 1024**3
"""Bytes of a line after which the rest is thrown away and the message counts as unreadable."""

Message = Frame | Malformed | list[Frame | Malformed]


class LineReader:
    """Feed chunks as they come; messages come out as their lines end."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._parts: list[bytes] = []
        self._size = 0
        self._long: LongLine | None = None

    def feed(self, chunk: bytes) -> Iterator[Message]:
        start = 0
        while True:
            end = chunk.find(b"\n", start)
            if end < 0:
                self._add(chunk[start:] if start else chunk)
                return
            message = self._end(chunk[start:end])
            if message is not None:
                yield message
            start = end + 1

    def finish(self) -> Message | None:
        """The stream ended. What was left without a line's end is a message too, if it is whole."""
        return self._end(b"")

    def _add(self, part: bytes) -> None:
        if self._long:
            self._long.add(part)
            return
        if part:
            self._parts.append(part)
            self._size += len(part)
        if self._size > IN_MEMORY:
            self._long = LongLine(self._spool)
            for earlier in self._parts:
                self._long.add(earlier)
            self._parts.clear()

    def _end(self, part: bytes) -> Message | None:
        if self._parts or self._long or len(part) > IN_MEMORY:
            self._add(part)
            part = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if self._long:
            message = self._long.message()
            self._long = None
            return message
        part = part.rstrip(b"\r")
        return parse_line(part) if part.strip() else None


class LongLine:
    """A line on its way into the spool, read as it passes. Where nothing can be stored it stays in memory after all."""

    def __init__(self, spool: Spool) -> None:
        from crp_mcp.core.wire.stream import LineScan  # not on the way to the first answer

        self._scan = LineScan()
        self._fault = ""
        self._memory: list[bytes] = []
        self._file: SpoolFile | None = None
        self._size = 0
        try:
            self._file = spool.new()
        except OSError as error:
            log("warning", "spool_failed", reason=str(error))

    def add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > LONGEST:
            self._fault = self._fault or f"longer than {LONGEST} bytes"
            return
        # A broken line is kept too: its id may stand at its end.
        self._keep(part)
        if not self._fault:
            try:
                self._scan.feed(part)
            except NotJson as error:
                self._fault = str(error)

    def _keep(self, part: bytes) -> None:
        if self._file is None:
            self._memory.append(part)
            return
        try:
            self._file.write(part)
        except OSError as error:
            log("warning", "spool_failed", reason=str(error))
            self._memory = [self._file.read(0, self._file.size), part]
            self._file = None

    def message(self) -> Message | None:
        """What the line holds; None where it is blank."""
        if self._scan.blank and not self._fault:
            return None
        if self._file is None:
            return parse_line(b"".join(self._memory).rstrip(b"\r"))
        file = self._file
        if not self._fault:
            try:
                self._scan.finish()
                return spooled_frame(self._scan, file, file.size, file.read)
            except NotJson as error:
                self._fault = str(error)
        edges = file.read(0, 4096) + file.read(max(4096, file.size - 4096), file.size)
        return Malformed(-32700, f"not valid JSON: {self._fault}", likely_ids(edges), b'"method"' not in edges)


def load(frame: Frame, file: SpoolFile) -> Message:
    """A spooled message read into memory after all."""
    return parse_line(file.read(0, frame.size).rstrip(b"\r"))
