"""A host's roots, through the real server: what it names is read, within what the operator allows."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import ListRootsResult, Root

from tests.e2e.support import LIMIT, relay_command, shown

CODE = "def close_ledger(day):\n    '''Close the ledger of a day.'''\n    return day\n"


def ask(
    command: list[str], roots: list[Path], env: dict[str, str], cwd: Path, changes: bool = False, mode: Any = "legacy"
) -> list[Any]:
    """The answers to one question, by a host that works in these folders; after a change of them where asked."""

    async def list_roots(_: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=root.as_uri()) for root in roots])

    async def run() -> list[Any]:
        parameters = StdioServerParameters(command=command[0], args=command[1:], env={**os.environ, **env}, cwd=cwd)
        with anyio.fail_after(LIMIT):
            async with Client(parameters, mode=mode, list_roots_callback=list_roots) as client:
                answers = [await client.call_tool("request_context", {"query": "close the ledger"})]
                if changes:
                    roots.pop()
                    await client.send_roots_list_changed()
                    answers.append(await client.call_tool("request_context", {"query": "close the ledger"}))
                answers.append(await client.call_tool("get_context_budget", {}))
                return answers

    return anyio.run(run)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "ledger"
    root.mkdir()
    (root / "ledger.py").write_text(CODE)
    (tmp_path / "elsewhere").mkdir()
    return root


@pytest.mark.filterwarnings("ignore:The roots capability is deprecated")
def test_the_folders_a_host_works_in_are_read(tmp_path: Path, folder: Path) -> None:
    """Asked for when context is; no longer read once the host left them."""
    env = {"CLAUDE_PROJECT_DIR": str(tmp_path / "elsewhere")}
    command = relay_command(tmp_path / "store")
    first, second, budget = ask(command, [folder], env, tmp_path, changes=True)
    assert "def close_ledger(day):" in shown(first)
    assert "close_ledger" not in shown(second)
    assert budget.structured_content["roots"] == []


@pytest.mark.filterwarnings("ignore:The roots capability is deprecated")
def test_the_folders_of_a_host_of_the_new_era_are_read_too(tmp_path: Path, folder: Path) -> None:
    """It is asked in the answer to its call."""
    env = {"CLAUDE_PROJECT_DIR": str(tmp_path / "elsewhere")}
    answer, budget = ask(relay_command(tmp_path / "store"), [folder], env, tmp_path, mode="2026-07-28")
    assert "def close_ledger(day):" in shown(answer)
    assert budget.structured_content["roots"] == [str(folder)]


@pytest.mark.parametrize("limit", ["environment", "config"])
def test_named_roots_are_the_limit(tmp_path: Path, folder: Path, limit: str) -> None:
    """Where the operator named folders, a host's add nothing."""
    elsewhere = str(tmp_path / "elsewhere")
    env, options = {}, []
    if limit == "environment":
        env["CRP_MCP_ROOTS"] = elsewhere
    else:
        (tmp_path / "config.json").write_text(json.dumps({"mcpServers": {}, "crp": {"roots": [elsewhere]}}))
        options = ["--config", str(tmp_path / "config.json")]
    answer, budget = ask(relay_command(tmp_path / "store", *options), [folder], env, tmp_path)
    assert "close_ledger" not in shown(answer)
    assert budget.structured_content["roots"] == [elsewhere]
