"""A stored result as evidence: what is known of it at once, and its document when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from crp_mcp.core.shape import Shape

from .document import Document
from .load import read_document
from .model import Evidence, Source

LARGEST = 64 * 1024 * 1024
"""Payloads above this many bytes are not read: what is said of them is unverifiable."""


def make_evidence(
    scratch_id: str,
    read: Callable[[], bytes],
    *,
    shape: Shape | None = None,
    form: str = "text",
    is_error: bool = False,
    tool: str = "",
    server: str = "",
    args: Mapping[str, Any] | None = None,
    provenance_hash: str = "",
    names: Sequence[str] = (),
    size: int | None = None,
    source: Source = Source.TOOL,
    derived_from: Sequence[str] = (),
    largest: int = LARGEST,
) -> Evidence:
    """Evidence over the payload that `read()` gives, read and parsed at most once. `size`: its bytes, if known.

    `largest`: above so many bytes it is not read, and decides nothing.
    """
    too_large = size is not None and size > largest

    @cache
    def payload() -> bytes:
        return b"" if too_large else read()

    @cache
    def load() -> Document:
        if too_large:
            return Document(is_error=is_error, unread=f"the result is too large to be read whole ({size:,} bytes)")
        return read_document(payload(), form=form, is_error=is_error, shape=shape)

    def mentions(words: Sequence[str]) -> bool:
        data = payload()
        return any(w.encode("utf-8", "surrogatepass") in data for w in words)

    tell = None if too_large else mentions
    return Evidence(
        scratch_id, load, tool, server, args or {}, provenance_hash, tuple(names), columns_of(shape), tell, source,
        tuple(derived_from),
    )  # fmt: skip


def said_evidence(name: str, text: str, *, source: Source = Source.TURN, hash_of: str = "") -> Evidence:
    """Words as evidence: those of a turn, or of a fact whose result is not at hand."""

    @cache
    def load() -> Document:
        return read_document(text.encode("utf-8", "surrogatepass"))

    def mentions(words: Sequence[str]) -> bool:
        return any(w in text for w in words)

    return Evidence(name, load, provenance_hash=hash_of, mentions=mentions, source=source, words=text)


def columns_of(shape: Shape | None) -> tuple[str, ...]:
    """Column names and keys that a shape already knows."""
    if shape is None:
        return ()
    found = [c.name for c in shape.columns or ()]
    found += [k for k, _ in shape.scalars] + [k for k, _ in shape.members]
    found += [name for _, block in shape.blocks for name in columns_of(block)]
    return tuple(dict.fromkeys(found))
