"""Arguments that a tool's schema wants repeated in HTTP headers (2026-07-28), and how headers carry text. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

MARK = "x-mcp-header"
PARAM = "mcp-param-"
_TYPES = ("string", "integer", "boolean")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PLAIN = re.compile(r"[\x20-\x7e]*")
_PACKED = re.compile(r"=\?base64\?(.*)\?=")
_ONE = frozenset(("items", "contains", "additionalProperties", "propertyNames", "unevaluatedItems", "contentSchema"))
_ONE |= frozenset(("unevaluatedProperties", "not", "if", "then", "else"))
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("patternProperties", "dependentSchemas", "$defs", "definitions")

Path = tuple[str, ...]


class Mark(NamedTuple):
    """A property that its schema wants repeated in the header `Mcp-Param-<header>`."""

    path: Path
    header: str
    kind: str

    def value(self, arguments: Any) -> Any:
        """What stands at its place in a call's arguments; None where nothing does."""
        for step in self.path:
            arguments = arguments.get(step) if isinstance(arguments, dict) else None
        return arguments


def marks_of(schema: Any) -> tuple[Mark, ...]:
    """The marked properties of an input schema.

    Raises:
        ValueError: they are marked in a way that is not allowed; clients must not offer such a tool over HTTP.
    """
    marks: dict[str, Mark] = {}
    for path, part in _parts(schema):
        if MARK not in part:
            continue
        name, kind = part[MARK], part.get("type")
        if not path:
            raise ValueError(f"{MARK} stands where no plain property is")
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"{MARK} of {'.'.join(path)} is no header name")
        if kind not in _TYPES:
            raise ValueError(f"{'.'.join(path)} has {MARK}, but is no string, integer or boolean")
        if name.lower() in marks:
            raise ValueError(f"{MARK} of {'.'.join(path)} is used twice")
        marks[name.lower()] = Mark(path, name, kind)
    return tuple(marks.values())


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
        left += [(None, part[key]) for key in _ONE & part.keys()]
        left += [(None, inner) for key in _LISTS if isinstance(part.get(key), list) for inner in part[key]]
        left += [(None, inner) for key in _NAMED if isinstance(part.get(key), dict) for inner in part[key].values()]


def as_text(value: Any) -> str | None:
    """An argument as its header writes it, before packing; None where it has no header."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def packed(text: str) -> str:
    """The text, or its coded form where it would not come through a header as it is."""
    if _PLAIN.fullmatch(text) and text == text.strip() and not _PACKED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'surrogatepass')).decode()}?="


def unpacked(value: str) -> str | None:
    """The text of a header's value, which may be packed; None where that cannot be read."""
    found = _PACKED.fullmatch(value)
    if found is None:
        return value
    try:
        raw = base64.b64decode(found[1], validate=True)
        return raw.decode() if base64.b64encode(raw).decode() == found[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None
