"""What the tests of remote servers share: a connection without the rest of us, servers in processes, a free port."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from crp_mcp.core.wire.frame import Frame, Malformed
from crp_mcp.mcp.framing import Message
from crp_mcp.mcp.reaper import Reaper
from crp_mcp.mcp.remote.connection import RemoteConnection
from crp_mcp.mcp.spec import RemoteSpec
from crp_mcp.mcp.spool import Spool, SpoolFile
from crp_mcp.mcp.upstream import Events, Means

ROOT = Path(__file__).resolve().parents[2]
SERVERS = Path(__file__).resolve().parent / "servers"
SECONDS = 30.0
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
}
GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
GREETED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "odd", "version": "1"},
}


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """In an event loop of its own, with a deadline."""

    async def limited() -> Any:
        async with asyncio.timeout(SECONDS * 2):
            return await work

    return asyncio.run(limited())


def whole(frame: Frame) -> bytes:
    """All bytes of a message."""
    piece = frame.piece((0, frame.size))
    if isinstance(piece, bytes):
        return piece
    assert isinstance(piece.source, SpoolFile)
    return piece.source.read(piece.start, piece.end)


class Core:
    """What stands where the core does: it numbers requests and waits for their answers."""

    def __init__(self) -> None:
        self.upstream: RemoteConnection
        self.frames: list[Frame] = []
        self.malformed: list[Malformed] = []
        self.closed: list[str] = []
        self.inbound: dict[str, str] = {}
        self._changed = asyncio.Event()
        self._ids = 0

    def arrived(self, message: Message) -> None:
        for one in message if isinstance(message, list) else [message]:
            (self.frames if isinstance(one, Frame) else self.malformed).append(one)  # type: ignore[arg-type]
        self._changed.set()

    def ended(self, reason: str) -> None:
        self.closed.append(reason)
        self._changed.set()

    def post(self, method: str, params: dict[str, Any] | None = None) -> int:
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params or {}}
        self.upstream.send((json.dumps(message).encode(),))
        return self._ids

    def tell(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.upstream.send((json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}).encode(),))

    async def until(self, found: Callable[[], Any]) -> Any:
        async with asyncio.timeout(SECONDS):
            while not (value := found()):
                self._changed.clear()
                await self._changed.wait()
            return value

    async def frame(self, ident: int) -> Frame:
        wanted = str(ident).encode()
        return await self.until(lambda: next((f for f in self.frames if f.method is None and f.id == wanted), None))

    async def answer(self, ident: int) -> dict[str, Any]:
        return json.loads(whole(await self.frame(ident)))

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return await self.answer(self.post(method, params))

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.ask("tools/call", {"name": tool, "arguments": arguments})

    async def greet(self) -> dict[str, Any]:
        """The handshake."""
        answer = await self.ask("initialize", GREETING)
        self.tell("notifications/initialized")
        return answer


@asynccontextmanager
async def connected(url: str, tmp_path: Path, **spec: Any) -> AsyncIterator[Core]:
    """A connection of ours to a server, and nothing else of us."""
    core = Core()
    spool = Spool(tmp_path / "spool")
    reaper = Reaper()
    means = Means(reaper, spool, lambda: core.inbound)
    events = Events(core.arrived, core.ended, lambda: None)
    core.upstream = RemoteConnection(RemoteSpec("odd", url, tokens=str(tmp_path / "tokens"), **spec), means, events)
    try:
        yield core
    finally:
        begun = time.monotonic()
        await core.upstream.stop()
        assert time.monotonic() - begun < 2.0
        core.frames.clear()
        spool.close()
        reaper.close()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def process(command: Sequence[str], port: int, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a process of its own, once it takes connections."""
    child = subprocess.Popen(
        command,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port, child)
        yield child
    finally:
        child.kill()
        child.wait()


def wait_for(port: int, child: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        assert child.poll() is None, "the server ended"
        with socket.socket() as one:
            one.settimeout(0.2)
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("the server takes no connections")


def script(name: str, *options: object) -> list[str]:
    """Command of one of the servers beside these tests."""
    return [sys.executable, str(SERVERS / name), *map(str, options)]


def serve(tmp_path: Path, *options: str) -> list[str]:
    """Command of the whole of us."""
    return [sys.executable, "-m", "crp_mcp", "serve", "--store", str(tmp_path / "store"), *options]
