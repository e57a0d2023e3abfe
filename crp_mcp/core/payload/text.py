"""The exact UTF-8 of a long JSON string, and the bytes behind long base64, a window at a time."""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator

from .memory import exact_text
from .model import NotExact, Span
from .scan import WINDOW, Read

_HIGH = rb"\\u[dD][89abAB][0-9a-fA-F]{2}"
_UNIT = re.compile(
    rb"(?P<pair>" + _HIGH + rb"\\u[dD][c-fC-F][0-9a-fA-F]{2})|(?P<high>" + _HIGH + rb")|\\u[0-9a-fA-F]{4}|\\[^u]|[^\\]",
    re.DOTALL,
)
"""What stands for one character or byte: never to be parted."""

_LONGEST_UNIT = 12
_SPACES = b" \t\r\n"


def iter_windows(read: Read, span: Span, window: int = WINDOW) -> Iterator[bytes]:
    """The bytes of a span, a window at a time."""
    for at in range(span.start, span.end, window):
        yield read(at, min(at + window, span.end))


def iter_text(read: Read, span: Span, *, window: int = WINDOW) -> Iterator[bytes]:
    """The exact UTF-8 of the JSON string that stands in `span` (its quotes included), in pieces of whole characters.

    Raises NotExact where there is none, perhaps after some pieces: then the payload is the result as received.
    """
    inner = Span(span.start + 1, span.end - 1)
    if span.end - span.start < 2 or read(span.start, inner.start) != b'"' or read(inner.end, span.end) != b'"':
        raise NotExact("not a JSON string")
    waiting = b""
    for piece in iter_windows(read, inner, window):
        data = waiting + piece if waiting else piece
        end = whole_end(data)
        waiting = data[end:]
        if end:
            yield exact_text(b'"%b"' % data[:end])
        elif len(waiting) > 2 * _LONGEST_UNIT + window:
            raise NotExact("no whole character")
    if waiting:
        yield exact_text(b'"%b"' % waiting)


def whole_end(data: bytes) -> int:
    """Where JSON string content may be parted: the last place outside UTF-8 sequences, escapes, surrogate pairs."""
    end = _whole_utf8(data)
    slash = data.find(b"\\", max(0, end - _LONGEST_UNIT), end)
    if slash < 0:
        return end
    first = len(data[: slash + 1].rstrip(b"\\"))
    last = end - len(data[slash:end].lstrip(b"\\"))
    at = first + (last - first) // 2 * 2
    before = data[at - 6 : at]
    if at - 6 >= 0 and at == first and re.fullmatch(_HIGH, before) and _is_escape(data, at - 6):
        at -= 6
    while at < end:
        unit = _UNIT.match(data, at, end)
        if unit is None or (unit["high"] and at + _LONGEST_UNIT > end):
            break
        at = unit.end()
    return at


def _is_escape(data: bytes, at: int) -> bool:
    """Whether the backslash at `at` begins an escape, and is not one that is escaped."""
    return (at - len(data[:at].rstrip(b"\\"))) % 2 == 0


def _whole_utf8(data: bytes) -> int:
    end = len(data)
    for back in range(1, min(4, end) + 1):
        byte = data[end - back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return end - back if back < length else end
    return end


def identical(left: Iterator[bytes], right: Iterator[bytes]) -> bool:
    """Whether two streams have the same bytes. Stops at the first difference."""
    one, two = bytearray(), bytearray()
    while True:
        piece = next(left if len(one) <= len(two) else right, None)
        if piece is None:
            rest = right if len(one) <= len(two) else left
            return one == two and not any(rest)
        (one if len(one) <= len(two) else two).extend(piece)
        size = min(len(one), len(two))
        if one[:size] != two[:size]:
            return False
        del one[:size], two[:size]


def digest_text(pieces: Iterable[bytes]) -> tuple[str, int]:
    """`sha256:…` and size of a text."""
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
    return "sha256:" + digest.hexdigest(), size


def digest_base64(pieces: Iterable[bytes]) -> tuple[str, int]:
    """`sha256:…` and size of the bytes behind base64 text; of the text itself where it is no base64."""
    decoded, packed = Base64(), hashlib.sha256()
    size = 0
    for piece in pieces:
        packed.update(piece)
        size += len(piece)
        decoded.feed(piece)
    if decoded.finish():
        return "sha256:" + decoded.digest.hexdigest(), decoded.size
    return "sha256:" + packed.hexdigest(), size


class Base64:
    """Decodes base64 that comes in pieces, white space and missing padding allowed, into a digest."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.size = 0
        self._waiting = b""
        self._padding = b""
        self._valid = True

    def feed(self, piece: bytes) -> None:
        """Take the next characters."""
        packed = self._waiting + self._padding + piece.translate(None, _SPACES)
        self._waiting = packed.rstrip(b"=")
        self._padding = packed[len(self._waiting) :]
        self._valid = self._valid and b"=" not in self._waiting
        whole = len(self._waiting) // 4 * 4
        self._decode(self._waiting[:whole])
        self._waiting = self._waiting[whole:]

    def finish(self) -> bool:
        """Take the end. Whether it was base64 all along."""
        self._decode(self._waiting + b"=" * (-len(self._waiting) % 4))
        return self._valid

    def _decode(self, packed: bytes) -> None:
        if not self._valid or not packed:
            return
        try:
            data = binascii.a2b_base64(packed, strict_mode=True)
        except binascii.Error:
            self._valid = False
            return
        self.digest.update(data)
        self.size += len(data)
