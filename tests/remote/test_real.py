"""Real servers over HTTP behind the whole of us on stdio, with the SDK's client: the same as without us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp
import pytest
from mcp import types
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters

from .support import ROOT, free_port, process, script, serve

Server = tuple[str, str]
"""URL, and the kind of its transport."""


async def asked(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ada", "color": "red", "number": 3})


async def sampled(context: Any, params: Any) -> types.CreateMessageResult:
    content = types.TextContent(type="text", text="said the model")
    return types.CreateMessageResult(role="assistant", content=content, model="m", stop_reason="endTurn")


def drive(target: Callable[[], Any], mode: str, use: Callable[[Any], Awaitable[Any]]) -> Any:
    """Run `use(client)` with the SDK's client on what `target()` gives."""

    async def go() -> Any:
        with anyio.fail_after(90):
            callbacks = {"elicitation_callback": asked, "sampling_callback": sampled}
            async with mcp.Client(target(), mode=mode, **callbacks) as client:
                return await use(client)

    return anyio.run(go)


def directly(server: Server) -> Callable[[], Any]:
    url, kind = server
    return (lambda: sse_client(url)) if kind == "sse" else (lambda: url)


def through_us(server: Server, tmp_path: Path) -> Callable[[], Any]:
    line = serve(tmp_path, "--no-tools", "--url", server[0])
    return lambda: StdioServerParameters(command=line[0], args=line[1:], env=dict(os.environ))


async def look_around(client: Any) -> dict[str, Any]:
    """What a typed client sees of `server-everything`."""
    progress: list[float] = []

    async def note(value: float, total: float | None, message: str | None) -> None:
        progress.append(value)

    tools = await client.list_tools()
    names = {tool.name for tool in tools.tools}
    seen = {
        "tools": tools,
        "resources": await client.list_resources(),
        "templates": await client.list_resource_templates(),
        "prompts": await client.list_prompts(),
        "echo": await client.call_tool("echo", {"message": "hé"}),
        "image": await client.call_tool("get-tiny-image", {}),
        "long": await client.call_tool(
            "trigger-long-running-operation", {"duration": 1, "steps": 4}, progress_callback=note
        ),
    }
    seen["read"] = await client.read_resource(seen["resources"].resources[0].uri)
    for name, given in (
        ("trigger-sampling-request", {"prompt": "hi", "maxTokens": 5}),
        ("trigger-elicitation-request", {}),
    ):
        if name in names:
            seen[name] = await client.call_tool(name, given)
    assert progress == sorted(progress)
    for tool in tools.tools:
        # Left out on purpose where a summary may come in a result's place.
        tool.output_schema = None
    return {name: value.model_dump(mode="json") for name, value in seen.items()}


@pytest.fixture(scope="module", params=["streamableHttp", "sse"])
def everything(request: pytest.FixtureRequest, real_server: Callable[..., list[str]]) -> Iterator[Server]:
    """`server-everything`, in each of its HTTP modes."""
    port = free_port()
    with process(real_server("everything", request.param), port, PORT=str(port)):
        sse = request.param == "sse"
        yield f"http://127.0.0.1:{port}/{'sse' if sse else 'mcp'}", "sse" if sse else "http"


@pytest.mark.real
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_real_server_looks_the_same(everything: Server, tmp_path: Path, mode: str) -> None:
    """Tools, resources, prompts, results, progress, sampling, elicitation: equal with us and without us."""
    ours = drive(through_us(everything, tmp_path), mode, look_around)
    assert ours == drive(directly(everything), mode, look_around)
    assert {"trigger-sampling-request", "trigger-elicitation-request"} <= set(ours)


@pytest.fixture(scope="module", params=["", "json", "stateless"])
def sdk(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server on the SDK, of both eras, answering in each of its ways."""
    port = free_port()
    with process(script("sdk_server.py", port, *request.param.split()), port):
        yield f"http://127.0.0.1:{port}/mcp", "http"


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_a_server_of_both_eras_looks_the_same_in_each(sdk: Server, tmp_path: Path, mode: str) -> None:
    """The host's era is the server's; arguments that go into headers too are taken."""

    async def use(client: Any) -> dict[str, Any]:
        tools = await client.list_tools()
        echo = await client.call_tool("echo", {"text": "zwölf"})
        slow = await client.call_tool("slow", {"text": "x"})
        return {name: value.model_dump(mode="json") for name, value in {"t": tools, "e": echo, "s": slow}.items()}

    assert drive(through_us(sdk, tmp_path), mode, use) == drive(directly(sdk), mode, use)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_flood_from_a_remote_server_becomes_a_summary(sdk: Server, tmp_path: Path, mode: str) -> None:
    """Capture is the same as for any other server, and nothing is lost."""
    line = serve(tmp_path, "--url", sdk[0])

    async def use(client: Any) -> tuple[str, str]:
        await client.list_tools()
        result = await client.call_tool("rows", {"rows": 60_000})
        text = result.content[0].text
        ident = next(word for word in text.replace(";", " ").split() if word.startswith("scratch_"))
        whole = await client.call_tool("scratch_get", {"scratch_id": ident, "grep": "row 59999"})
        return text, json.dumps(whole.model_dump(mode="json"))

    text, found = drive(lambda: StdioServerParameters(command=line[0], args=line[1:], env=dict(os.environ)), mode, use)
    assert len(text) < 2000
    assert "row 59999" in found


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_programs_and_servers_over_http_are_one(sdk: Server, tmp_path: Path, mode: str) -> None:
    """A config file with both, and one that cannot be reached: the tools of the others are there, in either era."""
    fixture = [sys.executable, str(ROOT / "tests" / "servers" / "fixture_server.py")]
    servers = {
        "far": {"url": sdk[0]},
        "near": {"command": fixture[0], "args": fixture[1:], "deny": ["echo"]},
        "gone": {"url": f"http://127.0.0.1:{free_port()}/mcp"},
    }
    config = tmp_path / "servers.json"
    config.write_text(json.dumps({"mcpServers": servers}))
    line = serve(tmp_path, "--no-tools", "--config", str(config))

    async def use(client: Any) -> tuple[set[str], str, str]:
        names = {tool.name for tool in (await client.list_tools()).tools}
        far = await client.call_tool("echo", {"text": "far"})
        near = await client.call_tool("fail", {})
        return names, far.content[0].text, near.content[0].text

    target = StdioServerParameters(command=line[0], args=line[1:], env=dict(os.environ))
    names, far, near = drive(lambda: target, mode, use)
    assert {"echo", "rows", "fail", "typed"} <= names
    assert far == "far"
    assert near


def test_the_http_library_is_loaded_for_remote_servers_alone(tmp_path: Path) -> None:
    """Neither it nor the SDK is there when a program is served, nor is the SDK for a remote server."""
    names = ["crp_mcp.cli.serve", "crp_mcp.mcp.front", "crp_mcp.mcp.stdio", "crp_mcp.mcp.hub", "crp_mcp.mcp.upstream"]
    look = (
        "import sys, importlib; [importlib.import_module(n) for n in {names!r}]; print({modules!r} & set(sys.modules))"
    )
    heavy = {"httpx2", "httpcore2", "mcp", "pydantic"}
    for more, not_there in (
        ([], heavy),
        (["crp_mcp.mcp.remote.streamable", "crp_mcp.mcp.remote.older"], {"mcp", "pydantic"}),
    ):
        code = look.format(names=[*names, *more], modules=not_there)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout == "set()\n"
