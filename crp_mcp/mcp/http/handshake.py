"""The handshake revisions over HTTP: sessions with ids nobody can guess, each with servers of its own."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from crp_mcp.core.wire.eras import HANDSHAKE_VERSIONS
from crp_mcp.core.wire.frame import Frame, text_of

from .channel import Channel, Exchange
from .outgoing import Outgoing
from .request import Refusal, Request, accepts
from .respond import Way, respond
from .stream import Event, Keep, Stream

if TYPE_CHECKING:
    from .answers import Answers
    from .site import Lease, Principal, Site

SESSION = "mcp-session-id"
LAST_EVENT = "last-event-id"
PRIMED = ("2025-11-25",)
"""Revisions whose clients understand an event without data."""
GET = "g"
CHANGES = ("/list_changed", "resources/updated")
"""Ends of the methods that tell of changes: these belong to no request."""


class Session(Channel):
    """One client that has said `initialize`."""

    def __init__(self, lease: Lease, owner: Principal, clock: Callable[[], float]) -> None:
        super().__init__(lease, clock)
        self.id = secrets.token_urlsafe(32)
        self.owner = owner
        self.version = ""
        """The revision agreed on; "" before that."""
        self.refused = False
        """The servers did not agree to `initialize`."""
        self.keep = Keep(lease.tenant.spool, clock)
        self.streams[GET] = self.new_stream(GET)

    @property
    def idle(self) -> bool:
        return not self.busy and not self.streams[GET].attached

    def ended(self, exchange: Exchange, answer: Outgoing) -> None:
        if exchange.method == "initialize":
            agreed = text_of(answer.inner("result", "protocolVersion"))
            self.version = agreed or self.version
            self.refused = agreed is None

    def begin(self, frame: Frame) -> Exchange:
        exchange = super().begin(frame)
        self.streams[exchange.stream.name] = exchange.stream
        return exchange

    def unclaimed(self, message: Outgoing, method: str) -> None:
        exchange = None if method.endswith(CHANGES) else self.latest()
        stream = exchange.stream if exchange else self.streams[GET]
        stream.put(message.pieces)

    def left(self, stream: Stream, request: Request) -> None:
        """A client has left before the answer to a request. One that was told of nothing cannot ask for the rest."""
        if not request.status:
            self._drop(stream)
        self.forget()

    def _drop(self, stream: Stream) -> None:
        self.streams.pop(stream.name, None)
        stream.close()

    def _queued(self, stream: Stream) -> None:
        super()._queued(stream)
        if stream.waiting and not stream.attached:
            self._let_go()

    def _let_go(self) -> None:
        """Keep no more for clients that may come back than the limits allow over all their requests."""
        for stream in self.keep.too_much(stream for name, stream in self.streams.items() if name != GET):
            self._drop(stream)

    def sent(self, stream: Stream, event: Event) -> None:
        """An event is on its way; it is kept for a client that comes back."""
        self.keep.add(stream, event)
        self.forget()

    def forget(self) -> None:
        """Let go of streams that have nothing left to give."""
        self.keep.trim()
        for name, stream in list(self.streams.items()):
            if name != GET and stream.finished and not stream.kept and not stream.attached:
                del self.streams[name]


class Handshake:
    """Serves clients of the handshake revisions."""

    def __init__(self, site: Site, answers: Answers) -> None:
        self._site = site
        self._answers = answers
        self._endings: set[asyncio.Task[None]] = set()
        self.sessions: dict[str, Session] = {}

    # -- requests ------------------------------------------------------------------------------------------------

    async def post(self, request: Request, principal: Principal, frame: Frame) -> None:
        """A message of a client's."""
        json, events = accepts(request)
        if not (json and events):
            raise Refusal(406, "The client must accept application/json and text/event-stream.")
        if frame.method == "initialize" and SESSION not in request.headers:
            await self._open(request, principal, frame)
            return
        session = self._session(request, principal)
        # A client renews what it wants handed on while its session lasts.
        session.hub.inbound = self._site.handed_on(request.headers)
        if frame.method is None or frame.id is None:
            session.hand(frame)
            await request.answer(202)
            return
        uri = text_of(frame.part("uri")) if frame.method == "resources/read" else None
        exchange = session.begin(frame)
        way = self._way(session, exchange.stream)._replace(status=self._answers.handshake(exchange.method, uri))
        if await respond(request, exchange.stream, way):
            session.forget()
        else:
            session.left(exchange.stream, request)

    async def get(self, request: Request, principal: Principal) -> None:
        """A stream for what belongs to no request, or the rest of one that broke off."""
        if not accepts(request)[1]:
            raise Refusal(406, "The client must accept text/event-stream.")
        session = self._session(request, principal)
        stream = session.streams[GET]
        if LAST_EVENT in request.headers:
            stream = _rewound(session, request.headers[LAST_EVENT])
        await respond(request, stream, self._way(session, stream), soon=0)
        session.used_at = self._site.clock()

    async def delete(self, request: Request, principal: Principal) -> None:
        """The client ends its session."""
        session = self._session(request, principal)
        self.end(session)
        await request.answer(200)

    async def _open(self, request: Request, principal: Principal, frame: Frame) -> None:
        session = self._admit(request, principal)
        asked = text_of(frame.part("protocolVersion")) or ""
        session.version = asked if asked in HANDSHAKE_VERSIONS else ""
        complete = False
        try:
            way = Way(
                headers=lambda: () if session.refused else ((SESSION, session.id),),
                status=self._answers.handshake("initialize"),
                numbered=True,
                primed=session.version in PRIMED,
            )
            complete = await respond(request, session.begin(frame).stream, way)
        finally:
            # A client that left before it knew its session's id can never come back to it.
            if not complete or session.refused:
                self.end(session)
            session.used_at = self._site.clock()

    def _way(self, session: Session, stream: Stream) -> Way:
        return Way(
            headers=lambda: ((SESSION, session.id),),
            numbered=True,
            primed=session.version in PRIMED,
            on_sent=lambda event: session.sent(stream, event),
        )

    # -- sessions ------------------------------------------------------------------------------------------------

    def _session(self, request: Request, principal: Principal) -> Session:
        """The client's session. Another tenant's is answered as one that does not exist."""
        ident = request.headers.get(SESSION)
        if ident is None:
            raise Refusal(400, "The header Mcp-Session-Id is missing: a session begins with an initialize request.")
        session = self.sessions.get(ident)
        if session is None or session.owner != principal:
            raise Refusal(404, "There is no such session (any more): begin a new one with an initialize request.")
        return session

    def _admit(self, request: Request, principal: Principal) -> Session:
        limits = self._site.limits
        mine = sum(session.owner.tenant == principal.tenant for session in self.sessions.values())
        if mine >= limits.tenant_sessions:
            self._site.metrics.refused["tenant_sessions"] += 1
            raise Refusal(429, "You have too many open sessions: end some (DELETE).", headers={"retry-after": "30"})
        if len(self.sessions) >= limits.sessions:
            self._site.metrics.refused["sessions"] += 1
            raise Refusal(503, "Too many sessions are open here.", headers={"retry-after": "30"})
        tenant = self._site.tenant(principal.tenant)
        conversation: list[str] = []
        lease = self._site.lease(tenant, lambda: conversation[0], self._site.handed_on(request.headers))
        session = Session(lease, principal, self._site.clock)
        # The id itself opens the session: what is stored must not.
        conversation.append("http_" + hashlib.sha256(session.id.encode()).hexdigest()[:24])
        self.sessions[session.id] = session
        self._site.metrics.sessions += 1
        session.hub.start()
        return session

    def end(self, session: Session) -> None:
        """Forget a session at once, and end its servers."""
        if self.sessions.pop(session.id, None) is None:
            return
        task = asyncio.ensure_future(self._stop(session))
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    async def _stop(self, session: Session) -> None:
        await session.stop()
        session.end_streams()

    def sweep(self, now: float) -> None:
        """End the sessions that nobody uses."""
        for session in list(self.sessions.values()):
            session.forget()
            if session.idle and now - session.used_at > self._site.limits.session_idle:
                self.end(session)

    async def close(self) -> None:
        for session in list(self.sessions.values()):
            self.end(session)
        while self._endings:
            await asyncio.wait(self._endings)

    def channels(self) -> Sequence[Channel]:
        return list(self.sessions.values())


def _rewound(session: Session, last: str) -> Stream:
    """The stream that an event id is of, set back to just after it."""
    name, _, number = last.rpartition("-")
    stream = session.streams.get(name)
    if stream is None or not (number.isascii() and number.isdigit() and len(number) < 16):
        raise Refusal(400, "What followed that event is not kept any more: send the request again.")
    stream.rewind(int(number))
    if stream.finished:
        raise Refusal(400, "Nothing follows that event.")
    return stream
