"""Skeleton of a result that is in memory, at the speed of msgspec. Knows nothing of what is done with it."""

from __future__ import annotations

import json
from typing import Any

from msgspec import DecodeError, Raw
from msgspec.json import Decoder

from .model import MAX_BLOCKS, BlockScan, NotExact, Scan

_OBJECT = Decoder(dict[str, Raw])
_LIST = Decoder(list[Raw])
_STRING = Decoder(str)
_RAW = Decoder(Raw)


def as_object(raw: Raw | bytes) -> dict[str, Raw] | None:
    """Members of a JSON object, in order, the last of duplicates; None when it is no object or not JSON."""
    try:
        return _OBJECT.decode(raw)
    except (DecodeError, RecursionError):
        return None


def as_list(raw: Raw | bytes) -> list[Raw] | None:
    """Items of a JSON array; None when it is no array or not JSON."""
    try:
        return _LIST.decode(raw)
    except (DecodeError, RecursionError):
        return None


def is_json(raw: bytes) -> bool:
    """Whether the bytes are one JSON value by RFC 8259 (no NaN, no trailing text, depth within the C stack)."""
    try:
        _RAW.decode(raw)
    except (DecodeError, RecursionError):
        return False
    return True


def exact_text(raw: Raw | bytes) -> bytes:
    """Exact UTF-8 of a JSON string. Raises NotExact where there is none."""
    try:
        return _STRING.decode(raw).encode()
    except DecodeError as error:
        raise NotExact(str(error)) from error


def lenient_text(raw: bytes) -> bytes | None:
    """UTF-8 of a JSON string with what cannot be said in UTF-8 replaced; None when it is no string at all."""
    try:
        value: Any = json.loads(raw.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
    return value.encode("utf-8", "replace") if isinstance(value, str) else None


def short_string(raw: Raw | bytes | None) -> str | None:
    """A JSON string's value; None for anything else."""
    if raw is None:
        return None
    try:
        return _STRING.decode(raw)
    except DecodeError:
        return None


def scan_bytes(result: bytes) -> Scan[Raw]:
    """Skeleton of a result in memory: one pass over its members, one over its blocks. Never raises."""
    node = Raw(result)
    members = as_object(result)
    if members is None:
        return Scan(node, None, None)
    items = as_list(members["content"]) if "content" in members else None
    few = items is not None and len(items) <= MAX_BLOCKS
    blocks = tuple(map(_block, items)) if items is not None and few else None
    return Scan(node, members, blocks, _inner(members, "_meta"))


def _block(item: Raw) -> BlockScan[Raw]:
    members = as_object(item)
    if members is None:
        return BlockScan(item, None)
    kind = short_string(members.get("type"))
    return BlockScan(item, members, kind, _inner(members, "resource"), _inner(members, "_meta"))


def _inner(members: dict[str, Raw], key: str) -> dict[str, Raw] | None:
    return as_object(members[key]) if key in members else None
