"""The SDK's own client as the host, in both eras: what a typed client sees through us is what it sees without us."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from .host import fixture, in_place, proxied

mcp = pytest.importorskip("mcp")
from mcp import types  # noqa: E402
from mcp.client.stdio import StdioServerParameters  # noqa: E402

MODES = ["legacy", "2026-07-28", "auto"]


def drive(command: list[str], mode: str, use: Callable[[Any], Awaitable[Any]], **options: Any) -> Any:
    """Run `use(client)` with the SDK's client on this command."""

    async def run() -> Any:
        parameters = StdioServerParameters(command=command[0], args=command[1:])
        with anyio.fail_after(60):
            async with mcp.Client(parameters, mode=mode, **options) as client:
                return await use(client)

    return anyio.run(run)


async def look_around(client: Any) -> dict:
    """Everything a typed client can list, read and call."""
    progress: list[float] = []

    async def note(value: float, total: float | None, message: str | None) -> None:
        progress.append(value)

    results = {
        "tools": await client.list_tools(),
        "prompts": await client.list_prompts(),
        "resources": await client.list_resources(),
        "templates": await client.list_resource_templates(),
        "read": await client.read_resource("fixture://fixture/1"),
        "prompt": await client.get_prompt("greet"),
        "echo": await client.call_tool("echo", {"text": "hi"}),
        "typed": await client.call_tool("typed", {}),
        "fail": await client.call_tool("fail", {}),
        "image": await client.call_tool("image", {"bytes": 900_000}),
        "progress": await client.call_tool("progress", {"steps": 3}, progress_callback=note),
    }
    with pytest.raises(Exception, match="as asked") as caught:
        await client.call_tool("error", {})
    results["error"] = caught.value.error
    assert progress == sorted(progress)
    assert len(progress) <= 3
    return {name: value.model_dump(mode="json") for name, value in results.items()}


@pytest.mark.parametrize("mode", MODES)
def test_a_typed_client_sees_no_difference(tmp_path: Path, mode: str) -> None:
    """P12 and the rest: the same models with us and without us."""
    assert drive(in_place(tmp_path), mode, look_around) == drive(fixture(), mode, look_around)


@pytest.mark.parametrize("mode", MODES)
def test_a_replaced_result_does_not_make_the_client_reject(tmp_path: Path, mode: str) -> None:
    """P1: no output schema is left to check against, and the client takes the summary."""

    async def use(client: Any) -> Any:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["typed"].output_schema is None
        return await client.call_tool("typed", {"rows": 1000})

    result = drive(in_place(tmp_path, replace=1000), mode, use)
    assert result.content[0].text.startswith("summary of")
    assert result.structured_content is None


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_questions_reach_the_clients_callbacks(tmp_path: Path, mode: str) -> None:
    """P9: elicitation, sampling and roots, answered by the client."""

    async def elicit(context: Any, params: Any) -> Any:
        return types.ElicitResult(action="accept", content={"who": "me"})

    async def roots(context: Any) -> Any:
        return types.ListRootsResult(roots=[types.Root(uri="file:///x")])

    async def use(client: Any) -> Any:
        return [json.loads((await client.call_tool(tool, {})).content[0].text) for tool in ("elicit", "roots")]

    command = in_place(tmp_path, "--legacy")
    elicited, listed = drive(command, mode, use, elicitation_callback=elicit, list_roots_callback=roots)
    assert elicited["result"] == {"action": "accept", "content": {"who": "me"}}
    assert listed["result"]["roots"][0]["uri"] == "file:///x"


def test_input_required_is_driven_by_the_client(tmp_path: Path) -> None:
    """2026-07-28: the client asks its user and calls again; the state comes back as it was."""

    async def elicit(context: Any, params: Any) -> Any:
        return types.ElicitResult(action="accept", content={"who": "me"})

    async def use(client: Any) -> Any:
        return json.loads((await client.call_tool("input_required", {})).content[0].text)

    got = drive(
        in_place(tmp_path, replace=0, passthrough=["input_required"]), "2026-07-28", use, elicitation_callback=elicit
    )
    assert got["state"] == "opaque-1"
    assert got["got"]["who"]["content"] == {"who": "me"}


def test_a_probing_client_falls_back_through_us(tmp_path: Path) -> None:
    """Servers of the old era in place and aggregated: the client ends on the handshake."""

    async def use(client: Any) -> Any:
        await client.list_tools()
        return client.protocol_version

    servers = [{"name": name, "argv": fixture(f"--name={name}", "--legacy")} for name in ("one", "two")]
    for command in (in_place(tmp_path, "--legacy"), proxied(tmp_path, servers)):
        assert drive(command, "auto", use) == "2025-11-25"


def test_the_real_sdk_server_in_both_eras(tmp_path: Path) -> None:
    """A server built on the SDK, wrapped in place: called in each era it speaks."""
    script = tmp_path / "server.py"
    script.write_text(
        "from mcp.server import MCPServer\n"
        "server = MCPServer('real')\n"
        "@server.tool()\n"
        "def double(n: int) -> int:\n"
        "    return 2 * n\n"
        "server.run('stdio')\n"
    )

    async def use(client: Any) -> Any:
        return (await client.call_tool("double", {"n": 21})).structured_content, client.protocol_version

    spec = {"argv": [sys.executable, str(script)]}
    assert drive(in_place(tmp_path, spec=spec), "legacy", use) == ({"result": 42}, "2025-11-25")
    assert drive(in_place(tmp_path, spec=spec), "auto", use) == ({"result": 42}, "2026-07-28")
