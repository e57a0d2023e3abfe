"""Where entries live: one SQLite file shared by every process of a user. Says what is stored, not when or why.

Names load when they are first used: who only asks where a store would be does not wait for SQLite.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
        Snapshot,
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
    "Snapshot",
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

_MODULES = {
    "crp_mcp.proof.chain": (
        "Head",
        "Record",
    ),
    "crp_mcp.store.model": (
        "CaptureDraft",
        "Checkpointed",
        "Conversation",
        "Counters",
        "Filters",
        "Leaf",
        "Page",
        "Pinned",
        "Seal",
        "Sealed",
        "SealedReceipt",
        "SealEntry",
        "Snapshot",
        "StoredCheckpoint",
        "StoredReceipt",
        "StoreStats",
        "Stub",
    ),
    "crp_mcp.store.payloads": (
        "PayloadReader",
        "PayloadWriter",
        "WrittenPayload",
    ),
    "crp_mcp.store.place": (
        "default_folder",
        "store_file",
    ),
    "crp_mcp.store.ports": ("Store",),
    "crp_mcp.store.sqlite": (
        "SqliteStore",
        "open_store",
    ),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
