"""Real servers and foreign clients of different eras, through us: the SDK, npm's server-everything, the Inspector."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.support import relay_command

from .host import META, MODERN_META, REPO, Host, fixture, in_place, proxied
from .test_bridges import ABLE, BACKS, MODERN
from .test_sdk_client import drive

pytest.importorskip("mcp")

MODERN_ONLY = [sys.executable, str(REPO / "tests" / "servers" / "modern_server.py")]
pytestmark = pytest.mark.real


# -- the SDK's server of 2026-07-28, hosts of the handshake ------------------------------------------------------------


def test_the_sdks_client_of_the_handshake_at_a_modern_only_server(tmp_path: Path) -> None:
    """Several questions of one result, several rounds, progress, results of shapes the era did not have."""
    progress: list[float] = []

    async def note(value: float, total: float | None, message: str | None) -> None:
        progress.append(value)

    async def use(client: Any) -> Any:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        results = [await client.call_tool(name, {}) for name in ("ask", "wizard", "numbers")]
        await client.call_tool("work", {}, progress_callback=note)
        with pytest.raises(Exception, match="not found") as caught:
            await client.read_resource("x://none")
        read = await client.read_resource("x://watched")
        texts = [json.loads(result.content[0].text) for result in results]
        return client.protocol_version, tools, texts, caught.value.error.code, read.contents[0].text

    version, tools, texts, code, read = drive(in_place(tmp_path, spec={"argv": MODERN_ONLY}), "legacy", use, **BACKS)
    assert (version, tools["numbers"].output_schema, read, code) == ("2025-11-25", None, "watched", -32002)
    asked, wizard, numbers = texts
    assert asked["who"] == {"action": "accept", "content": {"who": "me"}}
    assert (asked["text"]["content"]["text"], asked["where"]["roots"]) == ("sampled", [{"uri": "file:///x"}])
    assert (wizard["steps"], list(wizard["last"]), numbers) == (3, ["step2"], [1, 2])
    assert progress == sorted(progress)


def test_what_a_modern_only_server_announces(tmp_path: Path) -> None:
    """A list that changed, a resource that is subscribed to: plain notifications."""
    with Host(in_place(tmp_path, spec={"argv": MODERN_ONLY})) as host:
        opened = host.initialize()["result"]
        assert (opened["instructions"], opened["serverInfo"]["name"]) == ("Be modern.", "modern-only")
        assert host.request("resources/subscribe", {"uri": "x://watched"})["error"]["code"] == -32601
        host.call("grow")
        assert "_meta" not in host.wait_other("notifications/tools/list_changed").get("params", {})
        assert "grown" in {tool["name"] for tool in host.request("tools/list")["result"]["tools"]}


def test_hosts_that_cannot_be_asked_by_a_modern_only_server(tmp_path: Path) -> None:
    """The call ends with an error that says what is missing."""
    with Host(in_place(tmp_path, spec={"argv": MODERN_ONLY})) as host:
        host.initialize({"elicitation": {}})
        assert "sampling" in host.call("ask")["error"]["message"]


def test_a_modern_only_server_among_others(tmp_path: Path) -> None:
    """Begun anew where the handshake has spoilt its connection; a server of the handshake stands beside it."""
    servers = [{"name": "new", "argv": MODERN_ONLY}, {"name": "old", "argv": fixture("--legacy")}]

    async def use(client: Any) -> Any:
        names = {tool.name for tool in (await client.list_tools()).tools}
        return {"wizard", "elicit"} <= names, (await client.call_tool("wizard", {})).content[0].text

    for mode in ("legacy", MODERN):
        found, text = drive(proxied(tmp_path, servers), mode, use, **BACKS)
        assert (found, json.loads(text)["steps"]) == (True, 3)


# -- npm's server-everything, hosts of 2026-07-28 ----------------------------------------------------------------------


@pytest.fixture
def everything(tmp_path: Path, real_server: Callable[..., list[str]]) -> list[str]:
    return in_place(tmp_path, spec={"argv": real_server("everything")})


def test_the_sdks_modern_client_at_server_everything(everything: list[str]) -> None:
    """It is offered what the host can be asked for, and asks: elicitation, sampling, roots; progress comes along."""
    progress: list[float] = []

    async def note(value: float, total: float | None, message: str | None) -> None:
        progress.append(value)

    async def use(client: Any) -> Any:
        names = [tool.name for tool in (await client.list_tools()).tools]
        calls = {
            "trigger-elicitation-request": {},
            "trigger-sampling-request": {"prompt": "hi", "maxTokens": 10},
            "get-roots-list": {},
        }
        texts = [str(await client.call_tool(name, arguments)) for name, arguments in calls.items()]
        await client.call_tool("trigger-long-running-operation", {"duration": 1, "steps": 4}, progress_callback=note)
        return names, texts

    names, texts = drive(everything, MODERN, use, **BACKS)
    assert "trigger-sampling-request" in names
    for text, part in zip(texts, ("accept", "sampled", "file:///x"), strict=True):
        assert part in text
    assert progress == [1, 2, 3, 4]


def test_cancelling_and_listening_at_server_everything(everything: list[str]) -> None:
    """A call given up while it runs; updates of a resource that the server sends by itself."""
    with Host(everything) as host:
        meta = {**ABLE, "progressToken": "p"}
        params = {"name": "trigger-long-running-operation", "arguments": {"duration": 60, "steps": 60}, "_meta": meta}
        state = host.request("tools/call", params)["result"]
        # The server asks for the roots first, at its start.
        assert [asked["method"] for asked in state["inputRequests"].values()] == ["roots/list"]
        answers = {key: {"roots": []} for key in state["inputRequests"]}
        again = host.post("tools/call", {**params, "requestState": state["requestState"], "inputResponses": answers})
        assert host.wait_other("notifications/progress")["params"]["progressToken"] == "p"
        host.notify("notifications/cancelled", {"requestId": again})
        uri = "demo://resource/static/document/architecture.md"
        wanted = {"resourceSubscriptions": [uri], "toolsListChanged": True}
        listen = host.post("subscriptions/listen", {"notifications": wanted, "_meta": MODERN_META})
        opened = host.wait_other("notifications/subscriptions/acknowledged")["params"]
        assert opened["notifications"] == wanted
        host.call("toggle-subscriber-updates", meta=ABLE)
        event = host.wait_other("notifications/resources/updated")["params"]
        assert (event["uri"], event["_meta"]) == (uri, {META + "subscriptionId": listen})
        assert again not in {message.get("id") for message in host.unexpected()}


# -- the Inspector -----------------------------------------------------------------------------------------------------


@pytest.fixture
def config(tmp_path: Path, real_server: Callable[..., list[str]]) -> Path:
    """An Inspector's config: server-everything, kept to the handshake, through us; the Inspector speaks 2026-07-28."""
    server = real_server("everything")
    servers = {"everything": {"command": server[0], "args": server[1:], "era": "handshake"}}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    ours = relay_command(tmp_path / "store", "--config", str(tmp_path / "servers.json"))
    entry = {"command": ours[0], "args": ours[1:], "protocolEra": "modern"}
    path = tmp_path / "inspector.json"
    path.write_text(json.dumps({"mcpServers": {"ours": entry}}))
    return path


