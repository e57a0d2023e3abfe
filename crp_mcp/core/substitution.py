"""Stored values in the arguments of a call: where they are asked for, and the arguments with the values in place. Pure.

An argument's value `{"$scratch": "<scratch_id or name>", "path": "<JSONPath>"}`, with these members and no others, asks
for one. Everything around it stays the bytes it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .wire.scan import NotJson, Span, items, members

MARK = "$scratch"
MARK_BYTES = b"$scratch"
_DEEPEST = 32
_MOST = 16

REFERENCE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {MARK: {"type": "string"}, "path": {"type": "string"}},
    "required": [MARK],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Slot:
    """One place of the arguments that asks for a stored value."""

    span: Span
    reference: str
    path: str | None
    keys: tuple[str | int, ...]
    """Where it stands: member names and positions from the top."""


def find_slots(arguments: bytes) -> list[Slot]:
    """Every place that asks for a stored value, in order. [] for arguments that are no JSON object.

    Raises ValueError where there are more than is reasonable.
    """
    if MARK_BYTES not in arguments:
        return []
    try:
        found = list(_find(arguments, (0, len(arguments)), ()))
    except NotJson:
        return []
    if len(found) > _MOST:
        raise ValueError(f"the arguments ask for {len(found)} stored values; at most {_MOST} are allowed")
    return found


def _find(data: bytes, span: Span, keys: tuple[str | int, ...]) -> Iterator[Slot]:
    piece = data[span[0] : span[1]]
    if MARK_BYTES not in piece or len(keys) > _DEEPEST:
        return
    first = piece.lstrip()[:1]
    lead = span[0] + len(piece) - len(piece.lstrip())
    if first == b"{":
        inside = members(piece.strip())
        slot = _slot(piece.strip(), inside, span, keys)
        if slot is not None:
            yield slot
            return
        for name, (start, end) in inside.items():
            yield from _find(data, (lead + start, lead + end), (*keys, name))
    elif first == b"[":
        for at, (start, end) in enumerate(items(piece.strip())):
            yield from _find(data, (lead + start, lead + end), (*keys, at))


def _slot(piece: bytes, inside: Mapping[str, Span], span: Span, keys: tuple[str | int, ...]) -> Slot | None:
    if not keys or MARK not in inside or not inside.keys() <= {MARK, "path"}:
        return None
    value = json.loads(piece)
    reference, path = value[MARK], value.get("path")
    if not isinstance(reference, str) or not isinstance(path, str | None):
        return None
    return Slot(span, reference, path, keys)


def fill(arguments: bytes, values: Sequence[tuple[Slot, str]]) -> bytes:
    """The arguments with each slot's JSON text in its place."""
    filled = arguments
    for slot, text in sorted(values, key=lambda pair: -pair[0].span[0]):
        start, end = slot.span
        filled = filled[:start] + text.encode("utf-8", "surrogatepass") + filled[end:]
    return filled


def admit(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's input schema in which every top-level argument may also be a reference to a stored value."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return dict(schema)
    opened = {name: _either(part) for name, part in properties.items()}
    return {**schema, "properties": opened}


def _either(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    notes = {name: part[name] for name in ("title", "description") if name in part}
    bare = {name: value for name, value in part.items() if name not in notes}
    return {**notes, "anyOf": [bare, dict(REFERENCE_SCHEMA)]}


def wants_text(schema: Any, keys: Sequence[str | int]) -> bool | None:
    """Whether the place in a schema takes a string; None where the schema does not say."""
    part = schema
    for key in keys:
        if not isinstance(part, Mapping):
            return None
        inner = part.get("items") if isinstance(key, int) else (part.get("properties") or {}).get(key)
        part = inner
    kinds = part.get("type") if isinstance(part, Mapping) else None
    if kinds is None:
        return None
    return "string" in ([kinds] if isinstance(kinds, str) else kinds)
