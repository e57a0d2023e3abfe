"""Streamable HTTP: each message is a POST, its answer the body. What may be sent again, and when, is decided here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from crp_mcp.core.wire.answers import dump, request_line
from crp_mcp.core.wire.frame import Frame, parse_line
from crp_mcp.log import log

from .events import EventReader
from .faults import Fault, pause_before_retry, rpc_error, says_session, status_fault
from .headers import SESSION, Marks, message_headers
from .http import Response, short_body
from .incoming import learn_tools
from .listening import Listening
from .outgoing import Outgoing
from .peer import EVENT_STREAM, Peer, media_type
from .session import Session

ACCEPT = f"application/json, {EVENT_STREAM}"
PATIENCE = (0.1, 0.3, 0.8, 1.5, 2.3)
"""Seconds between attempts to reach a server that does not take connections: it may just be starting."""
HEADER_MISMATCH = -32020
PAGES = 100
SLOW_DOWNS = 3
"""How often a server's wish that we come again later is followed for one request."""
GOODBYE_SECONDS = 1.0
TAIL_SECONDS = 0.5
"""How long the end of a stream may follow its answer, so that its connection can be used again."""


class Lost(Exception):
    """The server does not know our session any more."""


class Unsupported(Exception):
    """The URL takes no POST of this kind: it may be one of the older transport."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault


class Streamable:
    """The transport. `may_be_old`: whether a refusal could mean that the server has only the older transport."""

    def __init__(self, peer: Peer, may_be_old: Callable[[], bool]) -> None:
        self._peer = peer
        self._url = peer.spec.url
        self._may_be_old = may_be_old
        self._session = Session()
        self._listening = Listening(peer, self._url, self._headers)
        self.met = False
        """It has answered in the way of this transport."""

    async def carry(self, message: Outgoing) -> None:
        """Send one message, and hand on all that comes in return.

        Raises:
            Fault: a request gets no answer.
            Unsupported: see there.
        """
        session = self._session.number
        self._session.keep(message)
        try:
            await self._persist(message)
        except Lost:
            await self._renew(session)
            try:
                await self._persist(message)
            except Lost:
                raise Fault("lost its session, and the one begun in its place as well", sent=False) from None
        if message.method == "notifications/initialized" and self._session.id is not None:
            self._listening.start()

    async def _persist(self, message: Outgoing) -> None:
        """Send it until it is answered, as long as that can do no harm."""
        refused, broken = 0, False
        while True:
            try:
                wait = await self._attempt(message)
            except Fault as fault:
                if not fault.sent and fault.passing and refused < len(PATIENCE):
                    wait, refused = PATIENCE[refused], refused + 1
                elif fault.sent and fault.passing and message.safe and not broken and not message.settled:
                    wait, broken = PATIENCE[0], True
                else:
                    raise
            else:
                if wait is None:
                    return
            await asyncio.sleep(wait)

    async def _attempt(self, message: Outgoing) -> float | None:
        """Once. A number of seconds: the server wants us to come again then, and nobody has been told otherwise."""
        headers = {"accept": ACCEPT, **self._headers(message), **self._marks(message)}
        async with self._peer.ask("POST", self._url, headers, message) as response:
            if response.status_code >= 300:
                return await self._refused(message, response)
            self.met = True
            if message.method == "initialize":
                self._session.begin(response.headers.get(SESSION))
            if message.id is None:
                await short_body(response)
                return None
            await self._answered(message, response)
            return None

    def _headers(self, message: Outgoing | None = None) -> dict[str, str]:
        """What every request of a session says."""
        if message is not None and (message.modern or message.method == "initialize"):
            return {}
        headers = {SESSION: self._session.id} if self._session.id else {}
        return {**headers, "mcp-protocol-version": self._peer.version} if self._peer.version else headers

    def _marks(self, message: Outgoing) -> dict[str, str]:
        marks: Marks = self._peer.marks.get(message.name or "", ())
        return message_headers(message, marks if message.method == "tools/call" else ())

    # -- answers -------------------------------------------------------------------------------------------------

    async def _answered(self, message: Outgoing, response: Response) -> None:
        kind = media_type(response)
        if kind == EVENT_STREAM:
            await self._streamed(message, response)
        elif response.status_code in (202, 204):
            if not self._listening.running:
                raise Fault(f"took {message.method} and sends no answer (HTTP {response.status_code})")
        elif kind == "application/json" or kind.endswith("+json") or not kind:
            await self._peer.read_json(response, message)
        else:
            shown = kind if kind.isascii() and kind.isprintable() and len(kind) < 80 else "of an unknown kind"
            raise Fault(
                f"answered {message.method} with {shown} rather than JSON or events; check that its URL is right"
            )

    async def _streamed(self, message: Outgoing, response: Response) -> None:
        reader = EventReader(self._peer.lines)
        try:
            await self._until_answered(message, response, reader)
        except Fault as fault:
            if message.settled:
                return
            if not fault.passing or reader.last_id is None or message.modern:
                raise
        if message.settled:
            return
        if reader.last_id is None or message.modern:
            raise Fault(f"ended the stream of its answer to {message.method} before the answer came", passing=True)
        await self._listening.resume(message, reader)

    async def _until_answered(self, message: Outgoing, response: Response, reader: EventReader) -> None:
        events = self._peer.read_events(response, reader)
        async for _ in events:
            if message.settled:
                break
        try:
            async with asyncio.timeout(TAIL_SECONDS):
                async for _ in events:
                    pass
        except TimeoutError:
            return

    async def _refused(self, message: Outgoing, response: Response) -> float | None:
        status = response.status_code
        wait = pause_before_retry(status, response.headers)
        body = await short_body(response)
        said = rpc_error(body, message.id or b"null")
        in_session = self._session.id is not None and not message.modern and message.method != "initialize"
        lost = status == 404 or (status == 400 and said is not None and not said[1] and says_session(said[0]))
        if in_session and lost:
            raise Lost
        if wait is not None and message.waits < SLOW_DOWNS and (message.safe or message.id is None):
            message.waits += 1
            return wait
        if said is not None and await self._marked_anew(message, said[0]):
            return 0.0
        if message.id is None:
            log("warning", "message_refused", server=self._peer.name, method=message.method, status=status)
        elif said is not None:
            self._peer.deliver(parse_line(said[0]))
        else:
            fault = status_fault(status, response.headers, message.method or "a message")
            if status in (400, 404, 405) and self._may_be_old():
                raise Unsupported(fault)
            raise fault
        return None

    async def _marked_anew(self, message: Outgoing, error: bytes) -> bool:
        """Headers were said not to match the call: its tool is not listed yet, or is another one now. List the tools,
        as the call would, and tell whether that makes a difference. Nothing was run.
        """
        if message.method != "tools/call" or message.relisted or json.loads(error)["error"]["code"] != HEADER_MISMATCH:
            return False
        message.relisted = True
        marks = dict(self._peer.marks)
        cursor: object = None
        for _ in range(PAGES):
            params = {"_meta": message.member("_meta"), **({} if cursor is None else {"cursor": cursor})}
            listing = Outgoing((request_line(b'"crp-mcp-tools"', "tools/list", dump(params)),), message.inbound)
            headers = {"accept": ACCEPT, **message_headers(listing, ())}
            async with self._peer.ask("POST", self._url, headers, listing) as response:
                answer = await self._peer.read_privately(response, listing)
            if not isinstance(answer, Frame):
                break
            learn_tools(self._peer.name, answer, self._peer.marks)
            cursor = json.loads(answer.part("nextCursor") or b"null")
            if cursor is None:
                break
        return marks != self._peer.marks

    # -- the session ---------------------------------------------------------------------------------------------

    async def _renew(self, number: int) -> None:
        """Begin another session in place of the one that was lost; once for all who noticed."""
        session = self._session
        async with session.lock:
            if session.number != number:
                return
            greeting = session.greeting
            if greeting is None:
                raise Fault("does not know its session any more; connect to it again", sent=False)
            log("warning", "session_lost", server=self._peer.name)
            self._listening.stop()
            await self._repeat(greeting)
            for message in [*([session.initialized] if session.initialized else []), *session.again()]:
                await self._repeat(message)
            if session.initialized and session.id is not None:
                self._listening.start()

    async def _repeat(self, message: Outgoing) -> None:
        """Send something once more; the answer is nobody's."""
        message.inbound = self._peer.inbound
        headers = {"accept": ACCEPT, **self._headers(message)}
        async with self._peer.ask("POST", self._url, headers, message) as response:
            if message.method == "initialize":
                if response.status_code >= 300:
                    raise Fault(f"lost its session and accepts no other (HTTP {response.status_code})", sent=False)
                self._session.begin(response.headers.get(SESSION))
            await self._peer.read_privately(response, message)

    async def close(self) -> None:
        """End the session."""
        self._listening.stop()
        if self._session.id is None:
            return
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                async with self._peer.ask("DELETE", self._url, self._headers()) as response:
                    await short_body(response)
        except (Fault, TimeoutError) as error:
            log("debug", "session_not_ended", server=self._peer.name, reason=str(error))
