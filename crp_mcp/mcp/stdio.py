"""The stdio front: one host on our stdin and stdout, its servers as child processes, the core between them.

Everything that decides is in `core.wire`, and `hub` carries it out; here is how the host is read and written.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from crp_mcp.core.wire.commands import Open

from .connection import FLUSH_SECONDS, until
from .front import ENDING_SIGNALS, Front
from .hub import Hub
from .sinks import open_sink
from .sources import Source, open_source
from .start import Started, start_servers

if TYPE_CHECKING:
    from pathlib import Path

    from crp_mcp.relay.ports import RelayPort

    from .spec import ServerSpec

__all__ = ["Front", "Started", "run_front", "run_stdio", "start_servers"]

HOST_QUEUE = 8 * 1024 * 1024
"""Bytes that may wait for the host in memory before the servers' output is left in their pipes."""
PRELOAD_SECONDS = 0.3


async def run_stdio(
    specs: Sequence[ServerSpec],
    relay: RelayPort,
    *,
    in_place: bool,
    spool_dir: Path,
    started: Started | None = None,
) -> int:
    """Serve the host on stdin and stdout until it leaves or a signal comes. The exit code for the process.

    `in_place`: there is exactly one server, and everything of it passes as if we were not there.
    """
    return await run_front(Front(specs, relay, in_place=in_place, spool_dir=spool_dir, started=started))


async def run_front(front: Front) -> int:
    """The same for a front that was opened before the event loop was there."""
    return await Driver(front).run()


class Driver:
    """The host's side of a hub, until the host leaves."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[int] = self._loop.create_future()
        self._hub = Hub(
            front.proxy,
            front.specs,
            front.relay,
            front.spool,
            front.started.reaper,
            lambda pieces: self._host.send(pieces),
            self._balance,
        )

    async def run(self) -> int:
        front, hub = self._front, self._hub
        self._host = open_sink(front.host_out, on_lost=lambda: self._finish(0), on_queued=self._balance)
        for number in ENDING_SIGNALS:
            self._heed(number)
        if front.signal is not None:
            self._finish(128 + front.signal)
        # Nothing arrives before this method waits for something.
        self._host_source: Source = open_source(front.host_in, self._host_sent)
        for name in front.specs:
            known = name in front.opened
            if not known:
                hub.run(front.proxy.open(name, self._loop.time()), quiet=(Open,))
            hub.adopt(name, front.started.processes.get(name), front.server_lines[name], known=known)
        hub.run(front.left)
        if front.host_ended:
            self._host_sent(b"")
        # The fast reader of long messages takes a while to load: not when the first of them comes.
        preload = self._loop.call_later(
            PRELOAD_SECONDS, lambda: self._loop.run_in_executor(None, import_module, "msgspec")
        )
        code = await self._over
        preload.cancel()
        await self._shut_down()
        return code

    def _host_sent(self, chunk: bytes) -> None:
        messages = list(self._front.host_lines.feed(chunk)) if chunk else [self._front.host_lines.finish()]
        for message in messages:
            if message is not None:
                self._hub.from_host(message)
        if not chunk:
            self._finish(0)

    def _heed(self, number: int) -> None:
        try:
            self._loop.add_signal_handler(number, self._finish, 128 + number)
        except NotImplementedError:
            # Windows.
            signal.signal(number, lambda *_: self._loop.call_soon_threadsafe(self._finish, 128 + number))

    def _finish(self, code: int) -> None:
        if not self._over.done():
            self._over.set_result(code)

    def _balance(self) -> None:
        """Leave in their pipes what the other side does not take."""
        self._hub.pause() if self._host.queued > HOST_QUEUE else self._hub.resume()
        self._host_source.pause() if self._hub.congested else self._host_source.resume()

    async def _shut_down(self) -> None:
        """End the servers, let what is under way reach the host, and leave nothing behind."""
        self._host_source.close()
        await self._hub.stop()
        self._host.close()
        await until(lambda: self._host.closed, FLUSH_SECONDS)
        self._host.abort()
        self._front.spool.close()
        self._front.started.reaper.close()
