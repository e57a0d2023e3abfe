"""The stdio front: one host on our stdin and stdout, its servers as child processes, the core between them.

Everything that decides is in `core.wire`; here its commands are carried out and its events come from.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from crp_mcp.core.wire.commands import (
    Answered,
    CallOwn,
    CancelOwn,
    Capture,
    Close,
    Command,
    Consult,
    Lend,
    Load,
    Log,
    Open,
    ToHost,
    ToServer,
)
from crp_mcp.core.wire.frame import Cut, Frame, Malformed
from crp_mcp.errors import UpstreamError
from crp_mcp.log import log

from .connection import FLUSH_SECONDS, Connection, until
from .framing import LineReader, Message, load
from .front import ENDING_SIGNALS, Front
from .own_calls import OwnCalls
from .relay_side import RelaySide
from .sinks import open_sink
from .sources import Source, open_source
from .spawn import start_process
from .spool import SpoolFile
from .start import Started, start_servers

if TYPE_CHECKING:
    from pathlib import Path

    from crp_mcp.relay.ports import RelayPort

    from .spec import UpstreamSpec

__all__ = ["Front", "Started", "run_front", "run_stdio", "start_servers"]

HOST_QUEUE = 8 * 1024 * 1024
"""Bytes that may wait for the host in memory before the servers' output is left in their pipes."""
SERVER_QUEUE = 32 * 1024 * 1024
"""Bytes that may wait for one server in memory before the host's messages are left in its pipe."""
TICK_SECONDS = 0.25
PRELOAD_SECONDS = 0.3
SETTLE_SECONDS = 2.0
"""How long captures under way may take once the host has gone."""


