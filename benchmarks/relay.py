"""The relay from outside: latency, start, memory and size scaling, side by side with what they are measured against.

`python -m benchmarks.relay [--quick]` prints the table. Ratios and differences inside one run are what to trust.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .harness import PEERS, PYTHON, UPSTREAM, Figure, RawClient, interleaved, table, tree_memory

MB = 1_000_000
FASTMCP = "fastmcp==4.2.3"


def relay(store: Path, *upstream: str) -> list[str]:
    """Our command line in front of an upstream."""
    return [PYTHON, "-m", "crp_mcp", "serve", "--store", str(store), "--", *(upstream or UPSTREAM)]


@contextmanager
def running(argv: list[str]) -> Iterator[RawClient]:
    with RawClient(argv) as client:
        client.initialize()
        client.call("tools/list", {})
        yield client


def latency(folder: Path, rounds: int) -> list[Figure]:
    """A tiny call and a 1 MB result, through us and through the relays that do less."""
    byte_relay = [PYTHON, "-S", str(PEERS / "byte_relay.py"), *UPSTREAM]
    json_relay = [PYTHON, "-S", str(PEERS / "json_relay.py"), *UPSTREAM]
    with running(relay(folder / "latency")) as ours, running(byte_relay) as bytes_, running(json_relay) as parsed:
        tiny = interleaved({"ours": lambda: ours.tool("tiny"), "bytes": lambda: bytes_.tool("tiny")}, rounds * 10, 20)
        large = interleaved(
            {"ours": lambda: ours.tool("rows", size=MB), "json": lambda: parsed.tool("rows", size=MB)}, rounds, 3
        )
    return [
        Figure("tiny call with capture, above a byte relay", tiny["ours"] - tiny["bytes"], 1.5, "ms"),
        Figure("1 MB captured and summarised, over a relay that parses each message", large["ours"] / large["json"], 3),
    ]


def against_fastmcp(folder: Path, rounds: int) -> list[Figure]:
    """A tiny call through us and through FastMCP's proxy (installed on demand in a throw-away environment)."""
    python = fastmcp_python()
    if python is None:
        return []
    theirs_command = [python, str(PEERS / "fastmcp_proxy.py"), *UPSTREAM]
    with running(relay(folder / "fastmcp")) as ours, running(theirs_command) as theirs:
        tiny = interleaved({"ours": lambda: ours.tool("tiny"), "theirs": lambda: theirs.tool("tiny")}, rounds * 10, 20)
    return [Figure("tiny call with capture, over FastMCP's proxy", tiny["ours"] / tiny["theirs"], 0.25)]


def fastmcp_python() -> str | None:
    """A Python with FastMCP, or None where it cannot be installed."""
    home = Path(__file__).parents[1] / ".tools" / "fastmcp"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        installed = subprocess.run([str(python), "-m", "pip", "install", "-q", FASTMCP], check=False)
        if installed.returncode:
            shutil.rmtree(home)
            return None
    return str(python)


def scaling(folder: Path, small: int, large: int) -> list[Figure]:
    """Time of a large result over a smaller one, and what other servers' calls wait meanwhile; memory of all of it."""
    config = folder / "two.json"
    entry = {"command": UPSTREAM[0], "args": UPSTREAM[1:]}
    config.write_text(
        json.dumps({"mcpServers": {"big": {**entry, "prefix": "big"}, "other": {**entry, "prefix": "o"}}})
    )
    argv = [PYTHON, "-m", "crp_mcp", "serve", "--store", str(folder / "scaling"), "--config", str(config)]
    with running(argv) as ours:
        ours.tool("big_rows", size=small * MB)  # the upstream makes its text once
        ours.tool("big_rows", size=large * MB)
        first = timed(lambda: ours.tool("big_rows", size=small * MB))
        with memory_peak(ours.process.pid) as peak:
            second, waits = large_with_others(ours, large)
        idle = tree_memory(ours.process.pid)
    return [
        Figure(f"proxied {large} MB over {small} MB", second / first, 1.22 * large / small),
        Figure(f"longest wait of another server's tiny call during {large} MB", max(waits), 50, "ms"),
        Figure(f"peak memory of a {large} MB capture, above the payload", peak[0] - large, 100, "MB"),
        Figure("memory after it, before the worker rests", idle, 120, "MB"),
    ]


def large_with_others(client: RawClient, large: int) -> tuple[float, list[float]]:
    """Milliseconds of one large call, and of the tiny calls to another server that were answered meanwhile."""
    start = time.perf_counter()
    wanted = client.send("tools/call", {"name": "big_rows", "arguments": {"size": large * MB}})
    waits: list[float] = []
    sent = {client.send("tools/call", {"name": "o_tiny", "arguments": {}}): time.perf_counter()}
    while True:
        number = json.loads(client.line())["id"]
        if number == wanted:
            return (time.perf_counter() - start) * 1000, waits
        waits.append((time.perf_counter() - sent.pop(number)) * 1000)
        sent[client.send("tools/call", {"name": "o_tiny", "arguments": {}})] = time.perf_counter()


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


@contextmanager
def memory_peak(pid: int) -> Iterator[list[float]]:
    """Highest memory of a process tree, the upstream left out, seen every 20 ms."""
    peak, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            peak[0] = max(peak[0], tree_memory(pid))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def start_up(folder: Path, rounds: int) -> list[Figure]:
    """Spawn to `initialize` answered, against a bare SDK server; memory when idle and after a first large result."""

    def start(argv: list[str]) -> None:
        with RawClient(argv) as client:
            client.initialize()

    sdk = [PYTHON, str(PEERS / "sdk_server.py")]
    ours = relay(folder / "start")
    spent = interleaved({"ours": lambda: start(ours), "sdk": lambda: start(sdk)}, rounds, 1)
    with running(ours) as client:
        idle = tree_memory(client.process.pid)
        client.tool("rows", size=MB)
        after = tree_memory(client.process.pid)
    return [
        Figure("spawn to initialize answered, over a bare SDK server", spent["ours"] / spent["sdk"], 0.15),
        Figure("memory idle", idle, 40, "MB"),
        Figure("memory after a first large result", after, 120, "MB"),
    ]


def listing() -> list[Figure]:
    """What our tools cost in every prompt."""
    from crp_mcp.mcp.tools.definitions import OWN_TOOLS
    from crp_mcp.tokens import open_counter

    counter = open_counter()
    shown = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in OWN_TOOLS]
    each = [counter.count(json.dumps(tool, separators=(",", ":"))) for tool in shown]
    return [Figure(f"tokens of a tool definition, mean of {len(each)}", sum(each) / len(each), 110, "tokens")]


def measure(*, quick: bool) -> list[Figure]:
    """Every figure of the relay; `quick` uses fewer rounds and a 30 MB result for the largest."""
    rounds, large = (5, 30) if quick else (15, 90)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [
            *start_up(folder, rounds // 2),
            *latency(folder, rounds),
            *against_fastmcp(folder, rounds),
            *scaling(folder, 10, large),
            *listing(),
        ]


if __name__ == "__main__":
    print(table(measure(quick="--quick" in sys.argv)))
