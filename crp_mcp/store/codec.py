"""One chunk of a payload to what is stored and back: zstd level 1 where that pays. Loads zstandard only when needed."""

from __future__ import annotations

import threading
from typing import Any

from crp_mcp.errors import StoreError

CHUNK_BYTES = 256 * 1024
RAW, ZSTD = 0, 1
_WORTH_IT = 2048
"""Smaller chunks are kept as they are: a database page is 4 KiB, and zstandard need not be loaded for them."""
_WORTH_KEEPING = 0.9
"""Packed bytes over raw bytes above which the raw bytes are kept: unpacking would cost more than it saves."""
_local = threading.local()  # compressors serve one thread at a time and cost more to make than a small chunk to pack

Chunk = tuple[int, bytes]
"""Codec and stored bytes."""


def pack(raw: bytes | bytearray | memoryview) -> Chunk:
    """Return codec and stored bytes of one chunk."""
    if len(raw) > _WORTH_IT:
        packed: bytes = _tools()[0].compress(raw)
        if len(packed) < len(raw) * _WORTH_KEEPING:
            return ZSTD, packed
    return RAW, bytes(raw)


def unpack(codec: int, data: bytes, size: int, what: str) -> bytes:
    """Return the raw bytes of a chunk, which must be `size` of them.

    Raises:
        StoreError: the stored bytes are damaged; `what` names them.
    """
    if codec == RAW:
        raw = data
    else:
        import zstandard

        try:
            raw = _tools()[1].decompress(data, max_output_size=CHUNK_BYTES)
        except zstandard.ZstdError as error:
            raise StoreError(f"{what} is damaged: it cannot be unpacked") from error
    if len(raw) != size:
        raise StoreError(f"{what} is damaged: {len(raw)} bytes instead of {size}")
    return raw


def _tools() -> tuple[Any, Any]:
    tools: tuple[Any, Any] | None = getattr(_local, "tools", None)
    if tools is None:
        import zstandard

        tools = zstandard.ZstdCompressor(level=1, write_checksum=True), zstandard.ZstdDecompressor()
        _local.tools = tools
    return tools
