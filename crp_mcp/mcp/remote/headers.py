"""The headers that repeat parts of a message for those who route it: method, name, version, marked arguments. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .outgoing import Outgoing

MARK = "x-mcp-header"
SESSION = "mcp-session-id"
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PLAIN = re.compile(r"[\x20-\x7e]*")
_CODED = re.compile(r"=\?base64\?.*\?=")
_TYPES = ("string", "integer", "boolean")
_ONE: tuple[str, ...] = (
    "items",
    "contains",
    "unevaluatedItems",
    "additionalProperties",
    "propertyNames",
    "unevaluatedProperties",
)
_ONE += ("not", "if", "then", "else", "contentSchema")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("patternProperties", "dependentSchemas", "$defs", "definitions")

Path = tuple[str, ...]
Marks = Mapping[Path, str]
"""Where in its arguments a tool has values that go into headers, and their names there."""


def message_headers(message: Outgoing, marks: Marks) -> dict[str, str]:
    """Headers of a request made in protocol 2026-07-28; none for other messages."""
    if not message.modern or message.id is None:
        return {}
    headers = {"mcp-method": header_value(message.method or "")}
    if message.version is not None:
        headers["mcp-protocol-version"] = header_value(message.version)
    if message.name is not None:
        headers["mcp-name"] = header_value(message.name)
    if marks:
        headers |= argument_headers(marks, message.member("arguments"))
    return headers


def header_value(text: str) -> str:
    """The text, or its coded form where it would not come through a header as it is."""
    if _PLAIN.fullmatch(text) and text == text.strip() and not _CODED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'surrogatepass')).decode()}?="


def argument_headers(marks: Marks, arguments: Any) -> dict[str, str]:
    """`Mcp-Param-*` for the marked arguments that are given."""
    headers = {}
    for path, name in marks.items():
        value = arguments
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, bool):
            headers[f"mcp-param-{name}"] = "true" if value else "false"
        elif isinstance(value, int | float | str):
            headers[f"mcp-param-{name}"] = header_value(str(value))
    return headers


def marks_of(schema: Any) -> Marks:
    """The marked arguments of an input schema.

    Raises:
        ValueError: they are marked in a way that is not allowed; clients must not offer such a tool over HTTP.
    """
    marks: dict[Path, str] = {}
    for path, part in _parts(schema):
        if MARK not in part:
            continue
        name = part[MARK]
        if not path:
            raise ValueError(f"{MARK} stands where no plain property is")
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"{MARK} of {'.'.join(path)} is no header name")
        if part.get("type") not in _TYPES:
            raise ValueError(f"{'.'.join(path)} has {MARK}, but is no string, integer or boolean")
        if name.lower() in {other.lower() for other in marks.values()}:
            raise ValueError(f"{MARK} of {'.'.join(path)} is used twice")
        marks[path] = name
    return marks


def _parts(schema: Any) -> Iterator[tuple[Path | None, dict[str, Any]]]:
    """All schemas inside a schema; with each the way to it over plain properties, None where there is none."""
    left: list[tuple[Path | None, Any]] = [((), schema)]
    while left:
        path, part = left.pop()
        if not isinstance(part, dict):
            continue
        yield path, part
        properties = part.get("properties")
        if isinstance(properties, dict):
            left += [(None if path is None else (*path, name), inner) for name, inner in properties.items()]
        left += [(None, part[key]) for key in _ONE if key in part]
        left += [(None, inner) for key in _LISTS if isinstance(part.get(key), list) for inner in part[key]]
        left += [(None, inner) for key in _NAMED if isinstance(part.get(key), dict) for inner in part[key].values()]
