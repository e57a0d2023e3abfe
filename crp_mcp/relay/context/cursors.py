"""Cursors of context requests: which answer they go on from, and what must not have changed since."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from crp_mcp.core.request.models import ContextRequest
from crp_mcp.errors import BadRequest

SHORT = 10
"""Hex digits of a digest in a cursor: it guards against mistakes, and what it leads to is looked up by its owner."""
_FORM = re.compile(r"([1-9][0-9]{0,17})\.([0-9a-f]{10})\.([0-9a-f]{10})", re.ASCII)
MAY_DIFFER = {"max_tokens"}
"""Pages may have any size."""


class CursorError(BadRequest):
    """A cursor that is none of ours, of another request or conversation, or older than a change."""

    code = "CURSOR"


@dataclass(frozen=True, slots=True)
class Place:
    """`number`: the answer to go on from. `found`: how the digest of what was found there begins."""

    number: int
    found: str


def cursor_of(number: int, request: ContextRequest, found_digest: str) -> str:
    return f"{number}.{_digest(request)}.{found_digest[:SHORT]}"


def read_cursor(text: str, request: ContextRequest) -> Place:
    """Raises CursorError."""
    read = _FORM.fullmatch(text.strip())
    if read is None:
        raise CursorError("request_context: `cursor` is not one of ours; leave it out to begin anew")
    if read[2] != _digest(request):
        raise CursorError(
            "request_context: `cursor` belongs to another request; give the same fields with it (only max_tokens may "
            "differ), or leave it out"
        )
    return Place(int(read[1]), read[3])


def _digest(request: ContextRequest) -> str:
    return hashlib.sha256(request.model_dump_json(exclude=MAY_DIFFER).encode("utf-8", "replace")).hexdigest()[:SHORT]
