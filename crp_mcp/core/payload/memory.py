"""Skeleton of a result that is in memory, at the speed of msgspec. Knows nothing of what is done with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import DecodeError, Raw
from msgspec.json import Decoder

from .model import MAX_BLOCKS, BlockScan, NotExact, Scan, Span

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


def as_key(raw: bytes) -> str:
    """A member's name from its JSON string; what is no text in it stays as lone surrogates."""
    try:
        return _STRING.decode(raw)
    except DecodeError:
        pass
    try:
        value: Any = json.loads(raw.decode("utf-8", "surrogateescape"), strict=False)
    except ValueError:
        value = raw[1:-1].decode("utf-8", "surrogateescape")
    return str(value)


def scan_bytes(result: bytes) -> Scan[Raw]:
    """Skeleton of a result in memory: one pass over its members, one over its blocks. Never raises.

    What strict readers refuse (NaN, lone surrogates, deep nesting) is gone through again by its quotes and brackets.
    """
    members = as_object(result)
    if members is None:
        return _lenient(result)
    node = Raw(result)
    if len(members) > MAX_BLOCKS:
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


def _lenient(result: bytes) -> Scan[Raw]:
    from .scan import scan_result

    scan = scan_result(lambda start, end: result[start:end], 0, len(result))

    def cut(span: Span) -> Raw:
        return Raw(result[span.start : span.end])

    def cut_all(members: Mapping[str, Span] | None) -> dict[str, Raw] | None:
        return None if members is None else {key: cut(span) for key, span in members.items()}

    def cut_block(block: BlockScan[Span]) -> BlockScan[Raw]:
        members, resource, meta = cut_all(block.members), cut_all(block.resource), cut_all(block.meta)
        return BlockScan(cut(block.node), members, block.type, resource, meta)

    blocks = None if scan.blocks is None else tuple(map(cut_block, scan.blocks))
    return Scan(cut(scan.node), cut_all(scan.members), blocks, cut_all(scan.meta))
