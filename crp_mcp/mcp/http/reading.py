"""The message of a POST, and which protocol version it speaks. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence

from crp_mcp.core.safety import POLICY_KEY, with_header
from crp_mcp.core.wire.answers import dump, with_member
from crp_mcp.core.wire.eras import ENVELOPE_VERSION, HANDSHAKE_VERSIONS
from crp_mcp.core.wire.frame import DECIDING, Frame, Malformed, parse_line
from crp_mcp.core.wire.scan import members
from crp_mcp.errors import BadRequest, Refused

from .request import Refusal

_DECIDING = sorted({name.lower() for name in DECIDING} | {"id", "method", "params", "result", "error", "arguments"})


def frame_of(body: bytes, policies: Sequence[str]) -> Frame:
    """The one message of a body. Raises Refusal. Line ends between tokens become spaces: servers read lines."""
    message = parse_line(body.replace(b"\r", b" ").replace(b"\n", b" "))
    if isinstance(message, list):
        raise Refusal(400, "The body must be one message; batches are not taken.")
    if isinstance(message, Malformed):
        raise Refusal(400, message.reason, code=message.code, ident=message.ids[0] if message.ids else b"null")
    _check_names(message)
    return _with_policy(message, policies) if policies and message.method and message.id else message


def _check_names(frame: Frame) -> None:
    """Raises Refusal where a name that decides stands twice, in any case of letters: readers differ in which counts."""
    whole, params = frame.piece((0, frame.size)), frame.top.get("params")
    assert isinstance(whole, bytes)
    for at in (whole.index(b"{"), params[0] if params else -1):
        names: list[str] = []
        if at >= 0 and whole[at : at + 1] == b"{":
            members(whole, at, whole=False, names=names)
        lower = [name.lower() for name in names]
        for name in _DECIDING:
            if lower.count(name) > 1:
                raise Refusal(400, f"The member {name!r} stands there more than once.", ident=frame.id or b"null")


def _with_policy(frame: Frame, policies: Sequence[str]) -> Frame:
    """The request with what its `CRP-Safety-Policy` headers ask for in its `_meta`, as a host over stdio says it."""
    raw = frame.part("_meta") or b"{}"
    try:
        meta = with_header(json.loads(raw), *policies)
    except (BadRequest, Refused) as error:
        raise Refusal(400, str(error), code=-32602, ident=frame.id or b"null") from None
    except (ValueError, RecursionError, TypeError):
        return frame
    fresh = with_member(raw, POLICY_KEY, dump(meta[POLICY_KEY]))
    params = frame.top_piece("params")
    if params is None:
        end = frame.size - 1
        edits = [(end, end, b',"params":{"_meta":%b}' % fresh)]
    else:
        edits = [(*frame.top["params"], with_member(params, "_meta", fresh))] if isinstance(params, bytes) else []
    source = b"".join(piece for piece in frame.forward(edits) if isinstance(piece, bytes))
    again = parse_line(source)
    return again if isinstance(again, Frame) else frame


def is_for_modern(frame: Frame, version: str | None) -> bool:
    """The header decides where there is one; without it, a request that carries the envelope is one that lacks it."""
    if version is not None:
        return version not in HANDSHAKE_VERSIONS
    if frame.method in (None, "initialize"):
        return False
    meta = frame.part("_meta")
    return frame.method == "server/discover" or (meta is not None and ENVELOPE_VERSION in meta)
