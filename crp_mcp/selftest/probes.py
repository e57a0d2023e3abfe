"""What is tried on a server, feature by feature, in each era. A probe talks to one peer; its answers are judged later.

Only what changes nothing is tried by itself: lists, reads, tools that say they only read. Calls named by the caller
are made as they stand.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .peer import Peer

HANDSHAKE = "handshake"
MODERN = "2026-07-28"
LATEST_HANDSHAKE = "2025-11-25"
META = "io.modelcontextprotocol/"
CLIENT = {"name": "crp-mcp-selftest", "version": "1"}
CAPABILITIES = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}
ENVELOPE = {
    f"{META}protocolVersion": MODERN,
    f"{META}clientCapabilities": CAPABILITIES,
    f"{META}clientInfo": CLIENT,
}
LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
MOST_PAGES = 100
MOST_ITEMS = 25
"""Resources read and prompts got, at most."""
SHORT = 1.0

Talk = Callable[[Peer], None]


class Try(NamedTuple):
    """One probe: which feature it belongs to, and what is done."""

    feature: str
    talk: Talk
    unreadable: bool = False
    restarts: bool = False
    """Afterwards a new connection is opened: what was begun may go on."""


@dataclass(slots=True)
class Known:
    """What the server listed when asked directly; and what the caller allows to call."""

    calls: Sequence[tuple[str, str]] = ()
    """Tools to call by their arguments' JSON."""
    cancels: Sequence[tuple[str, str]] = ()
    items: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def learn(self, lines: Sequence[str], member: str) -> None:
        found = self.items.setdefault(member, [])
        for line in lines:
            result = json.loads(line).get("result")
            found += [item for item in (result or {}).get(member) or [] if isinstance(item, dict)]

    def safe_tools(self) -> list[str]:
        """Tools that say they only read."""
        return [
            tool["name"] for tool in self.items.get("tools", []) if (tool.get("annotations") or {}).get("readOnlyHint")
        ]


class Era(NamedTuple):
    """How requests look in an era."""

    name: str

    def params(self, params: Mapping[str, Any] | None = None, meta: Mapping[str, Any] | None = None) -> str:
        """Parameters as JSON, in the era's envelope."""
        envelope = {**(ENVELOPE if self.name == MODERN else {}), **(meta or {})}
        return json.dumps({**(params or {}), **({"_meta": envelope} if envelope else {})}, ensure_ascii=False)

    @property
    def modern(self) -> bool:
        return self.name == MODERN


def opening(version: str) -> str:
    return json.dumps({"protocolVersion": version, "capabilities": CAPABILITIES, "clientInfo": CLIENT})


def open_session(era: Era, version: str = LATEST_HANDSHAKE) -> Talk:
    """The first exchange of an era."""

    def talk(peer: Peer) -> None:
        if era.modern:
            peer.ask("1", "server/discover", era.params())
            return
        peer.ask("1", "initialize", opening(version))
        peer.tell("notifications/initialized")
        peer.settle()

    return talk


def asking(method: str, params: str | None) -> Talk:
    """One request that every server answers."""

    def talk(peer: Peer) -> None:
        peer.ask("2", method, params)

    return talk


def trying(era: Era, method: str, params: str | None, ident: str = "2") -> Talk:
    """One request that a server may leave without an answer."""

    def talk(peer: Peer) -> None:
        peer.post(ident, method, params)
        peer.fence(era.params())

    return talk


def paging(era: Era, method: str) -> Talk:
    """A whole list, page by page."""

    def talk(peer: Peer) -> None:
        cursor: dict[str, str] = {}
        for page in range(MOST_PAGES):
            line = peer.ask(str(100 + page), method, era.params(cursor))
            result = json.loads(line).get("result") if line else None
            if not isinstance(result, dict) or not isinstance(result.get("nextCursor"), str):
                return
            cursor = {"cursor": result["nextCursor"]}

    return talk


def listing(era: Era) -> Iterator[Try]:
    for method in LISTS:
        yield Try(method, paging(era, method))
        yield Try(method, asking(method, era.params({"cursor": "no-such-cursor"})))


