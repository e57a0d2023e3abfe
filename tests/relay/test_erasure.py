"""Erasure from outside: what is chosen, what goes with it, what is made anew, and that no file holds the bytes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.core.model import Entry, Scope, ToolCall, ToolPolicy
from crp_mcp.core.safety import parse_policy
from crp_mcp.errors import BadRequest, NotFound
from crp_mcp.proof.chain_verify import Verdict
from crp_mcp.proof.eccr import VerifiedReceipt, verify
from crp_mcp.proof.lineage import verify_superseding
from crp_mcp.proof.signed import verify_tombstone
from crp_mcp.relay.choosing import Selection
from crp_mcp.relay.erasure import Report
from crp_mcp.relay.service import Job
from crp_mcp.relay.using import Ask
from crp_mcp.store import Stub
from crp_mcp.store.stones import tombstones
from tests.relay.support import Bench, dump, order_rows, text_result, texts

NEEDLE = "Zorblatt Quux 90417"


def rows_with(needle: str = NEEDLE, count: int = 400) -> str:
    rows = order_rows(count)
    rows[7]["city"] = needle
    return json.dumps(rows)


def files_with(folder: Path, needle: str = NEEDLE) -> list[str]:
    """Files below `folder` that hold the text as it stands; packed payloads are looked at through their store."""
    return [path.name for path in folder.rglob("*") if path.is_file() and needle.encode() in path.read_bytes()]


def purge(at: Bench, selection: Selection, **how: Any) -> Report:
    plan = at.engine.eraser.plan(selection, rows=how.get("rows", False))
    return at.engine.eraser.carry_out(plan, reason="purge", **how)


def entry(at: Bench, name: str) -> Entry:
    return at.engine.reader.entry(at.scope, name)


def query(at: Bench, sql: str) -> str:
    return str(at.tool("scratch_query", sql=sql)["structuredContent"]["scratch_id"])


def assert_sound(at: Bench) -> None:
    audit = at.engine.auditor.verify()
    assert (audit.faults, audit.verdict) == ((), Verdict.VALID)


@contextmanager
def other_database(at: Bench) -> Iterator[sqlite3.Connection]:
    """Another process's view of the store's file."""
    with closing(sqlite3.connect(at.engine.store.path, isolation_level=None)) as db:
        yield db


def test_no_file_holds_what_was_purged(at: Bench, tmp_path: Path) -> None:
    """Payload, arguments, summary, name, derived table and log: nothing of it stands anywhere below the folder."""
    table = at.capture(text_result(rows_with()), arguments={"query": f"select '{NEEDLE}'"}).entry
    note = at.capture(text_result(f"a note on {NEEDLE}"), tool="read_note").entry
    at.tool("scratch_pin", scratch_id=table.scratch_id, name=f"orders of {NEEDLE}")
    query(at, f"select city, count(*) from {table.scratch_id} group by city")
    at.engine.store.checkpoint()
    assert files_with(tmp_path)
    report = purge(at, Selection(matching=NEEDLE))
    assert not report.pending
    assert {table.scratch_id, note.scratch_id} <= set(report.purged)
    assert files_with(tmp_path) == []
    assert_sound(at)


def test_copies_that_sqlite_leaves_in_unused_room_go_too(at: Bench, tmp_path: Path) -> None:
    """Many rows of many sizes move between pages before they are purged; no copy of one stays behind."""
    names = []
    for number in range(60):
        needle = f"NEEDLE-{number:04d}-{'x' * (number * 37 % 211)}"
        filler = "y" * (number * 397 % 3_000)
        arguments = {"q": needle * (1 + number % 9)}
        names.append(at.capture(text_result(f"{needle} {filler}"), arguments=arguments).entry.scratch_id)
        if number % 5 == 4:
            gone = names.pop(number % len(names))
            marker = f"NEEDLE-{int(gone.rsplit('_', 1)[1]) - 1:04d}-"
            purge(at, Selection(ids=(gone,)))
            assert files_with(tmp_path, marker) == []


def test_what_was_made_from_it_is_made_anew_from_the_rest(at: Bench) -> None:
    """The old result goes; a new one over the other source supersedes it, and its receipt shows exactly that."""
    first, second = at.capture(text_result(rows_with())).entry, at.capture(text_result(rows_with("Bergen"))).entry
    joined = query(at, f"select city from {first.scratch_id} union all select city from {second.scratch_id}")
    counted = query(at, f"select city, count(*) as n from {joined} group by city")
    old = entry(at, joined)
    report = purge(at, Selection(ids=(first.scratch_id,)))
    assert set(report.rebuilt) == {joined, counted}
    new = entry(at, report.rebuilt[joined])
    assert (new.rows, new.supersedes) == (400, joined)
    assert "Zorblatt" not in texts(at.tool("scratch_get", scratch_id=report.rebuilt[counted], view="rows"))[1]
    stones = {
        verify_tombstone(body, keys=at.engine.keyring.own, verify_signature=at.engine.keyring.verify).item_digest
        for body in at.engine.store.ask(tombstones)
    }
    before, after = receipt_of(at, old.receipt), receipt_of(at, new.receipt)
    assert before.items
    verify_superseding(after, before.receipt, before.items, stones)
    assert_sound(at)


def receipt_of(at: Bench, digest: str | None) -> VerifiedReceipt:
    stored = at.engine.store.receipt(at.scope, str(digest))
    keys, check = at.engine.keyring.own, at.engine.keyring.verify
    return verify(stored.body, keys=keys, verify_signature=check, now=None, leaves=stored.leaves)


def test_what_had_no_other_source_goes_without_a_receipt(at: Bench) -> None:
    """All leaves gone: no artifact and no receipt."""
    source = at.capture(text_result(rows_with())).entry
    made = entry(at, query(at, f"select * from {source.scratch_id} where city like 'Z%'"))
    report = purge(at, Selection(ids=(source.scratch_id,)))
    assert report.rebuilt == {}
    assert set(report.purged) == {source.scratch_id, made.scratch_id}
    for digest in (source.receipt, made.receipt):
        with pytest.raises(NotFound):
            at.engine.store.receipt(at.scope, str(digest))


def test_rows_keeps_the_rest_of_a_table(at: Bench, tmp_path: Path) -> None:
    """The other rows stand in a new entry with the same call, time, label and pin; queries over it are made anew."""
    old = at.capture(text_result(rows_with()), policy={"sensitivity": "CONFIDENTIAL"}).entry
    at.tool("scratch_pin", scratch_id=old.scratch_id, name="orders")
    counted = query(at, f"select count(*) as n from {old.scratch_id}")
    at.clock.at += 100
    report = purge(at, Selection(matching=NEEDLE.lower()), rows=True)
    new = entry(at, "orders")
    assert new.scratch_id == report.rebuilt[old.scratch_id]
    assert (new.rows, new.created_at, new.label, new.supersedes) == (
        399,
        old.created_at,
        "CONFIDENTIAL",
        old.scratch_id,
    )
    assert "399" in texts(at.tool("scratch_get", scratch_id=report.rebuilt[counted], view="raw"))[1]
    assert files_with(tmp_path) == []
    assert_sound(at)


def test_a_dry_run_changes_nothing_and_lists_everything_downstream(at: Bench) -> None:
    """The plan names what was chosen, and what it takes along, with the reason."""
    source = at.capture(text_result(rows_with())).entry
    made = query(at, f"select city from {source.scratch_id}")
    head = at.engine.store.head()
    plan = at.engine.eraser.plan(Selection(ids=(source.scratch_id,)))
    assert [(step.entry.scratch_id, step.because) for step in plan.steps] == [
        (source.scratch_id, None),
        (made, source.scratch_id),
    ]
    assert at.engine.store.head() == head


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        (Selection(tool="read_*"), {"note"}),
        (Selection(tool="shop:query"), {"table"}),
        (Selection(argument="4711"), {"table"}),
        (Selection(argument="customer=4711"), {"table"}),
        (Selection(argument="order=4711"), set()),
        (Selection(conversation="conv_test"), {"table", "note"}),
        (Selection(matching="kyiv"), {"table"}),
        (Selection(tool="query", matching="a note"), set()),
    ],
)
def test_what_selections_choose(at: Bench, selection: Selection, chosen: set[str]) -> None:
    """Tool, argument, conversation and content, each narrowing the others."""
    ids = {
        "table": at.capture(text_result(rows_with()), tool="query", arguments={"where": {"customer": 4711}}),
        "note": at.capture(text_result("a note"), tool="read_note", arguments={}),
    }
    found = {step.entry.scratch_id for step in at.engine.eraser.plan(selection).steps}
    assert found == {ids[name].entry.scratch_id for name in chosen}


def test_choosing_nothing_is_an_error(at: Bench) -> None:
    """An empty selection does not mean everything."""
    with pytest.raises(BadRequest):
        at.engine.eraser.plan(Selection())


def test_content_is_found_in_escapes_and_packed_chunks(at: Bench) -> None:
    """Inside JSON in JSON, behind escapes, across the chunks of a large payload, under a column's name."""
    inner = json.dumps({"name": 'Zo\u00eb "Z" Quux'})
    kept = at.capture(text_result("nothing of interest")).entry.scratch_id
    ids = {
        at.capture({"content": [{"type": "text", "text": inner}], "structuredContent": {"a": 1}}).entry.scratch_id,
        at.capture(text_result("z" * 262_140 + 'Zo\u00eb   "Z" Quux' + "z" * 300_000)).entry.scratch_id,
    }
    found = {s.entry.scratch_id for s in at.engine.eraser.plan(Selection(matching='zo\u00eb "z" quux')).steps}
    assert found == ids
    street = at.capture(text_result("she lives at Gru\u0308ne Stra\u00dfe 5")).entry.scratch_id
    (step,) = at.engine.eraser.plan(Selection(matching="GR\u00dcNE STRASSE 5")).steps
    assert step.entry.scratch_id == street
    csv = at.capture(text_result("customer,amount\n4711,9\n4712,8\n47110,7\n")).entry.scratch_id
    plan = at.engine.eraser.plan(Selection(matching="customer 4711"), rows=True)
    assert [(s.entry.scratch_id, s.removed, s.kept) for s in plan.steps] == [(csv, 1, 2)]
    assert kept not in found


