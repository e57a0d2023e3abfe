"""The two wire eras: the handshake revisions, and 2026-07-28 with its envelope in every request's `_meta`."""

from __future__ import annotations

from .answers import HTTP_DATA, UNKNOWN, UNSUPPORTED_VERSION, Failure
from .frame import Frame, text_of
from .scan import members

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


def unspoken(meta: bytes | None) -> Failure | None:
    """Why a request cannot be served whose envelope names a version that is none of these; None for any other."""
    if meta is None or ENVELOPE_VERSION not in meta or meta[:1] != b"{":
        return None
    span = members(meta).get(ENVELOPE_VERSION.decode())
    version = text_of(meta[span[0] : span[1]]) if span else MODERN
    return None if version in MODERN_VERSIONS else unsupported(version or "")


def unsupported(version: str) -> Failure:
    """The error that says which versions there are."""
    data = {"supported": list(MODERN_VERSIONS), "requested": version}
    return Failure(UNSUPPORTED_VERSION, "This protocol version is not spoken here.", data)


_MODERN_ERRORS = (b"-32020", b"-32021")
"""Errors of 2026-07-28 alone: headers that do not match, a capability of the client's that lacks."""


def era_of(answer: Frame) -> str | None:
    """What an answer to `server/discover` says of its server's era; None where the server has not seen the question."""
    if "result" in answer.top:
        versions = answer.part("supportedVersions")
        return MODERN if versions is None or b'"%b"' % MODERN.encode() in versions else HANDSHAKE
    if turned_away(answer) is not None:
        return None
    code, data = answer.part("code"), answer.part("data") or b""
    supported = code == b"%d" % UNSUPPORTED_VERSION and b'"%b"' % MODERN.encode() in data
    return MODERN if supported or code in _MODERN_ERRORS else HANDSHAKE


def turned_away(answer: Frame) -> Failure | None:
    """The error of a request that did not reach its server, such as one without a login; None for any other."""
    data = answer.part("data") if "error" in answer.top else None
    if data is None or HTTP_DATA.encode() not in data:
        return None
    import json

    try:
        said = json.loads(data)
        code = int(answer.part("code") or 0)
    except ValueError:
        return None
    about = said.get(HTTP_DATA) if isinstance(said, dict) else None
    if not isinstance(about, dict) or about.get("reached") not in (False, UNKNOWN):
        return None
    return Failure(code, text_of(answer.part("message")) or "", said)
