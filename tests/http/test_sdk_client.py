"""The SDK's own client over HTTP, in every mode it has, before real servers and before several at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp.types as types
import pytest
from mcp import Client

from tests.http.support import Front, config, fixture

pytestmark = pytest.mark.real
MODES = ("auto", "legacy", "2026-07-28")


def run(url: str, mode: str, talk: Callable[[Client], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with asyncio.timeout(60):
            async with Client(url, mode=mode, **options) as client:
                await talk(client)

    asyncio.run(main())


@pytest.mark.parametrize("mode", MODES)
def test_a_real_server_in_place(tmp_path: Path, real_server, mode: str) -> None:
    """The time server: listed with its own names, called, its result as it is."""

    async def talk(client: Client) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names[:2] == ["get_current_time", "convert_time"]
        assert "scratch_get" in names
        result = await client.call_tool("get_current_time", {"timezone": "UTC"})
        assert isinstance(result.content[0], types.TextContent)
        assert '"timezone": "UTC"' in result.content[0].text

    with Front(tmp_path / "store", "--", *real_server("time")) as front:
        run(front.url, mode, talk)


@pytest.mark.parametrize("mode", MODES)
def test_real_servers_aggregated(tmp_path: Path, real_server, repository: Path, mode: str) -> None:
    """git, time and sqlite as one server: a large diff becomes a summary that is read on through its id."""
    servers = {
        "git": real_server("git", "-r", repository),
        "time": real_server("time"),
        "sqlite": real_server("sqlite", "--db-path", tmp_path / "x.db"),
    }

    async def talk(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"git_log", "get_current_time", "list_tables", "scratch_get"} <= names
        result = await client.call_tool("git_log", {"repo_path": str(repository), "max_count": 200})
        assert isinstance(result.content[0], types.TextContent)
        text = result.content[0].text
        assert "commit" in text.lower()
        found = await client.call_tool("get_current_time", {"timezone": "Asia/Tokyo"})
        assert isinstance(found.content[0], types.TextContent)
        assert "Tokyo" in found.content[0].text

    with Front(tmp_path / "store", "--config", config(tmp_path, servers)) as front:
        run(front.url, mode, talk)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A small git repository."""
    import subprocess

    folder = tmp_path / "repository"
    folder.mkdir()
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_elicitation_reaches_the_client(tmp_path: Path, mode: str) -> None:
    """A server's question in the middle of a call is answered by the client's callback."""

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"who": "the client"})

    async def talk(client: Client) -> None:
        tool = "elicit" if mode == "legacy" else "input_required"
        result = await client.call_tool(tool, {})
        assert isinstance(result.content[0], types.TextContent)
        assert "the client" in result.content[0].text

    with Front(tmp_path / "store", "--", *fixture()) as front:
        run(front.url, mode, talk, elicitation_callback=answer)


@pytest.mark.parametrize("mode", MODES)
def test_progress_and_cancellation(tmp_path: Path, mode: str) -> None:
    """Progress arrives in order; a call that the client gives up is cancelled at the server."""

    async def talk(client: Client) -> None:
        seen: list[float] = []

        async def note(progress: float, total: float | None, message: str | None) -> None:
            seen.append(progress)

        await client.call_tool("progress", {"steps": 5, "delay": 0.01}, progress_callback=note)
        assert seen == sorted(seen)
        assert len(seen) >= 4
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                await client.call_tool("slow", {"seconds": 30})
        result = await client.call_tool("cancelled", {})
        assert isinstance(result.content[0], types.TextContent)
        assert result.content[0].text != "[]"

    with Front(tmp_path / "store", "--", *fixture()) as front:
        run(front.url, mode, talk)


def test_two_hundred_clients_at_once(tmp_path: Path) -> None:
    """All are served, and nothing of them is left."""

    async def one(url: str, n: int) -> None:
        async with Client(url, mode="2026-07-28") as client:
            result = await client.call_tool("echo", {"text": f"n{n}"})
            assert isinstance(result.content[0], types.TextContent)
            assert result.content[0].text == f"n{n}"

    async def main(url: str) -> None:
        async with asyncio.timeout(120):
            await asyncio.gather(*(one(url, n) for n in range(200)))

    with Front(tmp_path / "store", "--", *fixture()) as front:
        asyncio.run(main(front.url))
        text = front.client.get("/metrics").text
        assert "crp_mcp_http_requests_in_flight 0" in text
        assert "crp_mcp_conversations_open 1" in text
