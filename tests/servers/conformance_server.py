"""A server on the SDK with every fixture the public conformance suite asks for: stdio, or streamable HTTP with --port.

It speaks all revisions. Run as a script; `--json` answers in plain JSON where HTTP allows it.
"""

from __future__ import annotations

import argparse
import asyncio
import warnings
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import conformance_rounds as rounds
import mcp_types as t
from conformance_tools import BUS, IMAGE, PNG, TOOLS, Context, Json, schema_of, text
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Handler = Callable[[Context, Any], Awaitable[Json]]
NAMES = sorted([*TOOLS, *(name for name in rounds.ROUNDS if not name.endswith("_prompt"))])
STATIC = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched."},
}
ASKING = "test_input_required_result_prompt"
PROMPTS: dict[str, list[str]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    ASKING: [],
}


async def list_tools(ctx: Context, params: Any) -> Json:
    return {
        "tools": [
            {"name": name, "description": f"The suite's {name}.", "inputSchema": schema_of(name)} for name in NAMES
        ]
    }


async def call_tool(ctx: Context, params: t.CallToolRequestParams) -> Json:
    if params.name in rounds.ROUNDS:
        asked = rounds.ask(ctx, params.name, params)
        return asked if asked is not None else text(rounds.said(params.input_responses or {}))
    if params.name not in TOOLS:
        raise MCPError(t.INVALID_PARAMS, f"Unknown tool: {params.name}")
    return await TOOLS[params.name](ctx, params.arguments or {})


async def list_resources(ctx: Context, params: Any) -> Json:
    return {
        "resources": [
            {"uri": uri, "name": uri[7:], "description": "A resource.", "mimeType": content["mimeType"]}
            for uri, content in STATIC.items()
        ]
    }


async def list_templates(ctx: Context, params: Any) -> Json:
    template = {"uriTemplate": "test://template/{id}/data", "name": "template", "description": "Data by id."}
    return {"resourceTemplates": [{**template, "mimeType": "application/json"}]}


async def read_resource(ctx: Context, params: t.ReadResourceRequestParams) -> Json:
    uri = str(params.uri)
    head, _, rest = uri.partition("test://template/")
    ident, _, tail = rest.partition("/")
    if not head and ident and tail == "data":
        body = f'{{"id":"{ident}","templateTest":true,"data":"Data for ID: {ident}"}}'
        return {"contents": [{"uri": uri, "mimeType": "application/json", "text": body}]}
    if uri not in STATIC:
        raise MCPError(t.INVALID_PARAMS, "Resource not found", {"uri": uri})
    return {"contents": [{"uri": uri, **STATIC[uri]}]}


async def list_prompts(ctx: Context, params: Any) -> Json:
    return {
        "prompts": [
            {
                "name": name,
                "description": f"The suite's {name}.",
                "arguments": [{"name": argument, "required": True} for argument in arguments],
            }
            for name, arguments in PROMPTS.items()
        ]
    }


async def get_prompt(ctx: Context, params: t.GetPromptRequestParams) -> Json:
    if params.name not in PROMPTS:
        raise MCPError(t.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    if params.name == ASKING and (asked := rounds.ask(ctx, ASKING, params)) is not None:
        return asked
    given = params.arguments or {}
    return {"messages": [{"role": "user", "content": block} for block in _blocks(params.name, given)]}


def _blocks(name: str, given: dict[str, str]) -> Iterator[Json]:
    if name == "test_prompt_with_arguments":
        yield _text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")
    elif name == "test_prompt_with_embedded_resource":
        content = {"mimeType": "text/plain", "text": "Embedded resource content for testing."}
        yield {"type": "resource", "resource": {"uri": given.get("resourceUri", ""), **content}}
        yield _text("Please process the embedded resource above.")
    elif name == "test_prompt_with_image":
        yield IMAGE
        yield _text("Please analyze the image above.")
    else:
        yield _text("This is a simple prompt for testing.")


def _text(value: str) -> Json:
    return {"type": "text", "text": value}


async def complete(ctx: Context, params: t.CompleteRequestParams) -> Json:
    values = [city for city in ("paris", "park", "party") if city.startswith(params.argument.value)]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


async def nothing(ctx: Context, params: Any) -> Json:
    return {}


def whole(handler: Handler, *, cached: bool = False) -> Handler:
    """The handler, its results with what revision 2026-07-28 wants in every one of them."""
    hint = {"ttlMs": 1000, "cacheScope": "private"} if cached else {}

    async def handle(ctx: Context, params: Any) -> Json:
        result = await handler(ctx, params)
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return result
        return {"resultType": "complete", **hint, **result}

    return handle


def build() -> Server[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # logging is deprecated, and asked for by the suite
        server: Server[Any] = Server(
            "conformance-fixture",
            version="1.0.0",
            get_tool_input_schema=schema_of,
            on_list_tools=whole(list_tools, cached=True),
            on_call_tool=whole(call_tool),
            on_list_resources=whole(list_resources, cached=True),
            on_list_resource_templates=whole(list_templates, cached=True),
            on_read_resource=whole(read_resource, cached=True),
            on_subscribe_resource=whole(nothing),
            on_unsubscribe_resource=whole(nothing),
            on_subscriptions_listen=ListenHandler(BUS),
            on_list_prompts=whole(list_prompts, cached=True),
            on_get_prompt=whole(get_prompt),
            on_completion=whole(complete),
            on_set_logging_level=whole(nothing),
        )
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="fixture"))
    return server


class Events(EventStore):
    """Keeps what streams have said, so that one that was closed can be taken up again."""

    def __init__(self) -> None:
        self._kept: list[tuple[StreamId, Any]] = []

    async def store_event(self, stream_id: StreamId, message: Any) -> EventId:
        self._kept.append((stream_id, message))
        return str(len(self._kept))

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        last = int(last_event_id)
        stream = self._kept[last - 1][0]
        for number, (owner, message) in enumerate(self._kept[last:], last + 1):
            if owner == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


async def serve_stdio(server: Server[Any]) -> None:
    options = server.create_initialization_options(NotificationOptions(prompts_changed=True, tools_changed=True))
    async with stdio_server() as (read, write):
        await server.run(read, write, options)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, help="serve streamable HTTP at http://127.0.0.1:PORT/mcp")
    parser.add_argument("--json", action="store_true", help="answer in JSON rather than as events")
    chosen = parser.parse_args()
    server = build()
    if chosen.port is None:
        asyncio.run(serve_stdio(server))
        return
    import uvicorn

    app = server.streamable_http_app(event_store=Events(), retry_interval=500, json_response=chosen.json)
    uvicorn.run(app, host="127.0.0.1", port=chosen.port, log_level="warning")


if __name__ == "__main__":
    main()
