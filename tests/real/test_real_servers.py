"""The real upstream servers themselves: installed whole, and answering. Other tests build on this."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.real

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "crp-mcp-tests", "version": "1"},
    },
}


def ask(command: list[str], *messages: dict[str, Any]) -> dict[Any, Any]:
    """Send messages to a server started for this alone; its answers by id. EOF ends it."""
    lines = "".join(json.dumps(message) + "\n" for message in messages)
    wanted = {message["id"] for message in messages if "id" in message}
    answers: dict[Any, Any] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(lines)
        server.stdin.flush()
        for line in server.stdout:
            answer = json.loads(line)
            answers[answer.get("id")] = answer
            if wanted <= answers.keys():
                break
        server.stdin.close()
        server.stdout.read()
        server.wait(timeout=30)
    return answers


ARGUMENTS: dict[str, Callable[[Path], list[str | Path]]] = {
    "git": lambda repository: ["-r", repository],
    "git-legacy": lambda repository: ["-r", repository],
    "time": lambda _: [],
    "sqlite": lambda repository: ["--db-path", repository / "data base.db"],
    "fetch": lambda _: [],
    "everything": lambda _: [],
    "filesystem": lambda repository: [repository],
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_real_server_starts_and_lists_tools_the_registry_knows(
    name: str, real_server: Callable[..., list[str]], git_repository: Path
):
    """Each server shakes hands over stdio and lists its tools, and the shipped registry has a rule for most of them."""
    from crp_mcp.config import load_registry

    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    answers = ask(real_server(name, *ARGUMENTS[name](git_repository)), INITIALIZE, initialized, listing)
    assert answers[1]["result"]["protocolVersion"] == "2025-11-25"
    tools = [tool["name"] for tool in answers[2]["result"]["tools"]]
    known = [tool for tool in tools if load_registry().rules_for(name, tool)]
    assert tools
    assert len(known) == len(tools) or name == "everything"