def test_texts_outside_entries_are_erased_with_the_search_index(at: Bench, tmp_path: Path) -> None:
    """Turns lose their text, facts go, and stubs of what was evicted lose arguments and summary."""
    gone = at.capture(text_result(rows_with()), arguments={"q": NEEDLE}).entry
    at.engine.store.remove(
        at.scope,
        gone.scratch_id,
        lambda head, e: at.engine.reader.sealer.event(head, e, "EVICTED", {}, at.clock()),
        why="evicted",
        at=at.clock(),
        erase=False,
    )
    with other_database(at) as db:
        space, conversation = db.execute("SELECT space_id, id FROM conversation").fetchone()
        db.execute(
            "INSERT INTO turn (conversation_id, number, role, declared, text, at) VALUES (?, 1, 'user', 1, ?, 0)",
            (conversation, f"what about {NEEDLE}?"),
        )
        db.execute(
            "INSERT INTO fact (space_id, content, content_hash, provenance, importance, created_at, access_count, "
            "status, expires_at) VALUES (?, ?, 'x', 'tool-derived', 1, 0, 0, 'active', 0)",
            (space, f"{NEEDLE} ordered twice"),
        )
    report = purge(at, Selection(matching=NEEDLE))
    assert (report.stubs, report.texts, report.pending) == ([gone.scratch_id], 2, False)
    stub = at.engine.store.get(at.scope, gone.scratch_id)
    assert isinstance(stub, Stub)
    assert (stub.why, stub.summary, stub.tool_call_args) == ("purged", None, None)
    assert files_with(tmp_path) == []
    with other_database(at) as db:
        assert db.execute("SELECT count(*) FROM fact_fts WHERE fact_fts MATCH 'Zorblatt'").fetchone() == (0,)
    assert_sound(at)


