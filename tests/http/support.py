"""The HTTP front in a process of its own, and what tests send it."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2

from tests.mcp.host import DEADLINE, META, MODERN_META, fixture

BOTH = "application/json, text/event-stream"
TOKEN_A, TOKEN_B = "token-of-tenant-a-0001", "token-of-tenant-b-0002"
HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"


class Front:
    """`crp-mcp serve --http` on a free port; its log lines are kept."""

    def __init__(self, store: Path, *arguments: str | Path, env: Mapping[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "crp_mcp", "serve", "--http", "127.0.0.1:0", "--store", store, *arguments]
        environment = {**os.environ, "HOME": str(store.parent), **(env or {})}
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.log: list[dict[str, Any]] = []
        self._lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = self.wait_log("listening")["url"]
        self.base = self.url.removesuffix("/mcp")
        self.client = httpx2.Client(base_url=self.base, timeout=DEADLINE)

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            try:
                record = json.loads(line)
            except ValueError:
                record = {"event": "text", "line": line}
            self.log.append(record)
            self._lines.put(record)
        self._lines.put(None)

    def wait_log(self, event: str, **fields: Any) -> dict[str, Any]:
        """The next log line of this event. Lines before it are passed over."""
        while True:
            record = self._lines.get(timeout=DEADLINE)
            if record is None:
                raise EOFError(f"the front ended: {self.log}")
            if record.get("event") == event and all(record.get(key) == value for key, value in fields.items()):
                return record

    def __enter__(self) -> Front:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(DEADLINE)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join(DEADLINE)
            self.process.stderr.close()  # type: ignore[union-attr]

    # -- messages ------------------------------------------------------------------------------------------------

    def post(self, message: Any, **headers: str) -> httpx2.Response:
        """POST a message with these headers; `_` in a name stands for `-`, "" leaves a usual one out."""
        content = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.client.post("/mcp", content=content, headers=headers_of(headers))

    def modern(
        self, method: str, params: dict[str, Any] | None = None, *, ident: Any = 1, meta: Any = None, **headers: str
    ) -> httpx2.Response:
        """A request of protocol 2026-07-28, with the headers that it needs."""
        message, needed = modern_request(method, params, ident=ident, meta=meta)
        return self.post(message, **{**needed, **headers})

    def session(self, capabilities: Mapping[str, Any] | None = None, **headers: str) -> Session:
        return Session(self, capabilities or {}, headers)


def headers_of(given: Mapping[str, str]) -> dict[str, str]:
    usual = {"accept": BOTH, "content-type": "application/json"}
    named = {name.replace("_", "-").lower(): value for name, value in given.items()}
    return {name: value for name, value in {**usual, **named}.items() if value}


def modern_request(
    method: str, params: dict[str, Any] | None = None, *, ident: Any = 1, meta: Any = None
) -> tuple[dict[str, Any], dict[str, str]]:
    params = {**(params or {}), "_meta": {**MODERN_META, **(meta or {})}}
    headers = {"mcp_protocol_version": MODERN, "mcp_method": method}
    key = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}.get(method)
    if key in params:
        headers["mcp_name"] = params[key]
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}, headers


def initialize(capabilities: Mapping[str, Any] | None = None, version: str = HANDSHAKE) -> dict[str, Any]:
    info = {"name": "test-client", "version": "1"}
    params = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": info}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


class Session:
    """A handshake client's session."""

    def __init__(self, front: Front, capabilities: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        self.front = front
        self.headers = dict(headers)
        answer = front.post(initialize(capabilities), **self.headers)
        assert answer.status_code == 200, answer.text
        self.greeting = messages(answer)[-1]["result"]
        self.id = answer.headers["mcp-session-id"]
        self.headers |= {"mcp_session_id": self.id, "mcp_protocol_version": HANDSHAKE}
        assert self.post({"method": "notifications/initialized"}).status_code == 202

    def post(self, message: Mapping[str, Any], **headers: str) -> httpx2.Response:
        return self.front.post({"jsonrpc": "2.0", **message}, **{**self.headers, **headers})

    def request(self, method: str, params: Any = None, ident: Any = 2, **headers: str) -> dict[str, Any]:
        answer = self.post({"id": ident, "method": method, "params": params or {}}, **headers)
        assert answer.status_code == 200, answer.text
        return messages(answer)[-1]

    def call(self, tool: str, arguments: Any = None, ident: Any = 2, **rest: Any) -> dict[str, Any]:
        return self.request("tools/call", {"name": tool, "arguments": arguments or {}, **rest}, ident)

    def text(self, tool: str, arguments: Any = None, **rest: Any) -> Any:
        text = self.call(tool, arguments, **rest)["result"]["content"][0]["text"]
        try:
            return json.loads(text)
        except ValueError:
            return text

    def stream(self, message: Mapping[str, Any] | None = None, **headers: str) -> Any:
        """The open response to a message, or to GET: a context manager of an `Events`."""
        given = headers_of({**self.headers, **headers})
        if message is None:
            return Events(self.front.client.stream("GET", "/mcp", headers={**given, "accept": "text/event-stream"}))
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return Events(self.front.client.stream("POST", "/mcp", content=content, headers=given))


class Events:
    """The events of an open response, as they come."""

    def __init__(self, opening: Any) -> None:
        self._opening = opening

    def __enter__(self) -> Events:
        self.response: httpx2.Response = self._opening.__enter__()
        self._lines = self.response.iter_lines()
        return self

    def __exit__(self, *about: Any) -> None:
        self._opening.__exit__(*about)

    def __iter__(self) -> Iterator[dict[str, str]]:
        event: dict[str, str] = {}
        for line in self._lines:
            if line:
                name, _, value = line.partition(":")
                event[name] = value.removeprefix(" ")
            elif event.keys() - {""}:
                yield event
                event = {}
            else:
                event = {}

    def next(self) -> dict[str, str]:
        return next(iter(self))

    def message(self) -> dict[str, Any]:
        """The next event that is a message."""
        while True:
            event = self.next()
            if event.get("data"):
                return json.loads(event["data"])


def messages(answer: httpx2.Response) -> list[dict[str, Any]]:
    """The messages of a complete response, JSON or events."""
    if answer.headers["content-type"].startswith("application/json"):
        return [answer.json()]
    found = [line.removeprefix("data:").strip() for line in answer.text.splitlines() if line.startswith("data:")]
    return [json.loads(data) for data in found if data]


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether it comes to hold before the deadline: for what other processes do."""
    end = time.monotonic() + DEADLINE
    while not holds():
        if time.monotonic() > end:
            return False
        threading.Event().wait(0.05)
    return True


def config(tmp_path: Path, servers: Mapping[str, Sequence[str]], http: Any = None, **own: Any) -> Path:
    """A config file with these servers, and this `crp.http` section."""
    entries = {name: {"command": argv[0], "args": list(argv[1:])} for name, argv in servers.items()}
    section = {**own, **({"http": http} if http is not None else {})}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"mcpServers": entries, "crp": section}))
    return path


def two_tenants(**limits: int) -> dict[str, Any]:
    tokens = [{"token": TOKEN_A, "tenant": "a"}, {"token": TOKEN_B, "tenant": "b"}]
    return {"tokens": tokens, "limits": limits}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


__all__ = ["BOTH", "DEADLINE", "META", "MODERN_META", "Events", "Front", "Session", "fixture"]
