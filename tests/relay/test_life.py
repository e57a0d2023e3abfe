"""The life of an entry: turns, references, staleness, writes, pins, eviction, facts, streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.core.model import FactStatus
from crp_mcp.store import Stub
from crp_mcp.store import turns as turn_rows
from tests.relay.support import Bench, bench, order_rows, text_result, texts

REGISTRY = """
version: 1
tools:
  - {match: "*:load", volatility: REALTIME, class: metric, reinvoke: safe}
  - {match: "*:price", volatility: REALTIME, class: metric}
  - {match: "*:read_rows", volatility: VOLATILE, class: sql, reinvoke: safe}
  - {match: "*:fetch", volatility: STABLE, class: api, reuse: fresh}
  - {match: "*:revenue", volatility: STABLE, class: computation}
  - {match: "*:write_row", invalidates: ["read_rows"]}
  - {match: "*:secret", volatility: REALTIME, reinvoke: safe, redact_args: ["key"]}
"""
USER = {"role": "user"}


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path, registry=REGISTRY) as made:
        yield made


def rows(count: int) -> dict[str, Any]:
    return text_result(json.dumps(order_rows(count)))


def line(answer: Any) -> str:
    return texts(answer)[0]


def headers(answer: Any) -> dict[str, str]:
    return dict(answer["_meta"]["dev.crp/headers"])


def turn_log(at: Bench) -> list[Any]:
    return list(reversed(at.engine.store.ask(turn_rows.list_turns, at.scope)))


# -- turns -------------------------------------------------------------------------------------------------------


def test_a_gap_of_thirty_seconds_begins_a_turn_that_is_marked_inferred(at: Bench) -> None:
    """Calls close together are one turn, a pause begins the next; nobody declared either."""
    first = at.host_call("load", text_result("1"))
    at.clock.at += 29
    second = at.host_call("load", text_result("2"))
    at.clock.at += 30
    third = at.host_call("load", text_result("3"))
    assert [at.entry(one).turn_id for one in (first, second, third)] == [1, 1, 2]
    assert [(turn.declared, turn.role) for turn in turn_log(at)] == [(False, "unknown")] * 2


def test_declared_turns_go_on_until_the_next_one_is_declared(at: Bench) -> None:
    """Once a host declares turns, a pause begins none."""
    at.ask("record_turn", role="user", text="How many rows?")
    first = at.host_call("read_rows", rows(3))
    at.clock.at += 600
    second = at.host_call("read_rows", rows(4), {"n": 2})
    third = at.host_call("read_rows", rows(4), {"n": 3}, meta={"dev.crp/turn": 7})
    assert [at.entry(one).turn_id for one in (first, second, third)] == [1, 1, 7]
    log = turn_log(at)
    assert [(turn.number, turn.declared, turn.text) for turn in log] == [(1, True, "How many rows?"), (7, True, None)]
    assert log[0].produced == (first, second)


def test_a_turn_that_is_no_number_is_refused_by_our_tools_and_does_not_cost_a_capture(at: Bench) -> None:
    """The result of a call is recorded whatever its `_meta` says."""
    made = at.host_call("load", text_result("1"), meta={"dev.crp/turn": "x"})
    assert at.entry(made).turn_id == 1


def test_decisions_and_references_are_in_the_turn_log(at: Bench) -> None:
    """A turn says who spoke, what was said and decided, and which earlier entries it used."""
    made = at.host_call("read_rows", rows(3))
    decision = {"question": "Which region?", "chosen": "north"}
    at.ask("record_turn", role="user", text="Look at that query result", decision=decision)
    (_, turn) = turn_log(at)
    assert (turn.role, turn.decision, turn.referenced) == ("user", decision, (made,))
    assert at.entry(made).referenced_by == (turn.number,)


def test_the_turn_that_made_an_entry_does_not_count_as_one_that_referenced_it(at: Bench) -> None:
    """referenced_by is about later use."""
    made = at.host_call("read_rows", rows(3))
    at.ask("scratch_get", scratch_id=made)
    assert at.entry(made).referenced_by == ()
    at.clock.at += 60
    at.ask("scratch_get", scratch_id=made, view="rows")
    assert at.entry(made).referenced_by == (2,)


# -- references and pins -----------------------------------------------------------------------------------------


def test_a_phrase_stands_for_an_entry_and_the_answer_says_which(at: Bench) -> None:
    """scratch_get and scratch_pin take a reference, of the right type and not simply the newest."""
    table = at.host_call("read_rows", rows(5))
    at.host_call("load", text_result("0.4"))
    answer = at.ask("scratch_get", scratch_id="the query result", view="rows")
    assert table in line(answer)
    assert "the most recent result of that type" in line(answer)
    assert table in line(at.ask("scratch_pin", scratch_id="that first table", name="orders"))
    assert at.entry("orders").scratch_id == table


def test_a_phrase_without_evidence_is_no_guess(at: Bench) -> None:
    """It is an error that says why."""
    at.host_call("load", text_result("0.4"))
    answer = at.ask("scratch_get", scratch_id="that umbrella")
    assert answer["isError"]
    assert "refers to nothing stored" in line(answer)


def test_a_phrase_never_reaches_into_another_conversation(at: Bench) -> None:
    """An id of the project resolves anywhere; a phrase only where it was said."""
    made = at.host_call("read_rows", rows(5))
    at.conversation = "conv_other"
    assert at.ask("scratch_get", scratch_id="the query result")["isError"]
    assert not at.ask("scratch_get", scratch_id=made)["isError"]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Save that query result.", None),
        ('Please keep those rows as "q3"', "q3"),
        ("use those rows from now on", None),
    ],
)
def test_a_users_words_pin_what_they_refer_to(at: Bench, said: str, name: str | None) -> None:
    """Save, keep, remember, use going forward (SPEC-029 §5.3)."""
    made = at.host_call("read_rows", rows(5))
    answer = at.ask("record_turn", role="user", text=said)
    assert f"{made} pinned" in line(answer)
    assert (at.entry(made).persistence.value, at.entry(made).name) == ("PINNED", name)
    assert at.events("PINNED")[-1] == {"scratch_id": made, "reason": "user", "turn": 2}


@pytest.mark.parametrize("said", ["Keep going.", "Don't save that result.", "Remember that we met.", "Keep it simple."])
def test_other_words_pin_nothing(at: Bench, said: str) -> None:
    """Only what asks for a result to be kept does."""
    made = at.host_call("read_rows", rows(5))
    at.ask("record_turn", role="user", text=said)
    assert at.entry(made).persistence.value == "EPHEMERAL"


def test_the_assistants_words_pin_nothing(at: Bench) -> None:
    """Only a user's turn does."""
    made = at.host_call("read_rows", rows(5))
    at.ask("record_turn", role="assistant", text="I will save that query result.")
    assert at.entry(made).persistence.value == "EPHEMERAL"


