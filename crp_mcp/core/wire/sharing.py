"""One connection to a server, used by several hosts: whose each message is. Opted in to by `shared: true`.

Sans-I/O. Ids and progress tokens are exchanged for ones of the connection's own, and back. What a server says without
naming a call goes to whom it can only mean, or, where it concerns everybody, to all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .answers import INTERNAL_ERROR, Failure, dump, error_line, notification_line, request_line, result_line
from .eras import SUBSCRIPTION_ID
from .frame import Edit, Frame, Malformed, Piece, make, text_of
from .requests import ENDLESS, same_id
from .scan import members

_LOGS = "notifications/message"
_UPDATED = "notifications/resources/updated"


class ToShared(NamedTuple):
    """Send one message to the server."""

    pieces: tuple[Piece, ...]


class ToMember(NamedTuple):
    """Hand one message of the server's to a member."""

    member: int
    message: Frame | Malformed


Step = ToShared | ToMember


class Renamed(Frame):
    """A message under another id than it came with; its bytes, wherever they are, get that id on their way out."""

    __slots__ = ("_renamed",)

    def __init__(self, frame: Frame, ident: bytes) -> None:
        for name in Frame.__slots__:
            setattr(self, name, getattr(frame, name))
        self._renamed = frame.with_id(ident)
        self.id = ident

    def forward(self, edits: Iterable[Edit] = ()) -> tuple[Piece, ...]:
        edits = list(edits)
        if not any(start == self._renamed[0] for start, _, _ in edits):
            edits.append(self._renamed)
        return super().forward(edits)


class _Asked(NamedTuple):
    """A member's request that the server has not answered."""

    member: int
    id: bytes
    token: bytes | None
    method: str


