"""After a purge no file of the store holds the value in any spelling, wherever the product had put it."""

from __future__ import annotations

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest

from crp_mcp.core.model import Volatility
from crp_mcp.errors import NotFound
from crp_mcp.proof.chain_verify import Verdict
from crp_mcp.relay.buffer import Budget
from crp_mcp.relay.choosing import Selection
from tests.relay.support import Bench, bench, order_rows, text_result

VALUE = "Zørblätt-Qüux 90417"
LASTING = {"volatility": Volatility.STATIC, "ttl": None}


def spellings(value: str) -> dict[str, bytes]:
    """The forms in which a value may stand in a file."""
    escaped = json.dumps(value)[1:-1]
    return {
        "UTF-8": value.encode(),
        "folded": value.casefold().encode(),
        "upper": value.upper().encode(),
        "UTF-16LE": value.encode("utf-16-le"),
        "UTF-16BE": value.encode("utf-16-be"),
        "Latin-1": value.encode("latin-1"),
        "JSON": escaped.encode(),
        "JSON in JSON": json.dumps(escaped)[1:-1].encode(),
        "base64": base64.b64encode(value.encode())[:20],
        "URL": quote(value).encode(),
        "first word": value.split()[0].encode(),
    }


def holding(folder: Path, value: str = VALUE) -> list[tuple[str, str]]:
    """(file, spelling) of every file below a folder that holds the value."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found += [(path.name, name) for name, form in spellings(value).items() if form in data]
    return found


def purge(at: Bench, **selection: object) -> None:
    plan = at.engine.eraser.plan(Selection(**selection))  # type: ignore[arg-type]
    assert not at.engine.eraser.carry_out(plan, reason="purge").pending


def assert_sound(at: Bench) -> None:
    found = at.engine.auditor.verify()
    assert (found.faults, found.verdict) == ((), Verdict.VALID)


def spread(at: Bench) -> None:
    """Put the value everywhere: payloads, arguments, summaries, names, facts, turns, answers, contexts, indexes."""
    rows = order_rows(400)
    rows[7]["city"] = VALUE
    at.ask("record_turn", role="user", text=f"what of {VALUE}?", turn=1)
    at.capture(text_result(json.dumps(rows)), policy=LASTING, arguments={"query": f"city = '{VALUE}'"}, turn_id=1)
    table = at.capture(text_result(json.dumps(rows, ensure_ascii=False)), policy=LASTING).entry.scratch_id
    at.capture(text_result(json.dumps({"inner": json.dumps({"name": VALUE})})), tool="doubly")
    note = at.capture(text_result(f"the office of {VALUE} is in Bergen"), tool="office", policy=LASTING).entry
    at.ask("scratch_pin", scratch_id=note.scratch_id, name=f"office of {VALUE}", promote=True)
    sql = f"select upper(city) as c, count(*) as n from {table} group by 1"
    made = at.ask("scratch_query", sql=sql)["structuredContent"]["scratch_id"]
    at.ask("scratch_query", sql=f"select c from {made} where c like 'Z%'")
    at.ask("scratch_get", scratch_id=table, grep="Z")
    at.ask("request_context", query=f"office {VALUE}")
    decision = {"question": f"who is {VALUE}?", "chosen": "a customer"}
    at.ask("record_turn", role="assistant", text=f"{VALUE} has one order", turn=2, decision=decision)
    assert at.engine.tools.life.facts.search(at.scope, "Bergen")


def test_no_file_holds_the_value_in_any_spelling(tmp_path: Path) -> None:
    """Payload, argument, summary, name, fact and its index, turn, decision, derived answers, log and free pages."""
    with bench(tmp_path) as at:
        kept = at.capture(text_result("of another")).entry.scratch_id
        spread(at)
        assert {name for _, name in holding(tmp_path)} >= {"UTF-8", "first word"}
        purge(at, matching=VALUE)
        assert holding(tmp_path) == []
        assert at.engine.tools.life.facts.search(at.scope, "Bergen") == []
        assert at.entry(kept).scratch_id == kept
        assert_sound(at)
    assert holding(tmp_path) == []


def test_the_end_of_retention_leaves_as_little(tmp_path: Path) -> None:
    """Facts included, whose source's epoch is their own."""
    with bench(tmp_path) as at:
        spread(at)
        at.clock.at += 366 * 86_400
        at.engine.eraser.sweep()
        left = holding(tmp_path)
        purge(at, matching=VALUE)  # what the user said is no result, and stays until somebody asks for it
        assert holding(tmp_path) == []
        assert {name for name, _ in left} <= {"scratch.db", "scratch.db-wal"}
        assert_sound(at)


def test_a_fact_erased_by_itself_is_recorded_and_its_receipt_is_out_of_force(tmp_path: Path) -> None:
    """The entry it came from need not go."""
    with bench(tmp_path) as at:
        made = at.capture(text_result("blue"), tool="colour", policy=LASTING, arguments={"of": "x"}).entry
        at.ask("scratch_pin", scratch_id=made.scratch_id, name=VALUE, promote=True)
        at.ask("scratch_pin", scratch_id=made.scratch_id, name="another")
        purge(at, matching=VALUE)
        assert at.entry(made.scratch_id).name == "another"
        assert at.events("TOMBSTONED")[-1] == {"fact": 1, "reason": "purge"}
        assert holding(tmp_path) == []
        assert_sound(at)


def test_what_was_built_on_an_evicted_result_goes_with_it(tmp_path: Path) -> None:
    """Purged by its id, when only its stub is left: the query's result has the value too."""
    with bench(tmp_path) as at:
        rows = order_rows(300)
        rows[3]["city"] = VALUE
        table = at.capture(text_result(json.dumps(rows)), policy={"ttl": 1}).entry.scratch_id
        made = at.ask("scratch_query", sql=f"select city from {table} limit 10")["structuredContent"]["scratch_id"]
        at.ask("scratch_pin", scratch_id=made)
        at.clock.at += 10_000
        for number in range(10, 20):
            at.ask("record_turn", role="user", text="and then?", turn=number)
        at.engine.life.buffer.budget = Budget(conversation_entries=2)
        at.capture(text_result("next"), tool="newest")
        at.engine.life.buffer.budget = Budget()
        assert [event["scratch_id"] for event in at.events("EVICTED")] == [table]
        plan = at.engine.eraser.plan(Selection(ids=(table,)))
        assert [(step.entry.scratch_id, step.action, step.because) for step in plan.steps] == [(made, "purge", table)]
        purge(at, ids=(table,))
        with pytest.raises(NotFound, match="purged"):
            at.engine.reader.entry(at.scope, made)
        assert holding(tmp_path) == []
        assert_sound(at)


def test_two_processes_purge_the_same_at_once(tmp_path: Path) -> None:
    """One of them does it; the other finds nothing left to do, or says what it was."""
    with bench(tmp_path) as one, bench(tmp_path) as two:
        for number in range(6):
            one.capture(text_result(f"{VALUE} {number}"))

        def run(at: Bench) -> None:
            plan = at.engine.eraser.plan(Selection(matching=VALUE))
            at.engine.eraser.carry_out(plan, reason="purge")

        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(run, at) for at in (one, two)]:
                done.result()
        one.engine.eraser.sweep()
        assert holding(tmp_path) == []
        assert_sound(two)
