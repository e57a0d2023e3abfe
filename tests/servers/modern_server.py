"""A server on the SDK that speaks protocol 2026-07-28 alone: hosts of the handshake need a bridge to it."""

from __future__ import annotations

import json
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError

BUS = InMemorySubscriptionBus()
NAMES = ["ask", "wizard", "grow", "touch", "work", "numbers"]
OBJECT = {"type": "object"}
WHO = {"type": "object", "properties": {"who": {"type": "string"}}}


def form(message: str) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=WHO))


def said(value: Any, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=json.dumps(value))], **more)


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    tools = [types.Tool(name=name, input_schema=OBJECT) for name in NAMES]
    schemas = {"numbers": {"type": "array", "items": {"type": "integer"}}}
    tools = [tool.model_copy(update={"output_schema": schemas.get(tool.name)}) for tool in tools]
    return types.ListToolsResult(tools=tools, ttl_ms=5000, cache_scope="public")


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
    given = {
        key: value.model_dump(mode="json", exclude_none=True) for key, value in (params.input_responses or {}).items()
    }
    if params.name == "ask":
        if given:
            return said(given)
        sample = types.CreateMessageRequestParams(
            messages=[types.SamplingMessage(role="user", content=types.TextContent(type="text", text="hi"))],
            max_tokens=5,
        )
        asked = {
            "who": form("Who?"),
            "text": types.CreateMessageRequest(params=sample),
            "where": types.ListRootsRequest(),
        }
        return types.InputRequiredResult(input_requests=asked, request_state="asked")
    if params.name == "wizard":
        step = int(params.request_state or 0)
        if step == 3:
            return said({"steps": step, "last": given})
        return types.InputRequiredResult(input_requests={f"step{step}": form(str(step))}, request_state=str(step + 1))
    if params.name == "grow":
        NAMES.append("grown")
        await BUS.publish(ToolsListChanged())
    if params.name == "touch":
        await BUS.publish(ResourceUpdated(uri="x://watched"))
    if params.name == "work":
        for step in range(3):
            await ctx.session.report_progress(step, 3)
            await ctx.session.send_log_message("info", {"step": step})
    if params.name == "numbers":
        return said([1, 2], structured_content=[1, 2])
    return said("done")


async def read_resource(ctx: Any, params: Any) -> types.ReadResourceResult:
    if str(params.uri) != "x://watched":
        raise MCPError(code=-32602, message="Resource not found", data={"uri": str(params.uri)})
    contents = [types.TextResourceContents(uri=params.uri, text="watched")]
    return types.ReadResourceResult(contents=contents, ttl_ms=1, cache_scope="private")


async def refuse_handshake(ctx: Any, call_next: Any) -> Any:
    if ctx.method == "initialize":
        supported = {"supported": ["2026-07-28"], "requested": "?"}
        raise MCPError(code=-32022, message="Unsupported protocol version", data=supported)
    return await call_next(ctx)


async def main() -> None:
    server: Server[Any] = Server(
        "modern-only",
        version="1",
        instructions="Be modern.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_read_resource=read_resource,
        on_subscriptions_listen=ListenHandler(BUS),
    )
    server.middleware.insert(0, refuse_handshake)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


anyio.run(main)
