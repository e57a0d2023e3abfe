"""A connection to a server over HTTP, whichever of the two transports it has."""

from __future__ import annotations

from crp_mcp.core.wire.frame import Piece
from crp_mcp.errors import UpstreamError
from crp_mcp.mcp.spec import RemoteSpec
from crp_mcp.mcp.upstream import Events, Means


class RemoteConnection:
    def __init__(self, spec: RemoteSpec, means: Means, events: Events) -> None:
        raise UpstreamError("is reached over HTTP, which is not there yet")

    queued = 0

    def send(self, pieces: tuple[Piece, ...]) -> None:
        """Send one message."""

    def pause(self) -> None:
        """Leave what the server sends where it is."""

    def resume(self) -> None:
        """Read on."""

    async def stop(self) -> None:
        """End it."""