async def run_stdio(
    specs: Sequence[UpstreamSpec],
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
    """Carries out the core's commands on one event loop."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._relay = front.relay
        self._spool = front.spool
        self._reaper = front.started.reaper
        self._proxy = front.proxy
        self._side = RelaySide(front.relay, self._settled, self._refused)
        self._connections: dict[str, Connection] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._endings: set[asyncio.Task[None]] = set()
        """Connections being ended: these are always waited for, so that no process is left."""
        self._own_tasks: dict[int, asyncio.Task[None]] = {}
        self._ticking = False
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[int] = self._loop.create_future()
        self._calls = OwnCalls(self._proxy, self._run)
        front.relay.connect(self._calls)
        self._do: dict[type, Any] = {
            ToHost: lambda command: self._host.send(command.pieces),
            ToServer: self._to_server,
            Open: self._open,
            Close: self._close,
            Load: self._load,
            Capture: lambda command: self._spawn(self._side.capture(command)),
            Lend: lambda command: self._spawn(self._lend(command)),
            Consult: lambda command: self._spawn(self._consult(command)),
            Answered: lambda command: self._calls.answered(command),
            CallOwn: self._call_own,
            CancelOwn: self._cancel_own,
            Log: lambda command: log(command.level, command.event, **command.fields),
        }

    async def run(self) -> int:
        front = self._front
        self._host = open_sink(front.host_out, on_lost=lambda: self._finish(0), on_queued=self._balance)
        for number in ENDING_SIGNALS:
            self._heed(number)
        if front.signal is not None:
            self._finish(128 + front.signal)
        # Nothing arrives before this method waits for something.
        self._host_source: Source = open_source(front.host_in, self._host_sent)
        for name, process in front.started.processes.items():
            if name not in front.opened:
                self._run(self._proxy.open(name, self._loop.time()), quiet=(Open,))
            self._adopt(name, process, front.server_lines[name])
        self._run(front.left)
        if front.host_ended:
            self._host_sent(b"")
        # The fast reader of long messages takes a while to load: not when the first of them comes.
        self._loop.call_later(PRELOAD_SECONDS, lambda: self._spawn(asyncio.to_thread(import_module, "msgspec")))
        code = await self._over
        await self._shut_down()
        return code

    # -- events --------------------------------------------------------------------------------------------------

    def _host_sent(self, chunk: bytes) -> None:
        messages = list(self._front.host_lines.feed(chunk)) if chunk else [self._front.host_lines.finish()]
        for message in messages:
            if message is not None:
                self._run(self._proxy.from_host(message, self._loop.time()))
            if isinstance(message, Frame) and message.method == "tools/call":
                self._relay.warm()
        if not chunk:
            self._finish(0)

    def _server_sent(self, name: str, message: Message) -> None:
        self._run(self._proxy.from_server(name, message, self._loop.time()))

    def _server_closed(self, name: str, connection: Connection, reason: str) -> None:
        self._end(connection)
        if self._connections.get(name) is connection:
            del self._connections[name]
            self._run(self._proxy.server_closed(name, reason, self._loop.time()))

    def _heed(self, number: int) -> None:
        try:
            self._loop.add_signal_handler(number, self._finish, 128 + number)
        except NotImplementedError:
            # Windows.
            signal.signal(number, lambda *_: self._loop.call_soon_threadsafe(self._finish, 128 + number))

    def _settled(self, key: int, result: bytes | None) -> None:
        self._run(self._proxy.settled(key, result, self._loop.time()))

    def _refused(self, key: int, code: int, text: str) -> None:
        self._run(self._proxy.refused(key, code, text, self._loop.time()))

    def _finish(self, code: int) -> None:
        if not self._over.done():
            self._over.set_result(code)

    def _tick(self) -> None:
        self._ticking = False
        self._run(self._proxy.tick(self._loop.time()))
        self._keep_ticking()

    def _keep_ticking(self) -> None:
        if not self._ticking and self._proxy.next_deadline() is not None:
            self._ticking = True
            self._loop.call_later(TICK_SECONDS, self._tick)

    def _balance(self) -> None:
        """Leave in their pipes what the other side does not take."""
        full = self._host.queued > HOST_QUEUE
        for connection in self._connections.values():
            connection.source.pause() if full else connection.source.resume()
        if any(connection.sink.queued > SERVER_QUEUE for connection in self._connections.values()):
            self._host_source.pause()
        else:
            self._host_source.resume()

    # -- commands ------------------------------------------------------------------------------------------------

    def _run(self, commands: Sequence[Command], quiet: tuple[type, ...] = ()) -> None:
        for command in commands:
            if not isinstance(command, quiet):
                self._do[type(command)](command)
        if not self._ticking:
            self._keep_ticking()

    def _to_server(self, command: ToServer) -> None:
        connection = self._connections.get(command.server)
        if connection is not None:
            connection.send(command.pieces)

    def _open(self, command: Open) -> None:
        self._loop.call_later(command.delay, self._start, command.server)

    def _start(self, name: str) -> None:
        if self._over.done():
            return
        spec = self._front.specs[name]
        try:
            process = start_process(spec.argv, spec.env, spec.cwd)
        except UpstreamError as error:
            self._adopt(name, error)
            return
        self._reaper.watch(process.pid)
        self._adopt(name, process)

    def _adopt(
        self, name: str, process: subprocess.Popen[bytes] | UpstreamError, lines: LineReader | None = None
    ) -> None:
        if isinstance(process, UpstreamError):
            self._run(self._proxy.server_closed(name, str(process), self._loop.time()))
            return
        connection = Connection(
            process,
            self._reaper,
            lines or LineReader(self._spool),
            on_message=lambda message: self._server_sent(name, message),
            on_closed=lambda reason: self._server_closed(name, connection, reason),
            on_queued=self._balance,
        )
        self._connections[name] = connection
        if name in self._front.opened:
            self._front.opened.remove(name)
        else:
            self._run(self._proxy.server_opened(name, self._loop.time()))

    def _close(self, command: Close) -> None:
        connection = self._connections.pop(command.server, None)
        if connection is not None:
            self._end(connection)

    def _end(self, connection: Connection) -> None:
        task = self._loop.create_task(connection.stop())
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _load(self, command: Load) -> None:
        self._spawn(self._read_whole(command))

    async def _consult(self, command: Consult) -> None:
        result = await self._side.consult(command)
        self._run(self._proxy.consulted(command.key, result, self._loop.time()))

    async def _lend(self, command: Lend) -> None:
        arguments, question, refusal = await self._side.lend(command)
        if refusal is not None:
            self._run(self._proxy.not_lent(command.key, refusal, self._loop.time()))
        else:
            self._run(self._proxy.lent(command.key, arguments, question, self._loop.time()))

    def _call_own(self, command: CallOwn) -> None:
        task = self._spawn(self._side.serve(command))
        self._own_tasks[command.key] = task
        task.add_done_callback(lambda _: self._own_tasks.pop(command.key, None))

    def _cancel_own(self, command: CancelOwn) -> None:
        task = self._own_tasks.get(command.key)
        if task is not None:
            task.cancel()

    async def _read_whole(self, command: Load) -> None:
        span = command.frame.piece((0, command.frame.size))
        assert isinstance(span, Cut)
        assert isinstance(span.source, SpoolFile)
        try:
            message = await asyncio.to_thread(load, command.frame, span.source)
        except OSError as error:
            message = Malformed(-32603, str(error), (command.frame.id or b"null",), True)
        self._server_sent(command.server, message)

    # -- the end -------------------------------------------------------------------------------------------------

    async def _shut_down(self) -> None:
        """End the servers, let what is under way reach the host, and leave nothing behind."""
        self._host_source.close()
        for connection in self._connections.values():
            self._end(connection)
        while self._endings:
            await asyncio.wait(self._endings)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=SETTLE_SECONDS)
        self._host.close()
        await until(lambda: self._host.closed, FLUSH_SECONDS)
        self._host.abort()
        for task in self._tasks:
            task.cancel()
        self._spool.close()
        self._reaper.close()