def test_a_named_entry_is_pinned_by_its_second_declared_turn(at: Bench) -> None:
    """Auto-pin after 2 references, with its reason (SPEC-029 §5.3)."""
    made = at.host_call("read_rows", rows(5), meta={"dev.crp/name": "orders"})
    assert at.entry("orders").persistence.value == "EPHEMERAL"
    at.ask("record_turn", role="user", text="Show me the orders")
    assert at.entry(made).persistence.value == "EPHEMERAL"
    at.ask("record_turn", role="user", text="Sort the orders")
    assert at.entry(made).persistence.value == "PINNED"
    assert at.events("PINNED") == [{"scratch_id": made, "reason": "auto", "turns": [2, 3]}]


def test_references_of_inferred_turns_and_of_nameless_entries_do_not_pin(at: Bench) -> None:
    """Both a name and declared turns are asked for."""
    named = at.host_call("read_rows", rows(5), meta={"dev.crp/name": "orders"})
    nameless = at.host_call("read_rows", rows(6), {"n": 2})
    for _ in range(3):
        at.clock.at += 60
        at.ask("scratch_get", scratch_id=named, view="rows")
    at.ask("record_turn", role="user", text=f"Read {nameless}")
    at.ask("record_turn", role="user", text=f"Read {nameless} again")
    assert {at.entry(one).persistence.value for one in (named, nameless)} == {"EPHEMERAL"}


# -- staleness ---------------------------------------------------------------------------------------------------