def run(command: list[str], home: Path) -> Any:
    env = {**os.environ, "MCP_INSPECTOR_SECRET_STORE": "memory", "HOME": str(home)}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-2000:]
    return json.loads(done.stdout)


def test_the_inspector_in_the_modern_era_at_a_handshake_server(
    tmp_path: Path, config: Path, real_server: Callable[..., list[str]]
) -> None:
    """It checks what it gets: lists and results are of its era."""
    command = [*real_server("inspector"), "--cli", "--config", str(config), "--server", "ours"]
    command += ["--protocol-era", "modern", "--format", "json", "--method"]
    names = {tool["name"] for tool in run([*command, "tools/list"], tmp_path)["result"]["tools"]}
    assert {"echo", "scratch_get"} <= names
    call = run([*command, "tools/call", "--tool-name", "echo", "--tool-arg", "message=hi"], tmp_path)
    assert call["result"]["content"][0]["text"] == "Echo: hi"


@pytest.fixture
def mcpdo(tmp_path: Path, config: Path, real_server: Callable[..., list[str]]) -> Iterator[list[str]]:
    launcher = real_server("inspector")
    script = Path(launcher[-1]).parents[2] / "mcpdo" / "build" / "mcp-bin.js"
    if not script.is_file():
        pytest.skip("this Inspector has no mcpdo")
    command = [*launcher[:-1], str(script), "--format", "json", "--config", str(config)]
    yield command
    run([*command, "daemon", "stop"], tmp_path)


def test_mcpdo_is_asked_by_a_handshake_server(tmp_path: Path, mcpdo: list[str]) -> None:
    """The question waits until it is answered by a second command, and the call goes on."""
    assert run([*mcpdo, "connect", "ours"], tmp_path)["protocolEra"] == "modern"
    asked = run([*mcpdo, "@ours", "tools/call", "trigger-elicitation-request"], tmp_path)["elicitationPending"]
    assert asked["mode"] == "form"
    done = run([*mcpdo, "@ours", "elicitation/respond", asked["elicitationId"], "name:=Ada"], tmp_path)
    assert "Ada" in json.dumps(done)


@pytest.mark.parametrize(("era", "found"), [("auto", False), ("handshake", True)])
def test_discovery_at_a_handshake_server_is_bridged_where_the_era_is_said(
    tmp_path: Path, real_server: Callable[..., list[str]], era: str, found: bool
) -> None:
    """`serve --era handshake`: a host that only ever discovers can use it; else it is turned away as without us."""
    options = ["--era", era, "--store", str(tmp_path / "store"), "--", *real_server("everything"), "stdio"]
    with Host([sys.executable, "-m", "crp_mcp", "serve", *options]) as host:
        answer = host.request("server/discover", {"_meta": MODERN_META})
    assert ("result" in answer) is found
