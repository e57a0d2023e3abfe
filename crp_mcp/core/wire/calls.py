"""A request of the host on its way, and what may be done with the answer to it."""

from __future__ import annotations

from .answers import without_members
from .catalog import Tool
from .frame import Edit, Frame, Piece, text_of
from .link import Link
from .requests import Pending
from .scan import members

RESERVED = "dev.crp/"
"""`_meta` members that only we may write."""


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
    meta = answer.part("_meta")
    if meta is None or meta[:1] != b"{" or (b"dev.crp" not in meta and b"\\" not in meta):
        return []
    reserved = [name for name in members(meta) if name.startswith(RESERVED)]
    return [(*answer.inner["_meta"], without_members(meta, reserved))] if reserved else []
