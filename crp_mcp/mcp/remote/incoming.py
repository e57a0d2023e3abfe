"""What we must read of the messages that come: which request they answer, the version agreed on, the tools' marks."""

from __future__ import annotations

import json

from crp_mcp.core.wire.frame import Frame, Malformed, parse_line, text_of
from crp_mcp.core.wire.marks import MARK, marks_of
from crp_mcp.core.wire.requests import same_id
from crp_mcp.core.wire.scan import items
from crp_mcp.log import log
from crp_mcp.mcp.framing import Message, load
from crp_mcp.mcp.spool import SpoolFile

from .headers import Marks
from .outgoing import Outgoing


def answers(message: Message, request: Outgoing) -> bool:
    """Whether a request's answer is in what came."""
    if isinstance(message, list):
        return any(answers(one, request) for one in message)
    if not isinstance(message, Frame) or message.method is not None or message.id is None:
        return False
    return same_id(message.id) == request.key


def under_its_id(message: Message, request: Outgoing) -> Message:
    """An error without an id, which came as the answer to this very request, gets its id."""
    if isinstance(message, Malformed) and message.stray is not None:
        message = message.stray
    if not isinstance(message, Frame) or message.method is not None or message.spooled or request.id is None:
        return message
    if message.id is None:
        start = message.top.get("error") or message.top["result"]
        whole = b"".join(piece for piece in message.forward() if isinstance(piece, bytes))
        kind = b"error" if "error" in message.top else b"result"
        return parse_line(b'{"jsonrpc":"2.0","id":%b,"%b":%b}' % (request.id, kind, whole[slice(*start)]))
    if message.id != b"null":
        return message
    pieces = message.forward([message.with_id(request.id)])
    return parse_line(b"".join(piece for piece in pieces if isinstance(piece, bytes)))


def agreed_version(message: Message) -> str | None:
    """The protocol version in an answer to `initialize`; None where it is an error."""
    return text_of(message.part("protocolVersion")) if isinstance(message, Frame) and "result" in message.top else None


def learn_tools(server: str, message: Message, marks: dict[str, Marks]) -> Message:
    """Note the marked arguments of the tools an answer lists, and take out those that are marked in a wrong way."""
    if not isinstance(message, Frame) or "result" not in message.top:
        return message
    piece = message.piece((0, message.size))
    if not isinstance(piece, bytes):
        assert isinstance(piece.source, SpoolFile)
        if not _mentions(piece.source):
            return message
        message = load(message, piece.source)
        if not isinstance(message, Frame):
            return message
    elif MARK.encode() not in piece:
        return message
    return _without_wrong(server, message, marks)


def _mentions(file: SpoolFile) -> bool:
    step, mark = 1024 * 1024, MARK.encode()
    return any(mark in file.read(at, at + step + len(mark)) for at in range(0, file.size, step))


def _without_wrong(server: str, message: Frame, marks: dict[str, Marks]) -> Message:
    array = message.part("tools")
    if array is None or array[:1] != b"[":
        return message
    kept, left_out = [], False
    for start, end in items(array):
        raw = array[start:end]
        tool = json.loads(raw)
        name = tool.get("name") if isinstance(tool, dict) else None
        try:
            found: Marks = marks_of(tool.get("inputSchema")) if isinstance(name, str) else ()
        except ValueError as error:
            log("warning", "tool_left_out", server=server, tool=str(name), reason=str(error))
            left_out = True
            continue
        marks.pop(str(name), None)
        if found:
            marks[str(name)] = found
        kept.append(raw)
    if not left_out:
        return message
    edit = (*message.inner["tools"], b"[%b]" % b",".join(kept))
    return parse_line(b"".join(piece for piece in message.forward([edit]) if isinstance(piece, bytes)))


def one_line(chunk: bytes) -> bytes:
    """Line ends inside JSON stand between tokens only; as spaces they mean the same."""
    return chunk.translate(_SPACES)


_SPACES = bytes.maketrans(b"\r\n", b"  ")
