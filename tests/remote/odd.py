"""An HTTP server on bare sockets that behaves as it is told, by a function that gets each request."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    writer: asyncio.StreamWriter = field(repr=False)

    @property
    def message(self) -> dict[str, Any]:
        return json.loads(self.body) if self.body else {}

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: int = 200, **headers: str) -> None:
        """The status line and headers; what follows is sent as it is, until the connection closes."""
        lines = [f"HTTP/1.1 {status} X", "connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.send("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def answer(self, body: bytes = b"", status: int = 200, **headers: str) -> None:
        headers = {"content_type": "application/json", **headers}
        await self.head(status, content_length=str(len(body)), **headers)
        await self.send(body)

    async def result(self, value: object, **headers: str) -> None:
        await self.answer(answer_to(self.message, value), **headers)

    async def events(self, **headers: str) -> None:
        await self.head(200, content_type="text/event-stream", **headers)


def answer_to(message: dict[str, Any], value: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": value}).encode()


def error_to(message: dict[str, Any], code: int, text: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": text}}).encode()


Handler = Callable[[Request], Awaitable[None]]


class Odd:
    """`handler` serves what comes; `seen` is all that came."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.seen: list[Request] = []
        self.port = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=1 << 20, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    def posts(self, method: str) -> list[Request]:
        """Messages of this method that came."""
        return [one for one in self.seen if one.method == "POST" and one.message.get("method") == method]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path, _ = head[0].split(" ", 2)
            pairs = (line.split(":", 1) for line in head[1:] if line)
            headers = {name.lower(): value.strip() for name, value in pairs}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            request = Request(method, path, headers, body, writer)
            self.seen.append(request)
            await self.handler(request)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            self._writers.discard(writer)
            writer.close()


@asynccontextmanager
async def odd(handler: Handler) -> AsyncIterator[Odd]:
    server = Odd(handler)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
