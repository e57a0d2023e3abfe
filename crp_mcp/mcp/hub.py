"""One host's core and servers on an event loop: the core's commands are carried out, and its events come from here.

Knows nothing of how the host is reached: `to_host` takes what is for it, `from_host` what comes from it.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crp_mcp.core.wire.calls import unforged
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
from crp_mcp.core.wire.frame import Cut, Frame, Malformed, Piece
from crp_mcp.errors import UpstreamError
from crp_mcp.log import log

from .backlog import Backlog
from .framing import LineReader, Message, load
from .own_calls import OwnCalls
from .relay_side import RelaySide
from .spool import SpoolFile
from .upstream import Events, Means, open_upstream

if TYPE_CHECKING:
    from crp_mcp.core.wire.proxy import Proxy
    from crp_mcp.relay.ports import RelayPort

    from .reaper import Reaper
    from .shared import SharedServers
    from .spec import ServerSpec
    from .spool import Spool
    from .upstream import Upstream

SERVER_QUEUE = 32 * 1024 * 1024
"""Bytes that may wait for one server in memory; more waits on disk."""
MOST_QUEUED = 2 * SERVER_QUEUE
"""The same, before the host's messages are to be left where they are."""
TICK_SECONDS = 0.25
SETTLE_SECONDS = 2.0
"""How long captures under way may take once the servers have been ended."""


