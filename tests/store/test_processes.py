"""Several processes on one file: nothing is lost or forked, nobody waits for ever, a killed one leaves no halves."""

from __future__ import annotations

import hashlib
import random
import sqlite3
import subprocess
import threading
import time
from pathlib import Path

import pytest

from crp_mcp.core.model import Entry, Scope
from crp_mcp.errors import StoreBusy
from crp_mcp.proof.chain_verify import verify_chain
from crp_mcp.store import SqliteStore, lease, open_store
from tests.store.support import MAC_KEY, SCOPE, capture, draft, finish, noise, seal, start


def go(children: list[subprocess.Popen[str]]) -> None:
    """Wait until every child is ready, then let them run at the same moment."""
    for child in children:
        assert child.stdout is not None
        if child.stdout.readline() != "ready\n":
            raise AssertionError(child.communicate()[1])
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()


def assert_whole(store: SqliteStore) -> int:
    """Check what must hold at any moment: no half entries, hashes right, one chain. Returns the number of entries."""
    verdict = verify_chain(store.records(), mac_keys=lambda _: [MAC_KEY], expected_head=store.head())
    assert verdict.faults == ()
    with sqlite3.connect(store.path) as db:
        entries = db.execute("SELECT scratch_id, payload_id, provenance_hash, receipt FROM entry").fetchall()
        loose = "SELECT count(*) FROM payload WHERE owner IS NULL AND id NOT IN (SELECT payload_id FROM entry)"
        assert db.execute(loose).fetchone()[0] == 0
        assert db.execute("PRAGMA quick_check").fetchone()[0] == "ok"
    db.close()
    assert verdict.records == 2 * len(entries)
    for _, payload_id, provenance, receipt in entries:
        digest = hashlib.sha256()
        for piece in store.iter_payload(payload_id):
            digest.update(piece)
        assert provenance == "sha256:" + digest.hexdigest()
        assert store.receipt(None, receipt).leaves
    assert len({row[0] for row in entries}) == len(entries) == store.counters(None).entries
    return len(entries)


def test_four_processes_capture_at_once(tmp_path: Path) -> None:
    """Four processes, 200 captures each, a store none of them found ready: 800 entries, one chain, a small log."""
    names = ["a", "b", "c", "d"]
    children = [start("writer", tmp_path / "new", name, 200) for name in names]
    go(children)
    printed = [line.split() for out in finish(children) for line in out.splitlines()]
    with open_store(tmp_path / "new", create=False) as store:
        assert assert_whole(store) == len(printed) == 800
        assert len({line[0] for line in printed}) == 800
        for name in names:
            assert store.counters(Scope(SCOPE.tenant, SCOPE.project, name)).entries == 200
        for scratch_id, provenance, _ in printed[::37]:
            entry = store.get(SCOPE, scratch_id)
            assert isinstance(entry, Entry)
            assert entry.provenance_hash == provenance
        store.checkpoint(truncate=True)
        assert store.stats().wal_bytes < 20 * 2**20


def test_a_store_is_made_by_many_at_the_same_moment(tmp_path: Path) -> None:
    """Whoever is first lays it out; everybody ends up with the same current store."""
    for round_number in range(2):
        children = [start("writer", tmp_path / str(round_number), f"p{number}", 3) for number in range(4)]
        go(children)
        finish(children)
        with open_store(tmp_path / str(round_number), create=False) as store:
            assert assert_whole(store) == 12


def test_threads_make_and_use_one_store_at_once(tmp_path: Path) -> None:
    """Threads of one process each get a connection of their own, and lose nothing."""
    failures: list[BaseException] = []
    with open_store(tmp_path) as store:

        def work(number: int) -> None:
            try:
                for _ in range(25):
                    capture(store, scope=Scope("local", "p", str(number)))
                    store.list(Scope("local", "p", str(number)))
            except BaseException as error:  # noqa: BLE001 - handed to the test, which fails on it
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert assert_whole(store) == 200


def test_a_writer_killed_at_any_moment_leaves_no_halves(tmp_path: Path) -> None:
    """kill -9, over and over: every id that was printed is there with its bytes, and what was half-way is swept."""
    chance = random.Random(11)
    shown: dict[str, tuple[str, int, str]] = {}
    for round_number in range(8):
        name = f"round{round_number}"
        child = start("writer", tmp_path, name, 10_000, 6 * 2**20)
        go([child])
        assert child.stdout is not None
        time.sleep(chance.uniform(0.0, 0.4))  # the moment is the point: nothing can be waited for
        child.kill()
        out, _ = child.communicate(timeout=30)
        for line in out.splitlines():
            if len(parts := line.split()) == 3 and line in out.split("\n")[:-1]:
                shown[parts[0]] = (parts[1], int(parts[2]), name)
        with open_store(tmp_path, create=False) as store:
            store.sweep_uploads()
            assert store.stats().open_uploads == 0
            assert assert_whole(store) >= len(shown)
            for scratch_id, (provenance, _, _) in shown.items():
                entry = store.get(SCOPE, scratch_id)
                assert isinstance(entry, Entry)
                assert entry.provenance_hash == provenance
    with open_store(tmp_path, create=False) as store, sqlite3.connect(store.path) as db:
        orphans = "SELECT count(*) FROM chunk WHERE id >> 20 NOT IN (SELECT id FROM payload)"
        assert db.execute(orphans).fetchone()[0] == 0
    db.close()
    assert shown


def test_a_held_lock_ends_in_busy_not_in_a_hang(tmp_path: Path) -> None:
    """A process that keeps the write lock costs a writer the limit, no more; reading goes on meanwhile."""
    with open_store(tmp_path, busy_seconds=0.3) as store:
        entry = capture(store)
        holder = sqlite3.connect(store.path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        payload = store.write_payload(b"x")
        began = time.monotonic()
        with pytest.raises(StoreBusy) as caught:
            store.commit_capture(draft(), payload, seal)
        assert 0.2 < time.monotonic() - began < 3
        assert caught.value.code == "STORE_BUSY"
        assert store.get(SCOPE, entry.scratch_id) == entry
        holder.execute("ROLLBACK")
        holder.close()
        assert store.commit_capture(draft(), payload, seal).scratch_id == "scratch_sql_002"


def test_small_captures_pass_a_big_one(tmp_path: Path) -> None:
    """While another process writes 60 MB that do not compress, captures here hardly wait."""
    with open_store(tmp_path) as store:
        child = start("writer", tmp_path, "big", 7, 60 * 2**20)
        go([child])
        waits: list[float] = []
        while child.poll() is None:
            began = time.perf_counter()
            capture(store)
            waits.append(time.perf_counter() - began)
            time.sleep(0.002)
        finish([child])
        assert_whole(store)
    waits.sort()
    assert len(waits) > 20
    assert waits[len(waits) // 2] < 0.05


def test_an_upload_is_not_swept_by_other_processes(tmp_path: Path) -> None:
    """A live process's upload survives sweeps by others until it ends well."""
    data = noise(4 * 2**20)
    with open_store(tmp_path) as store, store.open_payload() as writer:
        writer.write(data)
        child = start("sweeper", tmp_path)
        assert finish([child]) == ["0\n"]
        entry = store.commit_capture(draft(), writer.close(), seal)
        assert store.read(entry.payload_id, 0, len(data)) == data
    assert lease.LEASE_SECONDS > 60