def test_a_stale_reading_asks_for_its_tool_to_be_called_where_that_can_be_done(at: Bench) -> None:
    """REALTIME re-invokes by default: same arguments, a new entry, the old one superseded (SPEC-029 §4.2)."""
    old = at.host_call("load", text_result("0.4"), {"host": "a"})
    at.clock.at += 31
    header = {"op": "tool", "name": "scratch_get", "arguments": {"scratch_id": old}, "meta": at._meta(None)}
    again, _, _ = at.engine.handle({**header, "servers": ["shop"]}, b"")
    assert again["again"] == {"scratch_id": old, "server": "shop", "name": "load", "arguments": '{"host":"a"}'}
    new = at.host_call("load", text_result("0.9"), {"host": "a"}, supersedes=old)
    _, blob, _ = at.engine.handle({**header, "servers": ["shop"], "refreshed": {old: new}}, b"")
    answer = json.loads(blob)
    assert "0.9" in texts(answer)[1]
    assert f"{new} supersedes {old}" in line(answer)
    assert headers(answer)["CRP-Context-Scratch-Freshness"] == "fresh"
    assert at.entry(new).supersedes == old
    assert at.entry(old).superseded_by == new
    assert at.events("REINVOKED") == [{"scratch_id": new, "supersedes": old}]


@pytest.mark.parametrize(
    ("tool", "arguments"), [("price", {"of": "x"}), ("load", {"host": "a"}), ("secret", {"key": "k"})]
)
def test_a_stale_reading_that_cannot_be_read_again_is_left_out(at: Bench, tool: str, arguments: dict[str, str]) -> None:
    """Not safe, nobody there to call it, or arguments not kept: fresh data needed, and which call gives it."""
    made = at.host_call(tool, text_result("0.4"), arguments)
    at.clock.at += 31
    answer = at.ask("scratch_get", scratch_id=made)
    assert "fresh data needed: " + tool in line(answer)
    assert "0.4" not in json.dumps(answer)
    explicit = at.ask("scratch_get", scratch_id=made, view="raw")
    assert "NOTE: This result is from 31 s ago and may be outdated" in line(explicit)
    assert "0.4" in texts(explicit)[1]


def test_other_classes_warn_with_their_age_and_keep_the_summary(at: Bench) -> None:
    """The default of what is not REALTIME; the header says class and age (SPEC-029 §4.3)."""
    made = at.host_call("read_rows", rows(2_000))
    at.clock.at += 301
    answer = at.ask("scratch_get", scratch_id=made)
    assert "NOTE: This result is from 5 min ago and may be outdated" in line(answer)
    assert "2,000 rows" in texts(answer)[1]
    assert headers(answer)["CRP-Context-Scratch-Freshness"] == "stale; age=301s; class=VOLATILE"
    assert at.events("STALE_USED") == [{"scratch_id": made, "class": "VOLATILE", "age_s": 301}]


def test_a_clock_that_went_backwards_reads_as_stale(at: Bench) -> None:
    """What comes from the future is not fresh."""
    made = at.host_call("read_rows", rows(3))
    at.clock.at -= 10
    assert "may be outdated" in line(at.ask("scratch_get", scratch_id=made))


def test_a_request_may_ask_for_stale_results_to_be_left_out(at: Bench) -> None:
    """`_meta` may tighten the policy, and may not loosen it."""
    made = at.host_call("read_rows", rows(3))
    at.clock.at += 301
    strict = at.ask("scratch_get", scratch_id=made, meta={"dev.crp/policy": "tool-output-stale=exclude"})
    assert "left out; fresh data needed: read_rows" in line(strict)


def test_a_pinned_stale_entry_is_still_given_with_its_age(at: Bench) -> None:
    """Pinning protects from eviction, not from ageing."""
    made = at.host_call("price", text_result("4"), {"of": "x"})
    at.ask("scratch_pin", scratch_id=made)
    at.clock.at += 31
    answer = at.ask("scratch_get", scratch_id=made)
    assert "may be outdated" in line(answer)
    assert "4" in texts(answer)[1]


@pytest.mark.parametrize(
    ("policy", "said"),
    [("exclude", "fresh data needed"), ("warn", "may be outdated"), ("reinvoke", "fresh data needed")],
)
def test_the_operators_policy_applies_to_all_classes(tmp_path: Path, policy: str, said: str) -> None:
    """A reading that cannot be called anew is left out under reinvoke, not warned about."""
    with bench(tmp_path, registry=REGISTRY, policy=f"tool-output-stale={policy}") as at:
        made = at.host_call("price", text_result("4"), {"of": "x"})
        at.clock.at += 31
        assert said in line(at.ask("scratch_get", scratch_id=made))


# -- writes ------------------------------------------------------------------------------------------------------


