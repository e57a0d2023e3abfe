"""Labels: raised by an upstream and never lowered, inherited by what is made from them, withheld above a clearance."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.app.engine import open_engine
from crp_mcp.app.settings import Settings, load_settings
from crp_mcp.core.model import Scope, Volatility
from crp_mcp.errors import ConfigError
from crp_mcp.proof.lattice import DEFAULT_LATTICE
from crp_mcp.relay.context.history import BATCH
from crp_mcp.relay.labels import Clearances
from tests.relay.support import Bench, Clock, order_rows, text_result, texts

SECRET = "the launch is on Friday"


def labelled(text: str, label: object, *, in_block: bool = False) -> dict[str, Any]:
    meta = {"_meta": {"dev.crp/label": label}}
    if in_block:
        return {"content": [{"type": "text", "text": text, **meta}]}
    return text_result(text, **meta)


@contextmanager
def cleared(folder: Path, *clearance: tuple[str, str]) -> Iterator[Bench]:
    settings = Settings(str(folder / "store"), project=str(folder), host_key="1:1", clearance=clearance)
    clock = Clock()
    engine = open_engine(Settings.from_text(settings.to_text()), now=clock)
    try:
        yield Bench(engine, clock)
    finally:
        engine.close()


def events(at: Bench, kind: str) -> list[dict[str, Any]]:
    found = [json.loads(record.body) for record in at.engine.store.records()]
    return [record["data"] for record in found if record["event_type"] == kind]


@pytest.mark.parametrize(
    ("declared", "hint", "label"),
    [
        ("INTERNAL", "CONFIDENTIAL", "CONFIDENTIAL"),
        ("CONFIDENTIAL", "PUBLIC", "CONFIDENTIAL"),
        ("INTERNAL", "internal", "RESTRICTED"),
        ("INTERNAL", 7, "RESTRICTED"),
        ("INTERNAL", None, "RESTRICTED"),
        ("PUBLIC", "PUBLIC", "PUBLIC"),
    ],
)
@pytest.mark.parametrize("in_block", [False, True])
def test_an_upstream_may_only_raise_a_label(at: Bench, declared: str, hint: object, label: str, in_block: bool) -> None:
    """What the registry says is the least; an unknown label counts as the top."""
    made = at.capture(labelled("x", hint, in_block=in_block), policy={"sensitivity": declared}).entry
    assert made.label == label
    receipt = json.loads(at.engine.store.receipt(at.scope, str(made.receipt)).body)
    assert receipt["inherited_sensitivity_ceiling"] == label


def test_a_query_has_the_highest_label_and_the_earliest_epoch_of_its_sources(at: Bench) -> None:
    """And so has its receipt: a summary cannot launder a label."""
    rows = json.dumps(order_rows(50))
    low = at.capture(text_result(rows), policy={"retention": 1_000}).entry
    high = at.capture(text_result(rows), policy={"sensitivity": "HIGHLY_CONFIDENTIAL"}).entry
    sql = f"select a.city from {low.scratch_id} a join {high.scratch_id} b using (order_id)"
    made = at.engine.reader.entry(at.scope, at.tool("scratch_query", sql=sql)["structuredContent"]["scratch_id"])
    assert (made.label, made.expires_at) == ("HIGHLY_CONFIDENTIAL", low.expires_at)
    receipt = json.loads(at.engine.store.receipt(at.scope, str(made.receipt)).body)
    assert receipt["inherited_sensitivity_ceiling"] == "HIGHLY_CONFIDENTIAL"
    assert receipt["retention_purge_epoch"] == low.expires_at


def test_every_way_to_read_what_is_above_the_clearance_is_closed_and_recorded(tmp_path: Path) -> None:
    """The result itself, scratch_get in all views, list, query, pin, resource: a sentence instead, and a record."""
    with cleared(tmp_path, ("*", "INTERNAL")) as at:
        outcome = at.capture(labelled(SECRET, "CONFIDENTIAL"))
        answer = b"".join(outcome.result or ()) if not isinstance(outcome.result, bytes) else outcome.result
        name = outcome.entry.scratch_id
        shown = [answer.decode()]
        for view in ("summary", "raw", "rows", "provenance", "receipt"):
            shown.append(json.dumps(at.tool("scratch_get", scratch_id=name, view=view)))
        shown.append(json.dumps(at.tool("scratch_query", sql=f"select text from {name}")))
        shown.append(json.dumps(at.tool("scratch_query", sql="select text from latest")))
        shown.append(json.dumps(at.tool("scratch_pin", scratch_id=name, name="mine")))
        listed = json.dumps(at.tool("scratch_list"))
        for text in (*shown, listed):
            assert "launch" not in text
            assert "withheld" in text
        with pytest.raises(Exception, match="withheld"):
            at.engine.tools.read_resource(f"scratch://{name}", at.scope)
        assert at.engine.tools.complete("scratch_", at.scope)["completion"]["values"] == []
        assert len(events(at, "WITHHELD")) == len(shown) + 2
        assert events(at, "WITHHELD")[0] == {
            "scratch_ids": [name],
            "count": 1,
            "label": "CONFIDENTIAL",
            "clearance": "INTERNAL",
        }
        allowed = at.capture(text_result("for all")).entry.scratch_id
        assert texts(at.tool("scratch_get", scratch_id=allowed, view="raw"))[1] == "for all"


def test_a_failed_query_names_nothing_that_is_withheld(tmp_path: Path) -> None:
    """Names are content: what may not be read is not among the tables that are suggested."""
    with cleared(tmp_path) as at:
        name = at.capture(labelled(SECRET, "CONFIDENTIAL")).entry.scratch_id
        at.tool("scratch_pin", scratch_id=name, name="merger")
        at.capture(text_result('[{"a": 1}]'))
    with cleared(tmp_path, ("*", "INTERNAL")) as at:
        said = json.dumps(at.tool("scratch_query", sql="select * from merge"))
        assert "no such table" in said
        assert "merger" not in said
        assert name not in said


def test_a_blank_clearance_is_an_error(tmp_path: Path) -> None:
    """A variable that was emptied must not clear everything."""
    env = {"HOME": str(tmp_path), "CRP_MCP_CLEARANCE": " "}
    with pytest.raises(ConfigError, match="CRP_MCP_CLEARANCE"):
        load_settings(env=env)
    assert load_settings(env={**env, "CRP_MCP_CLEARANCE": "INTERNAL"}).clearance == (("*", "INTERNAL"),)


def test_a_fact_has_the_label_of_its_source(tmp_path: Path) -> None:
    """Promotion does not launder: who may not see the source may not see the fact."""
    lasting = {"volatility": Volatility.STATIC, "ttl": None}
    with cleared(tmp_path) as at:
        name = at.capture(labelled(SECRET, "CONFIDENTIAL"), policy=lasting).entry.scratch_id
        at.tool("scratch_pin", scratch_id=name, promote=True)
        assert at.engine.tools.life.facts.search(at.scope, "launch")
        assert "launch" in json.dumps(at.tool("request_context", query="launch"))
    with cleared(tmp_path, ("*", "INTERNAL")) as at:
        assert at.engine.tools.life.facts.search(at.scope, "launch") == []
        assert len(events(at, "WITHHELD")) == 1
        asked = at.tool("request_context", query="code")
        assert not asked["isError"]
        assert SECRET not in json.dumps(asked)


def test_the_strictest_clearance_holds_and_an_unknown_one_clears_the_lowest_label() -> None:
    """A conversation named by the client can never widen what the operator allows."""
    given = (("*", "CONFIDENTIAL"), ("tenant:acme", "INTERNAL"), ("conversation:open", "RESTRICTED"), ("tenant:x", "?"))
    found = Clearances(given, DEFAULT_LATTICE)
    assert found.of(Scope("local", "", "open")) == "CONFIDENTIAL"
    assert found.of(Scope("acme", "", "open")) == "INTERNAL"
    assert found.of(Scope("x", "", "open")) == "PUBLIC"
    assert Clearances((), DEFAULT_LATTICE).of(Scope()) is None
    assert not found.clears(Scope("local"), "no such label")


def relabel(at: Bench, name: str, label: str = "PUBLIC") -> None:
    """What a mistake, or somebody with the file in hand, can do."""
    with closing(sqlite3.connect(at.engine.store.path)) as db:
        db.execute("UPDATE entry SET label = ? WHERE scratch_id = ?", (label, name))
        db.commit()


def test_a_label_lowered_in_the_store_clears_nothing(tmp_path: Path) -> None:
    """The ceiling an entry was signed for holds, also in what is made from it, later receipts included."""
    rows = json.dumps([{"note": SECRET}, {"note": "other"}])
    with cleared(tmp_path) as at:
        name = at.capture(labelled(rows, "CONFIDENTIAL")).entry.scratch_id
        relabel(at, name)
        made = at.tool("scratch_query", sql=f"select note from {name}")["structuredContent"]["scratch_id"]
        at.tool("scratch_get", scratch_id=name, view="summary")
        at.tool("scratch_pin", scratch_id=name)
        for one in (name, made):
            receipt = at.engine.store.receipt(at.scope, str(at.entry(one).receipt))
            assert json.loads(receipt.body)["inherited_sensitivity_ceiling"] == "CONFIDENTIAL"
        relabel(at, made)
    with cleared(tmp_path, ("*", "INTERNAL")) as at:
        for one in (name, made):
            for view in ("summary", "raw", "rows", "provenance", "receipt"):
                shown = json.dumps(at.tool("scratch_get", scratch_id=one, view=view))
                assert "launch" not in shown
                assert "withheld" in shown
        assert "withheld" in json.dumps(at.tool("scratch_query", sql=f"select * from {name}"))
        assert events(at, "WITHHELD")[0]["label"] == "CONFIDENTIAL"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE receipt SET body = CAST(replace(CAST(body AS TEXT), 'CONFIDENTIAL', 'PUBLIC') AS BLOB)",
        "DELETE FROM receipt",
        "UPDATE entry SET receipt = NULL",
        "UPDATE entry SET receipt = (SELECT receipt FROM entry WHERE label = 'INTERNAL')",
        "UPDATE entry SET summary = 'something else'",
    ],
)
def test_an_entry_whose_receipt_does_not_hold_is_handled_as_the_top(tmp_path: Path, damage: str) -> None:
    """A changed, missing, exchanged receipt, or one of another output: nothing is cleared by it."""
    with cleared(tmp_path) as at:
        name = at.capture(labelled(SECRET, "CONFIDENTIAL")).entry.scratch_id
        at.capture(text_result("for all"))
        with closing(sqlite3.connect(at.engine.store.path)) as db:
            db.execute(damage)
            db.commit()
        relabel(at, name)
    with cleared(tmp_path, ("*", "HIGHLY_CONFIDENTIAL")) as at:
        assert "withheld" in json.dumps(at.tool("scratch_get", scratch_id=name, view="raw"))
        assert events(at, "WITHHELD")[0]["label"] == "RESTRICTED"


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("label", "PUBLIC", "CEILING_MISMATCH"),
        ("expires_at", 1_900_000_000, "RETENTION_EXCEEDED"),
        ("summary", "nothing of note", "OUTPUT_MISMATCH"),
    ],
)
def test_the_receipt_view_says_where_entry_and_receipt_differ(
    at: Bench, column: str, value: object, reason: str
) -> None:
    """And keeps a signed record of that."""
    name = at.capture(labelled(SECRET, "CONFIDENTIAL")).entry.scratch_id
    assert "verified" in texts(at.tool("scratch_get", scratch_id=name, view="receipt"))[0]
    with closing(sqlite3.connect(at.engine.store.path)) as db:
        db.execute(f"UPDATE entry SET {column} = ?", (value,))
        db.commit()
    shown = at.tool("scratch_get", scratch_id=name, view="receipt")
    assert shown["isError"]
    assert reason in texts(shown)[0]
    assert events(at, "RECEIPT_REJECTED")[-1]["reason"] == reason


def test_a_name_is_not_taken_from_what_is_withheld(tmp_path: Path) -> None:
    """Whichever conversation of the project it was given in; the error names neither its id nor its label."""
    with cleared(tmp_path) as at:
        names = []
        for conversation, name in (("conv_test", "merger"), ("conv_other", "budget")):
            at.conversation = conversation
            names.append(at.capture(labelled(SECRET, "CONFIDENTIAL")).entry.scratch_id)
            at.tool("scratch_pin", scratch_id=names[-1], name=name)
        at.conversation = "conv_other"
        seen = at.capture(text_result("for all")).entry.scratch_id
        at.tool("scratch_pin", scratch_id=seen, name="plan")
    with cleared(tmp_path, ("conversation:conv_test", "INTERNAL")) as at:
        mine = at.capture(text_result("mine")).entry.scratch_id
        for name in ("merger", "budget"):
            refused = at.tool("scratch_pin", scratch_id=mine, name=name)
            assert refused["isError"]
            assert "in use" in texts(refused)[0]
            assert not any(one in json.dumps(refused) for one in (*names, "CONFIDENTIAL"))
        assert [at.entry(one).name for one in names] == ["merger", "budget"]
        assert at.entry(mine).name is None
        moved = at.tool("scratch_pin", scratch_id=mine, name="plan")
        assert seen in texts(moved)[0]
        assert at.entry(mine).name == "plan"


@pytest.mark.parametrize("said", ['Look at that result, and call it "merger".', 'Save that result as "merger".'])
def test_words_give_no_name_that_something_withheld_has(tmp_path: Path, said: str) -> None:
    """The turn is recorded, and the answer says that the name is in use; the other may be of another conversation."""
    with cleared(tmp_path) as at:
        at.conversation = "conv_other"
        held = at.capture(labelled(SECRET, "CONFIDENTIAL")).entry.scratch_id
        at.tool("scratch_pin", scratch_id=held, name="merger")
    with cleared(tmp_path, ("*", "INTERNAL")) as at:
        mine = at.capture(text_result("mine")).entry.scratch_id
        answer = at.tool("record_turn", role="user", text=said)
        assert not answer["isError"]
        assert "in use" in texts(answer)[0]
        assert not any(one in json.dumps(answer) for one in (held, "CONFIDENTIAL"))
        assert (at.entry(mine).name, at.entry(held).name) == (None, "merger")


def test_words_about_what_is_withheld_are_recorded(tmp_path: Path) -> None:
    """And answered by the sentence that it is."""
    with cleared(tmp_path) as at:
        held = at.capture(labelled(SECRET, "CONFIDENTIAL")).entry.scratch_id
        at.tool("scratch_pin", scratch_id=held, name="merger")
    with cleared(tmp_path, ("*", "INTERNAL")) as at:
        answer = at.tool("record_turn", role="user", text='Save that result as "merger".')
        assert not answer["isError"]
        assert "withheld" in texts(answer)[0]
        assert at.entry(held).name == "merger"


def test_what_is_withheld_is_said_by_every_answer_that_leaves_it_out(tmp_path: Path) -> None:
    """Context, history and checks name what they could not use; a turn about it is in none of them. All is recorded."""
    with cleared(tmp_path) as at:
        at.tool("record_turn", role="user", text="how much is the merger worth?", turn=1)
        held = at.capture(labelled("the merger is worth 9417 euros", "CONFIDENTIAL"), turn_id=1).entry.scratch_id
        at.tool("record_turn", role="assistant", text="The merger is worth 9417 euros.", turn=2)
        at.tool("record_turn", role="user", text="thanks for the merger", turn=3)
    with cleared(tmp_path, ("*", "INTERNAL")) as at:
        for tool, arguments in (
            ("request_context", {"query": "merger worth"}),
            ("query_history", {}),
            ("verify_claims", {"text": "The merger is worth 9417 euros."}),
        ):
            before = len(events(at, "WITHHELD"))
            answer = at.tool(tool, **arguments)
            assert f"{held} withheld: labelled CONFIDENTIAL" in texts(answer)[0], tool
            assert tool == "verify_claims" or "9417" not in json.dumps(answer), tool
            assert "supported" not in texts(answer)[0], tool
            assert len(events(at, "WITHHELD")) == before + 1, tool


def test_a_sentence_names_few_of_many(tmp_path: Path) -> None:
    """Answers stay within their budgets."""
    with cleared(tmp_path, ("*", "INTERNAL")) as at:
        for number in range(40):
            at.capture(labelled(f"{SECRET} {number}", "CONFIDENTIAL"))
        at.capture(text_result("for all"))
        answer = at.tool("request_context", query="for all", max_tokens=200)
        assert "and 35 more withheld" in texts(answer)[0]
        assert answer["structuredContent"]["total_tokens"] <= 200
        small = at.tool("request_context", query="for all", max_tokens=60)
        assert small["structuredContent"]["total_tokens"] <= 60
        assert "withheld" in small["structuredContent"]["said"][0]


def test_history_goes_on_past_any_number_of_withheld_results(tmp_path: Path) -> None:
    """However many of them are newer than what may be seen."""
    with cleared(tmp_path, ("*", "INTERNAL")) as at:
        seen = at.capture(text_result("for all")).entry.scratch_id
        for number in range(2 * BATCH + 5):
            at.clock.at += 1
            at.capture(labelled(f"{SECRET} {number}", "CONFIDENTIAL"))
        assert seen in json.dumps(at.tool("query_history", kind="tool_call"))
