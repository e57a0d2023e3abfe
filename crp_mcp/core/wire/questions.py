"""What servers ask of the host: elicitation, sampling, roots. Passed on and answered by the host, never by us."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .answers import INTERNAL_ERROR, Failure, notification_line
from .commands import Command, Log, ToHost
from .frame import Frame, Malformed
from .link import Link
from .requests import same_id


class Asked(NamedTuple):
    """A question that the host has not answered."""

    link: Link
    generation: int
    """Which of the link's connections asked: a later one knows nothing of it."""
    id: bytes


class Questions:
    """All open ones, by the id the host knows. `keep_ids`: that is the server's own unless it is taken."""

    def __init__(self, emit: Callable[[Command], None], *, keep_ids: bool) -> None:
        self._emit = emit
        self._keep_ids = keep_ids
        self._open: dict[bytes, Asked] = {}
        self._counter = 0

    def ask(self, link: Link, frame: Frame) -> None:
        """Pass a server's question on."""
        assert frame.id is not None
        host_id = frame.id
        if not self._keep_ids or same_id(host_id) in self._open:
            self._counter += 1
            host_id = b'"crp-mcp-%d"' % self._counter
        self._open[same_id(host_id)] = Asked(link, link.generation, frame.id)
        self._emit(ToHost(frame.forward([frame.with_id(host_id)] if host_id != frame.id else ())))

    def answered(self, frame: Frame, now: float) -> None:
        """The host answered one."""
        assert frame.id is not None
        asked = self._take(frame.id)
        if asked is None:
            self._emit(Log("info", "host_answer_unexpected"))
            return
        asked.link.requests.touch(now)
        asked.link.reply(frame, asked.id, now)

    def unreadable(self, bad: Malformed, now: float) -> bool:
        """The host sent what may be an answer and cannot be read. False where it answers none of these."""
        for ident in bad.ids if bad.is_answer else ():
            asked = self._take(ident)
            if asked is not None:
                text = f"The host's answer cannot be read: {bad.reason}"
                asked.link.refuse(asked.id, Failure(INTERNAL_ERROR, text), now)
                return True
        return False

    def cancelled(self, link: Link, frame: Frame) -> None:
        """A server takes its question back."""
        wanted = frame.part("requestId")
        for host_id, asked in self._open.items():
            if wanted and asked.link is link and same_id(asked.id) == same_id(wanted):
                del self._open[host_id]
                span = frame.inner["requestId"]
                self._emit(ToHost(frame.forward([] if host_id == wanted else [(*span, host_id)])))
                return

    def withdraw(self, link: Link) -> None:
        """The server is gone: nobody waits for its user's answers any more."""
        for host_id in [host_id for host_id, asked in self._open.items() if asked.link is link]:
            del self._open[host_id]
            params = b'{"requestId":%b,"reason":"the server is gone"}' % host_id
            self._emit(ToHost((notification_line("notifications/cancelled", params),)))

    def asking(self) -> set[str]:
        """Servers that wait for an answer."""
        return {asked.link.name for asked in self._open.values()}

    def _take(self, host_id: bytes) -> Asked | None:
        asked = self._open.pop(same_id(host_id), None)
        return asked if asked and asked.generation == asked.link.generation else None
