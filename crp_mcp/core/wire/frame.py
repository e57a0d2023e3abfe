"""One JSON-RPC message as it came: its bytes, and where its parts stand in them. Nothing is decoded that need not be.

A message is changed by splicing other bytes in at known places, so what is not changed stays as it was, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from .scan import NotJson, Span, items, members
from .sound import TooDeep, check_sound, repair_surrogates

if TYPE_CHECKING:
    from .stream import LineScan

SMALL = 16 * 1024
"""Members up to this many bytes are kept in memory even where the message itself is not."""


DECIDING = frozenset(
    {"_meta", "capabilities", "cursor", "inputResponses", "name", "notifications", "progressToken", "ref", "requestId"}
    | {"requestState", "resultType", "task", "taskId", "uri"}
)
"""Members that say what becomes of a message: these must be in memory, however long they are."""


class Cut(NamedTuple):
    """Bytes `start` to `end` of something held outside memory. What `source` is, only the driver knows."""

    source: object
    start: int
    end: int


Piece = bytes | Cut


def size_of(piece: Piece) -> int:
    """Its length in bytes."""
    return len(piece) if isinstance(piece, bytes) else piece.end - piece.start


Edit = tuple[int, int, bytes | list[Piece]]
"""Replace bytes `start` to `end` of the message by these."""


class Malformed(NamedTuple):
    """Bytes that are no message. `code` is JSON-RPC's; `ids` are tokens that may be its id, the likeliest first."""

    code: int
    reason: str
    ids: tuple[bytes, ...] = ()
    is_answer: bool = False
    """Looks like an answer rather than a question."""
    stray: Frame | None = None
    """An answer in every way but its id, which is none; None for anything else."""


class Frame:
    """A message. `id` is the raw JSON token, None where there is none; `method` None for an answer."""

    __slots__ = ("_forward", "_inner", "_source", "id", "method", "size", "small", "top")

    def __init__(
        self,
        source: object,
        size: int,
        top: dict[str, Span],
        ident: bytes | None,
        method: str | None,
        small: dict[str, bytes] | None = None,
        inner: dict[str, Span] | None = None,
        forward: bytes | None = None,
    ) -> None:
        self._source = source
        self._forward = forward
        self._inner = inner
        self.size = size
        self.top = top
        self.id = ident
        self.method = method
        self.small = small

    @property
    def spooled(self) -> bool:
        return not isinstance(self._source, bytes)

    @property
    def is_partial(self) -> bool:
        """Whether the message must be read into memory before anything can be done with it."""
        if not self.spooled:
            return False
        return "error" in self.top or any(self.part(name) is None for name in DECIDING & self.inner.keys())

    @property
    def inner(self) -> dict[str, Span]:
        """Members of `params`, `result` or `error`, whichever this message has, counted from the message's start."""
        if self._inner is None:
            span = self.top.get("params") or self.top.get("result") or self.top.get("error")
            self._inner = {}
            if span and isinstance(self._source, bytes) and self._source[span[0]] == 0x7B:
                self._inner = members(self._source, span[0], whole=False)
        return self._inner

    def part(self, name: str) -> bytes | None:
        """Raw JSON of one member of `inner`; None where it is missing, or large and not in memory."""
        if isinstance(self._source, bytes):
            span = self.inner.get(name)
            return self._source[span[0] : span[1]] if span else None
        return self.small.get(name) if self.small else None

    def piece(self, span: Span) -> Piece:
        """Bytes of the message exactly as received."""
        if isinstance(self._source, bytes):
            return self._source[span[0] : span[1]]
        return Cut(self._source, *span)

    def top_piece(self, name: str) -> Piece | None:
        """One of the message's own members exactly as received."""
        span = self.top.get(name)
        return self.piece(span) if span else None

    def forward(self, edits: Iterable[Edit] = ()) -> tuple[Piece, ...]:
        """The message to pass on, with these edits made; they must not overlap."""
        pieces: list[Piece] = []
        at = 0
        for start, end, text in sorted(edits, key=itemgetter(0, 1)):
            if start > at:
                pieces.append(self._outgoing(at, start))
            if isinstance(text, list):
                pieces += text
            elif text:
                pieces.append(text)
            at = end
        if at < self.size:
            pieces.append(self._outgoing(at, self.size))
        return tuple(pieces)

    def _outgoing(self, start: int, end: int) -> Piece:
        if isinstance(self._source, bytes):
            return (self._forward or self._source)[start:end]
        return Cut(self._source, start, end)

    def with_id(self, ident: bytes) -> Edit:
        """The edit that gives the message another id."""
        start, end = self.top["id"]
        return start, end, ident

    def insert(self, owner: Span, name: str, value: bytes, *, empty: bool) -> Edit:
        """The edit that adds a member at the end of the object at `owner`. `empty`: it has no members yet."""
        at = owner[1] - 1
        return at, at, b"%s%s:%s" % (b"" if empty else b",", b'"' + name.encode() + b'"', value)


def make(line: bytes) -> Frame:
    """The frame of a message that is known to be one: ours, or what was read before with edits made."""
    frame = _frame(line, members(line), None)
    assert isinstance(frame, Frame)
    return frame


