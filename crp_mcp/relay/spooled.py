"""Captures a result that stands in a file: a window at a time, so that memory stays flat whatever its size."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from crp_mcp.core.payload import NotExact, SpooledPayload, open_payload, replace_spooled, strip_spooled
from crp_mcp.core.plan import Text
from crp_mcp.core.shape import ShapeBuilder
from crp_mcp.store import Store

from .results import Reading, read_result

Read = Callable[[int, int], bytes]
"""Bytes from one offset up to another."""


def read_spooled(store: Store, read: Read, start: int, end: int) -> Reading:
    """What `read_result` learns, of a result between two offsets. Never raises for what it finds there.

    One text and nothing else is written to the store while it is read, once. Any other result is read into memory:
    its blocks have to be told apart, and its payload is all of it.
    """
    payload = open_payload(read, start, end)
    if payload.form != "text":
        return read_result(read(start, end))
    builder = ShapeBuilder(is_error=payload.is_error)
    try:
        with store.open_payload() as writer:
            for piece in payload.pieces(read):
                writer.write(piece)
                builder.feed(piece)
            written = writer.close()
    except NotExact:
        return read_result(read(start, end))
    shape = builder.finish()
    text = Text(0, written.size, lambda: payload.pieces(read), shape)
    return Reading(
        "text",
        shape,
        (text,),
        lambda writer: None,
        _rewriter(payload, read),
        lambda: strip_spooled(read, payload.scan),
        written,
    )


def _rewriter(payload: SpooledPayload, read: Read) -> Callable[..., Iterable[bytes]]:
    def rewrite(*args: Any, **options: Any) -> Iterable[bytes]:
        return replace_spooled(read, payload.scan, *args, **options)

    return rewrite
