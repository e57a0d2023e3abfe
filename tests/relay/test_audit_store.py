"""`audit verify` against somebody who has the store's file in hand: every column of every table, every row."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.keys import Keyring
from crp_mcp.proof.chain_verify import Verdict
from crp_mcp.store import limits
from tests.relay import tampered
from tests.relay.support import bench, text_result
from tests.relay.tampered import NOT_MISSED, UNPROTECTED, WHOLLY

REPO = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Keyring]:
    folder = tmp_path_factory.mktemp("built")
    keyring = tampered.build(folder)
    return folder / "store", keyring


def each(folder: Path, table: str) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """(column, statement, values): every change of one value in every row of a table."""
    with closing(sqlite3.connect(folder / "scratch.db")) as db:
        where, rows = tampered.keys(db, table, 4)
        for name, kind, nullable in tampered.columns(db, table):
            for key in rows:
                value = db.execute(f"SELECT {name} FROM {table} WHERE {where}", key).fetchone()[0]
                for other in tampered.others(value, kind, nullable):
                    yield name, f"UPDATE {table} SET {name} = ? WHERE {where}", (other, *key)


def test_the_untouched_store_is_valid(built: tuple[Path, Keyring]) -> None:
    """And holds something of everything that is signed for."""
    folder, keyring = built
    found = tampered.audit(folder, keyring)
    assert (found.faults, found.verdict) == ((), Verdict.VALID)
    with closing(sqlite3.connect(folder / "scratch.db")) as db:
        for table in set(tampered.tables(folder)) - {"scrub", "stream", "delivered"}:
            if not table.startswith("fact_fts"):
                assert db.execute(f"SELECT count(*) FROM {table}").fetchone()[0], table


TABLES = [
    "assembly",
    "checkpoint",
    "chunk",
    "conversation",
    "delivered",
    "derivation",
    "entry",
    "fact",
    "leaf",
    "payload",
    "receipt",
    "record",
    "reference",
    "rejection",
    "revoked",
    "scrub",
    "space",
    "stream",
    "stub",
    "tally",
    "tenant",
    "tombstone",
    "turn",
]


def test_every_table_is_tried(built: tuple[Path, Keyring]) -> None:
    """A new one must be added here, and be covered or said not to be."""
    there = {table for table in tampered.tables(built[0]) if not table.startswith("fact_fts")}
    assert there == set(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_a_changed_value_is_found(built: tuple[Path, Keyring], tmp_path: Path, table: str) -> None:
    """Unless its column is on the list of those that nothing signed covers; no value makes the audit fail."""
    folder, keyring = built
    missed = []
    for column, sql, values in each(folder, table):
        if not tampered.changed(folder, tmp_path / "copy", sql, values):
            continue
        found = tampered.audit(tmp_path / "copy", keyring)
        excused = f"{table}.{column}" in UNPROTECTED or table in WHOLLY
        if found.verdict is not Verdict.BROKEN and not excused:
            missed.append((f"{table}.{column}", values))
    assert missed == []


def test_nothing_that_is_left_of_an_evicted_entry_can_be_changed(built: tuple[Path, Keyring], tmp_path: Path) -> None:
    """Arguments, hashes, name, sizes and times are held against the record of the eviction while they are kept."""
    folder, keyring = built
    missed, tried = [], set()
    with closing(sqlite3.connect(folder / "scratch.db")) as db:
        evicted = {row[0] for row in db.execute("SELECT id FROM stub WHERE why = 'evicted'")}
    for column, sql, values in each(folder, "stub"):
        if values[-1] not in evicted or column in ("id", "space_id"):
            continue
        tried.add(column)
        if tampered.changed(folder, tmp_path / "copy", sql, values):
            found = tampered.audit(tmp_path / "copy", keyring)
            missed += [(column, values)] if found.verdict is not Verdict.BROKEN else []
    assert (missed, {"tool_call_args", "provenance_hash", "salt"} <= tried) == ([], True)


def test_an_eviction_recorded_by_an_older_version_is_partial(tmp_path: Path) -> None:
    """What its record does not cover is said, not passed over."""
    with bench(tmp_path) as at:
        older = at.engine.service.sealer.events
        gone = [at.capture(text_result(name), tool=name).entry for name in ("one", "two")]
        at.clock.at += 10_000
        seqs = [1, 2]

        def change(db: sqlite3.Connection) -> None:
            limits.evict(db, seqs, at.clock())
            db.execute("UPDATE stub SET salt = NULL")

        said = [("EVICTED", entry, {"reason": "budget"}) for entry in gone]
        at.engine.store.append(lambda head: older(head, said, at.clock()), change, at.scope)
        at.engine.store.sweep_uploads()
        found = at.engine.auditor.verify()
    assert (found.verdict, found.faults) == (Verdict.PARTIAL, ())
    assert "Of 2 evicted entries the records, made by an older version" in found.note


@pytest.mark.parametrize("table", TABLES)
def test_a_deleted_row_is_found(built: tuple[Path, Keyring], tmp_path: Path, table: str) -> None:
    """Whichever it is, unless nothing signed tells of such rows."""
    folder, keyring = built
    with closing(sqlite3.connect(folder / "scratch.db")) as db:
        where, rows = tampered.keys(db, table, 30)
    missed = []
    for key in rows:
        if not tampered.changed(folder, tmp_path / "copy", f"DELETE FROM {table} WHERE {where}", key):
            continue
        found = tampered.audit(tmp_path / "copy", keyring)
        if found.verdict is not Verdict.BROKEN and table not in WHOLLY and table not in NOT_MISSED:
            missed.append(key)
    assert missed == []
