"""Context on request over the three tiers: SPEC-029 §10's envelope, every field's effect, history, the budget."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.core.model import ToolClass, Volatility
from crp_mcp.errors import Rejected
from crp_mcp.proof.chain_verify import Verdict
from crp_mcp.proof.export import verify_export
from crp_mcp.relay.buffer import Budget
from crp_mcp.relay.choosing import Selection
from crp_mcp.store import Sealed, changes, facts
from tests.relay.support import Bench, bench, order_rows, text_result, texts

QUESTION = "Filter those query results to last month and explain the trend"


def sales(count: int) -> dict[str, Any]:
    rows = [
        {
            "id": n,
            "name": f"customer {n % 40}",
            "created_at": f"2026-{n % 12 + 1:02}-{n % 28 + 1:02}",
            "amount": n * 1.5,
        }
        for n in range(count)
    ]
    return text_result(json.dumps(rows))


def ask(at: Bench, **arguments: Any) -> dict[str, Any]:
    result = at.tool("request_context", **arguments)
    assert not result["isError"], result
    return result


def nodes(result: dict[str, Any]) -> list[str]:
    return [one["uko_node"] for one in result["structuredContent"]["fragments"]]


def test_the_envelope_of_the_specification_number_for_number(at: Bench) -> None:
    """SPEC-029 §10: tool reference with analysis, blend .25/.25/.50, the query's summary, the turn, the facts."""
    at.policy = at.policy.__class__(
        tool_class=at.policy.tool_class.SQL, volatility=at.policy.volatility.STABLE, ttl=3600
    )
    for turn, text in enumerate(("hello", "which customers are there", "thread: revenue-analysis"), start=1):
        at.tool("record_turn", role="user", text=text, turn=turn)
    at.tool("record_turn", role="user", text="query all revenue rows for the revenue-analysis", turn=4)
    found = at.capture(sales(5000), turn_id=4)
    assert found.entry.scratch_id == "scratch_sql_001"
    for number, statement in enumerate(
        (
            "month-over-month trend analysis compares each month to the one before",
            "seasonal adjustment accounts for trend",
        )
    ):
        fact = at.capture(
            text_result(json.dumps({"note": statement})), tool=f"note_{number}", policy={"tool_class": ToolClass.OTHER}
        )
        at.tool("scratch_pin", scratch_id=fact.entry.scratch_id, promote=True)
    result = ask(at, query=QUESTION, max_tokens=2000)
    made = result["structuredContent"]
    assert made["intent"] == "TOOL_REFERENCE + analysis"
    assert made["blend"] == {"P": 0.25, "C": 0.25, "E": 0.5}
    assert made["shares"] == {"P": 500, "C": 500, "E": 1000}
    assert nodes(result)[0] == "uko-tool:entry/scratch_sql_001"
    assert made["fragments"][0]["relevance_score"] == 1.0
    assert "refers to uko-tool:entry/scratch_sql_001" in made["applied"]["query"]
    assert {"uko-turn:turn/4", "uko-fact:fact/1", "uko-fact:fact/2"} <= set(nodes(result))
    text = result["content"][1]["text"]
    assert "5,000 rows" in text
    assert "id, name, created_at, amount" in text
    assert made["total_tokens"] <= 2000
    receipt = at.engine.receipts.find(at.scope, made["receipt"])
    assert len(receipt.leaves) == len(made["fragments"])
    assert at.engine.receipts.verify(receipt.body, scope=at.scope, leaves=receipt.leaves)


@pytest.fixture
def project(tmp_path: Path):
    root = tmp_path / "project"
    root.mkdir()
    (root / "auth.py").write_text(
        "class AuthManager:\n    '''Decides who may come in.'''\n\n    def login(self, user):\n"
        "        return self.open_session(user)\n\n    def open_session(self, user):\n        return user\n"
    )
    (root / "README.md").write_text("# Sessions\n\nA session is opened by logging in.\n")
    with bench(tmp_path, roots=(str(root),)) as made:
        yield made


