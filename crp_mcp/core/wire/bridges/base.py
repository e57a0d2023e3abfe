"""What both bridges have in common: the ids a server is asked under, and how a link talks through a bridge.

A bridge stands between a link and its server. The link, and everything above it, speaks the host's era; the server
gets and sends messages of the other one. Loaded only where the two differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from crp_mcp.core.wire.answers import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    Failure,
    dump,
    error_line,
    notification_line,
    request_line,
)
from crp_mcp.core.wire.commands import Load
from crp_mcp.core.wire.frame import Edit, Frame
from crp_mcp.core.wire.requests import REMEMBERED, same_id

from .rewrite import failed

if TYPE_CHECKING:
    from crp_mcp.core.wire.link import Link

NO_METHOD = Failure(METHOD_NOT_FOUND, "Method not found")


class Job:
    """A request of the host's. `outer`: the id under which the link waits for its answer; None while nobody does."""

    __slots__ = ("frame", "inner", "method", "outer", "over")

    def __init__(self, outer: bytes | None, frame: Frame) -> None:
        self.outer = outer
        self.frame = frame
        self.method = frame.method or ""
        self.inner: bytes | None = None
        """The id under which the server has it now."""
        self.over = False


Answered = Callable[[Frame, float], None]


class Bridge:
    """Base of both. `Link` calls `send`, `tell`, `reply`, `cancel`, `closed`; the proxy calls `receive` and `tick`."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.begun_anew = False
        """Whether the connection was begun anew for it once."""
        self._counter = 0
        self._asked: dict[bytes, tuple[Answered, Job | None]] = {}
        """By the server's id: who takes the answer, and the host's request that it is to."""
        self._over: dict[bytes, None] = {}
        self._before = {same_id(pending.wire_id) for pending in link.under_way()}
        """Requests the server had before there was a bridge: their answers are to the link's own ids."""

    # -- to the server -------------------------------------------------------------------------------------------

    def send(self, frame: Frame, wire_id: bytes, edits: list[Edit], now: float, *, ours: bool = False) -> None:
        """A request, under the link's id. `ours`: no host has sent it."""
        raise NotImplementedError

    def tell(self, frame: Frame, now: float) -> None:
        """A notification of the host."""
        raise NotImplementedError

    def reply(self, frame: Frame, ident: bytes, now: float) -> bool:
        """The host's answer to a request with this id. False where the server itself has asked it."""
        return False

    def cancel(self, wire_id: bytes, now: float) -> None:
        """Nobody waits for the answer to this request any more."""
        raise NotImplementedError

    def resumes(self, frame: Frame) -> bool:
        """Whether a request goes on with a call that was made before."""
        return False

    def outgrown(self, meta: bytes | None) -> bytes | None:
        """Params of another greeting, where the host of this request can do more than the server was told."""
        return None

    def closed(self, now: float) -> None:
        """The connection is gone, and with it whatever was asked on it."""
        self._asked.clear()
        self._over.clear()
        self._before.clear()

    def went_before(self, wire_id: bytes) -> bool:
        """Whether the server has this request of the link's as the host wrote it."""
        return same_id(wire_id) in self._before

    def claim(self, take: Answered, job: Job | None = None) -> bytes:
        """An id for a request to the server; `take` gets the answer."""
        self._counter += 1
        while b"%d" % self._counter in self._before:
            self._counter += 1
        ident = b"%d" % self._counter
        self._asked[ident] = (take, job)
        if job is not None:
            job.inner = ident
        return ident

    def put(self, frame: Frame) -> None:
        """Send a message to the server."""
        self.link.raw(frame.forward())

    def ask(self, method: str, params: bytes | None, take: Answered) -> bytes:
        """A request of the bridge's own."""
        ident = self.claim(take)
        self.link.raw((request_line(ident, method, params),))
        return ident

    def refuse(self, ident: bytes, failure: Failure) -> None:
        """Answer a request of the server's by an error."""
        self.link.raw((error_line(ident, failure),))

    def stop(self, ident: bytes, reason: str) -> None:
        """Tell the server that nobody waits for an answer any more. One that comes all the same is expected."""
        self._asked[same_id(ident)] = (_late, None)
        self.link.raw((notification_line("notifications/cancelled", cancelled(ident, reason)),))

    # -- from the server -----------------------------------------------------------------------------------------

    def receive(self, frame: Frame, now: float) -> None:
        """A message of the server's."""
        if frame.method is None:
            self._answered(frame, now)
        elif frame.id is None:
            self.notified(frame, now)
        elif frame.spooled:
            self.link._emit(Load(self.link.name, frame))
        else:
            self.requested(frame, now)

    def _answered(self, frame: Frame, now: float) -> None:
        ident = same_id(frame.id or b"null")
        asked = self._asked.get(ident)
        if asked is None:
            if ident in self._before:
                self.link.answered(frame, now)
                if self.link.requests.find(ident) is None:
                    self._before.discard(ident)
            elif ident not in self._over:
                self.link.mismatched(frame, now)
            return
        take, job = asked
        if frame.spooled and self.needs_whole(frame, job):
            self.link._emit(Load(self.link.name, frame))
            return
        del self._asked[ident]
        self._over[ident] = None
        if len(self._over) > REMEMBERED:
            del self._over[next(iter(self._over))]
        take(frame, now)

    def needs_whole(self, frame: Frame, job: Job | None) -> bool:
        """Whether an answer that is not in memory has to be."""
        if job is None:
            return True
        pending = self.link.requests.find(job.outer) if job.outer is not None else None
        return pending is not None and pending.whole

    def notified(self, frame: Frame, now: float) -> None:
        raise NotImplementedError

    def requested(self, frame: Frame, now: float) -> None:
        raise NotImplementedError

    def deliver(self, frame: Frame, now: float) -> None:
        """Give the link a message in the host's era."""
        self.link.deliver(self.link, frame, now)

    def fail(self, outer: bytes | None, failure: Failure, now: float) -> None:
        """Answer the host's request by an error."""
        if outer is not None:
            self.deliver(failed(outer, failure), now)

    def unreadable(self, ids: Iterable[bytes], text: str, now: float) -> bool:
        """An answer cannot be read. Whoever waits for it is told; False where nobody does."""
        for ident in ids:
            asked = self._asked.pop(same_id(ident), None)
            if asked is not None:
                asked[0](failed(ident, Failure(INTERNAL_ERROR, text)), now)
                return True
        return False

    def finished(self, result: bytes) -> bytes:
        """A result that our own side made out of the server's."""
        return result

    # -- time ----------------------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        """Time has passed."""

    def next_deadline(self) -> float | None:
        return None


def cancelled(ident: bytes, reason: str) -> bytes:
    """Params of `notifications/cancelled`."""
    return b'{"requestId":%b,"reason":%b}' % (ident, dump(reason))


def _late(frame: Frame, now: float) -> None:
    """Nobody waits for this answer."""
