"""The SQLite store: every operation callers need, each one transaction. Safe from any thread and any process.

It stores bytes, hashes and signatures as it is given them: it neither signs nor checks what a proof says.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from crp_mcp.core.model import Entry, Persistence, Scope
from crp_mcp.errors import BadRequest, NotFound

from . import chain, connection, entries, ids, place, uploads
from .faults import named
from .model import (
    CaptureDraft,
    Checkpointed,
    Filters,
    Head,
    Page,
    Pinned,
    Seal,
    Sealed,
    SealEntry,
    StoredRecord,
    Stub,
)
from .payloads import PayloadReader, PayloadWriter, WrittenPayload

T = TypeVar("T")
_ANY = Filters()
BUSY_SECONDS = 10.0
"""How long a writer waits for another process before it gives up with StoreBusy."""


class SqliteStore:
    """One store file. Make it with `open_store`; close it once, when nothing uses it any more."""

    def __init__(self, path: Path, *, busy_seconds: float, clock: Callable[[], float]) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._clock = clock
        self._connections = connection.Connections(path, busy_seconds)

    # -- writing ---------------------------------------------------------------------------------------------------

    def reserve_id(self, tenant: str, slug: str) -> str:
        """Take the tenant's next id, `scratch_<slug>_<NNN>`. It is never given again, used or not."""
        with self._write() as db:
            return ids.make_id(slug, entries.next_number(db, tenant))

    def open_payload(self) -> PayloadWriter:
        """Return a writer for one payload of any size."""
        return PayloadWriter(self._spill, self._drop)

    def write_payload(self, data: bytes) -> WrittenPayload:
        """Write a payload that is already in memory."""
        with self.open_payload() as writer:
            writer.write(data)
            return writer.close()

    def commit_capture(self, draft: CaptureDraft, payload: WrittenPayload, seal: SealEntry) -> Entry:
        """Store one result: entry, payload, audit records and receipt together, or nothing of it.

        `seal` gets the chain's head and the entry as it will be stored (receipt None), and returns what it linked and
        signed; it runs inside the transaction, so heads never fork.

        Raises:
            StoreBusy: the write lock was not to be had in time.
            StoreError: the file cannot be written (full, damaged, not writable), or the upload was given up.
        """
        with self._write() as db:
            where = entries.ensure_conversation(db, draft.scope, draft.created_at, draft.host_key)
            scratch_id = draft.scratch_id or ids.make_id(draft.slug, entries.next_number(db, draft.scope.tenant))
            payload_id = uploads.finish(db, payload)
            entry = _entry(draft, scratch_id, payload, payload_id)
            sealed = seal(chain.head(db), entry)
            chain.store(db, sealed, space_id=where[0])
            if sealed.receipt is not None:
                entry = replace(entry, receipt=sealed.receipt.digest)
            seq = _next_entry(db)
            entries.insert_entry(db, draft, entry, where, seq, payload.stored_bytes)
            return entry

    def append(self, seal: Seal, mutate: Callable[[sqlite3.Connection], T], scope: Scope | None = None) -> T:
        """Run `mutate` and store the records of `seal` in one transaction; returns what `mutate` returned."""
        with self._write() as db:
            result = mutate(db)
            space = entries.space_of(db, scope) if scope else None
            chain.store(db, seal(chain.head(db)), space_id=space or 0)
            return result

    def set_summary(
        self, scope: Scope, scratch_id: str, summary: str, sent_tokens: int | None, seal: SealEntry
    ) -> Entry:
        """Give an entry its summary and receipt. The first one stays: a summary once sent never changes."""
        with self._write() as db:
            seq, entry = entries.must_find(db, scope, scratch_id)
            if entry.summary is not None:
                return entry
            entry = replace(entry, summary=summary)
            sealed = self._seal(db, seal, entry, seq)
            digest = sealed.receipt.digest if sealed.receipt else entry.receipt
            db.execute(
                "UPDATE entry SET summary = ?, receipt = ?, sent_tokens = coalesce(?, sent_tokens) WHERE seq = ?",
                (summary, digest, sent_tokens, seq),
            )
            return replace(entry, receipt=digest)

    def set_token_count(self, scope: Scope, scratch_id: str, count: int) -> None:
        """Fill in a token count that was not known at capture; one that is known stays."""
        with self._write() as db:
            seq, entry = entries.must_find(db, scope, scratch_id)
            if entry.raw_token_count is None:
                db.execute("UPDATE entry SET raw_token_count = ? WHERE seq = ?", (count, seq))

    def pin(
        self,
        scope: Scope,
        reference: str,
        seal: SealEntry,
        *,
        name: str | None = None,
        reason: str | None = None,
        expires_at: int | None = None,
    ) -> Pinned:
        """Protect an entry from eviction and give it a name, unique within tenant + project.

        A name another entry had moves here; that entry stays pinned and is reported.

        Raises:
            NotFound: no such entry. BadRequest: a name that looks like an id, or is empty.
        """
        if name is not None and (not name.strip() or ids.number_of(name) is not None):
            raise BadRequest(f"name: {name!r} cannot be a name; give one that is not empty and not a scratch_id")
        with self._write() as db:
            seq, entry = entries.must_find(db, scope, reference)
            taken = entries.find(db, scope, name) if name is not None else None
            if taken is not None and taken[0] != seq:
                db.execute("UPDATE entry SET name = NULL WHERE seq = ?", (taken[0],))
            entry = replace(
                entry,
                persistence=Persistence.PINNED,
                name=name if name is not None else entry.name,
                expires_at=entry.expires_at if expires_at is None else max(entry.expires_at, expires_at),
            )
            self._seal(db, seal, entry, seq)
            db.execute(
                "UPDATE entry SET persistence = 'PINNED', name = ?, expires_at = ?, pin_reason = ? WHERE seq = ?",
                (entry.name, entry.expires_at, reason, seq),
            )
            return Pinned(entry, taken[1].scratch_id if taken is not None and taken[0] != seq else None)

    def unpin(self, scope: Scope, reference: str, seal: SealEntry) -> Entry:
        """Take the pin and the name off an entry; on one that is not pinned nothing happens and nothing is recorded."""
        with self._write() as db:
            seq, entry = entries.must_find(db, scope, reference)
            if entry.persistence is not Persistence.PINNED:
                return entry
            entry = replace(entry, persistence=Persistence.EPHEMERAL, name=None)
            self._seal(db, seal, entry, seq)
            db.execute(
                "UPDATE entry SET persistence = 'EPHEMERAL', name = NULL, pin_reason = NULL WHERE seq = ?", (seq,)
            )
            return entry

    # -- reading ---------------------------------------------------------------------------------------------------

    def get(self, scope: Scope, reference: str) -> Entry | Stub:
        """Return the entry of an id or pinned name within tenant + project, or the stub of one that is gone.

        Raises:
            NotFound: it never was here.
        """
        with named(self.path):
            db = self._connections.get()
            found = entries.find(db, scope, reference)
            if found is not None:
                return found[1]
            stub = entries.find_stub(db, scope, reference)
        if stub is None:
            raise NotFound(f"no entry {reference!r} here: `scratch_list` shows what there is")
        return stub

    def list(
        self,
        scope: Scope | None,
        *,
        filters: Filters = _ANY,
        cursor: str | None = None,
        limit: int = 50,
        within: str = "conversation",
    ) -> Page:
        """Return entries newest first, without `structured` (see `get`). New captures do not disturb a cursor.

        `within`: `conversation`, `project` (tenant + project), or `store` (the operator's view; scope may be None).

        Raises:
            BadRequest: a cursor that is not one of ours, a limit under 1, an unknown `within`.
        """
        if limit < 1:
            raise BadRequest(f"limit: {limit} is too small, 1 is the least")
        before = None if cursor is None else _parse_cursor(cursor)
        with named(self.path):
            rows = entries.select(self._connections.get(), scope, filters, before, limit + 1, within)
        more = len(rows) > limit
        return Page(tuple(entry for _, entry in rows[:limit]), f"s{rows[limit - 1][0]}" if more else None)

    def latest(self, scope: Scope, *, filters: Filters = _ANY) -> Entry | None:
        """Return the newest captured entry of the conversation that the filters allow. Derived ones are never it."""
        page = self.list(scope, filters=replace(filters, origin="capture"), limit=1)
        return page.entries[0] if page.entries else None

    def open_reader(self, payload_id: int) -> PayloadReader:
        """Return a reader of slices that remembers its last chunk; for the length of one request.

        Raises:
            NotFound: the payload is gone.
        """
        with named(self.path):
            return PayloadReader(self._connections.get, payload_id)

    def read(self, payload_id: int, offset: int, length: int) -> bytes:
        """Return a slice; reads only the chunks it touches. Errors as in `PayloadReader.read`."""
        with named(self.path):
            return PayloadReader(self._connections.get, payload_id).read(offset, length)

    def iter_payload(self, payload_id: int) -> Iterator[bytes]:
        """Yield the whole payload in pieces of at most 256 KiB; the last step checks its hash.

        Raises:
            NotFound: it is gone, also when that happens half-way. StoreError: the bytes are damaged.
        """
        with named(self.path):
            yield from PayloadReader(self._connections.get, payload_id).pieces()

    def head(self) -> Head:
        """Return the end of the audit chain."""
        with named(self.path):
            return chain.head(self._connections.get())

    def records(self, from_seq: int = 1) -> Iterator[StoredRecord]:
        """Yield audit records in order, exactly as stored."""
        with named(self.path):
            yield from chain.records(self._connections.get(), from_seq)

    # -- upkeep ----------------------------------------------------------------------------------------------------

    def checkpoint(self, *, truncate: bool = False) -> Checkpointed:
        """Copy the log into the file. To be called when idle: it blocks no writer and no reader.

        `truncate` also empties the log file, which waits (briefly) until nobody reads from it.
        """
        with named(self.path):
            mode = "TRUNCATE" if truncate else "PASSIVE"
            row = self._connections.get().execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        return Checkpointed(bool(row[0]), row[1], row[2])

    def sweep_uploads(self) -> int:
        """Remove payloads that belong to no entry: uploads of dead processes, payloads of removed entries."""
        return uploads.sweep(self._connections.get(), self._write, self._clock())

    def close(self) -> None:
        self._connections.close()

    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _write(self) -> AbstractContextManager[sqlite3.Connection]:
        return connection.write(self._connections.get(), self.path, self._busy_seconds)

    def _seal(self, db: sqlite3.Connection, seal: SealEntry, entry: Entry, seq: int) -> Sealed:
        sealed = seal(chain.head(db), entry)
        row = db.execute("SELECT space_id FROM entry WHERE seq = ?", (seq,)).fetchone()
        chain.store(db, sealed, space_id=row[0])
        return sealed

    def _spill(self, writer: PayloadWriter) -> None:
        with self._write() as db:
            uploads.spill(db, writer, self._clock())

    def _drop(self, writer: PayloadWriter) -> None:
        if writer.payload_id is not None:
            uploads.drop(self._write, writer.payload_id)


