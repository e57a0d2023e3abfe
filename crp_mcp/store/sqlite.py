"""The SQLite store: every operation callers need, each one transaction. Safe from any thread and any process.

It stores bytes, hashes and signatures as it is given them: it neither signs nor checks what a proof says.
"""

from __future__ import annotations

import builtins
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from crp_mcp.core.model import Entry, Scope
from crp_mcp.core.naming import MAX_NAME, tidy_name
from crp_mcp.errors import BadRequest, StoreError
from crp_mcp.proof.chain import Head, Record
from crp_mcp.store import chain, connection, entries, erase, ids, mutate, numbers, place, scopes, scrub, upkeep, uploads
from crp_mcp.store.faults import named
from crp_mcp.store.model import (
    CaptureDraft,
    Checkpointed,
    Conversation,
    Counters,
    Filters,
    Page,
    Pinned,
    Scopes,
    Seal,
    SealEntry,
    Snapshot,
    StoredCheckpoint,
    StoredReceipt,
    StoreStats,
    Stub,
)
from crp_mcp.store.payloads import PayloadReader, PayloadWriter, WrittenPayload

T = TypeVar("T")
_ANY = Filters()

BUSY_SECONDS = 10.0
"""How long a writer waits for another process before it gives up with StoreBusy."""


class SqliteStore:
    """One store file. Make it with `open_store`; close it once, when nothing uses it any more.

    What each operation promises is said in `ports.Store`.
    """

    def __init__(self, path: Path, *, busy_seconds: float, clock: Callable[[], float]) -> None:
        self.path = path
        self.busy_seconds = busy_seconds
        self._clock = clock
        self._connections = connection.Connections(path, busy_seconds)
        self._valve = upkeep.Valve(path)

    # -- capture

    def reserve_id(self, tenant: str, slug: str) -> str:
        """Take the tenant's next id."""
        with self._write() as db:
            return ids.make_id(slug, numbers.next_of_tenant(db, scopes.ensure_tenant(db, tenant)))

    def next_id(self, tenant: str, slug: str) -> str:
        """Say which id the tenant's next entry gets if nobody comes before it."""
        with self._read() as db:
            return ids.make_id(slug, numbers.last_of_tenant(db, tenant) + 1)

    def open_payload(self) -> PayloadWriter:
        """Return a writer for one payload of any size."""
        return PayloadWriter(self._spill, self._drop)

    def write_payload(self, data: bytes) -> WrittenPayload:
        """Write a payload that is already in memory."""
        with self.open_payload() as writer:
            writer.write(data)
            return writer.close()

    def commit_capture(self, draft: CaptureDraft, payload: WrittenPayload, seal: SealEntry) -> Entry:
        """Store one result, or nothing of it."""
        with self._write() as db:
            entry = mutate.capture(db, draft, payload, seal)
        self._relieve(db, sum(len(data) for _, data in payload.pending))
        return entry

    # -- change

    def append(self, seal: Seal, change: Callable[[sqlite3.Connection], T], scope: Scope | None = None) -> T:
        """Run `change` and store its audit record."""
        with self._write() as db:
            result = change(db)
            head = chain.head(db)
            space = scopes.space_of(db, scope) if scope else None
            chain.store(db, head, seal(head), space_id=space or 0)
            return result

    def set_summary(
        self, scope: Scope, scratch_id: str, summary: str, sent_tokens: int | None, seal: SealEntry
    ) -> Entry:
        """Give an entry its summary and receipt; the first one stays."""
        with self._write() as db:
            return mutate.set_summary(db, scope, scratch_id, summary, sent_tokens, seal)

    def set_token_count(self, scope: Scope, scratch_id: str, count: int) -> None:
        """Fill in a token count that was not known at capture."""
        with self._write() as db:
            seq, _ = entries.must_find(db, scope, scratch_id)
            db.execute("UPDATE entry SET raw_token_count = ? WHERE seq = ? AND raw_token_count IS NULL", (count, seq))

    def pin(
        self,
        scope: Scope,
        reference: str,
        seal: SealEntry,
        *,
        name: str | None = None,
        reason: str | None = None,
        expires_at: int | None = None,
        may_take: frozenset[str] | None = None,
    ) -> Pinned:
        """Protect an entry from eviction and give it a name."""
        if name is not None:
            tidied = tidy_name(name)
            if tidied is None or ids.number_of(tidied) is not None:
                raise BadRequest(f"name: give 1 to {MAX_NAME} printable characters that are not a scratch_id")
            name = tidied
        if name is not None and (name.strip().lower() == "latest" or name.strip().lower().startswith("sqlite_")):
            raise BadRequest(f"name: {name!r} has a meaning of its own in queries; give another")
        with self._write() as db:
            return mutate.pin(db, scope, reference, seal, name, reason, expires_at, may_take)

    def unpin(self, scope: Scope, reference: str, seal: SealEntry) -> Entry:
        """Take pin and name off an entry."""
        with self._write() as db:
            return mutate.unpin(db, scope, reference, seal)

    def remove(self, scope: Scope, reference: str, seal: SealEntry, *, why: str, at: float, erase: bool) -> Stub:
        """Take an entry out and leave a stub."""
        with self._write() as db:
            return mutate.remove(db, scope, reference, seal, why, at, erase)

    # -- read

    def get(self, scope: Scope, reference: str) -> Entry | Stub:
        """Return an entry by id or pinned name, or the stub of one that is gone."""
        with self._read() as db:
            found = entries.find(db, scope, reference)
            answer = found[1] if found is not None else entries.find_stub(db, scope, reference)
        if answer is None:
            raise entries.unknown(reference)
        return answer

    def list(
        self,
        scope: Scope | None,
        *,
        filters: Filters = _ANY,
        cursor: str | None = None,
        limit: int = 50,
        within: str = "conversation",
    ) -> Page:
        """Return a page of entries, newest first, without `structured`."""
        if limit < 1:
            raise BadRequest(f"limit: {limit} is too small, 1 is the least")
        before = None if cursor is None else _parse_cursor(cursor)
        with self._read() as db:
            rows = entries.select(db, scope, filters, before, limit + 1, within)
        more = len(rows) > limit
        return Page(tuple(entry for _, entry in rows[:limit]), f"s{rows[limit - 1][0]}" if more else None)

    def latest(self, scope: Scope, *, filters: Filters = _ANY) -> Entry | None:
        """Return the newest captured entry the filters allow."""
        with self._read() as db:
            rows = entries.select(db, scope, replace(filters, origin="capture"), None, 1, "conversation")
        return rows[0][1] if rows else None

    def expired(self, now: float, limit: int = 50) -> tuple[Entry, ...]:
        """Return entries whose retention epoch has passed."""
        with self._read() as db:
            return tuple(entries.expired(db, now, limit))

    def salt(self, scope: Scope, reference: str) -> bytes:
        """Return the entry's salt. Raises NotFound."""
        with self._read() as db:
            return entries.salt(db, scope, reference)

    def open_reader(self, payload_id: int) -> PayloadReader:
        """Return a reader of slices."""
        with self._read():
            return PayloadReader(self._connections.get, payload_id)

    def read(self, payload_id: int, offset: int, length: int) -> bytes:
        """Return a slice."""
        with self._read():
            return PayloadReader(self._connections.get, payload_id).read(offset, length)

    def iter_payload(self, payload_id: int) -> Iterator[bytes]:
        """Yield the whole payload in pieces, checking its hash."""
        with self._read():
            yield from PayloadReader(self._connections.get, payload_id).pieces()

    # -- conversations and counters

    def touch_conversation(self, scope: Scope, host_key: str | None, now: float) -> None:
        """Make the conversation known and note that it was used."""
        with self._write() as db:
            scopes.touch(db, scope, host_key, now)

    def conversation_of(self, tenant: str, project: str, host_key: str, *, since: float) -> str | None:
        """Return the conversation this host used last."""
        with self._read() as db:
            return scopes.last_of_host(db, Scope(tenant, project), host_key, since)

    def conversations(self, scope: Scope | None = None) -> tuple[Conversation, ...]:
        """Return the conversations, the last used first."""
        with self._read() as db:
            return tuple(scopes.conversations(db, scope))

    def spaces(self) -> Scopes:
        """Return every tenant and project."""
        with self._read() as db:
            return scopes.spaces(db)

    def counters(self, scope: Scope | None) -> Counters:
        """Return the totals of a conversation or of the store."""
        with self._read() as db:
            if scope is None:
                return scopes.counters(db, scopes.STORE)
            place = scopes.conversation_of(db, scope)
            return scopes.counters(db, place.conversation) if place else Counters()

    # -- proof

    def head(self) -> Head:
        """Return the end of the audit chain."""
        with self._read() as db:
            return chain.head(db)

    def records(self, from_seq: int = 1) -> Iterator[Record]:
        """Yield audit records in order."""
        with self._read() as db:
            yield from chain.records(db, from_seq)

    def receipt(self, scope: Scope | None, digest: str) -> StoredReceipt:
        """Return a receipt with its leaves."""
        with self._read() as db:
            return chain.receipt(db, None if scope is None else scopes.space_of(db, scope) or -1, digest)

    def receipts_on(self, scope: Scope, item: str) -> tuple[str, ...]:
        """Return the digests of receipts built on an item."""
        with self._read() as db:
            return tuple(chain.receipts_on(db, scopes.space_of(db, scope) or -1, item))

    def add_checkpoint(self, seq: int, body: bytes, at: float) -> None:
        """Keep a signed checkpoint of the chain."""
        with self._write() as db:
            chain.add_checkpoint(db, seq, body, at)

    def checkpoints(self) -> tuple[StoredCheckpoint, ...]:
        """Return the signed checkpoints."""
        with self._read() as db:
            return tuple(chain.checkpoints(db))

    def snapshot(self) -> Snapshot:
        """Return how far the proofs go at this moment."""
        with self._read() as db:
            found = chain.snapshot(db)
        if found is None:
            raise StoreError(f"store {self.path}: damaged, its totals are missing: `crp-mcp audit verify` tells more")
        return found

    def all_receipts(self, up_to: int) -> Iterator[StoredReceipt]:
        """Yield every receipt up to a snapshot's."""
        with self._read() as db:
            yield from chain.all_receipts(db, up_to)

    def ask(self, question: Callable[..., T], *arguments: object) -> T:
        """Put a question to the file: `ask(descent.built_on, scope, item)`."""
        with self._read() as db:
            return question(db, *arguments)

    # -- erasure

    def erase(self, work: erase.Work, seal: Seal) -> builtins.list[Entry]:
        """Take out and rebuild, with the records of it, in one transaction. Raises erase.PlanChanged."""
        return self.append(seal, lambda db: erase.apply(db, work), work.scope)

    def scrub(self, most_bytes: int | None = None) -> bool:
        """Leave nothing of what was erased in the file or its log; False where that must wait."""
        with self._read() as db:
            return scrub.scrub(db, self.path, self._write, self._clock(), most_bytes)

    # -- upkeep

    def checkpoint_due(self) -> bool:
        """Return True once the log is worth copying."""
        return upkeep.log_bytes(self.path) >= upkeep.WAL_DUE

    def checkpoint(self, *, truncate: bool = False) -> Checkpointed:
        """Copy the log into the file."""
        with self._read() as db:
            return upkeep.checkpoint(db, truncate=truncate)

    def sweep_uploads(self) -> int:
        """Remove payloads that belong to no entry."""
        with self._read() as db:
            return uploads.sweep(db, self._write, self._clock())

    def shrink(self, max_pages: int | None = None) -> int:
        """Give free pages back to the disk."""
        with self._read() as db:
            return upkeep.shrink(db, self._write, max_pages)

    def stats(self, *, check: bool = False) -> StoreStats:
        """Return sizes and counts."""
        with self._read() as db:
            return upkeep.stats(db, self.path, check=check)

    def close(self) -> None:
        """Close every connection."""
        self._connections.close()

    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside

    def _read(self) -> connection.Reading:
        return connection.Reading(self._connections)

    def _write(self) -> AbstractContextManager[sqlite3.Connection]:
        return connection.write(self._connections.get(), self.path, self.busy_seconds)

    def _relieve(self, db: sqlite3.Connection, payload_bytes: int) -> None:
        with named(self.path):
            self._valve.relieve(db, payload_bytes)

    def _spill(self, writer: PayloadWriter) -> None:
        with self._write() as db:
            written = uploads.spill(db, writer, self._clock())
        self._relieve(db, written)

    def _drop(self, writer: PayloadWriter) -> None:
        if writer.payload_id is not None and writer.owner is not None:
            uploads.drop(self._write, writer.payload_id, writer.owner)


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
