"""Protocol 2026-07-28 over HTTP: what a request must say twice, what it gets, and how it is cancelled."""

from __future__ import annotations

import base64
import json
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.http.support import (
    META,
    MODERN,
    MODERN_META,
    Events,
    Front,
    config,
    eventually,
    fixture,
    headers_of,
    messages,
    modern_request,
)


def test_a_request_stands_for_itself(front: Front) -> None:
    """No handshake, no session: an answer as plain JSON, its unknown members and large numbers untouched."""
    answer = front.modern("server/discover")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert "mcp-session-id" not in answer.headers
    assert "12345678901234567890" in answer.text
    called = front.modern("tools/call", {"name": "echo", "arguments": {"text": "hi"}}, ident="a b")
    assert called.json()["id"] == "a b"
    assert called.json()["result"]["content"] == [{"type": "text", "text": "hi"}]


@pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities"])
def test_a_request_without_its_envelope_is_refused(front: Front, missing: str) -> None:
    """-32602 with status 400, and the missing member's name."""
    message, headers = modern_request("tools/list")
    del message["params"]["_meta"][META + missing]
    answer = front.post(message, **headers)
    assert (answer.status_code, answer.json()["error"]["code"], answer.json()["id"]) == (400, -32602, 1)
    assert missing in answer.json()["error"]["message"]


def test_there_is_no_handshake_in_this_version(front: Front) -> None:
    """-32601 with status 404, and the server behind us stays in its era."""
    message, headers = modern_request("initialize")
    answer = front.post(message, **headers)
    assert (answer.status_code, answer.json()["error"]["code"], answer.json()["id"]) == (404, -32601, 1)
    assert front.modern("server/discover").status_code == 200


def test_a_request_without_meta_is_refused(front: Front) -> None:
    """The version header alone makes it one of this version."""
    for params in ({}, {"_meta": 5}, None):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", **({} if params is None else {"params": params})}
        answer = front.post(message, mcp_protocol_version=MODERN, mcp_method="tools/list")
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32602)


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp_method": "tools/list"},
        {"mcp_method": ""},
        {"mcp_name": "other"},
        {"mcp_name": ""},
        {"mcp_name": "=?base64?!!!?="},
        {"mcp_protocol_version": ""},
    ],
)
def test_headers_that_say_something_else_than_the_body_are_refused(front: Front, headers: dict[str, str]) -> None:
    """-32020 with status 400, before anything is done."""
    answer = front.modern("tools/call", {"name": "echo", "arguments": {}}, **headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)


def test_a_header_that_stands_there_twice_is_refused(front: Front) -> None:
    """Readers of the first and of the last would disagree."""
    message, headers = modern_request("tools/list")
    pairs = [*headers_of(headers).items(), ("mcp-method", "tools/list")]
    answer = front.client.post("/mcp", content=json.dumps(message), headers=pairs)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)


def test_a_name_may_be_packed(front: Front) -> None:
    """`=?base64?…?=` stands for what a header cannot hold."""
    uri = "fixture://fixture/é"
    packed = f"=?base64?{base64.b64encode(uri.encode()).decode()}?="
    answer = front.modern("resources/read", {"uri": uri}, mcp_name=packed)
    assert answer.json()["result"]["contents"][0]["uri"] == uri


def test_a_version_that_is_not_spoken_is_refused(front: Front) -> None:
    """-32022 with status 400 and the versions that are spoken."""
    answer = front.modern(
        "tools/list", meta={META + "protocolVersion": "2099-01-01"}, mcp_protocol_version="2099-01-01"
    )
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], error["data"]) == (-32022, {"supported": [MODERN], "requested": "2099-01-01"})
    # What the envelope of that version is like is not known: it may well have none.
    bare = front.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, mcp_protocol_version="2099-01-01")
    assert (bare.status_code, bare.json()["error"]) == (400, error)


def test_errors_have_the_status_of_their_code(front: Front) -> None:
    """404 for an unknown method, 400 for wrong parameters, 200 for what is a server's own."""
    assert front.modern("no/such/method").status_code == 404
    assert front.modern("resources/read", {"uri": "elsewhere://x"}).status_code == 400
    own = front.modern("tools/call", {"name": "error", "arguments": {}})
    assert (own.status_code, own.json()["error"]["data"]["big"]) == (200, 2**70)


