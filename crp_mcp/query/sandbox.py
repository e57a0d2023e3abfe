"""The parent's side of the query processes: a few of them, one request each at a time, killed when they are late."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from crp_mcp.errors import CrpError

from .child import PREFIX

GRACE = 0.7
"""Seconds beyond its limit that a request gets to end by itself."""
START_SECONDS = 20.0
_KEPT_ENV = ("PATH", "PYTHONPATH", "PYTHONHOME", "SYSTEMROOT", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV")


class Stopped(CrpError):
    """A query process was killed, or died; says which. Nothing is lost by it."""

    code = "STOPPED"


class _Child:
    def __init__(self) -> None:
        env = {name: os.environ[name] for name in _KEPT_ENV if name in os.environ}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "crp_mcp.query.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            start_new_session=True,
        )
        self.fresh = True

    def ask(self, request: Mapping[str, Any], feed: Iterable[bytes] | None, seconds: float) -> dict[str, Any]:
        """Send, wait, read. Raises Stopped after killing the process."""
        late = threading.Event()

        def expire() -> None:
            late.set()
            self.kill()

        body = None
        try:
            if self.fresh:
                self._hello(expire)
            if feed is None and hasattr(select, "poll"):
                body = self._ask_polling(request, seconds + GRACE, expire)
            else:
                body = self._ask_timed(request, feed or (), seconds + GRACE, expire)
        except ConnectionError:
            pass  # it died, or was killed: there is no body
        if body is None:
            self.kill()
            raise Stopped("late" if late.is_set() else "died")
        reply: dict[str, Any] = json.loads(body)
        return reply

    def _ask_polling(self, request: Mapping[str, Any], seconds: float, expire: Callable[[], None]) -> bytes | None:
        """Send and wait without a thread that watches: a small request never blocks, and the answer can be polled."""
        assert self.process.stdout is not None
        self._send(json.dumps(request).encode())
        poll = select.poll()
        poll.register(self.process.stdout.fileno(), select.POLLIN)
        if not poll.poll(seconds * 1000):
            expire()
            return None
        return self._receive()

    def _ask_timed(
        self, request: Mapping[str, Any], feed: Iterable[bytes], seconds: float, expire: Callable[[], None]
    ) -> bytes | None:
        """Send a request and a text of any length; writing may block, so a timer watches."""
        timer = _timer(seconds, expire)
        try:
            self._send(json.dumps(request).encode())
            for piece in feed:
                if piece:
                    self._send(piece)
            if request.get("op") == "grep":
                self._send(b"")
            return self._receive()
        finally:
            timer.cancel()

    def _hello(self, expire: Callable[[], None]) -> None:
        """Wait for a new process to be there, outside of the request's time."""
        timer = _timer(START_SECONDS, expire)
        try:
            self._send(b'{"op":"hello","seconds":60}')
            if self._receive() is None:
                raise BrokenPipeError
        finally:
            timer.cancel()
        self.fresh = False

    def _send(self, body: bytes) -> None:
        pipe = self.process.stdin
        assert pipe is not None
        pipe.write(PREFIX.pack(len(body)) + body)
        pipe.flush()

    def _receive(self) -> bytes | None:
        pipe = self.process.stdout
        assert pipe is not None
        head = pipe.read(PREFIX.size)
        if len(head) < PREFIX.size:
            return None
        (size,) = PREFIX.unpack(head)
        body = pipe.read(size)
        return body if len(body) == size else None

    def kill(self) -> None:
        """End it now."""
        self.process.kill()

    def bury(self) -> None:
        """End it and give its pipes back."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue
        self.process.wait()


def _timer(seconds: float, call: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()
    return timer


class Sandbox:
    """Up to `most` query processes, started when needed. Safe from several threads; others wait."""

    def __init__(self, most: int = 2) -> None:
        self._idle: list[_Child] = []
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(most)
        self._closed = False

    def ask(self, request: Mapping[str, Any], *, seconds: float, feed: Iterable[bytes] | None = None) -> dict[str, Any]:
        """The reply to one request.

        Raises:
            Stopped: it took longer than `seconds` and was killed (`late`), or the process died (`died`).
        """
        with self._turns:
            child = self._take()
            try:
                reply = child.ask({**request, "seconds": seconds}, feed, seconds)
            except BaseException:
                child.bury()
                raise
            self._give(child)
            return reply

    def _take(self) -> _Child:
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.process.poll() is None:
                    return child
                child.bury()
        return _Child()

    def _give(self, child: _Child) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(child)
                return
        child.bury()

    def close(self) -> None:
        """End every process that is idle; those at work end with their request."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for child in idle:
            child.bury()