def test_focus_breadth_and_depth_decide_what_is_shown_and_how_deep(project: Bench) -> None:
    """The focus is whole, what is one step away is shallower, and breadth 0 stays with the focus."""
    alone = ask(project, focus=["uko-py:function/AuthManager.login"], breadth=0)
    assert nodes(alone) == ["uko-py:function/auth.AuthManager.login"]
    assert "return self.open_session(user)" in alone["content"][1]["text"]
    wide = ask(project, focus=["AuthManager.login"], breadth=2)
    assert "uko-py:function/auth.AuthManager.open_session" in nodes(wide)
    depths = {one["uko_node"]: one["detail_depth"] for one in wide["structuredContent"]["fragments"]}
    assert (
        depths["uko-py:function/auth.AuthManager.open_session"] < depths["uko-py:function/auth.AuthManager.login"] == 9
    )
    flat = ask(project, focus=["AuthManager.login"], breadth=2, depth="SIGNATURES", depth_gradient=False)
    assert max(one["detail_depth"] for one in flat["structuredContent"]["fragments"]) <= 4


def test_equal_requests_give_equal_bodies_and_a_known_hash_says_unchanged(project: Bench) -> None:
    """The hash is over what was delivered; who has it already is told so and gets nothing again."""
    first, second = (ask(project, query="who opens a session") for _ in range(2))
    assert first["structuredContent"]["context_hash"] == second["structuredContent"]["context_hash"]
    assert first["content"] == second["content"]
    used = project.tool("get_context_budget")["structuredContent"]["used_tokens"]
    again = ask(project, query="who opens a session", if_hash=first["structuredContent"]["context_hash"])
    assert project.tool("get_context_budget")["structuredContent"]["used_tokens"] == used
    assert "receipt" not in again["structuredContent"]
    assert again["structuredContent"]["unchanged"] is True
    assert len(again["content"]) == 1


def test_every_field_is_applied_or_ignored_with_a_reason(project: Bench) -> None:
    """Each field that was given stands in `applied` or in `ignored`, whatever it did."""
    given = {
        "query": "session", "entities": ["AuthManager", "Nowhere"], "uko_types": ["uko-py:"], "focus": ["missing"],
        "breadth": 1, "depth": 5, "depth_gradient": False, "temporal": "RECENT", "max_tokens": 500,
        "preferred_strategies": ["simple-keyword", "semantic-embedding"], "required_backends": ["workspace"],
        "priority": 0.9, "purpose": "refactoring", "as_of": "2100-01-01",
    }  # fmt: skip
    made = ask(project, **given)["structuredContent"]
    assert set(given) <= set(made["applied"]) | set(made["ignored"])
    assert "missing" in made["ignored"]["focus"]
    assert "semantic-embedding is not installed" in made["ignored"]["preferred_strategies"]
    assert all(uri.startswith("uko-py:") for uri in nodes({"structuredContent": made}))


def test_a_missing_backend_and_bad_fields_are_typed_errors(project: Bench) -> None:
    """What is wrong with a request is said, with a code, and nothing is delivered."""
    missing = project.tool("request_context", query="x", required_backends=["embedding"])
    assert (missing["isError"], missing["structuredContent"]["code"]) == (True, "BACKEND")
    for bad in ({"depth": "NOPE"}, {"breadth": -1}, {"priority": 2}, {"querry": "x"}, {"temporal": "SOON"}):
        result = project.tool("request_context", **bad)
        assert (result["isError"], result["structuredContent"]["code"]) == (True, "BAD_REQUEST")


def test_budgets_hold_and_zero_gives_nothing(project: Bench) -> None:
    """Text and preamble together stay within max_tokens, at any size; what did not fit is listed with what it needs."""
    count = project.engine.counter().count
    for most in (0, 1, 7, 30, 60, 120, 400, 5000):
        result = ask(project, query="session login", max_tokens=most)
        made = result["structuredContent"]
        assert made["total_tokens"] <= most
        if made["fragments"]:
            assert count(result["content"][1]["text"]) <= most
    assert nodes(ask(project, query="session login", max_tokens=0)) == []
    tight = ask(project, query="session login", max_tokens=30)["structuredContent"]
    assert all(one["tokens_needed"] > 0 for one in tight["excluded"] if one["reason"] == "did not fit")


