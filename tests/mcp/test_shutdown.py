"""However we end, our servers end with us, their children too: by end of input, by signal, by kill -9."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .host import DEADLINE, Host, fixture, in_place, proxied

POLITE = ("polite",)
STUBBORN = ("stubborn",)


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        os.kill(pid, 0)
        return True


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def started(tmp_path: Path, *options: str) -> tuple[Host, list[int]]:
    """A proxy with one server, and the process ids of that server and its child."""
    pids = tmp_path / "pids"
    host = Host(in_place(tmp_path, f"--pids={pids}", *options))
    host.initialize()
    assert wait_until(lambda: pids.exists() and bool(pids.read_text()), DEADLINE)
    return host, [int(pid) for pid in pids.read_text().split()]


ENDINGS: dict[str, tuple[Callable[[Host], None], int]] = {
    "end of input": (lambda host: host.process.stdin.close(), 0),  # type: ignore[union-attr]
    "SIGTERM": (lambda host: host.process.send_signal(signal.SIGTERM), 143),
    "SIGINT": (lambda host: host.process.send_signal(signal.SIGINT), 130),
    "SIGHUP": (lambda host: host.process.send_signal(signal.SIGHUP), 129),
    "SIGKILL": (lambda host: host.process.kill(), -9),
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups")
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("options", [(), ("--stubborn",), ("--stubborn", "--detached")], ids=" ".join)
def test_no_process_outlives_us(tmp_path: Path, options: tuple[str, ...], ending: str) -> None:
    """P16, and the shutdown table: about a second for a polite server, within six for one that ignores everything."""
    host, pids = started(tmp_path, *options)
    end, code = ENDINGS[ending]
    end(host)
    try:
        assert host.process.wait(8) == code
        assert wait_until(lambda: not any(map(is_alive, pids)), 6), [pid for pid in pids if is_alive(pid)]
    finally:
        for pid in pids:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
        host.close()


def test_answers_under_way_still_arrive_after_the_end_of_input(tmp_path: Path) -> None:
    """A script may write its requests and close: what was asked is answered."""
    with Host(in_place(tmp_path)) as host:
        ident = host.post("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
        host.process.stdin.close()  # type: ignore[union-attr]
        assert host.wait(ident)["result"]["serverInfo"]["name"] == "fixture"


def test_a_host_that_stops_reading_ends_us(tmp_path: Path) -> None:
    """A broken pipe is the host's end too."""
    host, pids = started(tmp_path)
    host.process.stdout.close()  # type: ignore[union-attr]
    reader = host._reader
    host.post("ping")
    # The test's own reader holds the pipe open until the process ends by its other end.
    host.process.stdin.close()  # type: ignore[union-attr]
    assert host.process.wait(DEADLINE) == 0
    reader.join(DEADLINE)
    assert wait_until(lambda: not any(map(is_alive, pids)), 5)


def test_many_servers_end_together(tmp_path: Path) -> None:
    """The time does not add up over stubborn servers."""
    servers = [
        {"name": f"s{n}", "argv": fixture("--stubborn", f"--pids={tmp_path}/pids{n}", f"--name=s{n}")} for n in range(4)
    ]
    host = Host(proxied(tmp_path, servers))
    host.initialize()
    pids = [int(pid) for n in range(4) for pid in (tmp_path / f"pids{n}").read_text().split()]
    host.process.stdin.close()  # type: ignore[union-attr]
    assert host.process.wait(8) == 0
    assert not any(map(is_alive, pids))
    host.close()


def test_nothing_is_left_in_the_spool(tmp_path: Path) -> None:
    """Long lines are removed when they were sent, and those of a killed process at the next start."""
    spool = tmp_path / "spool"
    host = Host(in_place(tmp_path))
    host.initialize()
    assert len(host.text("sized", {"bytes": 2_000_000})) == 2_000_000
    assert wait_until(lambda: not list(spool.iterdir()), 5)
    (spool / "999999999-1.line").write_bytes(b"left behind")
    (spool / f"{os.getpid()}-1.line").write_bytes(b"of a process that runs")
    (spool / "notes.txt").write_bytes(b"not ours")
    host.close()
    with Host(in_place(tmp_path)) as again:
        again.initialize()
        again.text("sized", {"bytes": 2_000_000})
        assert sorted(path.name for path in spool.iterdir()) == sorted([f"{os.getpid()}-1.line", "notes.txt"])
