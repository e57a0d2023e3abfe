"""What stands in for an entry after an erasure: the other rows of a table, or a query run again over what remains.

Makes drafts and their seals; stores nothing itself.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

import orjson

from crp_mcp.core.model import Entry, Persistence, Scope, ToolPolicy
from crp_mcp.core.shape import read_shape, shape_from_json, shape_to_json
from crp_mcp.core.shape.model import Shape
from crp_mcp.core.summary import render_summary
from crp_mcp.errors import CrpError
from crp_mcp.pids import is_running
from crp_mcp.proof.eccr import Item
from crp_mcp.query.desk import Desk
from crp_mcp.store import CaptureDraft, Head, Sealed, Store, Stub, WrittenPayload
from crp_mcp.store.erase import Rebuilt

from .matching import Matcher
from .querying import result_json, shape_of
from .remaining import Remains, Rest
from .sealing import Sealer, Source, canonical_arguments, item_of
from .service import Counter

ERASED = "[erased]"
LEFTOVER = "again-"
OF_CONTENT = {"scratch_id", "summary", "raw_token_count", "form", "is_error"}
"""Members of an entry that what stands in does not take over."""


@dataclass(frozen=True, slots=True)
class Left:
    """A source that remains: what it was called, its id and item now, the hash of its bytes now."""

    was: str
    id: str
    item: Item
    provenance_hash: str


@dataclass(frozen=True, slots=True)
class Made:
    """A new entry, ready to be stored in place of an old one."""

    scratch_id: str
    item: Item
    payload: bytes
    shape: Shape
    rebuilt: Rebuilt


@dataclass(slots=True)
class Rebuilder:
    """Makes what stands in. `folder`: where tables for a query may stand while it runs."""

    store: Store
    sealer: Sealer
    counter: Callable[[], Counter]
    random_bytes: Callable[[int], bytes]
    policy: Callable[[Entry], ToolPolicy]
    folder: Path

    def shape(self, entry: Entry) -> Shape | None:
        """What the entry's payload was parsed as."""
        return None if entry.structured is None else shape_from_json(entry.structured)

    def can(self, entry: Entry) -> bool:
        """Whether the entry can be made again from what it was made of."""
        return entry.origin == "query" and isinstance(entry.tool_call_args.get("sql"), str)

    def without_rows(self, entry: Entry, rest: Rest, matcher: Matcher | None, now: float) -> Made:
        """The same result with the other rows only: same call, time, label and life; it keeps pin and name."""
        arguments = entry.tool_call_args if matcher is None else without(entry.tool_call_args, matcher)
        name = None if entry.name is None or (matcher and matcher.in_text(entry.name)) else entry.name
        return self._make(entry, rest.payload, read_shape(rest.payload), arguments, None, now, name=name)

    def derived(self, entry: Entry, sources: Sequence[Left], left: Mapping[str, Remains], now: float) -> Made | None:
        """The query of a derived entry, run again; `left` has what remains of sources that change. None if it fails."""
        named = [str(one.get("scratch_id")) for one in entry.tool_call_args.get("derivedFrom", ())]
        overlay = _Overlay(self.store, entry, named, left, frozenset(one.was for one in sources))
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=f"{LEFTOVER}{os.getpid()}-") as folder:
            desk = Desk(cast(Store, overlay), Path(folder))
            try:
                answer = desk.query(entry.scope, str(entry.tool_call_args["sql"]), entry.created_at)
            except CrpError:
                return None  # it cannot be made from what remains: then it only goes
            finally:
                desk.close()
        if not {one.scratch_id for one in answer.inputs} <= set(named):
            return None
        payload = result_json(answer)
        arguments = again(entry.tool_call_args, sources)
        return self._make(entry, payload, shape_of(answer), arguments, sources, now, name=entry.name)

    def _make(
        self,
        old: Entry,
        payload: bytes,
        shape: Shape,
        arguments: Mapping[str, Any],
        sources: Sequence[Left] | None,
        now: float,
        *,
        name: str | None,
    ) -> Made:
        scratch_id = self.store.reserve_id(old.scope.tenant, old.scratch_id.split("_")[1])
        written = self.store.write_payload(payload)
        summary = None if old.summary is None else self._summary(old, scratch_id, shape)
        draft = replace(
            _draft_like(old, shape, salt=self.random_bytes(16)),
            tool_call_args=arguments,
            scratch_id=scratch_id,
            raw_token_count=self.counter().count_bytes(payload),
            summary=summary,
            sent_tokens=None if summary is None else self.counter().count(summary),
        )
        if sources is None:
            draft = replace(draft, partial=True)
        else:
            label, expires_at = self.sealer.ceiling_of([one.item for one in sources])
            draft = replace(draft, label=label, expires_at=expires_at)
        seal = self._seal(old, draft.salt, arguments, sources, summary, now)
        rebuilt = Rebuilt(old.scratch_id, draft, written, seal, name)
        return Made(scratch_id, item_of(_entry_of(draft, old, written), draft.salt), payload, shape, rebuilt)

    def _seal(
        self,
        old: Entry,
        salt: bytes,
        arguments: Mapping[str, Any],
        sources: Sequence[Left] | None,
        summary: str | None,
        now: float,
    ) -> Callable[[Head, Entry], Sealed]:
        canonical = canonical_arguments(arguments, orjson.dumps(arguments, default=str))
        built = None if sources is None else [Source(one.id, one.item) for one in sources]

        def seal(head: Head, entry: Entry) -> Sealed:
            pinned = ("PINNED", {"scratch_id": entry.scratch_id, "reason": "made anew"})
            known: dict[str, Any] = {
                "salt": salt,
                "arguments": canonical,
                "sent": summary,
                "supersedes": old.receipt,
                "now": now,
                "more": (pinned,) if entry.persistence is Persistence.PINNED else (),
            }
            if built is None:
                return self.sealer.capture(head, entry, **known)
            return self.sealer.derived(head, entry, sources=built, **known)

        return seal

    def _summary(self, old: Entry, scratch_id: str, shape: Shape) -> str:
        options = self.policy(old).summary
        count = self.counter().count
        return render_summary(shape, scratch_id=scratch_id, tool=old.tool_name, count=count, options=options)


