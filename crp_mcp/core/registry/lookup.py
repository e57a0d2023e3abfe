"""Which rules apply to a tool, and the policy they add up to. Knows no file format.

Strategy: a registry is a stack of layers, the operator's file over the shipped one. In each layer the most specific
rule wins; what it does not say falls through to the next layer's rule, then to the defaults, top layer first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from typing import Any

from crp_mcp.core.model import DEFAULT_TTL, LABELS, SummaryOptions, ToolPolicy, Volatility

Settings = Mapping[str, Any]
"""Part of a policy: ToolPolicy's field names (and `summary` as a dict of SummaryOptions' names) to checked values."""

_WILD = frozenset("*?[")
_PLAIN = tuple(f.name for f in fields(ToolPolicy) if f.name not in {"ttl", "sensitivity", "max_sensitivity", "summary"})
_TOOL_GLOBS = ("invalidates", "accepts_scratch_from")
KNOWN_TOOLS = 1_024
"""So many tools' policies are remembered: names come from outside, and any number of them may."""


def _is_exact(glob: str) -> bool:
    return _WILD.isdisjoint(glob)


def _literals(glob: str) -> int:
    return sum(character not in "*?[]" for character in glob)


def split_glob(glob: str) -> tuple[str, str]:
    """`server:tool` in its two globs; the first colon parts them, since tool names may hold one."""
    server, _, tool = glob.partition(":")
    return server, tool


def tool_matches(glob: str, server: str, tool: str) -> bool:
    """Whether a `server:tool` glob covers this tool. Case counts, on every platform."""
    server_glob, tool_glob = split_glob(glob)
    return fnmatchcase(tool, tool_glob) and fnmatchcase(server, server_glob)


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of `tools`: a glob and what it says. `where` tells a person which file and line it stands in."""

    match: str
    settings: Settings
    where: str = ""

    def specificity(self) -> tuple[int, bool, int]:
        """Greater is more specific: exact names first (the tool's before the server's), then literal characters."""
        server, tool = split_glob(self.match)
        return (_is_exact(server) + _is_exact(tool), _is_exact(tool), _literals(server) + _literals(tool))


@dataclass(frozen=True, slots=True)
class Layer:
    """The rules of one file, most specific first. Exact tool names are indexed, globs are walked."""

    defaults: Settings = field(default_factory=dict)
    exact: Mapping[str, tuple[tuple[int, Rule], ...]] = field(default_factory=dict)
    globs: tuple[tuple[int, Rule], ...] = ()

    def find(self, server: str, tool: str) -> Rule | None:
        """The most specific rule that covers the tool; of equals the one written first."""
        hits = (hit for hits in (self.exact.get(tool, ()), self.globs) for hit in _first(hits, server, tool))
        return min(hits, key=lambda hit: hit[0], default=(0, None))[1]


def _first(ranked: tuple[tuple[int, Rule], ...], server: str, tool: str) -> Iterator[tuple[int, Rule]]:
    for hit in ranked:
        if tool_matches(hit[1].match, server, tool):
            yield hit
            return


def layer(defaults: Settings, rules: tuple[Rule, ...]) -> Layer:
    """Index the rules of one file."""
    ordered = sorted(rules, key=Rule.specificity, reverse=True)  # stable: equals keep their order
    exact: dict[str, list[tuple[int, Rule]]] = {}
    globs: list[tuple[int, Rule]] = []
    for hit in enumerate(ordered):
        tool = split_glob(hit[1].match)[1]
        (exact.setdefault(tool, []) if _is_exact(tool) else globs).append(hit)
    return Layer(defaults, {tool: tuple(hits) for tool, hits in exact.items()}, tuple(globs))


@dataclass(frozen=True, slots=True)
class Registry:
    """All that is declared of tools. `labels` is the sensitivity lattice, low to high."""

    labels: tuple[str, ...] = LABELS
    layers: tuple[Layer, ...] = ()
    """Strongest first."""
    labels_declared: bool = False
    known: dict[tuple[str, str], ToolPolicy] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What was declared of tools asked for before; a registry never changes."""

    def rules_for(self, server: str, tool: str) -> tuple[Rule, ...]:
        """The rules that apply, strongest first, at most one of each layer."""
        found = (one.find(server, tool) for one in self.layers)
        return tuple(rule for rule in found if rule is not None)

    def policy(self, server: str, tool: str, definition: Mapping[str, Any] | None = None) -> ToolPolicy:
        """What holds for a tool. `definition` is the tool as its server lists it: it can only make the policy stricter.

        An undeclared tool is VOLATILE, of the default label (INTERNAL), never re-invoked and never reused.
        """
        policy = self.known.get((server, tool))
        if policy is None:
            if len(self.known) >= KNOWN_TOOLS:
                self.known.clear()
            policy = self.known[server, tool] = self._declared(server, tool)
        return tighten(policy, definition)

    def _declared(self, server: str, tool: str) -> ToolPolicy:
        parts = [rule.settings for rule in self.rules_for(server, tool)] + [one.defaults for one in self.layers]
        chosen = {name: _strongest(parts, name) for name in _PLAIN if _named(parts, name)}
        for name in _TOOL_GLOBS:
            if name in chosen:
                chosen[name] = tuple(_absolute(glob, server) for glob in chosen[name])
        return ToolPolicy(
            **chosen,
            ttl=_ttl(parts),
            sensitivity=self._label(parts),
            max_sensitivity=_strongest(parts, "max_sensitivity"),
            summary=SummaryOptions(**{key: value for part in reversed(parts) for key, value in _summary(part).items()}),
        )

    def _label(self, parts: list[Settings]) -> str:
        """The strongest label of this lattice. Layers below may speak of another lattice: those labels do not count."""
        named = [part["sensitivity"] for part in parts if "sensitivity" in part]
        usual = ToolPolicy().sensitivity
        return next((label for label in [*named, usual] if label in self.labels), self.labels[-1])


