"""Reading file descriptors without ever holding up the event loop; `sinks` writes them.

Pipes and sockets are watched by the loop itself; files, terminals and odd devices, which it cannot watch, get a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import threading
from collections.abc import Callable
from typing import Protocol

CHUNK = 64 * 1024
"""Small enough that the messages of one chunk do not keep the loop from others for long."""


class Source(Protocol):
    """Hands chunks to a callback, b"" once at the end."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def drain(self) -> None: ...
    def close(self) -> None: ...


def is_watchable(fd: int) -> bool:
    """Whether the loop can wait for this descriptor, and nobody else minds that it does not block any more."""
    if os.name == "nt" or os.isatty(fd):
        return False
    about = os.fstat(fd)
    with contextlib.suppress(OSError):
        if os.path.samestat(about, os.fstat(2)):
            # Standard error goes the same way, and what writes there, our servers too, counts on it to block.
            return False
    return stat.S_ISFIFO(about.st_mode) or stat.S_ISSOCK(about.st_mode)


def open_source(fd: int, deliver: Callable[[bytes], None]) -> Source:
    """Start reading a descriptor. It is closed with the source."""
    if is_watchable(fd):
        return WatchedSource(fd, deliver)
    return ThreadSource(fd, deliver)


class WatchedSource:
    def __init__(self, fd: int, deliver: Callable[[bytes], None]) -> None:
        self._fd = fd
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._reading = False
        self._open = True
        self._at_end = False
        os.set_blocking(fd, False)
        self.resume()

    def _readable(self) -> None:
        try:
            chunk = os.read(self._fd, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            # The other side is gone in a rude way: to us that is its end.
            chunk = b""
        if not chunk:
            self.pause()
            self._at_end = True
        self._deliver(chunk)

    def drain(self) -> None:
        """Deliver what is there now; for a writer that has ended while others keep the pipe open."""
        while self._open:
            try:
                chunk = os.read(self._fd, CHUNK)
            except OSError:
                return
            if not chunk:
                return
            self._deliver(chunk)

    def pause(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._fd)

    def resume(self) -> None:
        if self._open and not self._reading and not self._at_end:
            self._reading = True
            self._loop.add_reader(self._fd, self._readable)

    def close(self) -> None:
        if self._open:
            self.pause()
            self._open = False
            os.close(self._fd)


class ThreadSource:
    def __init__(self, fd: int, deliver: Callable[[bytes], None]) -> None:
        self._fd = fd
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._open = True
        self._go = threading.Event()
        self._go.set()
        # A few chunks ahead at most: the next is read when an earlier one was taken.
        self._taken = threading.Semaphore(4)
        threading.Thread(target=self._read, name="crp-mcp-read", daemon=True).start()

    def _read(self) -> None:
        chunk = b"?"
        while chunk:
            self._go.wait()
            self._taken.acquire()
            try:
                chunk = os.read(self._fd, CHUNK)
            except OSError:
                chunk = b""
            try:
                self._loop.call_soon_threadsafe(self._take, chunk)
            except RuntimeError:
                # The loop has ended before the stream did.
                return

    def _take(self, chunk: bytes) -> None:
        self._taken.release()
        if self._open:
            self._deliver(chunk)

    def drain(self) -> None:
        """Nothing is held back here."""

    def pause(self) -> None:
        self._go.clear()

    def resume(self) -> None:
        self._go.set()

    def close(self) -> None:
        # Closing a descriptor that a thread reads is undefined; the thread ends with the process.
        self._open = False
        self._go.clear()
