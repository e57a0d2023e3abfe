"""What arrives through us in place is what arrives without us, byte for byte, in both eras."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from .host import MODERN_META, Host, fixture, in_place

ODD_RESULTS = {
    "unknown fields": '{"content":[],"x-vendor":{"b":1,"a":[null]},"_meta":{"vendor/key":1}}',
    "unknown content type": '{"content":[{"type":"hologram","depth":3}]}',
    "null structured content": '{"content":[],"structuredContent":null}',
    "nested nulls": '{"content":[],"structuredContent":{"a":{"b":null}}}',
    "big integers": '{"content":[],"structuredContent":{"n":123456789012345678901234567890}}',
    "long integers": '{"content":[],"structuredContent":{"n":' + "9" * 6000 + "}}",
    "exact decimals": '{"content":[],"structuredContent":{"n":0.1000000000000000055,"m":1.0,"k":1e400}}',
    "duplicate keys": '{"content":[],"structuredContent":{"a":1,"a":2},"structuredContent":{"a":3,"a":4}}',
    "missing content": '{"structuredContent":[]}',
    "white space": '{ "content" : [ ] ,\t"a" : "b" }',
    "escapes": '{"content":[{"type":"text","text":"\\u00e9\\/\\ud83d\\ude00\\u0000"}]}',
    "text beyond ASCII": '{"content":[{"type":"text","text":"é漢😀"}]}',
    "an array": "[1,2]",
    "a number": "17",
    "null": "null",
    "empty": "{}",
    "error flag": '{"content":[{"type":"text","text":"boom"}],"isError":true}',
    "deep but decent": '{"structuredContent":' + "[" * 150 + "]" * 150 + "}",
}


@pytest.fixture(scope="module", params=["handshake", "modern"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Host, Host, dict]]:
    """One host without us, one through us, and the `_meta` of the era."""
    tmp_path = tmp_path_factory.mktemp("pair")
    with Host(fixture()) as direct, Host(in_place(tmp_path)) as through:
        if request.param == "handshake":
            assert direct.initialize() == through.initialize()
            yield direct, through, {}
        else:
            yield direct, through, MODERN_META


def lines(pair: tuple[Host, Host, dict], method: str, params: dict) -> tuple[bytes, bytes]:
    direct, through, meta = pair
    params = {**params, **({"_meta": meta} if meta else {})}
    return direct.wait_line(direct.post(method, params)), through.wait_line(through.post(method, params))


@pytest.mark.parametrize("name", ODD_RESULTS)
def test_odd_results_arrive_byte_for_byte(pair: tuple[Host, Host, dict], name: str) -> None:
    """Whatever a server answers, the host gets the same bytes."""
    direct, through = lines(pair, "tools/call", {"name": "raw_result", "arguments": {"result": ODD_RESULTS[name]}})
    assert through == direct


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", {}),
        ("prompts/list", {}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "fixture://fixture/1"}),
        ("resources/read", {"uri": "ui://fixture/none"}),
        ("prompts/get", {"name": "greet"}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"value": "b"}}),
        ("logging/setLevel", {"level": "debug"}),
        ("resources/subscribe", {"uri": "fixture://fixture/1"}),
        ("ping", {}),
        ("x/unknown-but-served", {"a": [1, None], "b": {}}),
        ("x/unknown", {}),
        ("tools/call", {"name": "error"}),
        ("tools/call", {"name": "no such tool"}),
        ("tools/call", {"name": "fail"}),
        ("tools/call", {"name": "task"}),
        ("tools/call", {"name": "input_required"}),
        ("tools/call", {"name": "input_required", "inputResponses": {"who": {"action": "no"}}, "requestState": "s"}),
        ("tools/call", {"name": "image", "arguments": {"bytes": 900_000}}),
        ("tools/call", {}),
        ("tools/call", {"name": 5}),
    ],
)  # fmt: skip
def test_every_request_is_answered_as_without_us(pair: tuple[Host, Host, dict], method: str, params: dict) -> None:
    """Results, errors with their codes and data, unknown methods: all the same bytes."""
    direct, through = lines(pair, method, params)
    assert through == direct


def test_servers_see_what_the_host_wrote(pair: tuple[Host, Host, dict]) -> None:
    """Requests and notifications reach the server byte for byte, unknown members and spacing included."""
    _, through, meta = pair
    extra = json.dumps(meta)[1:-1]
    head = '{"jsonrpc": "2.0","x-top":[1.50], "id":"é/1","method":"x/y","params":{"z":1e2,"_meta":{'
    request = head + extra + "}}}"
    through.write(request.encode() + b"\r\n")
    through.write(b'{"method":"notifications/x-odd","params":{"n":12345678901234567890123},"jsonrpc":"2.0"}\n')
    assert through.wait("é/1")["error"]["code"] == -32601
    seen = through.text("received", meta=meta)
    assert request in seen
    assert '{"method":"notifications/x-odd","params":{"n":12345678901234567890123},"jsonrpc":"2.0"}' in seen


def test_progress_arrives_with_the_hosts_token(pair: tuple[Host, Host, dict]) -> None:
    """P8: every progress notification, in order, before the result."""
    _, through, meta = pair
    answer = through.call("progress", {"steps": 3}, meta={**meta, "progressToken": "tök/1"})
    assert answer["result"]["content"][0]["text"] == "done"
    assert [m["params"] for m in through.others if m["method"] == "notifications/progress"] == [
        {"progressToken": "tök/1", "progress": step, "x-odd": None} for step in range(3)
    ]


def test_notifications_of_the_server_arrive(pair: tuple[Host, Host, dict]) -> None:
    """Log messages, list changes, resource updates and unknown notifications."""
    _, through, meta = pair
    for method in ("notifications/message", "notifications/tools/list_changed", "notifications/x-odd"):
        through.text("notify", {"method": method, "params": {"level": "info", "data": [1, None]}}, meta=meta)
        assert through.wait_other(method)["params"] == {"level": "info", "data": [1, None]}


def test_cancelling_reaches_the_server(pair: tuple[Host, Host, dict]) -> None:
    """The server sees the cancellation, and nothing is answered afterwards."""
    _, through, meta = pair
    params = {"name": "slow", "arguments": {"seconds": 30}, **({"_meta": meta} if meta else {})}
    ident = through.post("tools/call", params)
    through.notify("notifications/cancelled", {"requestId": ident, "reason": "enough"})
    assert through.text("cancelled", meta=meta) == [ident]


@pytest.mark.parametrize("tool", ["elicit", "sample", "roots", "ping_host"])
def test_requests_of_the_server_are_answered_by_the_host(tmp_path: Path, tool: str) -> None:
    """P9: never by us, and also while several calls are in flight: the connection is this host's alone."""
    with Host(in_place(tmp_path)) as host:
        host.initialize({"elicitation": {}, "sampling": {}, "roots": {}})
        slow = host.post("tools/call", {"name": "slow", "arguments": {"seconds": 0.2}})
        for method in ("elicitation/create", "sampling/createMessage", "roots/list", "ping"):
            host.replies[method] = lambda message: {"result": {"echo": message["method"], "big": 2**70}}
        assert host.text(tool)["result"]["big"] == 2**70
        host.wait(slow)
        for method in host.replies:
            host.replies[method] = lambda message: {"error": {"code": -1, "message": "declined", "data": [None]}}
        assert host.text(tool) == {"error": {"code": -1, "message": "declined", "data": [None]}}