def test_there_is_only_post(front: Front) -> None:
    """405 for GET and DELETE."""
    headers = {"mcp-protocol-version": MODERN, "accept": "text/event-stream"}
    answer = front.client.get("/mcp", headers=headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert front.client.delete("/mcp", headers=headers).status_code == 405


def test_notifications_are_acknowledged_and_answers_refused(front: Front) -> None:
    """202 for a notification, which cannot cancel anybody's request; 400 for an answer."""
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert front.post(note, mcp_protocol_version=MODERN).status_code == 202
    assert front.post(note, mcp_protocol_version="2099-01-01").status_code == 400
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert front.post(answer, mcp_protocol_version=MODERN).status_code == 400


def test_a_thousand_requests_with_one_id_each_get_their_own_answer(front: Front) -> None:
    """Clients choose their ids and tokens freely, also all the same ones."""

    def call(n: int) -> bool:
        meta = {"progressToken": "same"}
        answer = front.modern("tools/call", {"name": "echo", "arguments": {"text": f"n{n}"}}, ident=1, meta=meta)
        message = messages(answer)[-1]
        return message["id"] == 1 and message["result"]["content"][0]["text"] == f"n{n}"

    with ThreadPoolExecutor(40) as pool:
        assert all(pool.map(call, range(1000)))


def test_progress_comes_as_events_under_the_clients_own_token(front: Front) -> None:
    """A notification before the answer makes the response a stream; two clients with one token are kept apart."""

    def call(steps: int) -> list[dict]:
        meta = {"progressToken": "t"}
        arguments = {"steps": steps, "delay": 0.01}
        return messages(front.modern("tools/call", {"name": "progress", "arguments": arguments}, meta=meta))

    with ThreadPoolExecutor(4) as pool:
        for steps, found in zip((3, 7, 5, 1), pool.map(call, (3, 7, 5, 1)), strict=True):
            assert [message["params"]["progress"] for message in found[:-1]] == list(range(steps))
            assert {message["params"]["progressToken"] for message in found[:-1]} == {"t"}
            assert found[-1]["result"]["content"][0]["text"] == "done"


def test_closing_the_response_cancels_the_request(front: Front) -> None:
    """The server is told, under the id that it knows."""
    message, headers = modern_request(
        "tools/call", {"name": "progress", "arguments": {"steps": 1000, "delay": 0.05}}, meta={"progressToken": 5}
    )
    content, given = json.dumps(message).encode(), headers_of(headers)
    with Events(front.client.stream("POST", "/mcp", content=content, headers=given)) as events:
        assert events.message()["params"]["progressToken"] == 5

    def was_cancelled() -> bool:
        seen = front.modern("tools/call", {"name": "cancelled", "arguments": {}})
        return messages(seen)[-1]["result"]["content"][0]["text"] != "[]"

    assert eventually(was_cancelled)


def test_a_listening_client_gets_events_under_its_own_id(front: Front) -> None:
    """The stream is acknowledged, and its events carry the id that the client gave it."""
    message, headers = modern_request("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, ident="L")
    content, given = json.dumps(message).encode(), headers_of(headers)
    with Events(front.client.stream("POST", "/mcp", content=content, headers=given)) as events:
        first, second = events.message(), events.message()
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert second["method"] == "notifications/tools/list_changed"
        assert {one["params"]["_meta"][META + "subscriptionId"] for one in (first, second)} == {"L"}


def test_input_required_passes_as_it_is(front: Front) -> None:
    """The question and its state go to the client, the answers and the state to the server."""
    asked = front.modern("tools/call", {"name": "input_required", "arguments": {}}).json()["result"]
    assert (asked["resultType"], asked["requestState"]) == ("input_required", "opaque-1")
    params = {"name": "input_required", "arguments": {}, "inputResponses": {"who": {"action": "accept"}}}
    done = front.modern("tools/call", {**params, "requestState": asked["requestState"]}).json()["result"]
    assert json.loads(done["content"][0]["text"])["state"] == "opaque-1"


def test_conversations_have_servers_of_their_own(front: Front) -> None:
    """Two conversations of one tenant do not share a process; one keeps its own."""

    def pid(name: str | None) -> int:
        meta = {"dev.crp/conversation": name} if name else None
        answer = front.modern("tools/call", {"name": "pid", "arguments": {}}, meta=meta)
        return json.loads(answer.json()["result"]["content"][0]["text"])["pid"]

    assert pid("one") == pid("one")
    assert len({pid("one"), pid("two"), pid(None)}) == 3


def test_servers_that_make_room_for_others_leave_no_request_waiting(tmp_path) -> None:
    """Where conversations are more than may run, each request is answered or refused, and none hangs."""
    path = config(tmp_path, {"fixture": fixture()}, {"limits": {"tenant_sessions": 1}})
    with Front(tmp_path / "store", "--no-tools", "--config", path) as front:

        def call(number: int) -> int:
            meta = {"dev.crp/conversation": f"c{number % 3}"}
            message, headers = modern_request("tools/call", {"name": "echo", "arguments": {"text": "x"}}, meta=meta)
            request = {"content": json.dumps(message), "headers": headers_of(headers)}
            with httpx2.Client(base_url=front.base) as client, client.stream("POST", "/mcp", **request) as answer:
                # A request that hangs gets events that say nothing.
                assert answer.headers["content-type"] == "application/json", f"request {number} hangs"
                return answer.status_code

        with ThreadPoolExecutor(6) as threads:
            assert set(threads.map(call, range(60))) <= {200, 429}


HEADED = """
import json, sys
SCHEMA = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"},
          "n": {"type": "integer", "x-mcp-header": "N"}}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    listed = {"tools": [{"name": "run", "inputSchema": SCHEMA}], "ttlMs": 0, "cacheScope": "private"}
    result = listed if message["method"] == "tools/list" else {"content": []}
    result["resultType"] = "complete"
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.mark.parametrize(
    ("arguments", "headers", "status"),
    [
        ({"region": "eu", "n": 7}, {"mcp_param_region": "eu", "mcp_param_n": "7"}, 200),
        ({"region": "eu", "n": 7}, {"mcp_param_region": "eu", "mcp_param_n": "7.0"}, 200),
        ({"region": "eu"}, {"mcp_param_region": "eu"}, 200),
        ({}, {}, 200),
        ({"region": None}, {}, 200),
        ({"region": "é"}, {"mcp_param_region": "=?base64?w6k=?="}, 200),
        ({"region": "eu"}, {}, 400),
        ({"region": "eu"}, {"mcp_param_region": "us"}, 400),
        ({}, {"mcp_param_region": "us"}, 400),
        ({"n": 7}, {"mcp_param_n": "8"}, 400),
        ({"region": "é"}, {"mcp_param_region": "=?base64?w6k?="}, 400),
        ({"region": "eu"}, {"mcp_param_region": "eu", "mcp_param_unknown": "x"}, 200),
    ],
)
def test_arguments_in_headers_are_held_against_the_body(
    headed: Front, arguments: dict, headers: dict[str, str], status: int
) -> None:
    """Where a tool's schema wants an argument in a header, both must agree; headers of no declaration pass."""
    answer = headed.modern("tools/call", {"name": "run", "arguments": arguments}, **headers)
    assert answer.status_code == status, answer.text
    assert status == 200 or answer.json()["error"]["code"] == -32020


@pytest.fixture(scope="module")
def headed(tmp_path_factory: pytest.TempPathFactory):
    import sys

    with Front(tmp_path_factory.mktemp("headed") / "store", "--", sys.executable, "-c", HEADED) as one:
        yield one


def test_the_policy_header_may_tighten_what_holds_here(tmp_path) -> None:
    """A known directive is taken; one that only the operator may set, or that is none, is refused with its name."""
    with Front(tmp_path / "store", "--", *fixture()) as front:
        params = {"name": "scratch_list", "arguments": {}}
        assert front.modern("tools/call", params, crp_safety_policy="tool-output-stale=exclude").status_code == 200
        for text in ("tool-output-retain=audit", "no-such-thing=1"):
            answer = front.modern("tools/call", params, crp_safety_policy=text)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32602)
            assert text.split("=")[0] in answer.json()["error"]["message"]


def test_meta_of_the_envelope_reaches_the_server(front: Front) -> None:
    """The envelope of each request is what the client sent."""
    front.modern("tools/call", {"name": "echo", "arguments": {"mark": "envelope"}}, meta={"x": 1})
    seen = front.modern("tools/call", {"name": "received", "arguments": {}}, meta={"dev.crp/raw": True}).json()
    lines = [json.loads(line) for line in json.loads(seen["result"]["content"][0]["text"])]
    sent = next(one for one in lines if one.get("params", {}).get("arguments") == {"mark": "envelope"})
    assert sent["params"]["_meta"] == {**MODERN_META, "x": 1}


def test_log_messages_go_to_requests_that_want_them(front: Front) -> None:
    """A request that names a log level gets what is logged; one that names none gets its answer alone."""
    params = {"name": "burst", "arguments": {"count": 3}}
    wanted = messages(front.modern("tools/call", params, meta={META + "logLevel": "info"}))
    assert [one.get("method") for one in wanted] == ["notifications/message"] * 3 + [None]
    assert len(messages(front.modern("tools/call", params))) == 1
