"""Where entries live: one SQLite file shared by every process of a user. Says what is stored, not when or why."""

from __future__ import annotations

from crp_mcp.proof.chain import Head, Record
from crp_mcp.store.model import (
    CaptureDraft,
    Checkpointed,
    Conversation,
    Counters,
    Filters,
    Leaf,
    Page,
    Pinned,
    Seal,
    Sealed,
    SealedReceipt,
    SealEntry,
    StoredCheckpoint,
    StoredReceipt,
    StoreStats,
    Stub,
)
from crp_mcp.store.payloads import PayloadReader, PayloadWriter, WrittenPayload
from crp_mcp.store.place import default_folder, store_file
from crp_mcp.store.ports import Store
from crp_mcp.store.sqlite import SqliteStore, open_store

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
    "Record",
    "Seal",
    "SealEntry",
    "Sealed",
    "SealedReceipt",
    "SqliteStore",
    "Store",
    "StoreStats",
    "StoredCheckpoint",
    "StoredReceipt",
    "Stub",
    "WrittenPayload",
    "default_folder",
    "open_store",
    "store_file",
]
