"""Clients that mean harm, or know no better: none holds up another, and nothing they send ends the process."""

from __future__ import annotations

import json
import random
import socket
from pathlib import Path

import pytest

from tests.http.support import DEADLINE, Front, config, fixture, headers_of, initialize, modern_request


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory):
    """A front that loses patience soon."""
    folder = tmp_path_factory.mktemp("strict")
    limits = {"header_seconds": 1, "body_seconds": 1, "stall_seconds": 1, "connections": 50}
    with Front(folder / "store", "--config", config(folder, {"fixture": fixture()}, {"limits": limits})) as one:
        yield one


def connect(front: Front) -> socket.socket:
    host, _, port = front.base.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=DEADLINE)


def is_alive(front: Front) -> bool:
    return front.modern("tools/call", {"name": "echo", "arguments": {"text": "x"}}).status_code == 200


@pytest.mark.parametrize("start", [b"", b"P", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-A: "])
def test_headers_that_never_end_are_cut_off(strict: Front, start: bytes) -> None:
    """The connection is closed, while others are served."""
    with connect(strict) as slow:
        slow.sendall(start)
        assert is_alive(strict)
        assert slow.recv(1000) == b""


def test_a_second_request_that_never_ends_is_cut_off_too(strict: Front) -> None:
    """Also on a connection that has been served before."""
    with connect(strict) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in slow.recv(1000)
        slow.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        while slow.recv(1000):
            pass


def test_a_body_that_never_ends_is_408(strict: Front) -> None:
    """And the connection is closed."""
    with connect(strict) as slow:
        head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers_of({}).items())
        slow.sendall(head.encode() + b'\r\n{"jsonrpc"')
        assert is_alive(strict)
        assert b"408" in slow.recv(1000)


def test_a_client_that_reads_nothing_is_cut_off(strict: Front) -> None:
    """Its call is cancelled, and what waits for it is let go."""
    message, headers = modern_request(
        "tools/call", {"name": "sized", "arguments": {"bytes": 30_000_000}}, meta={"dev.crp/raw": True}
    )
    body = json.dumps(message).encode()
    with connect(strict) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers_of(headers).items())
        deaf.sendall(head.encode() + b"\r\n" + body)
        record = strict.wait_log("http", rpc="tools/call", path="/mcp")
        while record["sent"] < 1000:
            record = strict.wait_log("http", rpc="tools/call", path="/mcp")
        assert 0 < record["sent"] < 30_000_000
    assert is_alive(strict)


def test_who_holds_many_connections_keeps_nobody_out(strict: Front) -> None:
    """Those that are idle longest are closed; newcomers are served, and what is being answered goes on."""
    waits = {"name": "progress", "arguments": {"steps": 10, "delay": 0.1}, "_meta": {"progressToken": 1}}
    with strict.session().stream({"id": 5, "method": "tools/call", "params": waits}) as call:
        assert call.message()["params"]["progress"] == 0
        many = [connect(strict) for _ in range(80)]
        try:
            assert many[0].recv(1) == b""
            with connect(strict) as late:
                late.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert late.recv(12) == b"HTTP/1.1 200"
            assert any(message.get("id") == 5 for message in iter(call.message, None))
        finally:
            for one in many:
                one.close()


def test_garbage_is_answered_or_cut_off(strict: Front) -> None:
    """Bytes of any kind in place of a request, and requests of any kind."""
    chance = random.Random(7)
    starts = [
        b"",
        b"POST /mcp HTTP/1.1\r\n",
        b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n",
        b"POST /mcp HTTP/9.9\r\n\r\n",
    ]
    for n in range(60):
        with connect(strict) as one:
            one.sendall(starts[n % len(starts)] + chance.randbytes(chance.randrange(400)) + b"\r\n\r\n")
            one.shutdown(socket.SHUT_WR)
            while one.recv(65536):
                pass
    assert is_alive(strict)
    assert strict.process.poll() is None


def test_odd_messages_in_a_session_are_answered(strict: Front) -> None:
    """Wrong types everywhere a type can be wrong; each gets an answer, and the session lives."""
    session = strict.session()
    odd = [
        None,
        0,
        "",
        "x" * 3000,
        [],
        {},
        {"a": None},
        [[]],
        1e300,
        True,
        {"_meta": 5},
        {"_meta": {"progressToken": {}}},
    ]
    for params in odd:
        for method in (
            "tools/call",
            "tools/list",
            "resources/read",
            "no/such",
            "initialize",
        ):
            message = {"id": 4, "method": method, "params": params}
            assert session.post(message).status_code in (200, 400), message
        assert session.post({"method": "notifications/cancelled", "params": params}).status_code in (202, 400)
        assert session.post({"id": params, "result": params}).status_code in (202, 400)
    assert session.request("ping")["result"] == {}


def test_odd_headers_are_refused_not_fatal(strict: Front) -> None:
    """Session ids, event ids and versions of any form."""
    for value in ("", "\xff\xfe", "x" * 5000, "../..", "0", "-1", "{}", "a,b"):
        for name in (
            "mcp-session-id",
            "last-event-id",
            "mcp-protocol-version",
            "mcp-method",
            "authorization",
            "accept",
        ):
            pairs = [*headers_of({}).items(), (name, value.encode("latin-1"))]
            content = json.dumps(initialize()).encode()
            assert strict.client.post("/mcp", content=content, headers=pairs).status_code < 500
            get = [("accept", "text/event-stream"), (name, value.encode("latin-1"))]
            assert strict.client.get("/mcp", headers=get).status_code < 500
    assert is_alive(strict)


