"""A server on the SDK over HTTP, of both eras. Options: port, then any of `json` (no event streams), `stateless`."""

from __future__ import annotations

import sys

import uvicorn
from mcp import types
from mcp.server import Server

SCHEMA = {"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": "Text"}}}


async def list_tools(ctx: object, params: object) -> types.ListToolsResult:
    names = ("echo", "rows", "ask", "slow", "token")
    return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=SCHEMA) for name in names])


async def call_tool(ctx: object, params: types.CallToolRequestParams) -> object:
    given = params.arguments or {}
    if params.name == "rows":
        rows = [{"id": n, "name": f"row {n}"} for n in range(int(given.get("rows", 10)))]
        return types.CallToolResult(content=[types.TextContent(text=str(rows))])
    if params.name == "slow":
        for step in range(3):
            await ctx.session.report_progress(step, 3, "on it")  # type: ignore[attr-defined]
    return types.CallToolResult(content=[types.TextContent(text=str(given.get("text")))])


def build() -> Server:
    return Server("sdk", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


if __name__ == "__main__":
    options = sys.argv[2:]
    app = build().streamable_http_app(json_response="json" in options, stateless_http="stateless" in options)
    uvicorn.run(app, port=int(sys.argv[1]), log_level="error")