def parse_line(line: bytes) -> Frame | Malformed | list[Frame | Malformed]:
    """Read one line (without its end). A list is a JSON-RPC batch, its messages in order."""
    if line[:1] not in b"{[ \t\xef" and b'"' not in line:
        # Chatter on standard output, perhaps a great deal of it. It answers nothing: there is no id in it.
        return Malformed(-32700, "not valid JSON: Expecting value: line 1 column 1 (char 0)", (), True)
    try:
        line = _utf8(line)
        lone = check_sound(line)
        if line.lstrip()[:1] == b"[":
            return _batch(line)
        return _frame(line, members(line), repair_surrogates(line) if lone else None)
    except TooDeep as error:
        return Malformed(-32600, str(error), likely_ids(line), _is_answer(line))
    except (NotJson, ValueError) as error:
        return Malformed(-32700, f"not valid JSON: {error}", likely_ids(line), _is_answer(line))


def _utf8(line: bytes) -> bytes:
    if line.startswith(b"\xef\xbb\xbf"):
        line = line[3:]
    if line.isascii():
        return line
    try:
        line.decode()
    except UnicodeDecodeError:
        # What every lenient reader makes of it; strict ones would lose the message and leave its sender waiting.
        return line.decode("utf-8", "replace").encode()
    return line


def _batch(line: bytes) -> Malformed | list[Frame | Malformed]:
    found: list[Frame | Malformed] = []
    for start, end in items(line):
        one = parse_line(line[start:end])
        found.append(one if not isinstance(one, list) else Malformed(-32600, "a batch inside a batch"))
    return found or Malformed(-32600, "an empty batch")


def _frame(line: bytes, top: dict[str, Span], forward: bytes | None) -> Frame | Malformed:
    span = top.get("id")
    ident = line[span[0] : span[1]] if span else None
    span = top.get("method")
    method = line[span[0] : span[1]] if span else None
    return make_frame(line, len(line), top, ident, method, forward=forward)


def make_frame(
    source: object,
    size: int,
    top: dict[str, Span],
    ident: bytes | None,
    method: bytes | None,
    **rest: object,
) -> Frame | Malformed:
    """A frame, if its envelope makes sense as a request, a notification or an answer."""
    answers = method is None and ("result" in top or "error" in top)
    if ident is not None and ident[:1] not in b'"-0123456789n':
        stray = Frame(source, size, top, None, None, **rest) if answers else None  # type: ignore[arg-type]
        return Malformed(-32600, "an id must be a string or a number", (), answers, stray)
    if method is None:
        if ident is None and answers:
            stray = Frame(source, size, top, None, None, **rest)  # type: ignore[arg-type]
            return Malformed(-32600, "an answer without an id", (), True, stray)
        if not answers:
            return Malformed(-32600, "neither a request nor an answer", (ident,) if ident else (), True)
        return Frame(source, size, top, ident, None, **rest)  # type: ignore[arg-type]
    assert method is not None
    if method[:1] != b'"':
        return Malformed(-32600, "a method must be a string", (ident,) if ident else ())
    if ident == b"null":
        return Malformed(-32600, "the id of a request must not be null")
    return Frame(source, size, top, ident, text_of(method), **rest)  # type: ignore[arg-type]


def spooled_frame(scan: LineScan, source: object, size: int, read: Callable[[int, int], bytes]) -> Frame | Malformed:
    """The frame of a line that is not in memory. `read(start, end)` gives bytes of it; only small parts are asked."""

    def token(name: str) -> bytes | None:
        span = scan.top.get(name)
        return read(*span) if span and span[1] - span[0] <= SMALL else None

    for name in ("id", "method"):
        if name in scan.top and token(name) is None:
            return Malformed(-32600, f"its {name} is longer than any honest one")
    inner = next((scan.inner[name] for name in ("params", "result", "error") if name in scan.inner), {})
    small = {name: read(*span) for name, span in list(inner.items())[:64] if span[1] - span[0] <= SMALL}
    return make_frame(source, size, scan.top, token("id"), token("method"), small=small, inner=inner)


def text_of(raw: bytes | None) -> str | None:
    """The string a raw JSON token holds; None where it holds something else."""
    if not raw or raw[:1] != b'"':
        return None
    if b"\\" not in raw:
        return raw[1:-1].decode("utf-8", "replace")
    import json

    value: str = json.loads(raw)
    return value


_ID = re.compile(rb'"id"[ \t\r\n]*:[ \t\r\n]*("(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?)')
_EDGE = 256


def likely_ids(line: bytes) -> tuple[bytes, ...]:
    """Tokens that may be a broken message's id: those near its start and its end first. At most 32."""
    head, tail = line[:_EDGE], line[-_EDGE:]
    found = [*_ID.findall(head)[:1], *reversed(_ID.findall(tail)), *_ID.findall(line[: 64 * 1024])]
    return tuple(filter(_is_token, list(dict.fromkeys(found))[:32]))


def _is_token(raw: bytes) -> bool:
    """Whether it can be written into a message of ours."""
    import json

    try:
        json.loads(raw)
    except ValueError:
        return False
    return True


def _is_answer(line: bytes) -> bool:
    return b'"method"' not in line[:_EDGE] and b'"method"' not in line[-_EDGE:]