def test_a_cursor_goes_on_with_what_was_left_out_until_nothing_is(project: Bench) -> None:
    """Pages of any size, each within its budget, nothing twice; together they have all that one large answer has."""
    root = Path(project.engine.settings.roots[0])
    for number in range(30):
        words = " ".join(f"session step {number} {word}" for word in ("open", "hold", "close") * 8)
        (root / f"part_{number:02}.md").write_text(f"# Session part {number}\n\n{words}\n")
    whole = ask(project, query="session part", max_tokens=20_000)["structuredContent"]
    assert "cursor" not in whole
    seen: list[str] = []
    made = ask(project, query="session part", max_tokens=900)
    for size in (600, 1_500, *[900] * 30):
        shown = nodes(made)
        assert shown
        assert not set(shown) & set(seen)
        seen += shown
        if (cursor := made["structuredContent"].get("cursor")) is None:
            break
        assert f"more with cursor {cursor}" in texts(made)[0]
        again, made = (ask(project, query="session part", max_tokens=size, cursor=cursor) for _ in range(2))
        assert again["structuredContent"]["context_hash"] == made["structuredContent"]["context_hash"]
        assert made["structuredContent"]["total_tokens"] <= size
    else:
        pytest.fail("the pages do not end")
    assert set(seen) >= set(nodes({"structuredContent": whole}))
    assert len(seen) > 10


def test_a_cursor_that_does_not_fit_is_a_typed_error(project: Bench, tmp_path: Path) -> None:
    """Of another request, of another conversation, no cursor at all, or older than a change: each is said."""
    for number in range(12):
        made = {"note": f"invoice {number} " + "is paid late " * 40}
        project.capture(text_result(json.dumps(made)), tool=f"invoice_{number}")
    cursor = ask(project, query="invoice paid", max_tokens=300)["structuredContent"]["cursor"]

    def refused(**arguments: Any) -> str:
        result = project.tool("request_context", **{"query": "invoice paid", "cursor": cursor, **arguments})
        assert (result["isError"], result["structuredContent"]["code"]) == (True, "CURSOR")
        return str(texts(result)[0])

    assert "another request" in refused(query="invoice")
    assert "another request" in refused(breadth=1)
    assert "not one of ours" in refused(cursor="next")
    assert "not one of ours" in refused(cursor="1.x.y")
    ask(project, query="invoice paid", cursor=cursor, max_tokens=300)
    project.conversation = "another"
    assert "another conversation" in refused()
    project.conversation = "conv_test"
    project.capture(text_result(json.dumps({"note": "the last invoice is paid"})), tool="invoice_12")
    assert "stale" in refused()


def test_an_answer_says_how_fresh_its_results_are_and_what_they_saved(at: Bench) -> None:
    """Headers of the entries that were delivered, and the receipt of the whole; exact or absent."""
    made = at.capture(sales(600), policy={"ttl": 60})
    at.engine.service.count_later(made)
    raw = at.entry(made.entry.scratch_id).raw_token_count
    at.clock.at += 240
    result = ask(at, query="amount of each customer", max_tokens=800)
    (shown,) = result["structuredContent"]["fragments"]
    headers = result["_meta"]["dev.crp/headers"]
    assert headers == {
        "CRP-Context-Scratch-Entries": "1/0",
        "CRP-Context-Scratch-Freshness": "stale; age=240s; class=VOLATILE",
        "CRP-Context-Scratch-Tokens-Saved": str(raw - shown["token_count"]),
        "Agent-Memory-Lineage-Receipt": result["structuredContent"]["receipt"],
    }
    nothing = ask(at, query="zebra", uko_types=["uko-fact:"])
    assert set(nothing["_meta"]["dev.crp/headers"]) == {"CRP-Context-Scratch-Entries"}


