"""Runs the public conformance suite once against one target, and reads what each of its checks said."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import yaml

REPO = Path(__file__).resolve().parents[2]
FIXTURE = REPO / "tests" / "servers" / "conformance_server.py"
REVISIONS = ("2025-11-25", "2026-07-28")
START_SECONDS = 40.0
SUITE_SECONDS = 300.0

Verdicts = Mapping[str, Mapping[str, str]]
"""Scenario → check → SUCCESS, FAILURE, WARNING, SKIPPED or INFO; the worst, where a check reports more than once."""
_WORST = ("INFO", "SKIPPED", "SUCCESS", "WARNING", "FAILURE")
_STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def listening(command: Sequence[str], port: int, log: Path) -> Iterator[str]:
    """A server that runs until the block ends; its address once it takes connections."""
    with log.open("ab") as errors, subprocess.Popen(command, stdout=errors, stderr=errors, cwd=REPO) as server:
        try:
            _wait(server, port, log)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.terminate()
            with suppress(subprocess.TimeoutExpired):
                server.wait(20)
            server.kill()


def _wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        try:  # doubles as the pause between two looks
            server.wait(0.05)
        except subprocess.TimeoutExpired:
            if time.monotonic() < end:
                continue
        raise AssertionError(f"no server on port {port}: {log.read_text()[-2000:]}")


@dataclass(frozen=True, slots=True)
class Required:
    """What a revision requires, as the suite's own frozen list says."""

    server: tuple[str, ...]
    client: tuple[str, ...]


def required(suite: Sequence[str], revision: str) -> Required:
    lists = yaml.safe_load((Path(suite[-1]).parents[1] / "requirements" / f"{revision}.yaml").read_text())
    return Required(tuple(lists["server"]), tuple(lists["client"]))


def run(suite: Sequence[str], out: Path, *arguments: str) -> Verdicts:
    """One call of the suite; everything it checked."""
    env = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(
        [*suite, *arguments, "-o", str(out)],
        capture_output=True,
        text=True,
        env=env,
        timeout=SUITE_SECONDS,
        check=False,
    )
    verdicts: dict[str, dict[str, str]] = {}
    for report in sorted(out.glob("**/checks.json")):
        name = _STAMP.sub("", str(report.parent.relative_to(out))).removeprefix("server-")
        for check in json.loads(report.read_text()):
            mine = verdicts.setdefault(name, {})
            mine[check["id"]] = max(mine.get(check["id"], "INFO"), check["status"], key=_WORST.index)
        verdicts.setdefault(name, {})
    assert verdicts, f"the suite checked nothing: {done.stdout[-2000:]} {done.stderr[-2000:]}"
    return verdicts


def failing(verdicts: Verdicts, scenarios: Sequence[str]) -> dict[str, list[str]]:
    """Of these scenarios, those with a failed check or no check at all, and which."""
    found: dict[str, list[str]] = {}
    for name in scenarios:
        checks = verdicts.get(name, {})
        bad = [ident for ident, status in checks.items() if status == "FAILURE"]
        if bad or not checks:
            found[name] = bad
    return found
