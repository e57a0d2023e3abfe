"""Ends process groups, and what their members have started elsewhere: asked first, then killed. Run by the reaper.

A script of its own (`python -I -S reap.py GROUP…`): imports nothing of this package.
"""

import os
import signal
import subprocess
import sys
import time

GRACE = 0.5
"""Seconds for servers to see that their stdin has ended, and again to heed SIGTERM."""


def processes() -> dict[int, tuple[int, int]]:
    """Parent and group of every process, by process id."""
    table: dict[int, tuple[int, int]] = {}
    if os.path.exists("/proc/self/stat"):
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat", "rb") as file:
                        fields = file.read().rpartition(b")")[2].split()
                except OSError:
                    continue
                table[int(name)] = (int(fields[1]), int(fields[2]))
        return table
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,pgid="], capture_output=True, check=False).stdout
    for line in listing.splitlines():
        pid, parent, group = map(int, line.split())
        table[pid] = (parent, group)
    return table


def family(groups: set[int]) -> set[int]:
    """Groups of all descendants of the members of these groups, these included; never our own."""
    table = processes()
    found = {pid for pid, (_, group) in table.items() if group in groups}
    size = -1
    while size != len(found):
        size = len(found)
        found |= {pid for pid, (parent, _) in table.items() if parent in found}
    mine = {os.getpgid(0), 0, 1}
    return (groups | {table[pid][1] for pid in found}) - mine


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def wait(groups: set[int], seconds: float) -> set[int]:
    """Those of the groups that are still there after at most so many seconds."""
    end = time.monotonic() + seconds
    left = {group for group in groups if is_alive(group)}
    while left and time.monotonic() < end:
        time.sleep(0.02)
        left = {group for group in left if is_alive(group)}
    return left


def send(groups: set[int], number: int) -> None:
    for group in groups:
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            continue


def main(groups: set[int]) -> None:
    everyone = family(groups)
    left = wait(everyone, GRACE)
    send(left, signal.SIGTERM)
    left = wait(left, GRACE)
    send(family(left) if left else left, signal.SIGKILL)


if __name__ == "__main__":
    main({int(argument) for argument in sys.argv[1:]})
