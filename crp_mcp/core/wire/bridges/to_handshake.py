"""A host of 2026-07-28 in front of a server of the handshake.

The server is greeted in the host's name, requests lose the envelope, results get what the era asks for, and what the
server asks during a call holds the call: its host is answered `input_required`, and goes on with what it brings back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crp_mcp.core.wire.answers import INVALID_PARAMS, METHOD_NOT_FOUND, REQUEST_TIMEOUT, Failure, dump, result_line
from crp_mcp.core.wire.commands import OwnSide
from crp_mcp.core.wire.eras import (
    CAPABILITIES,
    CLIENT_INFO,
    ENVELOPE_KEYS,
    ENVELOPE_VERSION,
    HANDSHAKE_VERSIONS,
    LOG_LEVEL,
    MODERN,
    REMOVED,
)
from crp_mcp.core.wire.frame import Edit, Frame, text_of
from crp_mcp.core.wire.requests import same_id

from . import dialects
from .base import NO_METHOD, Bridge
from .floor import Floor
from .held import HELD_SECONDS, MAX_HELD, Ask, Seal, is_ours, question_result
from .listening import Streams
from .rewrite import answer, edited, failed, object_members, rewritten, written

if TYPE_CHECKING:
    from crp_mcp.core.wire.link import Link

DISCOVER_TTL = 60_000
"""Milliseconds a host may keep what a running server said of itself."""
MAX_PARKED = 16
_STRIPPED = ENVELOPE_KEYS | {LOG_LEVEL}


class ToHandshake(Bridge):
    """See the module's first lines."""

    def __init__(self, link: Link, own: OwnSide) -> None:
        super().__init__(link)
        self._own = own
        self.server: dict[str, Any] = {}
        """The server's capabilities."""
        self._greeted: dict[str, bytes] = {}
        """The server's answer to the handshake."""
        self._client: dict[str, Any] = {}
        """The capabilities the server was greeted with."""
        self._stamp: bytes | None = None
        self._seal = Seal(own.secret, link.name) if own.secret is not None else None
        self._asks: dict[int, Ask] = {}
        self._by_outer: dict[bytes, Ask] = {}
        self._floor = Floor(shared=link.rules.shared)
        self._streams = Streams(self)
        self._parked: list[tuple[bytes, bytes]] = []
        """Questions asked outside any call: the server's id, and the input request."""
        self._numbers = 0
        self._keys = 0
        self._level: str | None = None
        self._called = False
        """Whether a tool was called on this connection: the server may keep something of it."""

    # -- the handshake -------------------------------------------------------------------------------------------

    def greeting(self, meta: bytes | None) -> bytes:
        """Params of `initialize` in the name of a host that sent this `_meta`."""
        envelope = object_members(meta)
        self._client = dialects.decoded(envelope.get(CAPABILITIES))
        found = {
            "protocolVersion": dump(HANDSHAKE_VERSIONS[-1]),
            "capabilities": dialects.client_capabilities(envelope.get(CAPABILITIES)),
            "clientInfo": envelope.get(CLIENT_INFO) or dump(dict(self._own.identity)),
        }
        return written(found)

    def outgrown(self, meta: bytes | None) -> bytes | None:
        """Not where a tool was called already, or anything is under way: the server may keep something of it."""
        now = dialects.decoded(object_members(meta).get(CAPABILITIES))
        idle = not self._called and not self._asks and not self._streams and self.link.ready
        return self.greeting(meta) if now.keys() - self._client.keys() and idle else None

    def _met(self, frame: Frame, wire_id: bytes, now: float) -> None:
        result = frame.top_piece("result")
        if isinstance(result, bytes):
            self._greeted = object_members(result)
            self.server = dialects.decoded(self._greeted.get("capabilities"))
            self._stamp = self._greeted.get("serverInfo")
        self.deliver(rewritten(frame, ident=wire_id), now)

    # -- the host ------------------------------------------------------------------------------------------------

    def send(self, frame: Frame, wire_id: bytes, edits: list[Edit], now: float, *, ours: bool = False) -> None:
        if frame.method == "initialize":
            ident = self.claim(lambda found, at: self._met(found, wire_id, at))
            self.put(rewritten(frame, ident=ident))
            return
        envelope = object_members(frame.part("_meta"))
        refusal = None if ours and not envelope else self._refusal(frame, envelope)
        if refusal is not None:
            self.fail(wire_id, refusal, now)
        elif frame.method == "server/discover":
            client = dialects.decoded(envelope.get(CAPABILITIES))
            self.deliver(answer(wire_id, dialects.discover_result(self._greeted, client, DISCOVER_TTL)), now)
        elif frame.method == "subscriptions/listen":
            self._streams.start(frame, wire_id, now)
        elif frame.method in dialects.ASKABLE and is_ours(text_of(frame.part("requestState"))):
            self._resume(frame, wire_id, envelope, now)
        else:
            self._begin(frame, wire_id, edits, {} if ours else envelope, now)

    def _refusal(self, frame: Frame, envelope: dict[str, bytes]) -> Failure | None:
        """What a server of 2026-07-28 would say of the request itself."""
        version = text_of(envelope.get(ENVELOPE_VERSION.decode()))
        if frame.method in REMOVED:
            return NO_METHOD
        if version is not None and version != MODERN:
            data = {"supported": [MODERN], "requested": version}
            return Failure(dialects.UNSUPPORTED_VERSION, "Unsupported protocol version", data)
        if version is None or envelope.get(CAPABILITIES, b"")[:1] != b"{":
            return Failure(
                INVALID_PARAMS, f"Invalid params: _meta must have {ENVELOPE_VERSION.decode()} and {CAPABILITIES}"
            )
        return None

    def _begin(self, frame: Frame, wire_id: bytes, edits: list[Edit], envelope: dict[str, bytes], now: float) -> None:
        self._numbers += 1
        ask = Ask(wire_id, frame, self._numbers)
        ask.frame = edited(frame, edits)
        self._attach(ask, wire_id, envelope)
        self._asks[ask.number] = ask
        if self._parked and ask.askable and self._seal is not None and "roots" in ask.capabilities:
            parked, self._parked = self._parked, []
            for ident, question in parked:
                ask.questions[self._key()] = (ident, question)
            self._hold(ask, now)
        elif self._floor.takes(ask):
            self._start(ask)

    def _attach(self, ask: Ask, wire_id: bytes, envelope: dict[str, bytes]) -> None:
        """A request of the host's waits for the call's answer now."""
        ask.outer = wire_id
        ask.deadline = None
        ask.capabilities = dialects.decoded(envelope.get(CAPABILITIES))
        ask.token = envelope.get("progressToken")
        ask.level = text_of(envelope.get(LOG_LEVEL))
        self._by_outer[wire_id] = ask

    def _key(self) -> str:
        self._keys += 1
        return f"q{self._keys}"

    def _start(self, ask: Ask) -> None:
        """Send a call to the server."""
        self._set_level(ask.level)
        self._called = self._called or ask.method == "tools/call"
        ask.sent = True
        ident = self.claim(lambda frame, now: self._done(ask, frame, now), ask)
        own = object_members(ask.frame.part("_meta"))
        meta = {name: value for name, value in own.items() if name not in _STRIPPED}
        if ask.token is not None:
            meta["progressToken"] = ident
        put = {"_meta": written(meta)} if meta else {}
        drop = ["inputResponses", "requestState", *(() if meta else ("_meta",))]
        self.put(rewritten(ask.frame, put=put, drop=drop, ident=ident, over=True))

    def _set_level(self, level: str | None) -> None:
        """Have the server log what the calls under way ask for."""
        if level not in dialects.LEVELS or "logging" not in self.server:
            return
        levels = [ask.level for ask in self._asks.values() if ask.running and ask.level in dialects.LEVELS]
        lowest = min([level, *levels], key=lambda one: dialects.LEVELS.index(one or ""))
        if lowest != self._level:
            self._level = lowest
            self.ask("logging/setLevel", b'{"level":%b}' % dump(lowest), lambda frame, now: None)

    def tell(self, frame: Frame, now: float) -> None:
        self.put(frame)

    def cancel(self, wire_id: bytes, now: float) -> None:
        if self._streams.end(wire_id):
            return
        ask = self._by_outer.pop(wire_id, None)
        if ask is not None:
            self._give_up(ask, "cancelled by the host", now)

    def _give_up(self, ask: Ask, reason: str, now: float) -> None:
        """Nobody will come back for a call."""
        ask.over = True
        self._asks.pop(ask.number, None)
        for ident in filter(None, (ident for ident, _ in ask.questions.values())):
            self.refuse(ident, Failure(REQUEST_TIMEOUT, f"No answer: {reason}."))
        if ask.sent and ask.answer is None and ask.inner is not None:
            self.stop(ask.inner, reason)
        self._leave(ask, now)

    def _leave(self, ask: Ask, now: float) -> None:
        following = self._floor.leaves(ask)
        if following is not None:
            self._go_on(following, now)

    def resumes(self, frame: Frame) -> bool:
        return self._found(frame) is not None

    def closed(self, now: float) -> None:
        super().closed(now)
        self._floor.clear()
        self._streams.clear()
        self._parked.clear()
        self._by_outer.clear()
        self._asks = {number: ask for number, ask in self._asks.items() if ask.held and ask.answer is not None}
        self._level, self._called = None, False

    # -- held calls ----------------------------------------------------------------------------------------------

    def _hold(self, ask: Ask, now: float) -> None:
        """Answer the host with the questions of a call; it comes back with the answers."""
        assert self._seal is not None
        ask.round += 1
        outer, ask.outer = ask.outer, None
        ask.deadline = now + HELD_SECONDS
        assert outer is not None
        self._by_outer.pop(outer, None)
        stamp = dialects.with_server_info(None, self._stamp) if self._stamp is not None else None
        self.deliver(answer(outer, question_result(ask, self._seal.state(ask), stamp)), now)
        self._leave(ask, now)

    def _found(self, frame: Frame) -> Ask | None:
        state = text_of(frame.part("requestState"))
        named = self._seal.number(state, frame) if self._seal is not None and state is not None else None
        ask = self._asks.get(named[0]) if named is not None else None
        return ask if ask is not None and named is not None and ask.held and ask.round == named[1] else None

    def _resume(self, frame: Frame, wire_id: bytes, envelope: dict[str, bytes], now: float) -> None:
        ask = self._found(frame)
        if ask is None:
            text = (
                "Invalid params: requestState is not one that was given for this request, or it was used before, or it "
                "has expired. Make the call again without it."
            )
            self.fail(wire_id, Failure(INVALID_PARAMS, text), now)
            return
        if "inputResponses" in frame.inner and frame.part("inputResponses") is None:
            self.fail(wire_id, Failure(INVALID_PARAMS, "Invalid params: inputResponses are too long"), now)
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
            self._hold(ask, now)
        elif ask.answer is not None:
            self._finish(ask, ask.answer, now)
        elif not ask.sent:
            self._start(ask)

    # -- the server ----------------------------------------------------------------------------------------------

    def requested(self, frame: Frame, now: float) -> None:
        assert frame.id is not None
        method = frame.method or ""
        params = frame.top_piece("params")
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
        ask.questions[self._key()] = (ident, dialects.modern_question(method, params))
        if ask.outer is not None:
            self._hold(ask, now)

    def _homeless(self, ident: bytes, method: str, params: bytes | None) -> None:
        """A question that is not known to be of a call. Roots are asked for at the start: the next call brings them."""
        idle = not any(ask.sent and ask.answer is None for ask in self._asks.values())
        if method == dialects.ROOTS and idle and len(self._parked) < MAX_PARKED:
            self._parked.append((ident, dialects.modern_question(method, params)))
            return
        text = (
            f"Protocol {MODERN} asks its host only in answer to a call, and no call is under way."
            if idle
            else "Several calls are under way on this connection, so it is not known whose host to ask."
        )
        self.refuse(ident, Failure(METHOD_NOT_FOUND, text))

    def notified(self, frame: Frame, now: float) -> None:
        if frame.method == "notifications/progress":
            self._progress(frame, now)
        elif frame.method == "notifications/message":
            self._log(frame, now)
        elif frame.method == "notifications/cancelled":
            self._withdrawn(same_id(frame.part("requestId") or b""))
        elif not self._streams.event(frame, now) and frame.method != "notifications/elicitation/complete":
            self.deliver(frame, now)

    def _progress(self, frame: Frame, now: float) -> None:
        asked = self._asked.get(same_id(frame.part("progressToken") or b""))
        ask = asked[1] if asked is not None else None
        if isinstance(ask, Ask) and ask.outer is not None and ask.token is not None:
            self.deliver(rewritten(frame, put={"progressToken": ask.token}), now)

    def _log(self, frame: Frame, now: float) -> None:
        """A log message goes to a host that asked for it while a call of its was under way."""
        level = text_of(frame.part("level"))
        levels = [ask.level for ask in self._asks.values() if ask.running and ask.level in dialects.LEVELS]
        rank = dialects.LEVELS.index(level) if level in dialects.LEVELS else len(dialects.LEVELS)
        if any(dialects.LEVELS.index(wanted or "") <= rank for wanted in levels):
            self.deliver(frame, now)

    def _withdrawn(self, ident: bytes) -> None:
        """The server does not want to know any more."""
        self._parked = [(other, question) for other, question in self._parked if same_id(other) != ident]
        for ask in self._asks.values():
            ask.questions = {key: asked for key, asked in ask.questions.items() if same_id(asked[0]) != ident}
            ask.replies = {other: reply for other, reply in ask.replies.items() if same_id(other) != ident}

    def _done(self, ask: Ask, frame: Frame, now: float) -> None:
        """The server has answered a call."""
        ask.questions, ask.replies = {}, {}
        if ask.over:
            return
        if ask.outer is None:
            ask.answer = frame
        elif self._visits(ask, frame):
            self._hold(ask, now)
        else:
            self._finish(ask, frame, now)

    def _visits(self, ask: Ask, frame: Frame) -> bool:
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
            ask.questions[self._key()] = (b"", dialects.modern_question(dialects.ELICIT, page))
        ask.sent = False
        return True

    def _finish(self, ask: Ask, frame: Frame, now: float) -> None:
        outer, ask.over = ask.outer, True
        self._asks.pop(ask.number, None)
        if outer is not None:
            self._by_outer.pop(outer, None)
            self.deliver(self._translated(ask, frame, outer), now)
        self._leave(ask, now)

    def _translated(self, ask: Ask, frame: Frame, outer: bytes) -> Frame:
        if "error" in frame.top:
            return self._refused(ask, frame, outer)
        put: dict[str, Any] = {}
        if "resultType" not in frame.inner:
            put["resultType"] = b'"complete"'
        if ask.method in dialects.CACHEABLE:
            put.update({"ttlMs": b"0", "cacheScope": b'"private"'})
        small = "_meta" not in frame.inner or frame.part("_meta") is not None
        if self._stamp is not None and small:
            put["_meta"] = dialects.with_server_info(frame.part("_meta"), self._stamp)
        kept = {name for name in put if name in frame.inner and name != "_meta"}
        put = {name: value for name, value in put.items() if name not in kept}
        return rewritten(frame, put=put, ident=outer, over=ask.method == "tools/call")

    def _refused(self, ask: Ask, frame: Frame, outer: bytes) -> Frame:
        code = dialects.code_of(frame)
        if ask.missing:
            text = text_of(frame.part("message")) or "The call needs what this host has not declared."
            data = {"requiredCapabilities": ask.missing}
            return failed(outer, Failure(dialects.MISSING_CAPABILITY, text, data))
        fresh = dialects.modern_code(code) if code is not None else None
        return rewritten(frame, put={"code": b"%d" % fresh} if fresh is not None and fresh != code else {}, ident=outer)

    # -- time ----------------------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        for ask in [ask for ask in self._asks.values() if ask.deadline is not None and ask.deadline <= now]:
            self._give_up(ask, f"the host did not come back within {HELD_SECONDS:g} s", now)

    def next_deadline(self) -> float | None:
        return min((ask.deadline for ask in self._asks.values() if ask.deadline is not None), default=None)
