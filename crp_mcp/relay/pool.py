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
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from crp_mcp.errors import CaptureFailed

from .frames import PREFIX, BadFrame, encode_frame, frame_lengths

Reply = tuple[dict[str, Any], bytes]

QUICK_DEATH = 2.0
"""A worker that lived for less than this many seconds died of itself, not of a request."""
MAX_QUICK_DEATHS = 3
COOL_DOWN = 5.0
EXIT_GRACE = 3.0
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
DIED = "the capture worker died; it is started again with the next call"


class WorkerFailed(CaptureFailed):
    """The worker died, could not be started or did not answer in time; says which."""

    code = "WORKER"


class _Running:
    """One worker process and the requests it has not answered yet."""

    def __init__(self, process: asyncio.subprocess.Process, born: float) -> None:
        self.process = process
        self.born = born
        self.pending: dict[int, asyncio.Future[Reply]] = {}
        self.reader: asyncio.Task[None] | None = None

    def kill(self) -> None:
        # Not Process.kill: that polls first, and the child watcher then misses a child that had just ended.
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, KILL)

    async def end(self) -> None:
        """Close what still is open, and wait until the process is gone."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), EXIT_GRACE)
        except TimeoutError:
            self.kill()
            await self.process.wait()


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
        self._write_lock = asyncio.Lock()
        self._quick_deaths = 0
        self._blocked_until = 0.0
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Process id of the running worker."""
        return self._running.process.pid if self._running is not None else None

    def warm(self) -> None:
        """Start the worker in the background, so that the first result does not wait for it."""
        if self._running is None and not self._closed:
            self._start_task().add_done_callback(lambda done: done.cancelled() or done.exception())

    async def call(self, header: Mapping[str, Any], blob: bytes = b"", *, timeout: float) -> Reply:
        """Send one request and wait for its answer. Raises `WorkerFailed`, after which a new worker is started."""
        running = self._running
        if running is None:
            running = await asyncio.shield(self._start_task())
        number = next(self._ids)
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        running.pending[number] = future
        try:
            async with asyncio.timeout(timeout):
                await self._send(running, {**header, "id": number}, blob)
                return await future
        except TimeoutError:
            running.kill()
            raise WorkerFailed(f"the capture worker did not answer within {timeout:g} s and was stopped") from None
        except ConnectionError as gone:
            raise WorkerFailed(DIED) from gone
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
        if running.reader is not None:
            await running.reader

    async def _send(self, running: _Running, header: Mapping[str, Any], blob: bytes) -> None:
        pipe = running.process.stdin
        assert pipe is not None
        head, body = encode_frame(header, blob)
        async with self._write_lock:
            pipe.write(head)
            if body:
                pipe.write(body)
            await pipe.drain()

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
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=self._env,
                limit=1 << 20,
                start_new_session=True,
            )
        except OSError as error:
            raise WorkerFailed(f"the capture worker could not be started: {error.strerror}") from error
        running = self._running = _Running(process, loop.time())
        running.reader = loop.create_task(self._read(running))
        return running

    async def _read(self, running: _Running) -> None:
        stream = running.process.stdout
        assert stream is not None
        try:
            while True:
                header_size, blob_size = frame_lengths(await stream.readexactly(PREFIX))
                header = orjson.loads(await stream.readexactly(header_size))
                blob = await stream.readexactly(blob_size) if blob_size else b""
                future = running.pending.get(header.get("id", 0))
                if future is not None and not future.done():
                    future.set_result((header, blob))
        except (BadFrame, orjson.JSONDecodeError):
            running.kill()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # it ended, or is about to
        finally:
            self._bury(running)
            await running.end()

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
