"""The Inspector's command line as a foreign client, in both protocol eras, over stdio and over HTTP."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.suite import free_port, listening
from tests.e2e.support import relay_command

pytestmark = pytest.mark.real


def inspect(inspector: list[str], config: Path, server: str, *arguments: str, home: Path) -> Any:
    env = {**os.environ, "MCP_INSPECTOR_SECRET_STORE": "memory", "HOME": str(home)}
    done = subprocess.run(
        [*inspector, "--cli", "--config", str(config), "--server", server, *arguments, "--format", "json"],
        capture_output=True,
        text=True,
        env=env,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_foreign_client_lists_calls_and_reads_through_us(
    real_server: Callable[..., list[str]], git_repository: Path, tmp_path: Path, era: str, transport: str
) -> None:
    """Tools of a real server and ours, a call, and the same answer as without us."""
    server, inspector = real_server("time"), real_server("inspector")
    ours, port = relay_command(tmp_path / "store", "--", *server), free_port()
    front = relay_command(tmp_path / "store", "--http", f"127.0.0.1:{port}", "--", *server)
    config = tmp_path / "insp.json"
    more = {"protocolEra": "modern"} if era == "modern" else {}
    entries: dict[str, Any] = {
        name: {"command": argv[0], "args": argv[1:], **more} for name, argv in {"ours": ours, "direct": server}.items()
    }
    flags = ("--protocol-era", "modern") if era == "modern" else ()
    with listening(front, port, tmp_path / "log") if transport == "http" else nullcontext() as url:
        if url is not None:
            entries["ours"] = {"type": "streamable-http", "url": url, **more}
        config.write_text(json.dumps({"mcpServers": entries}))
        listed = inspect(inspector, config, "ours", *flags, "--method", "tools/list", home=tmp_path)
        names = [tool["name"] for tool in (listed.get("result") or listed)["tools"]]
        assert {"get_current_time", "convert_time", "scratch_get"} <= set(names)
        call = ("--method", "tools/call", "--tool-name", "convert_time", "--tool-args-json")
        given = json.dumps({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Kathmandu"})
        through = inspect(inspector, config, "ours", *flags, *call, given, home=tmp_path)
        direct = inspect(inspector, config, "direct", *flags, *call, given, home=tmp_path)
    assert through == direct
