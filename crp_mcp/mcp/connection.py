"""One running server: its pipes, how its end is noticed, and how it is ended. Knows no protocol."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable

from crp_mcp.core.wire.frame import Malformed, Piece

from .framing import LineReader, Message
from .reaper import Reaper
from .sinks import Sink, open_sink
from .sources import Source, open_source

FLUSH_SECONDS = 0.5
EXIT_SECONDS = 2.0
"""How long a server may take to end once its stdin has, before it is asked by signal."""
TERM_SECONDS = 1.2
LINGER_SECONDS = 0.2
CODE_SECONDS = 0.3
"""How long after its output a process's exit code is waited for."""


class Connection:
    """Created for a process that was just started.

    `on_closed(reason)` comes once, unless `stop` was called first; `stop` is called in any case.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reaper: Reaper,
        lines: LineReader,
        *,
        on_message: Callable[[Message], None],
        on_closed: Callable[[str], None],
        on_queued: Callable[[], None],
    ) -> None:
        self._process = process
        self._reaper = reaper
        self._lines = lines
        self._on_message = on_message
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self._exited = self._loop.create_future()
        self._open = True
        self._ended = asyncio.Event()
        self.sink: Sink = open_sink(_own(process.stdin), on_lost=self._deaf, on_queued=on_queued)
        self.source: Source = open_source(_own(process.stdout), self._arrived)
        self._watch_exit()

    @property
    def queued(self) -> int:
        """Bytes that wait for the server in memory."""
        return self.sink.queued

    def send(self, pieces: tuple[Piece, ...]) -> None:
        self.sink.send(pieces)

    def pause(self) -> None:
        """Leave what it writes in its pipe."""
        self.source.pause()

    def resume(self) -> None:
        self.source.resume()

    def _arrived(self, chunk: bytes) -> None:
        if chunk:
            for message in self._lines.feed(chunk):
                self._on_message(message)
            return
        self._take_rest()
        self._ended.set()
        if self._open and not self._exited.done():
            self._loop.call_later(CODE_SECONDS, self._close)
        elif self._open:
            self._close()

    def _take_rest(self) -> None:
        """A last message may lack the end of its line. Half of one says less than the end of its server does."""
        last = self._lines.finish()
        if last is not None and not isinstance(last, Malformed):
            self._on_message(last)

    # -- how it ends ---------------------------------------------------------------------------------------------

    def _watch_exit(self) -> None:
        if hasattr(os, "pidfd_open"):
            try:
                self._pidfd = os.pidfd_open(self._process.pid)
            except OSError:
                self._poll_exit()
                return
            self._loop.add_reader(self._pidfd, self._exit_seen)
        else:
            self._poll_exit()

    def _exit_seen(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._process.wait()
        self._exit_known()

    def _poll_exit(self) -> None:
        if self._process.poll() is None:
            self._loop.call_later(0.05, self._poll_exit)
        else:
            self._exit_known()

    def _exit_known(self) -> None:
        if not self._exited.done():
            self._exited.set_result(None)
        if self._open:
            # What it wrote last is still in the pipe, and a child of its own may keep that open.
            self.source.drain()
            self._take_rest()
            self._close()

    def _close(self) -> None:
        if not self._open:
            return
        self._open = False
        self._on_closed(self._reason())

    def _deaf(self) -> None:
        """It reads no more: mostly because it is about to end, and then its exit code says more."""
        if self._open:
            self._loop.call_later(CODE_SECONDS, self._close)

    def _reason(self) -> str:
        code = self._process.returncode
        if code is None:
            return "closed its output" if self._ended.is_set() else "closed its input"
        if code < 0:
            try:
                return f"was ended by {signal.Signals(-code).name}"
            except ValueError:
                return f"was ended by signal {-code}"
        return f"exited with code {code}"

    async def stop(self) -> None:
        """End it: close its stdin, wait, ask its group by signal, then kill it. About four seconds at most."""
        patience = EXIT_SECONDS if self._open else 0.0
        self._open = False
        self.sink.close()
        from .reap import family, send, wait

        groups = await asyncio.to_thread(family, {self._process.pid}) if os.name == "posix" else set()
        if not self.sink.closed:
            await until(lambda: self.sink.closed, FLUSH_SECONDS)
            self.sink.abort()
        await _within(asyncio.shield(self._exited), patience)
        await _within(self._ended.wait(), LINGER_SECONDS if self._exited.done() else 0)
        if os.name != "posix":
            self._process.terminate()
        left = wait(groups, 0)
        for number, seconds in ((signal.SIGTERM, TERM_SECONDS), (getattr(signal, "SIGKILL", 0), 0.5)):
            if left:
                send(left, number)
                await until(lambda: not wait(groups, 0), seconds)
                left = wait(groups, 0)
        await _within(asyncio.shield(self._exited), 0.5)
        self.source.close()
        self._reaper.forget(self._process.pid)


def _own(file: object) -> int:
    """A descriptor of ours for the file of a Popen, which closes its own."""
    fd = os.dup(file.fileno())  # type: ignore[attr-defined]
    file.close()  # type: ignore[attr-defined]
    return fd


async def _within(waiting: object, seconds: float) -> None:
    try:
        await asyncio.wait_for(waiting, seconds)  # type: ignore[arg-type]
    except TimeoutError:
        return


async def until(done: Callable[[], bool], seconds: float) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    # Polled: what is waited for is the state of other processes.
    while not done() and loop.time() < end:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
