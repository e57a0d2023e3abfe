"""A stream of messages as one HTTP response: JSON where the answer comes first and soon, else events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import NamedTuple

from crp_mcp.core.wire.frame import Piece, size_of

from .outgoing import Outgoing, chunks
from .request import EVENTS, JSON, Headers, Refusal, Request
from .stream import Ended, Event, Gone, Reader, Stream

SOON_SECONDS = 10.0
"""An answer that takes longer comes as an event, so that the connection is kept alive meanwhile."""
PING_SECONDS = 15.0
RETRY_MILLISECONDS = 1000
EVENT_HEADERS = (
    ("content-type", EVENTS),
    ("cache-control", "no-cache, no-transform"),
    ("x-accel-buffering", "no"),
)


class Way(NamedTuple):
    """How a stream is sent."""

    headers: Callable[[], Headers] = tuple
    status: Callable[[Outgoing], tuple[int, Headers]] = lambda message: (200, ())
    """Status and further headers of an answer that is sent as JSON."""
    numbered: bool = False
    """Whether events carry ids, so that a client can come back for what it missed."""
    primed: bool = False
    """Whether the first event is an empty one that carries an id."""
    on_sent: Callable[[Event], None] = lambda event: None
    """An event is on its way, which the client may ask for again. An answer in JSON it can not."""


async def respond(request: Request, stream: Stream, way: Way, *, soon: float = SOON_SECONDS) -> bool:
    """Send what the stream brings until its last message. False where the client left before that.

    `soon` 0: events from the start.
    """
    reader = Reader(stream)
    watch = asyncio.ensure_future(request.gone())
    watch.add_done_callback(lambda _: reader.leave())
    try:
        first = await reader.take(soon) if soon else None
        if first is not None and first.last:
            await _send_json(request, first, way)
        else:
            await _send_events(request, reader, first, way)
    except Gone:
        return False
    except Ended:
        if not request.status:
            raise Refusal(503, "The connection to the servers was closed before they answered.") from None
        await request.write(b"", more=False)
    finally:
        watch.cancel()
        reader.leave()
    return True


async def _send_json(request: Request, event: Event, way: Way) -> None:
    status, headers = way.status(Outgoing(event.pieces))
    length = ("content-length", str(sum(map(size_of, event.pieces))))
    await request.start(status, [("content-type", JSON), length, *way.headers(), *headers])
    for chunk in chunks(event.pieces):
        await request.write(chunk, more=True)
    await request.write(b"", more=False)


async def _send_events(request: Request, reader: Reader, event: Event | None, way: Way) -> None:
    await request.start(200, [*EVENT_HEADERS, *way.headers()])
    name = reader.stream.name
    if way.primed:
        number = event.number - 1 if event else reader.stream.sent
        await request.write(
            b"id: %b-%d\nretry: %d\ndata: \n\n" % (name.encode(), number, RETRY_MILLISECONDS), more=True
        )
    while True:
        if event is not None:
            ident = f"{name}-{event.number}" if way.numbered else ""
            # Before it is: a client that breaks off in the middle of it comes back for it.
            way.on_sent(event)
            for chunk in event_chunks(event.pieces, ident):
                await request.write(chunk, more=True)
            if event.last:
                await request.write(b"", more=False)
                return
        event = await reader.take(PING_SECONDS)
        if event is None:
            await request.write(b": \n\n", more=True)


def event_chunks(pieces: tuple[Piece, ...], ident: str) -> Iterator[bytes]:
    """A message as one event. Line ends can only be white space between its tokens, so spaces stand for them."""
    start = b"event: message\n" + (b"id: %b\n" % ident.encode() if ident else b"") + b"data: "
    for chunk in chunks(pieces):
        yield start + chunk.replace(b"\r", b" ").replace(b"\n", b" ")
        start = b""
    yield b"\n\n"