def test_a_write_makes_stale_what_the_registry_says_it_changes(at: Bench) -> None:
    """`invalidates` names them; others stay fresh."""
    read = at.host_call("read_rows", rows(3))
    other = at.host_call("fetch", text_result("x"))
    at.host_call("write_row", text_result("ok"))
    assert "write_row may have changed it since" in line(at.ask("scratch_get", scratch_id=read))
    assert "fresh" in line(at.ask("scratch_get", scratch_id=other))


@pytest.mark.parametrize("says", [{"readOnlyHint": False}, {"destructiveHint": True}])
def test_a_tool_that_says_it_writes_makes_stale_what_was_about_the_same_thing(at: Bench, says: dict[str, bool]) -> None:
    """Entries of the same server that share an argument value; no others."""
    same = at.host_call("read_rows", rows(3), {"table": "orders"})
    other = at.host_call("read_rows", rows(3), {"table": "people"})
    elsewhere = at.host_call("read_rows", rows(3), {"table": "orders"}, server="attic")
    at.host_call("drop", text_result("ok"), {"name": "orders"}, annotations=says)
    assert at.entry(same).stale_since is not None
    assert at.entry(other).stale_since is None
    assert at.entry(elsewhere).stale_since is None


def test_an_absent_annotation_says_nothing(at: Bench) -> None:
    """Nor does one that says it only reads."""
    made = at.host_call("read_rows", rows(3), {"table": "orders"})
    at.host_call("drop", text_result("ok"), {"name": "orders"})
    at.host_call("look", text_result("ok"), {"name": "orders"}, annotations={"readOnlyHint": True})
    assert at.entry(made).stale_since is None


# -- reuse -------------------------------------------------------------------------------------------------------


def test_the_same_safe_call_is_answered_from_the_buffer_while_fresh(at: Bench) -> None:
    """Off unless the registry says so; the answer says so with its age, the call is recorded, a bypass exists."""
    assert at.before("fetch", {"b": 1, "a": 2}) is None
    made = at.host_call("fetch", text_result("x = 1"), {"b": 1, "a": 2})
    at.clock.at += 40
    answer = at.before("fetch", {"a": 2, "b": 1})
    assert headers(answer)["CRP-Context-Scratch-Freshness"] == "fresh"
    assert headers(answer)["Agent-Memory-Lineage-Receipt"] == at.entry(made).receipt
    assert f"Answered from {made}, captured 40 s ago and still fresh; fetch was not called" in line(answer)
    assert texts(answer)[1] == "x = 1"
    assert at.events("TOOL_CALL")[-1]["reused"] is True
    assert headers(answer)["CRP-Context-Scratch-Entries"] == "1/0"
    assert at.before("fetch", {"a": 2, "b": 1}, meta={"dev.crp/fresh": True}) is None
    assert at.before("fetch", {"a": 3, "b": 1}) is None
    at.clock.at += 3_600
    assert at.before("fetch", {"a": 2, "b": 1}) is None


def test_a_call_that_is_not_opted_in_is_never_answered_from_the_buffer(at: Bench) -> None:
    """reuse is off by default."""
    at.host_call("read_rows", rows(3))
    assert at.before("read_rows", {}) is None


# -- limits ------------------------------------------------------------------------------------------------------


def test_the_oldest_unreferenced_entries_make_room_and_say_what_they_were(tmp_path: Path) -> None:
    """Expired ones first, then the longest unused; a stub answers what it was and how to get it again (§11)."""
    with bench(tmp_path, registry=REGISTRY, budget=(1 << 40, 1_000, 1 << 40, 4)) as at:
        lasting = at.host_call("fetch", text_result("a"), {"n": 1})
        pinned = at.host_call("read_rows", rows(2), {"n": 2})
        at.ask("scratch_pin", scratch_id=pinned)
        gone = at.host_call("read_rows", rows(3), {"n": 3})
        at.clock.at += 400
        used = at.host_call("read_rows", rows(4), {"n": 4})
        at.clock.at += 60
        at.ask("scratch_get", scratch_id=used, view="rows")
        at.host_call("read_rows", rows(5), {"n": 5})
        assert isinstance(at.entry(gone), Stub)
        assert not any(isinstance(at.entry(one), Stub) for one in (lasting, pinned, used))
        said = line(at.ask("scratch_get", scratch_id=gone))
        assert "was 3 rows of read_rows" in said
        assert "evicted" in said
        assert "call read_rows(n=3) again" in said
        (event,) = at.events("EVICTED")
        assert (event["scratch_id"], event["reason"]) == (gone, "budget")


