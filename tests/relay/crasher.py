"""Dies by kill -9 at every SQL statement of a capture or a purge, from its first write on.

`python -m tests.relay.crasher MODE BASE TARGET`, MODE `capture`, `purge` or `timed`. For each statement a copy of the
store in BASE is made below TARGET, and a fork of this process works on it until that statement begins; `timed` kills by
the clock instead, in the middle of whatever goes on. Prints how many died.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from crp_mcp.app.engine import Engine, open_engine
from crp_mcp.app.settings import Settings
from crp_mcp.core.model import ToolCall, ToolPolicy
from crp_mcp.relay.choosing import Selection
from crp_mcp.relay.service import Job
from tests.relay.support import START, dump, text_result

NEEDLE = "Zorblatt-Quux-90417"
TIMED = 12


def settings(folder: Path) -> Settings:
    return Settings(str(folder), project="p", host_key="1:1")


def opened(folder: Path) -> Engine:
    return open_engine(settings(folder), now=lambda: START + 60)


def capture(engine: Engine, text: str) -> str:
    job = Job(
        ToolCall("shop", "query", {}, b"{}"), engine.settings.scope("conv"), ToolPolicy(), dump(text_result(text))
    )
    return engine.service.capture(job).entry.scratch_id


def purge(engine: Engine) -> None:
    plan = engine.eraser.plan(Selection(matching=NEEDLE))
    engine.eraser.carry_out(plan, reason="purge")


def work(mode: str, engine: Engine) -> None:
    if mode == "purge":
        purge(engine)
    elif mode == "capture":
        capture(engine, "captured " + "text " * 300)  # few enough bytes to need no token counter in every fork
    else:
        for number in itertools.count():
            capture(engine, f"{NEEDLE} {number}")
            if number % 3 == 2:
                purge(engine)


def die_at(engine: Engine, statement: int) -> None:
    """Kill this process when its statement of that number begins, counted from the first that may write."""
    count, begun = itertools.count(1), False

    def traced(sql: str) -> None:
        nonlocal begun
        begun = begun or sql.startswith("BEGIN")
        if begun and next(count) == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    engine.store._connections.get().set_trace_callback(traced)


def child(run: Callable[[], None]) -> int:
    """Run in a fork; its process id."""
    pid = os.fork()
    if pid == 0:
        try:
            run()
        finally:
            os._exit(0)
    return pid


def main() -> None:
    mode, base, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    numbers: itertools.count[int] | range = range(TIMED) if mode == "timed" else itertools.count(1)
    delays = random.Random(11)
    for number in numbers:
        folder = target / f"{number:04d}"
        shutil.copytree(base, folder)

        def run(folder: Path = folder, number: int = number) -> None:
            engine = opened(folder)
            if mode != "timed":
                die_at(engine, number)
            work(mode, engine)

        pid = child(run)
        if mode == "timed":
            time.sleep(0.1 + delays.random() / 2)
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            print(number - 1)
            return
    print(TIMED)


if __name__ == "__main__":
    main()