def test_a_call_depends_on_the_result_its_value_came_from(at: Bench) -> None:
    """Walked in both directions and told at depth 2; also by an id; never from another conversation's results."""
    listing = at.capture(text_result(json.dumps([{"order": "ORD-20417", "total": 12}])), tool="list_orders")
    at.capture(text_result(json.dumps([{"order": "ORD-11111"}])), tool="list_other")
    asked = at.capture(text_result('{"ok": true}'), tool="get_order", arguments={"order": "ORD-20417"})
    byid = at.capture(text_result('{"sum": 3}'), tool="add", arguments={"of": listing.entry.scratch_id})
    one, two, three = (f"uko-tool:entry/{made.entry.scratch_id}" for made in (listing, asked, byid))
    made = ask(at, focus=[two], breadth=1, depth=2)
    assert set(nodes(made)) == {one, two}
    assert f"depends on: {listing.entry.scratch_id}" in texts(made)[1]
    assert set(nodes(ask(at, focus=[one], breadth=1))) == {one, two, three}
    at.conversation = "another"
    other = at.capture(text_result("{}"), tool="get_order", arguments={"order": "ORD-20417"})
    assert nodes(ask(at, focus=[other.entry.scratch_id], breadth=2)) == [f"uko-tool:entry/{other.entry.scratch_id}"]


def test_old_facts_are_found_by_their_words(at: Bench) -> None:
    """However many newer ones there are."""

    def add(db: Any, number: int) -> None:
        told = "the harbour fee is 12" if number == 0 else f"statement {number}"
        facts.add(
            db, at.scope, content=told, content_hash=f"sha256:{number}", source=f"s{number}", about=(f"s{number}",),
            importance=0.5, now=at.clock(), ttl=None, expires_at=int(at.clock()) + 99,
        )  # fmt: skip

    for number in range(400):
        at.engine.store.append(lambda head: Sealed(), lambda db, number=number: add(db, number))
    assert "uko-fact:fact/1" in nodes(ask(at, query="What is the harbour fee?"))


def test_stale_results_carry_their_note_and_realtime_ones_only_a_call_for_fresh_data(at: Bench) -> None:
    """A stale entry is never given without its note; a stale reading is not given at all."""
    at.capture(text_result(json.dumps(order_rows(900))), policy={"ttl": 60})
    reading = at.capture(
        text_result(json.dumps(order_rows(901))), tool="load", policy={"ttl": 30, "volatility": Volatility.REALTIME}
    )
    body = ask(at, query="city amount", max_tokens=1500)["structuredContent"]["context_hash"]
    at.clock.at += 3600
    result = ask(at, query="city amount", max_tokens=1500)
    text = result["content"][1]["text"]
    assert "may be outdated" in text
    assert "fresh data needed: load" in text
    depths = {one["uko_node"]: one["detail_depth"] for one in result["structuredContent"]["fragments"]}
    assert depths.get(f"uko-tool:entry/{reading.entry.scratch_id}", 0) == 0
    assert result["structuredContent"]["context_hash"] != body


def test_a_receipt_carries_the_labels_of_what_facts_and_turns_come_from(at: Bench) -> None:
    """A fact is labelled as its source, a turn as what it made and used; what has no source is INTERNAL."""
    secret = {"sensitivity": "CONFIDENTIAL", "volatility": Volatility.STABLE, "ttl": 3600}
    at.tool("record_turn", role="user", text="good morning", turn=1)
    made = at.capture(text_result(json.dumps({"margin": 0.31})), tool="margins", policy=secret, turn_id=2)
    at.tool("record_turn", role="assistant", text="the margin is 31 percent", turn=2)
    at.tool("scratch_pin", scratch_id=made.entry.scratch_id, promote=True)
    answer = ask(at, query="margin", focus=["uko-turn:turn/1", "uko-turn:turn/2", "uko-fact:fact/1"], breadth=0)
    receipt = at.engine.store.receipt(at.scope, answer["structuredContent"]["receipt"])
    labels = [json.loads(leaf)["sensitivity"] for leaf in receipt.leaves]
    assert dict(zip(nodes(answer), labels, strict=True)) == {
        "uko-turn:turn/1": "INTERNAL",
        "uko-turn:turn/2": "CONFIDENTIAL",
        "uko-fact:fact/1": "CONFIDENTIAL",
        f"uko-tool:entry/{made.entry.scratch_id}": "CONFIDENTIAL",
    }
    assert json.loads(receipt.body)["inherited_sensitivity_ceiling"] == "CONFIDENTIAL"


