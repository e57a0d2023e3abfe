"""What the benchmarks share: a raw stdio client, interleaved medians, memory of a process tree, the table."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PEERS = Path(__file__).parent / "peers"
PYTHON = sys.executable
UPSTREAM = [PYTHON, "-S", str(PEERS / "upstream.py")]


class RawClient:
    """Speaks lines to a stdio server with no SDK in between, so that only the server's time is measured."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
        )
        self._number = 0

    def send(self, method: str, params: Mapping[str, object]) -> int:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return self._number

    def line(self) -> bytes:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server ended: {self.process.args}")
        return line

    def call(self, method: str, params: Mapping[str, object]) -> bytes:
        self.send(method, params)
        return self.line()

    def initialize(self) -> float:
        """Milliseconds from spawn to the answer."""
        client = {"name": "benchmark", "version": "1"}
        self.call("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        taken = (time.perf_counter() - self.started) * 1000
        assert self.process.stdin is not None
        self.process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        self.process.stdin.flush()
        return taken

    def tool(self, name: str, **arguments: object) -> bytes:
        return self.call("tools/call", {"name": name, "arguments": arguments})

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def interleaved(actions: Mapping[str, Callable[[], object]], rounds: int, warm: int = 1) -> dict[str, float]:
    """Median milliseconds of each action, all run in turn so that a noisy moment hits all alike."""
    taken: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(rounds + warm):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            if turn >= warm:
                taken[name].append((time.perf_counter() - start) * 1000)
    return {name: statistics.median(times) for name, times in taken.items()}


def tree_memory(pid: int) -> float:
    """Megabytes resident in a process and its descendants, shared pages counted once (PSS); our peers left out."""
    total, waiting = 0.0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            command = Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0")
            children = Path(f"/proc/{one}/task/{one}/children").read_text().split()
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError:
            continue
        waiting.extend(int(child) for child in children)
        if not any(part.startswith(str(PEERS).encode()) for part in command[1:3]):
            total += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) / 1024
    return total


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: what was measured, against what, and the goal."""

    name: str
    value: float
    goal: float
    unit: str = "×"
    note: str = ""

    @property
    def met(self) -> bool:
        return self.value <= self.goal


def table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table."""
    lines = ["| figure | measured | goal | |", "|---|---|---|---|"]
    for f in figures:
        unit = f.unit if f.unit == "×" else f" {f.unit}"
        lines.append(
            f"| {f.name} | {f.value:.2f}{unit} | ≤ {f.goal:g}{unit} | {'met' if f.met else 'MISSED'} {f.note}|"
        )
    return "\n".join(lines)
