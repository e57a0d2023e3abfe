"""Hosts and servers of different eras, through us, in processes: the SDK's client and real servers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from .host import META, MODERN_META, Host, fixture, in_place, proxied
from .test_sdk_client import drive, look_around

mcp = pytest.importorskip("mcp")
import anyio  # noqa: E402
from mcp import types  # noqa: E402

MODERN = "2026-07-28"
BACK = {"sampling": {}, "roots": {}, "elicitation": {"form": {}, "url": {}}}
ABLE = {**MODERN_META, META + "clientCapabilities": BACK}


async def elicit(context: Any, params: Any) -> Any:
    return types.ElicitResult(action="accept", content={"who": "me"})


async def sample(context: Any, params: Any) -> Any:
    text = types.TextContent(type="text", text="sampled")
    return types.CreateMessageResult(role="assistant", content=text, model="m")


async def roots(context: Any) -> Any:
    return types.ListRootsResult(roots=[types.Root(uri="file:///x")])


BACKS = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}


def bare(results: dict) -> dict:
    """Results without the words of one era."""
    left_out = ("ttl_ms", "cache_scope", "result_type", "meta")
    return {
        name: {key: value for key, value in one.items() if key not in left_out and value is not None}
        for name, one in results.items()
    }


# -- hosts of 2026-07-28, servers of the handshake ---------------------------------------------------------------------


def test_a_modern_client_sees_a_handshake_server_whole(tmp_path: Path) -> None:
    """Lists, reads, calls, progress, errors: what a client of the handshake sees, in the era's own words."""

    command = in_place(tmp_path, "--legacy")
    seen = drive(command, MODERN, look_around)
    assert bare(seen) == bare(drive(command, "legacy", look_around))
    for name in ("tools", "prompts", "resources", "templates", "read"):
        assert (seen[name]["cache_scope"], seen[name]["ttl_ms"]) == ("private", 0)
    assert seen["echo"]["result_type"] == "complete"


def test_questions_of_a_handshake_server_reach_a_modern_client(tmp_path: Path) -> None:
    """The call is held meanwhile; also where several calls ask at once."""

    async def use(client: Any) -> Any:
        tools = ("elicit", "sample", "roots")
        texts = [(await client.call_tool(tool, {})).content[0].text for tool in tools]
        many: list[Any] = []

        async def one(tool: str) -> None:
            many.append(json.loads((await client.call_tool(tool, {})).content[0].text))

        async with anyio.create_task_group() as group:
            for tool in tools * 3:
                group.start_soon(one, tool)
        return [json.loads(text)["result"] for text in texts], many

    answers, many = drive(in_place(tmp_path, "--legacy"), MODERN, use, **BACKS)
    assert answers[0] == {"action": "accept", "content": {"who": "me"}}
    assert answers[1]["content"]["text"] == "sampled"
    assert answers[2] == {"roots": [{"uri": "file:///x"}]}
    assert all("result" in answer for answer in many), many


def test_a_client_that_cannot_be_asked(tmp_path: Path) -> None:
    """The server hears so, by an error: nothing is declined in the user's name."""

    async def use(client: Any) -> Any:
        return [json.loads((await client.call_tool(tool, {})).content[0].text) for tool in ("elicit", "roots")]

    asked = drive(in_place(tmp_path, "--legacy"), MODERN, use)
    assert [answer["error"]["code"] for answer in asked] == [-32601, -32601]


