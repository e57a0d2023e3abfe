"""What is asked of one server and what it has not answered: ids, time limits, what waits for the server to be ready.

Does not know what the messages mean. Times are seconds of any steady clock, passed in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .answers import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    REQUEST_TIMEOUT,
    Failure,
    error_line,
    notification_line,
    request_line,
)
from .commands import Load, Log, ToServer
from .connecting import Connecting
from .frame import Edit, Frame, Piece, make
from .requests import ENDLESS, Done, Outcome, Pending


class Link(Connecting):
    """The connection to one server, and the requests on it."""

    # -- requests ------------------------------------------------------------------------------------------------

    def forward(
        self,
        frame: Frame,
        done: Done,
        now: float,
        *,
        edits: Iterable[Edit] = (),
        token: bytes | None = None,
        whole: bool = False,
        idle: float | None = None,
    ) -> Pending:
        """Pass a host's request on. The id stays the host's own unless it is taken."""
        assert frame.id is not None
        wire_id = self.requests.claim(frame.id)
        pending = self._expect(wire_id, frame.method or "", done, now, idle=idle, whole=whole, token=token)
        edits = list(edits)
        if self.ready:
            self._put(frame, wire_id, now, edits)
        else:
            self._wait(wire_id, lambda at: self._put(frame, wire_id, at, edits), now)
        return pending

    def ask(self, method: str, params: bytes | None, done: Done, now: float, *, idle: float | None = None) -> Pending:
        """Send a request of our own."""
        wire_id = self.requests.claim(None)
        pending = self._expect(wire_id, method, done, now, idle=idle, whole=True)
        line = request_line(wire_id, method, params)
        if self.ready:
            self._put_own(line, wire_id, now)
        else:
            self._wait(wire_id, lambda at: self._put_own(line, wire_id, at), now)
        return pending

    def _put(self, frame: Frame, wire_id: bytes, now: float, edits: list[Edit] | None = None) -> None:
        if self.bridge is not None:
            self.bridge.send(frame, wire_id, edits or [], now)
            return
        if wire_id != frame.id:
            edits = [*(edits or ()), frame.with_id(wire_id)]
        self._emit(ToServer(self.name, frame.forward(edits or ())))

    def _put_own(self, line: bytes, wire_id: bytes, now: float) -> None:
        if self.bridge is not None:
            self.bridge.send(make(line), wire_id, [], now, ours=True)
        else:
            self._emit(ToServer(self.name, (line,)))

    def _wait(self, wire_id: bytes, send: Any, now: float) -> None:
        self._waiting.append((wire_id, send))
        self.open(now)

    def tell(self, pieces: tuple[Piece, ...]) -> None:
        """Send a notification or an answer. It is lost where the server is down: nobody there could know it."""
        if self.ready:
            self._told += 1
            self._emit(ToServer(self.name, pieces))
        elif self.state != "down":
            self._waiting.append((None, lambda now: self._emit(ToServer(self.name, pieces))))

    def notify(self, frame: Frame, now: float) -> None:
        """Pass a host's notification on."""
        if self._holding:
            self._waiting.append((None, lambda at: self.notify(frame, at)))
        elif self.bridge is None:
            self.tell(frame.forward())
        elif self.ready:
            self.bridge.tell(frame, now)

    def reply(self, frame: Frame, ident: bytes, now: float) -> None:
        """Pass on the host's answer to what the server asked under this id."""
        if self.bridge is None or not self.bridge.reply(frame, ident, now):
            self.tell(frame.forward([frame.with_id(ident)] if ident != frame.id else ()))

    def refuse(self, ident: bytes, failure: Failure, now: float) -> None:
        """What the server asked under this id is answered by an error of ours."""
        line = error_line(ident, failure)
        if self.bridge is None or not self.bridge.reply(make(line), ident, now):
            self.tell((line,))

    def cancel(self, pending: Pending, now: float, frame: Frame | None = None) -> None:
        """Nobody waits for the answer any more; the server is told so where it has seen the request.

        `frame`: the host's own notification.
        """
        if not self.abandon(pending, now):
            return
        if self.bridge is not None and not self.bridge.went_before(pending.wire_id):
            self.bridge.cancel(pending.wire_id, now)
        elif frame is not None:
            span = frame.inner["requestId"]
            same = frame.part("requestId") == pending.wire_id
            self.tell(frame.forward([] if same else [(*span, pending.wire_id)]))
        elif pending.method != "initialize":
            params = b'{"requestId":%b,"reason":"timed out"}' % pending.wire_id
            self.tell((notification_line("notifications/cancelled", params),))

    def abandon(self, pending: Pending, now: float) -> bool:
        """Nobody waits for the answer any more. True where the server has seen the request and should be told."""
        if not self.requests.abandon(pending, now):
            return False
        for index, (wire_id, _) in enumerate(self._waiting):
            if wire_id == pending.wire_id:
                del self._waiting[index]
                self.requests.forget(pending)
                return False
        if self.bridge is not None and not self.bridge.went_before(pending.wire_id):
            # The bridge expects late answers by ids of its own.
            self.requests.forget(pending)
        return True

    def under_way(self) -> list[Pending]:
        """What the server has been sent and has not answered, also where nobody waits for it any more."""
        queued = {wire_id for wire_id, _ in self._waiting}
        return [pending for pending in self.requests if pending.wire_id not in queued]

    def _expect(
        self, wire_id: bytes, method: str, done: Done, now: float, *, idle: float | None = None, **more: Any
    ) -> Pending:
        seconds = self.rules.idle if idle is None else idle
        pending = self.requests.expect(wire_id, method, done, now, idle=seconds, ceiling=self.rules.ceiling, **more)
        pending.told_before = self._told
        return pending

    # -- answers -------------------------------------------------------------------------------------------------

    def answered(self, frame: Frame, now: float) -> None:
        """The server answered; whoever waits is told."""
        assert frame.id is not None
        pending = self.requests.find(frame.id)
        if pending is None:
            self._unmatched(frame, now)
            return
        self._told_before = max(self._told_before, pending.told_before)
        if pending.whole and frame.spooled and not pending.abandoned:
            self._emit(Load(self.name, frame))
        else:
            self._settle(pending, frame, now)

    def unreadable(self, ids: Iterable[bytes], reason: str, now: float) -> bool:
        """An answer arrived that cannot be read. Fails the request it seems to answer; False where there is none."""
        text = f"The MCP server {self.name!r} sent an answer that cannot be read ({reason})."
        if self.bridge is not None and self.bridge.unreadable(ids, text, now):
            return True
        for ident in ids:
            pending = self.requests.find(ident)
            if pending is not None and (self.bridge is None or self.bridge.went_before(ident)):
                self._settle(pending, Failure(CONNECTION_CLOSED, text), now)
                return True
        return False

    def _unmatched(self, frame: Frame, now: float) -> None:
        assert frame.id is not None
        if frame.id == b"null" or not self.requests.was_answered(frame.id):
            self.mismatched(frame, now)
        else:
            self._emit(Log("warning", "answer_unexpected", {"server": self.name}))

    def mismatched(self, frame: Frame, now: float) -> None:
        """An answer came whose id is that of no request."""
        self._emit(Log("warning", "answer_unexpected", {"server": self.name}))
        if frame.id == b"null":
            self.strayed(frame, now)
        else:
            self._fail_only_one(now)

    def strayed(self, frame: Frame, now: float) -> None:
        """An answer without an id. Some servers answer notifications in this way; else it is a request's."""
        may_be_of_a_notification = "error" in frame.top or not frame.inner
        if not (may_be_of_a_notification and self._told > self._told_before):
            self._fail_only_one(now)

    def _fail_only_one(self, now: float) -> None:
        """An answer came that matches nothing. Where only one request can be meant, its answer is lost."""
        meant = [pending for pending in self.under_way() if pending.method not in ENDLESS]
        if len(meant) == 1 and not meant[0].abandoned:
            text = (
                f"The MCP server {self.name!r} sent an answer whose id is that of no request; "
                "this was the only one that it had not answered."
            )
            self._settle(meant[0], Failure(CONNECTION_CLOSED, text), now)

    def progressed(self, token: bytes, now: float) -> bool:
        """A sign of life from a request: it may take longer. False where no request has this token."""
        pending = self.requests.with_token(token)
        if pending is None:
            return False
        pending.deadline = min(now + pending.idle, pending.latest)
        return True

    def _settle(self, pending: Pending, outcome: Outcome, now: float) -> None:
        self.requests.forget(pending)
        if pending.abandoned:
            return
        try:
            pending.done(outcome, now)
        except (LookupError, TypeError, ValueError) as error:
            # What came is JSON, but not of the form it must have. Whoever waits is told; `done` can do that much.
            self._emit(Log("error", "answer_not_understood", {"server": self.name, "reason": str(error)}))
            text = f"The MCP server {self.name!r} answered {pending.method} in a form that is not understood."
            pending.done(Failure(INTERNAL_ERROR, text), now)

    def expire(self, now: float, *, asking: bool = False) -> None:
        """Give up on requests whose time is over, and tell the server so.

        `asking`: the server waits for an answer of the host's user; meanwhile only the ceiling counts.
        """
        if asking:
            self.requests.touch(now)
        for pending in self.requests.due(now):
            waited = "in all" if now >= pending.latest else "without a sign of progress"
            text = f"The MCP server {self.name!r} did not answer within {pending.idle:g} s ({waited})."
            self.cancel(pending, now)
            self._emit(Log("warning", "request_timeout", {"server": self.name, "method": pending.method}))
            pending.done(Failure(REQUEST_TIMEOUT, text), now)