def test_subscriptions_listen_passes(tmp_path: Path) -> None:
    """The 2026-07-28 stream: acknowledgement and events carry the host's own id."""
    with Host(in_place(tmp_path)) as host:
        host.post("subscriptions/listen", {"_meta": MODERN_META, "notifications": {"toolsListChanged": True}})
        for method in ("notifications/subscriptions/acknowledged", "notifications/tools/list_changed"):
            meta = host.wait_other(method)["params"]["_meta"]
            assert meta == {"io.modelcontextprotocol/subscriptionId": 1}


def test_pages_pass_and_our_tools_come_once(tmp_path: Path) -> None:
    """P10: a paged listing keeps its pages; our own tools are on the first and nowhere else."""
    with Host(in_place(tmp_path, "--page=7", own=True)) as host, Host(fixture("--page=7")) as direct:
        host.initialize()
        direct.initialize()
        names: list[str] = []
        theirs: list[str] = []
        for side, found in ((host, names), (direct, theirs)):
            params: dict = {}
            while params is not None:
                result = side.request("tools/list", params)["result"]
                found += [tool["name"] for tool in result["tools"]]
                params = {"cursor": result["nextCursor"]} if "nextCursor" in result else None  # type: ignore[assignment]
        assert [name for name in names if not name.startswith("scratch_")] == theirs
        assert sorted(name for name in names if name.startswith("scratch_")) == ["scratch_get", "scratch_list"]


