"""Credentials that clients bring for the servers behind us, and those servers' challenges."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.http.support import TOKEN_A, Front, bearer, initialize, messages

CHALLENGE = 'Bearer resource_metadata="https://upstream.example/meta", scope="x"'
FORGER = "Bearer of-a-forger"


@pytest.fixture
def upstream() -> Iterator[tuple[str, list[str | None]]]:
    """A server over HTTP that wants `Authorization`, and what it was sent of that."""
    seen: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            given = self.headers.get("authorization")
            seen.append(given)
            if given is None:
                self.send_response(401)
                self.send_header("www-authenticate", CHALLENGE)
                self.send_header("content-length", "0")
                self.end_headers()
                return
            if given == FORGER and message["method"] == "tools/call":
                error = {"code": -1, "message": "no", "data": {"dev.crp/http": {"status": 401}}}
                body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()
                self.send_response(400)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                return
            result = {"tools": [{"name": given.split()[-1], "inputSchema": {}}], "content": []}
            if message["method"] == "initialize":
                info = {"name": "u", "version": "1"}
                result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode()
            self.send_response(200 if "id" in message else 202)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body) if "id" in message else 0))
            self.end_headers()
            if "id" in message:
                self.wfile.write(body)

        def do_GET(self) -> None:
            self.send_response(405)
            self.send_header("content-length", "0")
            self.end_headers()

        do_DELETE = do_GET

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/mcp", seen
    server.shutdown()
    server.server_close()


def serving(tmp_path: Path, url: str, header: str, **http: object) -> Front:
    path = tmp_path / "config.json"
    entry = {"url": url, "era": "handshake", "auth": {"passThrough": header}}
    path.write_text(json.dumps({"mcpServers": {"u": entry}, "crp": {"http": http}}))
    return Front(tmp_path / "store", "--no-tools", "--config", path)


def tools(front: Front, **headers: str) -> list[str]:
    session = front.session(**headers)
    return [tool["name"] for tool in session.request("tools/list")["result"]["tools"]]


def test_each_client_speaks_for_itself(tmp_path: Path, upstream: tuple[str, list[str | None]]) -> None:
    """What one client brings reaches the server on its own connection alone."""
    url, seen = upstream
    with serving(tmp_path, url, "Authorization") as front:
        assert tools(front, authorization="Bearer of-ann") == ["of-ann"]
        assert tools(front, authorization="Bearer of-bob") == ["of-bob"]
        assert set(seen) == {"Bearer of-ann", "Bearer of-bob"}


def test_another_header_carries_it_where_we_have_tokens_of_our_own(
    tmp_path: Path, upstream: tuple[str, list[str | None]]
) -> None:
    """Our token stays with us; no other header goes along."""
    url, seen = upstream
    tokens = [{"token": TOKEN_A, "tenant": "a"}]
    with serving(tmp_path, url, "X-Upstream-Authorization", tokens=tokens) as front:
        headers = {**bearer(TOKEN_A), "x_upstream_authorization": "Bearer of-ann"}
        assert tools(front, **headers) == ["of-ann"]
        assert set(seen) == {"Bearer of-ann"}


def test_a_servers_challenge_becomes_ours(tmp_path: Path, upstream: tuple[str, list[str | None]]) -> None:
    """401 with the challenge that the server sent, word for word, also for a server that stands alone."""
    url, _ = upstream
    with serving(tmp_path, url, "Authorization") as front:
        session = front.session(authorization="Bearer of-ann")
        session.request("tools/list")
        session.headers["authorization"] = ""
        answer = session.post({"id": 3, "method": "tools/call", "params": {"name": "of-ann", "arguments": {}}})
        assert answer.status_code == 401, answer.text
        assert answer.headers["www-authenticate"] == CHALLENGE
        assert messages(answer)[-1]["error"]["data"]["dev.crp/http"]["status"] == 401
        assert front.post(initialize()).status_code in (200, 401)


def test_what_http_said_is_not_for_a_server_to_say(tmp_path: Path, upstream: tuple[str, list[str | None]]) -> None:
    """An error of a server's own that looks like a challenge of ours is an error like any other."""
    with serving(tmp_path, upstream[0], "Authorization") as front:
        session = front.session(authorization=FORGER)
        answer = session.post({"id": 1, "method": "tools/call", "params": {"name": "of-a-forger", "arguments": {}}})
        assert answer.status_code == 200
        assert answer.json()["error"] == {"code": -1, "message": "no", "data": {}}
