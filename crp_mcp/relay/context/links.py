"""Looks up which later calls carry values out of earlier results of a snapshot; what was looked up once is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from crp_mcp.core.assemble.values import Result, given_in, held_by, links
from crp_mcp.core.model import Entry, Turn
from crp_mcp.relay.reading import decode_start
from crp_mcp.store import SqliteStore
from crp_mcp.store.ids import number_of

LOOKED_EACH = 256 << 10
LOOKED_MOST = 4 << 20
"""Bytes of results that values are looked for in, the newest first: of one, and of all of a snapshot."""
WANTED_MOST = 1_000
"""Values that are looked for, those of the newest calls first."""
SAID_MOST = 4_096
"""Characters of a user's words."""

Key = tuple[str, str, str]


@dataclass(slots=True)
class _Looked:
    """What was looked for in one result, and what of it was there. Results never change, so neither does this."""

    wanted: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Links:
    """Of one store; not for use by two threads at once."""

    store: SqliteStore
    _given: dict[Key, frozenset[str]] = field(default_factory=dict, init=False)
    _looked: dict[Key, _Looked] = field(default_factory=dict, init=False)

    def of(self, entries: Sequence[Entry], turns: Sequence[Turn]) -> Mapping[str, Sequence[str]]:
        """For each entry the ids of those its call took a value from, newest first. Equal snapshots give the same."""
        ordered = sorted(entries, key=lambda one: number_of(one.scratch_id) or 0)
        given = self._given = {key_of(one): self._given.get(key_of(one)) or _given(one) for one in ordered}
        looked = self._look(ordered, given)
        results = [
            Result(one.scratch_id, one.created_at, given[key_of(one)], frozenset(looked[key_of(one)]))
            for one in ordered
        ]
        said = [(turn.at, turn.text[:SAID_MOST]) for turn in turns if turn.role == "user" and turn.text]
        return links(results, said)

    def _look(self, ordered: Sequence[Entry], given: Mapping[Key, frozenset[str]]) -> dict[Key, set[str]]:
        """What each result holds of what later calls say."""
        wanted, room = set[str](), LOOKED_MOST
        found: dict[Key, set[str]] = {}
        self._looked = {key: self._looked[key] for key in given if key in self._looked}
        for one in reversed(ordered):
            key, size = key_of(one), min(one.payload_bytes, LOOKED_EACH)
            known = self._looked.setdefault(key, _Looked())
            room -= size
            if room >= 0 and (new := wanted - known.wanted):
                known.held |= held_by(decode_start(self.store.read(one.payload_id, 0, size)), new)
                known.wanted |= new
            found[key] = known.held & wanted if room >= 0 else set()
            if len(wanted) < WANTED_MOST:
                wanted |= given[key]
        return found


def key_of(entry: Entry) -> Key:
    """Tells entries of one store apart: ids alone are counted anew for every tenant."""
    return entry.scope.tenant, entry.scope.project, entry.scratch_id


def _given(entry: Entry) -> frozenset[str]:
    return given_in(entry.tool_call_args) if entry.origin == "capture" else frozenset()
