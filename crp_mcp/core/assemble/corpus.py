"""What strategies may ask of a collection of nodes. Implemented by the store's side and by the workspace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from crp_mcp.core.request.nodes import Node

PERSISTENT, CONVERSATION, EPHEMERAL = "P", "C", "E"
"""The three tiers (SPEC-029 §10). The workspace's files are persistent knowledge."""

CONTAINS = "contains"


@dataclass(frozen=True, slots=True)
class About:
    """What is known of a node without rendering it."""

    uri: str
    tier: str
    at: float = 0.0
    """When it came to be, epoch seconds; 0 where that means nothing."""
    past: bool = False
    """Superseded or removed: out of CURRENT."""
    since: float | None = None
    """When it became past; None where it is not, or that is not known."""
    chosen: bool = False
    """Pinned, a fact or a decision: somebody said it matters."""
    container: bool = False
    """Its children are nodes of their own."""
    parent: str | None = None


Ranked = Sequence[tuple[str, float]]
"""(uri, score from 0 to 1), best first."""


class Corpus(Protocol):
    """A collection of nodes. Every answer has a fixed order."""

    @property
    def backends(self) -> frozenset[str]:
        """Names of the data backends that are there."""

    def search(self, terms: Mapping[str, float], limit: int) -> Ranked:
        """Nodes by BM25 over what they hold."""

    def resolve(self, reference: str) -> Sequence[str]:
        """The nodes a URI, id or name stands for; none where nothing is called so."""

    def neighbours(self, uri: str) -> Iterable[tuple[str, str]]:
        """(relation, uri) of what is one step away, in either direction."""

    def about(self, uri: str) -> About | None:
        """What is known of a node; None where it left."""

    def node(self, uri: str) -> Node | None:
        """The node with its texts; None where it left."""

    def chosen(self) -> Sequence[str]:
        """Pins, facts and decisions, the newest first."""

    def past(self) -> Sequence[str]:
        """What was superseded or removed, the newest first."""

    def note(self, uri: str) -> str:
        """What a reader must be told beside a node (that it is stale); "" for nothing. Outside the hashed body."""