def test_forged_and_used_states(tmp_path: Path) -> None:
    """What a host brings back is good once, for the call it was given for."""
    with Host(in_place(tmp_path, "--legacy")) as host:
        held = host.call("elicit", meta=ABLE)["result"]
        assert held["resultType"] == "input_required"
        ((key, question),) = held["inputRequests"].items()
        assert question["method"] == "elicitation/create"
        state = held["requestState"]
        answers = {"inputResponses": {key: {"action": "accept", "content": {"who": "me"}}}}
        for name, wrong in (("elicit", state + "0"), ("elicit", "crp-mcp-held-1.1.x"), ("sample", state)):
            refused = host.call(name, meta=ABLE, requestState=wrong, **answers)
            assert refused["error"]["code"] == -32602
            assert "requestState" in refused["error"]["message"]
        missing = host.call("elicit", meta=ABLE, requestState=state, inputResponses={})["result"]
        assert missing["inputRequests"] == held["inputRequests"]
        again = missing["requestState"]
        done = host.call("elicit", meta=ABLE, requestState=again, **answers)["result"]
        assert json.loads(done["content"][0]["text"]) == {"result": answers["inputResponses"][key]}
        assert host.call("elicit", meta=ABLE, requestState=again, **answers)["error"]["code"] == -32602


def test_what_a_modern_server_would_refuse(tmp_path: Path) -> None:
    """Requests the era does not have, an unknown version, half an envelope; a probe where the server refuses it."""
    with Host(in_place(tmp_path, "--legacy")) as host:
        assert host.request("server/discover", {"_meta": MODERN_META})["error"]["code"] == -32601
        for method in ("ping", "logging/setLevel", "resources/subscribe"):
            params = {"_meta": MODERN_META, "uri": "x", "level": "info"}
            assert host.request(method, params)["error"]["code"] == -32601
        wrong = {**MODERN_META, META + "protocolVersion": "1999-01-01"}
        assert host.call("echo", meta=wrong)["error"]["data"] == {"supported": [MODERN], "requested": "1999-01-01"}
        half = {META + "protocolVersion": MODERN}
        assert host.call("echo", meta=half)["error"]["code"] == -32602
        missing = host.request("resources/read", {"uri": "fixture://none/1", "_meta": MODERN_META})
        assert missing["error"]["code"] == -32602
        coded = host.call("error", {"code": -32002}, meta=MODERN_META)["error"]
        assert (coded["code"], coded["data"]["big"]) == (-32602, 2**70)


def test_a_server_configured_for_the_handshake_is_discovered(tmp_path: Path) -> None:
    """The answer is made of its own to `initialize`."""
    command = in_place(tmp_path, "--legacy", "--instructions=Mind.", spec={"era": "handshake"})
    with Host(command) as host:
        found = host.request("server/discover", {"_meta": MODERN_META})["result"]
        assert found["supportedVersions"] == [MODERN]
        assert found["capabilities"]["tools"] == {"listChanged": True}
        assert found["capabilities"]["experimental"] == {"x-odd": {"n": 12345678901234567890}}
        assert (found["instructions"], found["cacheScope"]) == ("Mind.", "private")
        assert found["_meta"][META + "serverInfo"]["name"] == "fixture"
        assert found["x-init"] == {"kept": 1.5}

    async def use(client: Any) -> Any:
        return client.protocol_version, (await client.call_tool("echo", {"text": "hi"})).content[0].text

    assert drive(command, "auto", use) == (MODERN, "hi")


def test_log_messages_go_to_a_host_that_asked(tmp_path: Path) -> None:
    """The level is the request's; without one, no message."""
    with Host(in_place(tmp_path, "--legacy")) as host:
        said = {"method": "notifications/message", "params": {"level": "warning", "data": [1.50]}}
        host.call("notify", said, meta=MODERN_META)
        assert host.others == []
        host.call("notify", said, meta={**MODERN_META, META + "logLevel": "error"})
        assert host.others == []
        host.call("notify", said, meta={**MODERN_META, META + "logLevel": "debug"})
        assert host.wait_other("notifications/message")["params"]["level"] == "warning"
        assert host.text("levels", meta=MODERN_META) == ["error", "debug"]


