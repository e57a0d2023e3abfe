"""What HTTP says instead of an answer -> an error a person can act on. Never a body, never a secret."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from crp_mcp.core.wire.answers import CONNECTION_CLOSED, HTTP_DATA, METHOD_NOT_FOUND, UNKNOWN, Failure
from crp_mcp.core.wire.scan import NotJson, items, members

_LONGEST_WAIT = 30.0
"""A server that asks for a longer pause than this is not waited for."""
_PARAMETER = re.compile(r'([A-Za-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e ]+")


_NOT_THE_SERVER = (401, 403, 407, 429)
"""Said by what stands before a server, which has not seen the request."""
_PERHAPS_NOT = (408,)
"""The same, but it may have; so with all from 500 on."""


class Fault(Exception):
    """A request got no answer. The text completes "The MCP server X …".

    `sent`: it may have been run. `passing`: it may well succeed a moment later. `reached`: whether the server itself
    has seen it and does not take it, which tells something of the server; None: unknown. `http`: what HTTP said.
    """

    def __init__(
        self,
        text: str,
        *,
        sent: bool = True,
        passing: bool = False,
        reached: bool | None = None,
        code: int = CONNECTION_CLOSED,
        http: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        super().__init__(text)
        self.sent = sent
        self.passing = passing
        self.reached = False if reached is None and not sent else reached
        self.code = code
        self.http = http

    def failure(self, server: str) -> Failure:
        about = {**self.http, **({} if self.reached else {"reached": UNKNOWN if self.reached is None else False})}
        return Failure(self.code, f"The MCP server {server!r} {self}.", {HTTP_DATA: about} if about else None)


def status_fault(status: int, headers: Mapping[str, str], method: str) -> Fault:
    """What an HTTP status that is no success means for a request."""
    wait = headers.get("retry-after")
    http = {"status": status, **({"retryAfter": wait} if wait else {})}
    reached = False if status in _NOT_THE_SERVER else None if status in _PERHAPS_NOT or status >= 500 else True
    said = f"answered {method} with HTTP {status}{_phrase(status)}"
    code = METHOD_NOT_FOUND if method == "server/discover" and status in (404, 405) else CONNECTION_CLOSED
    return Fault(f"{said}{_advice(status, wait)}", code=code, reached=reached, http=http)


def _phrase(status: int) -> str:
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""


def _advice(status: int, wait: str | None) -> str:
    if status in (404, 405, 410):
        return "; check that its URL is the one for MCP"
    if status == 403:
        return "; it does not allow this to the credentials it was given"
    if status == 407:
        return "; the HTTP proxy on the way wants credentials (HTTPS_PROXY)"
    if status == 413:
        return "; the message is larger than it takes"
    if status in (429, 503):
        seconds = retry_after({"retry-after": wait}) if wait else None
        return "; try again" + (f" in {seconds:.0f} s" if seconds else " later")
    return "; see the server's own log" if status >= 500 else ""


def retry_after(headers: Mapping[str, str | None], now: float | None = None) -> float | None:
    """Seconds that `Retry-After` asks for."""
    value = (headers.get("retry-after") or "").strip()
    if value.isdigit() and len(value) < 10:
        return float(value)
    try:
        at = parsedate_to_datetime(value).timestamp()
    except ValueError:
        return None
    if now is None:
        import time

        now = time.time()
    return max(0.0, at - now)


def pause_before_retry(status: int, headers: Mapping[str, str]) -> float | None:
    """How long to wait before a request that does no harm is made again; None: it is not to be made again."""
    if status not in (429, 503):
        return None
    wait = retry_after(headers)
    return wait if wait is not None and wait <= _LONGEST_WAIT else None


def challenge(headers: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a `WWW-Authenticate: Bearer …`, names in lower case."""
    value = headers.get("www-authenticate") or ""
    at = value.lower().find("bearer")
    if at < 0:
        return {}
    found = _PARAMETER.findall(value[at:])
    return {name.lower(): quoted.replace("\\", "") if quoted else plain for name, quoted, plain in found}


def wanted_scope(headers: Mapping[str, str]) -> str | None:
    """The scope a challenge asks for, if it is one that may be shown."""
    scope = challenge(headers).get("scope")
    return scope if scope and len(scope) <= 500 and _SCOPE.fullmatch(scope) else None


def rpc_error(body: bytes, ident: bytes) -> tuple[bytes, bool] | None:
    """A JSON-RPC error in the body of an HTTP error, under the id of its request; None where there is none.

    With it, whether the server had read the request's id.
    """
    body = body.strip().replace(b"\r", b" ").replace(b"\n", b" ")
    try:
        if body[:1] == b"[":
            first, *rest = items(body)
            body = body[slice(*first)] if not rest else b""
        found = members(body)
        error = body[slice(*found["error"])]
        members(error)
        value = json.loads(body)
    except (NotJson, KeyError, ValueError, RecursionError):
        return None
    if not isinstance(value["error"].get("code"), int):
        return None
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (ident, error), value.get("id") is not None


def says_session(line: bytes) -> bool:
    """Whether an error's text is about a session. Many servers say so with a 400 where the protocol has a 404."""
    message = json.loads(line)["error"].get("message")
    return isinstance(message, str) and "session" in message.lower()
