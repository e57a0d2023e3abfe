"""One host and its servers: messages in, commands out. What both ways of standing in the path have in common.

Sans-I/O: no clock, no files, no processes. Every method takes one event and returns the commands that follow.
`InPlace` and `Aggregate` decide where a request goes; here is how it gets there and back, and what is captured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .answers import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Failure,
    dump,
    error_line,
    failed_call,
    notification_line,
    result_line,
    without_members,
)
from .catalog import Tool, Tools
from .commands import CallOwn, CancelOwn, Capture, Command, Log, OwnSide, ServerRules, ToHost
from .eras import is_modern
from .frame import Edit, Frame, Malformed, Piece, text_of
from .link import Done, Link, Outcome, Pending, same_id
from .scan import members

RESERVED = "dev.crp/"
"""`_meta` members that only we may write."""


@dataclass(slots=True)
class Call:
    """A request of the host that has no answer yet."""

    id: bytes
    frame: Frame
    modern: bool
    tool: Tool | None = None
    tool_name: str = ""
    server: str = ""
    arguments: Piece | None = None
    meta: bytes | None = None
    waits_for: tuple[tuple[Link, Pending], ...] = ()
    key: int | None = None
    """Under which it is being captured or served by our own side."""
    answer: Frame | None = None
    """The server's answer while it is being captured."""
    over: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of a server to the host."""

    link: Link
    generation: int
    id: bytes


class Proxy:
    """Base of both. See the module's first lines."""

    keep_ids = True

    def __init__(self, servers: Sequence[ServerRules], own: OwnSide) -> None:
        self._out: list[Command] = []
        self.own = own
        self.links = {rules.name: Link(rules, self.emit, keep_ids=self.keep_ids) for rules in servers}
        self.tools = Tools(servers, own)
        self.initialized = False
        self._calls: dict[bytes, Call] = {}
        self._settling: dict[int, Call] = {}
        self._asked: dict[bytes, Asked] = {}
        self._keys = 0
        self._asked_ids = 0

    def emit(self, command: Command) -> None:
        """A command that follows from the event at hand."""
        self._out.append(command)

    def drain(self) -> list[Command]:
        """What has followed so far."""
        out, self._out = self._out, []
        return out

    # -- events: the host ----------------------------------------------------------------------------------------

    def from_host(self, message: Frame | Malformed | list[Frame | Malformed], now: float) -> list[Command]:
        """A message arrived from the host."""
        for one in message if isinstance(message, list) else (message,):
            if isinstance(one, Malformed):
                self._unreadable_from_host(one)
            elif one.method is None:
                self._host_answered(one, now)
            elif one.id is None:
                self._host_notified(one, now)
            else:
                self._host_requested(one, now)
        return self.drain()

    def _host_requested(self, frame: Frame, now: float) -> None:
        assert frame.id is not None
        call = Call(frame.id, frame, is_modern(frame), meta=frame.part("_meta"))
        self._calls[same_id(frame.id)] = call
        try:
            self.route(call, now)
        except (LookupError, TypeError, ValueError) as error:
            self.fail(call, Failure(INVALID_PARAMS, f"Invalid params: {error}"))

    def route(self, call: Call, now: float) -> None:
        """Decide where a request goes."""
        raise NotImplementedError

    def notify_servers(self, frame: Frame, now: float) -> None:
        """Decide where a notification goes."""
        raise NotImplementedError

    def _host_notified(self, frame: Frame, now: float) -> None:
        if frame.method != "notifications/cancelled":
            self.notify_servers(frame, now)
            return
        wanted = frame.part("requestId")
        call = self._calls.get(same_id(wanted)) if wanted else None
        if call is None or wanted is None:
            return
        self.end(call)
        span = frame.inner["requestId"]
        for link, pending in call.waits_for:
            if link.abandon(pending, now):
                edits = [] if pending.wire_id == wanted else [(*span, pending.wire_id)]
                link.tell(frame.forward(edits))
        if call.key is not None and call.answer is None:
            self._settling.pop(call.key, None)
            self.emit(CancelOwn(call.key))

    def _host_answered(self, frame: Frame, now: float) -> None:
        assert frame.id is not None
        asked = self._asked.pop(same_id(frame.id), None)
        if asked is None or asked.generation != asked.link.generation:
            self.emit(Log("info", "host_answer_unexpected"))
            return
        asked.link.touch(now)
        asked.link.tell(frame.forward([frame.with_id(asked.id)] if asked.id != frame.id else ()))

    def _unreadable_from_host(self, bad: Malformed) -> None:
        self.emit(Log("warning", "host_message_unreadable", {"reason": bad.reason}))
        if bad.is_answer:
            for ident in bad.ids:
                asked = self._asked.pop(same_id(ident), None)
                if asked and asked.generation == asked.link.generation:
                    text = f"The host's answer cannot be read: {bad.reason}"
                    asked.link.tell((error_line(asked.id, Failure(INTERNAL_ERROR, text)),))
                    return
        ident = bad.ids[0] if bad.ids else b"null"
        self.emit(ToHost((error_line(ident, Failure(bad.code, bad.reason)),)))

    # -- events: the servers -------------------------------------------------------------------------------------

    def from_server(
        self, server: str, message: Frame | Malformed | list[Frame | Malformed], now: float
    ) -> list[Command]:
        """A message arrived from a server."""
        link = self.links[server]
        for one in message if isinstance(message, list) else (message,):
            if isinstance(one, Malformed):
                self._unreadable_from_server(link, one, now)
            elif one.method is None:
                link.answered(one, now)
            elif one.id is None:
                self._server_notified(link, one, now)
            else:
                self._server_requested(link, one)
        return self.drain()

    def _server_notified(self, link: Link, frame: Frame, now: float) -> None:
        if frame.method == "notifications/progress":
            link.progressed(frame.part("progressToken") or b"", now)
        elif frame.method == "notifications/cancelled":
            self._server_cancelled(link, frame)
            return
        self.notify_host(link, frame, now)

    def notify_host(self, link: Link, frame: Frame, now: float) -> None:
        """Pass a server's notification on."""
        self.emit(ToHost(frame.forward()))

    def _server_cancelled(self, link: Link, frame: Frame) -> None:
        wanted = frame.part("requestId")
        for host_id, asked in self._asked.items():
            if wanted and asked.link is link and same_id(asked.id) == same_id(wanted):
                del self._asked[host_id]
                span = frame.inner["requestId"]
                self.emit(ToHost(frame.forward([] if host_id == wanted else [(*span, host_id)])))
                return

    def _server_requested(self, link: Link, frame: Frame) -> None:
        assert frame.id is not None
        if link.rules.shared and sum(not p.abandoned for p in link.pending.values()) != 1:
            # Such a request does not say for which call it is made; it must not reach the wrong host.
            text = "Several calls are in flight on this shared connection, so it is not known whose host to ask."
            link.tell((error_line(frame.id, Failure(INTERNAL_ERROR, text)),))
            return
        host_id = frame.id
        if not self.keep_ids or same_id(host_id) in self._asked:
            self._asked_ids += 1
            host_id = b'"crp-mcp-%d"' % self._asked_ids
        self._asked[same_id(host_id)] = Asked(link, link.generation, frame.id)
        self.emit(ToHost(frame.forward([frame.with_id(host_id)] if host_id != frame.id else ())))

    def _unreadable_from_server(self, link: Link, bad: Malformed, now: float) -> None:
        self.emit(Log("warning", "server_message_unreadable", {"server": link.name, "reason": bad.reason}))
        if bad.is_answer:
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
        for host_id in [host_id for host_id, asked in self._asked.items() if asked.link is link]:
            # The host may be showing a dialogue for it.
            del self._asked[host_id]
            params = b'{"requestId":%b,"reason":"the server is gone"}' % host_id
            self.emit(ToHost((notification_line("notifications/cancelled", params),)))
        link.closed(reason, now)
        return self.drain()

    # -- events: time and our own side ---------------------------------------------------------------------------

    def tick(self, now: float) -> list[Command]:
        """Time has passed."""
        asking = {asked.link.name for asked in self._asked.values()}
        for name, link in self.links.items():
            link.expire(now, asking=name in asking)
        return self.drain()

    def next_deadline(self) -> float | None:
        """When `tick` is due next; None while nothing waits."""
        return min((d for d in (link.next_deadline() for link in self.links.values()) if d is not None), default=None)

    def settled(self, key: int, result: bytes | None, now: float) -> list[Command]:
        """A capture is done (None: the result goes on as it came), or our own side has answered."""
        call = self._settling.pop(key, None)
        if call is None or call.over:
            return self.drain()
        self.end(call)
        if result is not None:
            self.emit(ToHost((result_line(call.id, result),)))
        elif call.answer is not None:
            self.emit(ToHost(self._answer_pieces(call, call.answer, _clean_edits(call.answer))))
        return self.drain()

    def refused(self, key: int, code: int, text: str, now: float) -> list[Command]:
        """Our own side answered with a protocol error."""
        call = self._settling.pop(key, None)
        if call is not None and not call.over:
            self.fail(call, Failure(code, text))
        return self.drain()

    # -- for the routes ------------------------------------------------------------------------------------------

    def pass_on(self, call: Call, link: Link, now: float, **options: Any) -> None:
        """Forward a request; its answer goes back as it comes."""
        self.forward(call, link, lambda outcome, at: self.pass_back(call, outcome), now, **options)

    def call_tool(self, call: Call, link: Link, tool: Tool | None, name: str, now: float) -> None:
        """Forward a `tools/call`; its result is captured. `name` is the name the server uses."""
        span = call.frame.inner.get("arguments")
        call.arguments = call.frame.piece(span) if span else None
        call.tool, call.tool_name, call.server = tool, name, link.name
        edits: list[Edit] = []
        if tool is not None and text_of(call.frame.part("name")) != name:
            edits.append((*call.frame.inner["name"], dump(name)))
        self.forward(call, link, lambda outcome, at: self._tool_answered(call, outcome), now, edits=edits)

    def forward(self, call: Call, link: Link, done: Done, now: float, **options: Any) -> None:
        """Forward a request to a server; `done(outcome, now)` gets what comes of it."""
        token = None
        if call.meta is not None and call.meta[:1] == b"{" and b"progressToken" in call.meta:
            span = members(call.meta).get("progressToken")
            token = call.meta[span[0] : span[1]] if span else None
        pending = link.forward(call.frame, done, now, token=token, **options)
        call.waits_for = (*call.waits_for, (link, pending))

    def _tool_answered(self, call: Call, outcome: Outcome) -> None:
        if isinstance(outcome, Failure) or not _is_capturable(outcome):
            if isinstance(outcome, Frame):
                self.noticed(call, outcome)
            self.pass_back(call, outcome)
            return
        call.answer, call.waits_for = outcome, ()
        call.key = key = self._next_key(call)
        result = outcome.top_piece("result")
        assert result is not None
        definition = call.tool.definition if call.tool else None
        self.emit(Capture(key, call.server, call.tool_name, call.arguments, call.meta, call.modern, definition, result))

    def noticed(self, call: Call, answer: Frame) -> None:
        """A call was answered by something that is no result: a task was begun, the user is asked, an error."""

    def own_tool(self, name: str) -> bool:
        return any(tool["name"] == name for tool in self.own.tools())

    def _next_key(self, call: Call) -> int:
        self._keys += 1
        self._settling[self._keys] = call
        return self._keys

    def serve(self, call: Call, kind: str, target: str) -> None:
        """Have our own side answer a request."""
        call.key = self._next_key(call)
        self.emit(CallOwn(call.key, kind, target, call.frame, call.modern))

    def pass_back(self, call: Call, outcome: Outcome, edits: Sequence[Edit] = ()) -> None:
        """Give the host the answer to a request."""
        if isinstance(outcome, Failure):
            self.fail(call, outcome)
        elif not call.over:
            self.end(call)
            self.emit(ToHost(self._answer_pieces(call, outcome, edits)))

    def _answer_pieces(self, call: Call, answer: Frame, edits: Sequence[Edit]) -> tuple[Piece, ...]:
        if answer.id != call.id:
            edits = [*edits, answer.with_id(call.id)]
        return answer.forward(edits)

    def answer(self, call: Call, result: bytes) -> None:
        """Answer a request with a result of ours."""
        if not call.over:
            self.end(call)
            self.emit(ToHost((result_line(call.id, result),)))

    def fail(self, call: Call, failure: Failure) -> None:
        """Answer a request that cannot be served."""
        if call.over:
            return
        self.end(call)
        if call.tool_name:
            text = failure.text + " The call may have taken effect."
            self.emit(ToHost((result_line(call.id, failed_call(text, call.modern)),)))
        else:
            self.emit(ToHost((error_line(call.id, failure),)))

    def end(self, call: Call) -> None:
        """The request is answered, or given up."""
        call.over = True
        ident = same_id(call.id)
        if self._calls.get(ident) is call:
            del self._calls[ident]


def _is_capturable(answer: Frame) -> bool:
    """Whether this is a tool's finished result: no error, no question to the user, no task that is still to run."""
    if "result" not in answer.top:
        return False
    if text_of(answer.part("resultType")) not in (None, "complete"):
        return False
    return not ("task" in answer.inner and "content" not in answer.inner)


def _clean_edits(answer: Frame) -> list[Edit]:
    """What takes our reserved `_meta` members out of a server's result."""
    meta = answer.part("_meta")
    if meta is None or meta[:1] != b"{" or (b"dev.crp" not in meta and b"\\" not in meta):
        return []
    reserved = [name for name in members(meta) if name.startswith(RESERVED)]
    return [(*answer.inner["_meta"], without_members(meta, reserved))] if reserved else []
