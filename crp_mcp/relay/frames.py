"""Frames between the proxy and its worker: a JSON header and a blob, each with its length in front.

Knows nothing of what the headers mean. Linear in the size of a frame.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

_LENGTHS = struct.Struct(">II")
MAX_HEADER = 64 * 1024 * 1024
MAX_BLOB = 1 << 30
PREFIX = _LENGTHS.size
_SURROGATE = re.compile("[\ud800-\udfff]")


class BadFrame(Exception):
    """The other side sent something that is no frame: it is broken, and must be replaced."""


def encode_frame(header: Mapping[str, Any], blob: bytes = b"") -> tuple[bytes, bytes]:
    """One frame as two buffers, so that a large blob is not copied. Lone surrogates become U+FFFD."""
    try:
        head = orjson.dumps(header)
    except TypeError:
        # What hosts may send and the fast writer refuses: lone surrogates, whole numbers beyond 64 bits.
        head = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", json.dumps(header, ensure_ascii=False)).encode()
    return _LENGTHS.pack(len(head), len(blob)) + head, blob


def frame_lengths(prefix: bytes | bytearray) -> tuple[int, int]:
    """Lengths of header and blob, from the first `PREFIX` bytes of a frame."""
    header, blob = _LENGTHS.unpack(prefix)
    if header > MAX_HEADER or blob > MAX_BLOB:
        raise BadFrame(f"frame of {header} + {blob} bytes")
    return header, blob


class FrameBuffer:
    """Frames out of bytes as they arrive, in pieces of any size."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, piece: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
        """The frames that are whole by now. Raises BadFrame; what is no JSON raises orjson's error."""
        data = self._data
        data += piece
        at = 0
        while len(data) >= at + PREFIX:
            header_size, blob_size = frame_lengths(data[at : at + PREFIX])
            header = at + PREFIX
            blob = header + header_size
            if len(data) < blob + blob_size:
                break
            at = blob + blob_size
            yield orjson.loads(data[header:blob]), bytes(data[blob:at])
        del data[:at]


def read_frame(read: Callable[[int], bytes | None]) -> tuple[dict[str, Any], bytes] | None:
    """One frame from a blocking stream; None at its end. `read(n)` gives n bytes unless the stream ended."""
    prefix = read(PREFIX)
    if not prefix:
        return None
    if len(prefix) < PREFIX:
        raise BadFrame("stream ended inside a frame")
    header_size, blob_size = frame_lengths(prefix)
    header, blob = read(header_size), read(blob_size) if blob_size else b""
    if header is None or blob is None or len(header) < header_size or len(blob) < blob_size:
        raise BadFrame("stream ended inside a frame")
    return orjson.loads(header), blob
