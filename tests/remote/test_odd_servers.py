"""Servers over HTTP that misbehave: what is sent again and what is not, what an error says, what stays whole."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from crp_mcp.core.wire.frame import Cut
from crp_mcp.mcp.spec import PassThrough
from crp_mcp.mcp.spool import Spool

from .odd import Odd, Request, answer_to, error_to, odd
from .support import GREETED, GREETING, MODERN, connected, free_port, run, serve, whole

SECRET = "s3cret-value"


def message_of(answer: dict) -> str:
    return answer["error"]["message"]


async def polite(request: Request) -> None:
    """Answers everything; a session once greeted."""
    if request.method == "DELETE":
        await request.answer()
    elif request.method == "GET":
        await request.answer(status=405)
    elif "id" not in request.message:
        await request.answer(status=202)
    elif request.message["method"] == "initialize":
        await request.result(GREETED, mcp_session_id="one")
    else:
        await request.result({"tools": []})


def test_a_session_is_kept_and_ended(tmp_path: Path) -> None:
    """Its id and the agreed version go with every later request; the end is a DELETE."""

    async def go() -> None:
        async with odd(polite) as server:
            async with connected(server.url, tmp_path) as core:
                await core.greet()
                await core.ask("tools/list")
            first, told, listed = (
                server.posts(m)[0] for m in ("initialize", "notifications/initialized", "tools/list")
            )
            assert "mcp-session-id" not in first.headers
            assert "mcp-protocol-version" not in first.headers
            for later in (told, listed):
                assert (later.headers["mcp-session-id"], later.headers["mcp-protocol-version"]) == ("one", "2025-11-25")
            assert [one.method for one in server.seen][-1] == "DELETE"

    run(go())


def test_headers_repeat_a_modern_message(tmp_path: Path) -> None:
    """Method, name, version and marked arguments; what a header cannot carry is coded."""
    tools = [
        {
            "name": "t",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "word": {"type": "string", "x-mcp-header": "Word"},
                    "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
                    "plain": {"type": "string"},
                },
            },
        },
        {"name": "wrong", "inputSchema": {"properties": {"x": {"type": "number", "x-mcp-header": "X"}}}},
    ]

    async def handler(request: Request) -> None:
        await request.result({"tools": tools} if request.message["method"] == "tools/list" else {})

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            listed = await core.ask("tools/list", {"_meta": MODERN})
            assert listed["result"]["tools"] == tools[:1]
            arguments = {"word": "hé", "deep": {"n": 7}, "plain": "x"}
            await core.ask("tools/call", {"name": "t", "arguments": arguments, "_meta": MODERN})
            headers = server.posts("tools/call")[0].headers
            assert headers["mcp-method"] == "tools/call"
            assert headers["mcp-name"] == "t"
            assert headers["mcp-protocol-version"] == "2026-07-28"
            assert headers["mcp-param-word"] == "=?base64?aMOp?="
            assert headers["mcp-param-n"] == "7"
            assert not [name for name in headers if name == "mcp-session-id" or name.endswith("plain")]

    run(go())


def test_a_tool_that_was_not_listed_is_listed_where_its_headers_lack(tmp_path: Path) -> None:
    """The server refuses the call for its headers; its tools are listed, and the call is made again, once."""
    schema = {"type": "object", "properties": {"word": {"type": "string", "x-mcp-header": "Word"}}}

    async def handler(request: Request) -> None:
        if request.message["method"] == "tools/list":
            more = "cursor" not in request.message["params"]
            tools = [{"name": "other" if more else "t", "inputSchema": schema}]
            await request.result({"tools": tools, **({"nextCursor": "2"} if more else {})})
        elif request.headers.get("mcp-param-word") == "hi":
            await request.result({"ok": 1})
        else:
            await request.answer(error_to(request.message, -32020, "header mismatch"), 400)

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            call = {"name": "t", "arguments": {"word": "hi"}, "_meta": MODERN}
            assert (await core.ask("tools/call", call))["result"] == {"ok": 1}
            wrong = {"name": "t", "arguments": {"word": "ho"}, "_meta": MODERN}
            assert (await core.ask("tools/call", wrong))["error"]["code"] == -32020
            assert [one.message["method"] for one in server.seen].count("tools/call") == 3
            assert len([frame for frame in core.frames if frame.method is None]) == 2

    run(go())


@pytest.mark.parametrize(("ident", "version"), [("ü", "1"), ("日本 x", "1"), ('q"', "1"), ("plain", "1\n2")])
def test_what_is_to_be_repeated_goes_back_as_it_came(tmp_path: Path, ident: str, version: str) -> None:
    """A session's id may be any text; what no header can carry is an error that says so, and ends nothing."""

    async def handler(request: Request) -> None:
        if request.message.get("method") == "initialize":
            await request.result({**GREETED, "protocolVersion": version}, mcp_session_id=ident)
        elif "id" in request.message:
            await request.result({"got": request.headers["mcp-session-id"].encode("latin-1").decode()})
        else:
            await request.answer(b"", 202)

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            await core.greet()
            answer = await core.ask("tools/list")
            if version == "1":
                assert answer["result"] == {"got": ident}
            else:
                assert "no header can carry" in message_of(answer)
                assert answer["error"]["data"] == {"dev.crp/http": {"reached": False}}

    run(go())