def test_a_reader_of_the_log_makes_it_pending_until_it_lets_go(at: Bench, tmp_path: Path) -> None:
    """What another process still reads cannot be taken out of the log; the next sweep finishes it."""
    made = at.capture(text_result(f"a note on {NEEDLE}")).entry
    with other_database(at) as db:
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM entry").fetchone()
        assert purge(at, Selection(ids=(made.scratch_id,))).pending
        assert files_with(tmp_path)
        db.execute("COMMIT")
    assert not at.engine.eraser.sweep().pending
    assert files_with(tmp_path) == []


def test_retention_ends_like_a_purge(at: Bench, tmp_path: Path) -> None:
    """At its epoch an entry goes with what was made from it; what is younger stays."""
    old = at.capture(text_result(rows_with()), policy={"retention": 3_600}).entry
    made = query(at, f"select city from {old.scratch_id}")
    young = at.capture(text_result("stays"), policy={"retention": 7_200}).entry
    at.clock.at += 3_599
    assert at.engine.eraser.sweep().purged == []
    at.clock.at += 1
    at.engine.upkeep()
    stub = at.engine.store.get(at.scope, old.scratch_id)
    assert isinstance(stub, Stub)
    assert (stub.why, stub.summary) == ("expired", None)
    assert isinstance(at.engine.store.get(at.scope, made), Stub)
    assert isinstance(at.engine.store.get(at.scope, young.scratch_id), Entry)
    assert files_with(tmp_path) == []
    assert_sound(at)


