"""The host's roots, asked for by our own side: once, when a tool that works with files is first called, then kept.

Only a host that declares roots is asked, and only while a call of its waits. In the handshake era it is sent a request;
one that does not answer costs that one call a few seconds. A host of 2026-07-28 gets the question as the call's answer
and makes the call again; since it cannot tell us of a change any more, it is asked again after a while.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count

from .answers import dump, request_line
from .calls import Call
from .commands import Command, Log, OwnSide, ToHost
from .eras import CAPABILITIES
from .frame import Frame, text_of
from .requests import same_id
from .scan import members

ROOTED = frozenset({"request_context"})
"""Our own tools that work with files."""
CHANGED = "notifications/roots/list_changed"
SECONDS = 5.0
KEPT_SECONDS = 600.0
"""What a host of 2026-07-28 said holds for so long."""
KEY = "crp-mcp-roots"
"""Our question among those of an `input_required` answer, and what brings the host back to it."""
MOST = 32
"""Roots that are looked at."""
LONGEST = 4_096


class Roots:
    """What one host said of its roots. `now` is the time of the last message."""

    def __init__(self, emit: Callable[[Command], None], own: OwnSide) -> None:
        self._emit, self._learn = emit, own.learn_roots
        self._ids = count(1)
        self._declared = False
        self._known = False
        self._asked: bytes | None = None
        self._due = 0.0
        self._kept_until = 0.0
        self._waiting: list[Callable[[], None]] = []
        self.now = 0.0

    def greeted(self, capabilities: bytes | None) -> None:
        """The host opened the conversation, with what it can do."""
        self._declared = capabilities is not None and capabilities[:1] == b"{" and "roots" in members(capabilities)
        self.changed()

    def changed(self) -> None:
        """What was known no longer holds."""
        self._known = False

    def hold(self, tool: str, go: Callable[[], None]) -> bool:
        """Have `go` called once the roots are known. False where there is nothing to wait for."""
        if self._learn is None or not self._declared or self._known or tool not in ROOTED:
            return False
        self._waiting.append(go)
        if self._asked is None:
            self._asked, self._due = b'"crp-mcp-roots-%d"' % next(self._ids), self.now + SECONDS
            self._emit(ToHost((request_line(self._asked, "roots/list", None),)))
        return True

    def question(self, call: Call, tool: str) -> bytes | None:
        """What a call of a host of 2026-07-28 is answered, to be made again; None where it is to be served."""
        if self._learn is None or tool not in ROOTED:
            return None
        if text_of(call.frame.part("requestState")) == KEY:
            self._kept_until = self.now + KEPT_SECONDS
            self._learn(_uris(_member(_member(call.frame.part("inputResponses"), KEY), "roots")))
        elif self.now >= self._kept_until and _member(_member(call.meta, CAPABILITIES), "roots") is not None:
            asked = {KEY: {"method": "roots/list"}}
            return dump({"resultType": "input_required", "inputRequests": asked, "requestState": KEY})
        return None

    def answered(self, frame: Frame) -> bool:
        """Take an answer of the host's. False where it answers another question."""
        if self._asked is None or frame.id is None or same_id(frame.id) != same_id(self._asked):
            return False
        self._settle(_uris(frame.part("roots") if "result" in frame.top else None))
        return True

    def tick(self, now: float) -> None:
        """Time has passed: a host that stays silent has no roots."""
        if self._asked is not None and now >= self._due:
            self._emit(Log("warning", "roots_not_told", {"seconds": SECONDS}))
            self._settle(())

    def next_deadline(self) -> float | None:
        return None if self._asked is None else self._due

    def _settle(self, uris: tuple[str, ...]) -> None:
        assert self._learn is not None
        self._asked, self._known = None, True
        self._learn(uris)
        waiting, self._waiting = self._waiting, []
        for go in waiting:
            go()


def _member(raw: bytes | None, name: str) -> bytes | None:
    """Raw JSON of a member; None where there is none."""
    span = members(raw).get(name) if raw is not None and raw[:1] == b"{" else None
    return raw[span[0] : span[1]] if raw is not None and span is not None else None


def _uris(raw: bytes | None) -> tuple[str, ...]:
    """The URIs of a list of roots; what is none is passed over."""
    try:
        roots = json.loads(raw) if raw else []
    except (ValueError, RecursionError):
        return ()
    found = [one.get("uri") for one in roots if isinstance(one, dict)] if isinstance(roots, list) else []
    return tuple(uri for uri in found[:MOST] if isinstance(uri, str) and len(uri) <= LONGEST)
