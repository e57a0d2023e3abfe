"""`subscriptions/listen` where many servers answer as one: a stream from each, one stream to the host."""

from __future__ import annotations

from .answers import Failure, dump, notification_line, with_member
from .calls import Call
from .catalog import Items
from .commands import ToHost
from .eras import SUBSCRIPTION_ID
from .frame import Edit, Frame
from .link import Link
from .opening import asks_for
from .proxy import Proxy
from .requests import Outcome
from .scan import members


class Listening:
    """The host's open streams."""

    def __init__(self, proxy: Proxy, resources: Items) -> None:
        self._proxy = proxy
        self._resources = resources
        self._calls: list[Call] = []

    def start(self, call: Call, now: float) -> None:
        """Listen to all servers. We acknowledge at once; what they acknowledge is not passed on."""
        self._calls = [earlier for earlier in self._calls if not earlier.over] + [call]
        wanted = call.frame.part("notifications") or b"{}"
        line = b'{"notifications":%b,"_meta":%b}' % (wanted, _tag(call))
        self._proxy.emit(ToHost((notification_line("notifications/subscriptions/acknowledged", line),)))
        for link in self._proxy.links.values():
            self._listen_to(call, link, now)

    def _listen_to(self, call: Call, link: Link, now: float) -> None:
        wanted = call.frame.part("notifications") or b"{}"
        uris = asks_for(wanted)
        elsewhere = [uri for uri in uris if (found := self._resources.find(uri)) and found[0] != link.name]
        edits: list[Edit] = []
        if elsewhere:
            mine = dump([uri for uri in uris if uri not in elsewhere])
            edits = [(*call.frame.inner["notifications"], with_member(wanted, "resourceSubscriptions", mine))]

        def ended(outcome: Outcome, at: float) -> None:
            self._ended(call, link, outcome)

        self._proxy.forward(call, link, ended, now, edits=edits)

    def _ended(self, call: Call, link: Link, outcome: Outcome) -> None:
        call.waits_for = tuple(one for one in call.waits_for if one[0] is not link)
        if not call.waits_for and not isinstance(outcome, Failure):
            # Every server has ended its stream deliberately.
            self._proxy.answer(call, b'{"resultType":"complete","_meta":%b}' % _tag(call))

    def reopened(self, link: Link, now: float) -> None:
        """A server runs again: its part of the streams is opened anew."""
        for call in self._calls:
            if not call.over and not any(other is link for other, _ in call.waits_for):
                self._listen_to(call, link, now)

    def pass_event(self, link: Link, frame: Frame, meta: bytes) -> None:
        """Give the host an event of one of its streams, under the id the host knows."""
        span = members(meta).get(SUBSCRIPTION_ID)
        wire_id = meta[span[0] : span[1]] if span else b""
        for call in self._calls:
            if any(other is link and pending.wire_id == wire_id for other, pending in call.waits_for):
                fresh = with_member(meta, SUBSCRIPTION_ID, call.id)
                self._proxy.emit(ToHost(frame.forward([(*frame.inner["_meta"], fresh)])))


def _tag(call: Call) -> bytes:
    return b"{%b:%b}" % (dump(SUBSCRIPTION_ID), call.id)
