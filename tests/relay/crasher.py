"""Dies at every SQL statement of a capture or a purge, from its first write on, or inside what one statement does.

`python -m tests.relay.crasher MODE BASE TARGET`. For each death a copy of the store in BASE is made below TARGET, and a
fork of this process works on it until then. Prints how many died. The modes:

capture, purge   kill -9 as each statement begins
rewrite          kill -9 inside the rewriting of the file, every so many steps of it
grow             killed by the system at a write that makes a file longer, the rewritten pages' among them: torn writes
log              killed by a timer while the log is copied into the file and emptied
timed            kill -9 by the clock, in the middle of whatever goes on
"""

from __future__ import annotations

import itertools
import os
import random
import resource
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
FIXED = ("timed", "log")
"""Modes that die so many times; the others until a run comes to its end."""
STEPS = 60
"""Steps of SQLite's machine between two deaths inside the rewriting."""
GROWTH = 16 * 4096
TICK = 0.0004


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
    if mode in ("purge", "rewrite", "grow", "log"):
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


def die_inside(engine: Engine, mode: str, number: int) -> None:
    """Let this process be killed while one statement is at work: the `number`-th chance of it."""
    db = engine.store._connections.get()
    count, rewriting = itertools.count(1), False

    def traced(sql: str) -> None:
        nonlocal rewriting
        if mode == "grow" and sql == "VACUUM":
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            log = Path(f"{engine.store.path}-wal")
            limit = log.stat().st_size + number * GROWTH
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        if mode == "log" and "wal_checkpoint(TRUNCATE)" in sql:
            signal.setitimer(signal.ITIMER_REAL, TICK * (number + 1))
        rewriting = rewriting or sql == "VACUUM"

    def progressed() -> int:
        if rewriting and next(count) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    db.set_trace_callback(traced)
    if mode == "rewrite":
        db.set_progress_handler(progressed, STEPS)


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
    numbers: itertools.count[int] | range = range(TIMED) if mode in FIXED else itertools.count(1)
    delays = random.Random(11)
    for number in numbers:
        folder = target / f"{number:04d}"
        shutil.copytree(base, folder)

        def run(folder: Path = folder, number: int = number) -> None:
            engine = opened(folder)
            if mode in ("capture", "purge"):
                die_at(engine, number)
            elif mode != "timed":
                die_inside(engine, mode, number)
            work(mode, engine)

        pid = child(run)
        if mode == "timed":
            time.sleep(0.1 + delays.random() / 2)
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status) and mode not in FIXED:
            print(number - 1)
            return
    print(TIMED)


if __name__ == "__main__":
    main()
