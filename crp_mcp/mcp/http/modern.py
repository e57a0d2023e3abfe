"""Protocol 2026-07-28 over HTTP: every POST stands for itself; its servers are those of its tenant and conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from crp_mcp.core.wire.answers import Failure, request_line, without_members
from crp_mcp.core.wire.eras import ENVELOPE_KEYS, MODERN_VERSIONS, unsupported
from crp_mcp.core.wire.frame import Frame, parse_line, text_of
from crp_mcp.core.wire.scan import members

from .channel import Channel, Exchange
from .headers import VERSION, envelope_fault, param_fault
from .outgoing import Outgoing
from .request import Refusal, Request, accepts
from .respond import Way, respond
from .site import nobodys
from .stream import Ended, Reader

if TYPE_CHECKING:
    from .answers import Answers
    from .site import Principal, Site

CONVERSATION = "dev.crp/conversation"
LONGEST_NAME = 200
LISTEN = "subscriptions/listen"
MAX_PAGES = 100
LIST_SECONDS = 60.0


class Key(NamedTuple):
    """Whose servers: two requests with equal keys share them."""

    owner: Principal
    conversation: str
    handed_on: tuple[tuple[str, str], ...]
    """Credentials that are passed to servers: nobody gets what another one's open."""


class Modern:
    """Serves clients of protocol 2026-07-28."""

    def __init__(self, site: Site, answers: Answers) -> None:
        self._site = site
        self._answers = answers
        self._channels: dict[Key, Channel] = {}
        self._endings: set[asyncio.Task[None]] = set()

    # -- requests ------------------------------------------------------------------------------------------------

    async def post(self, request: Request, principal: Principal, frame: Frame) -> None:
        """A message of a client's."""
        if not all(accepts(request)):
            raise Refusal(406, "The client must accept application/json and text/event-stream.")
        if frame.method is None:
            raise Refusal(400, "A client sends no answers in this protocol version.")
        if frame.id is None:
            self._notified(request)
            await request.answer(202)
            return
        _refuse(envelope_fault(frame, request.raw_headers), frame)
        channel = self._channel(request, principal, frame)
        with channel.used():
            if frame.method == "tools/call":
                await self._check_params(request, channel, frame)
            await self._serve(request, channel, frame)

    def _notified(self, request: Request) -> None:
        """Notifications mean nothing here: a request is cancelled by closing its response, by nobody else."""
        version = request.headers.get(VERSION, "")
        if version not in MODERN_VERSIONS:
            _refuse(unsupported(version), None)

    async def _serve(self, request: Request, channel: Channel, frame: Frame) -> None:
        uri = text_of(frame.part("uri")) if frame.method == "resources/read" else None
        way = Way(status=self._answers.modern(frame.method or "", uri))
        exchange = channel.begin(frame)
        complete = False
        try:
            complete = await respond(request, exchange.stream, way)
        finally:
            if not complete:
                channel.cancel(exchange)

    async def _check_params(self, request: Request, channel: Channel, frame: Frame) -> None:
        name = text_of(frame.part("name"))
        if name is None:
            return
        found = channel.hub.proxy.tools.find(name)
        if found is None:
            if channel.listing is None:
                channel.listing = asyncio.ensure_future(self._list_tools(channel, frame))
            # Also for those that come while it is under way; it goes on if this client leaves.
            await asyncio.shield(channel.listing)
            found = channel.hub.proxy.tools.find(name)
        if found is not None:
            _refuse(
                param_fault(found.definition.get("inputSchema"), frame.part("arguments"), request.raw_headers), frame
            )

    async def _list_tools(self, channel: Channel, frame: Frame) -> None:
        """Learn what the tools are like, under the envelope of the request at hand. Without an answer none is known."""
        meta = _envelope(frame)
        cursor = b""
        for _ in range(MAX_PAGES):
            params = b'{"_meta":%b%b}' % (meta, b',"cursor":' + cursor if cursor else b"")
            line = parse_line(request_line(b"1", "tools/list", params))
            assert isinstance(line, Frame)
            exchange = channel.begin(line)
            answer = await _answer_to(exchange)
            if answer is None:
                channel.cancel(exchange)
                return
            cursor = answer
            if not cursor:
                return

    # -- servers -------------------------------------------------------------------------------------------------

    def _channel(self, request: Request, principal: Principal, frame: Frame) -> Channel:
        """The servers of this request's tenant and conversation, started if need be."""
        named = _conversation(frame)
        handed_on = self._site.handed_on(request.headers)
        key = Key(principal, named, tuple(sorted(handed_on.items())))
        known = self._channels.get(key)
        if known is not None:
            known.touch()
            return known
        self._make_room(principal.tenant)
        lease = self._site.lease(self._site.tenant(principal.tenant), (lambda: named) if named else nobodys, handed_on)
        channel = self._channels[key] = Channel(lease, self._site.clock)
        channel.hub.start()
        return channel

    def _make_room(self, tenant: str) -> None:
        """Servers that wait for nobody make room for others. Raises Refusal where all are in use."""
        limits = self._site.limits
        mine = [key for key in self._channels if key.owner.tenant == tenant]
        if len(mine) >= limits.tenant_sessions and not self._end_idle(mine):
            self._site.metrics.refused["tenant_sessions"] += 1
            raise Refusal(429, "You have too many conversations under way.", headers={"retry-after": "30"})
        if len(self._channels) >= limits.sessions and not self._end_idle(mine):
            self._site.metrics.refused["sessions"] += 1
            raise Refusal(503, "Too many conversations are under way here.", headers={"retry-after": "30"})

    def _end_idle(self, keys: Sequence[Key]) -> bool:
        idle = [key for key in keys if not self._channels[key].busy]
        if idle:
            self._end(min(idle, key=lambda key: self._channels[key].used_at))
        return bool(idle)

    def _end(self, key: Key) -> None:
        task = asyncio.ensure_future(self._channels.pop(key).stop())
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    def sweep(self, now: float) -> None:
        """End the servers that nobody uses."""
        for key, channel in list(self._channels.items()):
            if not channel.busy and now - channel.used_at > self._site.limits.upstream_idle:
                self._end(key)

    def end_listening(self) -> None:
        """End the streams that would never end by themselves."""
        for channel in self._channels.values():
            for exchange in channel.exchanges():
                if exchange.method == LISTEN:
                    exchange.stream.close()

    async def close(self) -> None:
        for key in list(self._channels):
            self._end(key)
        while self._endings:
            await asyncio.wait(self._endings)

    def channels(self) -> Sequence[Channel]:
        return list(self._channels.values())


