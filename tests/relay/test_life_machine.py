"""An entry's life, any way it goes: random calls, references, pins, clock moves, evictions, restarts."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from crp_mcp.core.freshness import is_current
from crp_mcp.store import Stub
from tests.relay.support import Bench, Clock, bench, order_rows, text_result, texts

REGISTRY = """
version: 1
tools:
  - {match: "*:load", volatility: REALTIME, class: metric}
  - {match: "*:rows", volatility: VOLATILE, class: sql}
  - {match: "*:fetch", volatility: STABLE, class: api}
  - {match: "*:write", invalidates: ["rows"]}
"""
MOST = 8
"""Entries the conversation may hold."""


class Life(RuleBasedStateMachine):
    """Nothing pinned lost, nothing stale as fresh, headers count what is stored, no id twice, no overrun unsaid."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self.ids: list[str] = []
        self.pinned: set[str] = set()
        self.count = 0
        self._open()

    def _open(self) -> None:
        self.stack = ExitStack()
        made = bench(self.folder, clock=self.clock, registry=REGISTRY, budget=(1 << 40, 1_000, 1 << 40, MOST))
        self.at: Bench = self.stack.enter_context(made)

    def teardown(self) -> None:
        self.stack.close()
        shutil.rmtree(self.folder)

    @rule(tool=st.sampled_from(["load", "rows", "fetch", "write"]), rows=st.integers(1, 3), same=st.booleans())
    def call(self, tool: str, rows: int, same: bool) -> None:
        self.count += 1
        made = self.at.host_call(tool, text_result(json.dumps(order_rows(rows))), {"n": 0 if same else self.count})
        assert made not in self.ids
        self.ids.append(made)

    @rule(seconds=st.sampled_from([1, 31, 301, 3_601]))
    def wait(self, seconds: int) -> None:
        self.clock.at += seconds

    @rule(text=st.sampled_from(["Save that query result.", "Sort those rows", "Keep it.", "the error", "thanks"]))
    def say(self, text: str) -> None:
        self.at.ask("record_turn", role="user", text=text)
        self.pinned = {entry.scratch_id for entry in self._entries() if entry.persistence.value == "PINNED"}

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), view=st.sampled_from(["summary", "rows", "provenance"]))
    def read(self, data: st.DataObject, view: str) -> None:
        wanted = data.draw(st.sampled_from(self.ids))
        entry = self.at.entry(wanted)
        fresh = not isinstance(entry, Stub) and is_current(entry, self.clock.at)
        answer = self.at.ask("scratch_get", scratch_id=wanted, view=view)
        line = texts(answer)[0]
        if isinstance(entry, Stub):
            assert answer["isError"]
            assert "evicted" in line
        elif fresh:
            assert "fresh" in line
        else:
            assert "may be outdated" in line or "fresh data needed" in line
            assert answer["_meta"]["dev.crp/headers"].get("CRP-Context-Scratch-Freshness", "stale") != "fresh"

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), unpin=st.booleans())
    def pin(self, data: st.DataObject, unpin: bool) -> None:
        wanted = data.draw(st.sampled_from(self.ids))
        answer = self.at.ask("scratch_pin", scratch_id=wanted, unpin=unpin)
        if not answer["isError"]:
            (self.pinned.discard if unpin else self.pinned.add)(wanted)

    @rule()
    def restart(self) -> None:
        self.stack.close()
        self._open()

    def _entries(self) -> Any:
        return self.at.engine.store.list(self.at.scope, limit=1_000).entries

    @invariant()
    def pins_are_there(self) -> None:
        assert self.pinned <= {entry.scratch_id for entry in self._entries()}

    @invariant()
    def every_id_answers(self) -> None:
        for one in self.ids:
            assert self.at.entry(one).scratch_id == one

    @invariant()
    def headers_count_what_the_store_holds(self) -> None:
        entries = self._entries()
        pinned = sum(entry.persistence.value == "PINNED" for entry in entries)
        headers = self.at.engine.tools.headers(self.at.scope)
        assert headers["CRP-Context-Scratch-Entries"] == f"{len(entries)}/{pinned}"
        assert (len(entries) > MOST) == (headers.get("CRP-Context-Scratch-Full") == "true")


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
