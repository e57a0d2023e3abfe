"""One server as both transports see it: its client, who we are to it, and the way of its messages to the core."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from crp_mcp.core.wire.answers import error_line
from crp_mcp.core.wire.calls import unforged
from crp_mcp.core.wire.frame import Frame, Malformed, parse_line
from crp_mcp.core.wire.requests import same_id
from crp_mcp.mcp.framing import LineReader, Message
from crp_mcp.mcp.spec import RemoteSpec
from crp_mcp.mcp.spool import Spool

from .credentials import Credentials
from .events import EventReader
from .faults import Fault
from .headers import Marks
from .http import Response, body_of, exchange, open_client
from .incoming import agreed_version, answers, learn_tools, one_line, under_its_id
from .outgoing import Outgoing

if TYPE_CHECKING:
    import httpx2

EVENT_STREAM = "text/event-stream"


class Peer:
    """See the module's first line. `deliver` takes messages for the core."""

    def __init__(self, spec: RemoteSpec, spool: Spool, deliver: Callable[[Message], None]) -> None:
        self.spec = spec
        self.name = spec.name
        self.flowing = asyncio.Event()
        self.flowing.set()
        self.version: str | None = None
        """The handshake's outcome."""
        self.marks: dict[str, Marks] = {}
        """By tool: arguments that are repeated in headers."""
        self.inbound: Mapping[str, str] = {}
        """Headers of the latest request of our client's."""
        self.waiting: dict[bytes, Outgoing] = {}
        """Requests that are not answered, by id."""
        self._spool = spool
        self._deliver = deliver
        self.client: httpx2.AsyncClient = open_client(spec.url)
        self.credentials = Credentials(spec)

    @asynccontextmanager
    async def ask(
        self, method: str, url: str, headers: Mapping[str, str], message: Outgoing | None = None
    ) -> AsyncIterator[Response]:
        """One exchange. Where our token is refused it is renewed, once.

        Raises:
            Fault: there was no answer, or one that says we are not allowed.
        """
        inbound = message.inbound if message else self.inbound
        for last in (False, True):
            ours = await self.credentials.headers(inbound)
            async with exchange(self.client, method, url, {**ours, **headers}, message) as response:
                if response.status_code == 401 and not last and await self.credentials.renew(ours):
                    continue
                self.credentials.check(response.status_code, response.headers)
                yield response
                return

    # -- messages ------------------------------------------------------------------------------------------------

    def deliver(self, message: Message) -> None:
        """Hand a message of the server's to the core, and note what is ours to know."""
        self._hand_on(unforged(message))

    def _hand_on(self, message: Message) -> None:
        if isinstance(message, Frame):
            message = self._noted(message)
        elif isinstance(message, list):
            message = [self._noted_one(one) for one in message]
        self._deliver(message)

    def _noted_one(self, one: Frame | Malformed) -> Frame | Malformed:
        noted = self._noted(one) if isinstance(one, Frame) else one
        return one if isinstance(noted, list) else noted

    def _noted(self, frame: Frame) -> Message:
        if frame.method is not None or frame.id is None:
            return frame
        request = self.waiting.pop(same_id(frame.id), None)
        if request is None:
            return frame
        request.settled = True
        if request.method == "initialize":
            self.version = agreed_version(frame)
        return learn_tools(self.name, frame, self.marks) if request.method == "tools/list" else frame

    def fail(self, request: Outgoing, fault: Fault) -> None:
        """Tell the core that a request gets no answer."""
        if request.id is not None and not request.settled:
            self._hand_on(parse_line(error_line(request.id, fault.failure(self.name))))

    def lines(self) -> LineReader:
        return LineReader(self._spool)

    async def read_json(self, response: Response, request: Outgoing) -> None:
        """A body that is one message.

        Raises:
            Fault: it is not.
        """
        lines = self.lines()
        async for chunk in body_of(response):
            for _ in lines.feed(one_line(chunk)):
                pass
            await self.flowing.wait()
        message = lines.finish()
        if message is None:
            raise Fault(f"answered {request.method} with nothing")
        message = under_its_id(message, request)
        self.deliver(message)
        if not request.settled:
            raise Fault(f"answered {request.method} with something that is no answer to it")

    async def read_privately(self, response: Response, request: Outgoing) -> Message | None:
        """The answer to a request that is nobody's but ours; what else comes with it is the core's."""
        if media_type(response) != EVENT_STREAM:
            lines = self.lines()
            async for chunk in body_of(response):
                for _ in lines.feed(one_line(chunk)):
                    pass
            return lines.finish()
        reader = EventReader(self.lines)
        async for chunk in body_of(response):
            for event in reader.feed(chunk):
                if event.message is not None and answers(event.message, request):
                    return event.message
                if event.message is not None:
                    self.deliver(event.message)
        return None

    async def read_events(self, response: Response, reader: EventReader) -> AsyncIterator[Message]:
        """Deliver what a stream brings, and yield it after that."""
        async for chunk in body_of(response):
            for event in reader.feed(chunk):
                if event.message is not None and event.kind == "message":
                    self.deliver(event.message)
                    yield event.message
            await self.flowing.wait()
        last = reader.finish()
        if last is not None and last.message is not None and last.kind == "message":
            self.deliver(last.message)
            yield last.message

    async def close(self) -> None:
        await self.client.aclose()


def media_type(response: Response) -> str:
    """A body's type, without its parameters."""
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()
