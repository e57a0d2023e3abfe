"""One HTTP request as ASGI gives it: its headers, its body within limits, and how it is answered or refused."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crp_mcp.core.wire.answers import INVALID_REQUEST, Failure, error_line

from .stream import Gone

if TYPE_CHECKING:
    from crp_mcp.config.http import Limits

JSON = "application/json"
EVENTS = "text/event-stream"
Headers = Sequence[tuple[str, str]]
CLOSE = {"connection": "close"}
_WHOLE_TARGET = re.compile(r"https?://([^/?#]+)(/.*)?", re.IGNORECASE | re.DOTALL)
"""A target as proxies spell it: its host counts, and not the header (RFC 9112, 3.2.2)."""
SINGLE = ("host", "origin", "authorization", "content-type", "content-encoding", "mcp-session-id", "last-event-id")
"""Headers that decide something: a request that says two things is taken for neither."""


class Refusal(Exception):
    """The request is answered with this status and a JSON-RPC error. The text is for whoever wrote the client."""

    def __init__(
        self,
        status: int,
        text: str,
        *,
        code: int = INVALID_REQUEST,
        data: Any = None,
        ident: bytes = b"null",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(text)
        self.status = status
        self.body = error_line(ident, Failure(code, text, data))
        self.headers = dict(headers or {})


class Request:
    """See the module's first line. Header names are in lower case."""

    def __init__(self, scope: Mapping[str, Any], receive: Any, send: Any, limits: Limits) -> None:
        self._limits = limits
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: str = scope.get("query_string", b"").decode("latin-1")
        self.raw_headers: list[tuple[str, str]] = [
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        ]
        self.headers: dict[str, str] = {}
        for name, value in self.raw_headers:
            self.headers.setdefault(name, value)
        if whole := _WHOLE_TARGET.fullmatch(self.path):
            self.headers["host"], self.path = whole[1], whole[2] or "/"
        self.status = 0
        """What was answered; 0 before that."""
        self.sent = 0
        self.extra: list[tuple[str, str]] = []
        """Headers that every answer to this request carries."""
        self.tenant = ""
        self.rpc = ""
        """The MCP method, for the log, where it is a known one."""
        self._receive = receive
        self._send = send

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.raw_headers if key == name]

    # -- the body ------------------------------------------------------------------------------------------------

    async def body(self) -> bytes:
        """The whole body. Raises Refusal for one that is too long, too slow or packed, Gone if the client leaves."""
        limit, patience = self._limits.body_bytes, self._limits.body_seconds
        length = self.headers.get("content-length", "")
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise Refusal(415, "The body must not be compressed.")
        if length.isdigit() and int(length[:20]) > limit:
            raise self._too_long(limit)
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(4 * patience):
                while True:
                    async with asyncio.timeout(patience):
                        message = await self._receive()
                    if message["type"] != "http.request":
                        raise Gone
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > limit:
                        raise self._too_long(limit)
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise Refusal(408, "The body did not arrive in time.", headers=CLOSE) from None

    def _too_long(self, limit: int) -> Refusal:
        text = f"The body is longer than the {limit} bytes that are taken here."
        return Refusal(413, text, headers=CLOSE)

    async def gone(self) -> None:
        """Returns when the client has left."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    # -- the answer ----------------------------------------------------------------------------------------------

    async def start(self, status: int, headers: Headers) -> None:
        self.status = status
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in [*headers, *self.extra]]
        await self._put({"type": "http.response.start", "status": status, "headers": pairs})

    async def write(self, data: bytes, *, more: bool) -> None:
        """Send a part of the body. Raises Gone if the client takes nothing for too long."""
        self.sent += len(data)
        await self._put({"type": "http.response.body", "body": data, "more_body": more})

    async def _put(self, message: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(self._limits.stall_seconds):
                await self._send(message)
        except TimeoutError:
            raise Gone from None

    async def answer(self, status: int, body: bytes = b"", kind: str = JSON, headers: Headers = ()) -> None:
        """Answer in one piece."""
        about = [("content-type", kind)] if body else []
        await self.start(status, [*about, ("content-length", str(len(body))), *headers])
        await self.write(body, more=False)

    async def refuse(self, refusal: Refusal) -> None:
        await self.answer(refusal.status, refusal.body, headers=list(refusal.headers.items()))


def check_headers(request: Request, most: int) -> None:
    """Raises Refusal for headers that are too long, or that others on the way may read in another way than we do."""
    if sum(len(name) + len(value) + 4 for name, value in request.raw_headers) > most:
        raise Refusal(431, f"The headers are longer than the {most} bytes that are taken here.", headers=CLOSE)
    names = [name for name, _ in request.raw_headers]
    for name in SINGLE:
        if names.count(name) > 1:
            raise Refusal(400, f"The header {name} stands there more than once.", headers=CLOSE)
    if "transfer-encoding" in names and "content-length" in names:
        raise Refusal(400, "Transfer-Encoding and Content-Length exclude each other.", headers=CLOSE)


def accepts(request: Request) -> tuple[bool, bool]:
    """Whether the client takes JSON, and whether it takes a stream of events. Weights other than 0 do not matter."""
    json = events = False
    for value in request.all("accept"):
        for one in value.split(","):
            kind, *parameters = (part.strip().lower() for part in one.split(";"))
            if any(_is_never(parameter) for parameter in parameters):
                continue
            json = json or kind in ("*/*", "application/*", JSON)
            events = events or kind in ("*/*", "text/*", EVENTS)
    return json, events


def _is_never(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    return name.strip() == "q" and value.strip().rstrip("0") in ("0", "0.", "")


def is_json(request: Request) -> bool:
    """Whether the body is said to be JSON."""
    return request.headers.get("content-type", "").split(";")[0].strip().lower() == JSON
