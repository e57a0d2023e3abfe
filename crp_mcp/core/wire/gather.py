"""One question to many servers: asked at once, every page followed, the answers handed on together."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .answers import Failure, dump, with_member, without_members
from .calls import Call
from .catalog import field_of, listed
from .frame import Frame
from .link import Link
from .requests import Outcome

LIST_SECONDS = 60.0
MAX_PAGES = 1000


class Gathered:
    """What one server answered: the items of all its pages, or why it did not."""

    __slots__ = ("failure", "items", "refusal", "results")

    def __init__(self) -> None:
        self.items: list[bytes] = []
        self.results: list[bytes] = []
        self.failure: Failure | None = None
        self.refusal: Frame | None = None

    @property
    def answered(self) -> bool:
        return self.failure is None and self.refusal is None


def base_params(call: Call) -> bytes:
    """The params of a host's request for us to ask with: no cursor of ours, no token it would wait for."""
    params = call.frame.top_piece("params")
    if not isinstance(params, bytes) or params[:1] != b"{":
        return b"{}"
    params = without_members(params, ("cursor",))
    if call.meta is not None and call.meta[:1] == b"{":
        params = with_member(params, "_meta", without_members(call.meta, ("progressToken",)))
    return params


class Gather:
    """Ask `method` of all these servers; `done(answers by server, now)` comes once, when the last has answered.
    `each(server, items)` comes as one has answered in full.

    Each gets `seconds`, or its own timeout where that is shorter.
    """

    def __init__(
        self,
        call: Call,
        links: Iterable[Link],
        method: str,
        done: Callable[[dict[str, Gathered], float], None],
        *,
        params: bytes | None = None,
        member: str | None = None,
        each: Callable[[str, list[bytes]], None] | None = None,
        seconds: float = LIST_SECONDS,
    ) -> None:
        self._call = call
        self._links = list(links)
        self._method = method
        self._done = done
        self._params = base_params(call) if params is None else params
        self._member = member
        self._each = each
        self._seconds = seconds
        self._answers: dict[str, Gathered] = {link.name: Gathered() for link in self._links}
        self._open = len(self._links)

    def start(self, now: float) -> None:
        if not self._links:
            self._done({}, now)
        for link in self._links:
            self._ask(link, None, set(), now)

    def _ask(self, link: Link, cursor: str | None, seen: set[str], now: float) -> None:
        params = self._params if cursor is None else with_member(self._params, "cursor", dump(cursor))

        def answered(outcome: Outcome, at: float) -> None:
            self._answered(link, outcome, seen, at)

        seconds = min(self._seconds, link.rules.idle)
        pending = link.ask(self._method, params, answered, now, idle=seconds)
        self._call.waits_for = (*self._call.waits_for, (link, pending))

    def _answered(self, link: Link, outcome: Outcome, seen: set[str], now: float) -> None:
        answer = self._answers[link.name]
        if self._call.over:
            return
        if isinstance(outcome, Failure):
            answer.failure = outcome
        elif "result" not in outcome.top:
            answer.refusal = outcome
        else:
            result = outcome.top_piece("result")
            assert isinstance(result, bytes)
            answer.results.append(result)
            if self._member is not None:
                answer.items += listed(result, self._member)
                cursor = field_of(result, "nextCursor")
                if cursor is not None and cursor not in seen and len(seen) < MAX_PAGES:
                    self._ask(link, cursor, seen | {cursor}, now)
                    return
        if answer.answered and self._each is not None:
            self._each(link.name, answer.items)
        self._open -= 1
        if not self._open:
            self._done(self._answers, now)
