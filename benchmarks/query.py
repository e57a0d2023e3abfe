"""What a query costs: building tables against bare executemany, asking again against bare sqlite3, search against grep.

    python -m benchmarks.query [--quick]

Both sides run in turn on the same rows. Tables and queries are measured in processor time, of this process and of
the one that runs the queries, so that other work on the machine does not count; the search against grep by the clock.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import Figure, interleaved, table
from crp_mcp.core.model import Scope
from crp_mcp.core.shape import read_shape, shape_to_json
from crp_mcp.query.desk import Desk
from crp_mcp.store import CaptureDraft, Sealed, SqliteStore, open_store

SCOPE = Scope("local", "benchmark", "conv")
QUERIES = {
    "count": "SELECT count(*) FROM {t}",
    "filter": "SELECT order_id, city, amount FROM {t} WHERE status = 'closed' AND amount > 5000 LIMIT 20",
    "group": "SELECT city, status, count(*), max(amount) FROM {t} GROUP BY city, status",
    "sum": "SELECT sum(amount) FROM {t}",
    "average": "SELECT avg(amount) FROM {t}",
    "sums": "SELECT city, sum(amount) FROM {t} GROUP BY city",
}


def rows(count: int) -> list[dict[str, Any]]:
    """Orders, the same every time."""
    states, cities = ("open", "closed", "refunded"), ("Oslo", "Rome", "Kyiv", "Lima", "Bern")
    return [
        {
            "order_id": 100_000 + n,
            "customer": f"customer {n * 7919 % 10_007}",
            "city": cities[n % 5],
            "status": states[n % 3],
            "amount": n * 7919 % 1_000_000 / 100,
            "items": n % 9,
            "paid": n % 4 != 0,
            "ordered_at": f"2026-{n % 12 + 1:02d}-{n % 28 + 1:02d}T{n % 24:02d}:00:00Z",
        }
        for n in range(count)
    ]


@contextmanager
def room() -> Iterator[tuple[SqliteStore, Desk, Path]]:
    """A store and a desk in a folder that goes away."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "store")
        desk = Desk(store, Path(folder) / "tables")
        try:
            yield store, desk, Path(folder)
        finally:
            desk.close()
            store.close()


def capture(store: SqliteStore, payload: bytes) -> str:
    """Store a payload without proof; the benchmark is about what follows."""
    shape = read_shape(payload)
    draft = CaptureDraft(
        SCOPE, "benchmark", "rows", {}, time.time(), b"0" * 16, structured=shape_to_json(shape), kind=shape.kind
    )
    return store.commit_capture(draft, store.write_payload(payload), lambda head, entry: Sealed()).scratch_id


def bare(path: Path, made: list[tuple[Any, ...]]) -> sqlite3.Connection:
    """The same rows, already tuples, in a table of bare sqlite3."""
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous=OFF")
    db.execute("BEGIN")
    db.execute(
        "CREATE TABLE t (order_id INTEGER, customer TEXT, city TEXT, status TEXT, amount REAL, items INTEGER, "
        "paid INTEGER, ordered_at TEXT)"
    )
    db.executemany("INSERT INTO t VALUES (?,?,?,?,?,?,?,?)", made)
    db.execute("COMMIT")
    return db


def ratio(name: str, ours: float, theirs: float, goal: float) -> Figure:
    """Ours over theirs, both in milliseconds."""
    return Figure(name, ours / theirs, goal, note=f"({ours:.2f} / {theirs:.2f} ms) ")


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


