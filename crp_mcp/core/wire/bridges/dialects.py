"""How the two eras say the same: capabilities, questions, errors, results. Pure functions on raw JSON.

What neither knows passes as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from crp_mcp.core.wire.answers import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Failure, dump
from crp_mcp.core.wire.eras import HANDSHAKE_VERSIONS
from crp_mcp.core.wire.frame import Frame
from crp_mcp.core.wire.scan import items

from .rewrite import object_members, written

ELICIT, SAMPLE, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
QUESTIONS = (ELICIT, SAMPLE, ROOTS)
ASKABLE = ("tools/call", "prompts/get", "resources/read")
"""Requests that may be answered by a question."""
CACHEABLE = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

NOT_FOUND_BEFORE, URL_NEEDED_BEFORE = -32002, -32042
HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32020, -32021, -32022
_URL_REVISION = "2025-11-25"


def decoded(raw: bytes | None) -> dict[str, Any]:
    """A raw object as Python sees it; {} for anything else."""
    try:
        value = json.loads(raw) if raw else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


# -- capabilities ----------------------------------------------------------------------------------------------------


def _shared_extensions(theirs: dict[str, bytes], ours: Mapping[str, Any]) -> dict[str, bytes]:
    """Capabilities with those extensions alone that both sides have."""
    both = ours.get("extensions")
    extensions = object_members(theirs.get("extensions"))
    kept = {name: value for name, value in extensions.items() if isinstance(both, dict) and name in both}
    if "extensions" in theirs and len(kept) != len(extensions):
        theirs = {name: value for name, value in theirs.items() if name != "extensions"}
        return {**theirs, "extensions": written(kept)} if kept else theirs
    return theirs


def server_capabilities(raw: bytes | None, client: Mapping[str, Any]) -> bytes:
    """A server's capabilities for a host of the other era. Tasks differ in the two, so they are not offered."""
    found = {name: value for name, value in object_members(raw).items() if name != "tasks"}
    return written(_shared_extensions(found, client))


def client_capabilities(raw: bytes | None) -> bytes:
    """A host's capabilities for a server of the other era."""
    found = {name: value for name, value in object_members(raw).items() if name != "tasks"}
    if "roots" in found:
        # Nobody can be told of a change: the notification is gone in one era, and never sent in the other.
        found["roots"] = written({n: v for n, v in object_members(found["roots"]).items() if n != "listChanged"})
    return written(found)


def revision_for(wanted: str | None) -> str:
    """The handshake revision a host gets that asked for this one."""
    return wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]


# -- questions -------------------------------------------------------------------------------------------------------


def lacking(method: str, params: bytes | None, capabilities: Mapping[str, Any]) -> dict[str, Any] | None:
    """The capability a host needs for this question and has not declared; None where it can be asked."""
    if method == ROOTS:
        return None if "roots" in capabilities else {"roots": {}}
    asked = object_members(params)
    if method == ELICIT:
        declared = capabilities.get("elicitation")
        mode = "url" if asked.get("mode") == b'"url"' else "form"
        able = isinstance(declared, dict) and (mode in declared or (mode == "form" and "url" not in declared))
        return None if able else {"elicitation": {mode: {}}}
    declared = capabilities.get("sampling")
    if not isinstance(declared, dict):
        return {"sampling": {}}
    needs_tools = "tools" in asked or "toolChoice" in asked
    return {"sampling": {"tools": {}}} if needs_tools and "tools" not in declared else None


def cannot_ask(missing: Mapping[str, Any], capabilities: Mapping[str, Any]) -> Failure:
    """What a server of the handshake is told whose question the host cannot be asked."""
    text = f"The host cannot be asked: it has not declared the capability {dump(missing).decode()}."
    known = any(isinstance(capabilities.get(name), dict) for name in missing)
    return Failure(INVALID_PARAMS if known else METHOD_NOT_FOUND, text)


def modern_question(method: str, params: bytes | None) -> bytes:
    """A question of a handshake server's as an input request."""
    found = {name: value for name, value in object_members(params).items() if name not in ("elicitationId", "task")}
    meta = object_members(found.get("_meta"))
    if "progressToken" in meta:
        found["_meta"] = written({name: value for name, value in meta.items() if name != "progressToken"})
    inner = {"method": dump(method)}
    if found or method != ROOTS:
        inner["params"] = written(found)
    return written(inner)


def handshake_question(method: str, params: bytes | None, revision: str, ident: str) -> bytes | None:
    """Params of an input request for a host of this revision. `ident`: what a URL it must visit is known by."""
    found = object_members(params)
    if method == ELICIT:
        if found.get("mode") == b'"url"':
            found.setdefault("elicitationId", dump(ident))
        elif revision < _URL_REVISION:
            found.pop("mode", None)
    if method == SAMPLE and revision < _URL_REVISION and found.get("messages", b"")[:1] == b"[":
        raw = found["messages"]
        found["messages"] = b"[%b]" % b",".join(_one_block(raw[start:end]) for start, end in items(raw))
    return written(found) if found or params is not None else None


def _one_block(message: bytes) -> bytes:
    """A sampling message whose content is a list of one, as the revisions before lists write it."""
    found = object_members(message)
    content = found.get("content", b"")
    if content[:1] == b"[":
        blocks = items(content)
        if len(blocks) == 1:
            return written({**found, "content": content[blocks[0][0] : blocks[0][1]]})
    return message


def old_capabilities(capabilities: Mapping[str, Any], revision: str) -> Mapping[str, Any]:
    """What a host of a handshake revision can be asked: some questions came later than others."""
    if revision >= _URL_REVISION:
        return capabilities
    known = dict(capabilities)
    if isinstance(known.get("elicitation"), dict):
        known["elicitation"] = {}
    if isinstance(known.get("sampling"), dict):
        known["sampling"] = {}
    if revision < "2025-06-18":
        known.pop("elicitation", None)
    return known


def pages_of(data: bytes | None) -> list[bytes]:
    """Params of the questions an error of the revision 2025-11-25 carries: pages the user must visit first."""
    raw = object_members(data).get("elicitations", b"")
    pages = [raw[start:end] for start, end in items(raw)] if raw[:1] == b"[" else []
    return [page for page in pages if object_members(page).get("mode") == b'"url"']


# -- errors ----------------------------------------------------------------------------------------------------------


def handshake_code(method: str, code: int) -> int:
    """An error code of 2026-07-28 as the handshake revisions have it."""
    if code == INVALID_PARAMS and method == "resources/read":
        # Its only parameter is a string, so it can only be the resource that is meant.
        return NOT_FOUND_BEFORE
    known = {UNSUPPORTED_VERSION: INVALID_PARAMS, MISSING_CAPABILITY: INVALID_REQUEST, HEADER_MISMATCH: INTERNAL_ERROR}
    return known.get(code, code)


def modern_code(code: int) -> int:
    """An error code of the handshake revisions as 2026-07-28 has it. Three that mean something there are kept apart."""
    if code in (NOT_FOUND_BEFORE, URL_NEEDED_BEFORE):
        return INVALID_PARAMS
    return INTERNAL_ERROR if code in (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION) else code


def code_of(answer: Frame) -> int | None:
    """The code of an error answer."""
    raw = answer.part("code") if "error" in answer.top else None
    try:
        return int(raw) if raw is not None else None
    except ValueError:
        return None
