"""The older transport (2024-11-05): one event stream for all that comes, an address, told there, for what goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import urljoin, urlsplit

from crp_mcp.core.wire.frame import parse_line
from crp_mcp.log import log

from .events import EventReader
from .faults import Fault, rpc_error, status_fault
from .http import Response, body_of, short_body
from .outgoing import Outgoing
from .peer import EVENT_STREAM, Peer, media_type

ADDRESS_SECONDS = 20.0
"""How long the server may take to say where to send."""


class Older:
    """The transport. `on_closed(reason)`: the stream, and with it the session, is over."""

    def __init__(self, peer: Peer, on_closed: Callable[[str], None]) -> None:
        self._peer = peer
        self.on_closed = on_closed
        self._address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Open the stream, and wait for the address.

        Raises:
            Fault: it has no such stream.
        """
        if self._task is None:
            self._task = asyncio.create_task(self._listen())
        try:
            async with asyncio.timeout(ADDRESS_SECONDS):
                await asyncio.shield(self._address)
        except TimeoutError:
            raise Fault("opened an event stream and did not say where to send messages", sent=False) from None

    async def carry(self, message: Outgoing) -> None:
        """Send one message. Its answer comes on the stream.

        Raises:
            Fault: the server did not take it.
        """
        await self.open()
        async with self._peer.ask("POST", self._address.result(), self._headers(), message) as response:
            if response.status_code < 300:
                await short_body(response)
            else:
                await self._refused(message, response)

    async def _refused(self, message: Outgoing, response: Response) -> None:
        said = rpc_error(await short_body(response), message.id or b"null")
        if message.id is None:
            status = response.status_code
            log("warning", "message_refused", server=self._peer.name, method=message.method, status=status)
        elif said is not None:
            self._peer.deliver(parse_line(said[0]))
        else:
            raise status_fault(response.status_code, response.headers, message.method or "a message")

    def _headers(self) -> dict[str, str]:
        version = self._peer.version
        return {"mcp-protocol-version": version} if version else {}

    async def _listen(self) -> None:
        try:
            await self._read()
            reason = "closed its event stream"
        except Fault as fault:
            if not self._address.done():
                self._address.set_exception(fault)
                # Where nobody waits for it, the reason is told below.
                self._address.exception()
            reason = str(fault)
        if not self._address.done():
            self._address.set_exception(Fault(reason, sent=False))
            self._address.exception()
        self.on_closed(reason)

    async def _read(self) -> None:
        reader = EventReader(self._peer.lines)
        headers = {"accept": EVENT_STREAM, "cache-control": "no-store"}
        async with self._peer.ask("GET", self._peer.spec.url, headers) as response:
            if response.status_code >= 300:
                raise status_fault(response.status_code, response.headers, "the request for its event stream")
            if media_type(response) != EVENT_STREAM:
                raise Fault("has no event stream at its URL; check it, and `type`", sent=False)
            async for chunk in body_of(response):
                for event in reader.feed(chunk):
                    if event.kind == "endpoint":
                        self._told(event.head)
                    elif event.kind == "message" and event.message is not None:
                        self._peer.deliver(event.message)
                await self._peer.flowing.wait()

    def _told(self, head: bytes) -> None:
        """The address. It must be of the same origin: what we send is meant for this server."""
        base = self._peer.spec.url
        address = urljoin(base, head.decode("utf-8", "replace").strip())
        here, there = urlsplit(base), urlsplit(address)
        if (here.scheme, here.hostname, here.port) != (there.scheme, there.hostname, there.port):
            raise Fault("named an address of another origin for messages, to which nothing is sent", sent=False)
        if not self._address.done():
            self._address.set_result(address)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
