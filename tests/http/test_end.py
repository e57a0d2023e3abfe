"""How the front ends, and that nothing outlives it."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import httpx2

from tests.http.support import DEADLINE, Front, config, fixture, messages


def pids(front: Front) -> list[int]:
    """Processes of the front: its servers, and the worker once something was captured."""
    session = front.session()
    session.call("sized", {"bytes": 20_000, "form": "rows"})
    return [session.text("pid")["pid"], *_children(front.process.pid)]


def _children(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text()
            except OSError:
                continue
            if int(stat[stat.rindex(")") + 2 :].split()[1]) == pid:
                found.append(int(folder.name))
    return found


def all_gone(numbers: list[int]) -> bool:
    end = time.monotonic() + DEADLINE
    while any(Path(f"/proc/{number}").exists() for number in numbers):
        if time.monotonic() > end:
            return False
        threading.Event().wait(0.05)
    return True


def test_sigterm_lets_what_runs_end_and_takes_nothing_new(tmp_path: Path) -> None:
    """A call under way is answered; others get 503; then servers and worker end, and so do we."""
    with Front(tmp_path / "store", "--", *fixture()) as front:
        running = pids(front)
        session = front.session()
        answers: list[httpx2.Response] = []
        slow = {
            "id": 9,
            "method": "tools/call",
            "params": {"name": "progress", "arguments": {"steps": 40, "delay": 0.05}},
        }
        slow["params"]["_meta"] = {"progressToken": 1}
        with session.stream(slow) as events:
            events.message()
            front.process.send_signal(signal.SIGTERM)
            front.wait_log("ending")
            refused = front.modern("server/discover")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
            assert front.client.get("/healthz").json()["status"] == "ending"
            last = [event for event in events if event["data"]][-1]
            assert '"done"' in last["data"]
        assert front.process.wait(DEADLINE) == 128 + signal.SIGTERM
        assert all_gone(running)
        assert answers == []


def test_a_drain_does_not_last_for_ever(tmp_path: Path) -> None:
    """A call that takes longer than the limit is given up; open streams end at once."""
    path = config(tmp_path, {"fixture": fixture()}, {"limits": {"drain": 1}})
    with Front(tmp_path / "store", "--config", path) as front:
        session = front.session()
        slow = {
            "id": 9,
            "method": "tools/call",
            "params": {"name": "progress", "arguments": {"steps": 9999, "delay": 0.05}},
        }
        slow["params"]["_meta"] = {"progressToken": 1}
        with session.stream() as changes, session.stream(slow) as events:
            changes.next()
            events.message()
            front.process.send_signal(signal.SIGTERM)
            assert list(changes) == []
            found = [event for event in events if event["data"]]
            assert '"error"' in found[-1]["data"]
        assert front.process.wait(DEADLINE) == 128 + signal.SIGTERM


def test_kill_leaves_no_process(tmp_path: Path) -> None:
    """Servers and worker end also when we cannot end them."""
    with Front(tmp_path / "store", "--", *fixture()) as front:
        running = pids(front)
        assert len(running) >= 3
        os.kill(front.process.pid, signal.SIGKILL)
        assert all_gone(running)


def test_idle_sessions_and_servers_end(tmp_path: Path) -> None:
    """What nobody uses is closed; the client is told to begin anew, or is served anew."""
    limits = {"session_idle": 1, "upstream_idle": 1}
    with Front(tmp_path / "store", "--config", config(tmp_path, {"fixture": fixture()}, {"limits": limits})) as front:
        session = front.session()
        used = [session.text("pid")["pid"]]
        answer = front.modern("tools/call", {"name": "pid", "arguments": {}})
        used.append(__import__("json").loads(messages(answer)[-1]["result"]["content"][0]["text"])["pid"])
        assert all_gone(used)
        assert session.post({"id": 1, "method": "ping"}).status_code == 404
        assert front.modern("tools/call", {"name": "pid", "arguments": {}}).status_code == 200


def test_sessions_in_a_row_leave_nothing(tmp_path: Path) -> None:
    """Open files and children are where they were after fifty sessions that were opened and ended."""
    with Front(tmp_path / "store", "--no-tools", "--", *fixture()) as front:
        front.session().text("echo", {"text": "x"})
        before = None
        for _ in range(51):
            session = front.session()
            assert session.text("echo", {"text": "x"}) == "x"
            front.client.delete("/mcp", headers={"mcp-session-id": session.id})
            if before is None:
                front.wait_log("http", method="DELETE")
                before = settled(front)
        assert settled(front) <= before + 1


def settled(front: Front) -> int:
    """Open files and children of the front, once sessions that were ended are gone."""
    end = time.monotonic() + DEADLINE
    lowest = 10**6
    steady = 0
    while steady < 10 and time.monotonic() < end:
        now = len(os.listdir(f"/proc/{front.process.pid}/fd")) + len(_children(front.process.pid))
        steady = steady + 1 if now >= lowest else 0
        lowest = min(lowest, now)
        threading.Event().wait(0.1)
    return lowest
