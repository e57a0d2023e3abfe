"""The relay as the proxy sees it: every capture and every call of our own tools goes to the worker.

Light to import: it stands on the way to the first answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from crp_mcp.errors import CrpError
from crp_mcp.log import log
from crp_mcp.mcp.tools.definitions import OWN_TOOLS, RECEIPT_TEMPLATE, RESOURCE_TEMPLATE

from .shared import Shared

if TYPE_CHECKING:
    from crp_mcp.core.model import ToolPolicy
    from crp_mcp.relay.pool import Reply
    from crp_mcp.relay.ports import Calls, CapturedCall, RawResult

    from .settings import Settings

CAPTURE_SECONDS = 60.0
SLOWEST = 1_000_000
"""Bytes a second that even a loaded machine captures: a large result may take so much longer."""
TOOL_SECONDS = 120.0
BUILD_SECONDS = 600.0
"""The first query of a large result builds its tables; the query itself has a limit of its own."""
CONVERSATION_KEY = "dev.crp/conversation"
URIS = ("scratch://", "receipt://")
INSTRUCTIONS = "Large tool results arrive as summaries with a scratch_id; scratch_get reads the full data."


class Port:
    """Implements `RelayPort` over one worker, for one host."""

    def __init__(
        self,
        settings: Settings,
        *,
        tools: bool = True,
        shared: Shared | None = None,
        conversation: Callable[[], str] | None = None,
    ) -> None:
        self._settings = settings
        self._tools = tools
        self._shared = shared or Shared(settings)
        self._conversation = conversation
        self._calls: Calls | None = None
        self._audits = _audits(settings.policy)
        self._roots: tuple[str, ...] = ()

    def for_host(self, conversation: Callable[[], str]) -> Port:
        """A port for one more host, over the same worker. `conversation`: of requests that do not name theirs."""
        return Port(self._settings, tools=self._tools, shared=self._shared, conversation=conversation)

    async def close(self) -> None:
        """End the worker."""
        await self._shared.close()

    def _own_meta(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        """The members of a request's `_meta` that are about us, the conversation among them where it is known here."""
        own = {key: value for key, value in meta.items() if key.startswith("dev.crp/")}
        if self._conversation is not None and not own.get(CONVERSATION_KEY):
            own[CONVERSATION_KEY] = self._conversation()
        return own

    def warm(self) -> None:
        """A call is on its way to an upstream: have the worker ready when its result comes."""
        self._shared.client().warm()

    @property
    def worker_pid(self) -> int | None:
        """Process id of the running worker."""
        return self._shared.client().pid

    def instructions(self) -> str:
        return INSTRUCTIONS if self._tools else ""

    def own_tools(self) -> list[dict[str, Any]]:
        return [dict(tool) for tool in OWN_TOOLS] if self._tools else []

    def wants_roots(self) -> bool:
        # Only over stdio, where the host runs on this machine as this user: what others name is no folder of theirs.
        return self._tools and self._settings.host_roots and self._conversation is None

    def learn_roots(self, uris: tuple[str, ...]) -> None:
        self._roots = uris

    def policy(self, server: str, tool: str, definition: Mapping[str, Any] | None) -> ToolPolicy:
        return self._shared.policy(server, tool, definition)

    def accepts(self, server: str, tool: str, definition: Mapping[str, Any] | None) -> bool:
        # Nothing shipped opts in, so without a registry of the operator's there is nothing to look up.
        return bool(self._settings.registry) and bool(self.policy(server, tool, definition).accepts_scratch_from)

    async def lend(self, call: CapturedCall, agreed: bool) -> tuple[bytes | None, str | None]:
        schema = {"inputSchema": call.tool.get("inputSchema")} if call.tool else {}
        header = {
            "op": "lend",
            "server": call.server,
            "name": call.call.tool,
            "meta": self._own_meta(call.meta),
            "tool": {**(policy_part(call.tool) or {}), **schema},
            "agreed": agreed,
        }
        reply, blob = await self._shared.ask(header, call.call.arguments_json, TOOL_SECONDS)
        question = reply.get("question")
        return (None, str(question)) if question else (blob, None)

    def connect(self, calls: Calls) -> None:
        self._calls = calls

    def consults(self, server: str, tool: str, definition: Mapping[str, Any] | None) -> bool:
        # Nothing shipped opts in to being answered from memory: without the operator's word nothing is looked up.
        return self._audits or (bool(self._settings.registry) and self.policy(server, tool, definition).reuse)

    async def before(self, call: CapturedCall) -> bytes | None:
        try:
            reply, blob = await self._shared.ask(self._call_header("before", call), b"", TOOL_SECONDS)
        except CrpError as error:
            log("error", "not_consulted", code=error.code, reason=str(error), server=call.server)
            if not self._audits:
                return None
            from crp_mcp.core.wire.answers import failed_call

            said = f"{call.call.tool} was not called: every result must be kept, and nothing can be recorded ({error})"
            return failed_call(said, call.modern)
        return blob if reply.get("action") == "answer" else None

    async def capture(self, call: CapturedCall, raw: RawResult) -> bytes | None:
        header = self._call_header("capture", call)
        try:
            reply, blob = await self._record(header, raw)
        except CrpError as error:
            log("error", "uncaptured", code=error.code, reason=str(error), server=call.server, size=raw.size)
            withheld = self._withheld(call, raw) if self._settings.clearance else None
            if withheld is not None:
                return withheld
            return None if raw.data is None else mark_uncaptured(raw.data, call.modern)
        return blob if reply.get("action") == "replace" else None

    def _withheld(self, call: CapturedCall, raw: RawResult) -> bytes | None:
        """What to send in place of a result that could not be recorded and may be above the host's clearance."""
        from crp_mcp.core.model import Scope
        from crp_mcp.proof.lattice import Lattice
        from crp_mcp.relay.labels import Clearances, hints_of, label_of
        from crp_mcp.relay.service import withheld

        policy = self.policy(call.server, call.call.tool, call.tool)
        lattice = Lattice(self._shared.labels())
        label = label_of(policy.sensitivity, hints_of(raw.data or b""), lattice)
        named = str(self._own_meta(call.meta).get(CONVERSATION_KEY) or self._settings.conversation or "")
        scope = Scope(self._settings.tenant, self._settings.project, named)
        if Clearances(self._settings.clearance, lattice).clears(scope, label):
            return None
        said = f"result withheld: labelled {label}, above the clearance here; it could not be recorded either"
        return withheld(said, {"dev.crp/captured": False}, call.modern)

    async def call_tool(self, name: str, arguments: object, meta: Mapping[str, Any], modern: bool) -> dict[str, Any]:
        header = {"op": "tool", "name": name, "arguments": arguments, "meta": self._own_meta(meta)}
        header["servers"] = sorted(self._calls.servers()) if self._calls is not None else []
        header["roots"] = list(self._roots)
        try:
            result = await self._refreshing(header, meta, modern)
        except CrpError as error:
            result = {"content": [{"type": "text", "text": str(error)}], "isError": True}
        return {**result, "resultType": "complete"} if modern else result

    async def _refreshing(self, header: Mapping[str, Any], meta: Mapping[str, Any], modern: bool) -> dict[str, Any]:
        """The result of one of our own tools, once the stale entries it uses were called anew."""
        import orjson

        refreshed: dict[str, str | None] = {}
        while True:
            seconds = BUILD_SECONDS if header.get("name") == "scratch_query" else TOOL_SECONDS
            reply, blob = await self._shared.ask({**header, "refreshed": refreshed}, b"", seconds)
            again = reply.get("again")
            if again is None:
                result: dict[str, Any] = orjson.loads(blob)
                return result
            refreshed[again["scratch_id"]] = await self._call_again(again, meta, modern)

    async def _call_again(self, again: Mapping[str, str], meta: Mapping[str, Any], modern: bool) -> str | None:
        """Call a stale entry's tool with its arguments; the id of the new entry, None where that may or can not be."""
        from crp_mcp.core.model import ToolCall
        from crp_mcp.relay.ports import CapturedCall

        assert self._calls is not None
        server, tool, arguments = again["server"], again["name"], again["arguments"].encode()
        definition = self._calls.definition(server, tool)
        if not self.policy(server, tool, definition).reinvoke:
            return None
        raw = await self._calls.call(server, tool, arguments, meta)
        if raw is None:
            return None
        call = CapturedCall(ToolCall(server, tool, {}, arguments), meta, modern, definition, server)
        reply, _ = await self._record({**self._call_header("capture", call), "supersedes": again["scratch_id"]}, raw)
        return str(reply["scratch_id"])

    def _call_header(self, op: str, call: CapturedCall) -> dict[str, Any]:
        """What the worker must know of a call."""
        return {
            "op": op,
            "server": call.server,
            "name": call.call.tool,
            "arguments": call.call.arguments_json.decode("utf-8", "replace"),
            "meta": self._own_meta(call.meta),
            "modern": call.modern,
            "tool": policy_part(call.tool),
        }

    async def _record(self, header: dict[str, Any], raw: RawResult) -> Reply:
        if raw.data is None:
            header["spool"] = {"path": str(raw.spool), "start": raw.start, "end": raw.end}
        return await self._shared.ask_twice(header, raw.data or b"", CAPTURE_SECONDS + raw.size / SLOWEST)

    def resource_templates(self) -> list[dict[str, Any]]:
        return [dict(RESOURCE_TEMPLATE), dict(RECEIPT_TEMPLATE)] if self._tools else []

    def owns_uri(self, uri: str) -> bool:
        return self._tools and owns_uri(uri)

    async def read_resource(self, uri: str, meta: Mapping[str, Any], modern: bool) -> dict[str, Any]:
        result = await self._result({"op": "read_resource", "uri": uri, "meta": self._own_meta(meta)})
        if modern:
            result.update(resultType="complete", ttlMs=0, cacheScope="private")
        return result

    async def complete(self, params: Mapping[str, Any]) -> dict[str, Any]:
        argument = params.get("argument")
        prefix = argument.get("value", "") if isinstance(argument, dict) else ""
        meta = params.get("_meta")
        header = {
            "op": "complete",
            "prefix": str(prefix),
            "meta": self._own_meta(meta if isinstance(meta, dict) else {}),
        }
        return await self._result(header)

    async def _result(self, header: Mapping[str, Any]) -> dict[str, Any]:
        import orjson

        _, blob = await self._shared.ask(header, b"", TOOL_SECONDS)
        result: dict[str, Any] = orjson.loads(blob)
        return result


def owns_uri(uri: str) -> bool:
    """Whether a resource is one of ours, where our tools are offered."""
    return uri.startswith(URIS)


def _audits(policy: str) -> bool:
    """Whether everything must be recorded. Raises BadRequest for a policy that is none."""
    if not policy:
        return False
    from crp_mcp.core.safety import parse_policy

    return parse_policy(policy).audits


def policy_part(tool: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What the worker needs of a tool's definition: the schemas may be large."""
    if tool is None:
        return None
    meta = tool.get("_meta")
    kept = {key: True for key in meta if key == "ui" or key.startswith("ui/")} if isinstance(meta, dict) else {}
    return {"annotations": tool.get("annotations"), "_meta": kept}


def mark_uncaptured(result: bytes, modern: bool) -> bytes:
    """The whole result, with a mark that it was not recorded."""
    from crp_mcp.core.payload import replace_with_summary

    return replace_with_summary(result, {}, {"dev.crp/captured": False}, modern=modern, keep_structured=True)
