"""The whole way: a host, the relay, a server. Queries beside calls, and a page that goes back without being read."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.query.wiki_server_body import BODY

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 60.0
REGISTRY = """version: 1
tools:
  - match: "*:update_page"
    accepts_scratch_from: ["*:get_page"]
"""


class Host:
    """A host that speaks lines; questions of the relay are answered with `says`."""

    def __init__(self, folder: Path, registry: str | None, says: str = "accept", **env: str) -> None:
        argv = [sys.executable, "-m", "crp_mcp", "serve", "--store", str(folder / "store")]
        if registry:
            (folder / "registry.yaml").write_text(registry)
            argv += ["--registry", str(folder / "registry.yaml")]
        server = [sys.executable, str(Path(__file__).with_name("wiki_server.py"))]
        self.process = subprocess.Popen(
            [*argv, "--", *server],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **env},
            cwd=ROOT,
        )
        self.says, self.asked, self.answers = says, [], {}
        self.arrived = threading.Condition()
        self.numbers = iter(range(1, 10_000))
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.request(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "h", "version": "1"},
            },
        )
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _read(self) -> None:
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message and "id" in message:
                self.asked.append(message["params"])
                self.write({"jsonrpc": "2.0", "id": message["id"], "result": {"action": self.says, "content": {}}})
                continue
            with self.arrived:
                self.answers[message.get("id")] = message
                self.arrived.notify_all()

    def write(self, message: dict[str, Any]) -> None:
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def post(self, method: str, params: dict[str, Any]) -> int:
        number = next(self.numbers)
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def wait(self, number: int) -> dict[str, Any]:
        with self.arrived:
            assert self.arrived.wait_for(lambda: number in self.answers, LIMIT)
            return self.answers.pop(number)["result"]

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return self.wait(self.post(method, params))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(20)
        self.reader.join(5)
        self.process.stdout.close()


@pytest.fixture
def host(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Host]:
    made = Host(tmp_path, REGISTRY, **getattr(request, "param", {}))
    try:
        made.request("tools/list", {})
        yield made
    finally:
        made.close()


def said(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"])


def scratch_id(result: dict[str, Any]) -> str:
    return re.search(r"scratch_[a-z]+_\d+", said(result))[0]


def test_a_page_goes_back_without_passing_through_the_model(host: Host) -> None:
    """The body of a summarised page arrives at another tool exactly, after a person agreed."""
    page = host.call("get_page")
    assert BODY[:200] not in said(page) or len(said(page)) < 2_000
    done = host.call("update_page", id=7, body={"$scratch": scratch_id(page), "path": "$.body"})
    assert said(done) == f"id 7, {len(BODY)} characters, sha256 {hashlib.sha256(BODY.encode()).hexdigest()}"
    [question] = host.asked
    assert "Line 0 of the page" in question["message"]
    assert scratch_id(page) in question["message"]


@pytest.mark.parametrize("host", [{"says": "decline"}], indirect=True)
def test_a_no_is_a_no(host: Host) -> None:
    """When the person declines, the server never hears of the call and the model is told."""
    page = host.call("get_page")
    done = host.call("update_page", id=7, body={"$scratch": scratch_id(page), "path": "$.body"})
    assert done["isError"]
    assert "did not agree" in said(done)


@pytest.mark.parametrize("host", [{"CRP_MCP_CONFIRM": "off"}], indirect=True)
def test_the_operator_may_switch_the_question_off(host: Host) -> None:
    """Nobody is asked then; the rules of the registry hold all the same."""
    page, rows = host.call("get_page"), host.call("rows")
    done = host.call("update_page", id=7, body={"$scratch": scratch_id(page), "path": "$.title"})
    assert "6 characters" in said(done)
    assert not host.asked
    refused = host.call("update_page", id=7, body={"$scratch": scratch_id(rows)})
    assert refused["isError"]
    assert "takes no stored values from" in said(refused)


def test_the_listed_schema_admits_it_for_the_opted_in_tool_alone(host: Host) -> None:
    """Hosts that check arguments against the schema let a reference through there."""
    tools = {tool["name"]: tool for tool in host.request("tools/list", {})["tools"]}
    assert "anyOf" in tools["update_page"]["inputSchema"]["properties"]["body"]
    assert "$scratch" not in json.dumps([tools["get_page"], tools["rows"]])


def test_a_query_beside_calls(host: Host) -> None:
    """Rows of a captured result are asked by SQL; while a bomb runs into its limit, calls and reads are answered."""
    rows = scratch_id(host.call("rows"))
    answer = host.call("scratch_query", sql=f"SELECT city, sum(price) AS s FROM {rows} GROUP BY city ORDER BY city")
    assert "Oslo,62275.0\nRome,62525.0" in said(answer)
    bomb = host.post(
        "tools/call",
        {
            "name": "scratch_query",
            "arguments": {
                "sql": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c"
            },
        },
    )
    began = time.monotonic()
    for _ in range(3):
        assert not host.call("rows").get("isError")
        assert not host.call("scratch_get", scratch_id=rows, view="rows", limit=1)["isError"]
        assert not host.call("scratch_query", sql=f"SELECT count(*) FROM {rows}")["isError"]
    assert time.monotonic() - began < 4
    assert "stopped after 5 s" in said(host.wait(bomb))
