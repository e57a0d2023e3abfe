"""A node of any domain and how it looks at each depth. Pure: equal nodes render to equal text; no ages, no clock.

Strategy: a node brings the parts its domain knows (children, relations, summary, shape, body); the ladder is the same
for all of them. Each depth tells everything the one before told, and at the deepest nothing is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

MAX_DEPTH = 9
SAMPLES_FROM = 5
"""From this depth on a growing part of the body is shown."""
_SHARES = {5: 0.2, 6: 0.4, 7: 0.6, 8: 0.8}
_LEAST_LINES = 3


@dataclass(frozen=True, slots=True)
class Node:
    """One thing that exists: an entry, a fact, a turn, a definition, a section. Texts are what a reader is shown."""

    uri: str
    """`uko-py:class/auth.AuthManager`: domain, type, name."""
    title: str
    resource_uri: str
    location: str = ""
    children: tuple[str, ...] = ()
    relations: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(what it is, names at the other end), in a fixed order; of a `whole` node those that its body shows too."""
    inverse: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Relations that lead here: no body shows them."""
    summary: str = ""
    shape: tuple[str, ...] = ()
    body: str = ""
    whole: bool = False
    """The body itself shows children, summary, shape and outgoing relations (source, documents): not said twice."""
    content_key: str = ""
    """Equal keys mean equal content; the body's own text where it is empty."""
    outline: str = ""
    """Of a `whole` node: its body without the bodies of its children. Shown before the body is."""
    deepest: int = MAX_DEPTH
    """Less where the node does not hold all of its content."""

    def at_most(self, depth: int) -> Node:
        """The same node, to be shown no deeper than that."""
        return replace(self, deepest=min(self.deepest, depth))

    @property
    def domain(self) -> str:
        return self.uri.partition(":")[0] + ":"

    @property
    def type(self) -> str:
        """`uko-py:class`."""
        return self.uri.partition("/")[0]


def render(node: Node, depth: int) -> str:
    """The node's text at a depth from 0 to 9; deeper counts as 9. Raises ValueError for a negative depth."""
    if depth < 0:
        raise ValueError("a depth is 0 or more")
    lines = [node.title]
    told = node.whole and bool(node.body) and (depth >= MAX_DEPTH or (depth == MAX_DEPTH - 1 and bool(node.outline)))
    if depth >= 1 and node.children and not told:
        lines.append("contains: " + ", ".join(node.children))
    if depth >= 2:
        relations = node.inverse if told and depth >= MAX_DEPTH else (*node.relations, *node.inverse)
        lines += [f"{what}: {', '.join(names)}" for what, names in relations if names]
    if depth >= 3 and node.summary and not told:
        lines.append(node.summary)
    if depth >= 4 and not told:
        lines += node.shape
    if depth >= SAMPLES_FROM and node.body:
        lines.append(_content(node, depth))
    return "\n".join(lines)


def _content(node: Node, depth: int) -> str:
    if depth >= MAX_DEPTH:
        return node.body.rstrip("\n")
    if node.outline:
        return node.outline if depth == MAX_DEPTH - 1 else _sample(node.outline, _SHARES[depth])
    return _sample(node.body, _SHARES[depth])


def _sample(body: str, share: float) -> str:
    """The first lines of a body, and how many more there are."""
    lines = body.rstrip("\n").split("\n")
    kept = min(len(lines), max(_LEAST_LINES, int(len(lines) * share)))
    left = len(lines) - kept
    return "\n".join(lines[:kept]) + (f"\n… {left} more lines" if left else "")
