"""The requests of ours that one server has not answered yet: their ids, their progress tokens, their time.

Times are seconds of any steady clock, passed in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from .answers import Failure, dump
from .frame import Frame

Outcome = Frame | Failure
Done = Callable[[Outcome, float], None]

LATE_SECONDS = 300.0
"""How long an answer that nobody waits for any more is still expected, so that its id is not used again."""
REMEMBERED = 256
"""So many of the latest answered requests are known by their ids: a server may answer one twice."""
ENDLESS = ("subscriptions/listen", "tasks/result")
"""Requests that are answered when something ends, whenever that is."""


def same_id(raw: bytes) -> bytes:
    """One spelling for each id or token, since the other side may spell it in another way than it was sent."""
    if raw.isdigit() or (raw.isascii() and raw[:1] == b'"' and b"\\" not in raw):
        return raw
    try:
        value = json.loads(raw)
    except ValueError:
        return raw
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return dump(value)


def is_safe_id(raw: bytes) -> bool:
    """Whether every server gives an id back as it was: a text, or a whole number that a double holds."""
    if raw[:1] == b'"':
        return True
    digits = raw.removeprefix(b"-")
    return digits.isdigit() and len(digits) <= 16 and int(digits) < 2**53


class Pending:
    """A request that the server has not answered."""

    __slots__ = (
        "abandoned",
        "deadline",
        "done",
        "idle",
        "latest",
        "method",
        "token",
        "told_before",
        "whole",
        "wire_id",
    )

    def __init__(
        self, wire_id: bytes, method: str, done: Done, deadline: float, latest: float, idle: float, whole: bool
    ) -> None:
        self.wire_id = wire_id
        self.method = method
        self.done = done
        self.deadline = deadline
        self.latest = latest
        self.idle = idle
        self.whole = whole
        """The answer must be in memory."""
        self.token: bytes | None = None
        self.told_before = 0
        """How many messages that need no answer were sent to the server before it."""
        self.abandoned = False
        """Nobody waits for the answer any more."""


class Requests:
    """All of them. `keep_ids`: a request goes under the host's own id unless that is taken or may be changed."""

    def __init__(self, *, keep_ids: bool) -> None:
        self._keep_ids = keep_ids
        self._by_id: dict[bytes, Pending] = {}
        self._by_token: dict[bytes, Pending] = {}
        self._over: dict[bytes, None] = {}
        self._counter = 0

    def __iter__(self) -> Iterator[Pending]:
        return iter(list(self._by_id.values()))

    def claim(self, host_id: bytes | None) -> bytes:
        """An id for the next request; None: it is not the host's."""
        if self._keep_ids and host_id is not None and is_safe_id(host_id) and same_id(host_id) not in self._by_id:
            return host_id
        self._counter += 1
        return b'"crp-mcp-%d"' % self._counter if self._keep_ids else b"%d" % self._counter

    def expect(
        self,
        wire_id: bytes,
        method: str,
        done: Done,
        now: float,
        *,
        idle: float,
        ceiling: float,
        whole: bool = False,
        token: bytes | None = None,
    ) -> Pending:
        """An answer to this request will come; `done(outcome, now)` gets it."""
        pending = Pending(wire_id, method, done, now + idle, now + max(idle, ceiling), idle, whole)
        if method in ENDLESS:
            pending.deadline = pending.latest = float("inf")
        self._by_id[same_id(wire_id)] = pending
        if token is not None:
            pending.token = same_id(token)
            self._by_token[pending.token] = pending
        return pending

    def find(self, ident: bytes) -> Pending | None:
        return self._by_id.get(same_id(ident))

    def with_token(self, token: bytes) -> Pending | None:
        return self._by_token.get(same_id(token))

    def was_answered(self, ident: bytes) -> bool:
        """Whether a request with this id was, not long ago."""
        return same_id(ident) in self._over

    def forget(self, pending: Pending) -> None:
        ident = same_id(pending.wire_id)
        self._by_id.pop(ident, None)
        self._over[ident] = None
        if len(self._over) > REMEMBERED:
            del self._over[next(iter(self._over))]
        if pending.token is not None and self._by_token.get(pending.token) is pending:
            del self._by_token[pending.token]

    def forget_all(self) -> list[Pending]:
        """All that are still waited for; none is expected to be answered after this."""
        waiting = [pending for pending in self._by_id.values() if not pending.abandoned]
        self._by_id.clear()
        self._over.clear()
        self._by_token.clear()
        return waiting

    def abandon(self, pending: Pending, now: float) -> bool:
        """Nobody waits for it any more. False where nobody did, or it has been answered."""
        if pending.abandoned or self.find(pending.wire_id) is not pending:
            return False
        pending.abandoned = True
        pending.deadline = now + LATE_SECONDS
        return True

    def touch(self, now: float) -> None:
        """A sign of life that may belong to any of them: all may take longer."""
        for pending in self._by_id.values():
            if not pending.abandoned:
                pending.deadline = max(pending.deadline, min(now + pending.idle, pending.latest))

    def due(self, now: float) -> list[Pending]:
        """Those whose time is over. Late answers that never came are forgotten on the way."""
        due = [pending for pending in self._by_id.values() if pending.deadline <= now]
        for pending in due:
            if pending.abandoned:
                self.forget(pending)
        return [pending for pending in due if not pending.abandoned]

    def next_deadline(self) -> float | None:
        return min((pending.deadline for pending in self._by_id.values()), default=None)
