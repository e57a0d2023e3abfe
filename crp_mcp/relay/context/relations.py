"""What leads from one stored thing to others: made from, depends on, revision of, said in, basis of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from crp_mcp.core.model import Entry, Fact, Turn
from crp_mcp.store import SqliteStore, Stub, changes

from .links import Links
from .stored import entry_uri

_ID = re.compile(r"scratch_\w+", re.ASCII)


@dataclass(slots=True)
class Relations:
    """Between the items of one snapshot, by URI. `links`: what calls took out of earlier results."""

    store: SqliteStore
    links: Links
    items: Mapping[str, Entry | Stub | Turn | Fact]
    _depends: Mapping[str, Sequence[str]] | None = field(default=None, init=False)

    def of(self, uri: str) -> list[tuple[str, str]]:
        """(relation, URI) of what an item is related to, as far as it is in the snapshot."""
        item = self.items.get(uri)
        found: list[tuple[str, str]] = []
        if isinstance(item, Entry):
            found = [*self._of_entry(item), *self._said_of(item)]
        elif isinstance(item, Turn):
            found += [("contains", entry_uri(one)) for one in item.produced]
            found += [("references", entry_uri(one)) for one in item.referenced]
        elif isinstance(item, Fact) and item.source:
            found.append(("derivedFrom", entry_uri(item.source)))
        return [(relation, other) for relation, other in found if other in self.items]

    def depends(self) -> Mapping[str, Sequence[str]]:
        """For each entry the earlier ones whose id, or a value out of which, stands in its call's arguments."""
        if self._depends is None:
            entries = [one for one in self.items.values() if isinstance(one, Entry)]
            carried = self.links.of(entries, [one for one in self.items.values() if isinstance(one, Turn)])
            ids = {one.scratch_id for one in entries}
            named = {one.scratch_id: ids_in(one) & ids - {one.scratch_id} for one in entries}
            self._depends = {
                one: list(dict.fromkeys((*sorted(its), *carried.get(one, ()))))
                for one, its in named.items()
                if its or one in carried
            }
        return self._depends

    def _of_entry(self, entry: Entry) -> list[tuple[str, str]]:
        """Other entries."""
        depends, name = self.depends(), entry.scratch_id
        revisions = self.store.ask(changes.revisions, entry.scope, name)
        return [
            *(("derivedFrom", entry_uri(one)) for one in derived_from(entry)),
            *(("dependsOn", entry_uri(one)) for one in depends.get(name, ())),
            *(("usedBy", entry_uri(one)) for one in depends if name in depends[one]),
            *(("isRevisionOf", entry_uri(one.scratch_id)) for one in revisions),
        ]

    def _said_of(self, entry: Entry) -> list[tuple[str, str]]:
        """Turns and facts."""
        found = []
        for uri, what in self.items.items():
            if isinstance(what, Turn) and entry.scratch_id in (*what.referenced, *what.produced):
                found.append(("referencedBy", uri))
            elif isinstance(what, Fact) and what.source == entry.scratch_id:
                found.append(("basisOf", uri))
        return found


def ids_in(entry: Entry) -> set[str]:
    """The ids that stand in a call's arguments; a query's own are what it is derived from."""
    if entry.origin != "capture":
        return set()
    return set(_ID.findall(orjson.dumps(dict(entry.tool_call_args), default=str).decode()))


def derived_from(entry: Entry) -> list[str]:
    """Ids of what an entry was made from."""
    sources: Any = entry.tool_call_args.get("derivedFrom") if entry.origin == "query" else None
    if not isinstance(sources, list):
        return []
    return [str(one["scratch_id"]) for one in sources if isinstance(one, dict) and "scratch_id" in one]
