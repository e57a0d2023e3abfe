"""One hub and the HTTP requests that share it: each gets an id of its own, and what comes back finds its response.

Clients' ids and progress tokens may be anything, also all the same; the hub sees plain numbers that occur once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from crp_mcp.core.wire.answers import INVALID_REQUEST, Failure, error_line, notification_line
from crp_mcp.core.wire.eras import SUBSCRIPTION_ID
from crp_mcp.core.wire.frame import Edit, Frame, Piece, parse_line, text_of
from crp_mcp.core.wire.requests import same_id
from crp_mcp.core.wire.scan import NotJson, members
from crp_mcp.log import log

from .outgoing import Outgoing
from .stream import Stream

if TYPE_CHECKING:
    from .site import Lease

QUEUE = 4 * 1024 * 1024
"""Bytes that may wait in memory for one response; above that the servers' output is left in their pipes."""
ASKING = ("tools/call", "prompts/get", "resources/read")
LOGS = "notifications/message"
LOG_LEVEL = b'"io.modelcontextprotocol/logLevel"'
CANCELLED = -32800
"""Tells a client that a request of its own is over because it was cancelled: its stream must not stay open."""
_GIVEN_UP = Failure(INVALID_REQUEST, "The request was given up: the connection to the servers is being closed.")


class Exchange(NamedTuple):
    """A client's request that has no answer yet."""

    number: int
    """Its id, and its progress token, as the hub knows them."""
    ident: bytes
    token: bytes | None
    method: str
    stream: Stream
    wants_logs: bool
    """It names a log level: where there is no session, others get no log messages."""


