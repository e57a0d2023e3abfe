"""Messages on their way into HTTP responses: one stream for each request of a client, one for what belongs to none.

A stream outlives the connection that reads it: what was sent is kept for a while, within limits, so that a client that
lost its connection can have it again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from crp_mcp.core.wire.frame import Cut, Piece
from crp_mcp.log import log
from crp_mcp.mcp.spool import Spool, SpoolFile

KEPT_EVENTS = 500
KEPT_BYTES = 256 * 1024
"""Of one session in memory; larger messages wait on disk."""
KEPT_ON_DISK = 16 * 1024 * 1024
KEPT_SECONDS = 300.0
LARGE = 32 * 1024
UNREAD_BYTES = 4 * 1024 * 1024
"""So much waits in memory for a client that has not come back; then the oldest goes."""


class Gone(Exception):
    """The client has left."""


class Ended(Exception):
    """Nothing more will come."""


class Event(NamedTuple):
    """One message, numbered within its stream from 1."""

    number: int
    pieces: tuple[Piece, ...]
    last: bool

    @property
    def in_memory(self) -> int:
        return sum(len(piece) for piece in self.pieces if isinstance(piece, bytes))

    @property
    def on_disk(self) -> int:
        return sum(piece.end - piece.start for piece in self.pieces if isinstance(piece, Cut))


class Stream:
    """Messages in order. `name` is part of the event ids; `on_queued`: how much waits has changed."""

    def __init__(self, name: str, on_queued: Callable[[Stream], None] = lambda _: None) -> None:
        self.name = name
        self.waiting: deque[Event] = deque()
        self.kept: deque[Event] = deque()
        self.queued = 0
        """Bytes in memory that wait to be read."""
        self.over = False
        """The last message is there: nothing may follow."""
        self.closed = False
        self.readers: list[Reader] = []
        self.sent = 0
        """Number of the event that was read last."""
        self._count = 0
        self._on_queued = on_queued

    @property
    def attached(self) -> bool:
        return bool(self.readers)

    @property
    def finished(self) -> bool:
        """All of it was read."""
        return self.over and not self.waiting

    def put(self, pieces: tuple[Piece, ...], *, last: bool = False) -> None:
        if self.over or self.closed:
            return
        self._count += 1
        self.over = last
        event = Event(self._count, pieces, last)
        self.waiting.append(event)
        self.queued += event.in_memory
        while not self.readers and len(self.waiting) > 1 and self._is_much():
            # Nobody may ever come for it.
            self.queued -= self.waiting.popleft().in_memory
        self.wake()
        self._on_queued(self)

    def _is_much(self) -> bool:
        return len(self.waiting) > KEPT_EVENTS or self.queued > UNREAD_BYTES

    def lighten(self, light: Callable[[Event], Event]) -> None:
        """Have what is large of what waits put elsewhere: nobody reads at present."""
        for index, event in enumerate(self.waiting):
            if event.in_memory > LARGE:
                self.waiting[index] = light(event)
        self.queued = sum(event.in_memory for event in self.waiting)

    @property
    def on_disk(self) -> int:
        return sum(event.on_disk for event in self.waiting)

    def pop(self) -> Event:
        event = self.waiting.popleft()
        self.sent = event.number
        self.queued -= event.in_memory
        self._on_queued(self)
        return event

    def rewind(self, after: int) -> bool:
        """Have everything after that event read again. False where some of it is not there any more."""
        again = [event for event in self.kept if event.number > after]
        following = again[0] if again else self.waiting[0] if self.waiting else None
        whole = (following.number if following else self._count + 1) == after + 1
        self.kept.clear()
        self.sent = after
        self.waiting.extendleft(reversed(again))
        self.queued = sum(event.in_memory for event in self.waiting)
        return whole

    def close(self) -> None:
        """End it, whoever reads; what waits is lost."""
        self.closed = True
        self.waiting.clear()
        self.kept.clear()
        self.queued = 0
        for reader in self.readers:
            reader.wake()
        self._on_queued(self)

    def wake(self) -> None:
        if self.readers:
            self.readers[-1].wake()

    def left(self) -> None:
        """A reader is gone; an earlier one, if there is any, reads on."""
        self.wake()
        self._on_queued(self)


class Reader:
    """One connection that reads a stream. The newest one gets the messages."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.gone = False
        self._woken = asyncio.Event()
        stream.readers.append(self)

    def wake(self) -> None:
        self._woken.set()

    def leave(self) -> None:
        """The connection is lost, or has no more use for the stream."""
        self.gone = True
        if self in self.stream.readers:
            self.stream.readers.remove(self)
            self.stream.left()
        self.wake()

    async def take(self, seconds: float | None) -> Event | None:
        """The next message; None if there is none within that time.

        Raises:
            Gone: the client has left. Ended: nothing more will come.
        """
        try:
            async with asyncio.timeout(seconds):
                while True:
                    if self.gone:
                        raise Gone
                    if self.stream.closed or self.stream.finished:
                        raise Ended
                    if self.stream.waiting and self.stream.readers[-1] is self:
                        return self.stream.pop()
                    self._woken.clear()
                    await self._woken.wait()
        except TimeoutError:
            return None


class Keep:
    """What was sent in one session, for clients that come back: as much as the limits allow, the oldest goes first."""

    def __init__(self, spool: Spool, clock: Callable[[], float]) -> None:
        self._spool = spool
        self._clock = clock
        self._order: deque[tuple[float, Stream, Event]] = deque()
        self._bytes = 0
        self._on_disk = 0

    def add(self, stream: Stream, event: Event) -> None:
        event = self.light(event)
        stream.kept.append(event)
        self._order.append((self._clock(), stream, event))
        self._bytes += event.in_memory
        self._on_disk += event.on_disk
        self.trim()

    def trim(self) -> None:
        """Let go of what is too much or too old."""
        oldest = self._clock() - KEPT_SECONDS
        while self._order and (
            len(self._order) > KEPT_EVENTS
            or self._bytes > KEPT_BYTES
            or self._on_disk > KEPT_ON_DISK
            or self._order[0][0] < oldest
        ):
            _, stream, event = self._order.popleft()
            self._bytes -= event.in_memory
            self._on_disk -= event.on_disk
            if stream.kept and stream.kept[0] is event:
                stream.kept.popleft()

    def too_much(self, streams: Iterable[Stream]) -> list[Stream]:
        """Of streams that nobody reads, the oldest first, those whose messages are more than may wait."""
        unread = [one for one in streams if one.waiting and not one.attached]
        for stream in unread:
            stream.lighten(self.light)
        memory, disk = sum(one.queued for one in unread), sum(one.on_disk for one in unread)
        gone = 0
        while memory > KEPT_BYTES or disk > KEPT_ON_DISK or len(unread) - gone > KEPT_EVENTS:
            memory, disk = memory - unread[gone].queued, disk - unread[gone].on_disk
            gone += 1
        return unread[:gone]

    def light(self, event: Event) -> Event:
        """The event with what is large of it on disk; as it is where nothing can be stored."""
        if event.in_memory <= LARGE:
            return event
        try:
            return event._replace(pieces=tuple(map(self._store, event.pieces)))
        except OSError as error:
            log("warning", "spool_failed", reason=str(error))
            return event

    def _store(self, piece: Piece) -> Piece:
        if not isinstance(piece, bytes) or len(piece) <= LARGE // 8:
            return piece
        file: SpoolFile = self._spool.new()
        file.write(piece)
        return Cut(file, 0, file.size)
