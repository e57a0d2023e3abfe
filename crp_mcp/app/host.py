"""Which host process stands above us, so that several of our processes find the same conversation.

Reads the process table; decides nothing about conversations (the store does).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

LAUNCHERS = frozenset(
    {"uv", "uvx", "pipx", "npx", "npm", "env", "sh", "bash", "dash", "zsh", "fish", "cmd", "nohup", "setsid"}
)
"""Programs that only start others: the host is the first ancestor that is none of these."""

MAX_ANCESTORS = 32


class Process(NamedTuple):
    """One ancestor: process id, when it started (opaque; tells a reused id apart), program name."""

    pid: int
    started: str
    name: str

    @property
    def key(self) -> str:
        return f"{self.pid}:{self.started}"


def host_key(ancestors: Sequence[Process]) -> str:
    """The key of the host process: the nearest ancestor that is no mere launcher; the outermost where all are."""
    for process in ancestors:
        if process.name.lower().removesuffix(".exe") not in LAUNCHERS:
            return process.key
    return ancestors[-1].key if ancestors else "0:"


def project_folder(env: Mapping[str, str], cwd: Path) -> str:
    """The host's project folder: where it says so (Claude Code), else the folder we were started in."""
    named = env.get("CLAUDE_PROJECT_DIR")
    return str(Path(named).resolve() if named else cwd)


def read_ancestors() -> list[Process]:
    """Our ancestors, nearest first, without process 1. Falls back to the bare parent id where nothing can be read."""
    pid, found = os.getppid(), list[Process]()
    while pid > 1 and len(found) < MAX_ANCESTORS:
        seen = _read_process(pid)
        if seen is None:
            break
        parent, process = seen
        found.append(process)
        pid = parent
    return found or [Process(os.getppid(), "", "")]


def _read_process(pid: int) -> tuple[int, Process] | None:
    if sys.platform.startswith("linux"):
        return _read_proc(pid)
    if sys.platform == "win32":
        return None
    return _read_ps(pid)


def _read_proc(pid: int) -> tuple[int, Process] | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    name = stat[stat.index("(") + 1 : stat.rindex(")")]
    fields = stat[stat.rindex(")") + 2 :].split()
    return int(fields[1]), Process(pid, fields[19], name)


def _read_ps(pid: int) -> tuple[int, Process] | None:
    asked = subprocess.run(
        ["ps", "-o", "ppid=,lstart=,comm=", "-p", str(pid)], capture_output=True, text=True, check=False, timeout=5
    )
    parts = asked.stdout.split(None, 6)
    if len(parts) < 7:
        return None
    return int(parts[0]), Process(pid, " ".join(parts[1:6]), Path(parts[6].strip()).name)