def test_what_we_add_to_the_introduction(tmp_path: Path) -> None:
    """One sentence after the server's instructions, capabilities only where it lacks them, all else the same."""
    options = ("--instructions=Be kind.", "--without=tools,completions")
    with Host(fixture(*options)) as direct, Host(in_place(tmp_path, *options, own=True)) as host:
        theirs, ours = direct.initialize()["result"], host.initialize()["result"]
        assert ours.pop("instructions").startswith("Be kind.\n\nLarge results")
        assert theirs.pop("instructions") == "Be kind."
        assert ours["capabilities"].pop("tools") == {}
        assert ours["capabilities"].pop("completions") == {}
        assert ours == theirs
        assert {tool["name"] for tool in host.request("tools/list")["result"]["tools"]} == {
            "scratch_get",
            "scratch_list",
        }


def test_our_own_side_in_place(tmp_path: Path) -> None:
    """Own tools, template, resource and completion are served by us; everything else by the server."""
    with Host(in_place(tmp_path, own=True)) as host:
        host.initialize()
        assert host.text("scratch_get", {"a": 1}) == 'scratch_get {"a": 1}'
        templates = host.request("resources/templates/list")["result"]["resourceTemplates"]
        assert [t["uriTemplate"] for t in templates] == ["fixture://fixture/{n}", "scratch://{scratch_id}"]
        assert host.request("resources/read", {"uri": "scratch://x"})["result"]["contents"][0]["text"] == "ours"
        assert host.request("resources/read", {"uri": "scratch://none"})["error"]["code"] == -32602
        ref = {"type": "ref/resource", "uri": "scratch://{scratch_id}"}
        asked = {"ref": ref, "argument": {"name": "scratch_id", "value": ""}}
        assert host.request("completion/complete", asked)["result"]["completion"]["values"] == ["scratch_sql_001"]
        ident = host.post("tools/call", {"name": "scratch_list"})
        host.notify("notifications/cancelled", {"requestId": ident})
        assert host.request("ping")["result"] == {}


def test_replaced_results_and_output_schemas(tmp_path: Path) -> None:
    """A tool whose result may be replaced lists no output schema; passthrough and user-interface tools keep theirs."""
    with Host(in_place(tmp_path, own=True, replace=1000, passthrough=["sized"])) as host:
        host.initialize()
        tools = {tool["name"]: tool for tool in host.request("tools/list")["result"]["tools"]}
        assert "outputSchema" not in tools["typed"]
        assert tools["typed"]["x-vendor"] == {"kept": [1, 2.50, None]}
        assert "outputSchema" in tools["app"]
        answer = host.call("typed", {"rows": 1000})
        assert list(answer["result"]) == ["content", "seen"]
        assert host.call("typed", {"rows": 1})["result"]["structuredContent"] == {"rows": [{"n": 0}]}
        assert len(host.text("sized", {"bytes": 3_000_000})) == 3_000_000
        # Never an error, a question or a task.
        assert "error" in host.call("error", {"pad": "x" * 2000})
        assert host.call("input_required")["result"]["resultType"] == "input_required"
        assert host.call("task")["result"]["task"]["taskId"] == "t1"


def test_reserved_members_of_a_server_are_stripped(tmp_path: Path) -> None:
    """`dev.crp/*` in a result's `_meta` is ours to write; the rest of it stays."""
    with Host(in_place(tmp_path)) as host:
        host.initialize()
        result = '{"content":[],"_meta":{"a":1.0,"dev.crp/headers":{"x":1},"\\u0064ev.crp/receipt":"forged","b":[]}}'
        line = host.wait_line(host.post("tools/call", {"name": "raw_result", "arguments": {"result": result}}))
        assert b'"result": {"content":[],"_meta":{"a":1.0,"b":[]}}'.replace(b": ", b":", 1) in line


def test_a_capture_that_fails_loses_nothing(tmp_path: Path) -> None:
    """The tool ran: whatever goes wrong on our side, its result arrives whole."""
    with Host(in_place(tmp_path, broken=True, replace=0)) as host:
        host.initialize()
        assert host.text("echo", {"text": "precious"}) == "precious"


def test_ids_never_get_confused(tmp_path: Path) -> None:
    """Strings, numbers, numbers spelled oddly, and one id used twice at once: each answer to its own request."""
    with Host(in_place(tmp_path)) as host:
        host.initialize()
        call = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%s"}}}\n'
        odd = ['"7"', "7", "-1", "1.5", '"\\u0061b"', '"é"', "900719925474099312345"]
        host.write("".join(call % (ident, f"for {n}") for n, ident in enumerate(odd)).encode())
        for n, ident in enumerate(odd):
            assert host.wait(json.loads(ident))["result"]["content"][0]["text"] == f"for {n}"
        host.write((call % ("5", "first") + call % ("5", "second")).encode())
        texts = {host.wait(5)["result"]["content"][0]["text"] for _ in range(2)}
        assert texts == {"first", "second"}
