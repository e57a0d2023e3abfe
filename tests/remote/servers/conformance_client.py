"""A client for the public conformance suite: the SDK's, on stdio, with the whole of us before the suite's server.

The suite gives the URL as the last argument, and in its environment the scenario's name and what is known beforehand.
A scenario that wants a login gets it from `crp-mcp login`, with this script as the browser.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from typing import Any

import mcp
from mcp import types
from mcp.client.stdio import StdioServerParameters

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
VERSION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The address that the suite knows a client by."""
ROUNDS = 3


def crp(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "crp_mcp", *arguments]


def log_in(url: str, *scope: str) -> bool:
    """`crp-mcp login`, and what a person would do in the browser."""
    more = [word for one in scope for word in ("--scope", one)]
    if "client_id" in CONTEXT and SCENARIO == "auth/pre-registration":
        more += ["--client-id", CONTEXT["client_id"], "--client-secret", CONTEXT["client_secret"]]
    if SCENARIO == "auth/basic-cimd":
        more += ["--client-metadata-url", DOCUMENT]
    child = subprocess.Popen(crp("login", "--url", url, "--no-browser", *more), stdout=subprocess.PIPE, text=True)
    assert child.stdout
    for line in child.stdout:
        if line.startswith("http"):
            try:
                urllib.request.urlopen(line.strip(), timeout=20).read()
            except urllib.error.HTTPError as error:
                print("browser:", error, file=sys.stderr)
                child.terminate()
    return child.wait() == 0


async def elicited(context: Any, params: Any) -> types.ElicitResult:
    schema = getattr(params, "requested_schema", None) or {}
    properties = schema.get("properties", {})
    content = {name: one["default"] for name, one in properties.items() if "default" in one}
    return types.ElicitResult(action="accept", content=content or {"confirmed": True, "name": "x"})


async def use(url: str, folder: str) -> str:
    """Connect, and do what can be done. The text of what failed, if something did."""
    line = crp("serve", "--no-tools", "--store", folder, "--url", url)
    server = StdioServerParameters(command=line[0], args=line[1:], env=dict(os.environ))
    mode = "2026-07-28" if VERSION == "2026-07-28" else "legacy"
    try:
        async with mcp.Client(server, mode=mode, elicitation_callback=elicited) as client:
            return await look_around(client)
    except Exception as error:  # noqa: BLE001 - what went wrong is told
        return repr(leaves(error))


def leaves(error: BaseException) -> list[BaseException]:
    return (
        [leaf for one in error.exceptions for leaf in leaves(one)] if isinstance(error, BaseExceptionGroup) else [error]
    )


async def look_around(client: Any) -> str:
    failed = ""
    calls = CONTEXT.get("toolCalls")
    tools = (await client.list_tools()).tools
    for call in calls or [{"name": tool.name, "arguments": arguments_for(tool)} for tool in tools]:
        failed += await attempt(client.call_tool(call["name"], call.get("arguments") or {}))
    if client.server_capabilities and client.server_capabilities.resources:
        for resource in (await client.list_resources()).resources:
            failed += await attempt(client.read_resource(resource.uri))
    if client.server_capabilities and client.server_capabilities.prompts:
        for prompt in (await client.list_prompts()).prompts:
            failed += await attempt(client.get_prompt(prompt.name))
    return failed


async def attempt(work: Any) -> str:
    try:
        await work
    except Exception as error:  # noqa: BLE001 - what fails is told, and the next thing is tried
        return f"{error!r}\n"
    return ""


def arguments_for(tool: Any) -> dict[str, Any]:
    usual = {"integer": 5, "number": 5, "string": "x", "boolean": True, "array": [], "object": {}}
    properties = (tool.input_schema or {}).get("properties", {})
    return {name: usual.get(str(one.get("type")), "x") for name, one in properties.items()}


def main() -> int:
    url = sys.argv[-1]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CRP_MCP_TOKENS"] = f"{folder}/tokens"
        for _ in range(ROUNDS):
            failed = asyncio.run(use(url, folder))
            if "wants a login" in failed or "the login any more" in failed:
                scopes: tuple[str, ...] = ()
            elif found := re.search(r"--scope '([^']*)'", failed):
                scopes = (found[1],)
            else:
                break
            if not log_in(url, *scopes):
                break
    print(failed, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
