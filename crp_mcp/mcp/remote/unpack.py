"""Undoing a body's content coding in small steps, so that no few bytes on the wire become many in memory."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

STEP = 256 * 1024
"""Most bytes handed on at once."""
MUCH = 64 * 1024 * 1024
RATIO = 200
"""A body that unpacks to more than `MUCH`, and to more than so many times its size, is no honest text."""
ACCEPTED = "gzip"


class Unpackable(Exception):
    """A body whose coding is unknown, broken or a trap; the text completes "The MCP server X …"."""


async def unpacked(chunks: AsyncIterator[bytes], coding: str) -> AsyncIterator[bytes]:
    """The body as it was before it was coded.

    Raises:
        Unpackable: see there.
    """
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        async for chunk in chunks:
            yield chunk
        return
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise Unpackable("packed its answer in a way that was not asked for (it may use gzip or nothing)")
    inflate, came, given = zlib.decompressobj(47), 0, 0
    async for chunk in chunks:
        came += len(chunk)
        piece = b""
        while chunk or len(piece) == STEP:
            try:
                piece = inflate.decompress(chunk, STEP)
            except zlib.error as error:
                raise Unpackable(f"sent an answer that cannot be unpacked ({error})") from None
            chunk = inflate.unconsumed_tail
            if inflate.eof:
                # A further member may follow; what is no member is padding.
                chunk, inflate = inflate.unused_data.lstrip(b"\0"), zlib.decompressobj(47)
            given += len(piece)
            if given > MUCH and given > came * RATIO:
                raise Unpackable(f"sent an answer that unpacks to more than {RATIO} times its size")
            if piece:
                yield piece
