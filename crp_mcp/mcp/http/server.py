"""The HTTP server around the application: its socket, its time limits, its signals, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from crp_mcp.errors import ConfigError
from crp_mcp.log import log
from crp_mcp.mcp.front import ENDING_SIGNALS

if TYPE_CHECKING:
    from crp_mcp.config.http import Limits

    from .app import App

KEEP_ALIVE_SECONDS = 60


class Protocol(H11Protocol):
    """HTTP/1.1 for clients that dawdle: headers must come in time, and connections are counted."""

    limits: Limits

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._idle_since = self.loop.time()
        self._late = self.loop.call_later(self.limits.header_seconds, self._too_late)
        if len(self.connections) > self.limits.connections:
            self._make_room()

    def _make_room(self) -> None:
        """Close the connection that has been idle longest: whoever holds many open keeps nobody out."""
        alive = [one for one in self.connections if isinstance(one, Protocol) and not one.transport.is_closing()]
        if len(alive) > self.limits.connections:
            log("warning", "too_many_connections", most=self.limits.connections)
            idle = [one for one in alive if one is not self and one._waits()]
            min(idle, key=lambda one: one._idle_since, default=self).transport.abort()

    def on_response_complete(self) -> None:
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._late.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._late.cancel()
        elif self._waits() and self._late.cancelled():
            # The first bytes of a request: the rest of its headers must follow soon.
            self._late = self.loop.call_later(self.limits.header_seconds, self._too_late)

    def _too_late(self) -> None:
        if not self.transport.is_closing() and self._waits():
            self.transport.abort()

    def _waits(self) -> bool:
        """Whether no request is being served."""
        return self.cycle is None or bool(self.cycle.response_complete)


class Server(uvicorn.Server):
    """Leaves signals to us."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises ConfigError."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, number)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(512)
    except (OSError, UnicodeError) as error:  # a name that cannot be one is not even asked for
        raise ConfigError(f"--http {host}:{port}: cannot listen there ({error})") from None
    listener.setblocking(False)
    return listener


async def run_server(app: App, listener: socket.socket, limits: Limits) -> int:
    """Serve until a signal comes; the exit code of the process. A second signal ends it at once."""
    logging.getLogger("uvicorn.error").addHandler(logging.NullHandler())
    logging.getLogger("uvicorn.error").propagate = False
    protocol = type("Bounded", (Protocol,), {"limits": limits})
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=limits.header_bytes,
    )
    server = Server(config)
    told: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in ENDING_SIGNALS:
        _heed(loop, number, told)
    serving = asyncio.ensure_future(server.serve([listener]))
    number = await told.get()
    log("info", "ending", signal=signal.Signals(number).name)
    again = asyncio.ensure_future(told.get())
    draining = asyncio.ensure_future(app.drain(limits.drain))
    await asyncio.wait((again, draining), return_when=asyncio.FIRST_COMPLETED)
    await app.close()
    server.should_exit = True
    await serving
    again.cancel()
    draining.cancel()
    return 128 + number


def _heed(loop: asyncio.AbstractEventLoop, number: int, told: asyncio.Queue[int]) -> None:
    try:
        loop.add_signal_handler(number, told.put_nowait, number)
    except NotImplementedError:
        # Windows.
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(told.put_nowait, number))
