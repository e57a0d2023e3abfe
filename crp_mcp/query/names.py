"""What the table names of a query stand for: stored results by id or pinned name, `latest`, streams of chunks."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from crp_mcp.core.ages import iso_time, rows_text
from crp_mcp.core.folding import fold
from crp_mcp.core.freshness import call_text
from crp_mcp.core.model import Entry, Scope
from crp_mcp.errors import BadRequest, NotFound
from crp_mcp.store import Filters, Store, Stub

from .sql import Statement

MOST_TABLES = 16
MOST_CHUNKS = 400
"""Chunks of one stream that a query reads."""
LATEST = "latest"
_PINS = 500
_RECENT = 200
_STREAM_PAGE = 200


@dataclass(frozen=True, slots=True)
class Stream:
    """Entries with one stream_id, in the order they came."""

    stream_id: str
    chunks: tuple[Entry, ...]


@dataclass(slots=True)
class Names:
    """The names of one query: what each stands for."""

    entries: dict[str, Entry] = field(default_factory=dict)
    """Name as written, folded -> entry."""
    streams: dict[str, Stream] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)

    def all_entries(self) -> dict[str, Entry]:
        """Every result that is read, by scratch_id: also the chunks of streams."""
        every = [*self.entries.values(), *(chunk for stream in self.streams.values() for chunk in stream.chunks)]
        return {entry.scratch_id: entry for entry in every}


@dataclass(slots=True)
class Resolver:
    """Finds them. `check` raises for a result that may not be read by a scope; `clears` only tells."""

    store: Store
    check: Callable[[Scope, Entry], object] | None
    clears: Callable[[Scope, Entry | Stub], bool] | None
    forget: Callable[[Scope, list[str]], object]
    """Removes the tables of results that turn out to be gone."""

    def resolve(self, scope: Scope, statement: Statement) -> Names:
        """What stands behind every name of a query that is one. Raises BadRequest for too many."""
        names = Names()
        for name in statement.sources():
            low = fold(name)
            if low in names.entries or low in names.streams:
                continue
            found = self._find(scope, name, names)
            if isinstance(found, Stream):
                names.streams[low] = found
            elif found is not None:
                names.entries[low] = found
            if len(names.entries) + len(names.streams) > MOST_TABLES:
                raise BadRequest(f"sql: it names more than {MOST_TABLES} stored results; join fewer at a time")
        return names

    def listed(self, scope: Scope, most: int = _RECENT) -> list[str]:
        """Names a query may use, the pinned first; never one of what is withheld."""
        pinned = self.store.list(scope, filters=Filters(pinned=True), limit=most, within="project").entries
        recent = (
            self.store.list(scope, limit=most).entries or self.store.list(scope, limit=most, within="project").entries
        )
        shown = [entry for entry in (*pinned, *recent) if self.clears is None or self.clears(scope, entry)]
        streams = [entry.stream_id for entry in shown if entry.stream_id]
        names = [name for entry in shown for name in (entry.name, entry.scratch_id) if name]
        latest = [LATEST] if self.store.latest(scope) is not None else []
        return list(dict.fromkeys([*latest, *names[:20], *streams, *names]))

    # -- inside

    def _find(self, scope: Scope, name: str, names: Names) -> Entry | Stream | None:
        for reference in dict.fromkeys((name, fold(name))):
            try:
                found = self.store.get(scope, reference)
            except NotFound:
                continue
            if isinstance(found, Stub):
                if self.clears is not None and not self.clears(scope, found):
                    found = replace(found, tool_call_args=None)  # what was asked is not for this scope
                names.gone[fold(name)] = gone_text(found)
                self.forget(scope, [found.scratch_id])
                continue
            return self._allowed(scope, found)
        if fold(name) == LATEST:
            latest = self.store.latest(scope)
            newest = self.store.get(scope, latest.scratch_id) if latest else None
            return self._allowed(scope, newest) if isinstance(newest, Entry) else None
        found_otherwise = self._pinned(scope, name) or self._stream(scope, name)
        if found_otherwise is not None:
            return found_otherwise
        dot = name.find(".")
        return self._find(scope, name[:dot], names) if dot > 0 else None

    def _pinned(self, scope: Scope, name: str) -> Entry | None:
        """A pinned name that is spelled the same but for case. Raises BadRequest where there are several."""
        wanted = _spelled(name)
        page = self.store.list(scope, filters=Filters(pinned=True), limit=_PINS, within="project")
        found = [entry for entry in page.entries if entry.name and _spelled(entry.name) == wanted]
        found = [entry for entry in found if self.clears is None or self.clears(scope, entry)]
        if len(found) > 1:
            spelled = ", ".join(f'"{entry.name}" is {entry.scratch_id}' for entry in found)
            raise BadRequest(f"sql: {name} may be several tables: {spelled}; use the scratch_id")
        entry = self.store.get(scope, found[0].scratch_id) if found else None
        return self._allowed(scope, entry) if isinstance(entry, Entry) else None

    def _stream(self, scope: Scope, name: str) -> Stream | None:
        """The entries of a stream, in order, without those that newer ones stand in for."""
        found: list[Entry] = []
        cursor = None
        while True:
            page = self.store.list(
                scope, filters=Filters(stream_id=name), cursor=cursor, limit=_STREAM_PAGE, within="project"
            )
            found += page.entries
            cursor = page.cursor
            if cursor is None or len(found) > 2 * MOST_CHUNKS:
                break
        current = [entry for entry in reversed(found) if entry.superseded_by is None]
        if not current:
            return None
        if len(current) > MOST_CHUNKS:
            raise BadRequest(
                f"sql: {name} has {len(current)} chunks or more, too many for one query ({MOST_CHUNKS}); "
                "name the chunks you need by their scratch_ids"
            )
        whole = [self.store.get(scope, entry.scratch_id) for entry in current]
        chunks = [self._allowed(scope, entry) for entry in whole if isinstance(entry, Entry)]
        return Stream(name, tuple(chunks)) if chunks else None

    def _allowed(self, scope: Scope, entry: Entry) -> Entry:
        if self.check is not None:
            self.check(scope, entry)
        return entry


def gone_text(stub: Stub) -> str:
    """What to say of an entry that is gone."""
    was = f"{rows_text(stub.rows)} of {stub.tool_name}" if stub.rows is not None else f"a result of {stub.tool_name}"
    call = call_text(stub.tool_name, stub.tool_call_args or {})
    again = "" if stub.why == "purged" else f"; call {call} again for current data"
    return (
        f"{stub.scratch_id} was {was}, captured {iso_time(stub.created_at)}, {stub.why} {iso_time(stub.gone_at)}{again}"
    )


def _spelled(name: str) -> str:
    """How a name reads to a person: case and the way accents are encoded do not count."""
    return unicodedata.normalize("NFC", name.strip()).casefold()