@pytest.mark.parametrize("lost", ["404", "400"])
def test_a_lost_session_is_begun_again_once(tmp_path: Path, lost: str) -> None:
    """The call that found out is made again, since it was not run; what the server had been told is repeated."""
    sessions = ["one", "two"]

    async def handler(request: Request) -> None:
        if request.message.get("method") == "initialize":
            await request.result(GREETED, mcp_session_id=sessions.pop(0))
        elif request.headers.get("mcp-session-id") == "one" and request.message.get("method") == "tools/call":
            if lost == "404":
                await request.answer(b"gone", 404, content_type="text/plain")
            else:
                body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "No valid session ID"}}
                await request.answer(json.dumps(body).encode(), 400)
        else:
            await polite(request)

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            await core.greet()
            await core.ask("logging/setLevel", {"level": "info"})
            assert "result" in await core.call("t")
            assert len(server.posts("initialize")) == 2
            assert len(server.posts("notifications/initialized")) == 2
            assert [one.headers["mcp-session-id"] for one in server.posts("tools/call")] == ["one", "two"]
            assert [one.headers["mcp-session-id"] for one in server.posts("logging/setLevel")] == ["one", "two"]
            assert len([f for f in core.frames if f.method is None]) == 3

    run(go())


def test_a_server_that_loses_each_session_is_an_error(tmp_path: Path) -> None:
    """Once again and no more."""

    async def handler(request: Request) -> None:
        if request.message.get("method") == "tools/call":
            await request.answer(status=404)
        else:
            await polite(request)

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            await core.greet()
            assert "lost its session" in message_of(await core.call("t"))
            assert len(server.posts("initialize")) == 2

    run(go())


@pytest.mark.parametrize(("method", "times"), [("tools/list", 2), ("tools/call", 1)])
def test_a_broken_answer_is_asked_for_again_only_where_that_is_safe(tmp_path: Path, method: str, times: int) -> None:
    """A list is; a call may have been run, so it is not."""

    async def handler(request: Request) -> None:
        if request.message.get("method") == method and len(server.posts(method)) == 1:
            await request.head(200, content_type="application/json", content_length="1000")
            await request.send(b'{"jsonrpc":')
        else:
            await polite(request)

    server = Odd(handler)

    async def go() -> None:
        await server.start()
        async with connected(server.url, tmp_path) as core:
            await core.greet()
            answer = await core.ask(method, {"name": "t"})
            assert len(server.posts(method)) == times
            if times == 1:
                assert "broke the connection off" in message_of(answer)
            else:
                assert answer["result"] == {"tools": []}
        await server.stop()

    run(go())