def _named(parts: list[Settings], name: str) -> bool:
    return any(name in part for part in parts)


def _strongest(parts: list[Settings], name: str) -> Any:
    return next((part[name] for part in parts if name in part), None)


def _summary(part: Settings) -> Mapping[str, int]:
    found: Mapping[str, int] = part.get("summary", {})
    return found


def _ttl(parts: list[Settings]) -> int | None:
    """Seconds of freshness: the strongest part that names a ttl, or a volatility and so its usual ttl, decides."""
    for part in parts:
        if "ttl" in part:
            ttl: int | None = part["ttl"]
            return ttl
        if "volatility" in part:
            return DEFAULT_TTL[part["volatility"]]
    return DEFAULT_TTL[Volatility.VOLATILE]


def _absolute(glob: str, server: str) -> str:
    """A glob without a server speaks of the same server; its name is taken literally."""
    if ":" in glob:
        return glob
    literal = "".join(f"[{character}]" if character in _WILD else character for character in server)
    return f"{literal.replace(':', '?')}:{glob}"


def tighten(policy: ToolPolicy, definition: Mapping[str, Any] | None) -> ToolPolicy:
    """The policy after a server's own, untrusted words on its tool: nothing there can loosen it.

    A tool said to write, destroy or not to be idempotent is never called again by itself, nor answered from memory.
    A tool that feeds a view (`_meta.ui`) keeps its result as it is. What is absent says nothing.
    """
    if not definition:
        return policy
    said, meta = definition.get("annotations"), definition.get("_meta")
    if isinstance(meta, Mapping) and ("ui" in meta or "ui/resourceUri" in meta):
        policy = replace(policy, passthrough=True)
    if isinstance(said, Mapping) and _acts(said):
        policy = replace(policy, reinvoke=False, reuse=False)
    return policy


def _acts(said: Mapping[str, Any]) -> bool:
    if said.get("readOnlyHint") is False or said.get("destructiveHint") is True:
        return True
    return said.get("idempotentHint") is False and said.get("readOnlyHint") is not True


def merge(user: Registry, shipped: Registry) -> Registry:
    """The operator's registry over the shipped one: field by field, the operator's rule first."""
    owner = user if user.labels_declared else shipped
    return Registry(owner.labels, user.layers + shipped.layers, owner.labels_declared)
