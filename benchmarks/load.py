"""Many clients of the HTTP front: what a thousand sessions leave behind, who waits for whom, and a long soak.

`python -m benchmarks.load [--sessions N] [--at-once N] [--calls N]`; exit code 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .harness import Figure, table
from .rivals.measure import resident

FIXTURE = [sys.executable, "-S", str(Path(__file__).resolve().parents[1] / "tests" / "servers" / "fixture_server.py")]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}}
SETTLE = 30.0


@dataclass(frozen=True, slots=True)
class State:
    """What the front holds at a moment."""

    memory: float
    handles: int
    children: int


class Front:
    """`crp-mcp serve --http` with a server behind it."""

    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self.port = port
        self.process = process

    def state(self) -> State:
        """Of the front's own process and its children that are not servers; servers are counted."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return State(resident(pid), len(os.listdir(f"/proc/{pid}/fd")), len(children))

    def settled(self, wanted: State) -> State:
        """The state once no more is held than before, or after a while."""
        end = time.monotonic() + SETTLE
        now = self.state()
        while time.monotonic() < end and (now.children > wanted.children or now.handles > wanted.handles):
            time.sleep(0.2)
            now = self.state()
        return now


@contextlib.contextmanager
def front(folder: Path, *, shared: bool, log: Path) -> Iterator[Front]:
    """A front that is up. `shared`: one server for all its sessions."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = folder / "servers.json"
    entry = {"command": FIXTURE[0], "args": FIXTURE[1:], "shared": shared}
    config.write_text(json.dumps({"mcpServers": {"fixture": entry}}))
    serve = [sys.executable, "-m", "crp_mcp", "serve", "--http", f"127.0.0.1:{port}", "--config", str(config)]
    quiet = ["--store", str(folder / "store"), "--log-level", "warning"]
    with log.open("wb") as errors, subprocess.Popen([*serve, *quiet], stderr=errors) as process:
        try:
            while process.poll() is None:
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                time.sleep(0.05)
            yield Front(port, process)
        finally:
            process.terminate()
            process.wait(30)


class Session:
    """One client over one connection, plain HTTP."""

    def __init__(self, port: int) -> None:
        self._link = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        self._number = 0
        answer = self.ask("initialize", HELLO)
        assert "result" in answer, answer
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _post(self, message: dict) -> bytes:
        self._link.request("POST", "/mcp", json.dumps(message), self._headers)
        response = self._link.getresponse()
        body = response.read()
        session = response.headers.get("mcp-session-id")
        if session:
            self._headers |= {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            data = [line[5:] for line in body.splitlines() if line.startswith(b"data:")]
            return next((line for line in data if b'"id"' in line), b"{}")
        if response.status >= 400 and not body:
            return json.dumps({"error": {"code": response.status}}).encode()
        return body

    def ask(self, method: str, params: dict) -> dict:
        self._number += 1
        body = self._post({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        answer: dict = json.loads(body or b"{}")
        return answer

    def call(self, tool: str, **arguments: object) -> dict:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def abandon(self) -> None:
        """Go away without a word."""
        self._link.close()

    def close(self) -> None:
        self._link.request("DELETE", "/mcp", headers=self._headers)
        self._link.getresponse().read()
        self._link.close()


def one_session(port: int) -> bool:
    session = Session(port)
    good = session.call("echo", text="hello")["result"]["content"][0]["text"] == "hello"
    session.close()
    return good


def in_a_row(folder: Path, sessions: int, at_once: int) -> list[Figure]:
    """Sessions one after another, then many at once; what the front holds afterwards against before."""
    with front(folder, shared=False, log=folder / "log") as one:
        for _ in range(20):
            one_session(one.port)
        before = one.state()
        start = time.perf_counter()
        failed = sum(not one_session(one.port) for _ in range(sessions))
        each = (time.perf_counter() - start) / sessions * 1000
        after_row = one.settled(before)
        with ThreadPoolExecutor(at_once) as pool:
            failed += sum(not good for good in pool.map(one_session, [one.port] * at_once))
        after_crowd = one.settled(before)
    return [
        Figure(f"one of {sessions:,} sessions, opened, used, closed", each, 5000, "ms"),
        Figure("sessions that got no right answer", failed, 0, ""),
        *_left(before, after_row, f"{sessions:,} sessions in a row"),
        *_left(before, after_crowd, f"{at_once} at once"),
    ]


def _left(before: State, after: State, what: str) -> list[Figure]:
    return [
        Figure(f"memory after {what}, over before", after.memory / before.memory, 1.3),
        Figure(f"handles left by {what}", after.handles - before.handles, 2, ""),
        Figure(f"children left by {what}", after.children - before.children, 0, ""),
    ]


def slow_others(folder: Path) -> list[Figure]:
    """What a tiny call takes while another session's server sleeps, and while a client does not read what it gets."""
    with front(folder, shared=False, log=folder / "log") as one:
        session = Session(one.port)
        session.call("echo", text="x")
        alone = _median_call(session)
        sleepy = Session(one.port)
        sleeper = threading.Thread(target=lambda: sleepy.call("slow", seconds=20), daemon=True)
        sleeper.start()
        beside_slow = _median_call(session)
        unread = Session(one.port)
        body = {"name": "sized", "arguments": {"bytes": 60_000_000}, "_meta": {"dev.crp/raw": True}}
        message = {"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": body}
        unread._link.request("POST", "/mcp", json.dumps(message), unread._headers)
        dead = Session(one.port)
        dead.call("crash")
        beside_unread = _median_call(session)
    return [
        Figure("tiny call beside a server that sleeps, over alone", beside_slow / alone, 3),
        Figure("… and a client that reads nothing, and a dead server", beside_unread / alone, 5),
    ]


def _median_call(session: Session, count: int = 60) -> float:
    taken = []
    for _ in range(count):
        start = time.perf_counter()
        session.call("echo", text="x")
        taken.append(time.perf_counter() - start)
    return sorted(taken)[count // 2]


def soak(folder: Path, calls: int, clients: int = 8) -> list[Figure]:
    """Many calls from a few clients; memory after all of them against after the first tenth."""
    with front(folder, shared=True, log=folder / "log") as one:
        sessions = [Session(one.port) for _ in range(clients)]

        def some(session: Session, count: int) -> int:
            return sum(
                session.call("add", a=n, b=1)["result"]["content"][0]["text"] != str(n + 1) for n in range(count)
            )

        def all_of(count: int) -> int:
            with ThreadPoolExecutor(clients) as pool:
                return sum(pool.map(lambda session: some(session, count // clients), sessions))

        wrong = all_of(calls // 10)
        early = one.state()
        start = time.perf_counter()
        wrong += all_of(calls - calls // 10)
        rate = (calls - calls // 10) / (time.perf_counter() - start)
        late = one.state()
    return [
        Figure(f"wrong answers among {calls:,} calls", wrong, 0, ""),
        Figure(
            "memory after all calls, over after a tenth", late.memory / early.memory, 1.3, note=f"({rate:.0f} calls/s) "
        ),
        Figure("handles more than after a tenth", late.handles - early.handles, 2, ""),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--calls", type=int, default=2_000, help="of the soak")
    options = parser.parse_args()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        places = [Path(folder) / name for name in ("sessions", "slow", "soak")]
        for place in places:
            place.mkdir()
        figures += in_a_row(places[0], options.sessions, options.at_once)
        figures += slow_others(places[1])
        figures += soak(places[2], options.calls)
    print(table(figures))
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