@pytest.mark.parametrize(("method", "served"), [("tools/list", True), ("tools/call", False)])
def test_a_server_that_is_busy_is_waited_for_where_that_is_safe(tmp_path: Path, method: str, served: bool) -> None:
    """`Retry-After` of a 503 is followed for a list; a call's caller is told."""

    async def handler(request: Request) -> None:
        if request.message.get("method") == method and len(server.posts(method)) < 3:
            await request.answer(b"secret " + SECRET.encode(), 503, retry_after="0")
        else:
            await polite(request)

    server = Odd(handler)

    async def go() -> None:
        await server.start()
        async with connected(server.url, tmp_path) as core:
            await core.greet()
            answer = await core.ask(method, {"name": "t"})
            assert ("result" in answer) == served
            if not served:
                assert "answered tools/call with HTTP 503 (Service Unavailable)" in message_of(answer)
                assert answer["error"]["data"] == {
                    "dev.crp/http": {"status": 503, "retryAfter": "0", "reached": "unknown"}
                }
                assert SECRET not in json.dumps(answer)
        await server.stop()

    run(go())


@pytest.mark.parametrize(
    ("status", "headers", "body", "says"),
    [
        (200, {"content_type": "text/html"}, b"<html>" + SECRET.encode(), "text/html rather than JSON or events"),
        (500, {"content_type": "text/plain"}, SECRET.encode(), "HTTP 500 (Internal Server Error)"),
        (403, {}, b'{"error":"' + SECRET.encode() + b'"}', "HTTP 403 (Forbidden)"),
        (200, {}, b"", "with nothing"),
        (200, {}, b"{oops " + SECRET.encode(), "something that is no answer"),
        (202, {}, b"", "sends no answer"),
        (200, {"content_encoding": "br"}, b"xxxx", "was not asked for"),
        (200, {"content_encoding": "gzip"}, b"xxxx", "cannot be unpacked"),
        (302, {"location": "http://127.0.0.1/x"}, b"", "redirects to another place, http://127.0.0.1"),
        (302, {"location": "/other"}, b"", "would lose the message"),
        (401, {"www_authenticate": 'Bearer realm="x"'}, b"", "wants a login (HTTP 401)"),
        (
            403,
            {"www_authenticate": 'Bearer error="insufficient_scope", scope="files:write"'},
            b"",
            "only with the scope `files:write`",
        ),
    ],
)
def test_what_is_no_answer_is_an_error_that_says_so(
    tmp_path: Path, status: int, headers: dict[str, str], body: bytes, says: str
) -> None:
    """It names the server and what was wrong, and repeats nothing of the body."""

    async def handler(request: Request) -> None:
        if request.message.get("method") == "tools/call":
            await request.answer(body, status, **headers)
        else:
            await polite(request)

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            await core.greet()
            text = message_of(await core.call("t"))
            assert text.startswith("The MCP server 'odd' ")
            assert says in text
            assert SECRET not in text
            assert (await core.ask("tools/list"))["result"] == {"tools": []}

    run(go())


@pytest.mark.parametrize("status", [200, 400, 404, 500])
def test_a_json_rpc_error_passes_whatever_the_status(tmp_path: Path, status: int) -> None:
    """Code, text and data as they came; an error without an id gets that of its request."""

    async def handler(request: Request) -> None:
        if request.message.get("method") == "tools/list":
            await request.answer(error_to(request.message, -32042, "as asked"), status)
        elif request.message.get("method") == "ping":
            await request.answer(b'{"jsonrpc":"2.0","id":null,\n"error":{"code":-32600,"message":"no"}}', status)
        else:
            await request.result({})

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            assert (await core.ask("tools/list"))["error"] == {"code": -32042, "message": "as asked"}
            assert (await core.ask("ping"))["error"] == {"code": -32600, "message": "no"}

    run(go())


