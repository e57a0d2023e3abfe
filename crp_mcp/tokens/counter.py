"""The counter: toktok's o200k_base, made exact where it is not and safe where it could fail (docs/decisions/0001)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Protocol

from .cuts import last_cut

CHUNK = 1 << 20
"""Bytes handed to the engine at a time: memory stays flat, and other threads get their turn."""

LONGEST_TOKEN = 128
"""Bytes of the longest token of o200k_base."""


def upper_bound(n_bytes: int) -> int:
    """Most tokens that many bytes of UTF-8 can have."""
    return n_bytes


def lower_bound(n_bytes: int) -> int:
    """Fewest tokens that many bytes of UTF-8 can have."""
    return -(-n_bytes // LONGEST_TOKEN)


class _Engine(Protocol):
    def count(self, text: str) -> int: ...
    def truncate(self, text: str, max_tokens: int) -> tuple[str, int]: ...
    def encode_ordinary(self, text: str) -> list[int]: ...
    def decode_single_token_bytes(self, token: int) -> bytes: ...


class Counter:
    """Exact token counts, as tiktoken gives them: text that looks like a special token is just text.

    Safe to share between threads; long counts let other threads run. Lone surrogates count as U+FFFD.
    """

    name = "o200k_base"

    def __init__(self, engine: _Engine) -> None:
        self._engine = engine

    def count(self, text: str) -> int:
        """Number of tokens."""
        if len(text) <= CHUNK:
            return self._count(text)
        return sum(self._count(piece) for piece in _pieces(text, CHUNK))

    def count_bytes(self, data: bytes) -> int:
        """Number of tokens of UTF-8; bytes that are not UTF-8 count as U+FFFD, as decoding would replace them."""
        running = self.running()
        running.feed(data)
        return running.total()

    def over(self, text: str, limit: int) -> bool:
        """Whether the text has more than `limit` tokens. Time depends on the limit, not on the text."""
        if lower_bound(len(text)) > limit:
            return True
        total = 0
        for piece in _pieces(text, 8 * limit + 1024):
            total += self._count(piece)
            if total > limit:
                return True
        return False

    def cut(self, text: str, limit: int) -> str:
        """The text of the first `limit` tokens, on a character boundary, never over the limit when counted again."""
        total = at = 0
        for piece in _pieces(text, 8 * limit + 1024):
            count = self._count(piece)
            if total + count > limit:
                return text[: at + self._fit(piece, limit - total)]
            total += count
            at += len(piece)
        return text

    def running(self) -> Running:
        """A count that grows with what it is fed."""
        return Running(self)

    def _fit(self, piece: str, limit: int) -> int:
        """How many characters of a piece of a text stay within `limit` tokens."""
        size = len(self._engine.truncate(piece, limit)[0]) if limit > 0 else 0
        while size and self._count(piece[:size]) > limit:
            size -= 1
        return size

    def _count(self, text: str) -> int:
        try:
            return self._engine.count(text)
        except UnicodeEncodeError:
            return self._engine.count(_without_surrogates(text))


def _without_surrogates(text: str) -> str:
    """Pairs become their character, lone ones U+FFFD: what tiktoken counts."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _pieces(text: str, size: int) -> Iterator[str]:
    """Parts of at least about `size` characters whose counts add up."""
    at = 0
    while at < len(text):
        end = at + size
        while end < len(text):
            part = text[at:end].encode("utf-8", "surrogatepass")
            cut = last_cut(part)
            if cut:
                end = at + len(part[:cut].decode("utf-8", "surrogatepass"))
                break
            end += end - at
        yield text[at:end]
        at = end


class Running:
    """A count over bytes that come in pieces, cut anywhere. Exact; keeps about one chunk in memory."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._buffer = bytearray()
        self._total = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the text."""
        view = memoryview(data)
        for start in range(0, len(view), CHUNK):
            self._buffer += view[start : start + CHUNK]
            if len(self._buffer) >= CHUNK:
                self._settle()

    def total(self) -> int:
        """Tokens of everything fed so far. May be asked at any time."""
        return self._total + self._counter._count(self._buffer.decode("utf-8", "replace"))

    def _settle(self) -> None:
        cut = last_cut(self._buffer)
        if cut:
            self._total += self._counter._count(self._buffer[:cut].decode("utf-8", "replace"))
            del self._buffer[:cut]


_lock = threading.Lock()
_counter: Counter | None = None


def open_counter() -> Counter:
    """The process's counter. The first call builds the engine, which takes half a second and holds the GIL."""
    global _counter
    with _lock:
        if _counter is None:
            import toktok

            _counter = Counter(toktok._encoding("o200k_base"))
        return _counter