@pytest.mark.parametrize("declared", [False, True])
def test_an_agent_that_never_pauses_stays_within_its_budget(tmp_path: Path, declared: bool) -> None:
    """What it made half a minute ago and has not looked at since may go; in a turn its host declared, nothing may."""
    with bench(tmp_path, registry=REGISTRY, budget=(1 << 40, 1_000, 1 << 40, 6)) as at:
        meta = {"dev.crp/turn": 1} if declared else None
        made, full = [], []
        for number in range(12):
            made.append(at.host_call("read_rows", rows(3), {"n": number}, meta=meta))
            at.clock.at += 10
            at.ask("scratch_get", scratch_id=made[0], view="rows", meta=meta)
            full.append(at.engine.buffer.is_over(at.scope))
        gone = [name for name in made if isinstance(at.entry(name), Stub)]
        assert (any(full), bool(gone)) == (declared, not declared)
        assert not {made[0], *made[-3:]} & {*gone}  # used all the time, or just made


def test_tables_made_from_an_evicted_result_go_with_it(tmp_path: Path) -> None:
    """Queries keep tables of their own; nothing of what left stays in them."""
    with bench(tmp_path, registry=REGISTRY, budget=(1 << 40, 1_000, 1 << 40, 3)) as at:
        gone = at.host_call("read_rows", rows(3), {"n": 1})
        kept = at.host_call("read_rows", rows(3), {"n": 2})
        at.ask("scratch_pin", scratch_id=kept)
        for one in (gone, kept):
            assert not at.ask("scratch_query", sql=f"SELECT sum(amount) FROM {one}")["isError"]
        cache = at.engine.desk.cache(at.scope)
        assert cache.tables(gone)
        for n in range(3, 6):
            at.clock.at += 400
            at.host_call("read_rows", rows(4), {"n": n})
        assert isinstance(at.entry(gone), Stub)
        assert not cache.tables(gone)
        assert cache.tables(kept)


def test_what_does_not_fit_is_kept_for_its_turn_and_the_answer_says_full(tmp_path: Path) -> None:
    """A capture is never refused for room (SPEC-029 §11)."""
    with bench(tmp_path, registry=REGISTRY, budget=(1 << 40, 1_000, 1 << 40, 2)) as at:
        made = [at.host_call("read_rows", rows(2), {"n": n}) for n in range(4)]
        assert not any(isinstance(at.entry(one), Stub) for one in made)
        answer = at.ask("scratch_list")
        assert headers(answer)["CRP-Context-Scratch-Full"] == "true"
        assert at.events("SCRATCH_FULL")
        at.clock.at += 60
        at.host_call("read_rows", rows(2), {"n": 9})
        answer = at.ask("scratch_list")
        assert "CRP-Context-Scratch-Full" not in headers(answer)
        assert headers(answer)["CRP-Context-Scratch-Entries"] == "2/0"


def test_pins_are_refused_above_four_fifths_of_the_budget(tmp_path: Path) -> None:
    """There is room for what is to come; the refusal says what to do."""
    with bench(tmp_path, registry=REGISTRY, budget=(1 << 40, 1_000, 1 << 40, 5)) as at:
        made = [at.host_call("read_rows", rows(2), {"n": n}) for n in range(5)]
        answers = [at.ask("scratch_pin", scratch_id=one) for one in made]
        assert [answer["isError"] for answer in answers] == [False, False, False, False, True]
        assert "raise the budget" in line(answers[-1])


def test_the_disk_is_given_back(tmp_path: Path) -> None:
    """What was evicted leaves the file."""
    import random

    noise = random.Random(1)
    with bench(tmp_path, registry=REGISTRY, budget=(3_000_000, 1_000, 3_000_000, 1_000)) as at:
        for n in range(12):
            text = "".join(noise.choice("0123456789abcdef") for _ in range(1_200_000))
            at.host_call("read_rows", text_result(text), {"n": n})
            at.clock.at += 400
        stats = at.engine.store.stats()
        at.engine.store.checkpoint(truncate=True)
        assert stats.counters.stored_bytes <= 3_000_000
        assert at.engine.store.path.stat().st_size < 6_000_000