def test_an_answer_has_the_label_of_all_that_its_exchange_used_or_it_cites(at: Bench) -> None:
    """Results come while the user's turn is the newest; what is said of them is a turn of its own."""
    secret = {"sensitivity": "CONFIDENTIAL", "volatility": Volatility.STABLE, "ttl": 3600}
    at.tool("record_turn", role="user", text="what is our margin?", turn=1)
    made = at.capture(text_result("31 percent"), tool="margins", policy=secret, turn_id=1).entry.scratch_id
    at.tool("record_turn", role="assistant", text="the margin is 31 percent", turn=2)
    at.tool("record_turn", role="user", text="and the weather?", turn=3)
    at.tool("record_turn", role="assistant", text="sunny", turn=4)
    at.tool("record_turn", role="assistant", text=f"as [{made}] said, the margin is fine", turn=5)
    for turn, label in (
        (1, "CONFIDENTIAL"),
        (2, "CONFIDENTIAL"),
        (3, "INTERNAL"),
        (4, "INTERNAL"),
        (5, "CONFIDENTIAL"),
    ):
        answer = ask(at, query="?", focus=[f"uko-turn:turn/{turn}"], breadth=0)
        receipt = at.engine.store.receipt(at.scope, answer["structuredContent"]["receipt"])
        assert json.loads(receipt.leaves[0])["sensitivity"] == label, turn


@pytest.mark.parametrize("evicted", [False, True])
def test_the_receipt_of_a_context_falls_with_what_its_facts_and_turns_came_from(at: Bench, evicted: bool) -> None:
    """Also where only a fact or a turn of it was delivered, and where the source of the fact had been evicted."""
    lasting = {"volatility": Volatility.STATIC, "ttl": None}
    at.tool("record_turn", role="user", text="what is our margin?", turn=1)
    made = at.capture(text_result("31 percent"), tool="margins", policy=lasting, turn_id=1).entry.scratch_id
    at.tool("record_turn", role="assistant", text="the margin is 31 percent", turn=2)
    at.tool("scratch_pin", scratch_id=made, promote=True)
    if evicted:
        at.tool("scratch_pin", scratch_id=made, unpin=True)
        for turn in range(3, 11):
            at.tool("record_turn", role="user", text="go on", turn=turn)
        at.clock.at += 10_000
        at.engine.life.buffer.budget = Budget(conversation_entries=1)
        at.capture(text_result("another"), tool="newest")
        assert at.events("EVICTED")
    wanted = ["uko-fact:fact/1"] if evicted else ["uko-turn:turn/2"]
    digest = ask(at, query="?", focus=wanted, breadth=0)["structuredContent"]["receipt"]
    found = at.engine.store.receipt(at.scope, digest)
    assert at.engine.receipts.check(found.body, leaves=found.leaves)
    assert at.engine.auditor.verify().verdict is Verdict.VALID
    at.engine.eraser.carry_out(at.engine.eraser.plan(Selection(ids=(made,))), reason="purge")
    with pytest.raises(Rejected) as refused:
        at.engine.receipts.check(found.body)
    assert refused.value.code == "TOMBSTONED"
    audit = at.engine.auditor.verify()
    assert (audit.faults, audit.verdict) == ((), Verdict.VALID)


def in_force(at: Bench, digest: str) -> bool:
    """Whether a receipt that somebody kept, with its leaves, is still believed."""
    found = at.engine.store.receipt(at.scope, digest)
    try:
        return bool(at.engine.receipts.check(found.body, leaves=found.leaves))
    except Rejected as refused:
        assert refused.code == "TOMBSTONED"  # noqa: PT017 - one of two answers
        return False


