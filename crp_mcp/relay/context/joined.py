"""Several collections as one corpus: URIs say whose they are, scores are comparable, so searches are merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crp_mcp.core.assemble.corpus import About, Corpus, Ranked
from crp_mcp.core.request.nodes import Node

from .tiers import Tiers

STORED = ("uko-tool:", "uko-fact:", "uko-turn:")


@dataclass(slots=True)
class Joined:
    """The store's tiers, and the workspace where there is one. Implements `Corpus`."""

    tiers: Tiers
    workspace: Corpus | None = None

    @property
    def backends(self) -> frozenset[str]:
        return self.tiers.backends | (self.workspace.backends if self.workspace else frozenset())

    def _of(self, uri: str) -> Corpus | None:
        return self.tiers if uri.startswith(STORED) else self.workspace

    def search(self, terms: Mapping[str, float], limit: int) -> Ranked:
        found = list(self.tiers.search(terms, limit))
        if self.workspace is not None:
            found += self.workspace.search(terms, limit)
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def resolve(self, reference: str) -> Sequence[str]:
        """What a name of the project means comes before a phrase about results."""
        if self.workspace is not None and not reference.startswith(STORED):
            found = self.workspace.resolve(reference)
            if found:
                return found
        return self.tiers.resolve(reference)

    def neighbours(self, uri: str) -> Iterable[tuple[str, str]]:
        owner = self._of(uri)
        return () if owner is None else owner.neighbours(uri)

    def about(self, uri: str) -> About | None:
        owner = self._of(uri)
        return None if owner is None else owner.about(uri)

    def node(self, uri: str) -> Node | None:
        owner = self._of(uri)
        return None if owner is None else owner.node(uri)

    def chosen(self) -> Sequence[str]:
        return self.tiers.chosen()

    def past(self) -> Sequence[str]:
        return self.tiers.past()

    def note(self, uri: str) -> str:
        owner = self._of(uri)
        return "" if owner is None else owner.note(uri)
