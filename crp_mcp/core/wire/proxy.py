"""One host and its servers: messages in, commands out. What both ways of standing in the path have in common.

Sans-I/O: no clock, no files, no processes. Every method takes one event and returns the commands that follow.
`InPlace` and `Aggregate` decide where a request goes, `Calling` gets it there and back; here is what arrives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from .answers import (
    INVALID_PARAMS,
    Failure,
    error_line,
    result_line,
)
from .calling import Calling
from .calls import Call, clean_edits
from .commands import CancelOwn, Command, Load, Log, OwnSide, ServerRules, ToHost
from .eras import is_modern
from .frame import Frame, Malformed
from .link import Link
from .questions import Questions
from .requests import same_id
from .roots import CHANGED

NOTED = 16
"""So many unreadable messages of one sender are logged one by one; then only every power of two."""


class Proxy(Calling):
    """Base of both. See the module's first lines."""

    def __init__(self, servers: Sequence[ServerRules], own: OwnSide) -> None:
        super().__init__(servers, own)
        for link in self.links.values():
            link.deliver = lambda link, frame, now: self._inbox.append((link, frame, now))
        self._inbox: deque[tuple[Link, Frame, float]] = deque()
        """What bridges have made of the servers' messages."""
        self.unmet = set(self.links)
        """Servers of which it is not known how a host of 2026-07-28 reaches them."""
        self._questions = Questions(self.emit, keep_ids=self.keep_ids)
        self._noise: dict[str, int] = {}

    def drain(self) -> list[Command]:
        """What has followed so far."""
        while self._inbox:
            self._server_said(*self._inbox.popleft())
        out, self._out = self._out, []
        return out

    # -- events: the host ----------------------------------------------------------------------------------------

    def from_host(self, message: Frame | Malformed | list[Frame | Malformed], now: float) -> list[Command]:
        """A message arrived from the host."""
        self._roots.now = now
        for one in message if isinstance(message, list) else (message,):
            if isinstance(one, Malformed):
                self._unreadable_from_host(one, now)
            elif one.is_partial:
                self.emit(Load("", one))
            elif one.method is None:
                if not self._lending.answered(one) and not self._roots.answered(one):
                    self._questions.answered(one, now)
            elif one.id is None:
                self._host_notified(one, now)
            else:
                self._host_requested(one, now)
        return self.drain()

    def _host_requested(self, frame: Frame, now: float) -> None:
        assert frame.id is not None
        call = Call(frame.id, frame, is_modern(frame))
        self._calls[same_id(frame.id)] = call
        if frame.method == "initialize":
            self._lending.greeting = frame.part("capabilities")
            self._roots.greeted(frame.part("capabilities"))
        refusal = self.refusal(call)
        if refusal is not None:
            self.fail(call, refusal)
            return
        try:
            if call.modern and frame.method != "server/discover" and self.links:
                self._meet(call, now)
            self.route(call, now)
        except (LookupError, TypeError, ValueError) as error:
            self.fail(call, Failure(INVALID_PARAMS, f"Invalid params: {error}"))

    def _meet(self, call: Call, now: float) -> None:
        """Have every server reachable for a host of 2026-07-28: some are bridged to."""
        bridged = any(link.bridge is not None for link in self.links.values())
        if self.unmet or bridged:
            from .bridges.meeting import meet

            self.unmet = {name for name in self.links if not meet(self.links[name], self.own, call.meta, now)}

    def begin_handshake(self, link: Link, now: float) -> None:
        """A host greets: a connection that was opened for one of 2026-07-28 cannot be used for it."""
        self.unmet = set(self.links)
        if link.bridge is not None:
            link.reopen("is started again for a host of the handshake", now)
            link.bridge = None

    def bridge_to_modern(self, link: Link) -> None:
        """Have a server that knows no handshake answer it."""
        from .bridges.meeting import to_modern

        to_modern(link)

    def refusal(self, call: Call) -> Failure | None:
        """Why a request goes to no server at all; None where it is to be routed. A lone server says so itself."""
        return None

    def route(self, call: Call, now: float) -> None:
        """Decide where a request goes."""
        raise NotImplementedError

    def notify_servers(self, frame: Frame, now: float) -> None:
        """Decide where a notification goes."""
        raise NotImplementedError

    def _host_notified(self, frame: Frame, now: float) -> None:
        if frame.method != "notifications/cancelled":
            if frame.method == CHANGED:
                self._roots.changed()
            self.notify_servers(frame, now)
            return
        wanted = frame.part("requestId")
        call = self._calls.get(same_id(wanted)) if wanted else None
        if call is None or wanted is None or call.frame.method == "initialize":
            # A greeting cannot be taken back (the base protocol says so): what waits for it would wait for ever.
            return
        self.end(call)
        self._lending.dropped(call)
        for link, pending in call.waits_for:
            link.cancel(pending, now, frame)
        if call.key is not None and call.answer is None:
            self._settling.pop(call.key, None)
            self.emit(CancelOwn(call.key))

    def _unreadable_from_host(self, bad: Malformed, now: float) -> None:
        self._noted("", "host_message_unreadable", {"reason": bad.reason})
        if self._questions.unreadable(bad, now):
            return
        ident = bad.ids[0] if bad.ids else b"null"
        self.emit(ToHost((error_line(ident, Failure(bad.code, bad.reason)),)))

    def _noted(self, sender: str, event: str, fields: dict[str, object]) -> None:
        """Log that something was unreadable: the first few times, then ever more seldom. Some servers chatter."""
        times = self._noise[sender] = self._noise.get(sender, 0) + 1
        if times <= NOTED or times & (times - 1) == 0:
            self.emit(Log("warning", event, {**fields, "times": times} if times > NOTED else fields))

    # -- events: the servers -------------------------------------------------------------------------------------

    def from_server(
        self, server: str, message: Frame | Malformed | list[Frame | Malformed], now: float
    ) -> list[Command]:
        """A message arrived from a server."""
        link = self.links[server]
        for one in message if isinstance(message, list) else (message,):
            if isinstance(one, Malformed):
                self._unreadable_from_server(link, one, now)
            elif one.is_partial:
                self.emit(Load(server, one))
            elif link.bridge is not None:
                link.bridge.receive(one, now)
            else:
                self._server_said(link, one, now)
        return self.drain()

    def _server_said(self, link: Link, frame: Frame, now: float) -> None:
        """A server's message, in the host's era."""
        if frame.method is None:
            link.answered(frame, now)
        elif frame.id is None:
            self._server_notified(link, frame, now)
        else:
            self._questions.ask(link, frame)

    def _server_notified(self, link: Link, frame: Frame, now: float) -> None:
        if frame.method == "notifications/progress":
            link.progressed(frame.part("progressToken") or b"", now)
        elif frame.method == "notifications/cancelled":
            self._questions.cancelled(link, frame)
            return
        self.notify_host(link, frame, now)

    def notify_host(self, link: Link, frame: Frame, now: float) -> None:
        """Pass a server's notification on."""
        self.emit(ToHost(frame.forward()))

    def _unreadable_from_server(self, link: Link, bad: Malformed, now: float) -> None:
        self._noted(link.name, "server_message_unreadable", {"server": link.name, "reason": bad.reason})
        if bad.stray is not None:
            link.strayed(bad.stray, now)
        elif bad.is_answer:
            link.unreadable(bad.ids, bad.reason, now)
        elif bad.ids:
            link.tell((error_line(bad.ids[0], Failure(bad.code, bad.reason)),))

    def open(self, server: str, now: float) -> list[Command]:
        """Have a server started before anything is asked of it."""
        self.links[server].open(now)
        return self.drain()

    def server_opened(self, server: str, now: float) -> list[Command]:
        """A server that was to be opened runs."""
        self.links[server].opened(now)
        return self.drain()

    def server_closed(self, server: str, reason: str, now: float) -> list[Command]:
        """A server ended, or could not be started. `reason` completes "The MCP server X …"."""
        link = self.links[server]
        self._questions.withdraw(link)
        link.closed(reason, now)
        return self.drain()

    # -- events: time and our own side ---------------------------------------------------------------------------

    def tick(self, now: float) -> list[Command]:
        """Time has passed."""
        self._roots.tick(now)
        asking = self._questions.asking()
        for name, link in self.links.items():
            link.expire(now, asking=name in asking)
            if link.bridge is not None:
                link.bridge.tick(now)
        return self.drain()

    def next_deadline(self) -> float | None:
        """When `tick` is due next; None while nothing waits."""
        deadlines = [link.requests.next_deadline() for link in self.links.values()]
        deadlines += [link.bridge.next_deadline() for link in self.links.values() if link.bridge is not None]
        deadlines.append(self._roots.next_deadline())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def settled(self, key: int, result: bytes | None, now: float) -> list[Command]:
        """A capture is done (None: the result goes on as it came), or our own side has answered."""
        call = self._settling.pop(key, None)
        if call is None or call.over:
            return self.drain()
        self.end(call)
        if result is not None:
            bridge = self.links[call.server].bridge if call.server else None
            self.emit(ToHost((result_line(call.id, bridge.finished(result) if bridge else result),)))
        elif call.answer is not None:
            self.emit(ToHost(self._answer_pieces(call, call.answer, clean_edits(call.answer))))
        return self.drain()

    def refused(self, key: int, code: int, text: str, now: float) -> list[Command]:
        """Our own side answered with a protocol error."""
        call = self._settling.pop(key, None)
        if call is not None and not call.over:
            self.fail(call, Failure(code, text))
        return self.drain()

    def lent(self, key: int, arguments: bytes | None, question: str | None, now: float) -> list[Command]:
        """Stored values were put into a call's arguments, or a person must be asked first."""
        self._lending.lent(key, arguments, question, now)
        return self.drain()

    def not_lent(self, key: int, text: str, now: float) -> list[Command]:
        """Stored values may not go into a call; it is not made."""
        self._lending.refused(key, text)
        return self.drain()

    def consulted(self, key: int, result: bytes | None, now: float) -> list[Command]:
        """Our own side said whether a call is to be made."""
        self._consulting.consulted(key, result, now)
        return self.drain()

    def call_for_us(
        self, key: int, server: str, tool: str, arguments: bytes, meta: Mapping[str, Any], now: float
    ) -> list[Command]:
        """Call a server's tool for our own side; `Answered` follows."""
        self._consulting.call(key, self.links[server], tool, arguments, meta, now)
        return self.drain()