def test_under_audit_everything_is_pinned_and_a_full_store_refuses_the_call(tmp_path: Path) -> None:
    """Hashes and shape are in the trail, never content; what cannot be recorded is not called (SPEC-029 §8)."""
    policy = "tool-output-retain=audit"
    with bench(tmp_path, registry=REGISTRY, policy=policy, budget=(1 << 40, 1_000, 1 << 40, 2)) as at:
        made = at.host_call("read_rows", rows(2), {"n": 1})
        assert at.entry(made).persistence.value == "PINNED"
        (kept,) = at.events("PINNED")
        assert {"scratch_id": made, "reason": "audit", "kind": "tabular", "rows": 2}.items() <= kept.items()
        assert at.ask("scratch_pin", scratch_id=made, unpin=True)["isError"]
        assert at.before("read_rows", {"n": 2}) is None
        at.host_call("read_rows", rows(2), {"n": 2})
        refused = at.before("read_rows", {"n": 3})
        assert refused["isError"]
        assert "was not called" in line(refused)
        assert at.ask("scratch_list")["content"]


def test_with_retain_all_nothing_is_evicted(tmp_path: Path) -> None:
    """`all` turns eviction off and pins nothing."""
    with bench(tmp_path, registry=REGISTRY, policy="tool-output-retain=all", budget=(1 << 40, 1_000, 1 << 40, 2)) as at:
        made = []
        for n in range(4):
            made.append(at.host_call("read_rows", rows(2), {"n": n}))
            at.clock.at += 400
        assert {at.entry(one).persistence.value for one in made} == {"EPHEMERAL"}


def test_another_operators_policy_is_in_the_trail_once(tmp_path: Path) -> None:
    """Values of the directives that hold here, of others the names; a digest over all; never for the same policy."""
    strict = "tool-output-stale=exclude; report-uri https://example.test/r?key=secret"
    for policy in ("", strict, strict, "tool-output-stale=exclude", ""):
        with bench(tmp_path, policy=policy) as at:
            at.host_call("read_rows", text_result("1"))
            at.ask("scratch_list")
            said = at.events("POLICY_CHANGED")
    assert [one["to"]["directives"] for one in said] == [{"tool-output-stale": "exclude"}] * 2 + [{}]
    assert [one["to"]["elsewhere"] for one in said] == [["report-uri"], [], []]
    assert [one["from"] for one in said[1:]] == [one["to"] for one in said[:-1]]
    assert len({one["to"]["hash"] for one in said}) == 3
    assert "secret" not in json.dumps(said)


def test_a_policy_asked_for_in_a_way_nobody_can_read_is_refused(at: Bench) -> None:
    """A request that wanted to be strict is never answered as if it had not; the answer has the headers of all."""
    made = at.host_call("read_rows", rows(3))
    for policy, said in (({"x": 1}, "must be a text"), ("bogus=1", "unknown"), ("tool-output-retain=all", "operator")):
        answer = at.ask("scratch_get", scratch_id=made, meta={"dev.crp/policy": policy})
        assert said in answer["content"][0]["text"]
        assert answer["isError"]
        assert answer["_meta"]["dev.crp/headers"] == {"CRP-Context-Scratch-Entries": "1/0"}


# -- facts -------------------------------------------------------------------------------------------------------


def test_a_pinned_lasting_result_becomes_a_fact_that_can_be_searched(at: Bench) -> None:
    """A full statement, tool-derived, of the project; found by its words after a restart (SPEC-029 §5.4)."""
    made = at.host_call("revenue", text_result("4200000"), {"quarter": "Q3"})
    answer = at.ask("scratch_pin", scratch_id=made, name="q3 revenue", promote=True)
    assert answer["structuredContent"]["fact"] == 1
    (fact,) = at.engine.facts.search(at.scope, "revenue q3")
    assert fact.content == 'q3 revenue: shop:revenue {"quarter":"Q3"} gave 4200000 (at 2027-01-15T08:00:00Z)'
    assert (fact.source, fact.provenance, fact.status) == (made, "tool-derived", FactStatus.ACTIVE)
    assert at.engine.facts.search(at.scope, "revenue")[0].access_count == 1
    assert at.engine.facts.search(at.engine.settings.scope().__class__("local", "elsewhere"), "revenue") == []
    assert at.events("PROMOTED") == [{"scratch_id": made, "fact": 1}]


