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

    def payload(self, outcome: Outcome) -> bytes:
        return b"".join(self.engine.store.iter_payload(outcome.entry.payload_id))


@contextmanager
def bench(folder: Path) -> Iterator[Bench]:
    """An engine on a new store in `folder`."""
    clock = Clock()
    engine = open_engine(Settings(str(folder / "store"), project=str(folder), host_key="1:1"), now=clock)
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
