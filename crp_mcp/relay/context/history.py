"""Reads back what happened in a conversation, in order of time, a page at a time. Changes nothing and pins nothing."""

from __future__ import annotations

import base64
import binascii
import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import orjson

from crp_mcp.core.ages import iso_time
from crp_mcp.core.model import Entry, Scope, Turn
from crp_mcp.core.request.nodes import render
from crp_mcp.errors import BadRequest, NotFound, Refused
from crp_mcp.relay.context import stored
from crp_mcp.relay.reading import Reader
from crp_mcp.relay.service import Counter
from crp_mcp.store import SqliteStore, Stub, changes, history
from crp_mcp.store.history import Window

from .origins import Origins

KINDS = ("tool_call", "assembly", "turn", "pin", "eviction", "claim", "decision")
EVENTS = {
    "pin": ("PINNED", "UNPINNED", "PROMOTED"),
    "eviction": ("EVICTED", "TOMBSTONED"),
    "claim": ("TOOL_CLAIM_CHECKED", "DISTORTION_DETECTED"),
}
BATCH = 200
LOOKED_MOST = 5_000
"""Items looked at for one page where a filter lets few through."""
DIFF_MOST = 2 << 20
"""Bytes of a payload that can be compared."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question about the past. `as_of` also leaves out what was superseded after it was asked about."""

    kind: str | None = None
    query: str | None = None
    tools: tuple[str, ...] = ()
    scratch_id: str | None = None
    since: float | None = None
    until: float | None = None
    as_of: float | None = None
    include_superseded: bool = True
    limit: int = 20
    cursor: str | None = None
    newest_first: bool = True
    depth: int = 2


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that happened. `key` orders what happened at the same time."""

    at: float
    kind: str
    key: int
    text: str
    ids: tuple[str, ...] = ()
    left_out: bool = False
    """It only marks how far was looked: it is withheld, or superseded and not asked for."""

    @property
    def place(self) -> tuple[float, str, int]:
        return (self.at, self.kind, self.key)


@dataclass(frozen=True, slots=True)
class Page:
    items: tuple[Item, ...]
    cursor: str | None
    withheld: str | None = None
    """The sentence that says what is above the clearance of whoever asks."""


@dataclass(slots=True)
class Historian:
    """The past of one store's conversations."""

    store: SqliteStore
    reader: Reader
    counter: Callable[[], Counter]

    def page(self, scope: Scope, ask: Ask) -> Page:
        """What matches, at most `limit`. Raises BadRequest for a kind or cursor that is none."""
        if ask.kind is not None and ask.kind not in KINDS:
            raise BadRequest(f"query_history: `kind` must be one of {', '.join(KINDS)}")
        after = _read_cursor(ask.cursor)
        hidden: dict[str, Entry | Stub] = {}
        found, cursor = self._look(self._walk(scope, ask, after, hidden), ask)
        return Page(tuple(found), cursor, self.reader.withheld(scope, list(hidden.values())))

    def _look(self, items: Iterator[Item], ask: Ask) -> tuple[list[Item], str | None]:
        found: list[Item] = []
        for looked, item in enumerate(items):
            if _matches(item, ask):
                if len(found) == ask.limit:
                    return found, cursor_of(found[-1])
                found.append(item)
            if looked >= LOOKED_MOST:
                return found, cursor_of(item)
        return found, None

    def diff(self, scope: Scope, scratch_id: str, other: str) -> str:
        """What changed between two results of one call, as a unified diff from the older to the newer.

        `other`: an id, or `previous`. Raises NotFound, BadRequest where they are no revisions of one call, Refused.
        """
        entry = self.reader.entry(scope, scratch_id)
        revisions: list[Entry] = self.store.ask(changes.revisions, scope, entry.scratch_id)
        if other == "previous":
            if not revisions:
                raise NotFound(f"{entry.scratch_id} has no earlier revision: the same call was not made before")
            before = revisions[0]
        else:
            before = self.reader.entry(scope, other)
            if entry.created_at < before.created_at:
                entry, before = before, entry
                revisions = self.store.ask(changes.revisions, scope, entry.scratch_id)
            if before.scratch_id not in {one.scratch_id for one in revisions}:
                raise BadRequest(f"{scratch_id} and {other} are not results of the same call")
        self.reader.entry(scope, before.scratch_id)
        lines = difflib.unified_diff(
            self._lines(before), self._lines(entry), before.scratch_id, entry.scratch_id, lineterm="", n=1
        )
        return "\n".join(lines)

    def _lines(self, entry: Entry) -> list[str]:
        if entry.payload_bytes > DIFF_MOST:
            raise Refused(
                f"{entry.scratch_id} has {entry.payload_bytes:,} bytes, too many to compare; use scratch_query"
            )
        data = self.store.read(entry.payload_id, 0, entry.payload_bytes)
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError:
            return data.decode("utf-8", "replace").splitlines()
        if isinstance(value, list):
            return [orjson.dumps(one).decode() for one in value]
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode().splitlines()

    # -- inside

    def _walk(
        self, scope: Scope, ask: Ask, after: tuple[float, str, int] | None, hidden: dict[str, Entry | Stub]
    ) -> Iterator[Item]:
        """Everything of the asked kinds in order, from a place on."""
        until = min(x for x in (ask.until, ask.as_of, history.EVER[1]) if x is not None)
        window = Window(ask.since or history.EVER[0], until, ask.newest_first)
        while True:
            if after is not None:
                window = (
                    replace(window, until=min(window.until, after[0]))
                    if ask.newest_first
                    else replace(window, since=max(window.since, after[0]))
                )
            batch = [
                item
                for kind in ([ask.kind] if ask.kind else KINDS)
                for item in self._batch(scope, ask, kind, window, hidden)
            ]
            batch.sort(key=lambda item: item.place, reverse=ask.newest_first)
            fresh = [item for item in batch if after is None or _past(item.place, after, ask.newest_first)]
            if not fresh:
                return
            yield from (item for item in fresh[:BATCH] if not item.left_out)
            after = fresh[:BATCH][-1].place

    def _batch(self, scope: Scope, ask: Ask, kind: str, window: Window, hidden: dict[str, Entry | Stub]) -> list[Item]:
        most = 2 * BATCH
        if kind == "tool_call":
            found = self.store.ask(history.captured, scope, window, most, ask.tools)
            hidden |= {one.scratch_id: one for one in found if not self.reader.may_see(scope, one)}
            return [
                self._call(one, ask.depth)
                if one.scratch_id not in hidden and _current(one, ask)
                else Item(one.created_at, kind, _number(one), "", left_out=True)
                for one in found
            ]
        if kind == "assembly":
            return [_assembly(one) for one in self.store.ask(history.assemblies, scope, window, most)]
        if kind in ("turn", "decision"):
            turns = self.store.ask(history.turns_at, scope, window, most, kind == "decision")
            origins, told = Origins(self.reader, self.store, scope), list[Item]()
            for one in (one for one in turns if kind == "decision" or one.decision is None):
                if origins.may_see(one):
                    told.append(_turn(one, kind, ask.depth))
                else:
                    hidden |= origins.withheld_of(one)
                    told.append(replace(_turn(one, kind, ask.depth), left_out=True))
            return told
        events = self.store.ask(history.events, scope, EVENTS[kind], window, most)
        return [_event(one, kind) for one in events]

    def _call(self, entry: Entry, depth: int) -> Item:
        whole = self.store.get(entry.scope, entry.scratch_id) if depth >= 1 else entry
        shown = entry if isinstance(whole, Stub) else whole
        summary = stored.summary_of(shown, self.counter().count) if depth >= 3 else None
        said = [("arguments", [stored.arguments_text(shown)] if shown.tool_call_args else [])]
        said.append(("used in turns", [str(turn) for turn in shown.referenced_by]))
        said.append(("superseded by", [shown.superseded_by] if shown.superseded_by else []))
        text = render(stored.entry_node(shown, summary, "", said), min(depth, 4))
        return Item(entry.created_at, "tool_call", _number(entry), text, (entry.scratch_id,))


