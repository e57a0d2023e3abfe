"""Held calls: questions of a server of the handshake, asked of a host of 2026-07-28 in the answer to its call.

The call stays under way at the server meanwhile. Where it is not known whose a question is, `floor` decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crp_mcp.core.wire.answers import INVALID_PARAMS, METHOD_NOT_FOUND, REQUEST_TIMEOUT, Failure, result_line
from crp_mcp.core.wire.commands import OwnSide
from crp_mcp.core.wire.eras import CAPABILITIES, LOG_LEVEL, MODERN
from crp_mcp.core.wire.frame import Frame, text_of
from crp_mcp.core.wire.requests import same_id

from . import dialects
from .base import NO_METHOD, Bridge
from .floor import Floor
from .held import HELD_SECONDS, MAX_HELD, Ask, Seal, question_result
from .results import with_server_info
from .rewrite import answer, object_members

if TYPE_CHECKING:
    from crp_mcp.core.wire.link import Link

MAX_PARKED = 16


class Holding(Bridge):
    """The calls of one host, and the questions about them."""

    def __init__(self, link: Link, own: OwnSide) -> None:
        super().__init__(link)
        self.stamp: bytes | None = None
        """The server's name, as it gives it."""
        self._seal = Seal(own.secret, link.name) if own.secret is not None else None
        self._asks: dict[int, Ask] = {}
        self._by_outer: dict[bytes, Ask] = {}
        self._floor = Floor()
        self._parked: list[tuple[bytes, bytes]] = []
        """Questions asked outside any call: the server's id, and the input request."""
        self._numbers = 0
        self._keys = 0

    # -- what `ToHandshake` does ---------------------------------------------------------------------------------

    def start(self, ask: Ask) -> None:
        """Send a call to the server."""
        raise NotImplementedError

    def finish(self, ask: Ask, frame: Frame, now: float) -> None:
        """Give the host the server's answer."""
        raise NotImplementedError

    # -- the host ------------------------------------------------------------------------------------------------

    def begin(self, ask: Ask, wire_id: bytes, envelope: dict[str, bytes], now: float) -> None:
        """A call of the host's: at the server now, or when its turn comes."""
        self._attach(ask, wire_id, envelope)
        self._asks[ask.number] = ask
        if self._parked and ask.askable and self._seal is not None and "roots" in ask.capabilities:
            parked, self._parked = self._parked, []
            for ident, question in parked:
                ask.questions[self.key()] = (ident, question)
            self.hold(ask, now)
        elif self._floor.takes(ask):
            self.start(ask)

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _attach(self, ask: Ask, wire_id: bytes, envelope: dict[str, bytes]) -> None:
        """A request of the host's waits for the call's answer now."""
        ask.outer = wire_id
        ask.deadline = None
        ask.capabilities = dialects.decoded(envelope.get(CAPABILITIES))
        ask.token = envelope.get("progressToken")
        ask.level = text_of(envelope.get(LOG_LEVEL))
        self._by_outer[wire_id] = ask

    def key(self) -> str:
        self._keys += 1
        return f"q{self._keys}"

    def resumes(self, frame: Frame) -> bool:
        return self._found(frame) is not None

    def hold(self, ask: Ask, now: float) -> None:
        """Answer the host with the questions of a call; it comes back with the answers."""
        assert self._seal is not None
        ask.round += 1
        outer, ask.outer = ask.outer, None
        ask.deadline = now + HELD_SECONDS
        assert outer is not None
        self._by_outer.pop(outer, None)
        stamp = with_server_info(None, self.stamp) if self.stamp is not None else None
        self.deliver(answer(outer, question_result(ask, self._seal.state(ask), stamp)), now)
        self.leave(ask, now)

    def _found(self, frame: Frame) -> Ask | None:
        state = text_of(frame.part("requestState"))
        named = self._seal.number(state, frame) if self._seal is not None and state is not None else None
        ask = self._asks.get(named[0]) if named is not None else None
        return ask if ask is not None and named is not None and ask.held and ask.round == named[1] else None

    def resume(self, frame: Frame, wire_id: bytes, envelope: dict[str, bytes], now: float) -> None:
        ask = self._found(frame)
        if ask is None:
            text = (
                "Invalid params: requestState is not one that was given for this request, or it was used before, or it "
                "has expired. Make the call again without it."
            )
            self.fail(wire_id, Failure(INVALID_PARAMS, text), now)
            return
        self._attach(ask, wire_id, envelope)
        given = object_members(frame.part("inputResponses"))
        for key in [key for key in ask.questions if given.get(key, b"")[:1] == b"{"]:
            ident, _ = ask.questions.pop(key)
            ask.replies[ident] = given[key]
        if ask.answer is not None or self._floor.takes(ask):
            self._go_on(ask, now)

    def _go_on(self, ask: Ask, now: float) -> None:
        """Give the server the answers the host has brought, and the host what there is for it."""
        replies, ask.replies = ask.replies, {}
        for ident, reply in replies.items():
            if ident:
                self.link.raw((result_line(ident, reply),))
        if ask.questions:
            self.hold(ask, now)
        elif ask.answer is not None:
            self.finish(ask, ask.answer, now)
        elif not ask.sent:
            self.start(ask)

    def give_up(self, ask: Ask, reason: str, now: float) -> None:
        """Nobody will come back for a call."""
        ask.over = True
        self._asks.pop(ask.number, None)
        for ident in filter(None, (ident for ident, _ in ask.questions.values())):
            self.refuse(ident, Failure(REQUEST_TIMEOUT, f"No answer: {reason}."))
        if ask.sent and ask.answer is None and ask.inner is not None:
            self.stop(ask.inner, reason)
        self.leave(ask, now)

    def leave(self, ask: Ask, now: float) -> None:
        following = self._floor.leaves(ask)
        if following is not None:
            self._go_on(following, now)

    def drop_all(self) -> None:
        """The connection is gone. Answers that came before are still there for hosts that come back."""
        self._floor.clear()
        self._parked.clear()
        self._by_outer.clear()
        self._asks = {number: ask for number, ask in self._asks.items() if ask.held and ask.answer is not None}

    # -- the server ----------------------------------------------------------------------------------------------

    def requested(self, frame: Frame, now: float) -> None:
        assert frame.id is not None
        method, params = frame.method or "", frame.top_piece("params")
        if method == "ping":
            self.link.raw((result_line(frame.id, b"{}"),))
        elif method not in dialects.QUESTIONS or self._seal is None or len(self._asks) > MAX_HELD:
            self.refuse(frame.id, NO_METHOD)
        else:
            self._question(frame.id, method, params if isinstance(params, bytes) else None, now)

    def _question(self, ident: bytes, method: str, params: bytes | None, now: float) -> None:
        ask = self._floor.asker(self._asks.values())
        if ask is None:
            self._homeless(ident, method, params)
            return
        missing = dialects.lacking(method, params, ask.capabilities)
        if missing is not None:
            ask.missing.update(missing)
            self.refuse(ident, dialects.cannot_ask(missing, ask.capabilities))
            return
        ask.questions[self.key()] = (ident, dialects.modern_question(method, params))
        if ask.outer is not None:
            self.hold(ask, now)

    def _homeless(self, ident: bytes, method: str, params: bytes | None) -> None:
        """A question that is not known to be of a call. Roots are asked for at the start: the next call brings them."""
        idle = not any(ask.sent and ask.answer is None for ask in self._asks.values())
        if method == dialects.ROOTS and idle and len(self._parked) < MAX_PARKED:
            self._parked.append((ident, dialects.modern_question(method, params)))
            return
        text = f"Protocol {MODERN} asks its host only in answer to a call, and no call that could be is under way."
        self.refuse(ident, Failure(METHOD_NOT_FOUND, text))

    def withdrawn(self, ident: bytes) -> None:
        """The server does not want to know any more."""
        self._parked = [(other, question) for other, question in self._parked if same_id(other) != ident]
        for ask in self._asks.values():
            ask.questions = {key: asked for key, asked in ask.questions.items() if same_id(asked[0]) != ident}
            ask.replies = {other: reply for other, reply in ask.replies.items() if same_id(other) != ident}

    def visits(self, ask: Ask, frame: Frame) -> bool:
        """Whether the server refuses a call until its user has been to some pages. They are asked to, then it is made
        again."""
        if dialects.code_of(frame) != dialects.URL_NEEDED_BEFORE or not ask.askable or self._seal is None:
            return False
        pages = dialects.pages_of(frame.part("data"))
        missing = [dialects.lacking(dialects.ELICIT, page, ask.capabilities) for page in pages]
        if not pages or any(missing):
            ask.missing.update(next(filter(None, missing), {}))
            return False
        for page in pages:
            ask.questions[self.key()] = (b"", dialects.modern_question(dialects.ELICIT, page))
        ask.sent = False
        return True

    # -- time ----------------------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        for ask in [ask for ask in self._asks.values() if ask.deadline is not None and ask.deadline <= now]:
            self.give_up(ask, f"the host did not come back within {HELD_SECONDS:g} s", now)

    def next_deadline(self) -> float | None:
        return min((ask.deadline for ask in self._asks.values() if ask.deadline is not None), default=None)
