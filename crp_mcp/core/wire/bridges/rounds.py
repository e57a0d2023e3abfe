"""Questions that a server of 2026-07-28 gives as a result, asked of a host of the handshake as requests.

When all of one result are answered, the request is made again with the answers; so in rounds, until it is complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crp_mcp.core.wire.answers import INTERNAL_ERROR, Failure, dump
from crp_mcp.core.wire.catalog import field_of
from crp_mcp.core.wire.frame import Frame, Piece
from crp_mcp.core.wire.requests import same_id

from . import dialects
from .base import Job, cancelled
from .rewrite import note, object_members, request, rewritten

if TYPE_CHECKING:
    from .to_modern import ToModern

MAX_ROUNDS = 64
"""So often one request is made again. A form of many pages ends long before."""
PAUSES = (0.1, 0.25, 0.5, 1.0, 2.0)
"""Seconds before a request is made again whose server asks nothing and only wants it later."""


class Turn(Job):
    """A request of the host's, over all its rounds."""

    __slots__ = ("answers", "idle_rounds", "ours", "rounds", "state", "visits", "waiting")

    def __init__(self, outer: bytes | None, frame: Frame) -> None:
        super().__init__(outer, frame)
        self.rounds = self.idle_rounds = 0
        self.ours = False
        """Our own side asks: its host must not hear of it."""
        self.state: bytes | None = None
        """What the server wants back, raw."""
        self.waiting: dict[bytes, str] = {}
        """Keys of the questions that are not answered, by the id the host has them under."""
        self.answers: dict[str, list[Piece]] = {}
        self.visits: list[str] = []
        """URLs the user was sent to, by their ids."""


class Rounds:
    """The open questions of one bridge."""

    def __init__(self, bridge: ToModern) -> None:
        self._bridge = bridge
        self._turns: dict[bytes, Turn] = {}
        """By the id of a question."""
        self._later: list[tuple[float, Turn]] = []
        self._counter = 0

    def asked(self, turn: Turn, frame: Frame, now: float) -> None:
        """The server wants answers before it goes on."""
        requests = object_members(frame.part("inputRequests"))
        turn.state, turn.answers = frame.part("requestState"), {}
        turn.rounds += 1
        if turn.rounds > MAX_ROUNDS:
            self._give_up(turn, f"asked for input more than {MAX_ROUNDS} times in one request", now)
        elif not requests and turn.state is None:
            self._give_up(turn, "wants input and does not say which", now)
        elif not requests:
            pause = PAUSES[min(turn.idle_rounds, len(PAUSES) - 1)]
            turn.idle_rounds += 1
            self._later.append((now + pause, turn))
        elif all(self._can_ask(turn, raw, now) for raw in requests.values()):
            turn.idle_rounds = 0
            for key, raw in requests.items():
                self._ask(turn, key, object_members(raw), now)

    def _give_up(self, turn: Turn, why: str, now: float) -> None:
        self._bridge.end(turn, now)
        self._bridge.fail(turn.outer, Failure(INTERNAL_ERROR, f"The MCP server {self._bridge.link.name!r} {why}."), now)

    def _can_ask(self, turn: Turn, raw: bytes, now: float) -> bool:
        """Whether the host takes this question. Where it does not, the request is over: nothing is answered for it."""
        if turn.over:
            return False
        method, params = field_of(raw, "method") if raw[:1] == b"{" else None, object_members(raw).get("params")
        if method not in dialects.QUESTIONS:
            self._give_up(turn, "wants input of a kind that is not known", now)
            return False
        missing = dialects.lacking(method, params, self._bridge.client)
        if missing is not None:
            needs = dump(missing).decode()
            self._give_up(turn, f"wants input that this host cannot give: it has not declared {needs}", now)
        return missing is None

    def _ask(self, turn: Turn, key: str, asked: dict[str, bytes], now: float) -> None:
        self._counter += 1
        name = f"crp-mcp-ask-{self._counter}"
        ident, method = dump(name), field_of(b'{"m":%b}' % asked["method"], "m") or ""
        params = dialects.handshake_question(method, asked.get("params"), self._bridge.revision, name)
        if method == dialects.ELICIT and object_members(params).get("mode") == b'"url"':
            turn.visits.append(field_of(params or b"{}", "elicitationId") or name)
        turn.waiting[ident] = key
        self._turns[same_id(ident)] = turn
        self._bridge.deliver(request(ident, method, params), now)

    def replied(self, frame: Frame, ident: bytes, now: float) -> bool:
        """The host has answered a request. False where it is none of these questions."""
        turn = self._turns.pop(same_id(ident), None)
        if turn is None:
            return False
        key = turn.waiting.pop(ident, "")
        if turn.over:
            return True
        result = frame.top_piece("result")
        if result is None:
            # There is no way to tell the server; the request cannot go on, and its host knows why.
            self.drop(turn, now)
            self._bridge.end(turn, now)
            if turn.outer is not None:
                self._bridge.deliver(rewritten(frame, ident=turn.outer), now)
            return True
        turn.answers[key] = [result]
        if not turn.waiting:
            self._again(turn)
        return True

    def _again(self, turn: Turn) -> None:
        put: dict[str, Any] = {}
        if turn.answers:
            pieces: list[Piece] = [b"{"]
            for number, (key, value) in enumerate(turn.answers.items()):
                pieces += [(b"," if number else b"") + dump(key) + b":", *value]
            put["inputResponses"] = [*pieces, b"}"]
        if turn.state is not None:
            put["requestState"] = turn.state
        self._bridge.start(turn, put)

    def drop(self, turn: Turn, now: float) -> None:
        """The request is over: its questions are taken back."""
        self._later = [(at, other) for at, other in self._later if other is not turn]
        for ident in turn.waiting:
            self._turns.pop(same_id(ident), None)
            self._bridge.deliver(note("notifications/cancelled", cancelled(ident, "the request is over")), now)
        turn.waiting = {}

    def finished(self, turn: Turn, now: float) -> None:
        """The request has its answer: what the user was sent to a page for is done."""
        self.drop(turn, now)
        for visit in turn.visits:
            self._bridge.deliver(note("notifications/elicitation/complete", b'{"elicitationId":%b}' % dump(visit)), now)
        turn.visits = []

    def clear(self) -> None:
        self._turns.clear()
        self._later = []

    def tick(self, now: float) -> None:
        due = [turn for at, turn in self._later if at <= now]
        self._later = [(at, turn) for at, turn in self._later if at > now]
        for turn in due:
            self._again(turn)

    def next_deadline(self) -> float | None:
        return min((at for at, _ in self._later), default=None)
