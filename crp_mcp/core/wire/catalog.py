"""What the servers offer, as last listed: tools with their definitions, prompts, resources; who has which.

Rewrites listed definitions only where the relay must: a public name, and no `outputSchema` where a summary may come.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from .answers import dump, with_member, without_members
from .commands import OwnSide, ServerRules
from .frame import text_of
from .names import Original, may_be_of, public_names
from .scan import NotJson, items, members

_EXPRESSION = re.compile(r"\{[^{}]*\}")


class Tool(NamedTuple):
    """One tool of a server. `raw` is its definition as listed."""

    server: str
    name: str
    raw: bytes
    definition: Mapping[str, Any]

    def shown_as(self, public: str, own: OwnSide) -> bytes:
        """The definition for the host."""
        raw = self.raw
        if "outputSchema" in self.definition and own.may_replace(self.server, self.name, self.definition):
            raw = without_members(raw, ("outputSchema",))
        schema = self.definition.get("inputSchema")
        if isinstance(schema, dict) and own.accepts(self.server, self.name, self.definition):
            from crp_mcp.core.substitution import admit  # only for the few that opted in

            raw = with_member(raw, "inputSchema", dump(admit(schema)))
        return raw if public == self.name else with_member(raw, "name", dump(public))


def read_tools(server: str, raws: Iterable[bytes]) -> tuple[list[Tool], list[bytes]]:
    """The tools among the items of a `tools/list` result, and the items that are none."""
    tools, strange = [], []
    for raw in raws:
        definition = json.loads(raw)
        if isinstance(definition, dict) and isinstance(definition.get("name"), str):
            tools.append(Tool(server, definition["name"], raw, definition))
        else:
            strange.append(raw)
    return tools, strange


def is_shown(rules: ServerRules, name: str) -> bool:
    """Whether `allow` and `deny` let a tool through."""
    allowed = not rules.allow or any(fnmatchcase(name, glob) for glob in rules.allow)
    return allowed and not any(fnmatchcase(name, glob) for glob in rules.deny)


def listed(result: bytes, member: str) -> list[bytes]:
    """Raw items of a list result's array; [] where there is none."""
    try:
        span = members(result).get(member)
        return [result[start:end] for start, end in items(result, span[0])] if span else []
    except NotJson:
        return []


def field_of(raw: bytes, name: str) -> str | None:
    """A string member of a raw object; None where it is missing or no string."""
    try:
        span = members(raw).get(name)
    except NotJson:
        return None
    return text_of(raw[span[0] : span[1]]) if span else None


class Tools:
    """All tools known, under their public names."""

    def __init__(self, rules: Sequence[ServerRules], own: OwnSide) -> None:
        self._rules = {rule.name: rule for rule in rules}
        self._own = own
        self._by_server: dict[str, dict[str, Tool]] = {}
        self._changed: set[str] = set()
        """Servers that have said that there are others by now."""
        self._public: dict[str, Tool] = {}
        self._names: dict[Original, str] = {}

    def learn(self, server: str, tools: Iterable[Tool], *, more: bool = False) -> None:
        """What a server lists now; `more`: in addition to what it listed before (a further page)."""
        known = self._by_server.setdefault(server, {})
        self._changed.discard(server)
        if not more:
            known.clear()
        rules = self._rules[server]
        known.update({tool.name: tool for tool in tools if is_shown(rules, tool.name)})
        self._names = public_names(
            [(tool.server, tool.name) for named in self._by_server.values() for tool in named.values()],
            {name: rule.prefix for name, rule in self._rules.items()},
            {str(tool["name"]) for tool in self._own.tools()},
        )
        self._public = {self._names[t.server, t.name]: t for named in self._by_server.values() for t in named.values()}

    def changed(self, server: str) -> None:
        """The server says that it has other tools now. Those that are known stay so until it is asked."""
        self._changed.add(server)

    def knows(self, server: str) -> bool:
        return server in self._by_server and server not in self._changed

    def may_own(self, server: str, public: str) -> bool:
        """Whether a server that has not listed its tools may have this one."""
        rules = self._rules[server]
        return may_be_of(public, server, rules.prefix, lambda name: is_shown(rules, name))

    def find(self, public: str) -> Tool | None:
        return self._public.get(public)

    def of(self, server: str, name: str) -> Tool | None:
        return self._by_server.get(server, {}).get(name)

    def public_name(self, tool: Tool) -> str:
        return self._names.get((tool.server, tool.name), tool.name)

    def shown(self) -> list[bytes]:
        """Definitions of all of them and of our own, sorted by public name."""
        shown = {name: tool.shown_as(name, self._own) for name, tool in self._public.items()}
        shown.update({str(tool["name"]): dump(tool) for tool in self._own.tools()})
        return [shown[name] for name in sorted(shown)]


class Items:
    """Prompts, resources or templates of all servers, by what identifies them.

    `names`: the identifiers are names, kept apart like those of tools; otherwise they are URIs, and of two servers with
    the same one the first in the configuration has it.
    """

    def __init__(self, key: str, rules: Sequence[ServerRules]) -> None:
        self._key = key
        self._rules = {rule.name: rule for rule in rules}
        self._by_server: dict[str, dict[str, bytes]] = {}
        self._public: dict[str, Original] = {}

    def learn(self, server: str, raws: Iterable[bytes]) -> None:
        """What a server lists now."""
        self._by_server[server] = {ident: raw for raw in raws if (ident := field_of(raw, self._key)) is not None}
        originals = [(name, ident) for name in self._rules for ident in self._by_server.get(name, {})]
        if self._key == "name":
            names = public_names(originals, {name: rule.prefix for name, rule in self._rules.items()})
            self._public = {public: original for original, public in names.items()}
        else:
            self._public = {}
            for original in originals:
                self._public.setdefault(original[1], original)

    def find(self, public: str) -> Original | None:
        """Server and identifier there."""
        return self._public.get(public)

    def shown(self) -> list[bytes]:
        """Definitions for the host: sorted by name, or in the order of the servers."""
        if self._key != "name":
            order = {name: index for index, name in enumerate(self._rules)}
            chosen = sorted(self._public.items(), key=lambda item: order[item[1][0]])
            return [self._by_server[server][ident] for _, (server, ident) in chosen]
        return [
            raw if public == ident else with_member(raw, "name", dump(public))
            for public, (server, ident) in sorted(self._public.items())
            for raw in [self._by_server[server][ident]]
        ]

    def matching(self, uri: str) -> list[str]:
        """Servers one of whose templates this URI may come from."""
        return [
            server
            for server, templates in self._by_server.items()
            if any(_may_expand(template, uri) for template in templates)
        ]


def _may_expand(template: str, uri: str) -> bool:
    """Whether a URI has the fixed parts of a URI template, in order."""
    first, *rest = _EXPRESSION.split(template)
    if not rest:
        return uri == template
    if not uri.startswith(first) or not uri.endswith(rest[-1]):
        return False
    at = len(first)
    for part in rest:
        at = uri.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True
