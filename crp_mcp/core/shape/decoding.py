"""Bytes -> text: byte order marks, UTF-16, Latin-1, and what is no text at all. Knows nothing of formats."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\x7fELF", "application/x-elf"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"PAR1", "application/vnd.apache.parquet"),
    (b"\x00asm", "application/wasm"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1b\b\x1c\x1d\x1e\x1f") + b"\x7f"
_SAMPLE = 65_536


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the bytes are to be read: codec, length of the mark in front, what to call it; or a binary's MIME type."""

    codec: str
    skip: int = 0
    mark: str | None = None
    """`utf-8-bom`, `utf-16-le`, `latin-1`, …; None for plain UTF-8."""
    binary: str | None = None

    @property
    def is_utf8(self) -> bool:
        """Plain UTF-8, with or without a byte order mark."""
        return self.codec == "utf-8" and self.mark in (None, "utf-8-bom")


def find_encoding(head: bytes, *, whole: bool = True) -> Encoding:
    """Decide by the beginning of the payload (`whole`: it is all of it)."""
    for bom, codec in _BOMS:
        if head.startswith(bom):
            return Encoding(codec, len(bom), "utf-8-bom" if codec == "utf-8" else codec)
    for magic, mime in _MAGIC:
        if head.startswith(magic):
            return Encoding("latin-1", binary=mime)
    wide = _wide_without_mark(head[:_SAMPLE])
    if wide:
        return Encoding(wide, 0, wide)
    if _mostly_controls(head[:_SAMPLE]):
        return Encoding("latin-1", binary="application/octet-stream")
    return _narrow(head, whole)


def _narrow(head: bytes, whole: bool) -> Encoding:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head, final=whole)
    except UnicodeDecodeError:
        return _broken_utf8(head)
    return Encoding("utf-8")


def _broken_utf8(head: bytes) -> Encoding:
    sample = head[:_SAMPLE]
    text = sample.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = sum(1 for char in text if char > "\x7f" and char != "\ufffd")
    if good > 2 * bad:
        return Encoding("utf-8", 0, "broken utf-8")
    high = sum(1 for byte in sample if byte > 127)
    if high > len(sample) * 0.3 or any(byte in sample for byte in b"\x00\x01\x02\x03"):
        return Encoding("latin-1", binary="application/octet-stream")
    return Encoding("latin-1", 0, "latin-1")


def _wide_without_mark(sample: bytes) -> str | None:
    """UTF-16 of mostly Latin letters: every other byte is NUL."""
    if len(sample) < 4:
        return None
    even, odd = sample[0::2], sample[1::2]
    low, high = even.count(0) / len(even), odd.count(0) / max(1, len(odd))
    if high > 0.7 and low < 0.05:
        return "utf-16-le"
    if low > 0.7 and high < 0.05:
        return "utf-16-be"
    return None


def _mostly_controls(sample: bytes) -> bool:
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return len(sample) >= 16 and controls > len(sample) * 0.1


def decode(data: bytes, encoding: Encoding) -> str:
    """The text, never an error: what does not decode becomes U+FFFD."""
    return data[encoding.skip :].decode(encoding.codec, "replace")
