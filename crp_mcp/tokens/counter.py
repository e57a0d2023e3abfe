"""The counter: toktok's o200k_base, made exact where it is not and safe where it could fail (docs/decisions/0001)."""

from __future__ import annotations

import hashlib
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from crp_mcp.errors import CrpError

from .cuts import last_cut
from .runs import Encoder, split_run
from .standins import needs_standins, with_standins

CHUNK = 1 << 18
"""Bytes handed to the engine at a time: memory stays flat, and other threads get their turn."""

NEAR = 1 << 13
"""Bytes at the end of a chunk that are searched for a cut before anything slower is tried."""

MAX_PENDING = 1 << 23
"""Bytes a running count keeps while it finds no cut. Past this it goes on, but is no longer exact."""

VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""OpenAI's published digest of o200k_base.tiktoken."""

LONGEST_TOKEN = 128
"""Bytes of the longest token of o200k_base."""

T = TypeVar("T")


class CounterFailed(CrpError):
    """The engine broke down on a text. Its panics are no `Exception`s: they end here, not in the server's death."""

    code = "COUNTER"


def upper_bound(n_bytes: int) -> int:
    """Most tokens that many bytes of UTF-8 can have."""
    return n_bytes


def lower_bound(n_bytes: int) -> int:
    """Fewest tokens that many bytes of UTF-8 can have."""
    return -(-n_bytes // LONGEST_TOKEN)


class Engine(Encoder, Protocol):
    """What is used of the engine; token ids and texts are o200k_base's."""

    def count(self, text: str) -> int: ...
    def truncate(self, text: str, max_tokens: int) -> tuple[str, int]: ...
    def token_byte_values(self) -> list[bytes]: ...


class Counter:
    """Exact token counts, as tiktoken gives them: text that looks like a special token is just text.

    Safe to share between threads; long counts let other threads run. Lone surrogates count as U+FFFD.
    Every method may raise CounterFailed.
    """

    name = "o200k_base"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def count(self, text: str) -> int:
        """Number of tokens of a text of any length."""
        if len(text) <= CHUNK:
            return self._count(text)
        return sum(map(self._count, _pieces(text, CHUNK)))

    def count_bytes(self, data: bytes) -> int:
        """Number of tokens of UTF-8; bytes that are not UTF-8 count as U+FFFD, as decoding would replace them."""
        running = Running(self, max_pending=len(data))
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
        beginning = text[: LONGEST_TOKEN * max(limit + 1, 1)]
        for piece in _pieces(beginning, 8 * limit + 1024):
            count = self._count(piece)
            if total + count > limit:
                return text[: at + self._fit(piece, limit - total)]
            total += count
            at += len(piece)
        return text

    def running(self) -> Running:
        """A count that grows with the bytes it is fed."""
        return Running(self)

    def vocabulary_sha256(self) -> str:
        """SHA-256 of the engine's vocabulary, written as the file tiktoken downloads: see `VOCABULARY_SHA256`."""
        lines = (b"%s %d\n" % (b64encode(value), rank) for rank, value in enumerate(self._engine.token_byte_values()))
        return hashlib.sha256(b"".join(lines)).hexdigest()

    def _fit(self, piece: str, limit: int) -> int:
        """How many characters of a piece of a text stay within `limit` tokens."""
        if limit <= 0:
            return 0
        size = len(_guarded(self._engine.truncate, plain(piece), limit)[0])
        while size and self._count(piece[:size]) > limit:
            size -= 1
        return size

    def _count(self, text: str) -> int:
        return _guarded(self._engine.count, text if text.isascii() else plain(text))


def plain(text: str) -> str:
    """What the engine is given for a text: as many characters, UTF-8 exists, stand-ins where its tables differ."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        text = _without_surrogates(text)
        data = text.encode()
    return with_standins(text) if needs_standins(data) else text


def _without_surrogates(text: str) -> str:
    """Pairs become their character, lone ones U+FFFD: what tiktoken counts."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _guarded(call: Callable[..., T], *arguments: object) -> T:
    """Call the engine. Errors and interrupts pass; a panic, which neither is, becomes CounterFailed."""
    try:
        return call(*arguments)
    except (Exception, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as panic:
        raise CounterFailed(f"the token counter broke down: {type(panic).__name__}") from panic


def _pieces(text: str, size: int) -> Iterator[str]:
    """Parts of at least about `size` characters whose counts add up."""
    at = 0
    while len(text) - at > size:
        end = at + size
        while end < len(text):
            cut = _cut_before(text, max(at, end - NEAR), end) or _cut_before(text, at, end)
            if cut:
                end = cut
                break
            end += end - at
        yield text[at:end]
        at = end
    if at < len(text):
        yield text[at:]


def _cut_before(text: str, start: int, end: int) -> int:
    """The last place between two where the text may be cut; 0 where there is none."""
    part = text[start:end].encode("utf-8", "surrogatepass")
    cut = last_cut(part)
    return start + len(part[:cut].decode("utf-8", "surrogatepass")) if cut else 0


class Running:
    """A count over bytes that come in pieces, cut anywhere. Exact; keeps about one chunk in memory.

    Where no piece of the pattern ends for more than a chunk, long runs of ASCII letters, punctuation or blanks are cut
    between tokens instead (see runs). What has no such cut either, such as 8 MB of ideographs without a full stop,
    is cut anyway, and `exact` turns false.
    """

    def __init__(self, counter: Counter, *, chunk: int = CHUNK, max_pending: int = MAX_PENDING) -> None:
        self._counter = counter
        self._chunk = chunk
        self._max_pending = max_pending
        self._buffer = bytearray()
        self._searched = 0
        self._next = self._chunk
        self._total = 0
        self.exact = True

    def feed(self, data: bytes | memoryview) -> None:
        """Take the next bytes of the text."""
        view = memoryview(data)
        for start in range(0, len(view), self._chunk):
            self._buffer += view[start : start + self._chunk]
            if len(self._buffer) >= self._next:
                self._settle()

    def total(self) -> int:
        """Tokens of everything fed so far. May be asked at any time; an estimate unless `exact`."""
        return self._total + self._counter._count(self._buffer.decode("utf-8", "replace"))

    def _settle(self) -> None:
        """Count as much of the buffer as can be cut off, or wait for more."""
        cut, count = last_cut(self._buffer, max(self._searched, len(self._buffer) - NEAR)), None
        if not cut:
            cut, count = _guarded(split_run, self._buffer, self._counter._engine)
        if not cut:
            cut = last_cut(self._buffer, self._searched)
        if not cut and len(self._buffer) > self._max_pending:
            self.exact = False
            cut = len(self._buffer)
        if not cut:
            self._searched = len(self._buffer)
            self._next = max(min(2 * len(self._buffer), self._max_pending + 1), len(self._buffer) + 1)
            return
        if count is None:
            count = self._counter._count(self._buffer[:cut].decode("utf-8", "replace"))
        self._total += count
        del self._buffer[:cut]
        self._searched = 0
        self._next = self._chunk


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
