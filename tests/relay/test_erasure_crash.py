"""Killed at any moment of a capture or a purge: the chain verifies, and nothing is half there or half gone."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from crp_mcp.app.engine import Engine
from crp_mcp.core.model import Entry
from crp_mcp.proof.chain_verify import Verdict
from crp_mcp.store import Stub
from tests.relay.crasher import NEEDLE, capture, opened

REPO = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="dies in forks")


def crash(mode: str, base: Path, target: Path, least: int = 10) -> list[Path]:
    """Run the crasher; the folders it left, the one of the run that came to its end last."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.relay.crasher", mode, base, target],
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) >= least
    return sorted(target.iterdir())


def survivor(folder: Path) -> Engine:
    """The store as the next process finds it, after that did its housekeeping."""
    engine = opened(folder)
    engine.upkeep()
    audit = engine.auditor.verify()
    assert (audit.verdict, audit.faults) in ((Verdict.VALID, ()), (Verdict.UNVERIFIED, ())), (folder.name, audit)
    assert engine.store.stats(check=True).integrity == "ok"
    return engine


def holds(folder: Path, needle: bytes = NEEDLE.encode()) -> bool:
    return any(needle in path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], str]:
    """A store, the ids of what a purge takes from it, and the id of what stays."""
    base = tmp_path_factory.mktemp("crash") / "base"
    engine = opened(base)
    chosen = [capture(engine, f"first {NEEDLE}"), capture(engine, f"second {NEEDLE} " + "pad " * 2_000)]
    rows = '[{"a": 1, "b": "x"}, {"a": 2, "b": "' + NEEDLE + '"}]'
    chosen.append(capture(engine, rows))
    asked = engine.tools.call("scratch_query", {"sql": f"select a, b from {chosen[2]}"}, engine.settings.scope("conv"))
    chosen.append(asked["structuredContent"]["scratch_id"])
    bystander = capture(engine, "stays" + random.Random(5).randbytes(200_000).hex())
    engine.close()
    return base, chosen, bystander


def after_death(folder: Path, chosen: list[str], bystander: str) -> bool:
    """Whether the purge happened. All of it or nothing; and where it did, housekeeping leaves no byte."""
    engine = survivor(folder)
    scope = engine.settings.scope("conv")
    found = [engine.store.get(scope, name) for name in chosen]
    gone = [isinstance(one, Stub) for one in found]
    assert all(gone) or not any(gone), folder.name
    for one in (*found, engine.store.get(scope, bystander)):
        if isinstance(one, Entry):
            data = b"".join(engine.store.iter_payload(one.payload_id))
            assert data.startswith(b"stays") or NEEDLE.encode() in data
    engine.close()
    if all(gone):
        assert not holds(folder), folder.name
    return all(gone)


def test_a_purge_killed_at_any_statement_happened_or_did_not(
    stored: tuple[Path, list[str], str], tmp_path: Path
) -> None:
    """All of it stands as before; or all is gone, with tombstones, and after housekeeping no byte is left."""
    base, chosen, bystander = stored
    outcomes = {after_death(folder, chosen, bystander) for folder in crash("purge", base, tmp_path)}
    assert outcomes == {True, False}


@pytest.mark.parametrize("mode", ["rewrite", "grow", "log"])
def test_a_purge_killed_while_the_file_is_rewritten_is_finished_by_the_next_process(
    stored: tuple[Path, list[str], str], tmp_path: Path, mode: str
) -> None:
    """Inside the rewriting, at torn writes, while the log is copied: the store is sound, and no byte comes back."""
    base, chosen, bystander = stored
    for folder in crash(mode, base, tmp_path, 6):
        assert after_death(folder, chosen, bystander)


def test_a_capture_killed_at_any_statement_happened_or_did_not(tmp_path: Path) -> None:
    """The entry with payload, receipt and records; or nothing of it."""
    base = tmp_path / "base"
    opened(base).close()
    (tmp_path / "runs").mkdir()
    counts = set()
    for folder in crash("capture", base, tmp_path / "runs"):
        engine = survivor(folder)
        stats = engine.store.stats()
        entries = stats.counters.entries
        assert (stats.records, stats.receipts) == (2 * entries, entries)
        assert stats.open_uploads == 0
        counts.add(entries)
        engine.close()
    assert counts == {0, 1}


def test_a_process_killed_by_the_clock_leaves_a_sound_store(tmp_path: Path) -> None:
    """Captures and purges in turn, cut off at random moments."""
    base = tmp_path / "base"
    opened(base).close()
    (tmp_path / "runs").mkdir()
    seen = 0
    for folder in crash("timed", base, tmp_path / "runs"):
        engine = survivor(folder)
        entries = engine.store.list(None, within="store", limit=100).entries
        bodies = [b"".join(engine.store.iter_payload(entry.payload_id)) for entry in entries]
        assert all(NEEDLE.encode() in body for body in bodies)
        seen += engine.store.stats().records
        engine.close()
        assert bool(entries) == holds(folder), folder.name
    assert seen
