"""What the tests of the relay share: an engine on a store of its own, a clock that moves when told, results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crp_mcp.app.engine import Engine, open_engine
from crp_mcp.app.settings import Settings
from crp_mcp.core.model import ToolCall, ToolPolicy
from crp_mcp.relay.service import Job, Outcome

START = 1_800_000_000.0


@dataclass
class Clock:
    """A simulated clock, in epoch seconds."""

    at: float = START

    def __call__(self) -> float:
        return self.at


@dataclass
class Bench:
    """An engine, its clock, and short ways to capture and to call our tools."""

    engine: Engine
    clock: Clock
    conversation: str = "conv_test"
    policy: ToolPolicy = field(default_factory=ToolPolicy)

    def capture(self, result: Mapping[str, Any] | bytes, tool: str = "read_query", **job: Any) -> Outcome:
        raw = result if isinstance(result, bytes) else dump(result)
        arguments = job.pop("arguments", {"query": "select 1"})
        policy = replace(self.policy, **job.pop("policy", {}))
        call = ToolCall(job.pop("server", "shop"), tool, arguments, dump(arguments))
        return self.engine.service.capture(Job(call, self.scope, policy, raw, **job))

    @property
    def scope(self) -> Any:
        return self.engine.settings.scope(self.conversation)

    def tool(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        return self.engine.tools.call(name, arguments, self.scope)

    def host_call(
        self,
        tool: str,
        result: Mapping[str, Any],
        arguments: Mapping[str, Any] | None = None,
        *,
        server: str = "shop",
        meta: Mapping[str, Any] | None = None,
        annotations: Mapping[str, Any] | None = None,
        **header: Any,
    ) -> str:
        """A call of the host's that went through the proxy, as the worker sees it; returns the new entry's id."""
        asked = {
            "op": "capture",
            "server": server,
            "name": tool,
            "arguments": json.dumps(dict(arguments or {})),
            "meta": self._meta(meta),
            "tool": {"annotations": dict(annotations)} if annotations else None,
            **header,
        }
        reply, _, later = self.engine.handle(asked, dump(result))
        if later is not None:
            later()
        return str(reply["scratch_id"])

    def before(self, tool: str, arguments: Mapping[str, Any], *, meta: Mapping[str, Any] | None = None) -> Any:
        """What the proxy is told before a call: None to make it, else the result to give."""
        asked = {"op": "before", "server": "shop", "name": tool, "arguments": json.dumps(dict(arguments))}
        reply, blob, _ = self.engine.handle({**asked, "meta": self._meta(meta)}, b"")
        return None if reply["action"] == "call" else json.loads(blob)

    def ask(self, name: str, /, *, meta: Mapping[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
        """A call of one of our own tools by a host whose proxy can call no server."""
        header = {"op": "tool", "name": name, "arguments": arguments, "meta": self._meta(meta)}
        reply, blob, _ = self.engine.handle(header, b"")
        return {"again": reply["again"]} if "again" in reply else dict(json.loads(blob))

    def _meta(self, meta: Mapping[str, Any] | None) -> dict[str, Any]:
        return {"dev.crp/conversation": self.conversation, **(meta or {})}

    def entry(self, reference: str) -> Any:
        return self.engine.store.get(self.scope, reference)

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The data of the audit records of one kind, in order."""
        bodies = (json.loads(record.body) for record in self.engine.store.records())
        return [body["data"] for body in bodies if body["event_type"] == kind]

    def payload(self, outcome: Outcome) -> bytes:
        return b"".join(self.engine.store.iter_payload(outcome.entry.payload_id))


@contextmanager
def bench(folder: Path, *, clock: Clock | None = None, registry: str | None = None, **settings: Any) -> Iterator[Bench]:
    """An engine on the store in `folder`. `registry`: the operator's registry, as YAML."""
    clock = clock or Clock()
    files = ()
    if registry is not None:
        (folder / "registry.yaml").write_text(registry)
        files = (str(folder / "registry.yaml"),)
    made = Settings(str(folder / "store"), registry=files, project=str(folder), host_key="1:1", **settings)
    engine = open_engine(made, now=clock)
    try:
        yield Bench(engine, clock)
    finally:
        engine.close()


def dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def text_result(text: str, **members: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **members}


def order_rows(count: int) -> list[dict[str, Any]]:
    """Rows of a shop, the same every time."""
    states = ("open", "closed", "refunded")
    return [
        {"order_id": n, "city": ("Oslo", "Rome", "Kyiv", "Lima")[n % 4], "status": states[n % 3], "amount": n * 1.25}
        for n in range(count)
    ]


def texts(result: Mapping[str, Any] | bytes) -> list[str]:
    """The text blocks of a result."""
    value = json.loads(result) if isinstance(result, bytes) else result
    return [block["text"] for block in value["content"] if block["type"] == "text"]
