"""What a handshake client gets for what it sends: statuses, sessions, headers."""

from __future__ import annotations

import json

import pytest

from tests.http.support import HANDSHAKE, Front, config, fixture, initialize, messages, two_tenants

LIST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}


def test_a_session_begins_with_initialize_and_ends_with_delete(front: Front) -> None:
    """The id that initialize brings opens the session until it is deleted; then it is unknown."""
    session = front.session()
    assert len(session.id) >= 43
    assert session.greeting["protocolVersion"] == HANDSHAKE
    assert session.request("tools/list")["result"]["tools"]
    assert front.client.delete("/mcp", headers={"mcp-session-id": session.id}).status_code == 200
    assert session.post({"id": 3, "method": "ping"}).status_code == 404
    assert front.client.delete("/mcp", headers={"mcp-session-id": session.id}).status_code == 404


def test_unknown_fields_of_the_greeting_arrive_as_they_were_sent(front: Front) -> None:
    """What the server says of itself is passed on byte for byte."""
    answer = front.post(initialize())
    assert '"x-init": {"kept": 1.5}' in answer.text
    assert "12345678901234567890" in answer.text


def test_a_request_without_a_session_is_refused(front: Front) -> None:
    """400 where the header is missing, 404 where the session is unknown, with a JSON-RPC error that says why."""
    assert front.post(LIST).status_code == 400
    unknown = front.post(LIST, mcp_session_id="x" * 43)
    assert unknown.status_code == 404
    assert unknown.json()["error"]["code"] == -32600
    assert front.client.get("/mcp", headers={"accept": "text/event-stream"}).status_code == 400


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"accept": "application/json"}, 406),
        ({"accept": "text/event-stream"}, 406),
        ({"accept": ""}, 200),  # the client library adds */*
        ({"accept": "*/*"}, 200),
        ({"accept": "application/json;q=0.5, text/*"}, 200),
        ({"accept": "application/json, text/event-stream;q=0"}, 406),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/json; charset=utf-8"}, 200),
        ({"content_encoding": "gzip"}, 415),
        ({"host": "evil.example"}, 421),
        ({"host": "localhost:1234"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://localhost:6274"}, 200),
        ({"origin": "null"}, 403),
        ({"mcp_protocol_version": "1999-01-01"}, 400),
        ({"mcp_protocol_version": "2025-06-18"}, 200),
    ],
)
def test_headers_decide_whether_a_request_is_taken(front: Front, headers: dict[str, str], status: int) -> None:
    """Accept, Content-Type, Host, Origin and MCP-Protocol-Version are each checked."""
    answer = front.post(initialize(), **headers)
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"", -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
        (b"[" * 100_000, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 5000 + b"]" * 5000 + b"}", -32600),
        (b"\xff\xfe{}", -32700),
        (b"null", -32700),
    ],
)
def test_a_body_that_is_no_message_is_400(front: Front, body: bytes, code: int) -> None:
    """Whatever is sent, the answer is a JSON-RPC error with status 400."""
    answer = front.post(body, mcp_session_id=front.session().id)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


def test_a_body_on_several_lines_reaches_a_server_that_reads_lines(front: Front) -> None:
    """Line ends between tokens are white space; the server gets one line."""
    session = front.session()
    message = {
        "jsonrpc": "2.0",
        "id": 9,
        "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": "a"}},
    }
    answer = front.post(json.dumps(message, indent=2).replace("\n", "\r\n").encode(), **session.headers)
    assert messages(answer)[-1]["result"]["content"][0]["text"] == "a"


def test_other_methods_and_paths(front: Front) -> None:
    """405 with what is allowed, 404 with where to go."""
    answer = front.client.put("/mcp")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST, DELETE")
    assert front.client.get("/").status_code == 404
    assert front.client.get("/metadata/../mcp2").status_code == 404
    assert front.client.post("/healthz").status_code == 405


def test_a_get_needs_a_client_that_reads_events(front: Front) -> None:
    """406 for one that takes JSON alone."""
    headers = {"accept": "application/json", "mcp-session-id": front.session().id}
    assert front.client.get("/mcp", headers=headers).status_code == 406


def test_a_refused_initialize_opens_no_session(tmp_path, front: Front) -> None:
    """A server that cannot be started: the error arrives, without a session id, and no session is left."""
    with Front(tmp_path / "store", "--", "/nowhere/no-such-server") as broken:
        answer = broken.post(initialize())
        assert answer.status_code == 200
        assert "error" in messages(answer)[-1]
        assert "mcp-session-id" not in answer.headers
        assert "crp_mcp_sessions_open 0" in broken.client.get("/metrics").text


def test_bodies_and_headers_have_limits(tmp_path) -> None:
    """413 for a body that is too long, whether it says so or not; oversized headers are refused."""
    path = config(tmp_path, {"fixture": fixture()}, {"limits": {"body_bytes": 2000, "header_bytes": 4000}})
    with Front(tmp_path / "store", "--config", path) as front:
        long = json.dumps({**LIST, "params": {"x": "y" * 3000}}).encode()
        assert front.post(long).status_code == 413
        chunks = iter([long[:1500], long[1500:]])
        headers = {"content-type": "application/json", "accept": "*/*"}
        assert front.client.post("/mcp", content=chunks, headers=headers).status_code == 413
        assert front.post(initialize(), x_long="z" * 9000).status_code in (400, 431)
        assert front.post(initialize()).status_code == 200


def test_sessions_and_requests_have_limits(tmp_path) -> None:
    """429 with Retry-After for a tenant that has too many sessions; others still come in, up to the limit for all."""
    path = config(tmp_path, {"fixture": fixture()}, two_tenants(tenant_sessions=2, sessions=3))
    with Front(tmp_path / "store", "--config", path) as front:
        a, b = {"authorization": "Bearer token-of-tenant-a-0001"}, {"authorization": "Bearer token-of-tenant-b-0002"}
        mine = [front.session(**a) for _ in range(2)]
        refused = front.post(initialize(), **a)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")
        front.session(**b)
        assert front.post(initialize(), **b).status_code == 503
        assert front.client.delete("/mcp", headers={"mcp-session-id": mine[0].id, **a}).status_code == 200
        assert front.session(**b).request("ping")["result"] == {}
        assert 'crp_mcp_http_refused_total{reason="tenant_sessions"} 1' in front.client.get("/metrics", headers=a).text
