"""A request of the host on its way, and what may be done with the answer to it."""

from __future__ import annotations

from .answers import without_members
from .catalog import Tool
from .frame import Edit, Frame, Malformed, Piece, make, text_of
from .link import Link
from .requests import Pending
from .scan import members

RESERVED = "dev.crp/"
"""Members of `_meta`, and of the data of errors, that only we may write."""
Received = Frame | Malformed | list[Frame | Malformed]


class Call:
    """A request of the host that has no answer yet."""

    __slots__ = (
        "answer",
        "arguments",
        "frame",
        "id",
        "key",
        "meta",
        "modern",
        "over",
        "server",
        "tool",
        "tool_name",
        "waits_for",
    )

    def __init__(self, ident: bytes, frame: Frame, modern: bool) -> None:
        self.id = ident
        self.frame = frame
        self.modern = modern
        self.meta = frame.part("_meta")
        self.tool: Tool | None = None
        self.tool_name = ""
        self.server = ""
        self.arguments: Piece | None = None
        self.waits_for: tuple[tuple[Link, Pending], ...] = ()
        self.key: int | None = None
        """Under which it is being captured or served by our own side."""
        self.answer: Frame | None = None
        """The server's answer while it is being captured."""
        self.over = False


def is_capturable(answer: Frame) -> bool:
    """Whether this is a tool's finished result: no error, no question to the user, no task that is still to run."""
    if "result" not in answer.top:
        return False
    if text_of(answer.part("resultType")) not in (None, "complete"):
        return False
    return not ("task" in answer.inner and "content" not in answer.inner)


def clean_edits(answer: Frame) -> list[Edit]:
    """What takes our reserved `_meta` members out of a server's result."""
    return _without_reserved(answer, "_meta")


def unforged(message: Received) -> Received:
    """What a server sent, its errors without data that is ours to write: what HTTP said decides what clients do."""
    if isinstance(message, list):
        return [_unforged(one) if isinstance(one, Frame) else one for one in message]
    return _unforged(message) if isinstance(message, Frame) else message


def _unforged(answer: Frame) -> Frame:
    if "error" not in answer.top or answer.spooled:
        return answer
    edits = _without_reserved(answer, "data")
    return make(b"".join(piece for piece in answer.forward(edits) if isinstance(piece, bytes))) if edits else answer


def _without_reserved(answer: Frame, member: str) -> list[Edit]:
    raw = answer.part(member)
    if raw is None or raw[:1] != b"{" or (b"dev.crp" not in raw and b"\\" not in raw):
        return []
    reserved = [name for name in members(raw) if name.startswith(RESERVED)]
    return [(*answer.inner[member], without_members(raw, reserved))] if reserved else []