def _entry(draft: CaptureDraft, scratch_id: str, payload: WrittenPayload, payload_id: int) -> Entry:
    return Entry(
        scratch_id=scratch_id,
        tool_name=draft.tool_name,
        tool_call_args=draft.tool_call_args,
        raw_token_count=draft.raw_token_count,
        summary=draft.summary,
        structured=draft.structured,
        created_at=draft.created_at,
        freshness_ttl=draft.freshness_ttl,
        persistence=draft.persistence,
        referenced_by=(),
        provenance_hash=payload.provenance_hash,
        kind=draft.kind,
        tool_class=draft.tool_class,
        label=draft.label,
        scope=draft.scope,
        server=draft.server,
        payload_id=payload_id,
        payload_bytes=payload.size,
        is_error=draft.is_error,
        rows=draft.rows,
        rows_total=draft.rows_total,
        partial=draft.partial,
        inline=draft.inline,
        volatility=draft.volatility,
        turn_id=draft.turn_id,
        stream_id=draft.stream_id,
        supersedes=draft.supersedes,
        expires_at=draft.expires_at,
        form=draft.form,
        origin=draft.origin,
    )


def _next_entry(db: sqlite3.Connection) -> int:
    rows = db.execute("UPDATE total SET last_entry = last_entry + 1 RETURNING last_entry").fetchall()
    return int(rows[0][0])


def _parse_cursor(cursor: str) -> int:
    if cursor[:1] == "s" and cursor[1:].isascii() and cursor[1:].isdigit() and len(cursor) < 20:
        return int(cursor[1:])
    raise BadRequest(f"cursor: {cursor!r} is not a cursor of scratch_list; leave it out to start at the newest")


def open_store(
    where: Path | str,
    *,
    create: bool = True,
    busy_seconds: float = BUSY_SECONDS,
    clock: Callable[[], float] = time.time,
) -> SqliteStore:
    """Open the store in a folder, or of a file (`.db`, `.sqlite`, `.sqlite3`); make or migrate it where needed.

    Any number of processes may do this at the same moment. A file that is not a store of ours, is damaged or was
    written by a newer version is left exactly as it is.

    Raises:
        StoreError: says what is wrong with which file, and what to do. StoreBusy: another process holds it.
    """
    path = place.store_file(Path(where))
    connection.prepare(path, create=create, busy_seconds=busy_seconds)
    return SqliteStore(path, busy_seconds=busy_seconds, clock=clock)