@pytest.mark.parametrize("size", [5_000_000, 60_000_000])
@pytest.mark.parametrize("kind", ["events", "json"])
def test_large_answers_have_no_limit(tmp_path: Path, size: int, kind: str) -> None:
    """Byte for byte, through the spool, in an event or in a body; the line ends of pretty JSON become spaces."""
    sent: list[bytes] = []

    async def handler(request: Request) -> None:
        body = answer_to(request.message, {"text": "é" * (size // 6)})
        sent.append(body)
        if kind == "json":
            await request.answer(body.replace(b', "id"', b',\r\n"id"'))
            return
        await request.events()
        for at in range(0, len(body), 777_777):
            await request.send((b"" if at else b"data: ") + body[at : at + 777_777])
        await request.send(b"\r\n\r\n")

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            frame = await core.frame(core.post("tools/call", {"name": "t"}))
            assert frame.spooled
            got = whole(frame)
            assert b"\n" not in got
            assert got == (sent[0] if kind == "events" else sent[0].replace(b', "id"', b',  "id"'))

    run(go())


def test_a_packed_answer_is_unpacked_and_a_trap_is_not(tmp_path: Path) -> None:
    """Honest gzip, also of several members, comes out whole; bytes that unpack to endless ones are refused."""
    honest = {"text": "lorem ipsum " * 10_000}
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    trap = b"".join(bomb.compress(b" " * 1_000_000) for _ in range(70)) + bomb.flush()

    async def handler(request: Request) -> None:
        assert request.headers["accept-encoding"] == "gzip"
        if request.message["method"] == "tools/list":
            body = answer_to(request.message, honest)
            packed = gzip.compress(body[:100]) + gzip.compress(body[100:])
            await request.answer(packed, content_encoding="gzip")
        else:
            await request.answer(trap, content_encoding="gzip")

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            assert (await core.ask("tools/list"))["result"] == honest
            assert "unpacks to more than" in message_of(await core.call("t"))

    run(go())


def test_a_stream_that_breaks_is_taken_up_where_it_broke(tmp_path: Path) -> None:
    """With event ids the rest is asked for from the last one, after the server's pause; nothing is called twice."""

    async def handler(request: Request) -> None:
        if request.method == "GET" and request.headers.get("last-event-id") == "e1":
            await request.events()
            await request.send(
                b"id: e2\ndata: " + answer_to(server.posts("tools/call")[0].message, {"ok": 1}) + b"\n\n"
            )
        elif request.message.get("method") == "tools/call":
            await request.events()
            await request.send(
                b'id: e1\nretry: 10\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\ndata: {"js'
            )
        else:
            await polite(request)

    server = Odd(handler)

    async def go() -> None:
        await server.start()
        async with connected(server.url, tmp_path) as core:
            await core.greet()
            assert (await core.call("t"))["result"] == {"ok": 1}
            assert [frame.method for frame in core.frames if frame.method] == ["notifications/message"]
            assert len(server.posts("tools/call")) == 1
        await server.stop()

    run(go())


def test_a_stream_without_event_ids_that_breaks_is_an_error(tmp_path: Path) -> None:
    """Nobody knows whether the call was run, so it is not made again."""

    async def handler(request: Request) -> None:
        if request.message.get("method") == "tools/call":
            await request.events()
            await request.send(b": nothing yet\n\n")
        else:
            await polite(request)

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            await core.greet()
            assert "before the answer came" in message_of(await core.call("t"))
            assert len(server.posts("tools/call")) == 1

    run(go())


def test_what_a_server_says_unasked_arrives_also_after_a_break(tmp_path: Path) -> None:
    """The session's own stream is opened again with the last event's id."""

    async def handler(request: Request) -> None:
        if request.method != "GET":
            await polite(request)
            return
        await request.events()
        number = int(request.headers.get("last-event-id", "0")) + 1
        await request.send(b"id: %d\nretry: 5\ndata: " % number)
        await request.send(b'{"jsonrpc":"2.0","method":"notifications/n%d"}\n\n' % number)
        if number == 3:
            await asyncio.Event().wait()

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            await core.greet()
            await core.until(lambda: any(frame.method == "notifications/n3" for frame in core.frames))
            notes = [frame.method for frame in core.frames if frame.method]
            assert notes == ["notifications/n1", "notifications/n2", "notifications/n3"]

    run(go())


def test_a_server_that_starts_late_is_waited_for(tmp_path: Path) -> None:
    """A refused connection was no call: it is tried again for some seconds."""

    async def go() -> None:
        server = Odd(polite)
        server.port = free_port()
        async with connected(server.url, tmp_path) as core:
            ident = core.post("tools/call", {"name": "t"})
            await asyncio.sleep(0.5)
            await server.start()
            assert "result" in await core.answer(ident)
        await server.stop()

    run(go())


def test_a_server_that_restarts_goes_on(tmp_path: Path) -> None:
    """In the middle of a call: that call fails and says so; the next one works, in a new session."""
    calls: list[str] = []
    called = asyncio.Event()

    async def handler(request: Request) -> None:
        if request.message.get("method") == "tools/call":
            calls.append(request.headers["mcp-session-id"])
            called.set()
            if len(calls) == 1:
                await asyncio.Event().wait()
            if len(server.posts("initialize")) == 1:
                await request.answer(status=404)
                return
        await polite(request)

    server = Odd(handler)

    async def go() -> None:
        await server.start()
        async with connected(server.url, tmp_path) as core:
            await core.greet()
            ident = core.post("tools/call", {"name": "t"})
            await called.wait()
            await server.stop()
            assert "broke the connection off" in message_of(await core.answer(ident))
            await server.start()
            assert "result" in await core.call("t")
            assert len(server.posts("initialize")) == 2
        await server.stop()

    run(go())


@pytest.mark.parametrize("modern", [False, True])
def test_cancelling_closes_the_stream_or_says_so(tmp_path: Path, modern: bool) -> None:
    """2026-07-28: the stream is closed, and nothing is sent. Before it: a notification is."""
    gone, begun, told = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> None:
        if request.message.get("method") == "tools/call":
            await request.events()
            begun.set()
            try:
                while True:
                    await request.send(b": still here\n\n")
                    await asyncio.sleep(0.02)
            except ConnectionError:
                gone.set()
        else:
            await polite(request)
            if request.message.get("method") == "notifications/cancelled":
                told.set()

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            if not modern:
                await core.greet()
            ident = core.post("tools/call", {"name": "t", **({"_meta": MODERN} if modern else {})})
            await begun.wait()
            core.tell("notifications/cancelled", {"requestId": ident})
            if modern:
                await gone.wait()
                assert not server.posts("notifications/cancelled")
            else:
                await told.wait()
                assert server.posts("notifications/cancelled")[0].message["params"] == {"requestId": ident}
            assert not [frame for frame in core.frames if frame.id == str(ident).encode()]

    run(go())


def test_messages_keep_their_order(tmp_path: Path) -> None:
    """A notification has been taken before the next request goes out; requests run side by side."""
    order: list[str] = []

    async def handler(request: Request) -> None:
        method = request.message.get("method", request.method)
        if method == "notifications/initialized":
            await asyncio.sleep(0.2)
        order.append(method)
        if method == "tools/call":
            await asyncio.sleep(0.3)
        await polite(request)

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            await core.greet()
            begun = time.monotonic()
            idents = [core.post("tools/call", {"name": "t"}) for _ in range(20)]
            for ident in idents:
                await core.answer(ident)
            assert time.monotonic() - begun < 3.0
            assert [one for one in order if one != "GET"] == [
                "initialize",
                "notifications/initialized",
                *["tools/call"] * 20,
            ]

    run(go())


def test_output_is_left_where_it_is_while_nobody_takes_it(tmp_path: Path) -> None:
    """Paused, a connection reads no more than what is under way; resumed, everything arrives."""
    sent = 0

    async def handler(request: Request) -> None:
        nonlocal sent
        await request.events()
        note = b'data: {"jsonrpc":"2.0","method":"n","params":{"x":"' + b"y" * 100_000 + b'"}}\n\n'
        for _ in range(500):
            await request.send(note)
            sent += 1
        await request.send(b"data: " + answer_to(request.message, {}) + b"\n\n")

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            core.upstream.pause()
            ident = core.post("tools/call", {"name": "t"})
            before = -1
            while sent == 0 or sent != before:
                before = sent
                await asyncio.sleep(0.3)
            assert sent < 200
            core.upstream.resume()
            await core.answer(ident)
            assert sum(frame.method == "n" for frame in core.frames) == 500

    run(go())


def test_redirects_within_the_server_are_followed_with_the_message(tmp_path: Path) -> None:
    """A 307 to another path of the same origin; credentials go along, since it is the same server."""

    async def handler(request: Request) -> None:
        if request.path == "/mcp":
            await request.answer(status=307, location="/mcp/")
        else:
            assert request.headers["authorization"] == f"Bearer {SECRET}"
            await request.result({})

    async def go() -> None:
        async with odd(handler) as server:
            headers = {"Authorization": f"Bearer {SECRET}"}
            async with connected(server.url, tmp_path, headers=headers) as core:
                assert (await core.call("t"))["result"] == {}

    run(go())


def test_credentials_never_follow_a_redirect_elsewhere(tmp_path: Path) -> None:
    """The other place gets no request at all."""

    async def go() -> None:
        async with odd(polite) as elsewhere:

            async def handler(request: Request) -> None:
                await request.answer(status=307, location=elsewhere.url)

            async with odd(handler) as server:
                headers = {"Authorization": f"Bearer {SECRET}"}
                async with connected(server.url, tmp_path, headers=headers) as core:
                    assert "redirects to another place" in message_of(await core.call("t"))
            assert elsewhere.seen == []

    run(go())


def test_a_clients_credential_is_handed_on_and_its_challenge_back(tmp_path: Path) -> None:
    """Pass-through: the named header goes up as Authorization; a 401 comes back with what the server asks for."""

    async def handler(request: Request) -> None:
        if request.headers.get("authorization") == f"Bearer {SECRET}":
            await request.result({})
        else:
            await request.answer(status=401, www_authenticate='Bearer resource_metadata="http://h/m"')

    async def go() -> None:
        auth = PassThrough("X-Upstream-Authorization")
        async with odd(handler) as server, connected(server.url, tmp_path, auth=auth) as core:
            error = (await core.call("t"))["error"]
            challenge = 'Bearer resource_metadata="http://h/m"'
            about = {"status": 401, "wwwAuthenticate": challenge, "reached": False}
            assert error["data"] == {"dev.crp/http": about}
            core.inbound = {"x-upstream-authorization": f"Bearer {SECRET}"}
            assert (await core.call("t"))["result"] == {}

    run(go())


@pytest.mark.parametrize("kind", ["auto", "sse"])
def test_the_older_transport_is_found_or_named(tmp_path: Path, kind: str) -> None:
    """A URL that takes no POST opens a stream, which tells where to send; answers come on it."""
    streams: list[Request] = []

    async def handler(request: Request) -> None:
        if request.method == "GET":
            streams.append(request)
            await request.events()
            await request.send(b"event: endpoint\ndata: /messages?session=1\n\n")
            await asyncio.Event().wait()
        elif not request.path.startswith("/messages"):
            await request.answer(b"no", 405)
        else:
            await request.answer(b"Accepted", 202, content_type="text/plain")
            if "id" in request.message:
                value = GREETED if request.message["method"] == "initialize" else {"tools": []}
                await streams[-1].send(b"event: message\ndata: " + answer_to(request.message, value) + b"\n\n")

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path, transport=kind) as core:
            assert (await core.greet())["result"]["serverInfo"]["name"] == "odd"
            assert (await core.ask("tools/list"))["result"] == {"tools": []}
            assert len(streams) == 1
            streams[0].writer.close()
            await core.until(lambda: core.closed)
            assert core.closed == ["closed its event stream"]

    run(go())


def test_an_address_of_another_origin_is_not_believed(tmp_path: Path) -> None:
    """The stream may not send our messages, and what is in them, elsewhere."""

    async def go() -> None:
        async with odd(polite) as elsewhere:

            async def handler(request: Request) -> None:
                await request.events()
                await request.send(b"event: endpoint\ndata: " + elsewhere.url.encode() + b"\n\n")
                await asyncio.Event().wait()

            async with odd(handler) as server, connected(server.url, tmp_path, transport="sse") as core:
                core.post("initialize", {})
                await core.until(lambda: core.closed)
                assert "another origin" in core.closed[0]
            assert elsewhere.seen == []

    run(go())


def test_a_url_that_is_no_server_is_said_once(tmp_path: Path) -> None:
    """Neither transport: the first refusal is what counts."""

    async def handler(request: Request) -> None:
        await request.answer(b"<html>", 404, content_type="text/html")

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            text = message_of(await core.ask("initialize", {}))
            assert "answered initialize with HTTP 404 (Not Found); check that its URL is the one for MCP" in text

    run(go())


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://127.0.0.1:9/mcp", "the connection was refused"),
        ("http://no-such-host.invalid/mcp", "its host name is not known"),
    ],
)
def test_what_cannot_be_reached_says_why(tmp_path: Path, url: str, says: str) -> None:
    """And what to look at."""

    async def go() -> None:
        async with connected(url, tmp_path) as core:
            assert says in message_of(await core.call("t"))

    run(go())