class Hub:
    """See the module's first lines. `on_queued`: how much waits for a server has changed; see `congested`."""

    def __init__(
        self,
        proxy: Proxy,
        specs: Mapping[str, ServerSpec],
        relay: RelayPort,
        spool: Spool,
        reaper: Reaper,
        to_host: Callable[[tuple[Piece, ...]], None],
        on_queued: Callable[[], None] = lambda: None,
        shared: SharedServers | None = None,
    ) -> None:
        self.proxy = proxy
        self.inbound: Mapping[str, str] = {}
        """Headers of the request that came last from a host that is reached over HTTP."""
        self._specs = specs
        self._relay = relay
        self._means = Means(reaper, spool, lambda: self.inbound, shared)
        self._on_queued = on_queued
        self._backlogs = {name: Backlog(spool) for name in specs}
        self._side = RelaySide(relay, self._settled, self._refused)
        self._connections: dict[str, Upstream] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._endings: set[asyncio.Future[None]] = set()
        """Connections being ended: these are always waited for, so that no process is left."""
        self._own_tasks: dict[int, asyncio.Task[None]] = {}
        self._ticking = False
        self._paused = False
        self._over = False
        self._loop = asyncio.get_running_loop()
        self._calls = OwnCalls(proxy, self.run)
        relay.connect(self._calls)
        self._do: dict[type, Any] = {
            ToHost: lambda command: to_host(command.pieces),
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

    # -- the host ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start all servers, before anything is asked of them."""
        for name in self._specs:
            self.run(self.proxy.open(name, self._loop.time()))

    def from_host(self, message: Message) -> None:
        """A message arrived from the host."""
        self.run(self.proxy.from_host(message, self._loop.time()))
        if isinstance(message, Frame) and message.method == "tools/call":
            self._relay.warm()

    def run(self, commands: Sequence[Command], quiet: tuple[type, ...] = ()) -> None:
        """Carry out what follows from an event, but for the `quiet` kinds."""
        for command in commands:
            if not isinstance(command, quiet):
                self._do[type(command)](command)
        if not self._ticking:
            self._keep_ticking()

    def pause(self) -> None:
        """Leave in their pipes what the servers send: the host does not take it."""
        self._paused = True
        for connection in self._connections.values():
            connection.pause()

    def resume(self) -> None:
        self._paused = False
        for connection in self._connections.values():
            connection.resume()

    @property
    def congested(self) -> bool:
        """Whether so much waits for a server that nothing more should be taken from the host."""
        return any(connection.queued > MOST_QUEUED for connection in self._connections.values())

    # -- the servers ---------------------------------------------------------------------------------------------

    def adopt(
        self,
        name: str,
        process: subprocess.Popen[bytes] | UpstreamError | None = None,
        lines: LineReader | None = None,
        *,
        known: bool = False,
    ) -> None:
        """Connect to a server, whose process may run already. `known`: the core has been told that it does."""
        if isinstance(process, UpstreamError):
            self.run(self.proxy.server_closed(name, str(process), self._loop.time()))
            return
        events = Events(
            lambda message: self._server_sent(name, message),
            lambda reason: self._server_closed(name, connection, reason),
            self._on_queued,
        )
        try:
            connection = open_upstream(self._specs[name], self._means, events, process=process, lines=lines)
        except UpstreamError as error:
            self.run(self.proxy.server_closed(name, str(error), self._loop.time()))
            return
        self._connections[name] = connection
        if self._paused:
            connection.pause()
        if not known:
            self.run(self.proxy.server_opened(name, self._loop.time()))

    def _server_sent(self, name: str, message: Message) -> None:
        self.run(self.proxy.from_server(name, message, self._loop.time()))

    def _server_closed(self, name: str, connection: Upstream, reason: str) -> None:
        self._end(connection)
        if self._connections.get(name) is connection:
            del self._connections[name]
            self.run(self.proxy.server_closed(name, reason, self._loop.time()))

    def _to_server(self, command: ToServer) -> None:
        connection = self._connections.get(command.server)
        if connection is None:
            return
        backlog, pieces = self._backlogs[command.server], command.pieces
        if connection.queued > SERVER_QUEUE:
            pieces = backlog.shelve(pieces)
        elif not connection.queued:
            backlog.clear()
        connection.send(pieces)

    def _open(self, command: Open) -> None:
        self._loop.call_later(command.delay, self._start, command.server)

    def _start(self, name: str) -> None:
        if not self._over:
            self.adopt(name)

    def _close(self, command: Close) -> None:
        connection = self._connections.pop(command.server, None)
        if connection is not None:
            self._end(connection)

    def _end(self, connection: Upstream) -> None:
        task = asyncio.ensure_future(connection.stop())
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    # -- our own side --------------------------------------------------------------------------------------------

    def _settled(self, key: int, result: bytes | None) -> None:
        self.run(self.proxy.settled(key, result, self._loop.time()))

    def _refused(self, key: int, code: int, text: str) -> None:
        self.run(self.proxy.refused(key, code, text, self._loop.time()))

    async def _consult(self, command: Consult) -> None:
        result = await self._side.consult(command)
        self.run(self.proxy.consulted(command.key, result, self._loop.time()))

    async def _lend(self, command: Lend) -> None:
        arguments, question, refusal = await self._side.lend(command)
        if refusal is not None:
            self.run(self.proxy.not_lent(command.key, refusal, self._loop.time()))
        else:
            self.run(self.proxy.lent(command.key, arguments, question, self._loop.time()))

    def _call_own(self, command: CallOwn) -> None:
        task = self._spawn(self._side.serve(command))
        self._own_tasks[command.key] = task
        task.add_done_callback(lambda _: self._own_tasks.pop(command.key, None))

    def _cancel_own(self, command: CancelOwn) -> None:
        task = self._own_tasks.get(command.key)
        if task is not None:
            task.cancel()

    # -- time, and the end ---------------------------------------------------------------------------------------

    def _tick(self) -> None:
        self._ticking = False
        if not self._over:
            self.run(self.proxy.tick(self._loop.time()))
            self._keep_ticking()

    def _keep_ticking(self) -> None:
        if not self._ticking and self.proxy.next_deadline() is not None:
            self._ticking = True
            self._loop.call_later(TICK_SECONDS, self._tick)

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _load(self, command: Load) -> None:
        self._spawn(self._read_whole(command))

    async def _read_whole(self, command: Load) -> None:
        span = command.frame.piece((0, command.frame.size))
        assert isinstance(span, Cut)
        assert isinstance(span.source, SpoolFile)
        try:
            message = await asyncio.to_thread(load, command.frame, span.source)
            if isinstance(message, Frame) and command.frame.id not in (None, message.id):
                from crp_mcp.core.wire.sharing import Renamed  # it came over a shared connection, under another id

                message = Renamed(message, command.frame.id)
        except OSError as error:
            message = Malformed(-32603, str(error), (command.frame.id or b"null",), True)
        if command.server:
            self._server_sent(command.server, unforged(message))
        else:
            self.from_host(message)

    async def stop(self) -> None:
        """End the servers, and let what is under way reach the host."""
        self._over = True
        for connection in self._connections.values():
            self._end(connection)
        while self._endings:
            await asyncio.wait(self._endings)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=SETTLE_SECONDS)
        for task in self._tasks:
            task.cancel()
