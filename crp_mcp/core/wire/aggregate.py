"""Many servers as one: lists merged, names kept apart, every request sent to the server it is meant for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .answers import INVALID_PARAMS, METHOD_NOT_FOUND, Failure, dump, with_member
from .calls import Call
from .catalog import Items, read_tools
from .commands import Command, OwnSide, ServerRules, ToHost
from .eras import REMOVED, SUBSCRIPTION_ID, unspoken
from .frame import Frame, text_of
from .gather import Gather, Gathered
from .link import Link
from .listening import Listening
from .opening import caching, read_result
from .proxy import Proxy
from .reception import Reception
from .requests import Outcome
from .results import completed_uri, is_unknown_method, list_result, no_completion, no_resource
from .scan import members

_TRY_NEXT = (b"-32601", b"-32602", b"-32002")
"""Errors that say that this server does not have what was asked for."""
MAX_TASKS = 1000


class Aggregate(Proxy):
    """Routes of many servers, or none."""

    keep_ids = False

    def __init__(self, servers: Sequence[ServerRules], own: OwnSide) -> None:
        super().__init__(servers, own)
        self.prompts = Items("name", servers)
        self.resources = Items("uri", servers)
        self.templates = Items("uriTemplate", servers)
        self._reception = Reception(self)
        self._listening = Listening(self, self.resources)
        self._task_owner: dict[str, str] = {}
        self._routes: dict[str, Callable[[Call, float], None]] = {
            "initialize": self._reception.initialize,
            "server/discover": self._reception.discover,
            "ping": lambda call, now: self.answer(call, b"{}"),
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "prompts/list": lambda call, now: self._list(call, "prompts", self.prompts, "prompts", now),
            "prompts/get": self._get_prompt,
            "resources/list": lambda call, now: self._list(call, "resources", self.resources, "resources", now),
            "resources/templates/list": self._list_templates,
            "resources/read": self._read,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._subscribe,
            "completion/complete": self._complete,
            "logging/setLevel": self._set_level,
            "subscriptions/listen": self._listening.start,
        }

    def refusal(self, call: Call) -> Failure | None:
        if not call.modern:
            return None
        gone = call.frame.method in REMOVED
        return unspoken(call.meta) or (Failure(METHOD_NOT_FOUND, "Method not found") if gone else None)

    def route(self, call: Call, now: float) -> None:
        method = call.frame.method or ""
        if method not in ("initialize", "ping") and not self.initialized:
            # Some hosts forget to say so.
            self._start_sessions(now)
        self._routes.get(method, self._unknown)(call, now)

    def notify_servers(self, frame: Frame, now: float) -> None:
        if frame.method == "notifications/initialized":
            self._start_sessions(now)
            return
        for link in self.links.values():
            link.notify(frame, now)

    def _offering(self, capability: str) -> list[Link]:
        """Servers that say they have this, and those that have not said anything."""
        return [link for name, link in self.links.items() if self._reception.offers(name, capability)]

    def _start_sessions(self, now: float) -> None:
        self.initialized = True
        for link in self.links.values():
            if link.greeted:
                link.start_session(now)

    # -- tools ---------------------------------------------------------------------------------------------------

    def _list_tools(self, call: Call, now: float) -> None:
        self._learn_tools(call, self._offering("tools"), lambda found, at: self._tools_listed(call, found), now)

    def _learn_tools(
        self, call: Call, links: Iterable[Link], done: Callable[[dict[str, Gathered], float], None], now: float
    ) -> None:
        def learn(name: str, items: list[bytes]) -> None:
            self.tools.learn(name, read_tools(name, items)[0])

        Gather(call, links, "tools/list", done, member="tools", each=learn).start(now)

    def _tools_listed(self, call: Call, found: dict[str, Gathered]) -> None:
        self.answer(call, list_result("tools", self.tools.shown(), call.modern, _caching(found)))

    def _call_tool(self, call: Call, now: float) -> None:
        name = text_of(call.frame.part("name")) or ""
        if self.own_tool(name):
            self.serve(call, "tool", name)
            return
        owners = [] if self.tools.find(name) else self._possible_owners(name)
        if owners:
            self._learn_tools(call, owners, lambda found, at: self._call_known(call, name, at), now)
        else:
            self._call_known(call, name, now)

    def _possible_owners(self, name: str) -> list[Link]:
        """Servers to ask for their tools before a name counts as unknown: those not listed yet that could own it."""
        unlisted = [link for link in self._offering("tools") if not self.tools.knows(link.name)]
        return [link for link in unlisted if self.tools.may_own(link.name, name)]

    def _call_known(self, call: Call, name: str, now: float) -> None:
        tool = self.tools.find(name)
        if tool is None:
            self.fail(call, Failure(INVALID_PARAMS, f"Unknown tool: {name}"))
            return
        call.waits_for = ()
        self.call_tool(call, self.links[tool.server], tool, tool.name, now)

    def noticed(self, call: Call, answer: Frame) -> None:
        """A task was begun: what is asked about it later goes to the same server."""
        task = answer.part("task")
        span = members(task).get("taskId") if task and task[:1] == b"{" else None
        ident = text_of(task[span[0] : span[1]]) if task and span else text_of(answer.part("taskId"))
        if ident is not None:
            self._task_owner[ident] = call.server
            while len(self._task_owner) > MAX_TASKS:
                del self._task_owner[next(iter(self._task_owner))]

    # -- prompts, resources, completion --------------------------------------------------------------------------

    def _list(
        self, call: Call, member: str, into: Items, capability: str, now: float, ours: Sequence[bytes] = ()
    ) -> None:
        def gathered(found: dict[str, Gathered], at: float) -> None:
            self.answer(call, list_result(member, [*into.shown(), *ours], call.modern, _caching(found)))

        links, method = self._offering(capability), call.frame.method or ""
        Gather(call, links, method, gathered, member=member, each=into.learn).start(now)

    def _list_templates(self, call: Call, now: float) -> None:
        ours = [dump(template) for template in self.own.templates()]
        self._list(call, "resourceTemplates", self.templates, "resources", now, ours)

    def _get_prompt(self, call: Call, now: float) -> None:
        name = text_of(call.frame.part("name")) or ""
        found = self.prompts.find(name)
        if found is None:
            self._try(call, self._offering("prompts"), now)
            return
        server, original = found
        edits = [(*call.frame.inner["name"], dump(original))] if original != name else []
        self.pass_on(call, self.links[server], now, edits=edits)

    def _homes(self, uri: str) -> list[Link]:
        """Servers that may have a resource, the likeliest first."""
        found = self.resources.find(uri)
        if found is not None:
            return [self.links[found[0]]]
        likely = [self.links[name] for name in self.templates.matching(uri)]
        return [*likely, *(link for link in self._offering("resources") if link not in likely)]

    def _read(self, call: Call, now: float) -> None:
        uri = text_of(call.frame.part("uri")) or ""
        if self.own.owns_uri(uri):
            self.serve(call, "resource", uri)
        else:
            self._try(call, self._homes(uri), now, otherwise=lambda: self.fail(call, no_resource(call, uri)))

    def _subscribe(self, call: Call, now: float) -> None:
        uri = text_of(call.frame.part("uri")) or ""
        homes = self._homes(uri)
        for link in homes[:1]:
            link.remember(call.frame)
        self._try(call, homes, now)

    def _complete(self, call: Call, now: float) -> None:
        uri = completed_uri(call.frame)
        if uri is None:
            self._complete_prompt(call, now)
        elif self.own.owns_uri(uri):
            self.serve(call, "complete", uri)
        else:
            found = self.templates.find(uri)
            self._try_completions(call, [self.links[found[0]]] if found else self._offering("completions"), now)

    def _complete_prompt(self, call: Call, now: float) -> None:
        ref = call.frame.part("ref") or b"{}"
        span = members(ref).get("name")
        name = text_of(ref[span[0] : span[1]]) if span else None
        found = self.prompts.find(name) if name is not None else None
        if found is None:
            self._try_completions(call, self._offering("completions"), now)
            return
        edits = [(*call.frame.inner["ref"], with_member(ref, "name", dump(found[1])))] if found[1] != name else []
        self.pass_on(call, self.links[found[0]], now, edits=edits)

    def _try_completions(self, call: Call, links: Iterable[Link], now: float) -> None:
        self._try(call, links, now, otherwise=lambda: self.answer(call, no_completion(call)))

    # -- everything else -----------------------------------------------------------------------------------------

    def _try(
        self,
        call: Call,
        links: Iterable[Link],
        now: float,
        codes: Sequence[bytes] = _TRY_NEXT,
        otherwise: Callable[[], None] | None = None,
    ) -> None:
        """Ask one server after another until one has what is asked for. `otherwise`: what to do where none knows such
        requests, and we have told the host that there are such things."""
        left = list(links)
        if not self.own.templates():
            otherwise = None
        if not left and otherwise is not None:
            otherwise()
            return
        if not left:
            self.fail(call, Failure(METHOD_NOT_FOUND, f"No server offers {call.frame.method}"))
            return
        link = left.pop(0)

        def answered(outcome: Outcome, at: float) -> None:
            refused = isinstance(outcome, Failure) or (outcome.part("code") in codes and "error" in outcome.top)
            if refused and left and not call.over:
                call.waits_for = ()
                self._try(call, left, at, codes, otherwise)
            elif otherwise is not None and is_unknown_method(outcome):
                otherwise()
            else:
                self.pass_back(call, outcome)

        self.forward(call, link, answered, now)

    def _unknown(self, call: Call, now: float) -> None:
        """A request that we know nothing of: to the server its task belongs to, else to the first that knows it."""
        owner = self._task_owner.get(text_of(call.frame.part("taskId")) or "")
        links = [self.links[owner]] if owner else list(self.links.values())
        self._try(call, links, now, (b"-32601",))

    def _set_level(self, call: Call, now: float) -> None:
        links = self._offering("logging")
        for link in links:
            link.remember(call.frame)
        Gather(call, links, "logging/setLevel", lambda found, at: self.answer(call, b"{}")).start(now)

    def server_opened(self, server: str, now: float) -> list[Command]:
        commands = super().server_opened(server, now)
        self._listening.reopened(self.links[server], now)
        return [*commands, *self.drain()]

    def notify_host(self, link: Link, frame: Frame, now: float) -> None:
        if frame.method == "notifications/progress" and not link.requests.with_token(
            frame.part("progressToken") or b""
        ):
            return
        if frame.method == "notifications/tools/list_changed":
            self.tools.changed(link.name)
        meta = frame.part("_meta")
        if meta is None or SUBSCRIPTION_ID.encode() not in meta:
            self.emit(ToHost(frame.forward()))
        elif frame.method != "notifications/subscriptions/acknowledged":
            self._listening.pass_event(link, frame, meta)

    def next_deadline(self) -> float | None:
        deadlines = [deadline for deadline in (super().next_deadline(), self._reception.until) if deadline is not None]
        return min(deadlines, default=None)

    def tick(self, now: float) -> list[Command]:
        commands = super().tick(now)
        self._reception.expire(now)
        return [*commands, *self.drain()]


def _caching(found: dict[str, Gathered]) -> dict[str, object]:
    return caching([read_result(result) for answer in found.values() for result in answer.results])
