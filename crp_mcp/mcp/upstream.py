"""A connection to one server, whatever it runs over: what the hub may do with it, and how one is opened."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from crp_mcp.core.wire.calls import unforged
from crp_mcp.core.wire.frame import Piece

from .framing import LineReader, Message
from .reaper import Reaper
from .spec import RemoteSpec, ServerSpec
from .spool import Spool

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from .shared import SharedServers


class Upstream(Protocol):
    """Sends messages to a server in order; what comes from it, and its end, is reported by callbacks."""

    @property
    def queued(self) -> int:
        """Bytes that wait in memory to be sent."""

    def send(self, pieces: tuple[Piece, ...]) -> None:
        """Send one message."""

    def pause(self) -> None:
        """Leave what the server sends where it is."""

    def resume(self) -> None:
        """Read on."""

    def stop(self) -> Awaitable[None]:
        """End the connection, and what serves it. Called in any case, also after `on_closed`."""


class Events(NamedTuple):
    """What a connection reports, always from the event loop, never while it is being opened."""

    on_message: Callable[[Message], None]
    on_closed: Callable[[str], None]
    """It is over. The reason completes "The MCP server X …". Comes once, unless `stop` was called first."""
    on_queued: Callable[[], None]
    """`queued` changed."""


class Means(NamedTuple):
    """What connections share."""

    reaper: Reaper
    spool: Spool
    inbound: Callable[[], Mapping[str, str]] = dict
    """The headers of the HTTP request being served, for credentials that are handed on. Names in lower case."""
    shared: SharedServers | None = None
    """Where servers that are marked so are found; None: this is the only host."""


def open_upstream(
    spec: ServerSpec,
    means: Means,
    events: Events,
    *,
    process: subprocess.Popen[bytes] | None = None,
    lines: LineReader | None = None,
) -> Upstream:
    """Connect to a server. `process`, `lines`: it was started, and perhaps read from, ahead of the event loop.

    A remote server is not waited for: messages queue until it is reached.

    Raises:
        UpstreamError: it cannot be started; the text completes "The MCP server X …".
    """
    if spec.ways.shared and means.shared is not None:
        return means.shared.join(spec, events)
    if isinstance(spec, RemoteSpec):
        from .remote.connection import RemoteConnection  # most have no remote server

        return RemoteConnection(spec, means, events)
    from .connection import Connection
    from .spawn import start_process

    if process is None:
        process = start_process(spec.argv, spec.env, spec.cwd)
        means.reaper.watch(process.pid)
    return Connection(
        process,
        means.reaper,
        lines or LineReader(means.spool),
        on_message=lambda message: events.on_message(unforged(message)),
        on_closed=events.on_closed,
        on_queued=events.on_queued,
    )
