"""What the rooms above may ask of a store. One contract, whatever is below; the SQLite store is in sqlite.py.

Every call is one transaction and may be made from any thread. Writes raise StoreBusy when another process held the
write lock past the limit, and StoreError when nothing can be stored (disk full, damaged, not writable).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from crp_mcp.core.model import Entry, Scope
from crp_mcp.proof.chain import Head, Record
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
    StoredCheckpoint,
    StoredReceipt,
    StoreStats,
    Stub,
)
from crp_mcp.store.payloads import PayloadReader, PayloadWriter, WrittenPayload

T = TypeVar("T")


class Store(Protocol):
    """Entries with their payloads, proofs and counters. `reference` is a scratch_id or a pinned name."""

    # -- capture

    def reserve_id(self, tenant: str, slug: str) -> str:
        """Take the tenant's next id, `scratch_<slug>_<NNN>`. It is never given again, used or not."""

    def next_id(self, tenant: str, slug: str) -> str:
        """Say which id the tenant's next entry gets if no other comes first; nothing is taken by that."""

    def open_payload(self) -> PayloadWriter:
        """Return a writer for one payload of any size; big ones are written in short transactions as they come."""

    def write_payload(self, data: bytes) -> WrittenPayload:
        """Write a payload that is already in memory."""

    def commit_capture(self, draft: CaptureDraft, payload: WrittenPayload, seal: SealEntry) -> Entry:
        """Store one result: entry, payload, audit records and receipt together, or nothing of it.

        `seal` gets the chain's head and the entry as it will be stored (receipt None), and returns what it linked and
        signed; it runs inside the transaction, so the chain never forks, and must not call the store.
        """

    # -- change; each with its audit record

    def append(self, seal: Seal, change: Callable[[sqlite3.Connection], T], scope: Scope | None = None) -> T:
        """Run `change`, then store what `seal` linked and signed, in one transaction; returns `change`'s result."""

    def set_summary(
        self, scope: Scope, scratch_id: str, summary: str, sent_tokens: int | None, seal: SealEntry
    ) -> Entry:
        """Give an entry its summary and receipt. The first one stays: a summary once sent never changes."""

    def set_token_count(self, scope: Scope, scratch_id: str, count: int) -> None:
        """Fill in a token count that was not known at capture; one that is known stays. Not audited."""

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
        """Protect an entry from eviction and give it a name, unique within tenant + project.

        A name another entry had moves here; that entry stays pinned and is reported. `may_take`: the ids it may be
        taken from (None: any). `expires_at` only extends.

        Raises:
            NotFound: no such entry. BadRequest: a name that is empty, looks like an id, or must stay where it is.
        """

    def unpin(self, scope: Scope, reference: str, seal: SealEntry) -> Entry:
        """Take pin and name off an entry; on one that is not pinned nothing happens and nothing is recorded."""

    def remove(self, scope: Scope, reference: str, seal: SealEntry, *, why: str, at: float, erase: bool) -> Stub:
        """Take an entry out and leave a stub; `erase` (a purge) keeps neither arguments, hash nor summary in it.

        `why`: `evicted`, `expired` or `purged`. The payload's bytes go with the next `sweep_uploads`.
        """

    # -- read

    def get(self, scope: Scope, reference: str) -> Entry | Stub:
        """Return the entry within tenant + project, or the stub of one that is gone.

        Raises:
            NotFound: it never was here.
        """

    def list(
        self,
        scope: Scope | None,
        *,
        filters: Filters = ...,
        cursor: str | None = None,
        limit: int = 50,
        within: str = "conversation",
    ) -> Page:
        """Return entries newest first, without `structured` (see `get`). New captures do not disturb a cursor.

        `within`: `conversation`, `project` (tenant + project), or `store` (the operator's view; scope may be None).

        Raises:
            BadRequest: a cursor that is not one of ours, a limit under 1, an unknown `within`.
        """

    def latest(self, scope: Scope, *, filters: Filters = ...) -> Entry | None:
        """Return the newest captured entry of the conversation that the filters allow. Derived ones are never it."""

    def expired(self, now: float, limit: int = 50) -> tuple[Entry, ...]:
        """Return entries of the whole store whose retention epoch has passed, the longest expired first."""

    def salt(self, scope: Scope, reference: str) -> bytes:
        """Return the 16 bytes the entry's digests are salted with."""

    def open_reader(self, payload_id: int) -> PayloadReader:
        """Return a reader of slices that remembers its last chunk; for the length of one request."""

    def read(self, payload_id: int, offset: int, length: int) -> bytes:
        """Return a slice, short at the end; reads only the chunks it touches.

        Raises:
            NotFound: the payload is gone. StoreError: its bytes are damaged.
        """

    def iter_payload(self, payload_id: int) -> Iterator[bytes]:
        """Yield the whole payload in pieces of at most 256 KiB; the last step checks its hash. Errors as `read`."""

    # -- conversations and counters

    def touch_conversation(self, scope: Scope, host_key: str | None, now: float) -> None:
        """Make the conversation known, note its host, and that it was used just now."""

    def conversation_of(self, tenant: str, project: str, host_key: str, *, since: float) -> str | None:
        """Return the conversation this host used last, if it did so at or after `since`."""

    def conversations(self, scope: Scope | None = None) -> tuple[Conversation, ...]:
        """Return the conversations of tenant + project, or of the store, the last used first."""

    def spaces(self) -> Scopes:
        """Return every tenant and project the store knows, as scopes without a conversation."""

    def counters(self, scope: Scope | None) -> Counters:
        """Return the totals of a conversation, or of the whole store for None; as fast at any size."""

    # -- proof

    def head(self) -> Head:
        """Return the end of the audit chain."""

    def records(self, from_seq: int = 1) -> Iterator[Record]:
        """Yield audit records in order, exactly as stored."""

    def receipt(self, scope: Scope | None, digest: str) -> StoredReceipt:
        """Return a receipt of tenant + project (of the store for None) with its leaves in order.

        Raises:
            NotFound: there is none with this digest here.
        """

    def receipts_on(self, scope: Scope, item: str) -> tuple[str, ...]:
        """Return the digests of receipts that have `item` among their sources: what a purge must invalidate."""

    def add_checkpoint(self, seq: int, body: bytes, at: float) -> None:
        """Keep a signed checkpoint of the chain."""

    def checkpoints(self) -> tuple[StoredCheckpoint, ...]:
        """Return the signed checkpoints in order."""

    # -- upkeep

    def checkpoint_due(self) -> bool:
        """Return True once the log is worth copying; costs one look at the file's size."""

    def checkpoint(self, *, truncate: bool = False) -> Checkpointed:
        """Copy the log into the file. To be called when idle: it blocks no writer and no reader.

        `truncate` also empties the log file, which waits (briefly) until nobody reads from it.
        """

    def sweep_uploads(self) -> int:
        """Remove payloads that belong to no entry (dead uploads, removed entries); returns how many."""

    def shrink(self, max_pages: int | None = None) -> int:
        """Give free pages back to the disk, a few at a time; returns how many."""

    def stats(self, *, check: bool = False) -> StoreStats:
        """Return sizes and counts; `check` also reads the whole file for damage."""

    def close(self) -> None:
        """Close every connection. The store is of no use afterwards."""
