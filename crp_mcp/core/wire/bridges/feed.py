"""Subscriptions and announcements of a server of 2026-07-28 for a host of the handshake: one stream, kept open.

When the set of subscribed resources changes, a new stream is opened, and the old one ended once the new one stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crp_mcp.core.wire.answers import INVALID_PARAMS, METHOD_NOT_FOUND, Failure, dump, without_members
from crp_mcp.core.wire.eras import SUBSCRIPTION_ID
from crp_mcp.core.wire.frame import Frame, text_of
from crp_mcp.core.wire.requests import same_id

from .dialects import decoded
from .rewrite import answer, object_members, rewritten

if TYPE_CHECKING:
    from .to_modern import ToModern

LISTS = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}
AGAIN = (1.0, 2.0, 5.0, 15.0, 60.0)
"""Seconds before a stream that has ended is opened again."""


class Feed:
    """The stream of one bridge."""

    def __init__(self, bridge: ToModern) -> None:
        self._bridge = bridge
        self._uris: dict[str, None] = {}
        self._stream: bytes | None = None
        self._next: bytes | None = None
        """A stream that is not acknowledged yet."""
        self._waiting: list[tuple[bytes, str]] = []
        """Subscriptions the host waits to hear of: id and URI."""
        self._again: float | None = None
        self._ended = 0

    def subscribe(self, frame: Frame, wire_id: bytes, now: float) -> None:
        """The host's `resources/subscribe` or `resources/unsubscribe`."""
        uri = text_of(frame.part("uri"))
        resources = self._bridge.server.get("resources")
        if not (isinstance(resources, dict) and resources.get("subscribe")):
            self._bridge.fail(wire_id, Failure(METHOD_NOT_FOUND, "Method not found"), now)
        elif uri is None:
            self._bridge.fail(wire_id, Failure(INVALID_PARAMS, "Invalid params: uri must be a string"), now)
        elif frame.method == "resources/subscribe":
            self._waiting.append((wire_id, uri))
            if uri not in self._uris or self._stream is self._next is None:
                self._uris[uri] = None
                self.open(now)
            elif self._next is None:
                self._acknowledge([uri], now)
        else:
            if self._uris.pop(uri, self) is None:
                self.open(now)
            self._bridge.deliver(answer(wire_id, b"{}"), now)

    def _filter(self) -> dict[str, Any]:
        server = self._bridge.server
        wanted: dict[str, Any] = {
            flag: True
            for name, flag in LISTS.items()
            if isinstance(server.get(name), dict) and server[name].get("listChanged")
        }
        return {**wanted, "resourceSubscriptions": list(self._uris)} if self._uris else wanted

    def open(self, now: float) -> None:
        """Listen for what the server announces and the host has subscribed to."""
        self._again = None
        self._drop(self._next)
        self._next = None
        wanted = self._filter()
        if not wanted:
            self._drop(self._stream)
            self._stream = None
            return
        params = b'{"notifications":%b,"_meta":%b}' % (dump(wanted), self._bridge.envelope())
        ident = b""

        def answered(frame: Frame, at: float) -> None:
            self._answered(ident, frame, at)

        ident = self._next = self._bridge.ask("subscriptions/listen", params, answered)

    def _drop(self, ident: bytes | None) -> None:
        if ident is not None:
            self._bridge.stop(ident, "no longer listened to")

    def event(self, frame: Frame, meta: bytes, now: float) -> None:
        """A notification of a stream. The host gets it as a plain one."""
        ident = same_id(object_members(meta).get(SUBSCRIPTION_ID, b""))
        if frame.method == "notifications/subscriptions/acknowledged":
            if self._next is not None and ident == same_id(self._next):
                self._acknowledged(frame, now)
        elif self._stream is not None and ident == same_id(self._stream):
            rest = without_members(meta, (SUBSCRIPTION_ID,))
            plain = rewritten(frame, drop=["_meta"]) if rest == b"{}" else rewritten(frame, put={"_meta": rest})
            self._bridge.deliver(plain, now)

    def _acknowledged(self, frame: Frame, now: float) -> None:
        self._drop(self._stream)
        self._stream, self._next, self._ended = self._next, None, 0
        honoured = decoded(frame.part("notifications")).get("resourceSubscriptions")
        self._acknowledge(honoured if isinstance(honoured, list) else [], now)

    def _acknowledge(self, honoured: list[Any], now: float) -> None:
        waiting, self._waiting = self._waiting, []
        for wire_id, uri in waiting:
            if uri in honoured:
                self._bridge.deliver(answer(wire_id, b"{}"), now)
            else:
                self._uris.pop(uri, None)
                text = f"The MCP server {self._bridge.link.name!r} does not take a subscription to this resource."
                self._bridge.fail(wire_id, Failure(INVALID_PARAMS, text), now)

    def _answered(self, ident: bytes, frame: Frame, now: float) -> None:
        """A stream has ended, or was refused."""
        if ident not in (self._stream, self._next):
            return
        refused = ident == self._next
        if refused:
            self._next = None
            waiting, self._waiting = self._waiting, []
            for wire_id, uri in waiting:
                self._uris.pop(uri, None)
                self._bridge.deliver(rewritten(frame, ident=wire_id), now)
        else:
            self._stream = None
        if not (refused and frame.part("code") == b"%d" % METHOD_NOT_FOUND):
            self._later(now)

    def ended(self, ident: bytes | None, now: float) -> bool:
        """The server ends a stream. False where it means something else."""
        if ident is None or same_id(ident) not in (self._stream, self._next):
            return False
        if same_id(ident) == self._stream:
            self._stream = None
        else:
            self._next = None
        self._later(now)
        return True

    def _later(self, now: float) -> None:
        if self._next is None:
            self._again = now + AGAIN[min(self._ended, len(AGAIN) - 1)]
            self._ended += 1

    def closed(self) -> None:
        """The connection is gone. What is subscribed is subscribed again when there is another."""
        self._stream = self._next = self._again = None
        self._waiting = []

    def tick(self, now: float) -> None:
        if self._again is not None and self._again <= now:
            self.open(now)

    def next_deadline(self) -> float | None:
        return self._again
