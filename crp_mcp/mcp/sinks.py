"""Writing messages to file descriptors without ever holding up the event loop; see `sources` for how they differ."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Protocol

from crp_mcp.core.wire.frame import Cut, Piece, size_of

from .sources import CHUNK, is_watchable
from .spool import SpoolFile


class Sink(Protocol):
    """Sends messages in order, as fast as the reader takes them."""

    closed: bool

    @property
    def queued(self) -> int:
        """Bytes that wait in memory."""

    def send(self, pieces: tuple[Piece, ...]) -> None:
        """Send one message; its line's end is added."""

    def close(self) -> None:
        """Close once everything is sent."""

    def abort(self) -> None:
        """Close now, whatever is left."""


def open_sink(fd: int, *, on_lost: Callable[[], None], on_queued: Callable[[], None]) -> Sink:
    """A sink on a descriptor, which is closed with it. `on_lost`: the reader is gone; `on_queued`: `queued` changed."""
    if is_watchable(fd):
        return WatchedSink(fd, on_lost, on_queued)
    return ThreadSink(fd, on_lost, on_queued)


class WatchedSink:
    def __init__(self, fd: int, on_lost: Callable[[], None], on_queued: Callable[[], None]) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._queue: deque[Piece] = deque()
        self._sent = 0
        """How much of the queue's first piece is gone already."""
        self._on_lost = on_lost
        self._on_queued = on_queued
        self._waiting = False
        self._closing = False
        self.closed = False
        self.queued = 0
        os.set_blocking(fd, False)

    def send(self, pieces: tuple[Piece, ...]) -> None:
        if self._closing:
            return
        line: tuple[Piece, ...] = (*pieces, b"\n")
        if not self._queue and all(isinstance(piece, bytes) for piece in line):
            data = b"".join(line)  # type: ignore[arg-type]
            sent = self._write(data)
            if sent == len(data) or self.closed:
                return
            self._sent, line = sent, (data,)
        self._queue.extend(line)
        self.queued += sum(len(piece) for piece in line if isinstance(piece, bytes))
        self._wait()
        self._on_queued()

    def close(self) -> None:
        self._closing = True
        if not self._queue:
            self._finish()

    def abort(self) -> None:
        self._queue.clear()
        self.queued = 0
        self.close()

    def _wait(self) -> None:
        if not self._waiting:
            self._waiting = True
            self._loop.add_writer(self._fd, self._writable)

    def _finish(self) -> None:
        if self._waiting:
            self._waiting = False
            self._loop.remove_writer(self._fd)
        if not self.closed:
            self.closed = self._closing = True
            os.close(self._fd)

    def _write(self, data: bytes | memoryview) -> int:
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            self._queue.clear()
            self.queued = 0
            self._finish()
            self._loop.call_soon(self._on_lost)
            return 0

    def _writable(self) -> None:
        """Send what the reader takes now, at most one chunk: others have their turn before the next."""
        piece = self._queue[0]
        data = _slice(piece, self._sent, CHUNK)
        self._sent += self._write(data)
        if self.closed:
            return
        if self._sent >= size_of(piece):
            self._queue.popleft()
            self._sent = 0
            self.queued -= len(piece) if isinstance(piece, bytes) else 0
        if not self._queue:
            self._waiting = False
            self._loop.remove_writer(self._fd)
            if self._closing:
                self._finish()
        self._on_queued()


class ThreadSink:
    def __init__(self, fd: int, on_lost: Callable[[], None], on_queued: Callable[[], None]) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[tuple[Piece, ...] | None] = SimpleQueue()
        self._on_lost = on_lost
        self._on_queued = on_queued
        self.closed = False
        self.queued = 0
        threading.Thread(target=self._run, name="crp-mcp-write", daemon=True).start()

    def send(self, pieces: tuple[Piece, ...]) -> None:
        if self.closed:
            return
        self.queued += _in_memory(pieces)
        self._queue.put((*pieces, b"\n"))
        self._on_queued()

    def close(self) -> None:
        self._queue.put(None)

    def abort(self) -> None:
        self.closed = True
        self._queue.put(None)

    def _run(self) -> None:
        """In its thread: write what comes until told to end."""
        while (pieces := self._queue.get()) is not None and not self.closed:
            try:
                for piece in pieces:
                    _write_all(self._fd, piece)
            except OSError:
                self._report(self._end, self._on_lost)
                return
            self._report(self._took, _in_memory(pieces) - 1)
        os.close(self._fd)
        self._report(self._end, None)

    def _report(self, call: Callable[[Any], None], argument: object) -> None:
        # A RuntimeError here means that the loop has ended and nobody is left to be told.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, argument)

    def _took(self, size: int) -> None:
        self.queued -= size
        self._on_queued()

    def _end(self, then: Callable[[], None] | None) -> None:
        self.closed = True
        self.queued = 0
        if then:
            then()


def _in_memory(pieces: tuple[Piece, ...]) -> int:
    return sum(len(piece) for piece in pieces if isinstance(piece, bytes))


def _slice(piece: Piece, at: int, size: int) -> bytes | memoryview:
    if isinstance(piece, Cut):
        assert isinstance(piece.source, SpoolFile)
        start = piece.start + at
        return piece.source.read(start, min(start + size, piece.end))
    return memoryview(piece)[at : at + size]


def _write_all(fd: int, piece: Piece) -> None:
    at = 0
    while at < size_of(piece):
        at += os.write(fd, _slice(piece, at, CHUNK))
