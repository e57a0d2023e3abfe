"""A host of 2026-07-28 in front of a server of the handshake.

The server is greeted in the host's name, requests lose the envelope, results get what the era asks for, and what the
server asks during a call holds the call: its host is answered `input_required`, and goes on with what it brings back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crp_mcp.core.wire.answers import INVALID_PARAMS, Failure, dump
from crp_mcp.core.wire.commands import OwnSide
from crp_mcp.core.wire.eras import (
    CAPABILITIES,
    CLIENT_INFO,
    ENVELOPE_KEYS,
    ENVELOPE_VERSION,
    HANDSHAKE_VERSIONS,
    LOG_LEVEL,
    REMOVED,
    unspoken,
)
from crp_mcp.core.wire.frame import Edit, Frame, text_of
from crp_mcp.core.wire.requests import same_id

from . import dialects
from .base import NO_METHOD
from .held import Ask, is_ours
from .holding import Holding
from .listening import Streams
from .results import discover_result, modern_answer
from .rewrite import answer, edited, object_members, rewritten, written

if TYPE_CHECKING:
    from crp_mcp.core.wire.link import Link

DISCOVER_TTL = 60_000
"""Milliseconds a host may keep what a running server said of itself."""
MAX_PARKED = 16
_STRIPPED = ENVELOPE_KEYS | {LOG_LEVEL}


class ToHandshake(Holding):
    """See the module's first lines."""

    def __init__(self, link: Link, own: OwnSide) -> None:
        super().__init__(link, own)
        self._own = own
        self.server: dict[str, Any] = {}
        """The server's capabilities."""
        self._greeted: dict[str, bytes] = {}
        """The server's answer to the handshake."""
        self._client: dict[str, Any] = {}
        """The capabilities the server was greeted with."""
        self._streams = Streams(self)
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
            self.stamp = self._greeted.get("serverInfo")
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
            self.deliver(answer(wire_id, discover_result(self._greeted, client, DISCOVER_TTL)), now)
        elif frame.method == "subscriptions/listen":
            self._streams.start(frame, wire_id, now)
        elif frame.method in dialects.ASKABLE and is_ours(text_of(frame.part("requestState"))):
            self.resume(frame, wire_id, envelope, now)
        else:
            ask = Ask(self.number(), frame, edited(frame, edits))
            self.begin(ask, wire_id, {} if ours else envelope, now)

    def _refusal(self, frame: Frame, envelope: dict[str, bytes]) -> Failure | None:
        """What a server of 2026-07-28 would say of the request itself."""
        if frame.method in REMOVED:
            return NO_METHOD
        refusal = unspoken(frame.part("_meta"))
        if refusal is not None:
            return refusal
        if text_of(envelope.get(ENVELOPE_VERSION.decode())) is None or envelope.get(CAPABILITIES, b"")[:1] != b"{":
            return Failure(
                INVALID_PARAMS, f"Invalid params: _meta must have {ENVELOPE_VERSION.decode()} and {CAPABILITIES}"
            )
        return None

    def start(self, ask: Ask) -> None:
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
            self.give_up(ask, "cancelled by the host", now)

    def closed(self, now: float) -> None:
        super().closed(now)
        self.drop_all()
        self._streams.clear()
        self._level, self._called = None, False

    # -- the server ----------------------------------------------------------------------------------------------

    def notified(self, frame: Frame, now: float) -> None:
        if frame.method == "notifications/progress":
            self._progress(frame, now)
        elif frame.method == "notifications/message":
            self._log(frame, now)
        elif frame.method == "notifications/cancelled":
            self.withdrawn(same_id(frame.part("requestId") or b""))
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

    def _done(self, ask: Ask, frame: Frame, now: float) -> None:
        """The server has answered a call."""
        ask.questions, ask.replies = {}, {}
        if ask.over:
            return
        if ask.outer is None:
            ask.answer = frame
        elif self.visits(ask, frame):
            self.hold(ask, now)
        else:
            self.finish(ask, frame, now)

    def finish(self, ask: Ask, frame: Frame, now: float) -> None:
        outer, ask.over = ask.outer, True
        self._asks.pop(ask.number, None)
        if outer is not None:
            self._by_outer.pop(outer, None)
            self.deliver(modern_answer(ask.method, frame, outer, self.stamp, ask.missing), now)
        self.leave(ask, now)