def test_tls_where_there_is_none_says_so(tmp_path: Path) -> None:
    """https:// to a server that speaks plain HTTP."""

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def go() -> None:
        server = await asyncio.start_server(plain, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, connected(f"https://127.0.0.1:{port}/mcp", tmp_path) as core:
            assert "over TLS" in message_of(await core.call("t"))

    run(go())


def test_proxies_of_the_environment_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTP_PROXY stands between; NO_PROXY takes a host out."""

    async def go() -> None:
        async with odd(polite) as proxy:
            monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
            async with connected("http://far.example/mcp", tmp_path) as core:
                assert "result" in await core.ask("tools/list")
            assert proxy.seen[0].path == "http://far.example/mcp"
            monkeypatch.setenv("no_proxy", "127.0.0.1")
            async with odd(polite) as near, connected(near.url, tmp_path) as core:
                assert "result" in await core.ask("tools/list")
            assert len(proxy.seen) == 1

    run(go())


def test_a_large_message_is_sent_whole(tmp_path: Path) -> None:
    """What the host's side has spooled goes up as it is, and its name and version are found all the same."""
    spool = Spool(tmp_path / "up")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    body = json.dumps(
        {**call, "params": {"arguments": {"text": "x" * 3_000_000}, "name": "t", "_meta": MODERN}}
    ).encode()
    file = spool.new()
    file.write(body)

    async def handler(request: Request) -> None:
        assert request.body == body
        await request.result({"ok": request.headers["mcp-name"] + request.headers["mcp-protocol-version"]})

    async def go() -> None:
        async with odd(handler) as server, connected(server.url, tmp_path) as core:
            core.upstream.send((Cut(file, 0, 50), body[50:100], Cut(file, 100, file.size)))
            assert (await core.answer(1))["result"] == {"ok": "t2026-07-28"}
            assert core.upstream.queued == 0

    run(go())


def test_nothing_hangs_at_the_end(tmp_path: Path) -> None:
    """The whole of us, with calls under way to a server that answers nothing, not even the goodbye: gone soon."""

    called = asyncio.Event()

    async def handler(request: Request) -> None:
        if request.message.get("method") == "tools/call":
            called.set()
        if request.method == "DELETE" or request.message.get("method") == "tools/call":
            await asyncio.Event().wait()
        await polite(request)

    async def go() -> None:
        async with odd(handler) as server:
            line = serve(tmp_path, "--url", server.url, "--log-level", "error")
            pipe = asyncio.subprocess.PIPE
            child = await asyncio.create_subprocess_exec(*line, stdin=pipe, stdout=pipe)
            assert child.stdin
            assert child.stdout
            greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": GREETING}
            child.stdin.write(json.dumps(greeting).encode() + b"\n")
            await child.stdout.readline()
            child.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
            child.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}\n')
            await called.wait()
            begun = time.monotonic()
            child.stdin.close()
            assert await child.wait() == 0
            assert time.monotonic() - begun < 4.0
            assert [one.method for one in server.seen if one.method == "DELETE"] == ["DELETE"]

    run(go())


SLOW_NAMES = """
import socket, sys, threading
from crp_mcp.cli.main import run

def getaddrinfo(*about, **more):
    print("asked", file=sys.stderr, flush=True)
    threading.Event().wait()

socket.getaddrinfo = getaddrinfo
sys.exit(run(sys.argv[1:]))
"""


def test_a_name_server_that_does_not_answer_holds_up_no_end(tmp_path: Path) -> None:
    """Several names are being looked up, none is ever found: the host leaves, and so do we."""
    servers = {name: {"url": f"http://{name}.example/mcp"} for name in "abc"}
    config = tmp_path / "c.json"
    config.write_text(json.dumps({"mcpServers": servers}))
    line = [sys.executable, "-c", SLOW_NAMES, "serve", "--store", str(tmp_path / "store"), "--config", str(config)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stderr
        greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": GREETING}
        child.stdin.write(json.dumps(greeting).encode() + b"\n")
        child.stdin.flush()
        assert [child.stderr.readline() for _ in servers] == [b"asked\n"] * 3
        begun = time.monotonic()
        child.stdin.close()
        try:
            assert child.wait(20) == 0
            assert time.monotonic() - begun < 5.0
        finally:
            child.kill()
