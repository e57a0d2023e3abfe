"""Stale readings read again, and equal calls answered from the buffer, through a real server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.e2e.support import relay_command, shown, with_host

SERVER = Path(__file__).resolve().parents[1] / "servers" / "counting_server.py"
REGISTRY = """
version: 1
tools:
  - {match: "*:level", volatility: REALTIME, ttl: 0, reinvoke: safe}
  - {match: "*:fetch", volatility: STABLE, reuse: fresh}
"""


def command(tmp_path: Path, *options: str, policy: str | None = None) -> list[str]:
    registry = tmp_path / "registry.yaml"
    registry.write_text(REGISTRY)
    chosen = ["--registry", str(registry), *(["--policy", policy] if policy else [])]
    return relay_command(tmp_path / "store", *chosen, "--", sys.executable, "-S", str(SERVER), *options)


async def only_id(client: Client) -> str:
    text = shown(await client.call_tool("scratch_list", {}))
    return text.splitlines()[-1].split(" ")[0]


def test_a_stale_reading_is_read_again_from_its_server(tmp_path: Path) -> None:
    """The model asks for the stored reading and gets a new one, which supersedes it."""

    async def work(client: Client) -> None:
        await client.list_tools()
        await client.call_tool("level", {"of": "tank"})
        answer: Any = await client.call_tool("scratch_get", {"scratch_id": await only_id(client)})
        assert 'level call 2 with {"of": "tank"}' in shown(answer)
        assert "was called again" in shown(answer)
        assert "supersedes" in shown(answer)

    with_host(command(tmp_path), work)


@pytest.mark.parametrize("why", ["the server says that the tool writes", "the policy says to leave it out"])
def test_a_reading_that_may_not_be_read_again_is_left_out(tmp_path: Path, why: str) -> None:
    """Whatever the registry says: annotations and policy may only make it stricter."""
    options = ("--writes",) if "server" in why else ()
    policy = None if options else "tool-output-stale=exclude"

    async def work(client: Client) -> None:
        await client.list_tools()
        await client.call_tool("level", {"of": "tank"})
        answer = await client.call_tool("scratch_get", {"scratch_id": await only_id(client)})
        assert "fresh data needed: level(of='tank')" in shown(answer)
        assert "call 2" not in shown(answer)

    with_host(command(tmp_path, *options, policy=policy), work)


def test_an_equal_call_is_answered_from_the_buffer(tmp_path: Path) -> None:
    """The server hears of the first one only; another argument is another call."""

    async def work(client: Client) -> None:
        await client.list_tools()
        first = await client.call_tool("fetch", {"b": 1, "a": 2})
        again = await client.call_tool("fetch", {"a": 2, "b": 1})
        other = await client.call_tool("fetch", {"a": 3, "b": 1})
        assert shown(first).startswith("fetch call 1")
        assert "Answered from" in shown(again)
        assert "fetch call 1" in shown(again)
        assert shown(other).startswith("fetch call 2")

    with_host(command(tmp_path), work)
