"""The way back: a result whose flood has become summaries. Everything that stays is copied byte for byte."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Raw
from msgspec.json import encode

from .memory import scan_bytes
from .model import RESERVED, BlockScan, N, Scan

Summaries = Mapping[int, str | None]
"""Block number -> the text that takes its place; None: the block goes, another one's summary speaks for it."""

Piece: TypeAlias = "bytes | N | dict[str, Any] | list[Any]"
"""JSON in the making: literal bytes, a node to copy, or an object or array of pieces."""

_KEEP = "\0keep"
"""Marks, by identity, a block that no summary replaces."""


def replace_with_summary(
    result: bytes,
    summaries: Summaries,
    meta: Mapping[str, Any],
    *,
    modern: bool,
    structured_summary: str | None = None,
    keep_structured: bool = False,
) -> bytes:
    """The result JSON to send instead of `result`. Never raises, whatever the bytes.

    * Each block named in `summaries` keeps its other members (annotations, a resource's URI), its text swapped.
    * `structuredContent` goes, unless `keep_structured` (it is small, and not what was summarised). Where it alone
      was the flood, `structured_summary` is added as one text block at the end.
    * Other blocks, members, `isError` and `resultType` stay byte for byte; `resultType` is added if `modern` lacks it.
    * Reserved keys in `_meta` (the result's and its blocks') go, `meta` is added.
    * A result that cannot be told apart becomes one that holds the summaries alone.
    """
    scan = scan_bytes(result)
    extra = [structured_summary] if structured_summary is not None else []
    return b"".join(rewrite(scan, summaries, meta, _whole, modern=modern, extra=extra, keep_structured=keep_structured))


def strip_reserved(result: bytes) -> bytes:
    """The result without reserved `_meta` keys of the upstream's; the very same object where there are none."""
    if b"dev.crp" not in result and b"\\u" not in result:
        return result
    scan = scan_bytes(result)
    if scan.members is None or not has_reserved(scan):
        return result
    return b"".join(rewrite(scan, {}, {}, _whole, modern=False, keep_structured=True))


def _whole(node: Raw) -> tuple[bytes]:
    return (bytes(node),)


def has_reserved(scan: Scan[N]) -> bool:
    """Whether an upstream sent keys that are ours alone, in the result's `_meta` or a block's."""
    return _reserved_in(scan.meta) or any(_reserved_in(block.meta) for block in scan.blocks or ())


def _reserved_in(meta: Mapping[str, N] | None) -> bool:
    return meta is not None and any(key.startswith(RESERVED) for key in meta)


def rewrite(
    scan: Scan[N],
    summaries: Summaries,
    meta: Mapping[str, Any],
    read: Callable[[N], Iterable[bytes]],
    *,
    modern: bool,
    extra: Sequence[str] = (),
    keep_structured: bool = False,
) -> Iterator[bytes]:
    """The pieces of the rewritten result, in order (see `replace_with_summary`). `read` gives a node's bytes."""
    members: dict[str, Piece[N]] = dict(scan.members or {})
    if scan.blocks is not None:
        kept: list[Piece[N] | None] = [_block(block, summaries.get(i, _KEEP)) for i, block in enumerate(scan.blocks)]
        late = [text for i, text in summaries.items() if text is not None and not 0 <= i < len(kept)]
        members["content"] = [piece for piece in kept if piece is not None] + [_text(text) for text in (*late, *extra)]
    elif summaries or extra:
        members["content"] = [_text(text) for text in (*summaries.values(), *extra) if text is not None]
    if not keep_structured:
        members.pop("structuredContent", None)
    if modern and "resultType" not in members:
        members["resultType"] = b'"complete"'
    if meta or _reserved_in(scan.meta):
        members["_meta"] = {**_unreserved(scan.meta or {}), **{key: encode(value) for key, value in meta.items()}}
    return _emit(members, read)


def _block(block: BlockScan[N], summary: str | None) -> Any:
    """One block as it goes on: its own bytes, its text swapped, or None where another summary speaks for it."""
    if summary is None:
        return None
    if summary is _KEEP and not _reserved_in(block.meta):
        return block.node
    if block.members is None or (summary is not _KEEP and block.text is None):
        return _text(summary)
    members: dict[str, Piece[N]] = dict(block.members)
    if block.meta is not None:
        members["_meta"] = _unreserved(block.meta)
    if summary is not _KEEP:
        _swap_text(members, block.resource if block.type == "resource" else None, summary)
    return members


def _swap_text(members: dict[str, Piece[N]], resource: Mapping[str, N] | None, summary: str) -> None:
    if resource is None:
        members["text"] = encode(summary)
        return
    inner: dict[str, Piece[N]] = {**resource, "text": encode(summary)}
    if "mimeType" in inner:
        inner["mimeType"] = b'"text/plain"'
    members["resource"] = inner


def _text(text: str) -> dict[str, Any]:
    return {"type": b'"text"', "text": encode(text)}


def _unreserved(meta: Mapping[str, N]) -> dict[str, Any]:
    return {key: node for key, node in meta.items() if not key.startswith(RESERVED)}


def _key(key: str) -> bytes:
    try:
        return encode(key)
    except UnicodeEncodeError:
        return json.dumps(key).encode()


def _emit(piece: Piece[N], read: Callable[[N], Iterable[bytes]]) -> Iterator[bytes]:
    if isinstance(piece, bytes):
        yield piece
    elif isinstance(piece, dict):
        yield b"{"
        for number, (key, value) in enumerate(piece.items()):
            yield (b"," if number else b"") + _key(key) + b":"
            yield from _emit(value, read)
        yield b"}"
    elif isinstance(piece, list):
        yield b"["
        for number, value in enumerate(piece):
            yield b"," if number else b""
            yield from _emit(value, read)
        yield b"]"
    else:
        yield from read(piece)
