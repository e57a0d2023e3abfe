"""A client on the SDK for the suite's client scenarios: does with any server what those scenarios want to see.

`conformance_client.py URL` goes to the server itself, `--through STORE URL` by way of the proxy.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
import urllib.request
from contextlib import suppress
from typing import Any

import mcp_types as t
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

NUMBERS = {"a": 5, "b": 3}
NO_ANSWER = 60.0


async def accept_defaults(context: Any, params: t.ElicitRequestParams) -> t.ElicitResult:
    """Every field as the server would have it."""
    schema = params.requested_schema if isinstance(params, t.ElicitRequestFormParams) else {}
    fields = {name: field.get("default", True) for name, field in schema.get("properties", {}).items()}
    return t.ElicitResult(action="accept", content=fields)


async def calls_of(tools: list[t.Tool]) -> list[tuple[str, dict[str, Any]]]:
    """What is to be called: what the scenario says, or everything there is."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if "toolCalls" in context:
        return [(call["name"], call["arguments"]) for call in context["toolCalls"]]
    schemas = {tool.name: tool.input_schema for tool in tools}
    rich = schemas.get("json_schema_2020_12_tool")
    calls: list[tuple[str, dict[str, Any]]] = []
    for name, schema in schemas.items():
        properties = schema.get("properties") or {}
        if "schema" in properties:
            calls.append((name, {"schema": rich}))
        else:
            calls.append((name, {key: NUMBERS.get(key, "x") for key in properties}))
    return [call for call in calls if not call[0].startswith(("scratch_", "context_", "claim_"))]


async def visit(client: Client) -> None:
    """Everything a host may do. A server that lacks something says so, and that is that."""
    tools = (await client.list_tools()).tools
    for name, arguments in await calls_of(tools):
        with suppress(MCPError):
            await client.call_tool(name, arguments)
    with suppress(MCPError):
        for resource in (await client.list_resources()).resources:
            await client.read_resource(str(resource.uri))
    with suppress(MCPError):
        for prompt in (await client.list_prompts()).prompts:
            await client.get_prompt(prompt.name)


def log_in(url: str) -> None:
    """What the operator does once for a server that wants it: `crp-mcp login`, with this script as the browser."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    options = ["--client-metadata-url", "https://conformance-test.local/client-metadata.json"]
    if "client_id" in context:
        options = ["--client-id", context["client_id"], "--client-secret", context.get("client_secret", "")]
    browser = f"{shlex.quote(sys.executable)} {shlex.quote(__file__)} --browse %s &"
    env = {**os.environ, "BROWSER": browser}
    subprocess.run([sys.executable, "-m", "crp_mcp", "login", "--url", url, *options], env=env, check=True)


async def main() -> None:
    *through, url = sys.argv[1:]
    target: Any = url
    if through == ["--browse"]:
        urllib.request.urlopen(url).read()  # noqa: ASYNC210 - an authorization page that says yes at once
        return
    if through:
        os.environ["CRP_MCP_TOKENS"] = f"{through[1]}/tokens-{os.getpid()}"
        if os.environ.get("MCP_CONFORMANCE_SCENARIO", "").startswith("auth/"):
            log_in(url)
        command = ["-m", "crp_mcp", "serve", "--store", through[1], "--no-tools", "--url", url]
        target = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    modern = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "") >= "2026"
    mode: Any = "auto" if modern else "legacy"
    async with asyncio.timeout(NO_ANSWER):
        async with Client(target, mode=mode, elicitation_callback=accept_defaults) as client:
            await visit(client)


if __name__ == "__main__":
    asyncio.run(main())
