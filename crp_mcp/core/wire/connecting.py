"""One server's connection coming and going: started, probed or greeted first, started again after it ended.

The base of `Link`, which owns what is asked of the server. Times are seconds of any steady clock, passed in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .answers import CONNECTION_CLOSED, Failure, notification_line, request_line
from .commands import Close, Command, Log, Open, ServerRules, ToServer
from .eras import turned_away
from .frame import Frame, Piece, make, text_of
from .requests import Done, Outcome, Pending, Requests

if TYPE_CHECKING:
    from .bridges.base import Bridge
    from .link import Link

LONGEST_HOLD = 5.0
"""A request waits this long for a server that may not be restarted yet; if it would be longer, it fails at once."""
BACKOFF = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
STEADY_SECONDS = 30.0
"""A server that ran this long had a good start: the backoff begins anew."""


class Connecting:
    """State of the connection to one server. `emit` takes the commands."""

    def __init__(self, rules: ServerRules, emit: Callable[[Command], None], *, keep_ids: bool) -> None:
        self.rules = rules
        self.name = rules.name
        self.state = "down"
        self.ready = False
        self.greeted = False
        """Whether this connection's handshake was answered."""
        self.generation = 0
        self.era: str | None = None
        """The era the server speaks, once that is known."""
        self.bridge: Bridge | None = None
        """What makes the server speak the host's era; None where it does so by itself."""
        self.deliver: Callable[[Link, Frame, float], None] = lambda link, frame, now: None
        """Takes a message that a bridge has made of what the server said."""
        self.greeting: bytes | None = None
        """Params of the `initialize` to send first on every new connection; None before the host sent one."""
        self.on_greeted: Callable[[Link, Outcome, float], None] | None = None
        self.on_refused: Callable[[Link, Frame, float], bool] | None = None
        """Asked when the server refuses the handshake: True where it has found another way."""
        self.after_greeting: dict[str, bytes] = {}
        """Requests that put a restarted server back where it was: subscriptions, by what they are to, and log level."""
        self.requests = Requests(keep_ids=keep_ids)
        self._emit = emit
        self._waiting: list[tuple[bytes | None, Callable[[float], None]]] = []
        self._failures = 0
        self._not_before = 0.0
        self._opened_at = 0.0
        self._greeting_due = False
        self._holding = False
        self._probe: tuple[bytes, Done, float] | None = None
        self._told = 0
        """How many messages that need no answer were sent on this connection."""
        self._told_before = 0
        """How many of them the server must have read, since it has answered a request sent after them."""

    # -- what `Link` does ----------------------------------------------------------------------------------------

    def _expect(self, wire_id: bytes, method: str, done: Done, now: float, **more: Any) -> Pending:
        raise NotImplementedError

    def _put(self, frame: Frame, wire_id: bytes, now: float) -> None:
        raise NotImplementedError

    # -- opening -------------------------------------------------------------------------------------------------

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
        """The server runs. It is probed or greeted first where that is due."""
        self.state = "open"
        self.generation += 1
        self._opened_at = now
        self._told = self._told_before = 0
        if self._probe is not None:
            self._send_probe(now)
        elif self._holding:
            ((_, send), *self._waiting) = self._waiting
            send(now)
        elif self.greeting is None:
            self._flush(now)
        else:
            self._send_greeting(now)

    def probe(self, params: bytes, done: Done, now: float, *, seconds: float) -> None:
        """Ask the server whether it speaks 2026-07-28. Everything else waits until `done` has said `admit` or `greet`,
        also where the server ends over the question."""
        self._probe = (params, done, seconds)
        self.ready = False
        if self.state == "open":
            self._send_probe(now)
        else:
            self.open(now)

    def _send_probe(self, now: float) -> None:
        assert self._probe is not None
        params, done, seconds = self._probe
        wire_id = self.requests.claim(None)

        def answered(outcome: Outcome, at: float) -> None:
            self._probe = None
            done(outcome, at)

        self._expect(wire_id, "server/discover", answered, now, idle=seconds)
        self._emit(ToServer(self.name, (request_line(wire_id, "server/discover", params),)))

    @property
    def probing(self) -> bool:
        """Whether the server's era is being found out."""
        return self._probe is not None

    def hold(self) -> None:
        """Let nothing follow what was just sent, or is the first to be sent, until `admit`."""
        self.ready, self._holding = False, True

    def admit(self, now: float) -> None:
        """Nothing has to come first any more: let everything through."""
        self._holding = False
        if self.state == "open":
            self._flush(now)

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
        self._put(make(request_line(wire_id, "initialize", self.greeting)), wire_id, now)

    def _greeting_answered(self, outcome: Outcome, now: float) -> None:
        if isinstance(outcome, Frame) and "result" in outcome.top:
            self.greeted, self._greeting_due = True, False
            if self.on_greeted:
                self.on_greeted(self, outcome, now)  # type: ignore[arg-type]
            else:
                self.start_session(now)
            return
        if isinstance(outcome, Frame):
            refusal = turned_away(outcome)
            if refusal is not None:
                self.turned_away(refusal, now)
                return
            if self.on_refused and self.on_refused(self, outcome, now):  # type: ignore[arg-type]
                return
            why = text_of(outcome.part("message")) or "no reason given"
            outcome = Failure(CONNECTION_CLOSED, f"The MCP server {self.name!r} refused the handshake: {why}")
        self._greeting_failed(outcome, now)
        if self.state == "open":
            self._emit(Close(self.name))
            self.closed("did not complete the handshake", now)

    def _greeting_failed(self, failure: Failure, now: float) -> None:
        if self._greeting_due and self.on_greeted:
            self._greeting_due = False
            self.on_greeted(self, failure, now)  # type: ignore[arg-type]

    def start_session(self, now: float) -> None:
        """The handshake is complete: tell the server, and let everything through."""
        if self.ready:
            return
        self._told += 1
        if self.bridge is None:
            self._emit(ToServer(self.name, (notification_line("notifications/initialized"),)))
        else:
            self.bridge.tell(make(notification_line("notifications/initialized")), now)
        for line in self.after_greeting.values():
            wire_id = self.requests.claim(None)
            self._expect(wire_id, "(again)", _ignore, now, idle=self.rules.handshake)
            self._put(make(line.replace(b"@ID@", wire_id, 1)), wire_id, now)
        self._flush(now)

    def _flush(self, now: float) -> None:
        self.ready = True
        waiting, self._waiting = self._waiting, []
        for _, send in waiting:
            send(now)

    # -- the end -------------------------------------------------------------------------------------------------

    def closed(self, reason: str, now: float) -> None:
        """The connection is gone. Whoever waits is told why; the next request starts the server again."""
        if self.state == "down":
            return
        was_open = self.state == "open"
        if was_open and now - self._opened_at >= STEADY_SECONDS:
            self._failures = 0
        self.state, self.ready, self.greeted = "down", False, False
        self._not_before = now + BACKOFF[min(self._failures, len(BACKOFF) - 1)]
        self._failures += 1
        self._emit(Log("warning", "server_closed", {"server": self.name, "reason": reason}))
        text = f"The MCP server {self.name!r} {reason}; it is started again on the next request."
        failure = Failure(CONNECTION_CLOSED, text)
        if self._probe is not None and was_open:
            # Some servers of the handshake end when anything else comes first. What waits has not been sent yet.
            probe = next(pending for pending in self.requests if pending.method == "server/discover")
            self.requests.forget(probe)
            probe.done(failure, now)
            return
        self._probe = None
        if self.bridge is not None:
            self.bridge.closed(now)
        self._fail_all(failure, now)

    def turned_away(self, refusal: Failure, now: float) -> None:
        """The server could not be asked. Whoever waits is told why, and the next request tries again."""
        self._emit(Close(self.name))
        self.state, self.ready, self.greeted = "down", False, False
        self._probe = None
        self._not_before = now
        if self.bridge is not None:
            self.bridge.closed(now)
        self._fail_all(refusal, now)

    def reopen(self, reason: str, now: float) -> None:
        """End the connection; the next request, or `greet`, begins another. What is under way fails."""
        if self.state == "open":
            self._emit(Close(self.name))
            self.closed(reason, now)
            self._not_before = now

    def greet_anew(self, reason: str, now: float) -> None:
        """The same greeting on a new connection, as if it had been the first."""
        assert self.greeting is not None
        self._greeting_due = False
        self.reopen(reason, now)
        self.greet(self.greeting, now)

    def _fail_all(self, failure: Failure, now: float) -> None:
        self._waiting.clear()
        for pending in self.requests.forget_all():
            pending.done(failure, now)
        self._greeting_failed(failure, now)

    # -- restarts ------------------------------------------------------------------------------------------------

    def remember(self, frame: Frame) -> None:
        """Keep a request that a restarted server must be sent again: the log level, the subscriptions."""
        params = frame.top_piece("params")
        if not isinstance(params, bytes) or frame.method is None:
            return
        about = text_of(frame.part("uri")) or "" if frame.method.startswith("resources/") else frame.method
        self.after_greeting.pop(about, None)
        if frame.method != "resources/unsubscribe":
            self.after_greeting[about] = request_line(b"@ID@", frame.method, params)

    def raw(self, pieces: tuple[Piece, ...]) -> None:
        """Send what a bridge has made for the server."""
        self._emit(ToServer(self.name, pieces))


def _ignore(outcome: Outcome, now: float) -> None:
    """Nobody waits for this answer."""
