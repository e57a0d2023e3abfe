"""mcpdo, the Inspector's client that stays connected: a form asked for in the middle of a call, in both eras, over
stdio and over HTTP.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.suite import FIXTURE, free_port, listening
from tests.e2e.support import relay_command

pytestmark = pytest.mark.real

CALLS = {
    "legacy": (
        "test_elicitation",
        {"message": "Who?"},
        {"username": "ada", "email": "ada@example.org"},
        "server-request",
    ),
    "modern": ("test_input_required_result_elicitation", {}, {"name": "Ada"}, "input-required"),
}
"""Tool, arguments, the user's answers, and what mcpdo calls the way the question came."""


class Mcpdo:
    """Its daemon, with a home of its own."""

    def __init__(self, inspector: list[str], home: Path, config: Path) -> None:
        program = Path(inspector[1]).parents[2] / "mcpdo" / "build" / "mcp-bin.js"
        self._command = [inspector[0], str(program), "--format", "json", "--config", str(config)]
        self._env = {
            **os.environ,
            "HOME": str(home),
            "MCP_INSPECTOR_SECRET_STORE": "file",
            "XDG_RUNTIME_DIR": str(home),
        }

    def __call__(self, *arguments: str) -> Any:
        done = subprocess.run(
            [*self._command, *arguments], capture_output=True, text=True, env=self._env, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def mcpdo(real_server: Callable[..., list[str]], tmp_path: Path) -> Iterator[Mcpdo]:
    client = Mcpdo(real_server("inspector"), tmp_path, tmp_path / "servers.json")
    yield client
    client("daemon", "stop")


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("era", CALLS)
def test_a_foreign_client_is_asked_and_answers_through_us(
    mcpdo: Mcpdo, tmp_path: Path, era: str, transport: str
) -> None:
    """The question comes in the era's own way, and the answer reaches the server."""
    tool, arguments, answers, origin = CALLS[era]
    server = [sys.executable, str(FIXTURE)]
    port = free_port()
    stdio = relay_command(tmp_path / "store", "--", *server)
    http = relay_command(tmp_path / "store", "--http", f"127.0.0.1:{port}", "--", *server)
    entry: dict[str, Any] = {"type": "streamable-http", "url": f"http://127.0.0.1:{port}/mcp"}
    if transport == "stdio":
        entry = {"command": stdio[0], "args": stdio[1:]}
    entry |= {"protocolEra": "modern"} if era == "modern" else {}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"ours": entry}}))
    with listening(http, port, tmp_path / "log") if transport == "http" else nullcontext():
        assert mcpdo("connect", "ours")["protocolEra"] == era
        asked = mcpdo("@ours", "tools/call", tool, json.dumps(arguments))["elicitationPending"]
        assert asked["origin"] == origin
        said = mcpdo("@ours", "elicitation/respond", asked["elicitationId"], json.dumps(answers))
        assert next(iter(answers.values())) in json.dumps(said)
        mcpdo("disconnect", "ours")
