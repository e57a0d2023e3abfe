"""A connection to a server over HTTP: messages in order, many under way, whichever of the two transports it has.

The HTTP library loads meanwhile; what is sent before it is there waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from crp_mcp.core.wire.frame import Piece
from crp_mcp.core.wire.requests import same_id
from crp_mcp.errors import CrpError
from crp_mcp.log import log
from crp_mcp.mcp.framing import Message
from crp_mcp.mcp.spec import RemoteSpec
from crp_mcp.mcp.upstream import Events, Means

from .lookups import detach_lookups
from .outgoing import Outgoing

if TYPE_CHECKING:
    from .older import Older
    from .streamable import Streamable, Unsupported

ORDER_SECONDS = 5.0
"""How long a message may hold up those after it."""
CANCEL_SECONDS = 5.0
"""How long an answer may come, after its request was cancelled, before its stream is closed."""
END_SECONDS = 1.5


class RemoteConnection:
    """See `upstream.Upstream`."""

    def __init__(self, spec: RemoteSpec, means: Means, events: Events) -> None:
        self._spec = spec
        self._means = means
        self._events = events
        self._loop = asyncio.get_running_loop()
        detach_lookups(self._loop)
        self._open = True
        self._flowing = True
        self._waiting: deque[Outgoing] = deque()
        self._more = asyncio.Event()
        self._carried: dict[bytes, tuple[Outgoing, asyncio.Task[None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._peer: Any = None
        self._older: Older | None = None
        self._streamable: Streamable | None = None
        self._choosing = asyncio.Lock()
        self.queued = 0
        self._pump = self._loop.create_task(self._run())

    # -- what the hub may do -------------------------------------------------------------------------------------

    def send(self, pieces: tuple[Piece, ...]) -> None:
        if not self._open:
            return
        message = Outgoing(pieces, dict(self._means.inbound()))
        if message.method == "notifications/cancelled" and self._cancelled(message):
            return
        self._waiting.append(message)
        self._more.set()
        self._count(message.held)

    def pause(self) -> None:
        self._flowing = False
        if self._peer is not None:
            self._peer.flowing.clear()

    def resume(self) -> None:
        self._flowing = True
        if self._peer is not None:
            self._peer.flowing.set()

    async def stop(self) -> None:
        """Close what is under way, and end the session if there is one."""
        self._open = False
        self._pump.cancel()
        for task in self._tasks:
            task.cancel()
        if self._peer is None:
            return
        try:
            async with asyncio.timeout(END_SECONDS):
                if self._older is not None:
                    await self._older.close()
                elif self._streamable is not None:
                    await self._streamable.close()
                await self._peer.close()
        except TimeoutError:
            log("debug", "connection_not_ended", server=self._spec.name)

    # -- sending -------------------------------------------------------------------------------------------------

    def _count(self, change: int) -> None:
        self.queued += change
        if change:
            self._loop.call_soon(self._events.on_queued)

    async def _run(self) -> None:
        """In its task: start one message after the other, each when the one before it is on its way."""
        try:
            await self._load()
        except CrpError as error:
            self._closed(f"cannot be reached: {error}")
            return
        while True:
            while self._waiting:
                message = self._waiting.popleft()
                self._start(message)
                try:
                    async with asyncio.timeout(ORDER_SECONDS):
                        await message.passed.wait()
                except TimeoutError:
                    log("debug", "message_slow", server=self._spec.name, method=message.method)
                self._count(-message.held)
            self._more.clear()
            await self._more.wait()

    async def _load(self) -> None:
        from importlib import import_module

        streamable = await asyncio.to_thread(import_module, "crp_mcp.mcp.remote.streamable")
        from .peer import Peer

        self._peer = await asyncio.to_thread(Peer, self._spec, self._means.spool, self._arrived)
        if not self._flowing:
            self._peer.flowing.clear()
        if self._spec.transport == "sse":
            from .older import Older

            self._older = Older(self._peer, self._closed)
        else:
            self._streamable = streamable.Streamable(self._peer, self._may_be_old)

    def _start(self, message: Outgoing) -> None:
        self._peer.inbound = message.inbound
        if message.key is not None:
            self._peer.waiting[message.key] = message
        task = self._loop.create_task(self._carry(message))
        self._tasks.add(task)
        if message.key is not None:
            self._carried[message.key] = message, task
        task.add_done_callback(lambda task: self._over(message, task))

    async def _carry(self, message: Outgoing) -> None:
        from .faults import Fault
        from .streamable import Unsupported

        try:
            if self._older is not None:
                await self._older.carry(message)
                return
            assert self._streamable is not None
            try:
                await self._streamable.carry(message)
            except Unsupported as refusal:
                await self._fall_back(message, refusal)
        except Fault as fault:
            if message.id is None and self._open:
                log("warning", "message_lost", server=self._spec.name, method=message.method, reason=str(fault))
            self._peer.fail(message, fault)

    def _over(self, message: Outgoing, task: asyncio.Task[None]) -> None:
        message.passed.set()
        self._tasks.discard(task)
        key = message.key
        if key is not None and self._carried.get(key, (None, None))[1] is task:
            del self._carried[key]
        if task.cancelled() or task.exception() is None:
            return
        log("error", "remote_failed", server=self._spec.name, reason=repr(task.exception()))
        from .faults import Fault

        self._peer.fail(message, Fault("could not be asked, because of a fault of crp-mcp's own; see its log"))

    # -- which transport -----------------------------------------------------------------------------------------

    def _may_be_old(self) -> bool:
        return self._spec.transport == "auto" and self._streamable is not None and not self._streamable.met

    async def _fall_back(self, message: Outgoing, refusal: Unsupported) -> None:
        """The URL took no POST: whether it has the older transport shows in whether it opens a stream."""
        from .faults import Fault
        from .older import Older

        async with self._choosing:
            if self._older is None:
                older = Older(self._peer, lambda reason: None)
                try:
                    await older.open()
                except Fault:
                    await older.close()
                    raise refusal.fault from None
                older.on_closed = self._closed
                self._older = older
        await self._older.carry(message)

    # -- what comes ----------------------------------------------------------------------------------------------

    def _arrived(self, message: Message) -> None:
        if self._open:
            self._events.on_message(message)

    def _closed(self, reason: str) -> None:
        if self._open:
            self._open = False
            self._events.on_closed(reason)

    def _cancelled(self, message: Outgoing) -> bool:
        """A request is cancelled. True where the server need not be told in words."""
        raw = message.frame.part("requestId") if message.frame else None
        if raw is None:
            return False
        key = same_id(raw)
        for queued in self._waiting:
            if queued.key == key:
                self._waiting.remove(queued)
                self._count(-queued.held)
                return True
        request, task = self._carried.get(key, (None, None))
        if task is None or request is None:
            return False
        self._peer.waiting.pop(key, None)
        if request.modern:
            task.cancel()
            return True
        # Its answer may still come, and its stream is not to be broken off before the server has read this.
        self._loop.call_later(CANCEL_SECONDS, task.cancel)
        return False
