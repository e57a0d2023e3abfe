"""The proxy alone, for tests: `proxy_app.py SETTINGS_JSON`, with a relay that does what the settings say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from crp_mcp.mcp.spec import UpstreamSpec, Ways
from crp_mcp.mcp.start import start_servers


class NullRelay:
    """Records nothing. `replace`: results longer than so many bytes become a short one; `own`: has tools of its own."""

    def __init__(self, settings: dict) -> None:
        self._replace = settings.get("replace")
        self._own = settings.get("own", False)
        self._passthrough = settings.get("passthrough", [])
        self._broken = settings.get("broken", False)

    def instructions(self) -> str:
        return "Large results are summarised; read them with scratch_get." if self._own else ""

    def warm(self) -> None:
        """Nothing to get ready."""

    def own_tools(self) -> list[dict]:
        if not self._own:
            return []
        return [{"name": name, "inputSchema": {"type": "object"}} for name in ("scratch_get", "scratch_list")]

    def policy(self, server: str, tool: str, definition: object) -> object:
        from crp_mcp.core.model import ToolPolicy

        return ToolPolicy(passthrough=self._replace is None or tool in self._passthrough)

    def wants_roots(self) -> bool:
        return False

    def learn_roots(self, uris: tuple[str, ...]) -> None:
        raise NotImplementedError("roots are not asked for here")

    def accepts(self, server: str, tool: str, definition: object) -> bool:
        return False

    def connect(self, calls) -> None:
        """Calls nothing by itself."""

    def consults(self, server: str, tool: str, definition: object) -> bool:
        return False

    async def before(self, call) -> bytes | None:
        raise NotImplementedError("no tool is asked about here")

    async def lend(self, call, agreed: bool) -> tuple[bytes | None, str | None]:
        raise NotImplementedError("no tool takes stored values here")

    async def capture(self, call, raw) -> bytes | None:
        if self._broken:
            raise OSError("disk full")
        if self._replace is None or raw.size <= self._replace or call.call.tool in self._passthrough:
            return None
        if raw.data is None:
            stored = raw.spool.read_bytes()
            assert stored[raw.start : raw.start + 1] == b"{"
            assert stored[raw.end - 1 : raw.end] == b"}"
        text = f"summary of {raw.size} bytes of {call.server}:{call.call.tool}"
        result = {
            "content": [{"type": "text", "text": text}],
            "seen": [call.call.arguments, dict(call.meta), call.modern],
        }
        return json.dumps({**result, **({"resultType": "complete"} if call.modern else {})}).encode()

    async def call_tool(self, name: str, arguments: dict, meta: dict, modern: bool) -> dict:
        if name == "scratch_list":
            import asyncio

            await asyncio.sleep(30)
        print("a stray print of ours")
        return {"content": [{"type": "text", "text": f"{name} {json.dumps(arguments)}"}]}

    def resource_templates(self) -> list[dict]:
        return [{"uriTemplate": "scratch://{scratch_id}", "name": "entry"}] if self._own else []

    def owns_uri(self, uri: str) -> bool:
        return self._own and uri.startswith("scratch://")

    async def read_resource(self, uri: str, meta: dict, modern: bool) -> dict:
        from crp_mcp.errors import NotFound

        if uri.endswith("none"):
            raise NotFound(f"{uri} does not exist")
        return {"contents": [{"uri": uri, "text": "ours"}]}

    async def complete(self, params: dict) -> dict:
        return {"completion": {"values": ["scratch_sql_001"]}}


def spec_of(name: str, argv: list[str], env: dict | None = None, cwd: str | None = None, **ways: Any) -> UpstreamSpec:
    return UpstreamSpec(name, tuple(argv), env, cwd, Ways(**ways))


def main() -> None:
    settings = json.loads(sys.argv[1])
    specs = [spec_of(**spec) for spec in settings["servers"]]
    started = start_servers(specs)
    from crp_mcp.mcp.front import Front

    in_place, spool = settings.get("in_place", False), Path(settings["spool"])
    front = Front(specs, NullRelay(settings), in_place=in_place, spool_dir=spool, started=started)
    import asyncio

    from crp_mcp.mcp.stdio import run_front

    sys.exit(asyncio.run(run_front(front)))


main()
