"""The two wire eras: the handshake revisions, and 2026-07-28 with its envelope in every request's `_meta`."""

from __future__ import annotations

from .frame import Frame

HANDSHAKE = "handshake"
MODERN = "2026-07-28"
MODERN_VERSIONS = (MODERN,)
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

REMOVED = ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe")
"""Requests that protocol 2026-07-28 does not have any more."""

ENVELOPE_VERSION = b"io.modelcontextprotocol/protocolVersion"
ENVELOPE_KEYS = frozenset(
    {
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientCapabilities",
        "io.modelcontextprotocol/clientInfo",
    }
)
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"


def is_modern(frame: Frame) -> bool:
    """Whether a request is made in protocol 2026-07-28. `initialize` exists only before it."""
    if frame.method == "server/discover":
        return True
    meta = frame.part("_meta")
    return meta is not None and ENVELOPE_VERSION in meta and frame.method != "initialize"
