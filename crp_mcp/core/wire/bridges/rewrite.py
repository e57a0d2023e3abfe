"""Messages in another era's words: members set and taken out, all other bytes as they came.

`Rewritten` is a message with such changes laid over it. What was received stays readable under it (`top_piece`), since
that is what is captured; `forward` writes it with the changes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from itertools import pairwise

from crp_mcp.core.wire.answers import Failure, dump, error_line, notification_line, request_line, result_line
from crp_mcp.core.wire.frame import Edit, Frame, Piece, make
from crp_mcp.core.wire.scan import Span, members

Members = Mapping[str, bytes | list[Piece]]
OWNERS = ("params", "result", "error")


class Rewritten(Frame):
    """A message with changes laid over it."""

    __slots__ = ("_changed", "_edits", "_hidden")

    def __init__(self, frame: Frame, edits: Iterable[Edit], changed: Mapping[str, bytes], hidden: Container[str]):
        super().__init__(
            frame._source, frame.size, frame.top, frame.id, frame.method, frame.small, frame._inner, frame._forward
        )
        self._edits = list(edits)
        self._changed = changed
        self._hidden = hidden

    @property
    def inner(self) -> dict[str, Span]:
        return {name: span for name, span in super().inner.items() if name not in self._hidden}

    def part(self, name: str) -> bytes | None:
        if name in self._hidden:
            return None
        return self._changed[name] if name in self._changed else super().part(name)

    def forward(self, edits: Iterable[Edit] = ()) -> tuple[Piece, ...]:
        later = list(edits)
        anew = {edit[:2] for edit in later}
        return super().forward([*(edit for edit in self._edits if edit[:2] not in anew), *later])


def rewritten(
    frame: Frame,
    *,
    put: Members | None = None,
    drop: Iterable[str] = (),
    ident: bytes | None = None,
    over: bool = False,
) -> Frame:
    """The message with members of its params, result or error set (`put`) and taken out (`drop`), under another id.

    A message that has no object there stays without. `over`: what was received is to stay readable under the changes.
    """
    put = put or {}
    inner, gone = frame.inner, set(drop) - put.keys()
    edits: list[Edit] = [] if ident is None else [frame.with_id(ident)]
    owner = next((frame.top[name] for name in OWNERS if name in frame.top), None)
    kept = [name for name in inner if name not in gone]
    if kept and owner is not None:
        edits += [(*inner[name], value) for name, value in put.items() if name in inner]
        edits += _dropped(owner, inner, kept)
        fresh = {name: value for name, value in put.items() if name not in inner}
        if fresh:
            edits.append((owner[1] - 1, owner[1] - 1, [b",", *_joined(fresh)]))
        if not over and not frame.spooled:
            return edited(frame, edits)
        changed = {name: value for name, value in put.items() if isinstance(value, bytes)}
        return _under(Rewritten(frame, edits, changed, frozenset(inner) - set(kept)), ident)
    if (put or inner) and not frame.spooled:
        edits += _only(frame, owner, put)
    return edited(frame, edits)


def _under(frame: Frame, ident: bytes | None) -> Frame:
    if ident is not None:
        frame.id = ident
    return frame


def _only(frame: Frame, owner: Span | None, put: Members) -> list[Edit]:
    """The edits that make these the only members of a message that has none to keep."""
    if owner is None:
        whole = frame.piece((0, frame.size))
        assert isinstance(whole, bytes)
        end = whole.rindex(b"}")
        return [(end, end, [b',"params":{', *_joined(put), b"}"])]
    if frame.piece(owner)[:1] not in (b"{", b"n"):
        return []
    return [(*owner, [b"{", *_joined(put), b"}"])]


def _joined(put: Members) -> list[Piece]:
    pieces: list[Piece] = []
    for name, value in put.items():
        pieces.append((b"," if pieces else b"") + dump(name) + b":")
        pieces += value if isinstance(value, list) else [value]
    return pieces


def _dropped(owner: Span, inner: Mapping[str, Span], kept: list[str]) -> list[Edit]:
    """Edits that take all but these members out, names and commas included, whatever stands between the values."""
    order = list(inner)
    if any(inner[one][1] > inner[other][0] for one, other in pairwise(order)):
        return []  # A name occurs twice. Words of the other era do no harm there.
    edits: list[Edit] = []
    end = owner[0] + 1
    before: str | None = None
    for name in kept:
        place = order.index(name)
        if before is None and place:
            edits.append((end, inner[name][0], dump(name) + b":"))
        elif before is not None and order[place - 1] != before:
            edits.append((end, inner[order[place - 1]][1], b""))
        before, end = name, inner[name][1]
    if order[-1] != before:
        edits.append((end, inner[order[-1]][1], b""))
    return edits


def in_memory(pieces: Iterable[Piece]) -> bytes | None:
    """All of it as bytes; None where a part is not in memory."""
    parts = list(pieces)
    return b"".join(parts) if all(isinstance(part, bytes) for part in parts) else None  # type: ignore[arg-type]


def edited(frame: Frame, edits: Iterable[Edit]) -> Frame:
    """The message with edits made, to be read and edited again."""
    edits = list(edits)
    if not edits:
        return frame
    line = in_memory(frame.forward(edits))
    return make(line) if line is not None else Rewritten(frame, edits, {}, ())


def answer(ident: bytes, result: bytes) -> Frame:
    return make(result_line(ident, result))


def failed(ident: bytes, failure: Failure) -> Frame:
    return make(error_line(ident, failure))


def request(ident: bytes, method: str, params: bytes | None) -> Frame:
    return make(request_line(ident, method, params))


def note(method: str, params: bytes | None = None) -> Frame:
    return make(notification_line(method, params))


def object_members(raw: bytes | None) -> dict[str, bytes]:
    """Members of a raw object, raw; {} where it is none."""
    if raw is None or raw[:1] != b"{":
        return {}
    return {name: raw[start:end] for name, (start, end) in members(raw).items()}


def written(found: Mapping[str, bytes]) -> bytes:
    """A raw object of raw members."""
    return b"{" + b",".join(dump(name) + b":" + value for name, value in found.items()) + b"}"
