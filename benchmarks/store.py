"""What the store costs: captures against bare sqlite3, slices of big payloads, look-ups at a million entries.

    python -m benchmarks.store [--quick]

Both sides of a ratio run in turn in one process, so that a busy machine hits both alike.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.harness import Figure, interleaved, table
from crp_mcp.core.model import Entry, Kind, Scope, ToolClass
from crp_mcp.keys.ring import audit_key_of, make_keyring
from crp_mcp.proof import eccr
from crp_mcp.proof.chain import Head, link, salted_digest
from crp_mcp.store import CaptureDraft, Filters, Leaf, Sealed, SealedReceipt, SqliteStore, open_store

SEED = bytes(range(32))
RING = make_keyring(SEED, source="benchmark", audit_keys=(audit_key_of(SEED),), own={}, trusted={})
MAC_KEY = RING.mac_key("busy")
NOW = 1_793_664_000.0
SCOPE = Scope("local", "/srv/shop", "busy")
SALT = bytes(16)
MB = 1024 * 1024


def rows(size: int) -> bytes:
    """JSON rows of an export, about `size` bytes of them."""
    chance = random.Random(5)
    made: list[str] = []
    total = 2
    while total < size:
        row = {
            "id": len(made),
            "customer": f"customer {chance.randrange(9_000)}",
            "city": chance.choice(["Berlin", "Paris", "Kraków"]),
            "amount": chance.randrange(10**7) / 100,
            "at": f"2026-11-{chance.randrange(1, 31):02d}T{chance.randrange(24):02d}:15:00Z",
        }
        made.append(json.dumps(row, ensure_ascii=False))
        total += len(made[-1]) + 2
    return ("[" + ", ".join(made) + "]").encode()


def seal(head: Head, entry: Entry) -> Sealed:
    """What the relay seals a capture with: two records, one receipt."""
    item = eccr.Item(salted_digest(SALT, entry.provenance_hash), entry.label, entry.expires_at)
    receipt = eccr.issue([item], output_hash=item.digest, issued_at=int(NOW), kid=RING.kid, sign=RING.sign)
    made = []
    for event, data in (("TOOL_CALL", {"output_hash": item.digest}), ("RECEIPT_ISSUED", {"receipt": receipt.digest})):
        made.append(
            link(head, event_type=event, timestamp=NOW, session_id="busy", turn_id=None, data=data, mac_key=MAC_KEY)
        )
        head = made[-1].head
    leaf = Leaf(eccr.leaf_bytes(item), entry.scratch_id)
    return Sealed(made, SealedReceipt(receipt.digest, receipt.body, (leaf,)))


def unsealed(head: Head, entry: Entry) -> Sealed:
    return Sealed()


def draft(number: int = 0) -> CaptureDraft:
    return CaptureDraft(
        scope=SCOPE,
        server="shop",
        tool_name=f"tool{number % 7}",
        tool_call_args={"sql": "SELECT * FROM orders WHERE day = '2026-11-30'"},
        created_at=NOW + number,
        salt=SALT,
        summary="8,000 rows; " * 60,
        structured={"columns": ["id", "customer", "city", "amount", "at"] * 20},
        kind=list(Kind)[number % 8],
        tool_class=list(ToolClass)[number % 7],
        raw_token_count=3_000,
        sent_tokens=200,
        expires_at=int(NOW) + 86_400 + number,
    )


def bare(path: Path) -> sqlite3.Connection:
    """A database as a program would open it that stores nothing but rows."""
    db = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "wal_autocheckpoint = 0"):
        db.execute(f"PRAGMA {pragma}")
    db.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, a, b, c, d, text TEXT, raw BLOB)")
    db.execute("CREATE TABLE payload (id INTEGER PRIMARY KEY, hash, raw BLOB)")
    db.execute("CREATE TABLE record (id INTEGER PRIMARY KEY, body, hash, mac)")
    db.execute("CREATE TABLE receipt (id INTEGER PRIMARY KEY, digest, body, leaf)")
    return db


def captures(store: SqliteStore, folder: Path, rounds: int) -> list[Figure]:
    """One capture of 10 KB against bare INSERTs: of the same rows, and of a single row with the bytes as they are."""
    data, plain = rows(10_000), bare(folder / "bare.db")
    payload = store.write_payload(data)
    sealed = seal(Head(), store.commit_capture(draft(), payload, unsealed))
    packed = payload.pending[0][1]
    text = json.dumps(draft().structured) + (draft().summary or "")

    def same_rows() -> None:
        plain.execute("BEGIN IMMEDIATE")
        plain.execute("INSERT INTO entry (a, b, c, d, text) VALUES (1, 'a', 'b', 2.5, ?)", (text,))
        plain.execute("INSERT INTO payload (hash, raw) VALUES (?, ?)", (payload.sha256, packed))
        for record in sealed.records:
            plain.execute("INSERT INTO record (body, hash, mac) VALUES (?, ?, ?)", record[1:])
        assert sealed.receipt is not None
        values = (sealed.receipt.digest, sealed.receipt.body, sealed.receipt.leaves[0].body)
        plain.execute("INSERT INTO receipt (digest, body, leaf) VALUES (?, ?, ?)", values)
        plain.execute("COMMIT")

    def one_row() -> None:
        plain.execute("BEGIN IMMEDIATE")
        plain.execute("INSERT INTO entry (a, b, c, d, text, raw) VALUES (1, 'a', 'b', 2.5, ?, ?)", (text, data))
        plain.execute("COMMIT")

    found = interleaved(
        {
            "sealed": lambda: store.commit_capture(draft(), payload, seal),
            "stored": lambda: store.commit_capture(draft(), payload, lambda head, entry: refit(sealed, head)),
            "same": same_rows,
            "one": one_row,
        },
        rounds,
        warm=20,
    )
    plain.close()
    note = f"{found['stored']:.2f} ms, over one row {found['stored'] / found['one']:.1f}× "
    return [
        Figure(
            "capture of 10 KB stored, over bare INSERTs of the same rows", found["stored"] / found["same"], 3, note=note
        ),
        Figure("the same with signing and linking, over without", found["sealed"] / found["stored"], 1.6),
    ]


def refit(sealed: Sealed, head: Head) -> Sealed:
    """The same records at the chain's end: what storing costs without signing and hashing."""
    moved = [record._replace(seq=head.seq + 1 + number) for number, record in enumerate(sealed.records)]
    return Sealed(moved, sealed.receipt)


