"""Hosts and servers of different eras with the HTTP front between them: the same bridges, other wires."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.http.support import Front, config
from tests.http.test_sdk_client import run

from .host import META, fixture
from .test_bridges import BACKS, MODERN

HANDSHAKE_SERVER, MODERN_SERVER = fixture("--legacy", "--name=old"), fixture("--modern", "--name=new")
TOOLS = {"old": "elicit", "new": "input_required"}


@pytest.mark.parametrize(("mode", "server"), [(MODERN, "old"), ("legacy", "new")])
def test_questions_over_http(tmp_path: Path, mode: str, server: str) -> None:
    """Asked in the client's era and answered by its callback; several calls at once keep apart."""
    command = HANDSHAKE_SERVER if server == "old" else MODERN_SERVER

    async def talk(client: Any) -> None:
        async def ask() -> Any:
            return json.loads((await client.call_tool(TOOLS[server], {})).content[0].text)

        for answer in [await ask(), *await asyncio.gather(*(ask() for _ in range(4)))]:
            assert {"who": "me"} in (
                answer.get("result", {}).get("content"),
                answer.get("got", {}).get("who", {}).get("content"),
            )
        seen: list[float] = []

        async def note(progress: float, total: float | None, message: str | None) -> None:
            seen.append(progress)

        await client.call_tool("progress", {"steps": 3, "delay": 0.05}, progress_callback=note)
        assert seen == [0, 1, 2]

    with Front(tmp_path / "store", "--no-tools", "--", *command) as front:
        run(front.url, mode, talk, **BACKS)


@pytest.mark.parametrize("mode", ["auto", "legacy", MODERN])
def test_servers_of_both_eras_over_http(tmp_path: Path, mode: str) -> None:
    """A mixed set serves any client."""

    async def talk(client: Any) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"old_elicit", "new_input_required"} <= names
        for name in ("old_elicit", "new_input_required"):
            assert "me" in (await client.call_tool(name, {})).content[0].text

    servers = {"old": HANDSHAKE_SERVER, "new": MODERN_SERVER}
    with Front(tmp_path / "store", "--config", config(tmp_path, servers)) as front:
        run(front.url, mode, talk, **BACKS)


def test_a_state_of_another_conversation(tmp_path: Path) -> None:
    """What a client was given brings it back there alone."""
    able = {META + "clientCapabilities": {"elicitation": {}}}
    with Front(tmp_path / "store", "--no-tools", "--", *HANDSHAKE_SERVER) as front:
        one, two = ({**able, "dev.crp/conversation": name} for name in ("one", "two"))
        call = {"name": "elicit", "arguments": {}}
        held = front.modern("tools/call", call, meta=one).json()["result"]
        assert held["resultType"] == "input_required"
        back = {
            **call,
            "requestState": held["requestState"],
            "inputResponses": {key: {"action": "decline"} for key in held["inputRequests"]},
        }
        refused = front.modern("tools/call", back, meta=two)
        assert refused.json()["error"]["code"] == -32602
        done = front.modern("tools/call", back, meta=one).json()["result"]
        assert json.loads(done["content"][0]["text"]) == {"result": {"action": "decline"}}