def test_a_context_falls_with_the_fact_or_the_turn_it_delivered(at: Bench) -> None:
    """Erased by themselves, while the result stays; other conversations have turns of the same numbers."""
    lasting = {"volatility": Volatility.STATIC, "ttl": None}

    def given(*focus: str) -> str:
        return str(ask(at, query="?", focus=list(focus), breadth=0)["structuredContent"]["receipt"])

    told: dict[str, str] = {}
    for conversation, name in (("conv_other", "Bob"), ("conv_test", "Ada")):
        at.conversation = conversation
        at.tool("record_turn", role="user", text=f"my name is {name}", turn=1)
        told[name] = given("uko-turn:turn/1")
    at.tool("record_turn", role="user", text="which colour?", turn=2)
    made = at.capture(text_result("blue"), tool="colour", policy=lasting, arguments={"of": "x"}).entry.scratch_id
    two = given("uko-turn:turn/2")
    at.tool("scratch_pin", scratch_id=made, name="Zed", promote=True)
    at.tool("scratch_pin", scratch_id=made, name="another")
    fact = given("uko-fact:fact/1")
    receipts = (told["Ada"], two, fact, told["Bob"])
    assert [in_force(at, digest) for digest in receipts] == [True] * 4
    for wanted, left in (("Ada", [False, True, True, True]), ("Zed", [False, True, False, True])):
        at.engine.eraser.carry_out(at.engine.eraser.plan(Selection(matching=wanted)), reason="purge")
        assert [in_force(at, digest) for digest in receipts] == left, wanted
        audit = at.engine.auditor.verify()
        assert (audit.faults, audit.verdict) == ((), Verdict.VALID)
    lines = list(at.engine.auditor.export())
    exported = verify_export(lines, keys=at.engine.keyring.own, verify_signature=at.engine.keyring.verify)
    assert (exported.verdict, exported.faults) == (Verdict.VALID, ())
    assert sum(b'"type":"tombstone"' in line for line in lines) == 2


def test_a_turn_that_was_delivered_before_it_used_what_is_erased_takes_its_contexts_along(at: Bench) -> None:
    """Its words go with the result, so a context that gave them does too."""
    at.tool("record_turn", role="user", text="and the margin?", turn=1)
    at.tool("record_turn", role="assistant", text="about a third, I think", turn=2)
    digest = ask(at, query="?", focus=["uko-turn:turn/2"], breadth=0)["structuredContent"]["receipt"]
    made = at.capture(text_result("31 percent"), tool="margins", turn_id=2).entry.scratch_id
    assert in_force(at, digest)
    at.engine.eraser.carry_out(at.engine.eraser.plan(Selection(ids=(made,))), reason="purge")
    assert not in_force(at, digest)
    audit = at.engine.auditor.verify()
    assert (audit.faults, audit.verdict) == ((), Verdict.VALID)


def test_a_leaf_that_is_moved_to_another_fact_or_turn_is_found(at: Bench) -> None:
    """Else the erasure of the one it is of would miss the context."""
    at.tool("record_turn", role="user", text="my name is Ada", turn=1)
    ask(at, query="?", focus=["uko-turn:turn/1"], breadth=0)
    for wrong in ("uko-turn:turn/2 of conv_test", "uko-fact:fact/1", "uko-doc:file/a.md"):
        with closing(sqlite3.connect(at.engine.store.path)) as db:
            db.execute("UPDATE leaf SET item = ?", (wrong,))
            db.commit()
        assert at.engine.auditor.verify().verdict is Verdict.BROKEN, wrong


def evicted_orders(at: Bench, turn_id: int | None = None, **policy: Any) -> str:
    """A result that was evicted: its stub has arguments and summary. With a turn, that ends with an answer about it."""
    kept = {"ttl": 1, "sensitivity": "CONFIDENTIAL", **policy}
    asked = {"of": "customer 4711"}
    rows = text_result(json.dumps(order_rows(300)))
    gone = at.capture(rows, tool="orders", policy=kept, arguments=asked, turn_id=turn_id).entry
    if turn_id is not None:
        at.tool("record_turn", role="assistant", text="customer 4711 has 300 orders", turn=turn_id + 1)
        at.tool("record_turn", role="user", text="thanks", turn=turn_id + 2)
    at.clock.at += 10_000
    at.engine.buffer.budget = Budget(conversation_entries=1)
    at.capture(text_result("another"), tool="newest", policy={"sensitivity": "PUBLIC"})
    at.engine.buffer.budget = Budget()
    assert at.events("EVICTED")
    return gone.scratch_id