class Channel:
    """See the module's first lines. `unclaimed` takes messages that belong to no request."""

    def __init__(self, lease: Lease, clock: Callable[[], float]) -> None:
        self._exchanges: dict[int, Exchange] = {}
        self._numbers = 0
        self._clock = clock
        self.used_at = clock()
        """When the last request was over."""
        self.listing: asyncio.Task[None] | None = None
        """The tools are or were asked for, for our own sake."""
        self.streams: dict[str, Stream] = {}
        self._users = 0
        """Requests at hand whose servers must not be ended, whether they are asked already or not."""
        self._over = False
        self._full: set[Stream] = set()
        """Responses whose clients read too slowly."""
        self._lease = lease
        self.hub = lease.open_hub(self._to_client)

    @property
    def busy(self) -> bool:
        return bool(self._exchanges or self._users)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Its servers are wanted for something that has not been asked yet."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1

    def exchanges(self) -> list[Exchange]:
        return list(self._exchanges.values())

    # -- from the client -----------------------------------------------------------------------------------------

    def begin(self, frame: Frame) -> Exchange:
        """Hand a request to the hub; what comes of it comes through the exchange's stream."""
        assert frame.id is not None
        self._numbers += 1
        number = self._numbers
        token = _token_of(frame)
        edits: list[Edit] = [frame.with_id(b"%d" % number)]
        if token is not None:
            edits.append((*token, b"%d" % number))
        source = b"".join(piece for piece in frame.forward(edits) if isinstance(piece, bytes))
        raw_token = _bytes_of(frame, token) if token is not None else None
        exchange = Exchange(
            number, frame.id, raw_token, frame.method or "", self.new_stream(f"r{number}"), _wants_logs(frame)
        )
        if self._over:
            exchange.stream.put((error_line(frame.id, _GIVEN_UP),), last=True)
            return exchange
        self._exchanges[number] = exchange
        message = parse_line(source)
        self.hub.from_host(message)
        return exchange

    def new_stream(self, name: str) -> Stream:
        return Stream(name, self._queued)

    def hand(self, frame: Frame) -> None:
        """Hand on a notification, or an answer to a question of a server's."""
        self.touch()
        if frame.method == "notifications/cancelled":
            wanted = frame.part("requestId")
            for exchange in self._named(wanted) if wanted else ():
                self.cancel(exchange)
            return
        self.hub.from_host(frame)

    def _named(self, ident: bytes) -> list[Exchange]:
        """The requests a client means by this id: the latest, if it has used the id more than once."""
        known = same_id(ident)
        return [one for one in self._exchanges.values() if same_id(one.ident) == known][-1:]

    def cancel(self, exchange: Exchange) -> None:
        """The client does not want the answer any more."""
        if self._exchanges.pop(exchange.number, None) is None:
            return
        self.touch()
        params = b'{"requestId":%d}' % exchange.number
        message = parse_line(notification_line("notifications/cancelled", params))
        self.hub.from_host(message)
        exchange.stream.put((error_line(exchange.ident, Failure(CANCELLED, "The request was cancelled.")),), last=True)

    # -- to the client -------------------------------------------------------------------------------------------

    def _to_client(self, pieces: tuple[Piece, ...]) -> None:
        message = Outgoing(pieces)
        try:
            answered = message.answered()
            if answered is not None:
                self._answered(message, *answered)
            else:
                self._said(message, text_of(message.top("method")) or "")
        except NotJson as error:
            log("error", "message_unreadable", reason=str(error))

    def _answered(self, message: Outgoing, number: int, span: tuple[int, int]) -> None:
        exchange = self._exchanges.pop(number, None)
        if exchange is None:
            return
        self.touch()
        self.ended(exchange, message)
        exchange.stream.put(message.replaced(span, exchange.ident), last=True)

    def ended(self, exchange: Exchange, answer: Outgoing) -> None:
        """A request was answered; its stream does not have the answer yet."""

    def _said(self, message: Outgoing, method: str) -> None:
        if method == "notifications/progress":
            span = message.inner_span("params", "progressToken")
            exchange = self._by_number(message.read(*span)) if span else None
            if span and exchange is not None and exchange.token is not None:
                exchange.stream.put(message.replaced(span, exchange.token))
            return
        span = _subscription_of(message)
        if span is not None:
            exchange = self._by_number(message.read(*span))
            if exchange is not None:
                exchange.stream.put(message.replaced(span, exchange.ident))
            return
        self.unclaimed(message, method)

    def _by_number(self, raw: bytes) -> Exchange | None:
        return self._exchanges.get(int(raw)) if raw.isdigit() and len(raw) < 20 else None

    def unclaimed(self, message: Outgoing, method: str) -> None:
        """Something that says of no request that it belongs to it."""
        exchange = self.latest(logs=method == LOGS)
        if exchange is not None:
            exchange.stream.put(message.pieces)
        else:
            log("debug", "message_without_request", method=method)

    def latest(self, *, logs: bool = False) -> Exchange | None:
        """The request that what carries no request's name most likely belongs to: the last one that does something.

        `logs`: of those that want log messages.
        """
        asking = [one for one in self._exchanges.values() if one.method in ASKING and (one.wants_logs or not logs)]
        return asking[-1] if asking else None

    # -- the rest ------------------------------------------------------------------------------------------------

    def _queued(self, stream: Stream) -> None:
        """Leave in their pipes what a client does not take."""
        was_full = bool(self._full)
        if stream.attached and stream.queued > QUEUE:
            self._full.add(stream)
        else:
            self._full.discard(stream)
        if self._full and not was_full:
            self.hub.pause()
        elif was_full and not self._full:
            self.hub.resume()

    def touch(self) -> None:
        self.used_at = self._clock()

    def end_streams(self) -> None:
        """End all responses that would go on."""
        for stream in [*(one.stream for one in self._exchanges.values()), *self.streams.values()]:
            if not stream.over:
                stream.close()

    async def stop(self) -> None:
        """End the servers; whoever still waits is told."""
        self._over = True
        try:
            await self.hub.stop()
        finally:
            self._lease.release()
        for exchange in list(self._exchanges.values()):
            exchange.stream.put((error_line(exchange.ident, _GIVEN_UP),), last=True)
        self._exchanges.clear()


def _wants_logs(frame: Frame) -> bool:
    meta = frame.part("_meta")
    return meta is not None and LOG_LEVEL in meta


def _token_of(frame: Frame) -> tuple[int, int] | None:
    """Where a request's progress token stands."""
    meta = frame.inner.get("_meta")
    raw = frame.part("_meta")
    if meta is None or raw is None or raw[:1] != b"{" or b"progressToken" not in raw:
        return None
    span = members(raw).get("progressToken")
    return (meta[0] + span[0], meta[0] + span[1]) if span else None


def _bytes_of(frame: Frame, span: tuple[int, int]) -> bytes:
    piece = frame.piece(span)
    assert isinstance(piece, bytes)
    return piece


def _subscription_of(message: Outgoing) -> tuple[int, int] | None:
    """Where a notification says to which of the client's subscriptions it belongs."""
    span = message.inner_span("params", "_meta")
    raw = message.read(*span) if span else b""
    if not span or SUBSCRIPTION_ID.encode() not in raw or raw[:1] != b"{":
        return None
    found = members(raw).get(SUBSCRIPTION_ID)
    return (span[0] + found[0], span[0] + found[1]) if found else None
