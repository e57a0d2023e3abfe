"""A host of the handshake in front of a server of 2026-07-28.

The handshake is answered from `server/discover`, each request gets the envelope, questions that come as results are
asked as requests (`rounds`), and subscriptions go through one stream (`feed`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crp_mcp.core.wire.answers import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Failure,
    dump,
)
from crp_mcp.core.wire.eras import CAPABILITIES, CLIENT_INFO, ENVELOPE_VERSION, LOG_LEVEL, MODERN, SUBSCRIPTION_ID
from crp_mcp.core.wire.frame import Edit, Frame, text_of

from . import dialects
from .base import Bridge, Job
from .feed import Feed
from .results import handshake_answer, handshake_error, initialize_result, plain_result
from .rewrite import answer, edited, object_members, rewritten, written
from .rounds import Rounds, Turn

if TYPE_CHECKING:
    from crp_mcp.core.wire.link import Link

_STAMPS = ("resultType", "ttlMs", "cacheScope")
_TASKS = "io.modelcontextprotocol/tasks"


class ToModern(Bridge):
    """See the module's first lines."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self.client: dict[str, Any] = {}
        """The host's capabilities, as its revision can be asked for them."""
        self.revision = ""
        self.server: dict[str, Any] = {}
        """The server's capabilities."""
        self._level: bytes | None = None
        self._envelope: dict[str, bytes] = {ENVELOPE_VERSION.decode(): dump(MODERN), CAPABILITIES: b"{}"}
        self._jobs: dict[bytes, Turn] = {}
        self._rounds = Rounds(self)
        self._feed = Feed(self)
        self._listening = False
        self._local = {
            "initialize": self._greet,
            "ping": lambda frame, wire_id, now: self.deliver(answer(wire_id, b"{}"), now),
            "logging/setLevel": self._set_level,
            "resources/subscribe": self._feed.subscribe,
            "resources/unsubscribe": self._feed.subscribe,
        }

    # -- the host ------------------------------------------------------------------------------------------------

    def send(self, frame: Frame, wire_id: bytes, edits: list[Edit], now: float, *, ours: bool = False) -> None:
        frame = edited(frame, edits)
        local = self._local.get(frame.method or "")
        if local is not None:
            local(frame, wire_id, now)
            return
        if not self._listening:
            # Some hosts forget to say that they are initialized.
            self._listen(now)
        turn = Turn(wire_id, frame)
        turn.ours = ours
        self._jobs[wire_id] = turn
        self.start(turn, {})

    def start(self, turn: Turn, put: dict[str, Any]) -> None:
        """Send a request, or send it again with what `put` adds to its params."""
        ident = self.claim(lambda frame, now: self._done(turn, frame, now), turn)
        drop = ("inputResponses", "requestState")
        self.put(
            rewritten(turn.frame, put={**put, "_meta": self.envelope(turn.frame)}, drop=drop, ident=ident, over=True)
        )

    def envelope(self, frame: Frame | None = None) -> bytes:
        """`_meta` of a request: the host's own, with who asks and what it can do."""

        level = {LOG_LEVEL: self._level} if self._level is not None else {}
        own = object_members(frame.part("_meta")) if frame is not None else {}
        return written({**own, **self._envelope, **level})

    def _greet(self, frame: Frame, wire_id: bytes, now: float) -> None:
        capabilities = frame.part("capabilities")
        wanted = text_of(frame.part("protocolVersion"))
        self.revision = dialects.revision_for(wanted)
        self.client = dict(dialects.old_capabilities(dialects.decoded(capabilities), self.revision))
        self._envelope[CAPABILITIES] = dialects.client_capabilities(dump(self.client))
        info = frame.part("clientInfo")
        if info is not None:
            self._envelope[CLIENT_INFO] = info

        def discovered(found: Frame, at: float) -> None:
            result = found.top_piece("result")
            said = object_members(result) if isinstance(result, bytes) else {}
            if MODERN.encode() in said.get("supportedVersions", b""):
                self.server = dialects.decoded(said.get("capabilities"))
                greeting = initialize_result(said, self.client, wanted, self.link.name)
                self.deliver(answer(wire_id, greeting), at)
            elif "error" in found.top:
                self.deliver(rewritten(found, ident=wire_id), at)
            else:
                self.fail(wire_id, Failure(INVALID_PARAMS, "The server speaks no protocol that is known here."), at)

        self.ask("server/discover", b'{"_meta":%b}' % self.envelope(), discovered)

    def _set_level(self, frame: Frame, wire_id: bytes, now: float) -> None:
        level = frame.part("level")
        if "logging" not in self.server:
            self.fail(wire_id, Failure(METHOD_NOT_FOUND, "Method not found"), now)
        elif text_of(level) not in dialects.LEVELS:
            self.fail(wire_id, Failure(INVALID_PARAMS, "Invalid params: level is none of the known ones"), now)
        else:
            self._level = level
            self.deliver(answer(wire_id, b"{}"), now)

    def tell(self, frame: Frame, now: float) -> None:
        if frame.method == "notifications/initialized":
            self._listen(now)
        elif frame.method not in ("notifications/roots/list_changed", "notifications/progress"):
            self.put(frame)

    def _listen(self, now: float) -> None:
        self._listening = True
        self._feed.open(now)

    def reply(self, frame: Frame, ident: bytes, now: float) -> bool:
        return self._rounds.replied(frame, ident, now)

    def cancel(self, wire_id: bytes, now: float) -> None:
        turn = self._jobs.pop(wire_id, None)
        if turn is None:
            return
        turn.over = True
        self._rounds.drop(turn, now)
        if turn.inner is not None:
            self.stop(turn.inner, "cancelled by the host")

    def closed(self, now: float) -> None:
        super().closed(now)
        self._jobs.clear()
        self._rounds.clear()
        self._feed.closed()
        self._listening = False

    # -- the server ----------------------------------------------------------------------------------------------

    def needs_whole(self, frame: Frame, job: Job | None) -> bool:
        return text_of(frame.part("resultType")) == "input_required" or super().needs_whole(frame, job)

    def _done(self, turn: Turn, frame: Frame, now: float) -> None:
        """The server has answered a request."""
        turn.inner = None
        if turn.over:
            return
        kind = text_of(frame.part("resultType")) if "result" in frame.top else None
        if kind == "input_required" and not turn.ours:
            self._rounds.asked(turn, frame, now)
            return
        self.end(turn, now)
        if turn.outer is None:
            return
        if "error" in frame.top:
            self.deliver(handshake_error(turn.method, frame, turn.outer), now)
        elif kind in (None, "complete"):
            self.deliver(handshake_answer(turn.method, frame, turn.outer), now)
        elif turn.ours or self._knows(kind):
            self.deliver(rewritten(frame, ident=turn.outer), now)
        else:
            text = f"The MCP server {self.link.name!r} answered with a result of type {kind!r}, "
            self.fail(turn.outer, Failure(INTERNAL_ERROR, text + f"which protocol {self.revision} does not have."), now)

    def _knows(self, kind: str | None) -> bool:
        """Whether the host has an extension that may define this type of result."""
        extensions = self.client.get("extensions")
        if not isinstance(extensions, dict) or not extensions:
            return False
        return kind != "task" or _TASKS in extensions

    def end(self, turn: Turn, now: float) -> None:
        """A request is over."""
        turn.over = True
        if turn.outer is not None:
            self._jobs.pop(turn.outer, None)
        self._rounds.finished(turn, now)

    def notified(self, frame: Frame, now: float) -> None:
        meta = frame.part("_meta")
        if meta is not None and SUBSCRIPTION_ID.encode() in meta:
            self._feed.event(frame, meta, now)
        elif frame.method != "notifications/cancelled" or not self._feed.ended(frame.part("requestId"), now):
            self.deliver(frame, now)

    def requested(self, frame: Frame, now: float) -> None:
        # Servers of 2026-07-28 do not ask so; one that does is understood by its host.
        self.deliver(frame, now)

    def finished(self, result: bytes) -> bytes:
        return plain_result(result)

    # -- time ----------------------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        self._rounds.tick(now)
        self._feed.tick(now)

    def next_deadline(self) -> float | None:
        due = [self._rounds.next_deadline(), self._feed.next_deadline()]
        return min((at for at in due if at is not None), default=None)