class Sharing:
    """Who asked what. Members are numbers; every event returns the steps that follow."""

    def __init__(self) -> None:
        self._asked: dict[bytes, _Asked] = {}
        self._counter = 0
        self._questions: dict[bytes, int] = {}
        """The server's own requests: which member was asked."""
        self._greeting: bytes | None = None
        """Our id of the `initialize` on its way."""
        self._greeted: bytes | None = None
        """The result of the handshake, for those that come later."""
        self._waiting: list[tuple[int, bytes]] = []
        self._opened = False
        self._subscribed: dict[str, set[int]] = {}
        self._members: set[int] = set()

    def join(self, member: int) -> None:
        self._members.add(member)

    def leave(self, member: int) -> list[Step]:
        """A member is gone: nobody waits for its answers, and what it asked for alone is taken back."""
        self._members.discard(member)
        self._waiting = [one for one in self._waiting if one[0] != member]
        steps: list[Step] = []
        for wire_id, asked in list(self._asked.items()):
            if asked.member == member and wire_id != self._greeting:
                del self._asked[wire_id]
                steps.append(_cancelled(wire_id))
        for ident in [ident for ident, asked in self._questions.items() if asked == member]:
            del self._questions[ident]
            steps.append(ToShared((error_line(ident, Failure(INTERNAL_ERROR, "The host that was asked is gone.")),)))
        for uri in [uri for uri, who in self._subscribed.items() if member in who]:
            steps += self._unsubscribe(member, uri)
        return steps

    # -- a member says something ---------------------------------------------------------------------------------

    def from_member(self, member: int, frame: Frame) -> list[Step]:
        """A message from a member's host, on its way to the server."""
        if frame.id is None:
            return self._told(member, frame)
        if frame.method is None:
            self._questions.pop(same_id(frame.id), None)
            return [ToShared(frame.forward())]
        if frame.method == "initialize":
            return self._greet(member, frame)
        if frame.method in ("resources/subscribe", "resources/unsubscribe"):
            settled = self._subscription(member, frame)
            if settled is not None:
                return settled
        return [self._ask(member, frame)]

    def _ask(self, member: int, frame: Frame) -> Step:
        assert frame.id is not None
        self._counter += 1
        wire_id = b'"shared-%d"' % self._counter
        edits: list[Edit] = [frame.with_id(wire_id)]
        meta = frame.part("_meta")
        span = members(meta).get("progressToken") if meta is not None and meta[:1] == b"{" else None
        token = None
        if meta is not None and span is not None:
            token, start = meta[span[0] : span[1]], frame.inner["_meta"][0]
            edits.append((start + span[0], start + span[1], wire_id))
        self._asked[wire_id] = _Asked(member, frame.id, token, frame.method or "")
        return ToShared(frame.forward(edits))

    def _greet(self, member: int, frame: Frame) -> list[Step]:
        assert frame.id is not None
        if self._greeted is not None:
            return [ToMember(member, make(result_line(frame.id, self._greeted)))]
        if self._greeting is not None:
            self._waiting.append((member, frame.id))
            return []
        step = self._ask(member, frame)
        self._greeting = b'"shared-%d"' % self._counter
        return [step]

    def _told(self, member: int, frame: Frame) -> list[Step]:
        if frame.method == "notifications/initialized":
            first, self._opened = not self._opened, True
            return [ToShared(frame.forward())] if first else []
        if frame.method != "notifications/cancelled":
            return [ToShared(frame.forward())]
        wanted = frame.part("requestId")
        for wire_id, asked in self._asked.items():
            if wanted and asked.member == member and same_id(asked.id) == same_id(wanted):
                del self._asked[wire_id]
                return [ToShared(frame.forward([(*frame.inner["requestId"], wire_id)]))]
        return []

    def _subscription(self, member: int, frame: Frame) -> list[Step] | None:
        """What becomes of a subscription; None: the server must hear of it."""
        assert frame.id is not None
        uri = text_of(frame.part("uri")) or ""
        if frame.method == "resources/subscribe":
            self._subscribed.setdefault(uri, set()).add(member)
            return None
        who = self._subscribed.get(uri, set())
        who.discard(member)
        if who:
            return [ToMember(member, make(result_line(frame.id, b"{}")))]
        self._subscribed.pop(uri, None)
        return None

    def _unsubscribe(self, member: int, uri: str) -> list[Step]:
        self._subscribed[uri].discard(member)
        if self._subscribed[uri]:
            return []
        del self._subscribed[uri]
        self._counter += 1
        ident = b'"shared-%d"' % self._counter
        return [ToShared((request_line(ident, "resources/unsubscribe", b'{"uri":%b}' % dump(uri)),))]

    # -- the server says something -------------------------------------------------------------------------------

    def from_server(self, message: Frame | Malformed) -> list[Step]:
        """A message from the server."""
        if isinstance(message, Malformed):
            return self._unreadable(message)
        if message.method is None:
            return self._answered(message)
        return self._notified(message) if message.id is None else self._questioned(message)

    def _answered(self, frame: Frame) -> list[Step]:
        assert frame.id is not None
        wire_id = same_id(frame.id)
        asked = self._asked.pop(wire_id, None)
        if asked is None:
            return []
        steps: list[Step] = []
        if asked.member in self._members:
            steps.append(ToMember(asked.member, Renamed(frame, asked.id)))
        if wire_id == self._greeting:
            self._greeting = None
            steps += self._greeted_now(frame)
        return steps

    def _greeted_now(self, frame: Frame) -> list[Step]:
        """The handshake is answered: so are those that waited for it."""
        result = frame.top_piece("result")
        self._greeted = result if isinstance(result, bytes) else None
        waiting, self._waiting = self._waiting, []
        return [ToMember(member, Renamed(frame, ident)) for member, ident in waiting]

    def _unreadable(self, bad: Malformed) -> list[Step]:
        """What cannot be read is for whom it seems to answer; else it is nobody's."""
        for ident in bad.ids if bad.is_answer else ():
            asked = self._asked.pop(same_id(ident), None)
            if asked is not None and asked.member in self._members:
                return [ToMember(asked.member, bad._replace(ids=(asked.id,), stray=None))]
        return []

    def _notified(self, frame: Frame) -> list[Step]:
        if frame.spooled:
            return []  # no honest notification is as long as that, and nobody could be told apart by it
        if frame.method == "notifications/progress":
            return self._progressed(frame)
        if frame.method == "notifications/cancelled":
            member = self._questions.pop(same_id(frame.part("requestId") or b"null"), None)
            return [] if member is None else [ToMember(member, frame)]
        meta = frame.part("_meta")
        if meta is not None and SUBSCRIPTION_ID.encode() in meta:
            return self._of_stream(frame, meta)
        if frame.method == _LOGS:
            only = self._only_one()
            return [] if only is None else [ToMember(only, frame)]
        if frame.method == _UPDATED:
            who = self._subscribed.get(text_of(frame.part("uri")) or "", set())
            return [ToMember(member, frame) for member in sorted(who)]
        return [ToMember(member, frame) for member in sorted(self._members)]

    def _progressed(self, frame: Frame) -> list[Step]:
        token = frame.part("progressToken")
        asked = self._asked.get(same_id(token)) if token else None
        if asked is None or asked.token is None:
            return []
        back = frame.forward([(*frame.inner["progressToken"], asked.token)])
        return [ToMember(asked.member, make(_joined(back)))]

    def _of_stream(self, frame: Frame, meta: bytes) -> list[Step]:
        span = members(meta).get(SUBSCRIPTION_ID)
        asked = self._asked.get(same_id(meta[span[0] : span[1]])) if span else None
        if asked is None or span is None:
            return []
        start = frame.inner["_meta"][0]
        back = frame.forward([(start + span[0], start + span[1], asked.id)])
        return [ToMember(asked.member, make(_joined(back)))]

    def _questioned(self, frame: Frame) -> list[Step]:
        """The server asks a host. It does not say for which call: so there must be one alone."""
        assert frame.id is not None
        if frame.method == "ping":
            return [ToShared((result_line(frame.id, b"{}"),))]
        only = self._only_one()
        if only is None:
            text = "Several calls, or none, are in flight on this shared connection: it is not known whose host to ask."
            return [ToShared((error_line(frame.id, Failure(INTERNAL_ERROR, text)),))]
        self._questions[same_id(frame.id)] = only
        return [ToMember(only, frame)]

    def _only_one(self) -> int | None:
        """The member whose call is the only one in flight."""
        calls = [asked.member for asked in self._asked.values() if asked.method not in ENDLESS]
        return calls[0] if len(calls) == 1 and calls[0] in self._members else None


def _cancelled(wire_id: bytes) -> Step:
    return ToShared((notification_line("notifications/cancelled", b'{"requestId":%b}' % wire_id),))


def _joined(pieces: tuple[Piece, ...]) -> bytes:
    """The bytes of a message in memory."""
    return b"".join(piece for piece in pieces if isinstance(piece, bytes))
