"""Exact token counts for `o200k_base`, offline. One engine for nearly all text, the reference for the rest.

Loading takes most of a second and some 70 MB, and holds the interpreter meanwhile: load where nobody waits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .cuts import CUT, safe_pieces
from .reference import NEWER, Reference

ENCODING = "o200k_base"
LONGEST_TOKEN = 128
"""Bytes of the longest token of the vocabulary."""
_PIECE = 1 << 20
_PROBE = 1 << 14


def upper_bound(n_bytes: int) -> int:
    """Most tokens that so many bytes can have: one a byte."""
    return n_bytes


def lower_bound(n_bytes: int) -> int:
    """Fewest tokens that so many bytes can have."""
    return -(-n_bytes // LONGEST_TOKEN)


class Counter:
    """Counts tokens exactly as the reference does. Safe from several threads; special-looking text is just text.

    Lone surrogates count as the replacement character, as they would be sent.
    """

    name = ENCODING

    def __init__(self) -> None:
        import toktok

        self._engine = toktok._encoding(ENCODING)
        self._reference = Reference()

    def count(self, text: str) -> int:
        """Number of tokens of a text."""
        return sum(map(self._count_piece, safe_pieces(clean(text), _PIECE)))

    def count_bytes(self, data: bytes) -> int:
        """Number of tokens of UTF-8 text; invalid bytes count as replacement characters."""
        return self.count(data.decode("utf-8", "replace"))

    def over(self, text: str, limit: int) -> bool:
        """Whether a text has more than `limit` tokens; stops reading as soon as it knows."""
        if len(text) * 4 <= limit:
            return False
        total = 0
        for piece in safe_pieces(clean(text), _PROBE):
            total += self._count_piece(piece)
            if total > limit:
                return True
        return False

    def cut(self, text: str, limit: int) -> str:
        """The longest start of a text that has at most `limit` tokens, on a character boundary."""
        kept, total = 0, 0
        whole = clean(text)
        for piece in safe_pieces(whole, _PROBE):
            count = self._count_piece(piece)
            if total + count > limit:
                return text[: kept + self._fit(piece, limit - total)]
            kept, total = kept + len(piece), total + count
        return text

    def running(self) -> Running:
        """A counter that is fed piece by piece."""
        return Running(self)

    def _count_piece(self, piece: str) -> int:
        if NEWER.search(piece) is None:
            return int(self._engine.count(piece))
        return sum(
            self._reference.count(part) if is_newer else int(self._engine.count(part))
            for part, is_newer in around_newer(piece)
        )

    def _fit(self, piece: str, limit: int) -> int:
        """Characters of the longest start of `piece` with at most `limit` tokens."""
        low, high = 0, len(piece)
        while low < high:
            middle = (low + high + 1) // 2
            if self._count_piece(piece[:middle]) <= limit:
                low = middle
            else:
                high = middle - 1
        return low


class Running:
    """Counts UTF-8 text that comes in pieces, exactly, holding no more than the text since the last safe cut."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._total = 0
        self._waiting: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._waiting.append(data)
        self._size += len(data)
        if self._size < _PIECE:
            return
        text = b"".join(self._waiting)
        end = last_cut(text)
        if end:
            self._total += self._counter.count_bytes(text[:end])
            text = text[end:]
        self._waiting, self._size = [text], len(text)

    def total(self) -> int:
        """Number of tokens of all that was fed."""
        return self._total + self._counter.count_bytes(b"".join(self._waiting))


_CUT_BYTES = re.compile(CUT.pattern.encode())


def last_cut(data: bytes) -> int:
    """The last safe cut in UTF-8 bytes, or 0: looked for from the end, in windows that grow."""
    window = 4096
    while True:
        start = max(0, len(data) - window)
        ends = [found.end() for found in _CUT_BYTES.finditer(data, start)]
        if ends:
            return ends[-1]
        if start == 0:
            return 0
        window *= 8


def clean(text: str) -> str:
    """Text without lone surrogates: they become the replacement character."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def around_newer(piece: str) -> Iterator[tuple[str, bool]]:
    """The piece cut at safe places, so that characters the engine knows and the reference does not stand apart."""
    done = 0
    for found in NEWER.finditer(piece):
        if found.start() < done:
            continue
        start = max((cut.end() for cut in CUT.finditer(piece, done, found.start())), default=done)
        after = CUT.search(piece, found.end())
        end = after.end() if after else len(piece)
        if start > done:
            yield piece[done:start], False
        yield piece[start:end], True
        done = end
    if done < len(piece):
        yield piece[done:], False


def open_counter() -> Counter:
    """Load the engine. Takes most of a second the first time."""
    return Counter()