def test_a_context_over_what_is_left_of_an_evicted_result_has_its_leaf(at: Bench) -> None:
    """With its label and epoch; so an audit knows it, and a purge of it reaches the context."""
    gone = evicted_orders(at)
    digest = ask(at, query="orders", temporal="ALL")["structuredContent"]["receipt"]
    receipt = at.engine.store.receipt(at.scope, digest)
    assert "CONFIDENTIAL" in {json.loads(leaf)["sensitivity"] for leaf in receipt.leaves}
    assert in_force(at, digest)
    assert at.engine.auditor.verify().faults == ()
    at.engine.eraser.carry_out(at.engine.eraser.plan(Selection(ids=(gone,))), reason="purge")
    assert not in_force(at, digest)
    assert at.engine.auditor.verify().faults == ()


def test_what_is_left_of_an_evicted_result_goes_at_its_epoch(at: Bench, tmp_path: Path) -> None:
    """Summary and arguments with it: they may be kept no longer than the whole."""
    gone = evicted_orders(at, retention=86_400)
    at.clock.at += 86_400
    at.engine.eraser.sweep()
    left = at.engine.store.get(at.scope, gone)
    assert (left.tool_call_args, left.summary, left.salt) == (None, None, None)
    assert not [path for path in tmp_path.rglob("*.db*") if b"4711" in path.read_bytes()]
    assert at.engine.auditor.verify().faults == ()


def test_what_is_left_of_an_evicted_result_is_withheld_like_the_whole(tmp_path: Path) -> None:
    """In contexts, by its id, and in what a query says of it."""
    with bench(tmp_path, clearance=(("*", "INTERNAL"),)) as at:
        at.tool("record_turn", role="user", text="which orders?", turn=1)
        gone = evicted_orders(at, turn_id=1)
        assert at.entry(gone).label == "CONFIDENTIAL"
        seen = [
            at.tool("request_context", query="orders customer 4711", temporal="ALL"),
            at.tool("query_history", kind="turn", depth=3),
            at.tool("scratch_get", scratch_id=gone),
            at.tool("scratch_query", sql=f"select * from {gone}"),
        ]
        for answer in seen:
            assert "4711" not in json.dumps(answer), answer
        assert "withheld" in texts(seen[2])[0]


def test_turns_about_what_is_withheld_are_withheld(tmp_path: Path) -> None:
    """Their words may hold what the result said."""
    with bench(tmp_path, clearance=(("*", "INTERNAL"),)) as at:
        at.capture(text_result("31"), tool="margins", policy={"sensitivity": "CONFIDENTIAL"}, turn_id=1)
        at.tool("record_turn", role="assistant", text="the margin is 31 percent", turn=1)
        at.tool("record_turn", role="user", text="thanks for the margin", turn=2)
        assert nodes(ask(at, query="margin")) == ["uko-turn:turn/2"]


def test_past_things_are_found_only_when_asked_for(at: Bench) -> None:
    """Superseded results are out of CURRENT and in HISTORICAL."""
    old = at.capture(sales(700)).entry.scratch_id
    new = at.capture(sales(701), supersedes=old).entry.scratch_id
    at.engine.store.append(
        lambda head: Sealed(),
        lambda db: changes.supersede(db, at.scope, old, new, at.clock.at),
        at.scope,
    )
    current = nodes(ask(at, query="customer amount"))
    assert f"uko-tool:entry/{new}" in current
    assert f"uko-tool:entry/{old}" not in current
    past = nodes(ask(at, query="customer amount", temporal="HISTORICAL"))
    assert f"uko-tool:entry/{old}" in past
    assert f"uko-tool:entry/{new}" not in past