def big_payloads(store: SqliteStore, folder: Path, size: int) -> list[Figure]:
    """A big export stored and sliced, against one raw blob and against slices of 1 MB."""
    data = rows(MB) * (size // MB)
    plain = bare(folder / "blob.db")

    def raw_blob() -> None:
        plain.execute("INSERT INTO entry (raw) VALUES (?)", (data,))
        plain.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def ours() -> None:
        store.commit_capture(draft(), store.write_payload(data), unsealed)
        store.checkpoint(truncate=True)

    stored = interleaved({"ours": ours, "raw": raw_blob}, 3, warm=0)
    plain.close()
    large = store.commit_capture(draft(), store.write_payload(data), unsealed).payload_id
    small = store.commit_capture(draft(), store.write_payload(data[:MB]), unsealed).payload_id
    chance = random.Random(3)

    def slice_of(payload_id: int, length: int) -> Callable[[], object]:
        return lambda: store.read(payload_id, chance.randrange(length - 4096), 4096)

    found = interleaved({"large": slice_of(large, len(data)), "small": slice_of(small, MB)}, 400)
    mb = size // MB
    return [
        Figure(
            f"{mb} MB of JSON stored, over one raw blob",
            stored["ours"] / stored["raw"],
            0.7,
            note=f"{stored['ours']:.0f} ms ",
        ),
        Figure(
            f"4 KB slice of {mb} MB, over one of 1 MB",
            found["large"] / found["small"],
            5,
            note=f"{found['large']:.2f} ms ",
        ),
    ]


def grow(store: SqliteStore, count: int) -> None:
    """Fill a store: 100 real captures, then copies of their rows; half stay in the busy conversation."""
    for number in range(100):
        store.commit_capture(draft(number), store.write_payload(b"[%d]" % number), unsealed)
    store.pin(SCOPE, "scratch_tool_050", unsealed, name="fifty")
    for number in range(500):
        store.touch_conversation(Scope("local", "/srv/shop", f"quiet {number}"), None, NOW)

    def copy(db: sqlite3.Connection, step: int) -> int:
        names = [row[1] for row in db.execute("PRAGMA table_info(entry)")]
        changed = {
            "seq": f"seq + {step} * 100",
            "number": f"number + {step} * 100",
            "scratch_id": f"printf('scratch_tool_%03d', number + {step} * 100)",
            "created_at": f"created_at + {step} * 100",
            "expires_at": f"expires_at + {step} * 100",
            "conversation_id": f"CASE WHEN seq % 2 THEN conversation_id ELSE 2 + ({step} % 500) END",
            "persistence": "'EPHEMERAL'",
            "name": "NULL",
        }
        chosen = ", ".join(changed.get(name, name) for name in names)
        return db.execute(
            f"INSERT INTO entry ({', '.join(names)}) SELECT {chosen} FROM entry WHERE seq <= 100"
        ).rowcount

    def copy_all(steps: range, db: sqlite3.Connection) -> int:
        return sum(copy(db, step) for step in steps)

    for first in range(1, count // 100, 200):
        steps = range(first, min(first + 200, count // 100))
        store.append(lambda head: Sealed(), partial(copy_all, steps))
        store.checkpoint(truncate=True)
    settle = f"UPDATE tally SET last_number = {count} WHERE id <= 0"
    store.append(lambda head: Sealed(), lambda db: db.execute(settle).rowcount)


def look_ups(small: SqliteStore, large: SqliteStore, count: int, rounds: int) -> list[Figure]:
    """The same questions to a store of a hundred entries and to one of many."""
    chance = random.Random(9)

    def questions(store: SqliteStore, entries: int) -> dict[str, Callable[[], object]]:
        middle = f"s{entries // 2}"
        return {
            "by id": lambda: store.get(SCOPE, f"scratch_tool_{chance.randrange(entries) + 1:03d}"),
            "by name": lambda: store.get(SCOPE, "fifty"),
            "first page of 20": lambda: store.list(SCOPE, limit=20),
            "page of 20 in the middle": lambda: store.list(SCOPE, limit=20, cursor=middle),
            "page of 20 of one kind": lambda: store.list(SCOPE, limit=20, filters=Filters(kind=Kind.LIST)),
            "pinned": lambda: store.list(SCOPE, filters=Filters(pinned=True)),
            "latest of a class": lambda: store.latest(SCOPE, filters=Filters(tool_class=ToolClass.FILE)),
            "next 20 expired": lambda: store.expired(NOW + 10**9, 20),
            "counters of conversation and store": lambda: (store.counters(SCOPE), store.counters(None)),
            "capture": lambda: store.commit_capture(draft(), store.write_payload(b"[1]"), unsealed),
        }

    figures = []
    few, many = questions(small, 100), questions(large, count)
    for name in few:
        found = interleaved({"few": few[name], "many": many[name]}, rounds, warm=20)
        note = f"{found['many']:.3f} ms "
        figures.append(Figure(f"{name}: {count:,} entries over 100", found["many"] / found["few"], 2, note=note))
    return figures


def main() -> int:
    """Print the table; 1 if a goal is missed."""
    quick = "--quick" in sys.argv
    count = 100_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open_store(folder / "captures") as store:
            figures = captures(store, folder, 200 if quick else 1_000)
            figures += big_payloads(store, folder, (20 if quick else 100) * MB)
        with open_store(folder / "small") as small, open_store(folder / "large") as large:
            grow(small, 100)
            began = time.perf_counter()
            grow(large, count)
            print(f"{count:,} entries in {time.perf_counter() - began:.0f} s", file=sys.stderr)
            figures += look_ups(small, large, count, 100 if quick else 400)
    print(table(figures))
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
