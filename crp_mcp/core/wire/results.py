"""Results of ours in either era, and edits of the servers'. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .answers import INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, Failure, dump
from .calls import Call
from .frame import Edit, Frame, text_of
from .requests import Outcome
from .scan import members


def is_unknown_method(outcome: Outcome) -> bool:
    """Whether a server knows no such request."""
    return isinstance(outcome, Frame) and "error" in outcome.top and outcome.part("code") == b"%d" % METHOD_NOT_FOUND


def no_resource(call: Call, uri: str) -> Failure:
    """That there is no such resource, in the words of the host's era."""
    return Failure(INVALID_PARAMS if call.modern else RESOURCE_NOT_FOUND, "Resource not found", {"uri": uri})


def no_completion(call: Call) -> bytes:
    kind = {"resultType": "complete"} if call.modern else {}
    return dump({**kind, "completion": {"values": [], "total": 0, "hasMore": False}})


def completed_uri(frame: Frame) -> str | None:
    """The template that a completion is asked for; None where it is for a prompt."""
    ref = frame.part("ref")
    if ref is None or ref[:1] != b"{":
        return None
    span = members(ref).get("uri")
    return text_of(ref[span[0] : span[1]]) if span else None


def set_members(answer: Frame, changes: Mapping[str, bytes]) -> list[Edit]:
    """The edits that set members of an answer's result."""
    edits: list[Edit] = []
    added = b""
    for name, value in changes.items():
        if name in answer.inner:
            edits.append((*answer.inner[name], value))
        else:
            added += b"%b%b:%b" % (b"," if answer.inner or added else b"", dump(name), value)
    if added:
        end = answer.top["result"][1] - 1
        edits.append((end, end, added))
    return edits


def list_result(member: str, raws: Sequence[bytes], modern: bool, caching: Mapping[str, Any] | None = None) -> bytes:
    """A list result of ours, with what each era asks for. `caching`: how long a modern host may keep it."""
    rest = {"resultType": "complete", **(caching or {"ttlMs": 0, "cacheScope": "private"})} if modern else {}
    start = b"{%b:[%b]" % (dump(member), b",".join(raws))
    return start + (b"," + dump(rest)[1:] if rest else b"}")