def test_streams_in_front_of_a_handshake_server(tmp_path: Path) -> None:
    """Subscriptions are made, events carry the stream's id, and both end with it."""
    with Host(in_place(tmp_path, "--legacy")) as host:
        wanted = {"toolsListChanged": True, "resourceSubscriptions": ["fixture://fixture/1"], "x": 1}
        listen = host.post("subscriptions/listen", {"notifications": wanted, "_meta": MODERN_META})
        tag = {META + "subscriptionId": listen}
        opened = host.wait_other("notifications/subscriptions/acknowledged")["params"]
        assert opened["_meta"] == tag
        assert opened["notifications"] == {k: v for k, v in wanted.items() if k != "x"}
        host.call("grow", meta=MODERN_META)
        assert host.wait_other("notifications/tools/list_changed")["params"]["_meta"] == tag
        changed = {"method": "notifications/resources/updated", "params": {"uri": "fixture://fixture/1"}}
        host.call("notify", changed, meta=MODERN_META)
        assert host.wait_other(changed["method"])["params"] == {**changed["params"], "_meta": tag}
        host.call("notify", {"method": "notifications/prompts/list_changed"}, meta=MODERN_META)
        host.notify("notifications/cancelled", {"requestId": listen})
        assert host.text("subscribed", meta=MODERN_META) == [
            "subscribe fixture://fixture/1",
            "unsubscribe fixture://fixture/1",
        ]
        assert [one["method"] for one in host.others] == []


def test_a_silent_or_touchy_server_is_found_out(tmp_path: Path) -> None:
    """One that ends over the first question it does not know is started again, and greeted first."""
    script = tmp_path / "touchy.py"
    script.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    said = json.loads(line)\n"
        "    if said.get('method') == 'server/discover': sys.exit(1)\n"
        "    if said.get('method') == 'initialize':\n"
        "        result = {'protocolVersion': '2025-06-18', 'capabilities': {'tools': {}}}\n"
        "    else: result = {'tools': [{'name': 'a', 'inputSchema': {'type': 'object'}}]}\n"
        "    if 'id' in said: print(json.dumps({'jsonrpc': '2.0', 'id': said['id'], 'result': result}), flush=True)\n"
    )
    with Host(in_place(tmp_path, spec={"argv": [sys.executable, str(script)]})) as host:
        listed = host.request("tools/list", {"_meta": MODERN_META})["result"]
        assert (listed["tools"][0]["name"], listed["resultType"]) == ("a", "complete")


# -- hosts of the handshake, servers of 2026-07-28 ---------------------------------------------------------------------


def test_a_handshake_client_sees_a_modern_server_whole(tmp_path: Path) -> None:
    """What a modern client sees without us, without the era's words."""

    command = in_place(tmp_path, "--modern")
    seen = drive(command, "legacy", look_around)
    assert bare(seen) == bare(drive(command, MODERN, look_around))


def test_a_handshake_is_answered_for_a_modern_server(tmp_path: Path) -> None:
    """Capabilities, instructions and name come from what it says of itself; the level and the stream are kept."""
    with Host(in_place(tmp_path, "--modern", "--instructions=Mind.")) as host:
        opened = host.initialize({"roots": {"listChanged": True}}, "2025-06-18")["result"]
        assert opened["protocolVersion"] == "2025-06-18"
        assert opened["serverInfo"] == {"name": "fixture", "version": "1"}
        assert (opened["instructions"], opened["capabilities"]["tools"]) == ("Mind.", {"listChanged": True})
        assert not opened.keys() & {"resultType", "supportedVersions", "ttlMs", "cacheScope"}
        assert host.wait_other("notifications/tools/list_changed") == {
            "jsonrpc": "2.0",
            "method": "notifications/tools/list_changed",
            "params": {},
        }
        assert host.request("ping")["result"] == {}
        assert host.request("logging/setLevel", {"level": "info"})["result"] == {}
        assert host.request("logging/setLevel", {"level": "loud"})["error"]["code"] == -32602
        host.notify("notifications/roots/list_changed")
        sent = [json.loads(line) for line in host.text("received")]
        assert {one["method"] for one in sent} <= {
            "initialize",
            "server/discover",
            "subscriptions/listen",
            "tools/call",
        }
        meta = sent[-1]["params"]["_meta"]
        assert meta[META + "protocolVersion"] == MODERN
        assert meta[META + "clientCapabilities"] == {"roots": {}}
        assert meta[META + "clientInfo"]["name"] == "test-host"
        assert meta[META + "logLevel"] == "info"
        assert host.request("resources/read", {"uri": "fixture://none/1"})["error"]["code"] == -32002
        assert "type 'task'" in host.call("task")["error"]["message"]


