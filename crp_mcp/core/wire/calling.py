"""A host's request on its way to a server and back: sent, captured, answered. The half of `Proxy` that routes use.

Sans-I/O, like all of it; what arrives, and what time does, is the other half's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .answers import Failure, dump, error_line, failed_call, result_line
from .calls import Call, clean_edits, is_capturable
from .catalog import Tool, Tools
from .commands import CallOwn, Capture, Command, OwnSide, ServerRules, ToHost
from .consulting import Consulting
from .frame import Edit, Frame, Piece, text_of
from .lending import Lending, asks
from .link import Link
from .requests import Done, Outcome, same_id
from .roots import Roots
from .scan import members


class Calling:
    """The requests of one host that have no answer yet, and the servers they go to."""

    keep_ids = True

    def __init__(self, servers: Sequence[ServerRules], own: OwnSide) -> None:
        self._out: list[Command] = []
        self.own = own
        self.links = {rules.name: Link(rules, self.emit, keep_ids=self.keep_ids) for rules in servers}
        self.tools = Tools(servers, own)
        self.initialized = False
        self._calls: dict[bytes, Call] = {}
        self._settling: dict[int, Call] = {}
        self._keys = 0
        self._lending = Lending(self.emit, self.answer, self._send_call)
        self._consulting = Consulting(self.emit, self.answer, self._lend_or_send)
        self._roots = Roots(self.emit, own)

    def emit(self, command: Command) -> None:
        """A command that follows from the event at hand."""
        self._out.append(command)

    def pass_on(self, call: Call, link: Link, now: float, **options: Any) -> None:
        """Forward a request; its answer goes back as it comes."""
        self.forward(call, link, lambda outcome, at: self.pass_back(call, outcome), now, **options)

    def call_tool(self, call: Call, link: Link, tool: Tool | None, name: str, now: float) -> None:
        """Forward a `tools/call`; its result is captured. `name` is the name the server uses."""
        span = call.frame.inner.get("arguments")
        call.arguments = call.frame.piece(span) if span else None
        call.tool, call.tool_name, call.server = tool, name, link.name
        if link.bridge is not None and link.bridge.resumes(call.frame):
            # It was let through before, and goes on now.
            self._send_call(call, link, tool, name, [], now)
        elif self.own.consults(link.name, name, tool.definition if tool else None):
            self._consulting.hold(call, link, tool, name)
        else:
            self._lend_or_send(call, link, tool, name, now)

    def _lend_or_send(self, call: Call, link: Link, tool: Tool | None, name: str, now: float) -> None:
        if asks(call.arguments) and self.own.accepts(link.name, name, tool.definition if tool else None):
            self._lending.hold(call, link, tool, name)
        else:
            self._send_call(call, link, tool, name, [], now)

    def _send_call(self, call: Call, link: Link, tool: Tool | None, name: str, edits: list[Edit], now: float) -> None:
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
        if isinstance(outcome, Failure) or not is_capturable(outcome):
            if isinstance(outcome, Frame):
                self.noticed(call, outcome)
            self.pass_back(call, outcome, clean_edits(outcome) if isinstance(outcome, Frame) else ())
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
        question = self._roots.question(call, target) if kind == "tool" and call.modern else None
        if question is not None:
            self.answer(call, question)
            return
        may_ask = kind == "tool" and not call.modern and self.initialized
        if not may_ask or not self._roots.hold(target, lambda: self._serve(call, kind, target)):
            self._serve(call, kind, target)

    def _serve(self, call: Call, kind: str, target: str) -> None:
        if call.over:
            return
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
