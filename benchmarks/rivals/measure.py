"""The figures: tokens a model sees, times, memory. Candidates run in turn, so that a noisy moment hits all alike."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from crp_mcp.selftest.peer import Peer, open_program
from crp_mcp.selftest.probes import LATEST_HANDSHAKE, opening
from crp_mcp.tokens import open_counter

LARGE = ("orders", "orders_structured", "orders_100", "log", "blocks", "nested", "csv", "error", "page")
TIMEOUT = 60.0
Commands = Mapping[str, Sequence[str]]


class Broken(Exception):
    """A candidate gave no answer, or ended."""


class Running:
    """One candidate with its own server behind it."""

    def __init__(self, command: Sequence[str], timeout: float = TIMEOUT) -> None:
        self._timeout = timeout
        self.began = time.perf_counter()
        self.peer: Peer = open_program(command, None, None, timeout)
        try:
            self.hello = self.ask("initialize", opening(LATEST_HANDSHAKE))
        except Broken:
            self.close()
            raise
        self.peer.tell("notifications/initialized")
        self._number = 10

    def ask(self, method: str, params: str = "{}") -> dict[str, Any]:
        self._number = getattr(self, "_number", 10) + 1
        line = self.peer.ask(str(self._number), method, params, self._timeout)
        if line is None:
            raise Broken(f"no answer to {method}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self.ask("tools/call", json.dumps({"name": tool, "arguments": arguments or {}}))

    def close(self) -> None:
        self.peer.close()


def tokens_seen(commands: Commands) -> dict[str, dict[str, str]]:
    """Candidate → result → tokens of its text, and of its structured content where there is any."""
    count = open_counter().count
    seen: dict[str, dict[str, str]] = {}
    for name, command in commands.items():
        running = Running(command)
        seen[name] = {"definitions": str(count(json.dumps(running.ask("tools/list").get("result", {}).get("tools"))))}
        for tool in (*LARGE, "tiny"):
            try:
                result = running.call(tool).get("result") or {}
            except Broken as problem:
                seen[name][tool] = str(problem)
                running.close()
                running = Running(command)
                continue
            text = "\n".join(_texts(result))
            structured = result.get("structuredContent")
            more = f" + {count(json.dumps(structured, ensure_ascii=False)):,}" if structured is not None else ""
            lost = "" if tool != "blocks" or _kinds(result) >= {"image", "resource_link"} else ", image or link lost"
            hidden = "" if tool != "error" or "has no customer" in text else ", cause hidden"
            missed = "" if tool != "log" or "card expired" in text else ", the error not shown"
            seen[name][tool] = f"{count(text):,}{more}{lost}{hidden}{missed}"
        running.close()
    return seen


def _texts(result: Mapping[str, Any]) -> list[str]:
    blocks = [block for block in result.get("content", []) if isinstance(block, dict)]
    return [str(block.get("text") or (block.get("resource") or {}).get("text") or "") for block in blocks]


def _kinds(result: Mapping[str, Any]) -> set[str]:
    return {block.get("type", "") for block in result.get("content", []) if isinstance(block, dict)}


def latencies(commands: Commands, rounds: int) -> dict[str, dict[str, str]]:
    """Candidate → size → median milliseconds of a call, all candidates in turn."""
    running = {name: Running(command) for name, command in commands.items()}
    table: dict[str, dict[str, str]] = {name: {} for name in commands}
    plan = (("tiny", None, rounds * 20, 20), ("1 MB", 1_000_000, rounds, 1), ("16 MB", 16_000_000, 2, 1))
    for label, arguments, times, warm in plan:
        taken: dict[str, list[float]] = {name: [] for name in running}
        for turn in range(times + warm):
            for name, one in list(running.items()):
                start = time.perf_counter()
                try:
                    one.call("rows", {"size": arguments}) if arguments else one.call("tiny")
                except Broken as problem:
                    table[name][label] = str(problem)
                    running.pop(name).close()
                    continue
                if turn >= warm:
                    taken[name].append((time.perf_counter() - start) * 1000)
        for name in running:
            table[name][label] = f"{statistics.median(taken[name]):,.1f}"
            one = running[name]
            one.peer.take()
    for name, one in running.items():
        table[name]["memory"] = f"{resident(one.peer.pid):.0f}"
        one.close()
    return table


def starts(commands: Commands, rounds: int) -> dict[str, str]:
    """Candidate → median milliseconds from its start to the list of tools."""
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            one = Running(command)
            one.ask("tools/list")
            taken[name].append((time.perf_counter() - one.began) * 1000)
            one.close()
    return {name: f"{statistics.median(times):,.0f}" for name, times in taken.items()}


def that_start(commands: Commands, say: Callable[[str], None]) -> dict[str, Sequence[str]]:
    """The candidates that answer at all; the first start of each, which also warms its caches, counts nowhere."""
    good = {}
    for name, command in commands.items():
        try:
            Running(command).close()
            good[name] = command
        except Broken as problem:
            say(f"{name} is left out: {problem}")
    return good


def idle_memory(commands: Commands) -> dict[str, str]:
    """Candidate → megabytes resident in all its processes, the server's included, after one tiny call."""
    found = {}
    for name, command in commands.items():
        one = Running(command)
        one.call("tiny")
        found[name] = f"{resident(one.peer.pid):.0f}"
        one.close()
    return found


def resident(pid: int) -> float:
    """Megabytes resident in a process and all its descendants, shared pages counted once (PSS)."""
    total, waiting = 0.0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
            waiting += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
        except OSError:
            continue
        total += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) / 1024
    return total