def test_readings_that_do_not_last_never_become_facts(at: Bench) -> None:
    """REALTIME and VOLATILE have no durable truth value, pinned or not."""
    for tool in ("load", "read_rows"):
        made = at.host_call(tool, text_result("4"))
        answer = at.ask("scratch_pin", scratch_id=made, promote=True)
        assert answer["isError"]
        assert "lasting truth" in line(answer)


def test_a_changed_value_flags_what_depends_on_the_old_one_and_supersedes_its_fact(at: Bench) -> None:
    """A fact whose source was read again and differs is in doubt until the new value takes its place."""
    old = at.host_call("revenue", text_result("4"), {"quarter": "Q3"})
    at.ask("scratch_pin", scratch_id=old, promote=True)
    new = at.host_call("revenue", text_result("5"), {"quarter": "Q3"})
    (fact,) = at.engine.facts.search(at.scope, "revenue")
    assert fact.status is FactStatus.STALE
    assert new in str(fact.flag)
    at.ask("scratch_pin", scratch_id=new, promote=True)
    newest, before = at.engine.facts.search(at.scope, "")
    assert newest.supersedes == before.id
    assert before.flag == f"superseded by fact {newest.id}"


def test_a_derived_result_is_stale_once_its_source_was_read_again_and_differs(at: Bench) -> None:
    """What was computed from old rows is no longer current."""
    at.host_call("read_rows", rows(20), {"n": 1})
    answer = at.ask("scratch_query", sql="SELECT count(*) AS n FROM latest")
    derived = answer["structuredContent"]["scratch_id"]
    assert at.entry(derived).stale_since is None
    at.host_call("read_rows", rows(21), {"n": 1})
    assert "differs" in at.entry(derived).stale_why


# -- streams and headers -----------------------------------------------------------------------------------------


def test_pages_of_one_listing_are_one_stream(at: Bench) -> None:
    """Same tool, same arguments but the cursor; the first page came without one (SPEC-029 §11)."""
    first = at.host_call("fetch", rows(3), {"of": "x"})
    second = at.host_call("fetch", rows(3), {"of": "x", "cursor": "p2"})
    third = at.host_call("fetch", rows(3), {"of": "x", "cursor": "p3"})
    other = at.host_call("fetch", rows(3), {"of": "y", "cursor": "p2"})
    assert len({at.entry(one).stream_id for one in (first, second, third)}) == 1
    assert at.entry(other).stream_id != at.entry(first).stream_id
    listed = at.ask("scratch_list", stream=at.entry(first).stream_id)
    assert [line.split(" ")[0] for line in texts(listed)[1].splitlines()] == [third, second, first]


def test_headers_are_exact(at: Bench) -> None:
    """Entries as total/pinned, tokens saved as raw less what was sent, never negative (SPEC-029 §9)."""
    flood = at.host_call("read_rows", rows(2_000))
    small = at.host_call("fetch", text_result("x"))
    at.ask("scratch_pin", scratch_id=flood)
    answer = at.ask("scratch_get", scratch_id=flood)
    sent = at.engine.counter().count(texts(answer)[1])
    raw = at.entry(flood).raw_token_count
    assert headers(answer) == {
        "CRP-Context-Scratch-Entries": "2/1",
        "CRP-Context-Scratch-Freshness": "fresh",
        "CRP-Context-Scratch-Tokens-Saved": str(raw - sent),
        "Agent-Memory-Lineage-Receipt": at.entry(flood).receipt,
    }
    assert headers(at.ask("scratch_get", scratch_id=small))["CRP-Context-Scratch-Tokens-Saved"] == "0"
    assert headers(at.ask("scratch_get", scratch_id="scratch_sql_999")) == {"CRP-Context-Scratch-Entries": "2/1"}


def test_a_query_says_how_fresh_the_oldest_of_its_sources_is(at: Bench) -> None:
    """The worst of what was used; each source counts as referenced (SPEC-029 §4.3)."""
    old = at.host_call("read_rows", rows(3), {"n": 1})
    at.clock.at += 301
    new = at.host_call("read_rows", rows(3), {"n": 2})
    at.clock.at += 31
    answer = at.ask("scratch_query", sql=f"SELECT count(*) FROM {old} JOIN {new} USING (order_id)")
    assert headers(answer)["CRP-Context-Scratch-Freshness"] == "stale; age=332s; class=VOLATILE"
    assert (at.entry(old).referenced_by, at.entry(new).referenced_by) == ((3,), (3,))
    assert [event["scratch_id"] for event in at.events("STALE_USED")] == [old]