def test_forgetting_is_limited_to_what_is_the_models_own(at: Bench, tmp_path: Path) -> None:
    """Unpinned and of this conversation, and so is everything made from it; else the operator is named."""
    note = at.capture(text_result(f"a note on {NEEDLE}")).entry.scratch_id
    done = at.tool("scratch_forget", scratch_id=note)
    assert not done["isError"]
    assert files_with(tmp_path) == []
    pinned = at.capture(text_result("kept")).entry.scratch_id
    at.tool("scratch_pin", scratch_id=pinned)
    assert at.tool("scratch_forget", scratch_id=pinned)["structuredContent"]["code"] == "REFUSED"
    elsewhere = at.engine.settings.scope("conv_other")
    refused = at.engine.tools.call("scratch_forget", {"scratch_id": pinned}, elsewhere)
    assert "another conversation" in texts(refused)[0]
    source = at.capture(text_result(rows_with())).entry.scratch_id
    at.tool("scratch_pin", scratch_id=query(at, f"select city from {source}"))
    assert "pinned" in texts(at.tool("scratch_forget", scratch_id=source))[0]


def test_nothing_is_forgotten_where_everything_is_kept(at: Bench) -> None:
    """Under audit or all retention only the operator erases."""
    made = at.capture(text_result("kept")).entry.scratch_id
    for retain in ("audit", "all"):
        ask = Ask(at.scope, policy=parse_policy(f"tool-output-retain={retain}"))
        refused = at.engine.tools.call("scratch_forget", {"scratch_id": made}, at.scope, ask)
        assert retain in texts(refused)[0]
    assert isinstance(at.engine.store.get(at.scope, made), Entry)


def test_something_built_meanwhile_is_not_left_behind(at: Bench) -> None:
    """A query made between plan and deed is found then, and goes too."""
    source = at.capture(text_result(rows_with())).entry.scratch_id
    plan = at.engine.eraser.plan(Selection(ids=(source,)))
    made = query(at, f"select city from {source}")
    report = at.engine.eraser.carry_out(plan, reason="purge")
    assert set(report.purged) == {source, made}


def test_equal_ids_of_two_tenants_are_told_apart(at: Bench) -> None:
    """Counters are each tenant's own: a purge by conversation leaves the other tenant's entry of that id."""
    mine = at.capture(text_result("mine")).entry
    other = Scope("other", at.scope.project, "conv_other")
    call = ToolCall("shop", "read_query", {}, b"{}")
    theirs = at.engine.service.capture(Job(call, other, ToolPolicy(), dump(text_result("theirs")))).entry
    assert theirs.scratch_id == mine.scratch_id
    with pytest.raises(BadRequest, match="several"):
        at.engine.eraser.plan(Selection(ids=(mine.scratch_id,)))
    purge(at, Selection(conversation="conv_test"))
    assert isinstance(at.engine.store.get(other, theirs.scratch_id), Entry)
    assert isinstance(at.engine.store.get(at.scope, mine.scratch_id), Stub)


def test_the_answer_that_quotes_what_was_purged_goes_with_it(at: Bench, tmp_path: Path) -> None:
    """The order of a conversation: asked, called, answered. What the user said next, and its answer, stay."""
    at.tool("record_turn", role="user", text="where is order 7?", turn=1)
    name = at.capture(text_result(f"order 7 is in {NEEDLE}"), turn_id=1).entry.scratch_id
    at.tool("record_turn", role="assistant", text=f"Order 7 is in {NEEDLE}.", turn=2)
    at.tool("record_turn", role="user", text="thanks, and the weather?", turn=3)
    at.tool("record_turn", role="assistant", text="It is sunny.", turn=4)
    at.tool("record_turn", role="assistant", text=f"[{name}] said {NEEDLE}.", turn=5)
    purge(at, Selection(ids=(name,)))
    assert files_with(tmp_path) == []
    with other_database(at) as db:
        left = dict(db.execute("SELECT number, text FROM turn ORDER BY number").fetchall())
    assert left == {1: "where is order 7?", 2: None, 3: "thanks, and the weather?", 4: "It is sunny.", 5: None}
