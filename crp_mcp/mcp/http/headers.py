"""What protocol 2026-07-28 asks of a POST: headers that repeat the body, and the envelope. Pure.

Intermediaries act on the headers without reading the body, so a request that says one thing there and another in its
body is refused before anything is done.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from crp_mcp.core.wire.answers import INVALID_PARAMS, METHOD_NOT_FOUND, Failure
from crp_mcp.core.wire.eras import MODERN_VERSIONS, unsupported
from crp_mcp.core.wire.frame import Frame, text_of
from crp_mcp.core.wire.marks import PARAM, Mark, as_text, marks_of, unpacked
from crp_mcp.core.wire.scan import members

HEADER_MISMATCH = -32020
VERSION = "mcp-protocol-version"
METHOD = "mcp-method"
NAME = "mcp-name"
ENVELOPE = "io.modelcontextprotocol/"
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
STATUSES = {-32700: 400, -32600: 400, -32602: 400, -32020: 400, -32021: 400, -32022: 400, -32601: 404}
"""HTTP status of an answer that is an error; 200 for all others."""

_DECIMAL = re.compile(r"-?[0-9]+(\.0+)?")


def envelope_fault(frame: Frame, headers: Sequence[tuple[str, str]]) -> Failure | None:
    """What is wrong with a request's envelope, or with the headers that repeat it; None if nothing is."""
    meta = frame.part("_meta")
    found = members(meta) if meta is not None and meta[:1] == b"{" else {}
    said = dict(headers).get(VERSION, MODERN_VERSIONS[0])
    if said not in MODERN_VERSIONS and ENVELOPE + "protocolVersion" not in found:
        # What the envelope of another version is like, nobody here knows.
        return unsupported(said)
    if meta is None or meta[:1] != b"{":
        return Failure(INVALID_PARAMS, f"params._meta must hold {ENVELOPE}protocolVersion and …/clientCapabilities")
    missing = [ENVELOPE + key for key in ("protocolVersion", "clientCapabilities") if ENVELOPE + key not in found]
    if missing:
        return Failure(INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}")
    version = text_of(_value(meta, found, ENVELOPE + "protocolVersion"))
    for name, wanted in ((VERSION, version), (METHOD, frame.method)):
        fault = _repeats(headers, name, wanted, packed=False)
        if fault:
            return fault
    if version not in MODERN_VERSIONS:
        return unsupported(version or "")
    if frame.method == "initialize":
        # Behind us it would begin a handshake. The other methods that are gone are the server's to refuse.
        return Failure(METHOD_NOT_FOUND, f"protocol {version} has no initialize")
    key = NAMED_BY.get(frame.method or "")
    named = text_of(frame.part(key)) if key else None
    return _repeats(headers, NAME, named, packed=True) if named is not None else None


def _value(raw: bytes, found: Mapping[str, tuple[int, int]], name: str) -> bytes:
    start, end = found[name]
    return raw[start:end]


def _repeats(headers: Sequence[tuple[str, str]], name: str, wanted: str | None, *, packed: bool) -> Failure | None:
    given = [value for key, value in headers if key == name]
    if len(given) > 1:
        return Failure(HEADER_MISMATCH, f"The header {name} stands there more than once.")
    if not given:
        return Failure(HEADER_MISMATCH, f"The header {name} is missing; it must repeat what the body says.")
    value = unpacked(given[0]) if packed else given[0]
    return (
        None if value == wanted else Failure(HEADER_MISMATCH, f"The header {name} says something else than the body.")
    )


def param_fault(schema: Any, arguments: bytes | None, headers: Sequence[tuple[str, str]]) -> Failure | None:
    """What is wrong with a call's `Mcp-Param-*` headers; None if nothing is."""
    try:
        marks = marks_of(schema)
        given = json.loads(arguments) if arguments and marks else {}
    except (ValueError, RecursionError):
        # No client may offer a tool that is marked in a wrong way; one that does need not repeat anything.
        return None
    for mark in marks:
        fault = _param_fault(mark, given, [value for key, value in headers if key == PARAM + mark.header.lower()])
        if fault:
            return Failure(HEADER_MISMATCH, f"The header Mcp-Param-{mark.header} {fault}")
    return None


def _param_fault(mark: Mark, arguments: Any, values: Sequence[str]) -> str | None:
    value = mark.value(arguments)
    text = as_text(value)
    if len(values) > 1:
        return "stands there more than once."
    if text is None:
        return "has no argument to repeat." if values else None
    if not values:
        return "is missing; it must repeat its argument."
    said = unpacked(values[0])
    same = said is not None and (said == text or (mark.kind == "integer" and _same_number(said, value)))
    return None if same else "says something else than its argument."


def _same_number(said: str, value: Any) -> bool:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole and len(said) < 100 and _DECIMAL.fullmatch(said) is not None and int(said.split(".")[0]) == value
