"""The nouns of the store: what callers hand in and get back. Plain frozen values; nothing here touches a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crp_mcp.core.model import Entry, Kind, Persistence, Scope, ToolClass, Volatility
from crp_mcp.proof.chain import Head, Record


@dataclass(frozen=True, slots=True)
class Leaf:
    """One source item of a receipt: the leaf's exact bytes, and the id of the item it stands for.

    For the entry the receipt belongs to, `item` may be None: that entry leads to its receipt by itself.
    """

    body: bytes
    item: str | None = None


@dataclass(frozen=True, slots=True)
class SealedReceipt:
    """A signed receipt, ready to be stored: its digest (`sha256:…`), signed bytes and leaves in order."""

    digest: str
    body: bytes
    leaves: tuple[Leaf, ...] = ()
    supersedes: str | None = None


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """A receipt as it comes back out: signed bytes and leaves exactly as stored."""

    digest: str
    body: bytes
    leaves: tuple[bytes, ...]
    supersedes: str | None


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A signed head of the audit chain, as stored."""

    seq: int
    body: bytes
    at: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How far the proofs of a store go at one moment: head of the chain, last receipt's and tombstone's row.

    `kept` is the head as it is noted apart from the records: where the two differ, records were cut off or added.
    """

    head: Head
    kept: Head
    receipts: int
    tombstones: int


@dataclass(frozen=True, slots=True)
class Sealed:
    """What a seal callback returns: the records linked to the head it was given, and a receipt if one was signed.

    A summary that names the entry's id may be made in the callback too, which spares reserving the id beforehand; only
    for what takes well under a millisecond, since other writers wait.
    """

    records: Sequence[Record] = ()
    receipt: SealedReceipt | None = None
    summary: str | None = None
    sent_tokens: int | None = None
    more: Sequence[SealedReceipt] = ()
    """Further receipts of the same transaction."""
    checkpoints: Sequence[StoredCheckpoint] = ()
    """Signed heads that fell due among these records."""


Scopes = list[Scope]
Seal = Callable[[Head], Sealed]
SealEntry = Callable[[Head, Entry], Sealed]
"""Called inside the store's write transaction: it may compute and sign, and must not call the store."""


@dataclass(frozen=True, slots=True)
class CaptureDraft:
    """Everything of a new entry but what the store decides: id, payload id, hash and size of the payload, receipt."""

    scope: Scope
    server: str
    tool_name: str
    tool_call_args: Mapping[str, Any]
    created_at: float
    salt: bytes
    """16 random bytes: digests in the audit chain and in receipts are salted with them."""
    slug: str = "tool"
    """Middle part of the id, where none was reserved."""
    scratch_id: str | None = None
    """An id from `reserve_id`; None takes the next one inside the capture's transaction."""
    raw_token_count: int | None = None
    summary: str | None = None
    structured: Mapping[str, Any] | None = None
    freshness_ttl: int | None = None
    persistence: Persistence = Persistence.EPHEMERAL
    kind: Kind = Kind.TEXT
    tool_class: ToolClass = ToolClass.OTHER
    label: str = "INTERNAL"
    is_error: bool = False
    rows: int | None = None
    rows_total: int | None = None
    partial: bool = False
    inline: bool = False
    volatility: Volatility = Volatility.VOLATILE
    turn_id: int | None = None
    stream_id: str | None = None
    supersedes: str | None = None
    expires_at: int = 0
    form: str = "text"
    origin: str = "capture"
    sent_tokens: int | None = None
    """Tokens of what the host was given instead; with `raw_token_count` it makes the tokens saved."""
    call_hash: bytes | None = None
    """Digest of tool and canonical arguments: equal calls are found by it."""
    host_key: str | None = None
    """Who the conversation belongs to on this machine (host process and project folder), kept with it."""


@dataclass(frozen=True, slots=True)
class Stub:
    """What is left of an entry that is gone. Arguments and summary are None where it was purged."""

    scratch_id: str
    scope: Scope
    server: str
    tool_name: str
    kind: Kind
    tool_class: ToolClass
    created_at: float
    gone_at: float
    why: str
    """`evicted`, `expired` or `purged`."""
    rows: int | None
    payload_bytes: int
    name: str | None = None
    tool_call_args: Mapping[str, Any] | None = None
    provenance_hash: str | None = None
    summary: str | None = None
    salt: bytes | None = None
    label: str | None = None
    """None where it was purged, or left under an older version: then nothing is known, and it counts as the top."""
    expires_at: int = 0
    receipt: str | None = None


@dataclass(frozen=True, slots=True)
class Filters:
    """Which entries a list is about. None asks nothing. `since` is included, `until` is not (epoch seconds)."""

    kind: Kind | None = None
    tool: str | None = None
    tool_class: ToolClass | None = None
    pinned: bool | None = None
    stream_id: str | None = None
    origin: str | None = None
    since: float | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Entries, newest first, and the cursor of the next page (None at the end)."""

    entries: tuple[Entry, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Pinned:
    """A pin that was made, and the id of the entry that had the name before, if one did."""

    entry: Entry
    taken_from: str | None = None


@dataclass(frozen=True, slots=True)
class Counters:
    """Exact totals, kept as rows: reading them costs the same at any size. Bytes; tokens of the counter in use."""

    entries: int = 0
    pinned: int = 0
    payload_bytes: int = 0
    stored_bytes: int = 0
    raw_tokens: int = 0
    tokens_saved: int = 0


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation the store knows. Times are epoch seconds."""

    scope: Scope
    host_key: str | None
    created_at: float
    last_used_at: float
    counters: Counters = field(default_factory=Counters)


@dataclass(frozen=True, slots=True)
class Checkpointed:
    """What a WAL checkpoint did: frames in the log, frames copied, and whether someone else stood in the way."""

    busy: bool
    frames: int
    copied: int

    @classmethod
    def of(cls, row: Sequence[int]) -> Checkpointed:
        """From the row SQLite answers with."""
        return cls(bool(row[0]), row[1], row[2])


@dataclass(frozen=True, slots=True)
class StoreStats:
    """For `doctor`: sizes in bytes, counts, and what an integrity check said (None when it was not asked for)."""

    path: str
    schema: int
    sqlite: str
    page_size: int
    file_bytes: int
    wal_bytes: int
    free_bytes: int
    counters: Counters
    conversations: int
    records: int
    receipts: int
    stubs: int
    turns: int
    facts: int
    open_uploads: int
    integrity: str | None = None