def _number(entry: Entry) -> int:
    return int(entry.scratch_id.rpartition("_")[2])


def _assembly(one: history.Assembly) -> Item:
    p, c, e = one.tiers
    text = (
        f"assembly {one.id}: {one.fragments} fragments, {one.tokens:,} of {one.budget:,} tokens (P {p}, C {c}, E {e}), "
        f"{one.intent}, {one.context_hash}"
    )
    return Item(one.at, "assembly", one.id, text)


def _turn(one: Turn, kind: str, depth: int) -> Item:
    return Item(one.at, kind, one.number, render(stored.turn_node(one), depth), (*one.produced, *one.referenced))


def _event(one: history.Event, kind: str) -> Item:
    data = ", ".join(f"{key} {value}" for key, value in sorted(one.data.items()) if key != "scratch_id")
    scratch_id = one.data.get("scratch_id")
    ids = (str(scratch_id),) if scratch_id else ()
    return Item(one.at, kind, one.seq, f"{one.type} {scratch_id or ''}: {data}".strip(), ids)


def _current(entry: Entry, ask: Ask) -> bool:
    """Whether an entry counts: not if another one took its place, as far as that was known at `as_of`."""
    if ask.include_superseded or entry.superseded_by is None:
        return True
    return ask.as_of is not None and entry.stale_since is not None and entry.stale_since > ask.as_of


def _matches(item: Item, ask: Ask) -> bool:
    if ask.scratch_id is not None and ask.scratch_id not in item.ids:
        return False
    if ask.tools and item.kind != "tool_call":
        return False
    words = (ask.query or "").lower().split()
    text = item.text.lower()
    return all(word in text for word in words)


def _past(place: tuple[float, str, int], after: tuple[float, str, int], newest_first: bool) -> bool:
    return place < after if newest_first else place > after


def cursor_of(item: Item) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(list(item.place))).decode().rstrip("=")


def _read_cursor(text: str | None) -> tuple[float, str, int] | None:
    if text is None:
        return None
    try:
        at, kind, key = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return float(at), str(kind), int(key)
    except (ValueError, TypeError, binascii.Error):
        raise BadRequest("query_history: `cursor` is not one of ours; leave it out to begin anew") from None


def lines_of(items: Sequence[Item]) -> list[str]:
    """Each item with its time in front."""
    return [f"{iso_time(item.at)} {item.text}" for item in items]
