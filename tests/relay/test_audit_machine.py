"""A store's whole history, any way it goes: the audit says VALID of it, and BROKEN of every change to its file."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from crp_mcp.core.model import Entry, Volatility
from crp_mcp.errors import Rejected
from crp_mcp.keys import Keyring, rotate
from crp_mcp.proof.chain_verify import Verdict
from crp_mcp.relay.auditing import Auditor
from crp_mcp.relay.choosing import Selection
from crp_mcp.relay.sealing import Sealer
from crp_mcp.store import open_store
from tests.relay import tampered
from tests.relay.crasher import child, die_at
from tests.relay.support import Bench, Clock, bench, order_rows, text_result

WORDS = ("Bergen", "Oslo", "Lima")
LASTING = {"volatility": Volatility.STATIC, "ttl": None}
LABELS = ("PUBLIC", "INTERNAL", "CONFIDENTIAL", "nobody's")
MAY_BE_EMPTY = {"tenant", "space", "conversation", "tally"}
"""Nobody misses a row of these that holds nothing; `test_audit_store` tries them where they hold something."""
MOST = 12
"""Entries the conversation may hold."""


class History(RuleBasedStateMachine):
    """Random captures, queries, pins, facts, contexts, turns, erasures, evictions, rotations, kills."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self.ids: list[str] = []
        self.receipts: dict[str, tuple[bytes, list[bytes]]] = {}
        self.count = 0
        self._open()

    def _open(self) -> None:
        self.stack = ExitStack()
        made = bench(self.folder, clock=self.clock, budget=(1 << 40, 1_000, 1 << 40, MOST))
        self.at: Bench = self.stack.enter_context(made)

    def teardown(self) -> None:
        self.audit()
        self.stack.close()
        shutil.rmtree(self.folder)

    def _some(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(self.ids))

    @rule(word=st.sampled_from(WORDS), rows=st.integers(0, 60), label=st.sampled_from(LABELS), lasting=st.booleans())
    def call(self, word: str, rows: int, label: str, lasting: bool) -> None:
        self.count += 1
        text = json.dumps([{**row, "city": word} for row in order_rows(rows)]) if rows else f"the office is in {word}"
        result = {**text_result(text), "_meta": {"dev.crp/label": label}}
        policy = LASTING if lasting else {"ttl": 60}
        made = self.at.capture(result, tool="rows", arguments={"n": self.count, "in": word}, policy=policy).entry
        self.ids.append(made.scratch_id)
        if made.receipt is not None:
            kept = self.at.engine.store.receipt(made.scope, made.receipt)
            self.receipts[made.scratch_id] = (kept.body, list(kept.leaves))

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def query(self, data: st.DataObject) -> None:
        one, other = self._some(data), self._some(data)
        sql = f"select count(*) as n from {one}" + (f" union all select count(*) from {other}" if one != other else "")
        answer = self.at.tool("scratch_query", sql=sql)
        if not answer["isError"]:
            self.ids.append(answer["structuredContent"]["scratch_id"])

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), how=st.sampled_from([{}, {"promote": True}, {"unpin": True}, {"name": "kept"}]))
    def pin(self, data: st.DataObject, how: dict[str, Any]) -> None:
        self.at.tool("scratch_pin", scratch_id=self._some(data), **how)

    @rule(word=st.sampled_from(WORDS), role=st.sampled_from(["user", "assistant"]))
    def say(self, word: str, role: str) -> None:
        self.at.tool("record_turn", role=role, text=f"what of {word}?")

    @rule(word=st.sampled_from(WORDS))
    def context(self, word: str) -> None:
        assert not self.at.tool("request_context", query=f"office {word}")["isError"]

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        self.at.tool("scratch_forget", scratch_id=self._some(data))

    @rule(word=st.sampled_from(WORDS), rows=st.booleans())
    def purge(self, word: str, rows: bool) -> None:
        eraser = self.at.engine.eraser
        eraser.carry_out(eraser.plan(Selection(matching=word), rows=rows), reason="purge", rows=rows)
        left = [path for path in self.folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]
        assert left == []

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def purge_one(self, data: st.DataObject) -> None:
        eraser = self.at.engine.eraser
        eraser.carry_out(eraser.plan(Selection(ids=(self._some(data),))), reason="purge")

    @rule(seconds=st.sampled_from([1, 61, 3_601, 31 * 86_400, 366 * 86_400]))
    def wait_and_sweep(self, seconds: int) -> None:
        self.clock.at += seconds
        self.at.engine.eraser.sweep()

    @rule(new_key=st.booleans())
    def restart(self, new_key: bool) -> None:
        folder = self.at.engine.settings.keys
        self.stack.close()
        if new_key:
            rotate(folder)
        self._open()

    @rule(statement=st.integers(1, 60), word=st.sampled_from(WORDS), erasing=st.booleans())
    def be_killed(self, statement: int, word: str, erasing: bool) -> None:
        """kill -9 as a statement of a capture or an erasure begins."""
        self.stack.close()

        def work() -> None:
            self._open()
            die_at(self.at.engine, statement)
            if erasing:
                self.at.engine.eraser.carry_out(self.at.engine.eraser.plan(Selection(matching=word)), reason="purge")
            else:
                self.at.capture(text_result(f"the office is in {word}"))

        os.waitpid(child(work), 0)
        self._open()

    @rule()
    def audit(self) -> None:
        found = self.at.engine.auditor.verify()
        assert (found.faults, found.verdict) == ((), Verdict.VALID)
        self._receipts()

    def _receipts(self) -> None:
        """What an entry had signed is in force while it is here, and refused once it was erased."""
        for name, (body, leaves) in self.receipts.items():
            entry = self.at.entry(name)
            gone = not isinstance(entry, Entry) and entry.why != "evicted"
            assert self._refusal(body, leaves) in (("TOMBSTONED", "EXPIRED") if gone else (None, "EXPIRED")), name

    def _refusal(self, body: bytes, leaves: list[bytes]) -> str | None:
        try:
            self.at.engine.receipts.check(body, leaves=leaves)
        except Rejected as refused:
            return refused.code
        return None

    @rule(data=st.data())
    def tamper(self, data: st.DataObject) -> None:
        """One value of one row changed, or the row taken out, in a copy."""
        with tempfile.TemporaryDirectory() as name:
            store = Path(self.at.engine.store.path)
            with closing(sqlite3.connect(store)) as here, closing(sqlite3.connect(Path(name) / "scratch.db")) as copy:
                here.backup(copy)
            change = self._change(Path(name), data.draw)
            if change is not None:
                assert _verdict(Path(name), self.at.engine.keyring, self.clock.at) is Verdict.BROKEN, change

    def _change(self, folder: Path, draw: Callable[[Any], Any]) -> str | None:
        apart = MAY_BE_EMPTY | set(tampered.WHOLLY)
        there = [one for one in tampered.tables(folder) if not one.startswith("fact_fts") and one not in apart]
        table = draw(st.sampled_from(there))
        with closing(sqlite3.connect(folder / "scratch.db", isolation_level=None)) as db:
            where, rows = tampered.keys(db, table, 1_000)
            if not rows:
                return None
            key = draw(st.sampled_from(rows))
            names = [one for one in tampered.columns(db, table) if f"{table}.{one[0]}" not in tampered.UNPROTECTED]
            sql, values = f"DELETE FROM {table} WHERE {where}", key
            if names and (table in tampered.NOT_MISSED or draw(st.booleans())):
                column, kind, nullable = draw(st.sampled_from(names))
                value = db.execute(f"SELECT {column} FROM {table} WHERE {where}", key).fetchone()[0]
                other = draw(st.sampled_from(list(tampered.others(value, kind, nullable))))
                sql, values = f"UPDATE {table} SET {column} = ? WHERE {where}", (other, *key)
            elif table in tampered.NOT_MISSED:
                return None
            try:
                return f"{sql} {values}" if db.execute(sql, values).rowcount else None
            except sqlite3.IntegrityError:
                return None


def _verdict(folder: Path, keyring: Keyring, now: float) -> Verdict:
    with open_store(folder) as store:
        return Auditor(store, keyring, Sealer(keyring, tampered.DEFAULT_LATTICE), lambda: now).verify().verdict


TestHistory = History.TestCase
TestHistory.settings = settings(
    max_examples=int(os.environ.get("CRP_TEST_EXAMPLES", "4")),
    stateful_step_count=25,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
