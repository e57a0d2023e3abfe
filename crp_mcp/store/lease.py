"""Who is writing an upload, and whether that process still lives. Knows the operating system, not the database."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

LEASE_SECONDS = 600.0
"""How long an upload without a sign of life is left alone where its process cannot be looked up."""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _machine() -> str:
    """This boot and this process namespace; only processes of the same one can be looked up by number."""
    if sys.platform != "linux":
        return ""
    boot = _read("/proc/sys/kernel/random/boot_id").strip()
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
    return f"{boot}/{namespace}" if boot else ""


def _born(pid: int) -> str:
    """When the process started, in ticks since boot: a number used again is another process. "" if it is gone."""
    status = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if len(status) < 20 or status[0] in ("Z", "X"):
        return ""
    return status[19]


def new_owner() -> str:
    """Return a token for one upload by this process: machine, process number, its start, and 8 random bytes."""
    pid = os.getpid()
    return f"{_machine()}|{pid}|{_born(pid)}|{secrets.token_hex(8)}"


def is_gone(owner: str) -> bool:
    """Return True only if the process that owns the upload certainly no longer runs."""
    machine, _, rest = owner.partition("|")
    pid, _, rest = rest.partition("|")
    born = rest.partition("|")[0]
    if not machine or not born or not pid.isdigit() or machine != _machine():
        return False
    return _born(int(pid)) != born
