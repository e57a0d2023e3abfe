"""What protocol 2026-07-28 asks of a POST: headers that repeat the body, and the envelope. Pure.

Intermediaries act on the headers without reading the body, so a request that says one thing there and another in its
body is refused before anything is done.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from crp_mcp.core.wire.answers import INVALID_PARAMS, METHOD_NOT_FOUND, Failure
from crp_mcp.core.wire.eras import MODERN_VERSIONS, unsupported
from crp_mcp.core.wire.frame import Frame, text_of
from crp_mcp.core.wire.scan import members

HEADER_MISMATCH = -32020
VERSION = "mcp-protocol-version"
METHOD = "mcp-method"
NAME = "mcp-name"
PARAM = "mcp-param-"
ENVELOPE = "io.modelcontextprotocol/"
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
STATUSES = {-32700: 400, -32600: 400, -32602: 400, -32020: 400, -32021: 400, -32022: 400, -32601: 404}
"""HTTP status of an answer that is an error; 200 for all others."""

_PACKED = re.compile(r"=\?base64\?(.*)\?=")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_DECIMAL = re.compile(r"-?[0-9]+(\.0+)?")
_SINGLE = frozenset(
    [
        "items",
        "contains",
        "unevaluatedItems",
        "additionalProperties",
        "propertyNames",
        "unevaluatedProperties",
        "not",
        "if",
        "then",
        "else",
        "contentSchema",
    ]
)
_LISTS = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_MAPS = frozenset(("patternProperties", "dependentSchemas", "$defs", "definitions"))


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


def unpacked(value: str) -> str | None:
    """The text of a header's value, which may be packed as `=?base64?…?=`; None where that cannot be read."""
    found = _PACKED.fullmatch(value)
    if found is None:
        return value
    try:
        raw = base64.b64decode(found[1], validate=True)
        return raw.decode() if base64.b64encode(raw).decode() == found[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None


# -- arguments as headers ------------------------------------------------------------------------------------------


class Declared(NamedTuple):
    """A property that its schema wants repeated in a header."""

    path: tuple[str, ...]
    header: str
    kind: str


def declared(schema: Any) -> tuple[Declared, ...]:
    """The properties a tool's input schema declares for headers; () if any declaration is not valid."""
    found: dict[str, Declared] = {}
    for path, node in _positions(schema):
        if "x-mcp-header" not in node:
            continue
        header, kind = node["x-mcp-header"], node.get("type")
        if not path or not isinstance(header, str) or not _TOKEN.fullmatch(header) or header.lower() in found:
            return ()
        if kind not in ("string", "integer", "boolean"):
            return ()
        found[header.lower()] = Declared(path, header, kind)
    return tuple(found.values())


def _positions(schema: Any) -> Iterator[tuple[tuple[str, ...] | None, Mapping[str, Any]]]:
    """Every schema within a schema; its path of property names, None where something else leads to it."""
    left: list[tuple[tuple[str, ...] | None, Any]] = [((), schema)]
    while left:
        path, node = left.pop()
        if not isinstance(node, dict):
            continue
        yield path, node
        for key, value in node.items():
            if key == "properties" and isinstance(value, dict):
                left += [((*path, name) if path is not None else None, sub) for name, sub in value.items()]
            elif key in _SINGLE:
                left.append((None, value))
            elif key in _LISTS and isinstance(value, list):
                left += [(None, sub) for sub in value]
            elif key in _MAPS and isinstance(value, dict):
                left += [(None, sub) for sub in value.values()]


def param_fault(schema: Any, arguments: bytes | None, headers: Sequence[tuple[str, str]]) -> Failure | None:
    """What is wrong with a call's `Mcp-Param-*` headers; None if nothing is."""
    wanted = declared(schema)
    if not wanted:
        return None
    try:
        given = json.loads(arguments) if arguments else {}
    except (ValueError, RecursionError):
        return None
    for one in wanted:
        fault = _param_fault(one, given, [value for key, value in headers if key == PARAM + one.header.lower()])
        if fault:
            return Failure(HEADER_MISMATCH, f"The header Mcp-Param-{one.header} {fault}")
    return None


def _param_fault(one: Declared, arguments: Any, values: Sequence[str]) -> str | None:
    node = arguments
    for key in one.path:
        node = node.get(key) if isinstance(node, dict) else None
    text = _as_header(node)
    if len(values) > 1:
        return "stands there more than once."
    if text is None:
        return "has no argument to repeat." if values else None
    if not values:
        return "is missing; it must repeat its argument."
    said = unpacked(values[0])
    same = said is not None and (said == text or (one.kind == "integer" and _same_number(said, node)))
    return None if same else "says something else than its argument."


def _as_header(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _same_number(said: str, value: Any) -> bool:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole and len(said) < 100 and _DECIMAL.fullmatch(said) is not None and int(said.split(".")[0]) == value
