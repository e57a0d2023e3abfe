"""What of an entry never changes after its capture, or after its eviction, as bytes.

The audit chain keeps salted digests of them. The same bytes come from what is about to be stored and from its row, read
back without parsing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from crp_mcp.core.model import Entry
from crp_mcp.store.entries import encode

COLUMNS = (
    "scratch_id",
    "server",
    "tool_name",
    "created_at",
    "freshness_ttl",
    "kind",
    "tool_class",
    "label",
    "origin",
    "volatility",
    "is_error",
    "inline",
    "partial",
    "rows",
    "rows_total",
    "payload_bytes",
    "turn_id",
    "form",
    "supersedes",
    "provenance_hash",
)
"""Columns that no statement updates, besides arguments, structure and the place (tenant, project, conversation)."""

STUB_COLUMNS = (
    "scratch_id",
    "number",
    "server",
    "tool_name",
    "kind",
    "tool_class",
    "created_at",
    "gone_at",
    "payload_bytes",
    "rows",
    "name",
    "tool_call_args",
    "call_hash",
    "provenance_hash",
    "summary",
    "label",
    "expires_at",
    "receipt",
    "turn_id",
)
"""Columns of what is left of an evicted entry, until it is purged."""


def fixed_of(entry: Entry, call_hash: bytes) -> bytes:
    """The bytes for an entry as it is captured, for a call of that digest."""
    values = [_stored(getattr(entry, column)) for column in COLUMNS]
    values[COLUMNS.index("created_at")] = float(entry.created_at)
    scope = entry.scope
    structured = None if entry.structured is None else encode(entry.structured)
    return fixed_bytes(
        (*values, scope.tenant, scope.project, scope.conversation), encode(entry.tool_call_args), structured, call_hash
    )


def fixed_bytes(values: Sequence[object], arguments: str, structured: str | None, call_hash: bytes) -> bytes:
    """The bytes for the values of COLUMNS, tenant, project, conversation, and two JSON texts exactly as stored."""
    texts = [arguments.encode("utf-8", "surrogateescape"), (structured or "").encode("utf-8", "surrogateescape")]
    head = encode([*values, len(texts[0]), None if structured is None else len(texts[1])])
    return b"\n".join((head.encode("utf-8", "surrogateescape"), *texts, call_hash))


def stub_bytes(values: Sequence[object]) -> bytes:
    """The bytes for the values of STUB_COLUMNS, as their row has them."""
    plain = [one.hex() if isinstance(one, bytes) else one for one in values]
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape")


def _stored(value: object) -> object:
    """A value as its column holds it: no enum, no bool."""
    if isinstance(value, str):
        return str(value)
    return int(value) if isinstance(value, bool) else value
