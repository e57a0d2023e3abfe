"""Answers of our own tools as `tools/call` results: our line first, data in a block of its own, handles beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crp_mcp.core.headers import HEADERS_KEY as HEADERS_KEY


def answer(line: str, data: str | None = None, handles: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A result. `data` is never joined to our line: nothing in it can pass for a word of ours.

    `handles` (ids, cursors, offsets; no data) become `structuredContent`: things are said once.
    """
    content = [{"type": "text", "text": line}]
    if data:
        content.append({"type": "text", "text": data})
    result: dict[str, Any] = {"content": content, "isError": False}
    if handles:
        result["structuredContent"] = {key: value for key, value in handles.items() if value is not None}
    return result


def failure(message: str, code: str) -> dict[str, Any]:
    """A tool execution error: what happened and what to do."""
    return {"content": [{"type": "text", "text": message}], "isError": True, "structuredContent": {"code": code}}


def add_to_line(result: dict[str, Any], *sentences: str) -> dict[str, Any]:
    """The result with more said in our line, which stands first."""
    if not sentences:
        return result
    first, *rest = result["content"]
    return {**result, "content": [{**first, "text": "; ".join([first["text"], *sentences])}, *rest]}
