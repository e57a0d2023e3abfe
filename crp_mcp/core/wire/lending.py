"""Calls that ask for stored values: held until the relay has put the values in, and a person agreed where one is asked.

In the handshake era the question is a request of ours to the host; in 2026-07-28 it is an `input_required` answer, and
the host makes the call again. Nothing of this concerns a call whose tool did not opt in.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from .answers import dump, failed_call, notification_line, request_line
from .calls import Call
from .catalog import Tool
from .commands import Command, Lend, ToHost
from .frame import Edit, Frame, text_of
from .link import Link
from .requests import same_id

MARK = b'"$scratch"'
QUESTION = "crp-mcp"
"""Our key among the requests of an `input_required` answer."""
_STATE = "crp-mcp-lend-"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_MOST_AGREED = 64

Forward = Callable[[Call, Link, Tool | None, str, list[Edit], float], None]


class Held(NamedTuple):
    """A call that waits for its arguments."""

    call: Call
    link: Link
    tool: Tool | None
    name: str


class Lending:
    """The held calls of one host. `forward` sends a call on with edits; `emit` and `answer` are the proxy's."""

    def __init__(
        self, emit: Callable[[Command], None], answer: Callable[[Call, bytes], None], forward: Forward
    ) -> None:
        self._emit, self._answer, self._forward = emit, answer, forward
        self._held: dict[int, Held] = {}
        self._questions: dict[bytes, int] = {}
        self._states: dict[str, bytes] = {}
        self._agreed: list[tuple[str, str, bytes]] = []
        self._keys = 0
        self.greeting: bytes | None = None
        """The capabilities a host of the handshake era came with."""

    def hold(self, call: Call, link: Link, tool: Tool | None, name: str) -> None:
        """Have the relay prepare the arguments of a call."""
        self._keys += 1
        self._held[self._keys] = Held(call, link, tool, name)
        self._ask_relay(self._keys, agreed=self._was_agreed(call, link, name))

    def lent(self, key: int, arguments: bytes | None, question: str | None, now: float) -> None:
        """The relay answered: the arguments with the values in place, or a question to ask first."""
        held = self._held.get(key)
        if held is None:
            return
        if held.call.over:
            del self._held[key]
        elif arguments is not None:
            del self._held[key]
            self._forward(held.call, held.link, held.tool, held.name, self._edits(held.call, arguments), now)
        elif not self._can_ask(held.call):
            self.refused(
                key,
                "This host cannot ask a person to confirm (no elicitation), so the stored value was not sent. "
                "The operator can switch the question off (CRP_MCP_CONFIRM=off).",
            )
        elif held.call.modern:
            self._ask_by_answer(key, held, question or "")
        else:
            self._ask_by_request(key, question or "")

    def refused(self, key: int, text: str) -> None:
        """The relay, or a person, said no: the call is answered, and never made."""
        held = self._held.pop(key, None)
        if held is not None and not held.call.over:
            self._answer(held.call, failed_call(f"{text.rstrip('.')}. The call was not made.", held.call.modern))

    def answered(self, frame: Frame) -> bool:
        """Take the host's answer if it is to a question of ours."""
        key = self._questions.pop(same_id(frame.id or b""), None)
        if key is None:
            return False
        if text_of(frame.part("action")) == "accept":
            held = self._held.get(key)
            if held is not None:
                self._ask_relay(key, agreed=True)
        else:
            self.refused(key, "The user did not agree to send the stored value.")
        return True

    def dropped(self, call: Call) -> None:
        """The host gave a call up: a question about it need not be answered any more."""
        for key, held in list(self._held.items()):
            if held.call is call:
                del self._held[key]
                for ident in [ident for ident, of in self._questions.items() if of == key]:
                    del self._questions[ident]
                    params = b'{"requestId":%b,"reason":"the call was cancelled"}' % ident
                    self._emit(ToHost((notification_line("notifications/cancelled", params),)))

    # -- inside

    def _ask_relay(self, key: int, *, agreed: bool) -> None:
        held = self._held[key]
        call = held.call
        assert isinstance(call.arguments, bytes)
        definition = held.tool.definition if held.tool else None
        self._emit(Lend(key, held.link.name, held.name, call.arguments, call.meta, definition, agreed))

    def _was_agreed(self, call: Call, link: Link, name: str) -> bool:
        """Whether a person agreed to this very call before: a modern host makes it again with the answer in it."""
        assert isinstance(call.arguments, bytes)
        asked = (link.name, name, call.arguments)
        state = text_of(call.frame.part("requestState"))
        if state is not None and self._states.pop(state, None) == call.arguments:
            responses = _object(call.frame.part("inputResponses"))
            answer = responses.get(QUESTION)
            if isinstance(answer, dict) and answer.get("action") == "accept":
                self._agreed = [*self._agreed[-_MOST_AGREED:], asked]
        return asked in self._agreed

    def _can_ask(self, call: Call) -> bool:
        raw = self.greeting
        if call.modern:
            raw = json.dumps(_object(call.meta).get(_CAPABILITIES)).encode()
        capability = _object(raw).get("elicitation")
        return isinstance(capability, dict) and (not capability or "form" in capability)

    def _ask_by_request(self, key: int, question: str) -> None:
        ident = b'"crp-mcp-lend-%d"' % key
        self._questions[same_id(ident)] = key
        self._emit(ToHost((request_line(ident, "elicitation/create", dump(_form(question, {}))),)))

    def _ask_by_answer(self, key: int, held: Held, question: str) -> None:
        del self._held[key]
        state = f"{_STATE}{key}"
        assert isinstance(held.call.arguments, bytes)
        self._states[state] = held.call.arguments
        request = {"method": "elicitation/create", "params": _form(question, {"mode": "form"})}
        result = {"resultType": "input_required", "inputRequests": {QUESTION: request}, "requestState": state}
        self._answer(held.call, dump(result))

    def _edits(self, call: Call, arguments: bytes) -> list[Edit]:
        edits: list[Edit] = [(*call.frame.inner["arguments"], arguments)]
        state = text_of(call.frame.part("requestState"))
        if state is not None and state.startswith(_STATE):
            # The server did not ask: what answers our question is none of its business.
            edits += [
                _without(call.frame, name) for name in ("requestState", "inputResponses") if name in call.frame.inner
            ]
        return edits


def asks(arguments: object) -> bool:
    """Whether arguments may ask for a stored value."""
    return isinstance(arguments, bytes) and MARK in arguments


def _form(question: str, more: dict[str, Any]) -> dict[str, Any]:
    return {**more, "message": question, "requestedSchema": {"type": "object", "properties": {}}}


def _object(raw: bytes | None) -> dict[str, Any]:
    try:
        value = json.loads(raw) if raw else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _without(frame: Frame, name: str) -> Edit:
    """The edit that takes a member out of the params, with its name and one comma."""
    start, end = frame.inner[name]
    whole = frame.piece((0, frame.size))
    assert isinstance(whole, bytes)
    start = whole.rindex(b'"', 0, whole.rindex(b'"', 0, whole.rindex(b":", 0, start))) if start else start
    before = whole[:start].rstrip()
    if before.endswith(b","):
        return len(before) - 1, end, b""
    after = len(whole) - len(whole[end:].lstrip())
    return start, after + 1 if whole[after : after + 1] == b"," else end, b""
