"""The headers that repeat parts of a message for those who route it: method, name, version, marked arguments. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from crp_mcp.core.wire.marks import PARAM, Mark, as_text, packed

from .outgoing import Outgoing

SESSION = "mcp-session-id"
Marks = tuple[Mark, ...]


def message_headers(message: Outgoing, marks: Sequence[Mark]) -> dict[str, str]:
    """Headers of a request made in protocol 2026-07-28; none for other messages."""
    if not message.modern or message.id is None:
        return {}
    headers = {"mcp-method": packed(message.method or "")}
    if message.version is not None:
        headers["mcp-protocol-version"] = packed(message.version)
    if message.name is not None:
        headers["mcp-name"] = packed(message.name)
    arguments = message.member("arguments") if marks else None
    values = {mark.header: as_text(mark.value(arguments)) for mark in marks}
    return {**headers, **{PARAM + name: packed(text) for name, text in values.items() if text is not None}}
