"""Streams: pages of one listing, and chunks of one output, are entries with one `stream_id` (SPEC-029 §11)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from crp_mcp.core.model import Scope, ToolCall
from crp_mcp.store import SqliteStore
from crp_mcp.store import streams as rows

from .sealing import canonical_arguments
from .turns import nothing_sealed

CURSORS = frozenset(
    {
        *("cursor", "next_cursor", "start_cursor", "after", "starting_after", "marker", "scroll_id"),
        *("page", "page_number", "page_token", "next_token", "continuation", "continuation_token", "offset", "skip"),
        *("pagetoken", "nexttoken", "nextcursor", "startcursor", "pagenumber", "continuationtoken"),
    }
)
"""Arguments by which a listing goes on, in lower case: what tells its pages apart."""


@dataclass(slots=True)
class Streams:
    """Finds the stream a call belongs to."""

    store: SqliteStore
    now: Callable[[], float]

    def of_call(self, scope: Scope, call: ToolCall) -> str | None:
        """The stream of a page: the same tool with the same arguments but the cursor. None for a call without one.

        The first page, asked for without a cursor, joins when the second one comes.
        """
        rest, pages = split_cursor(call.arguments)
        if not pages:
            return None
        digest = listing_hash(call, rest)
        now = self.now()
        stream_id = "stream_" + digest.hex()[:16]
        self.store.append(
            nothing_sealed,
            lambda db: rows.join(db, scope, stream_id, call.server, call.tool, rest, digest, now),
            scope,
        )
        return stream_id

    def new_chunk(self, scope: Scope, stream_id: str, tool: str) -> None:
        """Note that a named stream exists: its chunks are captured one by one."""
        now = self.now()
        self.store.append(nothing_sealed, lambda db: rows.ensure(db, scope, stream_id, tool, None, now), scope)


def split_cursor(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of a listing, and those that say which page of it."""
    pages = {key: value for key, value in arguments.items() if key.lower().replace("-", "_") in CURSORS}
    pages = {key: value for key, value in pages.items() if value is not None and value != ""}
    return {key: value for key, value in arguments.items() if key not in pages}, pages


def listing_hash(call: ToolCall, rest: Mapping[str, Any]) -> bytes:
    """Digest of tool and arguments without the cursor."""
    arguments = canonical_arguments(rest, orjson.dumps(rest, default=str))
    return hashlib.sha256(f"{call.server}\0{call.tool}\0".encode() + arguments).digest()