def test_who_asks_about_the_past_gets_old_readings_with_their_note(at: Bench) -> None:
    """A stale reading is left out of answers about now; the policy may leave it out of all."""
    reading = {"ttl": 30, "volatility": Volatility.REALTIME}
    old = at.capture(text_result('{"load": 71.5}'), tool="load", policy=reading).entry.scratch_id
    at.clock.at += 60
    at.capture(text_result('{"load": 12.25}'), tool="load", policy=reading, supersedes=old)
    at.engine.store.append(
        lambda head: Sealed(),
        lambda db: changes.supersede(db, at.scope, old, "scratch_load_002", at.clock.at),
        at.scope,
    )
    text = texts(ask(at, query="load", temporal="HISTORICAL"))[1]
    assert "71.5" in text
    assert "NOTE: This result is from 1 min ago and may be outdated" in text
    strict = {"dev.crp/policy": "tool-output-stale=exclude"}
    assert "71.5" not in texts(at.ask("request_context", query="load", temporal="HISTORICAL", meta=strict))[1]


def test_history_is_paged_in_order_and_filtered(at: Bench) -> None:
    """Calls, turns, decisions, pins and assemblies come back newest first, a page at a time, and by words."""
    ids = []
    for number in range(7):
        at.clock.at += 1
        ids.append(at.capture(sales(600 + number), arguments={"page": number}).entry.scratch_id)
    at.tool("scratch_pin", scratch_id=ids[0], name="first page")
    at.tool("record_turn", role="assistant", decision={"question": "which database", "chosen": "sqlite"})
    ask(at, query="customer")
    seen, cursor = [], None
    while True:
        page = at.tool("query_history", kind="tool_call", limit=3, **({"cursor": cursor} if cursor else {}))
        seen += texts(page)[1].splitlines()
        cursor = page["structuredContent"].get("cursor")
        if cursor is None:
            break
    found = [line.split()[1].rstrip(":").split('"')[0] for line in seen if line.startswith("20")]
    assert found == ids[::-1]
    oldest = at.tool("query_history", kind="tool_call", limit=1, order="oldest", depth=0)
    assert ids[0] in texts(oldest)[1]
    assert "sqlite" in texts(at.tool("query_history", kind="decision", query="database", depth=3))[1]
    assert "PINNED" in texts(at.tool("query_history", kind="pin"))[1]
    assert "fragments" in texts(at.tool("query_history", kind="assembly"))[1]
    assert texts(at.tool("query_history", query="no such words"))[0] == "nothing matches"
    for bad in ({"kind": "nope"}, {"cursor": "nope"}, {"since": "soon"}, {"diff": "previous"}):
        assert at.tool("query_history", **bad)["structuredContent"]["code"] == "BAD_REQUEST"


def test_history_compares_two_results_of_one_call(at: Bench) -> None:
    """The rows that differ between two revisions are shown, and only results of the same call can be compared."""
    first = at.capture(text_result(json.dumps(order_rows(300))))
    second = at.capture(text_result(json.dumps(order_rows(301))))
    other = at.capture(text_result(json.dumps(order_rows(20))), tool="else")
    diff = texts(at.tool("query_history", scratch_id=second.entry.scratch_id, diff="previous"))[1]
    assert [line for line in diff.splitlines() if line.startswith(("+", "-"))][2:] == [
        "+" + json.dumps(order_rows(301)[-1], separators=(",", ":"))
    ]
    wrong = at.tool("query_history", scratch_id=first.entry.scratch_id, diff=other.entry.scratch_id)
    assert wrong["structuredContent"]["code"] == "BAD_REQUEST"


def test_the_budget_counts_what_was_delivered_and_says_a_default_is_one(at: Bench) -> None:
    """Used tokens grow by what a request delivered; the window is the default until somebody says it."""
    at.capture(text_result(json.dumps(order_rows(900))))
    before = at.tool("get_context_budget")["structuredContent"]
    assert (before["max_tokens"], before["max_is_default"]) == (128_000, True)
    given = ask(at, query="city amount")["structuredContent"]["total_tokens"]
    after = at.tool("get_context_budget", reserved_tokens=1000)["structuredContent"]
    assert after["used_tokens"] == before["used_tokens"] + given
    assert after["remaining_tokens"] == 128_000 - 1000 - after["used_tokens"]
    assert after["by_tier"]["E"] > 0
    assert (
        at.tool("get_context_budget", max_tokens=10, reserved_tokens=11)["structuredContent"]["code"] == "BAD_REQUEST"
    )
