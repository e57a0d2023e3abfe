"""The tools of the conformance fixture: what the public suite calls by name, with the contents it compares exactly."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as t
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError

Context = ServerRequestContext[Any, Any]
Json = dict[str, Any]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
MISSING_CAPABILITY = -32021
PAUSE = 0.05
BUS = InMemorySubscriptionBus()


def text(value: str, **rest: Any) -> Json:
    return {"content": [{"type": "text", "text": value}], **rest}


def resource(uri: str, mime: str, body: str) -> Json:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": body}}


def fixed(result: Json) -> Tool:
    """A tool that always answers the same."""

    async def call(ctx: Context, arguments: Json) -> Json:
        return result

    return call


Tool = Callable[[Context, Json], Awaitable[Json]]
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}


async def logging(ctx: Context, arguments: Json) -> Json:
    for step in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", step, related_request_id=ctx.request_id)
        await anyio.sleep(PAUSE)
    return text("Logged three messages.")


async def progress(ctx: Context, arguments: Json) -> Json:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await anyio.sleep(PAUSE)
    return text("Made progress.")


async def sampling(ctx: Context, arguments: Json) -> Json:
    message = t.SamplingMessage(role="user", content=t.TextContent(type="text", text=arguments.get("prompt", "")))
    answer = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
    content = answer.content
    return text(f"LLM response: {content.text if isinstance(content, t.TextContent) else content}")


def eliciting(said: str, schema: Json, message: str = "Please fill in the form.") -> Tool:
    """A tool that asks the user for a form and says what came back."""

    async def call(ctx: Context, arguments: Json) -> Json:
        asked = arguments.get("message", message)
        answer = await ctx.session.elicit_form(asked, schema, related_request_id=ctx.request_id)
        return text(f"{said}: action={answer.action}, content={json.dumps(answer.content)}")

    return call


async def reconnection(ctx: Context, arguments: Json) -> Json:
    """Ends its own response stream before it answers, where the transport has one that can be taken up again."""
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    await anyio.sleep(2 * PAUSE)
    return text("Reconnected.")


async def tools_changed(ctx: Context, arguments: Json) -> Json:
    await BUS.publish(ToolsListChanged())
    await ctx.session.send_tool_list_changed()
    return text("The tools have changed.")


async def prompts_changed(ctx: Context, arguments: Json) -> Json:
    await BUS.publish(PromptsListChanged())
    await ctx.session.send_prompt_list_changed()
    return text("The prompts have changed.")


async def needs_sampling(ctx: Context, arguments: Json) -> Json:
    if not ctx.session.check_client_capability(t.ClientCapabilities(sampling=t.SamplingCapability())):
        raise MCPError(MISSING_CAPABILITY, "This tool needs sampling.", {"requiredCapabilities": {"sampling": {}}})
    return text("The client can sample.")


async def echo_header(ctx: Context, arguments: Json) -> Json:
    return text(f"Region: {arguments.get('region')}")


def options(*values: str) -> list[Json]:
    return [{"const": f"value{n}", "title": title} for n, title in enumerate(values, 1)]


USER = {"type": "string", "description": "User's response"}
EMAIL = {"type": "string", "description": "User's email address"}
FORM = {"type": "object", "properties": {"username": USER, "email": EMAIL}, "required": ["username", "email"]}
STATES = ["active", "inactive", "pending"]
DEFAULTS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": STATES, "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
PLAIN = ["option1", "option2", "option3"]
NAMES = ["Option One", "Option Two", "Option Three"]
ENUMS = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": PLAIN},
        "titledSingle": {"type": "string", "oneOf": options("First Option", "Second Option", "Third Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": NAMES},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": PLAIN}},
        "titledMulti": {"type": "array", "items": {"anyOf": options("First Choice", "Second Choice", "Third Choice")}},
    },
}
MIXED = [
    {"type": "text", "text": "Multiple content types test:"},
    IMAGE,
    resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
]
EMBEDDED = resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
FAILED = text("This tool intentionally returns an error for testing", isError=True)

TOOLS: dict[str, Tool] = {
    "test_simple_text": fixed(text("This is a simple text response for testing.")),
    "test_image_content": fixed({"content": [IMAGE]}),
    "test_audio_content": fixed({"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]}),
    "test_embedded_resource": fixed({"content": [EMBEDDED]}),
    "test_multiple_content_types": fixed({"content": MIXED}),
    "test_error_handling": fixed(FAILED),
    "test_tool_with_logging": logging,
    "test_logging_tool": logging,
    "test_tool_with_progress": progress,
    "test_sampling": sampling,
    "test_elicitation": eliciting("User response", FORM),
    "test_elicitation_sep1034_defaults": eliciting("Elicitation completed", DEFAULTS),
    "test_elicitation_sep1330_enums": eliciting("Elicitation completed", ENUMS),
    "test_reconnection": reconnection,
    "test_trigger_tool_change": tools_changed,
    "test_trigger_prompt_change": prompts_changed,
    "test_missing_capability": needs_sampling,
    "test_custom_header": echo_header,
    "json_schema_2020_12_tool": fixed(text("The schema is what counts.")),
}
ADDRESS = {
    "$anchor": "addressDef",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
SCHEMAS: dict[str, Json] = {
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    "test_custom_header": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    },
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": ADDRESS},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}


def schema_of(name: str) -> Json:
    return SCHEMAS.get(name, {"type": "object", "properties": {}})
