"""A host for tests: raw JSON lines to a process and back, every wait with a deadline."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# Odd messages carry integers of any length.
sys.set_int_max_str_digits(0)

REPO = Path(__file__).resolve().parents[2]
FIXTURE = REPO / "tests" / "servers" / "fixture_server.py"
APP = REPO / "tests" / "mcp" / "proxy_app.py"
DEADLINE = 20.0
META = "io.modelcontextprotocol/"
MODERN_META = {
    META + "protocolVersion": "2026-07-28",
    META + "clientCapabilities": {},
    META + "clientInfo": {"name": "test-host", "version": "1"},
}


def fixture(*options: str) -> list[str]:
    return [sys.executable, "-S", str(FIXTURE), *options]


def proxied(tmp_path: Path, servers: Sequence[dict], **settings: Any) -> list[str]:
    """Command of the proxy alone in front of these servers."""
    return [
        sys.executable,
        str(APP),
        json.dumps({"servers": list(servers), "spool": str(tmp_path / "spool"), **settings}),
    ]


def in_place(tmp_path: Path, *options: str, spec: dict | None = None, **settings: Any) -> list[str]:
    """Command of the proxy alone in front of one fixture server."""
    server = {"name": "fixture", "argv": fixture(*options), **(spec or {})}
    return proxied(tmp_path, [server], in_place=True, **settings)


class Host:
    """One process on pipes. Answers are matched by id; everything else that arrives is kept in `others`."""

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        env = {**os.environ, **options.pop("env", {})}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=0, env=env, **options)
        self.lines: queue.Queue[bytes] = queue.Queue()
        self.others: list[dict] = []
        self._early: list[tuple[dict, bytes]] = []
        self.next_id = 0
        self.replies: dict[str, Callable[[dict], dict | None]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        with os.fdopen(os.dup(self.process.stdout.fileno()), "rb", buffering=1 << 20) as buffered:
            for line in buffered:
                self.lines.put(line)
        self.lines.put(b"")

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> int:
        """End of input, then wait."""
        if self.process.stdin:
            self.process.stdin.close()
        try:
            return self.process.wait(DEADLINE)
        finally:
            self.process.kill()
            self._reader.join(DEADLINE)
            self.process.stdout.close()  # type: ignore[union-attr]

    def write(self, data: bytes) -> None:
        assert self.process.stdin
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view) :]

    def send(self, message: dict) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def notify(self, method: str, params: dict | None = None) -> None:
        self.send({"method": method, **({"params": params} if params is not None else {})})

    def post(self, method: str, params: dict | None = None) -> int:
        """Send a request without waiting; its id."""
        self.next_id += 1
        self.send({"id": self.next_id, "method": method, "params": params if params is not None else {}})
        return self.next_id

    def line(self, timeout: float = DEADLINE) -> bytes:
        return self.lines.get(timeout=timeout)

    def wait(self, ident: object, timeout: float = DEADLINE) -> dict:
        """The answer with this id. Requests of the other side are answered from `replies`."""
        return json.loads(self.wait_line(ident, timeout))

    def wait_line(self, ident: object, timeout: float = DEADLINE) -> bytes:
        end = time.monotonic() + timeout
        for early in self._early:
            if early[0].get("id") == ident:
                self._early.remove(early)
                return early[1]
        while True:
            line = self.line(max(0.01, end - time.monotonic()))
            if not line:
                raise EOFError("the process closed its output")
            message = json.loads(line)
            if "method" not in message and message.get("id") == ident:
                return line
            self._keep(message, line)

    def _keep(self, message: dict, line: bytes) -> None:
        if "method" not in message:
            self._early.append((message, line))
            return
        self.others.append(message)
        self._reply(message)

    def unexpected(self) -> list[dict]:
        """Answers that nobody has waited for yet."""
        return [message for message, _ in self._early]

    def _reply(self, message: dict) -> None:
        if "method" in message and "id" in message and message["method"] in self.replies:
            reply = self.replies[message["method"]](message)
            if reply is not None:
                self.send({"id": message["id"], **reply})

    def wait_other(self, method: str, timeout: float = DEADLINE) -> dict:
        """The next notification or request of this method, kept or still to come."""
        end = time.monotonic() + timeout
        while True:
            for message in self.others:
                if message.get("method") == method:
                    self.others.remove(message)
                    return message
            line = self.line(max(0.01, end - time.monotonic()))
            if not line:
                raise EOFError("the process closed its output")
            self._keep(json.loads(line), line)

    def request(self, method: str, params: dict | None = None, timeout: float = DEADLINE) -> dict:
        return self.wait(self.post(method, params), timeout)

    def call(self, tool: str, arguments: dict | None = None, meta: dict | None = None, **more: Any) -> dict:
        params = {"name": tool, "arguments": arguments or {}, **more, **({"_meta": meta} if meta else {})}
        return self.request("tools/call", params)

    def text(self, tool: str, arguments: dict | None = None, **more: Any) -> Any:
        """The text of a call's result, decoded where it is JSON."""
        text = self.call(tool, arguments, **more)["result"]["content"][0]["text"]
        try:
            return json.loads(text)
        except ValueError:
            return text

    def initialize(self, capabilities: dict | None = None, version: str = "2025-11-25") -> dict:
        info = {"name": "test-host", "version": "1"}
        params = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": info}
        answer = self.request("initialize", params)
        self.notify("notifications/initialized")
        return answer
