"""In place: one server behind us, and everything of it as if we were not there. Our own few things are added."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .answers import INVALID_PARAMS, INVALID_REQUEST, Failure, dump, with_member
from .calls import Call
from .catalog import is_shown, read_tools
from .commands import OwnSide, ServerRules
from .eras import HANDSHAKE, MODERN, era_of, turned_away
from .frame import Edit, Frame, text_of
from .link import Link
from .proxy import Proxy
from .requests import Outcome
from .results import completed_uri, is_unknown_method, list_result, no_completion, no_resource, set_members
from .scan import items, members

PROBE_SECONDS = 30.0
"""A server that does not know `server/discover` may stay silent; a host that probes must not wait for ever."""
RESTORED = ("logging/setLevel", "resources/subscribe", "resources/unsubscribe")
"""What these have set is set again in a server that was restarted."""


class InPlace(Proxy):
    """Routes of the one server."""

    def __init__(self, server: ServerRules, own: OwnSide) -> None:
        super().__init__([server], own)
        self.link: Link = self.links[server.name]
        self.capabilities: Mapping[str, Any] | None = None
        """What the server says it can do; None before it said anything."""
        self._routes = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/templates/list": self._list_templates,
            "resources/list": self._list_resources,
            "resources/read": self._read,
            "completion/complete": self._complete,
        }

    def route(self, call: Call, now: float) -> None:
        route = self._routes.get(call.frame.method or "")
        if route:
            route(call, now)
        else:
            if not call.modern and call.frame.method in RESTORED:
                self.link.remember(call.frame)
            self.pass_on(call, self.link, now)

    def notify_servers(self, frame: Frame, now: float) -> None:
        if frame.method == "notifications/initialized":
            self.initialized = True
        self.link.notify(frame, now)

    # -- opening -------------------------------------------------------------------------------------------------

    def _initialize(self, call: Call, now: float) -> None:
        link = self.link
        self.begin_handshake(link, now)
        before, link.greeting = link.greeting, None
        if link.rules.era == MODERN:
            self.bridge_to_modern(link)
        self.forward(call, link, lambda outcome, at: self._greeted(call, outcome, before, at), now, whole=True)

    def _greeted(self, call: Call, outcome: Outcome, before: bytes | None, now: float) -> None:
        link = self.link
        refused = isinstance(outcome, Frame) and "error" in outcome.top
        if refused and before is not None and link.bridge is None:
            # It has answered a handshake: it is this one that it does not like, and the earlier one still holds.
            link.greeting = before
            self._opened(call, outcome)
            return
        away = isinstance(outcome, Frame) and turned_away(outcome) is not None
        if not refused or away or link.bridge is not None or link.rules.era != "auto" or link.era == MODERN:
            self._opened(call, outcome)
            return
        # It may be one that has no handshake any more.
        self.bridge_to_modern(link)
        self._try_bridge(call, outcome, now)

    def _try_bridge(self, call: Call, refusal: Outcome, now: float) -> None:
        """Greet through the bridge. What the host has sent behind its greeting waits: the bridge may not stay."""
        done = lambda found, at: self._bridged(call, refusal, found, at)  # noqa: E731
        self.forward(call, self.link, done, now, whole=True, idle=PROBE_SECONDS)
        if not call.over:
            self.link.hold()

    def _bridged(self, call: Call, refusal: Outcome, outcome: Outcome, now: float) -> None:
        """What came of a second try, through a bridge. A server that wants it first in a connection gets a new one."""
        link = self.link
        refused = isinstance(outcome, Failure) or "error" in outcome.top
        wants_it_first = isinstance(outcome, Frame) and outcome.part("code") == b"%d" % INVALID_REQUEST
        if refused and wants_it_first and link.bridge is not None and not link.bridge.begun_anew:
            link.bridge.begun_anew = True
            link.reopen("is started again to be asked in the other protocol era", now)
            self._try_bridge(call, refusal, now)
            return
        if refused:
            link.bridge = None
        self._opened(call, refusal if refused else outcome)
        link.admit(now)

    def _discover(self, call: Call, now: float) -> None:
        if self.link.rules.era == HANDSHAKE:
            self._meet(call, now)
            self.forward(call, self.link, lambda outcome, at: self._opened(call, outcome), now, whole=True)
            return
        done = lambda outcome, at: self._discovered(call, outcome)  # noqa: E731
        self.forward(call, self.link, done, now, whole=True, idle=PROBE_SECONDS)

    def _discovered(self, call: Call, outcome: Outcome) -> None:
        if isinstance(outcome, Frame) and self.link.bridge is None:
            self.link.era = era_of(outcome) or self.link.era
        self._opened(call, outcome)

    def _opened(self, call: Call, outcome: Outcome) -> None:
        if isinstance(outcome, Failure) or not outcome.inner or "result" not in outcome.top:
            self.pass_back(call, outcome)
            return
        if call.frame.method == "initialize":
            params = call.frame.top_piece("params")
            self.link.greeting = params if isinstance(params, bytes) else None
        self.pass_back(call, outcome, self._introduce(outcome))

    def _introduce(self, answer: Frame) -> list[Edit]:
        """Add what our own side needs to the server's capabilities, and our sentence to its instructions."""
        capabilities = answer.part("capabilities") or b"{}"
        if capabilities[:1] != b"{":
            return []
        self.capabilities = members(capabilities)
        fresh = capabilities
        needed = {
            "tools": self.own.tools(),
            "resources": self.own.templates(),
            "completions": self.own.templates(),
        }
        for name, offered in needed.items():
            if offered and name not in self.capabilities:
                fresh = with_member(fresh, name, b"{}")
        changes = {} if fresh == capabilities else {"capabilities": fresh}
        ours = self.own.instructions()
        if ours:
            theirs = text_of(answer.part("instructions"))
            changes["instructions"] = dump(f"{theirs}\n\n{ours}" if theirs else ours)
        return set_members(answer, changes)

    def _offers(self, capability: str) -> bool:
        return self.capabilities is None or capability in self.capabilities

    # -- tools ---------------------------------------------------------------------------------------------------

    def _list_tools(self, call: Call, now: float) -> None:
        if not self._offers("tools"):
            self._answer_list(call, "tools", self.own.tools())
            return
        self.forward(call, self.link, lambda outcome, at: self._tools_listed(call, outcome), now, whole=True)

    def _tools_listed(self, call: Call, outcome: Outcome) -> None:
        first = not _cursor(call)
        array = _array(outcome, "tools")
        if not isinstance(outcome, Frame) or array is None:
            self._not_listed(call, outcome, "tools", self.own.tools())
            return
        tools, strange = read_tools(self.link.name, [array[start:end] for start, end in items(array)])
        self.tools.learn(self.link.name, tools, more=not first)
        shown = [
            tool.shown_as(self.tools.public_name(tool), self.own)
            for tool in tools
            if self.tools.of(tool.server, tool.name)
        ]
        ours = [dump(tool) for tool in self.own.tools()] if first else []
        fresh = b"[%b]" % b",".join([*shown, *strange, *ours])
        unchanged = not ours and len(shown) == len(tools) and all(t.raw == s for t, s in zip(tools, shown, strict=True))
        self.pass_back(call, outcome, [] if unchanged else [(*outcome.inner["tools"], fresh)])

    def _call_tool(self, call: Call, now: float) -> None:
        name = text_of(call.frame.part("name")) or ""
        if self.own_tool(name):
            self.serve(call, "tool", name)
            return
        tool = self.tools.find(name)
        if not is_shown(self.link.rules, tool.name if tool else name):
            self.fail(call, Failure(INVALID_PARAMS, f"Unknown tool: {name}"))
            return
        self.call_tool(call, self.link, tool, tool.name if tool else name, now)

    # -- resources and completion --------------------------------------------------------------------------------

    def _list_templates(self, call: Call, now: float) -> None:
        self._list(call, now, "resourceTemplates", self.own.templates())

    def _list_resources(self, call: Call, now: float) -> None:
        self._list(call, now, "resources", ())

    def _list(self, call: Call, now: float, member: str, ours: Sequence[Mapping[str, Any]]) -> None:
        """A list of the server's, our own items once, at the end of its first page."""
        if not self._offers("resources"):
            self._answer_list(call, member, ours)
        elif not ours or _cursor(call):
            self._pass_or(call, lambda: self._answer_list(call, member, ()), now)
        else:
            done = lambda outcome, at: self._listed(call, outcome, member, ours)  # noqa: E731
            self.forward(call, self.link, done, now, whole=True)

    def _listed(self, call: Call, outcome: Outcome, member: str, ours: Sequence[Mapping[str, Any]]) -> None:
        array = _array(outcome, member)
        if not isinstance(outcome, Frame) or array is None:
            self._not_listed(call, outcome, member, ours)
            return
        inside = array[1:-1].strip()
        fresh = b"[%b]" % b",".join([*([inside] if inside else []), *(dump(own) for own in ours)])
        self.pass_back(call, outcome, [(*outcome.inner[member], fresh)])

    def _not_listed(self, call: Call, outcome: Outcome, member: str, ours: Sequence[Mapping[str, Any]]) -> None:
        """The server knows no such list. Ours is still there; any other error is the host's."""
        if ours and is_unknown_method(outcome):
            self._answer_list(call, member, ours)
        else:
            self.pass_back(call, outcome)

    def _answer_list(self, call: Call, member: str, ours: Sequence[Mapping[str, Any]]) -> None:
        self.answer(call, list_result(member, [dump(item) for item in ours], call.modern))

    def _read(self, call: Call, now: float) -> None:
        uri = text_of(call.frame.part("uri")) or ""
        if self.own.owns_uri(uri):
            self.serve(call, "resource", uri)
        else:
            self._pass_or(call, lambda: self.fail(call, no_resource(call, uri)), now)

    def _complete(self, call: Call, now: float) -> None:
        uri = completed_uri(call.frame)
        if uri is not None and self.own.owns_uri(uri):
            self.serve(call, "complete", uri)
        else:
            self._pass_or(call, lambda: self.answer(call, no_completion(call)), now)

    def _pass_or(self, call: Call, otherwise: Callable[[], None], now: float) -> None:
        """Pass a request on. Where the server knows no such method and we have told the host that there is one, it
        gets what a server without any such thing would say."""

        def done(outcome: Outcome, at: float) -> None:
            if self.own.templates() and is_unknown_method(outcome):
                otherwise()
            else:
                self.pass_back(call, outcome)

        self.forward(call, self.link, done, now)


def _cursor(call: Call) -> bool:
    return call.frame.part("cursor") not in (None, b"null")


def _array(outcome: Outcome, member: str) -> bytes | None:
    """A list result's array, if it is one."""
    raw = outcome.part(member) if isinstance(outcome, Frame) and "result" in outcome.top else None
    return raw if raw is not None and raw[:1] == b"[" else None
