"""A host on the official SDK, talking to real servers directly and through the relay."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

LIMIT = 60.0


def relay_command(store: Path, *arguments: str) -> list[str]:
    """The command line a host's configuration would hold."""
    return [sys.executable, "-m", "crp_mcp", "serve", "--store", str(store), *arguments]


def with_host(command: Sequence[str], work: Callable[[Client], Awaitable[Any]], mode: str = "legacy") -> Any:
    """Run `work` with a host connected to a server; the server is gone afterwards."""

    async def run() -> Any:
        parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(os.environ))
        with anyio.fail_after(LIMIT):
            async with Client(parameters, mode=mode) as client:
                return await work(client)

    return anyio.run(run)


def shown(result: Any) -> str:
    """The text a model reads of a result."""
    return "\n".join(block.text for block in result.content if block.type == "text")
