"""Tool calls around our own side: held until it has said whether to make them, and made because it asks for them.

A call is held only where the relay may have an answer of its own, or may refuse. What it asks for is a request of ours
to a server; the host sees neither request nor answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .answers import dump
from .calls import Call, is_capturable
from .catalog import Tool
from .commands import Answered, Command, Consult
from .frame import Frame
from .link import Link
from .requests import Outcome

Proceed = Callable[[Call, Link, Tool | None, str, float], None]
CALL_SECONDS = 60.0
"""A call of ours may take this long without a sign of progress: somebody waits for what it is needed for."""


class Held(NamedTuple):
    """A call that waits for the relay's word."""

    call: Call
    link: Link
    tool: Tool | None
    name: str


class Consulting:
    """The held calls of one host, and our own calls. `answer` is the proxy's; `proceed` goes on with a call."""

    def __init__(
        self, emit: Callable[[Command], None], answer: Callable[[Call, bytes], None], proceed: Proceed
    ) -> None:
        self._emit, self._answer, self._proceed = emit, answer, proceed
        self._held: dict[int, Held] = {}
        self._keys = 0

    def hold(self, call: Call, link: Link, tool: Tool | None, name: str) -> None:
        """Ask the relay before a call is made."""
        self._keys += 1
        self._held[self._keys] = Held(call, link, tool, name)
        definition = tool.definition if tool else None
        self._emit(Consult(self._keys, link.name, name, call.arguments, call.meta, call.modern, definition))

    def consulted(self, key: int, result: bytes | None, now: float) -> None:
        """The relay has answered: a result to give instead, or None to make the call."""
        held = self._held.pop(key, None)
        if held is None or held.call.over:
            return
        if result is not None:
            self._answer(held.call, result)
        else:
            self._proceed(held.call, held.link, held.tool, held.name, now)

    def call(self, key: int, link: Link, name: str, arguments: bytes, meta: Mapping[str, Any], now: float) -> None:
        """Call a tool for our own side; `Answered` reports what came of it."""

        def done(outcome: Outcome, at: float) -> None:
            finished = isinstance(outcome, Frame) and is_capturable(outcome)
            self._emit(Answered(key, outcome.top_piece("result") if finished and isinstance(outcome, Frame) else None))

        params = b'{"name":%b,"arguments":%b' % (dump(name), arguments)
        params += b',"_meta":%b}' % dump(dict(meta)) if meta else b"}"
        link.ask("tools/call", params, done, now, idle=CALL_SECONDS)
