"""Housekeeping: the log stays small, disk space comes back, what was purged is in no file, figures are right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crp_mcp.core.model import Entry, Scope
from crp_mcp.store import Sealed, SqliteStore, open_store, upkeep
from crp_mcp.store.connection import WAL_KEEP
from tests.store.support import NOW, SCOPE, capture, noise, noted

SECRET = b"customer 4711 owes 99,120.55 and lives in Rue des Moulins"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with open_store(tmp_path) as opened:
        yield opened


def everywhere(store: SqliteStore) -> bytes:
    """Every byte of every file of the store."""
    return b"".join(path.read_bytes() for path in sorted(store.path.parent.rglob("*")) if path.is_file())


def test_the_log_is_worth_copying_after_some_writing(store: SqliteStore) -> None:
    """An idle moment is used once there is a megabyte to copy, and then not again."""
    assert not store.checkpoint_due()
    while not store.checkpoint_due():
        capture(store, noise(50_000))
    done = store.checkpoint()
    assert (done.busy, done.frames) == (False, done.copied)
    assert store.checkpoint(truncate=True).busy is False
    assert (store.stats().wal_bytes, store.checkpoint_due()) == (0, False)


def test_the_log_stays_bounded_without_any_idle_moment(store: SqliteStore) -> None:
    """40 MB of captures in one go: the log is copied on the way, starts again and keeps little."""
    most = 0
    for number in range(40):
        capture(store, noise(10**6, seed=number))
        most = max(most, store.stats().wal_bytes)
    assert WAL_KEEP < most < 20 * 2**20


def test_the_log_stays_bounded_under_a_big_payload(store: SqliteStore) -> None:
    """One payload of 40 MB that does not compress is copied out of the log while it comes in."""
    most = 0
    with store.open_payload() as writer:
        for number in range(40):
            writer.write(noise(2**20, seed=number))
            most = max(most, store.stats().wal_bytes)
    assert most < 20 * 2**20


def test_a_reader_that_stays_costs_no_writer_for_long(tmp_path: Path) -> None:
    """A read left open keeps the log from starting again; writing goes on, and the log is copied once it ends."""
    with open_store(tmp_path) as store, open_store(tmp_path) as other:
        capture(store)
        reading = other._connections.get()
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM entry").fetchone()
        for number in range(20):
            capture(store, noise(10**6, seed=number))
        assert store.checkpoint(truncate=False).copied >= 0
        reading.execute("ROLLBACK")
        assert not store.checkpoint(truncate=True).busy
        assert store.stats().wal_bytes == 0


def test_iterating_keeps_no_read_open(store: SqliteStore) -> None:
    """A payload or the records read half-way do not keep the log from being emptied."""
    entry = capture(store, noise(3 * 2**20))
    pieces, links = store.iter_payload(entry.payload_id), store.records()
    next(pieces)
    next(links)
    capture(store)
    assert store.checkpoint(truncate=True).busy is False
    assert store.stats().wal_bytes == 0


def test_disk_space_comes_back(store: SqliteStore) -> None:
    """Removing, sweeping and shrinking gives the disk back what an entry took."""
    capture(store)
    store.checkpoint(truncate=True)
    before = store.stats().file_bytes
    big = capture(store, noise(8 * 2**20))
    store.checkpoint(truncate=True)
    assert store.stats().file_bytes > before + 8 * 2**20
    store.remove(SCOPE, big.scratch_id, noted("EVICTED"), why="evicted", at=NOW, erase=False)
    assert store.sweep_uploads() == 1
    assert store.stats().free_bytes > 8 * 2**20
    assert store.shrink(max_pages=10) == 10
    assert store.shrink() > 1_900
    store.checkpoint(truncate=True)
    stats = store.stats(check=True)
    assert stats.file_bytes < before + 200_000
    assert (stats.free_bytes, stats.integrity) == (0, "ok")


@pytest.mark.parametrize("filler", [b"", noise(2_500), noise(900_000)])
def test_what_was_purged_is_in_no_file(store: SqliteStore, filler: bytes) -> None:
    """Payload, arguments, summary, structure and name: after the purge their bytes are gone from file and log."""
    text = SECRET.decode()
    entry = capture(
        store,
        filler + SECRET + filler,
        tool_call_args={"q": text},
        summary=text,
        structured={"rows": text * 100},
        supersedes=text,
        call_hash=SECRET,
    )
    store.pin(SCOPE, entry.scratch_id, noted("PINNED"), name=text)
    store.set_token_count(SCOPE, entry.scratch_id, 7)
    capture(store, b"neighbour" * 1_000)
    assert SECRET in everywhere(store)
    store.remove(SCOPE, entry.scratch_id, noted("TOMBSTONED"), why="purged", at=NOW, erase=True)
    assert store.sweep_uploads() == 1
    assert store.checkpoint(truncate=True).busy is False
    left = everywhere(store)
    assert SECRET not in left
    assert filler[100:164] not in left or not filler
    assert isinstance(store.list(SCOPE).entries[0], Entry)


def test_a_deleted_fact_leaves_the_search_index(store: SqliteStore) -> None:
    """After the index is rebuilt, a deleted fact's words are in no file."""
    insert = (
        "INSERT INTO fact (space_id, content, content_hash, provenance, importance, created_at, access_count, status, "
        "expires_at) VALUES (1, ?, 'h', 'tool-derived', 1.0, 0, 0, 'ACTIVE', 0) RETURNING id"
    )

    def run(sql: str, *values: str) -> list[tuple[object, ...]]:
        return store.append(lambda head: Sealed(), lambda db: db.execute(sql, values).fetchall())

    for content in ("Kerfuffle in Zwolle", "something else"):
        run(insert, content)
    assert run("SELECT count(*) FROM fact_fts WHERE fact_fts MATCH 'kerfuffle'") == [(1,)]
    run("DELETE FROM fact WHERE content LIKE 'Kerf%'")
    run("INSERT INTO fact_fts (fact_fts) VALUES ('rebuild')")
    store.checkpoint(truncate=True)
    left = everywhere(store).lower()
    assert b"kerfuffle" not in left
    assert b"something else" in left


def test_stats_say_what_is_there(store: SqliteStore) -> None:
    """What `doctor` shows agrees with what was done."""
    first = capture(store, b"x" * 100)
    capture(store, scope=Scope("acme", "/q", "c"))
    store.remove(SCOPE, first.scratch_id, noted("EVICTED"), why="evicted", at=NOW, erase=False)
    stats = store.stats(check=True)
    assert (stats.counters.entries, stats.stubs, stats.records, stats.receipts, stats.conversations) == (1, 1, 5, 2, 2)
    assert (stats.open_uploads, stats.turns, stats.facts, stats.integrity) == (1, 0, 0, "ok")
    assert stats.path == str(store.path)
    assert stats.file_bytes == store.path.stat().st_size
    assert store.stats().integrity is None


def test_only_who_wrote_much_tidies_up(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small capture never pays for the log of a big one; twenty-six of them take their turn."""
    monkeypatch.setattr(upkeep, "WAL_LIMIT", 0)
    copied = []
    monkeypatch.setattr(upkeep, "checkpoint", lambda db, *, truncate: copied.append(truncate))
    for _ in range(25):
        capture(store)
    assert copied == []
    capture(store)
    assert copied == [False]
