"""Names, descriptions and input schemas of our own tools, written for a model and counted in tokens.

Every definition is sent to the model on every turn: about 100 tokens each, and no word that does not earn its place.
"""

from __future__ import annotations

from typing import Any

MAX_TOKENS = 2_000
"""Tokens of one answer, unless the call asks for another number."""
MAX_TOKENS_LIMIT = 20_000

_ID: dict[str, Any] = {"type": "string"}
_INT: dict[str, Any] = {"type": "integer"}
_READS = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
_ALWAYS = {"anthropic/alwaysLoad": True}
"""Without it a host's tool search may hide the tool that a summary's first line points to."""

VIEWS = ("summary", "rows", "raw", "provenance", "receipt")

SCRATCH_GET: dict[str, Any] = {
    "name": "scratch_get",
    "description": (
        "Read a stored result by scratch_id, pinned name or phrase (the second table). offset: next_offset of the last "
        "page. path: one value ($.items[0].body). grep: lines by regex. block: one part. "
        'Example: {"scratch_id": "scratch_sql_001", "view": "rows", "offset": 100}'
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "scratch_id": _ID,
            "view": {"enum": list(VIEWS)},
            "offset": _INT,
            "limit": _INT,
            "columns": {"type": "array", "items": {"type": "string"}},
            "path": {"type": "string"},
            "grep": {"type": "string"},
            "block": _INT,
            "max_tokens": _INT,
        },
        "required": ["scratch_id"],
    },
    "annotations": {"title": "Read a stored result", **_READS},
    "_meta": _ALWAYS,
}

SCRATCH_LIST: dict[str, Any] = {
    "name": "scratch_list",
    "description": ('List the stored results of this conversation, newest first. Example: {"tool": "read_query"}'),
    "inputSchema": {
        "type": "object",
        "properties": {
            "tool": {"type": "string"},
            "kind": {"type": "string"},
            "pinned": {"type": "boolean"},
            "stream": {"type": "string"},
            "cursor": {"type": "string"},
            "limit": _INT,
        },
    },
    "annotations": {"title": "List stored results", **_READS},
    "_meta": _ALWAYS,
}

SCRATCH_PIN: dict[str, Any] = {
    "name": "scratch_pin",
    "description": (
        "Keep a stored result, under a name usable as its id; unpin releases it; promote makes a lasting fact. "
        'Example: {"scratch_id": "scratch_sql_001", "name": "q3 revenue"}'
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "scratch_id": _ID,
            "name": {"type": "string"},
            "unpin": {"type": "boolean"},
            "promote": {"type": "boolean"},
        },
        "required": ["scratch_id"],
    },
    "annotations": {
        "title": "Pin a stored result",
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    },
}

SCRATCH_QUERY: dict[str, Any] = {
    "name": "scratch_query",
    "description": (
        "Filter, count, sum or join stored results with one read-only SQLite SELECT. Tables: a scratch_id, pinned name "
        "or latest. Texts have line_no, text and MATCH; logs ts, level, message. "
        'Example: {"sql": "SELECT city, sum(amount) FROM scratch_sql_001 GROUP BY city"}'
    ),
    "inputSchema": {
        "type": "object",
        "properties": {"sql": {"type": "string"}, "max_tokens": _INT},
        "required": ["sql"],
    },
    "annotations": {"title": "Query stored results", **_READS},
    "_meta": _ALWAYS,
}

SCRATCH_FORGET: dict[str, Any] = {
    "name": "scratch_forget",
    "description": (
        "Erase one unpinned stored result for good, with everything made from it. Only if the user asks. "
        'Example: {"scratch_id": "scratch_sql_001"}'
    ),
    "inputSchema": {"type": "object", "properties": {"scratch_id": _ID}, "required": ["scratch_id"]},
    "annotations": {
        "title": "Erase a stored result",
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": True,
        "openWorldHint": False,
    },
}

RECORD_TURN: dict[str, Any] = {
    "name": "record_turn",
    "description": (
        'Record a message or decision. A user\'s "save that calculation" pins what it means. '
        'Example: {"role": "user", "text": "keep those results"}'
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "role": {"enum": ["user", "assistant"]},
            "text": {"type": "string"},
            "turn": _INT,
            "decision": {"type": "object"},
        },
        "required": ["role"],
    },
    "annotations": {"title": "Log a turn", "readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
}

_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}

REQUEST_CONTEXT: dict[str, Any] = {
    "name": "request_context",
    "description": (
        "Get what bears on a question from project files, stored results, turns and facts. focus: names or ids. "
        "depth: 0 names, 4 signatures, 9 all. "
        'Example: {"query": "How are sessions closed?"}'
    ),
    "inputSchema": {
        "type": "object",
        "properties": {"query": _TEXT, "focus": _TEXTS, "depth": _INT, "max_tokens": _INT, "cursor": _TEXT},
    },
    "annotations": {"title": "Get context for a question", **_READS},
    "_meta": _ALWAYS,
}

QUERY_HISTORY: dict[str, Any] = {
    "name": "query_history",
    "description": (
        "See what happened here. kind: tool_call, assembly, turn, pin, eviction, claim, decision. Also tools, since, "
        'until. diff: against another result of the call. Example: {"scratch_id": "scratch_sql_002", '
        '"diff": "previous"}'
    ),
    "inputSchema": {
        "type": "object",
        "properties": {"kind": _TEXT, "query": _TEXT, "scratch_id": _TEXT, "diff": _TEXT, "cursor": _TEXT},
    },
    "annotations": {"title": "Read the conversation's history", **_READS},
}

GET_CONTEXT_BUDGET: dict[str, Any] = {
    "name": "get_context_budget",
    "description": "How many tokens of context are used and left.",
    "inputSchema": {"type": "object", "properties": {"max_tokens": _INT, "reserved_tokens": _INT}},
    "annotations": {"title": "Check the context budget", **_READS},
}

VERIFY_CLAIMS: dict[str, Any] = {
    "name": "verify_claims",
    "description": (
        "Check a draft answer against the stored results; wrong figures come back with the right ones. "
        'Example: {"text": "All 254 are open [scratch_sql_001]."}'
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "text": _TEXT,
            "scratch_ids": _TEXTS,
            "require_citation": {"type": "boolean"},
        },
        "required": ["text"],
    },
    "annotations": {"title": "Check claims against results", **_READS},
}

OWN_TOOLS: tuple[dict[str, Any], ...] = (
    REQUEST_CONTEXT,
    QUERY_HISTORY,
    GET_CONTEXT_BUDGET,
    SCRATCH_GET,
    SCRATCH_LIST,
    SCRATCH_PIN,
    SCRATCH_QUERY,
    VERIFY_CLAIMS,
    RECORD_TURN,
    SCRATCH_FORGET,
)
OWN_NAMES = frozenset(tool["name"] for tool in OWN_TOOLS)

RECEIPT_TEMPLATE: dict[str, Any] = {
    "uriTemplate": "receipt://{digest}",
    "name": "compaction receipt",
    "description": "The signed receipt of a summary or query result, by its digest (sha256:…).",
    "mimeType": "application/agent-lineage-eccr+json",
}

RESOURCE_TEMPLATE: dict[str, Any] = {
    "uriTemplate": "scratch://{scratch_id}",
    "name": "stored tool result",
    "description": "A captured tool result by its scratch_id or pinned name.",
}
