"""Where entries live: one SQLite file shared by every process of a user. Says what is stored, not when or why."""

from __future__ import annotations

from .model import (
    CaptureDraft,
    Checkpointed,
    Conversation,
    Counters,
    Filters,
    Head,
    Leaf,
    Page,
    Pinned,
    Seal,
    Sealed,
    SealedReceipt,
    SealEntry,
    StoredRecord,
    StoreStats,
    Stub,
)
from .payloads import PayloadReader, PayloadWriter, WrittenPayload
from .place import default_folder, store_file
from .sqlite import SqliteStore, open_store

__all__ = [
    "CaptureDraft",
    "Checkpointed",
    "Conversation",
    "Counters",
    "Filters",
    "Head",
    "Leaf",
    "Page",
    "PayloadReader",
    "PayloadWriter",
    "Pinned",
    "Seal",
    "SealEntry",
    "Sealed",
    "SealedReceipt",
    "SqliteStore",
    "StoreStats",
    "StoredRecord",
    "Stub",
    "WrittenPayload",
    "default_folder",
    "open_store",
    "store_file",
]
