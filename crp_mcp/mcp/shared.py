"""Servers that several hosts of one tenant use over one connection each (`shared: true`). Who said what is `Sharing`'s.

A member is an `Upstream` like any other; the connection behind it is opened by the first and ended some time after the
last. The two eras cannot be mixed on one connection, so each era has its own.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from crp_mcp.core.wire.eras import HANDSHAKE, MODERN, is_modern
from crp_mcp.core.wire.frame import Frame, Malformed, Piece, parse_line
from crp_mcp.core.wire.sharing import Sharing, Step, ToShared
from crp_mcp.errors import UpstreamError

from .spool import SpoolFile
from .upstream import Events, Means, Upstream, open_upstream

if TYPE_CHECKING:
    from .framing import Message
    from .spec import ServerSpec

LINGER_SECONDS = 60.0
"""How long a connection that nobody uses is kept for who comes next."""
MOST_HELD = 10_000
"""Messages kept for a member whose host takes none; one that lets more pile up loses the connection."""


class SharedServers:
    """The shared connections of one tenant. `close` ends them all."""

    def __init__(self, means: Means, linger: float = LINGER_SECONDS) -> None:
        self._means = means
        self._linger = linger
        self._lines: dict[tuple[str, str], Line] = {}
        self._numbers = itertools.count(1)

    def join(self, spec: ServerSpec, events: Events) -> Upstream:
        """A connection to the server for one more host."""
        return Member(next(self._numbers), events, lambda era: self._line(spec, era))

    def _line(self, spec: ServerSpec, era: str) -> Line:
        key = (spec.name, era)
        line = self._lines.get(key)
        if line is None or line.over:
            line = self._lines[key] = Line(spec, self._means, self._linger)
        return line

    async def close(self) -> None:
        """End every connection."""
        lines, self._lines = list(self._lines.values()), {}
        await asyncio.gather(*(line.stop() for line in lines))


class Line:
    """One connection and its members. Raises UpstreamError where it cannot be opened."""

    def __init__(self, spec: ServerSpec, means: Means, linger: float) -> None:
        self.over = False
        self._sharing = Sharing()
        self._members: dict[int, Member] = {}
        self._linger = linger
        self._ending: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._upstream = open_upstream(spec, means, Events(self._arrived, self._closed, self._queued))

    @property
    def queued(self) -> int:
        return self._upstream.queued

    def join(self, member: Member) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
        self._members[member.number] = member
        self._sharing.join(member.number)

    def leave(self, member: Member) -> None:
        if self._members.pop(member.number, None) is None or self.over:
            return
        self._carry_out(self._sharing.leave(member.number))
        if not self._members:
            self._ending = self._loop.call_later(self._linger, self._end)

    def send(self, member: Member, frame: Frame) -> None:
        self._carry_out(self._sharing.from_member(member.number, frame))

    def _arrived(self, message: Message) -> None:
        for one in message if isinstance(message, list) else (message,):
            self._carry_out(self._sharing.from_server(one))

    def _carry_out(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if isinstance(step, ToShared):
                self._upstream.send(step.pieces)
            elif step.member in self._members:
                self._members[step.member].take(step.message)

    def _queued(self) -> None:
        for member in self._members.values():
            member.events.on_queued()

    def _closed(self, reason: str) -> None:
        self.over = True
        for member in list(self._members.values()):
            member.lost(reason)
        self._members.clear()
        self._task = self._loop.create_task(self.stop())

    def _end(self) -> None:
        self._ending, self.over = None, True
        self._task = self._loop.create_task(self.stop())

    async def stop(self) -> None:
        self.over = True
        if self._ending is not None:
            self._ending.cancel()
        await self._upstream.stop()


class Member:
    """One host's use of a shared server."""

    def __init__(self, number: int, events: Events, line: Callable[[str], Line]) -> None:
        self.number = number
        self.events = events
        self._find = line
        self._line: Line | None = None
        self._era = ""
        self._loop = asyncio.get_running_loop()
        self._held: deque[Frame | Malformed] = deque()
        self._paused = self._over = False

    @property
    def queued(self) -> int:
        return self._line.queued if self._line is not None else 0

    def send(self, pieces: tuple[Piece, ...]) -> None:
        frame = parse_line(b"".join(map(_bytes_of, pieces)))
        if self._over or not isinstance(frame, Frame):
            return
        if frame.method is not None and frame.id is not None:
            self._turn_to(MODERN if is_modern(frame) else HANDSHAKE if frame.method == "initialize" else self._era)
        if self._line is not None:
            self._line.send(self, frame)

    def _turn_to(self, era: str) -> None:
        """A host that is refused in one era goes on in the other."""
        era = era or HANDSHAKE
        if self._line is not None and (era == self._era or self._line.over):
            return
        self._leave()
        try:
            self._line, self._era = self._find(era), era
        except UpstreamError as error:
            self._loop.call_soon(self.lost, str(error))
            return
        self._line.join(self)

    def take(self, message: Frame | Malformed) -> None:
        """Something arrived for this host."""
        if self._paused or self._held:
            self._held.append(message)
            if len(self._held) > MOST_HELD:
                self.lost("was cut off from a host that does not take what it sends")
                self._leave()
        else:
            self.events.on_message(message)

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        if self._paused:
            self._paused = False
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        while self._held and not self._paused and not self._over:
            self.events.on_message(self._held.popleft())

    def lost(self, reason: str) -> None:
        """The connection is over."""
        if not self._over:
            self._deliver()
            self._over = True
            self._held.clear()
            self.events.on_closed(reason)

    def _leave(self) -> None:
        if self._line is not None:
            self._line.leave(self)

    async def stop(self) -> None:
        self._over = True
        self._held.clear()
        self._leave()


def _bytes_of(piece: Piece) -> bytes:
    if isinstance(piece, bytes):
        return piece
    assert isinstance(piece.source, SpoolFile)
    return piece.source.read(piece.start, piece.end)