def reading(era: Era, known: Known) -> Iterator[Try]:
    """Every resource, every prompt, every completion."""
    for resource in known.items.get("resources", [])[:MOST_ITEMS]:
        yield Try("resources/read", asking("resources/read", era.params({"uri": resource.get("uri")})))
    yield Try("resources/read", asking("resources/read", era.params({"uri": "selftest://no/such/resource"})))
    for prompt in known.items.get("prompts", [])[:MOST_ITEMS]:
        arguments = [a["name"] for a in prompt.get("arguments") or [] if isinstance(a, dict) and "name" in a]
        given = {"name": prompt.get("name"), "arguments": dict.fromkeys(arguments, "1")}
        yield Try("prompts/get", asking("prompts/get", era.params(given)))
        ref = {"type": "ref/prompt", "name": prompt.get("name")}
        yield from (completing(era, ref, name) for name in arguments[:3])
    yield Try("prompts/get", asking("prompts/get", era.params({"name": "no-such-prompt"})))
    for template in known.items.get("resourceTemplates", [])[:MOST_ITEMS]:
        yield completing(era, {"type": "ref/resource", "uri": template.get("uriTemplate")}, "id")
    yield completing(era, {"type": "ref/prompt", "name": "no-such-prompt"}, "name")


def completing(era: Era, ref: Mapping[str, Any], name: str) -> Try:
    given = {"ref": ref, "argument": {"name": name, "value": "a"}}
    return Try("completion/complete", asking("completion/complete", era.params(given)))


def calling(era: Era, known: Known) -> Iterator[Try]:
    """Tools that only read, without arguments; and the calls the caller named, with progress and cancelled."""
    for name in known.safe_tools():
        yield Try("tools/call", asking("tools/call", era.params({"name": name, "arguments": {}})))
    for name, arguments in known.calls:
        given = {"name": name, "arguments": json.loads(arguments)}
        yield Try("tools/call", asking("tools/call", era.params(given)))
        for token in ("selftest token", 7):
            yield Try("progress", asking("tools/call", era.params(given, {"progressToken": token})))
    for name, arguments in known.cancels:
        yield Try("cancellation", cancelling(era, name, json.loads(arguments)), restarts=True)
    yield Try("cancellation", cancelling_nothing(era))


def cancelling(era: Era, name: str, arguments: Any) -> Talk:
    """A call taken back once it has begun."""

    def talk(peer: Peer) -> None:
        peer.post("77", "tools/call", era.params({"name": name, "arguments": arguments}, {"progressToken": "c"}))
        peer.notified("notifications/progress", SHORT)
        peer.tell("notifications/cancelled", '{"requestId":77,"reason":"selftest"}')
        peer.fence(era.params())

    return talk


def cancelling_nothing(era: Era) -> Talk:
    def talk(peer: Peer) -> None:
        peer.tell("notifications/cancelled", '{"requestId":4242}')
        peer.fence(era.params())

    return talk


def listening(era: Era, known: Known) -> Iterator[Try]:
    """Log level, subscriptions, ping: what each era has of them; and what it has not is refused alike."""
    uri = next((r.get("uri") for r in known.items.get("resources", [])), "selftest://no/such/resource")
    yield Try("ping", asking("ping", era.params()))
    for level in ("debug", "no-such-level"):
        yield Try("logging/setLevel", asking("logging/setLevel", era.params({"level": level})))
    for method in ("resources/subscribe", "resources/unsubscribe"):
        for one in (uri, "selftest://no/such/resource"):
            yield Try("subscriptions", asking(method, era.params({"uri": one})))
    if era.modern:
        wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": [uri]}
        yield Try("subscriptions", subscribing(era, wanted))
        for name, arguments in known.calls[:1]:
            given = {"name": name, "arguments": json.loads(arguments)}
            yield Try("log level", asking("tools/call", era.params(given, {f"{META}logLevel": "debug"})))


def subscribing(era: Era, wanted: Mapping[str, Any]) -> Talk:
    def talk(peer: Peer) -> None:
        peer.post('"listen"', "subscriptions/listen", era.params({"notifications": wanted}))
        peer.notified("notifications/subscriptions/acknowledged", SHORT)
        peer.ask("80", "tools/list", era.params())
        peer.tell("notifications/cancelled", '{"requestId":"listen"}')
        peer.fence(era.params())

    return talk