def sweep_leftovers(folder: Path) -> None:
    """Remove the tables of queries that were run again by processes that are gone."""
    for path in folder.glob(f"{LEFTOVER}*"):
        pid = path.name.removeprefix(LEFTOVER).partition("-")[0]
        if pid.isdigit() and not is_running(int(pid)):
            shutil.rmtree(path, ignore_errors=True)


def again(arguments: Mapping[str, Any], sources: Sequence[Left]) -> dict[str, Any]:
    """How a derived entry says what it was made of, with the sources that remain under the ids they have now."""
    sql = str(arguments["sql"])
    for one in sources:
        sql = re.sub(rf"\b{re.escape(one.was)}\b", one.id, sql, flags=re.IGNORECASE)
    named = [{"scratch_id": one.id, "provenance_hash": one.provenance_hash} for one in sources]
    return {**arguments, "sql": sql, "derivedFrom": named}


def without(value: Any, matcher: Matcher) -> Any:
    """Arguments with every matching text put out."""
    if isinstance(value, Mapping):
        return {
            (ERASED if matcher.in_text(str(key)) else key): ERASED
            if not isinstance(item, (Mapping, list)) and matcher.in_text(f"{key}: {item}")
            else without(item, matcher)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [without(item, matcher) for item in value]
    return ERASED if value is not None and matcher.in_text(str(value)) else value


def _draft_like(old: Entry, shape: Shape, *, salt: bytes) -> CaptureDraft:
    """A draft that has everything of an entry but its content, which is of another shape, and its id."""
    shared = {field.name for field in fields(CaptureDraft)} & {field.name for field in fields(Entry)}
    known: dict[str, Any] = {name: getattr(old, name) for name in shared - OF_CONTENT}
    known |= {"supersedes": old.scratch_id, "structured": shape_to_json(shape), "salt": salt, "kind": shape.kind}
    return CaptureDraft(**known | {"rows": shape.rows, "rows_total": shape.rows_total, "partial": shape.partial})


def _entry_of(draft: CaptureDraft, old: Entry, written: WrittenPayload) -> Entry:
    """Enough of the entry to come for its item."""
    return replace(
        old, label=draft.label, expires_at=draft.expires_at, provenance_hash=written.provenance_hash, receipt=None
    )


class _Bytes:
    """A payload in memory, read by slices."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def read(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]

    def pieces(self) -> Iterator[bytes]:
        yield self._data


class _Overlay:
    """The store as it will be: entries that change have what is left of them. Only what a query asks is answered."""

    def __init__(
        self, store: Store, derived: Entry, sources: Sequence[str], left: Mapping[str, Remains], stay: frozenset[str]
    ) -> None:
        self._store, self._derived, self._sources, self._left, self._stay = store, derived, sources, left, stay
        self._changed: dict[int, bytes] = {}

    def get(self, scope: Scope, reference: str) -> Entry | Stub:
        found = self._store.get(scope, reference)
        remains = self._left.get(found.scratch_id)
        if remains is None or isinstance(found, Stub):
            return found
        self._changed[found.payload_id] = remains.payload
        structured = shape_to_json(replace(remains.shape, is_error=False))
        return replace(found, structured=structured, payload_bytes=len(remains.payload))

    def latest(self, scope: Scope, **_: Any) -> Entry | None:
        """What `latest` was: the one source that the query does not name."""
        sql = str(self._derived.tool_call_args.get("sql", "")).lower()
        unnamed = [name for name in self._sources if name.lower() not in sql]
        found = self.get(scope, unnamed[0]) if len(unnamed) == 1 else None
        return found if isinstance(found, Entry) else None

    def list(self, *arguments: Any, **more: Any) -> Any:
        """What is listed; of a stream, only the chunks that the result was made from and that stay."""
        page = self._store.list(*arguments, **more)
        filters = more.get("filters")
        if filters is None or filters.stream_id is None:
            return page
        return replace(page, entries=tuple(one for one in page.entries if one.scratch_id in self._stay))

    def open_reader(self, payload_id: int) -> Any:
        data = self._changed.get(payload_id)
        return self._store.open_reader(payload_id) if data is None else _Bytes(data)
