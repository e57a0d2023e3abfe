"""What facts and the words of turns come from: their labels, how long they may be kept, who may see them."""

from __future__ import annotations

from dataclasses import dataclass

from crp_mcp.core.model import Entry, Fact, Scope, Turn
from crp_mcp.errors import NotFound
from crp_mcp.proof.eccr import parse_leaf
from crp_mcp.relay.reading import Reader
from crp_mcp.relay.sealing import Source, item_of
from crp_mcp.store import SqliteStore, Stub, descent

OWN_LABEL = "INTERNAL"
"""The least label of what has none of its own: that of a tool nobody declared."""


@dataclass(frozen=True, slots=True)
class Origins:
    """For whoever asks in `scope`."""

    reader: Reader
    store: SqliteStore
    scope: Scope

    def may_see(self, item: Fact | Turn) -> bool:
        """Whether nothing it comes from is above the clearance."""
        guard = self.reader.guard
        if guard is None or guard.clearances.of(self.scope) is None:
            return True
        return guard.clearances.clears(self.scope, self.label_of(item))

    def withheld_of(self, item: Fact | Turn) -> dict[str, Entry | Stub]:
        """What it comes from and is above the clearance, by id."""
        return {one.scratch_id: one for one in self.sources_of(item) if not self.reader.may_see(self.scope, one)}

    def label_of(self, item: Fact | Turn) -> str:
        """A fact has the label of its source, the highest where that is gone; a turn what it made and used had."""
        lattice = self.reader.sealer.lattice
        labels = [str(one.label) for one in self.sources_of(item)]
        if isinstance(item, Turn):
            return lattice.join((OWN_LABEL, *labels))
        return lattice.join(labels) if labels else lattice.top

    def sources_of(self, item: Fact | Turn) -> list[Entry | Stub]:
        """The entries that a fact or the words of a turn come from; what is left of those that were evicted."""
        store = self.store
        ids = (item.source,) if isinstance(item, Fact) else store.ask(descent.behind_turn, self.scope, item.number)
        found: list[Entry | Stub] = []
        for one in filter(None, ids):
            try:
                source = store.get(self.scope, one)
            except NotFound:
                continue
            if isinstance(source, Entry) or source.label is not None:
                found.append(source)
        return found

    def leaves_of(self, item: Fact | Turn) -> list[Source]:
        """The entries it comes from, as sources of whatever it is delivered in: so their erasure reaches that.

        The source of a fact that an older version evicted has the leaf that was signed with the promotion.
        """
        store, sealer = self.store, self.reader.sealer
        there = self.sources_of(item)
        found = []
        for one in there:
            salt = one.salt or b"" if isinstance(one, Stub) else store.salt(one.scope, one.scratch_id)
            found.append(Source(one.scratch_id, item_of(sealer.raised(one), salt)))
        if isinstance(item, Fact) and item.source and not there:
            leaf = store.ask(descent.leaf_of_fact, self.scope, item.source, item.content_hash)
            found += [] if leaf is None else [Source(item.source, parse_leaf(leaf)[0])]
        return found
