"""`subscriptions/listen` in front of a server of the handshake: its subscriptions made, its announcements passed on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crp_mcp.core.wire.answers import dump
from crp_mcp.core.wire.eras import SUBSCRIPTION_ID
from crp_mcp.core.wire.frame import Frame, text_of

from .dialects import decoded
from .rewrite import note, object_members, rewritten, written

if TYPE_CHECKING:
    from .to_handshake import ToHandshake

LISTS = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}


class Stream:
    """One stream of the host's."""

    __slots__ = ("flags", "ident", "left", "open", "uris")

    def __init__(self, ident: bytes, flags: dict[str, bool], uris: list[str]) -> None:
        self.ident = ident
        self.flags = flags
        self.uris = uris
        self.left = 0
        """Subscriptions the server has not answered."""
        self.open = False


class Streams:
    """The streams of one bridge."""

    def __init__(self, bridge: ToHandshake) -> None:
        self._bridge = bridge
        self._streams: dict[bytes, Stream] = {}

    def __bool__(self) -> bool:
        return bool(self._streams)

    def start(self, frame: Frame, wire_id: bytes, now: float) -> None:
        """Open a stream: acknowledged when the server has taken the subscriptions."""
        wanted = decoded(frame.part("notifications"))
        offered = self._bridge.server
        flags = {
            flag: True
            for name, flag in LISTS.items()
            if wanted.get(flag) is True and isinstance(offered.get(name), dict) and offered[name].get("listChanged")
        }
        resources = offered.get("resources")
        uris = wanted.get("resourceSubscriptions")
        takes = isinstance(resources, dict) and resources.get("subscribe") and isinstance(uris, list)
        stream = Stream(
            wire_id, flags, list(dict.fromkeys(uri for uri in uris or () if isinstance(uri, str))) if takes else []
        )
        fresh = [uri for uri in stream.uris if not self._subscribed(uri)]
        self._streams[wire_id] = stream
        stream.left = len(fresh)
        for uri in fresh:
            self._subscribe(stream, uri)
        self._open_if_complete(stream, now)

    def _subscribed(self, uri: str) -> bool:
        return any(uri in stream.uris for stream in self._streams.values())

    def _subscribe(self, stream: Stream, uri: str) -> None:
        def answered(frame: Frame, now: float) -> None:
            stream.left -= 1
            if "error" in frame.top:
                for other in self._streams.values():
                    if uri in other.uris:
                        other.uris.remove(uri)
            self._open_if_complete(stream, now)

        self._bridge.ask("resources/subscribe", b'{"uri":%b}' % dump(uri), answered)

    def _open_if_complete(self, stream: Stream, now: float) -> None:
        if stream.left or self._streams.get(stream.ident) is not stream:
            return
        stream.open = True
        honoured: dict[str, Any] = {**stream.flags, **({"resourceSubscriptions": stream.uris} if stream.uris else {})}
        params = b'{"notifications":%b,"_meta":%b}' % (dump(honoured), _tag(stream))
        self._bridge.deliver(note("notifications/subscriptions/acknowledged", params), now)

    def event(self, frame: Frame, now: float) -> bool:
        """Pass an announcement on to the streams that asked for it. False where it is no such thing."""
        subject = (frame.method or "").removeprefix("notifications/").removesuffix("/list_changed")
        if subject in LISTS and (frame.method or "").endswith("/list_changed"):
            wanted = [stream for stream in self._streams.values() if LISTS[subject] in stream.flags]
        elif frame.method == "notifications/resources/updated":
            uri = text_of(frame.part("uri"))
            wanted = [stream for stream in self._streams.values() if uri in stream.uris]
            # Part of a resource that is subscribed to may be named instead.
            wanted = wanted or [stream for stream in self._streams.values() if stream.uris]
        else:
            return False
        for stream in wanted:
            if stream.open:
                meta = {**object_members(frame.part("_meta")), SUBSCRIPTION_ID: stream.ident}
                self._bridge.deliver(rewritten(frame, put={"_meta": written(meta)}), now)
        return True

    def end(self, wire_id: bytes) -> bool:
        """The host listens no longer. False where this is none of its streams."""
        stream = self._streams.pop(wire_id, None)
        if stream is None:
            return False
        for uri in stream.uris:
            if not self._subscribed(uri):
                self._bridge.ask("resources/unsubscribe", b'{"uri":%b}' % dump(uri), lambda frame, now: None)
        return True

    def clear(self) -> None:
        self._streams.clear()


def _tag(stream: Stream) -> bytes:
    return b"{%b:%b}" % (dump(SUBSCRIPTION_ID), stream.ident)
