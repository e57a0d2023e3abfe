"""How many servers are opened for one host: every one greeted or asked in the host's era, one answer to the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .answers import METHOD_NOT_FOUND, REQUEST_TIMEOUT, Failure, notification_line
from .calls import Call
from .commands import Log, ToHost
from .eras import HANDSHAKE, HANDSHAKE_VERSIONS, MODERN, turned_away
from .frame import Frame
from .gather import Gather, Gathered
from .link import Link
from .opening import discover_result, initialize_result, read_result
from .proxy import Proxy
from .requests import Outcome

OPENING_SECONDS = 25.0
"""Servers that have not answered by then are left out of `initialize`; they are announced when they come."""
PROBE_SECONDS = 4.5
"""The common client gives up its own probe after ten; servers that stay silent are greeted in the same time."""


class Reception:
    """What each server said of itself, and the host's own opening request while it waits for them."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._links = proxy.links
        self._info: dict[str, dict[str, Any]] = {}
        self._call: Call | None = None
        self._awaited: set[str] = set()
        self.until: float | None = None
        """When the host is answered without those that are still missing."""

    def offers(self, server: str, capability: str) -> bool:
        """Whether a server says it has this, or has not said anything."""
        capabilities = self._info.get(server, {}).get("capabilities")
        return not isinstance(capabilities, dict) or capability in capabilities

    # -- handshake -----------------------------------------------------------------------------------------------

    def initialize(self, call: Call, now: float) -> None:
        self._call, self.until = call, now + OPENING_SECONDS
        self._proxy.initialized = False
        self._awaited = set(self._links)
        for link in self._links.values():
            self._proxy.begin_handshake(link, now)
            self._reopen_if(link, MODERN, now)
            link.on_greeted, link.on_refused = self._greeted, _refused
            if link.rules.era == MODERN:
                self._proxy.bridge_to_modern(link)
            elif link.era == MODERN:
                link.era = None
            link.greet(_params(call), now)
        self._answer()

    def _reopen_if(self, link: Link, era: str, now: float) -> None:
        """A connection that was opened in the other era cannot change it."""
        if link.era == era and link.rules.era == "auto":
            link.reopen("is started again in the other protocol era", now)

    def _left_out(self, name: str, reason: str) -> None:
        self._proxy.emit(Log("error", "server_left_out", {"server": name, "reason": reason}))

    def _greeted(self, link: Link, outcome: Outcome, now: float) -> None:
        late = link.name not in self._awaited and self._call is None
        self._awaited.discard(link.name)
        if isinstance(outcome, Frame):
            result = outcome.top_piece("result")
            known = link.name in self._info
            self._info[link.name] = read_result(result if isinstance(result, bytes) else None)
            if self._proxy.initialized:
                link.start_session(now)
            if late and not known:
                self._announce()
        else:
            self._left_out(link.name, outcome.text)
        self._answer()

    def _announce(self) -> None:
        """The lists have grown since the host was answered."""
        for what in ("tools", "prompts", "resources"):
            if what == "tools" or any(self.offers(name, what) for name in self._info):
                self._proxy.emit(ToHost((notification_line(f"notifications/{what}/list_changed"),)))

    def _answer(self) -> None:
        if self._call is not None and not self._awaited:
            call, self._call, self.until = self._call, None, None
            self._proxy.answer(call, initialize_result(_params(call), self._info, self._proxy.own))

    def expire(self, now: float) -> None:
        """Answer without those that take too long."""
        if self.until is not None and now >= self.until:
            for name in self._awaited:
                self._left_out(name, f"it did not answer within {OPENING_SECONDS:g} s")
            self._awaited = set()
            self._answer()

    # -- 2026-07-28 ----------------------------------------------------------------------------------------------

    def discover(self, call: Call, now: float) -> None:
        for link in self._links.values():
            self._reopen_if(link, HANDSHAKE, now)
            if link.rules.era == HANDSHAKE:
                self._bridge(link, call, now)
            elif link.bridge is None:
                link.greeting = None
        self._ask(call, lambda found, at: self._discovered(call, found, at), now)

    def _ask(self, call: Call, done: Callable[[dict[str, Gathered], float], None], now: float) -> None:
        Gather(call, self._links.values(), "server/discover", done, seconds=PROBE_SECONDS).start(now)

    def _bridge(self, link: Link, call: Call, now: float) -> None:
        from .bridges.meeting import meet

        link.era = HANDSHAKE
        meet(link, self._proxy.own, call.meta, now)

    def _discovered(self, call: Call, found: dict[str, Gathered], now: float) -> None:
        """Servers that do not know the question are bridged to, unless that is all of them: then the host greets."""
        willing = [name for name, answer in found.items() if answer.results]
        away = {name: refusal for name, answer in found.items() if (refusal := _turned_away(answer)) is not None}
        others = [self._links[name] for name in found if name not in willing and name not in away]
        for name in willing:
            if self._links[name].bridge is None:
                self._links[name].era = MODERN
        for link in others:
            answer = found[link.name]
            link.era = HANDSHAKE if answer.refusal is not None or _is_silent(answer) else link.era
        if others and not willing:
            self._refuse(call, [link.name for link in others])
        elif away and not willing:
            self._proxy.fail(call, next(iter(away.values())))
        elif others:
            for link in others:
                self._bridge(link, call, now)
            self._ask(call, lambda again, at: self._introduce(call, again), now)
        else:
            self._introduce(call, found)

    def _introduce(self, call: Call, found: dict[str, Gathered]) -> None:
        self._info = {name: read_result(answer.results[0]) for name, answer in found.items() if answer.results}
        self._proxy.answer(call, discover_result(self._info, self._proxy.own))

    def _refuse(self, call: Call, names: Sequence[str]) -> None:
        """An error that makes a host of both eras fall back to the handshake, and tells others why."""
        text = f"No server speaks protocol {MODERN}: {', '.join(names)}."
        self._proxy.fail(call, Failure(METHOD_NOT_FOUND, text, {"supported": list(HANDSHAKE_VERSIONS)}))


def _params(call: Call) -> bytes:
    params = call.frame.top_piece("params")
    return params if isinstance(params, bytes) else b"{}"


def _refused(link: Link, answer: Frame, now: float) -> bool:
    from .bridges.meeting import refuses_handshake

    return refuses_handshake(link, answer, now)


def _turned_away(answer: Gathered) -> Failure | None:
    """Why a server could not be asked; None where it was."""
    return turned_away(answer.refusal) if answer.refusal is not None else None


def _is_silent(answer: Gathered) -> bool:
    return answer.failure is not None and answer.failure.code == REQUEST_TIMEOUT