def test_questions_of_a_modern_server_reach_a_handshake_client(tmp_path: Path) -> None:
    """They come as requests, and the state goes back as it was."""

    async def use(client: Any) -> Any:
        return json.loads((await client.call_tool("input_required", {})).content[0].text)

    got = drive(in_place(tmp_path, "--modern"), "legacy", use, **BACKS)
    assert got == {"got": {"who": {"action": "accept", "content": {"who": "me"}}}, "state": "opaque-1"}


def test_subscriptions_at_a_modern_server(tmp_path: Path) -> None:
    """They go through one stream, opened anew when they change or the server has ended."""
    with Host(in_place(tmp_path, "--modern")) as host:
        host.initialize()
        host.wait_other("notifications/tools/list_changed")
        assert host.request("resources/subscribe", {"uri": "fixture://fixture/1"})["result"] == {}
        streams = host.text("listening")
        assert len(streams) == 2
        changed = {"uri": "fixture://fixture/1", "_meta": {META + "subscriptionId": streams[-1], "x": 1}}
        host.call("notify", {"method": "notifications/resources/updated", "params": changed})
        told = host.wait_other("notifications/resources/updated")
        assert told["params"] == {"uri": "fixture://fixture/1", "_meta": {"x": 1}}
        assert host.text("cancelled") == [streams[0]]
        host.call("crash")
        (again,) = host.text("listening")
        listened = [json.loads(line) for line in host.text("received") if "listen" in line]
        wanted = next(one["params"]["notifications"] for one in listened if one.get("id") == again)
        assert wanted["resourceSubscriptions"] == ["fixture://fixture/1"]
        assert host.request("resources/unsubscribe", {"uri": "fixture://fixture/1"})["result"] == {}


@pytest.mark.parametrize("mode", ["legacy", MODERN, "auto"])
def test_servers_of_both_eras_serve_any_host(tmp_path: Path, mode: str) -> None:
    """Aggregated, each bridged to where it must be."""

    async def use(client: Any) -> Any:
        names = {tool.name for tool in (await client.list_tools()).tools}
        got = json.loads((await client.call_tool("new_input_required", {})).content[0].text)
        asked = json.loads((await client.call_tool("old_elicit", {})).content[0].text)
        read = [(await client.read_resource(f"fixture://{name}/1")).contents[0].text for name in ("old", "new")]
        return "old_echo" in names, got["state"], asked["result"]["action"], read

    servers = [
        {"name": name, "argv": [*command, f"--name={name}"]}
        for name, command in (("old", fixture("--legacy")), ("new", fixture("--modern")))
    ]
    assert drive(proxied(tmp_path, servers), mode, use, **BACKS) == (True, "opaque-1", "accept", ["old", "new"])


@pytest.mark.parametrize("server", ["--legacy", "--modern"])
def test_long_results_through_a_bridge(tmp_path: Path, server: str) -> None:
    """They lie on disk on their way, and get the words of the host's era all the same."""
    with Host(in_place(tmp_path, server)) as host:
        meta = MODERN_META if server == "--legacy" else None
        if meta is None:
            host.initialize()
        result = host.call("sized", {"bytes": 3_000_000, "form": "rows"}, meta=meta)["result"]
        assert len(result["content"][0]["text"]) > 2_500_000
        assert result.get("resultType") == ("complete" if meta else None)
        assert (META + "serverInfo" in result.get("_meta", {})) == (meta is not None)
