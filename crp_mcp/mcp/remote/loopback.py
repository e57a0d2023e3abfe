"""The address a browser comes back to after a login: a listener on the loopback address that takes one answer."""

from __future__ import annotations

import asyncio
import secrets
from urllib.parse import parse_qs, urlsplit

from crp_mcp.errors import ConfigError

PATH = "/callback"
PERSON_SECONDS = 600.0
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>crp-mcp</title>"
    "<body style='font-family:sans-serif;margin:4em'><h1>{title}</h1><p>{text}</p>"
)


class Loopback:
    """Open before the address is told to anybody, so that nobody else can take it."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self.state = ""
        """What the answer must carry; anything else is not from our login."""

    async def open(self, port: int | None) -> str:
        """Listen; the address to come back to. Raises ConfigError where the port is taken."""
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", port or 0, limit=64 * 1024)
        except OSError as error:
            raise ConfigError(f"port {port} of this machine cannot be listened on ({error.strerror})") from None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{PATH}"

    async def answer(self) -> dict[str, str]:
        """What the browser brought: `code` or `error`, and more. Raises ConfigError where it does not come."""
        try:
            async with asyncio.timeout(PERSON_SECONDS):
                return await self._answer
        except TimeoutError:
            raise ConfigError(f"nobody came back from the login within {PERSON_SECONDS / 60:.0f} minutes") from None

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
            status, title, text = self._take(head)
            page = _PAGE.format(title=title, text=text).encode()
            head_lines = (
                f"HTTP/1.1 {status}",
                "content-type: text/html; charset=utf-8",
                f"content-length: {len(page)}",
                "cache-control: no-store",
                "connection: close",
            )
            writer.write("\r\n".join(head_lines).encode() + b"\r\n\r\n" + page)
            await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            # Not a browser that comes back.
            return
        finally:
            writer.close()

    def _take(self, head: bytes) -> tuple[str, str, str]:
        method, _, rest = head.decode("latin-1").partition(" ")
        target = urlsplit(rest.partition(" ")[0])
        if method != "GET" or target.path != PATH:
            return "404 Not Found", "Not here", "This address waits for a login to come back."
        answer = {name: values[0] for name, values in parse_qs(target.query).items()}
        if not self.state or not secrets.compare_digest(answer.get("state", "").encode(), self.state.encode()):
            return "400 Bad Request", "Not this login", "This answer belongs to no login that is under way."
        if not self._answer.done():
            self._answer.set_result(answer)
        if "error" in answer:
            return "200 OK", "Not logged in", "The authorization server refused. You can close this window."
        return "200 OK", "Almost done", "You can close this window; the command says whether the login is complete."