class Processor:
    """Milliseconds of processor time that this process and the query processes of a desk have used."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def __call__(self) -> float:
        children = [child.process.pid for child in self._desk._sandbox._idle]
        clocks = [~pid << 3 | 2 for pid in children]  # Linux: the clock of another process
        return 1000 * (time.process_time() + sum(map(time.clock_gettime, clocks)))

    def of(self, action: Callable[[], object]) -> float:
        start = self()
        action()
        return self() - start

    def each(self, actions: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
        """The least each takes, all run in turn."""
        taken: dict[str, list[float]] = {name: [] for name in actions}
        for _ in range(rounds):
            for name, action in actions.items():
                taken[name].append(self.of(action))
        return {name: min(times) for name, times in taken.items()}


def tables(count: int) -> list[Figure]:
    """Build and ask again, at one size."""
    source = rows(count)
    payload = json.dumps(source).encode()
    made = [tuple(row.values()) for row in source]
    del source
    found: list[Figure] = []
    with room() as (store, desk, folder):
        name = capture(store, payload)
        desk.query(SCOPE, "SELECT 1", time.time())
        processor = Processor(desk)
        ours, theirs = [], []
        for _ in range(15 if count <= 10_000 else 3 if count <= 100_000 else 2):
            desk.forget(SCOPE, [name])
            ours.append(processor.of(lambda: desk.query(SCOPE, f"SELECT 1 FROM {name} LIMIT 1", time.time())))
            theirs.append(processor.of(lambda: bare(folder / "bare.db", made).close()))
        least = f"SELECT 1 FROM {name} LIMIT 1"
        message = processor.each({"m": lambda: desk.query(SCOPE, least, time.time())}, 30)["m"]
        found.append(ratio(f"build {count:,} rows", min(ours) - message, min(theirs), 2.0))
        db = bare(folder / "bare.db", made)
        for what, sql in QUERIES.items():
            mine, plain = sql.format(t=name), sql.format(t="t")
            taken = processor.each(
                {
                    "ours": lambda mine=mine: desk.query(SCOPE, mine, time.time()),
                    "bare": lambda plain=plain: db.execute(plain).fetchall(),
                },
                30 if count <= 10_000 else 7 if count <= 100_000 else 3,
            )
            found.append(ratio(f"{what}, {count:,} rows", max(0.0, taken["ours"] - message), taken["bare"], 1.1))
        print(f"{count:,} rows: one message to the child {message:.2f} ms", file=sys.stderr)
        db.close()
    return found


def log(size: int) -> list[Figure]:
    """Full-text search in a log against grep over the same file."""
    line = (
        "2026-05-01T10:{m:02d}:{s:02d}.{f:03d}Z {level} [worker-{w}] "
        "request req-{n} path=/api/v1/orders/{o} took {t} ms\n"
    )
    levels = ("INFO", "INFO", "INFO", "DEBUG", "WARN")
    parts: list[str] = []
    total, n = 0, 0
    while total < size:
        text = line.format(
            m=n // 60 % 60, s=n % 60, f=n % 1000, level=levels[n % 5], w=n % 16, n=n, o=n % 9973, t=n % 700
        )
        if n % 200_003 == 777:
            text = text.replace("took", "failed with deadlock; took")
        parts.append(text)
        total += len(text)
        n += 1
    payload = "".join(parts).encode()
    del parts
    found = []
    with room() as (store, desk, folder):
        name = capture(store, payload)
        (folder / "log.txt").write_bytes(payload)
        megabytes = len(payload) / 1e6
        del payload
        built = timed(lambda: desk.query(SCOPE, f"SELECT count(*) FROM {name}", time.time()))
        search = f"SELECT line_no, text FROM {name} WHERE text MATCH 'deadlock'"
        indexed = timed(lambda: desk.query(SCOPE, search, time.time()))
        print(f"{megabytes:.0f} MB log: table {built:.0f} ms, index {indexed:.0f} ms", file=sys.stderr)
        grep = shutil.which("grep")
        if grep:
            argv = [grep, "-n", "deadlock", str(folder / "log.txt")]
            taken = interleaved(
                {
                    "ours": lambda: desk.query(SCOPE, search, time.time()),
                    "grep": lambda: subprocess.run(argv, capture_output=True, check=True),
                },
                7,
            )
            found.append(ratio(f"search in {megabytes:.0f} MB, against grep", taken["ours"], taken["grep"], 1.0))
    return found


def main() -> None:
    quick = "--quick" in sys.argv
    figures: list[Figure] = []
    for count in (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000):
        figures += tables(count)
    figures += log(5_000_000 if quick else 100_000_000)
    print(table(figures))


if __name__ == "__main__":
    main()
