"""The proxy's side of the worker: one child process, many requests in flight, restarted when it dies.

Knows frames and processes; what a request means is the caller's. A worker that fails never harms the proxy: every
failure is a `WorkerFailed` that the caller turns into a pass-through.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import orjson

from crp_mcp.errors import CaptureFailed

from .frames import BadFrame, FrameBuffer, encode_frame

Reply = tuple[dict[str, Any], bytes]

QUICK_DEATH = 2.0
"""A worker that lived for less than this many seconds died of itself, not of a request."""
MAX_QUICK_DEATHS = 3
COOL_DOWN = 5.0
EXIT_GRACE = 3.0
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
COPIED = 1 << 16
"""A body of fewer bytes goes out in one write with its header."""
DIED = "the capture worker died; it is started again with the next call"


class WorkerFailed(CaptureFailed):
    """The worker died, could not be started or did not answer in time; says which."""

    code = "WORKER"


class _Running(asyncio.SubprocessProtocol):
    """One worker process and the requests it has not answered yet. Frames are taken in as their bytes arrive."""

    def __init__(self, on_end: Callable[[_Running], None]) -> None:
        loop = asyncio.get_running_loop()
        self.born = loop.time()
        self.pending: dict[int, asyncio.Future[Reply]] = {}
        self.ending: asyncio.Task[None] | None = None
        self._on_end = on_end
        self._frames = FrameBuffer()
        self._exited = loop.create_future()
        self._room = asyncio.Event()
        self._room.set()

    @property
    def pid(self) -> int:
        return self._process.get_pid()

    async def send(self, head: bytes, body: bytes) -> None:
        """Send one frame, once the pipe has taken enough of those before it."""
        await self._room.wait()
        if len(body) < COPIED:
            self._pipe.write(head + body)
        else:
            self._pipe.write(head)
            self._pipe.write(body)

    def kill(self) -> None:
        # Not Process.kill: that polls first, and the child watcher then misses a child that had just ended.
        if not self._exited.done():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, KILL)

    async def end(self) -> None:
        """Close what still is open, and wait until the process is gone."""
        self._pipe.close()
        try:
            await asyncio.wait_for(asyncio.shield(self._exited), EXIT_GRACE)
        except TimeoutError:
            self.kill()
            await self._exited
        self._process.close()

    # -- what asyncio reports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._process = cast("asyncio.SubprocessTransport", transport)
        self._pipe = cast("asyncio.WriteTransport", self._process.get_pipe_transport(0))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        try:
            for header, blob in self._frames.feed(data):
                future = self.pending.get(header.get("id", 0))
                if future is not None and not future.done():
                    future.set_result((header, blob))
        except (BadFrame, orjson.JSONDecodeError):
            self.kill()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._room.set()
        if fd == 1:
            self._on_end(self)

    def process_exited(self) -> None:
        if not self._exited.done():
            self._exited.set_result(None)

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()


class WorkerClient:
    """Starts `argv` when it is first needed and talks frames to it. Use from one event loop."""

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        self._argv = list(argv)
        self._env = dict(env) if env is not None else None
        self._running: _Running | None = None
        self._last: _Running | None = None
        """The worker before, which may still be ending."""
        self._starting: asyncio.Task[_Running] | None = None
        self._ids = itertools.count(1)
        self._quick_deaths = 0
        self._blocked_until = 0.0
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Process id of the running worker."""
        return self._running.pid if self._running is not None else None

    def warm(self) -> None:
        """Start the worker in the background, so that the first result does not wait for it."""
        if self._running is None and not self._closed:
            self._start_task().add_done_callback(lambda done: done.cancelled() or done.exception())

    async def call(self, header: Mapping[str, Any], blob: bytes = b"", *, timeout: float) -> Reply:
        """Send one request and wait for its answer. Raises `WorkerFailed`, after which a new worker is started."""
        running = self._running
        if running is None:
            running = await asyncio.shield(self._start_task())
        if running.ending is not None:
            raise WorkerFailed(DIED)
        number = next(self._ids)
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        running.pending[number] = future
        try:
            async with asyncio.timeout(timeout):
                await running.send(*encode_frame({**header, "id": number}, blob))
                return await future
        except TimeoutError:
            running.kill()
            raise WorkerFailed(f"the capture worker did not answer within {timeout:g} s and was stopped") from None
        finally:
            running.pending.pop(number, None)

    async def close(self) -> None:
        """Let the worker finish what it has, then end it; never takes longer than `EXIT_GRACE` seconds."""
        self._closed = True
        if self._starting is not None:
            with contextlib.suppress(WorkerFailed, TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._starting), EXIT_GRACE)
        running = self._running or self._last
        if running is None:
            return
        await running.end()
        if running.ending is not None:
            await running.ending

    def _start_task(self) -> asyncio.Task[_Running]:
        if self._starting is None or self._starting.done():
            self._starting = asyncio.get_running_loop().create_task(self._start())
        return self._starting

    async def _start(self) -> _Running:
        loop = asyncio.get_running_loop()
        if self._running is not None:
            return self._running
        if self._closed:
            raise WorkerFailed("the relay is shutting down")
        if loop.time() < self._blocked_until:
            raise WorkerFailed("the capture worker keeps dying; the next try is in a few seconds")
        pipe = asyncio.subprocess.PIPE
        options: dict[str, Any] = {"stdin": pipe, "stdout": pipe, "stderr": None, "env": self._env}
        try:
            _, running = await loop.subprocess_exec(
                lambda: _Running(self._bury), *self._argv, start_new_session=True, **options
            )
        except OSError as error:
            raise WorkerFailed(f"the capture worker could not be started: {error.strerror}") from error
        if running.ending is None:
            self._running = running
        return running

    def _bury(self, running: _Running) -> None:
        if self._running is running:
            self._running, self._last = None, running
        now = asyncio.get_running_loop().time()
        self._quick_deaths = self._quick_deaths + 1 if now - running.born < QUICK_DEATH else 0
        if self._quick_deaths >= MAX_QUICK_DEATHS:
            self._quick_deaths, self._blocked_until = 0, now + COOL_DOWN
        for future in running.pending.values():
            if not future.done():
                future.set_exception(WorkerFailed(DIED))
        running.ending = asyncio.get_running_loop().create_task(running.end())
