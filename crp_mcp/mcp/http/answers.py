"""Status and headers of an answer that is sent as JSON: codes of the newer revision, challenges, our own headers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from crp_mcp.core.headers import response_headers
from crp_mcp.core.wire.frame import text_of
from crp_mcp.core.wire.scan import NotJson

from .headers import STATUSES
from .outgoing import Outgoing
from .request import Headers

LOOKED_INTO = 256 * 1024
"""Longer answers are results of servers, which have neither."""
HTTP_KEY = "dev.crp/http"
OURS = ("tools/call", "resources/read")
"""What we answer ourselves, or replace the answer of: only there are our headers ours."""

Status = Callable[[Outgoing], tuple[int, Headers]]


class Answers:
    """`owns_uri`: whether a resource is ours."""

    def __init__(self, owns_uri: Callable[[str], bool]) -> None:
        self._owns_uri = owns_uri

    def handshake(self, method: str, uri: str | None = None) -> Status:
        """Errors of the handshake revisions have status 200, like all answers."""
        return lambda message: self._read(message, method, uri, modern=False)

    def modern(self, method: str, uri: str | None = None) -> Status:
        return lambda message: self._read(message, method, uri, modern=True)

    def _read(self, message: Outgoing, method: str, uri: str | None, *, modern: bool) -> tuple[int, Headers]:
        if message.size > LOOKED_INTO or message.in_memory < message.size:
            return 200, ()
        try:
            error = message.top("error")
            if error is not None:
                return _of_error(json.loads(error), modern)
            return 200, self._own(message, method, uri)
        except (NotJson, ValueError, RecursionError):
            return 200, ()

    def _own(self, message: Outgoing, method: str, uri: str | None) -> Headers:
        if method not in OURS or (method == "resources/read" and not (uri and self._owns_uri(uri))):
            return ()
        if text_of(message.inner("result", "resultType")) not in (None, "complete"):
            return ()
        meta = message.inner("result", "_meta")
        return tuple(response_headers(json.loads(meta)).items()) if meta and b"dev.crp/" in meta else ()


def _of_error(error: Any, modern: bool) -> tuple[int, Headers]:
    """A server's challenge becomes one of ours; else the status is that of the code."""
    data = error.get("data") if isinstance(error, dict) else None
    http = data.get(HTTP_KEY) if isinstance(data, dict) else None
    if isinstance(http, dict) and http.get("status") in (401, 403):
        challenge = http.get("wwwAuthenticate")
        if isinstance(challenge, str) and challenge.isascii() and challenge.isprintable() and len(challenge) < 4000:
            return http["status"], (("www-authenticate", challenge),)
        return http["status"], ()
    code = error.get("code") if isinstance(error, dict) else None
    return (STATUSES.get(code, 200) if modern and isinstance(code, int) else 200), ()