def _refuse(fault: Failure | None, frame: Frame | None) -> None:
    if fault is not None:
        ident = frame.id if frame and frame.id else b"null"
        status = 404 if fault.code == -32601 else 400
        raise Refusal(status, fault.text, code=fault.code, data=fault.data, ident=ident)


def _conversation(frame: Frame) -> str:
    meta = frame.part("_meta")
    if meta is None or CONVERSATION.encode() not in meta:
        return ""
    span = members(meta).get(CONVERSATION)
    named = text_of(meta[span[0] : span[1]]) if span else None
    return named if named is not None and len(named) <= LONGEST_NAME else ""


def _envelope(frame: Frame) -> bytes:
    """The `_meta` of a request without what is about that request alone."""
    meta = frame.part("_meta") or b"{}"
    return without_members(meta, {name for name in members(meta) if name not in ENVELOPE_KEYS})


async def _answer_to(exchange: Exchange) -> bytes | None:
    """The cursor of a list's next page, b"" at its end; None where there is no answer."""
    reader = Reader(exchange.stream)
    try:
        while True:
            event = await reader.take(LIST_SECONDS)
            if event is None:
                return None
            if event.last:
                cursor = Outgoing(event.pieces).inner("result", "nextCursor")
                return cursor if cursor and cursor != b"null" else b""
    except Ended:
        return None
    finally:
        reader.leave()
