"""One server's connection: what waits for it to be ready, how answers come back, what a restart must repeat.

Does not know what the messages mean. Times are seconds of any steady clock, passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .answers import CONNECTION_CLOSED, INTERNAL_ERROR, REQUEST_TIMEOUT, Failure, notification_line, request_line
from .commands import Close, Command, Load, Log, Open, ServerRules, ToServer
from .frame import Edit, Frame, Piece, text_of
from .requests import Done, Outcome, Pending, Requests

LONGEST_HOLD = 5.0
"""A request waits this long for a server that may not be restarted yet; if it would be longer, it fails at once."""
BACKOFF = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
STEADY_SECONDS = 30.0
"""A server that ran this long had a good start: the backoff begins anew."""


class Link:
    """State of the connection to one server. `emit` takes the commands."""

    def __init__(self, rules: ServerRules, emit: Callable[[Command], None], *, keep_ids: bool) -> None:
        self.rules = rules
        self.name = rules.name
        self.state = "down"
        self.ready = False
        self.greeted = False
        """Whether this connection's handshake was answered."""
        self.generation = 0
        self.greeting: bytes | None = None
        """Params of the `initialize` to send first on every new connection; None before the host sent one."""
        self.on_greeted: Callable[[Link, Outcome, float], None] | None = None
        self.after_greeting: list[bytes] = []
        """Requests that put a restarted server back where it was: log level, subscriptions."""
        self.requests = Requests(keep_ids=keep_ids)
        self._emit = emit
        self._waiting: list[tuple[bytes | None, tuple[Piece, ...]]] = []
        self._failures = 0
        self._not_before = 0.0
        self._opened_at = 0.0
        self._greeting_due = False
        self._told = 0
        """How many messages that need no answer were sent on this connection."""
        self._told_before = 0
        """How many of them the server must have read, since it has answered a request sent after them."""

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
        if wire_id != frame.id:
            edits = [*edits, frame.with_id(wire_id)]
        pending = self._expect(wire_id, frame.method or "", done, now, idle=idle, whole=whole, token=token)
        self._send(wire_id, frame.forward(edits), now)
        return pending

    def ask(self, method: str, params: bytes | None, done: Done, now: float, *, idle: float | None = None) -> Pending:
        """Send a request of our own."""
        wire_id = self.requests.claim(None)
        pending = self._expect(wire_id, method, done, now, idle=idle, whole=True)
        self._send(wire_id, (request_line(wire_id, method, params),), now)
        return pending

    def tell(self, pieces: tuple[Piece, ...]) -> None:
        """Send a notification or an answer. It is lost where the server is down: nobody there could know it."""
        if self.ready:
            self._told += 1
            self._emit(ToServer(self.name, pieces))
        elif self.state != "down":
            self._waiting.append((None, pieces))

    def abandon(self, pending: Pending, now: float) -> bool:
        """Nobody waits for the answer any more. True where the server has seen the request and should be told."""
        if not self.requests.abandon(pending, now):
            return False
        for index, (wire_id, _) in enumerate(self._waiting):
            if wire_id == pending.wire_id:
                del self._waiting[index]
                self.requests.forget(pending)
                return False
        return True

    def _expect(
        self, wire_id: bytes, method: str, done: Done, now: float, *, idle: float | None = None, **more: Any
    ) -> Pending:
        seconds = self.rules.idle if idle is None else idle
        pending = self.requests.expect(wire_id, method, done, now, idle=seconds, ceiling=self.rules.ceiling, **more)
        pending.told_before = self._told
        return pending

    def _send(self, wire_id: bytes | None, pieces: tuple[Piece, ...], now: float) -> None:
        if self.ready:
            self._emit(ToServer(self.name, pieces))
            return
        self._waiting.append((wire_id, pieces))
        self.open(now)

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
        for ident in ids:
            pending = self.requests.find(ident)
            if pending is not None:
                text = f"The MCP server {self.name!r} sent an answer that cannot be read ({reason})."
                self._settle(pending, Failure(CONNECTION_CLOSED, text), now)
                return True
        return False

    def _unmatched(self, frame: Frame, now: float) -> None:
        assert frame.id is not None
        self._emit(Log("warning", "answer_unexpected", {"server": self.name}))
        if frame.id == b"null":
            self.strayed(frame, now)
        elif not self.requests.was_answered(frame.id):
            self._fail_only_one(now)

    def strayed(self, frame: Frame, now: float) -> None:
        """An answer without an id. Some servers answer notifications in this way; else it is a request's."""
        may_be_of_a_notification = "error" in frame.top or not frame.inner
        if not (may_be_of_a_notification and self._told > self._told_before):
            self._fail_only_one(now)

    def _fail_only_one(self, now: float) -> None:
        """An answer came that matches nothing. Where only one request can be meant, its answer is lost."""
        queued = {wire_id for wire_id, _ in self._waiting}
        meant = [pending for pending in self.requests.outstanding() if pending.wire_id not in queued]
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
            if self.abandon(pending, now) and pending.method != "initialize":
                params = b'{"requestId":%b,"reason":"timed out"}' % pending.wire_id
                self.tell((notification_line("notifications/cancelled", params),))
            self._emit(Log("warning", "request_timeout", {"server": self.name, "method": pending.method}))
            pending.done(Failure(REQUEST_TIMEOUT, text), now)

    # -- the connection ------------------------------------------------------------------------------------------

    def open(self, now: float) -> None:
        """Have the server started unless it runs. Where it failed too often lately, what waits for it fails."""
        if self.state != "down":
            return
        delay = max(0.0, self._not_before - now)
        if delay > LONGEST_HOLD:
            text = f"The MCP server {self.name!r} keeps failing; it is started again in {delay:.0f} s at the earliest."
            self._fail_all(Failure(CONNECTION_CLOSED, text), now)
            return
        self.state = "opening"
        self._emit(Open(self.name, delay))

    def opened(self, now: float) -> None:
        """The server runs. It is greeted first if the host has greeted us."""
        self.state = "open"
        self.generation += 1
        self._opened_at = now
        self._told = self._told_before = 0
        if self.greeting is None:
            self._flush()
        else:
            self._send_greeting(now)

    def greet(self, params: bytes, now: float) -> None:
        """Send `initialize` with these params, now and after every restart; everything else waits for the answer."""
        self.greeting = params
        self.ready, self._greeting_due = False, True
        if self.state == "open":
            self._send_greeting(now)
        else:
            self.open(now)

    def _send_greeting(self, now: float) -> None:
        self.greeted, self._greeting_due = False, True
        wire_id = self.requests.claim(None)
        self._expect(wire_id, "initialize", self._greeting_answered, now, idle=self.rules.handshake, whole=True)
        self._emit(ToServer(self.name, (request_line(wire_id, "initialize", self.greeting),)))

    def _greeting_answered(self, outcome: Outcome, now: float) -> None:
        if isinstance(outcome, Frame) and "result" in outcome.top:
            self.greeted, self._greeting_due = True, False
            if self.on_greeted:
                self.on_greeted(self, outcome, now)
            else:
                self.start_session(now)
            return
        if isinstance(outcome, Frame):
            why = text_of(outcome.part("message")) or "no reason given"
            outcome = Failure(CONNECTION_CLOSED, f"The MCP server {self.name!r} refused the handshake: {why}")
        self._greeting_failed(outcome, now)
        if self.state == "open":
            self._emit(Close(self.name))
            self.closed("did not complete the handshake", now)

    def _greeting_failed(self, failure: Failure, now: float) -> None:
        if self._greeting_due and self.on_greeted:
            self._greeting_due = False
            self.on_greeted(self, failure, now)

    def start_session(self, now: float) -> None:
        """The handshake is complete: tell the server, and let everything through."""
        if self.ready:
            return
        self._told += 1
        self._emit(ToServer(self.name, (notification_line("notifications/initialized"),)))
        for line in self.after_greeting:
            wire_id = self.requests.claim(None)
            self._expect(wire_id, "(again)", _ignore, now, idle=self.rules.handshake)
            self._emit(ToServer(self.name, (line.replace(b"@ID@", wire_id, 1),)))
        self._flush()

    def _flush(self) -> None:
        self.ready = True
        waiting, self._waiting = self._waiting, []
        for _, pieces in waiting:
            self._emit(ToServer(self.name, pieces))

    def closed(self, reason: str, now: float) -> None:
        """The connection is gone. Whoever waits is told why; the next request starts the server again."""
        if self.state == "down":
            return
        if self.state == "open" and now - self._opened_at >= STEADY_SECONDS:
            self._failures = 0
        self.state, self.ready, self.greeted = "down", False, False
        self._not_before = now + BACKOFF[min(self._failures, len(BACKOFF) - 1)]
        self._failures += 1
        self._emit(Log("warning", "server_closed", {"server": self.name, "reason": reason}))
        text = f"The MCP server {self.name!r} {reason}; it is started again on the next request."
        self._fail_all(Failure(CONNECTION_CLOSED, text), now)

    def _fail_all(self, failure: Failure, now: float) -> None:
        self._waiting.clear()
        for pending in self.requests.forget_all():
            pending.done(failure, now)
        self._greeting_failed(failure, now)

    def remember(self, frame: Frame) -> None:
        """Keep a request that a restarted server must be sent again: the log level, the subscriptions."""
        params = frame.top_piece("params")
        if not isinstance(params, bytes) or frame.method is None:
            return
        line = request_line(b"@ID@", frame.method.replace("unsubscribe", "subscribe"), params)
        same = line if frame.method != "logging/setLevel" else b'"logging/setLevel"'
        self.after_greeting = [earlier for earlier in self.after_greeting if same not in earlier]
        if frame.method != "resources/unsubscribe":
            self.after_greeting.append(line)


def _ignore(outcome: Outcome, now: float) -> None:
    """Nobody waits for this answer."""