FORGED = {"status": 401, "wwwAuthenticate": 'Bearer resource_metadata="http://elsewhere.example/"'}


@pytest.mark.parametrize("era", ["handshake", "modern"])
@pytest.mark.parametrize("key", ['"dev.crp/http"', '"dev\\u002ecrp/http"'])
def test_a_server_cannot_speak_for_us_in_an_error(strict: Front, era: str, key: str) -> None:
    """What only we may say, such as where clients should log in, is taken out of it; the rest stays as it is."""
    data = f'{{"kept": 1.50, {key}: {json.dumps(FORGED)}}}'
    line = f'{{"jsonrpc":"2.0","id":@ID@,"error":{{"code":-32050,"message":"no","data":{data}}}}}'
    call = {"name": "raw_line", "arguments": {"line": line}}
    if era == "modern":
        answer = strict.modern("tools/call", call)
    else:
        answer = strict.session().post({"id": 1, "method": "tools/call", "params": call})
    assert answer.status_code == 200, answer.text
    assert "www-authenticate" not in answer.headers
    assert answer.json()["error"] == {"code": -32050, "message": "no", "data": {"kept": 1.5}}
    assert "1.50" in answer.text


def test_a_server_cannot_speak_for_us_in_a_task(strict: Front) -> None:
    """Headers of answers are ours, also where a result is passed on without being captured."""
    result = {"task": {"taskId": "t"}, "_meta": {"dev.crp/headers": {"CRP-Context-Scratch-Entries": "9/9"}, "k": 1}}
    call = {"name": "raw_result", "arguments": {"result": json.dumps(result)}}
    answer = strict.session().post({"id": 1, "method": "tools/call", "params": call})
    assert "crp-context-scratch-entries" not in answer.headers
    assert answer.json()["result"] == {"task": {"taskId": "t"}, "_meta": {"k": 1}}


def test_nothing_of_a_request_is_in_the_log(strict: Front) -> None:
    """Neither arguments nor results, tokens, session ids or made-up methods and paths."""
    session = strict.session()
    session.call("echo", {"text": "secret-argument"})
    strict.client.get("/secret-path?secret-query", headers={"authorization": "Bearer secret-token"})
    session.post({"id": 1, "method": "secret/method"})
    strict.wait_log("http", rpc="other")
    text = json.dumps(strict.log)
    assert "secret" not in text
    assert session.id not in text


def test_a_dead_server_fails_its_own_calls_only(tmp_path: Path) -> None:
    """One of two servers crashes: its call gets an error, the other server answers, and it is started again."""
    servers = {"one": fixture("--name=one"), "two": fixture("--name=two")}
    entries = {name: {"command": argv[0], "args": argv[1:], "prefix": True} for name, argv in servers.items()}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"mcpServers": entries}))
    with Front(tmp_path / "store", "--config", path) as front:
        session = front.session()
        session.request("tools/list")
        assert session.call("one_crash")["result"]["isError"]
        assert session.text("two_echo", {"text": "t"}) == "t"
        assert session.text("one_echo", {"text": "o"}) == "o"


@pytest.mark.parametrize("name", ["Origin", "Authorization", "Content-Type", "Mcp-Session-Id", "Last-Event-Id"])
def test_a_header_that_decides_stands_there_once(strict: Front, name: str) -> None:
    """Who reads the first and who reads the last must not disagree on who asks, from where, or for which session."""
    headers = [*headers_of({}).items(), (name, "http://localhost"), (name, "http://evil.example")]
    answer = strict.client.post("/mcp", content=b"{}", headers=headers)
    assert (answer.status_code, answer.headers["connection"]) == (400, "close")
    assert name.lower() in answer.json()["error"]["message"]


@pytest.mark.parametrize(("host", "status"), [("localhost", b"200"), ("evil.example", b"421")])
def test_a_whole_address_as_target_is_taken_and_its_host_counts(strict: Front, host: str, status: bytes) -> None:
    """As a proxy may ask; whatever the header says."""
    with connect(strict) as one:
        body = json.dumps(initialize()).encode()
        head = f"POST http://{host}/mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        head += f"Content-Length: {len(body)}\r\n"
        given = "".join(f"{name}: {value}\r\n" for name, value in headers_of({}).items())
        one.sendall((head + given + "\r\n").encode() + body)
        answer = b"".join(iter(lambda: one.recv(65536), b""))
    assert answer.split(b" ")[1] == status


def test_a_body_has_one_length(strict: Front) -> None:
    """A request that two readers end at different places is refused, and what follows it is not read."""
    with connect(strict) as one:
        head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        one.sendall(head.encode() + b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b"".join(iter(lambda: one.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    "body",
    [
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"crash","name":"echo","_meta":@}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","Name":"crash","_meta":@}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","n\\u0061me":"crash","_meta":@}}',
        '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"echo","_meta":@}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"params":{"name":"echo","_meta":@}}',
    ],
)
def test_a_member_that_decides_stands_there_once(strict: Front, body: str) -> None:
    """A server behind us may read the other one than we do. What is in the arguments is between client and server."""
    message, headers = modern_request("tools/call", {"name": "echo", "arguments": {"text": "x"}})
    meta = json.dumps(message["params"]["_meta"])
    answer = strict.post(body.replace("@", meta).encode(), **headers)
    assert (answer.status_code, answer.json()["error"]["code"], answer.json()["id"]) == (400, -32600, 1)
    assert "more than once" in answer.json()["error"]["message"]
    fine = json.dumps(message).replace('{"text": "x"}', '{"text": "w", "text": "x"}')
    assert strict.post(fine.encode(), **headers).status_code == 200
