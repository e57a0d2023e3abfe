"""What facts and the words of turns come from: their labels, how long they may be kept, who may see them."""

from __future__ import annotations

from dataclasses import dataclass

from crp_mcp.core.model import Entry, Fact, Scope, Turn
from crp_mcp.errors import NotFound
from crp_mcp.relay.reading import Reader

OWN_LABEL = "INTERNAL"
"""The least label of what has none of its own: that of a tool nobody declared."""


@dataclass(frozen=True, slots=True)
class Origins:
    """For whoever asks in `scope`."""

    reader: Reader
    scope: Scope

    def may_see(self, item: Fact | Turn) -> bool:
        """Whether nothing it comes from is above the clearance."""
        guard = self.reader.guard
        if guard is None or guard.clearances.of(self.scope) is None:
            return True
        return guard.clearances.clears(self.scope, self.label_of(item))

    def label_of(self, item: Fact | Turn) -> str:
        """A fact has the label of its source, the highest where that is gone; a turn what it made and used had."""
        lattice = self.reader.sealer.lattice
        labels = [one.label for one in self.sources_of(item)]
        if isinstance(item, Turn):
            return lattice.join((OWN_LABEL, *labels))
        return lattice.join(labels) if labels else lattice.top

    def sources_of(self, item: Fact | Turn) -> list[Entry]:
        """What is still there of the entries that a fact or the words of a turn come from."""
        ids = (item.source,) if isinstance(item, Fact) else (*item.produced, *item.referenced)
        found: list[Entry] = []
        for one in filter(None, ids):
            try:
                source = self.reader.store.get(self.scope, one)
            except NotFound:
                continue
            if isinstance(source, Entry):
                found.append(source)
        return found
