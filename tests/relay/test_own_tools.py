"""Our own tools: pages by tokens, exact bytes, errors a model can act on."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.relay.support import Bench, order_rows, text_result, texts

ROWS = order_rows(1_000)


def test_rows_come_in_pages_that_join_to_all_of_them(at: Bench) -> None:
    """Following next_offset gives every row once, in order, under one header, within the tokens asked for."""
    made = at.capture(text_result(json.dumps(ROWS))).entry.scratch_id
    offset, got = 0, []
    while offset is not None:
        answer = at.tool("scratch_get", scratch_id=made, view="rows", offset=offset, max_tokens=500)
        line, data = texts(answer)
        assert at.engine.counter().count(line) + at.engine.counter().count(data) <= 500
        assert made in line
        page = list(csv.DictReader(io.StringIO(data)))
        assert page
        got += page
        offset = answer["structuredContent"].get("next_offset")
    assert [int(row["order_id"]) for row in got] == [row["order_id"] for row in ROWS]
    assert [float(row["amount"]) for row in got] == [row["amount"] for row in ROWS]


def test_columns_can_be_chosen_and_a_wrong_one_is_named(at: Bench) -> None:
    """A page has the columns that were asked for; an unknown one lists those there are."""
    made = at.capture(text_result(json.dumps(ROWS))).entry.scratch_id
    answer = at.tool("scratch_get", scratch_id=made, view="rows", limit=2, columns=["status", "order_id"])
    assert texts(answer)[1] == "status,order_id\nopen,0\nclosed,1\n"
    wrong = at.tool("scratch_get", scratch_id=made, view="rows", columns=["state"])
    assert wrong["isError"]
    assert "order_id, city, status, amount" in texts(wrong)[0]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(min_size=1, max_size=400), repeat=st.integers(1, 30), budget=st.integers(16, 80))
def test_raw_pages_join_to_the_exact_text(at: Bench, text: str, repeat: int, budget: int) -> None:
    """Whatever the text, its pages are within the budget and give back every byte."""
    whole = (text * repeat).encode("utf-8", "replace").decode()
    made = at.capture(text_result(whole)).entry
    offset, got = 0, ""
    while offset is not None:
        answer = at.tool("scratch_get", scratch_id=made.scratch_id, view="raw", offset=offset, max_tokens=budget)
        assert not answer["isError"], texts(answer)
        piece = texts(answer)[1]
        assert at.engine.counter().count(piece) <= budget
        got += piece
        offset = answer["structuredContent"].get("next_offset")
    assert got == whole


def test_an_unknown_id_says_how_to_find_the_right_one(at: Bench) -> None:
    """Errors are results with isError, a stable code and a way on."""
    answer = at.tool("scratch_get", scratch_id="scratch_sql_999")
    assert answer["isError"]
    assert answer["structuredContent"] == {"code": "NOT_FOUND"}
    assert "scratch_list" in texts(answer)[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "`scratch_id` is required"),
        ({"scratch_id": 7}, "must be a string"),
        ({"scratch_id": "x", "view": "all"}, "summary, rows, raw, provenance"),
        ({"scratch_id": "x", "offset": -1}, "between 0 and"),
        ({"scratch_id": "x", "offset": "ten"}, "a whole number"),
        ({"scratch_id": "x", "offsett": 3}, "did you mean `offset`?"),
        ({"scratch_id": "x", "max_tokens": 10**9}, "between 16 and"),
    ],
)
def test_a_wrong_argument_is_named_with_what_is_allowed(at: Bench, arguments: dict[str, object], said: str) -> None:
    """A model can correct its call from the error alone."""
    answer = at.tool("scratch_get", **arguments)
    assert answer["isError"]
    assert said in texts(answer)[0]


def test_the_summary_of_a_result_given_whole_is_made_once_with_a_receipt_of_its_own(at: Bench) -> None:
    """It supersedes the receipt of the untouched result, and never changes after."""
    entry = at.capture(text_result(json.dumps(ROWS[:3]))).entry
    first = at.tool("scratch_get", scratch_id=entry.scratch_id)
    again = at.tool("scratch_get", scratch_id=entry.scratch_id)
    assert texts(first)[1] == texts(again)[1]
    after = at.engine.reader.entry(at.scope, entry.scratch_id)
    assert after.receipt != entry.receipt
    stored = at.engine.store.receipt(at.scope, after.receipt or "")
    assert json.loads(stored.body)["supersedes"] == entry.receipt


def test_a_pinned_name_stands_for_the_id_and_moves_when_it_is_given_again(at: Bench) -> None:
    """Pin under a name, read by it, give it to another, unpin."""
    one = at.capture(text_result("first")).entry.scratch_id
    two = at.capture(text_result("second")).entry.scratch_id
    assert f'{one} pinned as "budget"' in texts(at.tool("scratch_pin", scratch_id=one, name="budget"))[0]
    assert texts(at.tool("scratch_get", scratch_id="budget", view="raw"))[1] == "first"
    moved = texts(at.tool("scratch_pin", scratch_id=two, name="budget"))[0]
    assert one in moved
    assert texts(at.tool("scratch_get", scratch_id="budget", view="raw"))[1] == "second"
    at.tool("scratch_pin", scratch_id="budget", unpin=True)
    assert at.tool("scratch_get", scratch_id="budget")["isError"]


def test_a_list_shows_newest_first_and_only_this_conversation(at: Bench) -> None:
    """What another conversation captured is read by id, and not listed."""
    mine = at.capture(text_result("mine")).entry.scratch_id
    at.conversation = "conv_other"
    other = at.capture(text_result("other")).entry.scratch_id
    newest = at.capture(text_result("newest")).entry.scratch_id
    lines = texts(at.tool("scratch_list"))[1].splitlines()
    assert [line.split(" · ")[0] for line in lines] == [newest, other]
    assert texts(at.tool("scratch_get", scratch_id=mine, view="raw"))[1] == "mine"


def test_a_list_is_paged_by_a_cursor_that_new_results_do_not_disturb(at: Bench) -> None:
    """Twenty at a time unless asked; the cursor goes on where the page ended."""
    made = [at.capture(text_result(f"result {n}")).entry.scratch_id for n in range(5)]
    first = at.tool("scratch_list", limit=2)
    at.capture(text_result("in between"))
    second = at.tool("scratch_list", limit=3, cursor=first["structuredContent"]["cursor"])
    ids = [line.split(" · ")[0] for answer in (first, second) for line in texts(answer)[1].splitlines()]
    assert ids == made[::-1]


def test_a_stale_result_is_given_with_a_note_of_its_age(at: Bench) -> None:
    """Raw of a stale entry is never given as current (SPEC-029 §4.2)."""
    made = at.capture(text_result("load 0.4")).entry.scratch_id
    assert "fresh" in texts(at.tool("scratch_get", scratch_id=made, view="raw"))[0]
    at.clock.at += 301
    line = texts(at.tool("scratch_get", scratch_id=made, view="raw"))[0]
    assert "NOTE: This result is from 5 min ago and may be outdated" in line


def test_an_answer_of_ours_is_never_a_capture(at: Bench) -> None:
    """Reading does not fill the store."""
    made = at.capture(text_result(json.dumps(ROWS))).entry.scratch_id
    for view in ("summary", "rows", "raw", "provenance"):
        assert not at.tool("scratch_get", scratch_id=made, view=view)["isError"]
    assert at.engine.store.counters(at.scope).entries == 1


def test_a_resource_gives_the_exact_text_and_completion_its_ids(at: Bench) -> None:
    """scratch://id reads the payload; ids and names complete by their beginning."""
    made = at.capture(text_result("hello")).entry.scratch_id
    at.tool("scratch_pin", scratch_id=made, name="greeting")
    contents = at.engine.tools.read_resource(f"scratch://{made}", at.scope)["contents"]
    assert contents == [{"uri": f"scratch://{made}", "mimeType": "text/plain", "text": "hello"}]
    assert at.engine.tools.complete("gre", at.scope)["completion"]["values"] == ["greeting"]
    assert at.engine.tools.complete("scratch_", at.scope)["completion"]["values"] == [made]


def test_a_limit_counts_items_of_a_list_at_a_path(at: Bench) -> None:
    """`limit` with `path` gives that many items, and where the next begin; of a text, that many characters."""
    made = at.capture(text_result(json.dumps({"rows": ROWS[:10], "note": "abcdef"}))).entry.scratch_id
    answer = at.tool("scratch_get", scratch_id=made, path="$.rows[*].order_id", limit=3)
    assert (texts(answer)[1], answer["structuredContent"]["next_offset"]) == ("[0, 1, 2]", 3)
    answer = at.tool("scratch_get", scratch_id=made, path="$.rows[*].order_id", offset=9, limit=3)
    assert (texts(answer)[1], answer["structuredContent"].get("next_offset")) == ("[9]", None)
    answer = at.tool("scratch_get", scratch_id=made, path="$.note", limit=2, offset=1)
    assert (texts(answer)[1], answer["structuredContent"]["next_offset"]) == ("bc", 3)
    assert "between 1" in texts(at.tool("scratch_get", scratch_id=made, path="$.note", limit=0))[0]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("get_context_budget", {"max_tokens": 0}, "`max_tokens` must be between 1"),
        ("record_turn", {"role": "user", "decision": {}}, "`decision` says nothing"),
        ("record_turn", {"role": "user", "decision": {"alternatives": ["a"]}}, "at least question or chosen"),
    ],
)
def test_arguments_that_say_nothing_are_errors(at: Bench, tool: str, arguments: dict[str, object], said: str) -> None:
    """Not taken for arguments that were not given."""
    answer = at.tool(tool, **arguments)
    assert answer["isError"]
    assert said in texts(answer)[0]


def test_what_is_gone_says_what_it_was_and_how_to_get_it_again(at: Bench) -> None:
    """To a query as to scratch_get."""
    made = at.capture(text_result(json.dumps(ROWS)), arguments={"query": "q"}).entry.scratch_id
    at.tool("scratch_forget", scratch_id=made)
    said = texts(at.tool("scratch_get", scratch_id=made))[0]
    assert f"{made} was 1,000 rows of read_query" in said
    assert texts(at.tool("scratch_query", sql=f"SELECT * FROM {made}"))[0] == said


def test_only_what_is_named_is_forgotten(at: Bench) -> None:
    """A phrase is answered with the id it may mean, and nothing is erased."""
    made = at.capture(text_result(json.dumps(ROWS))).entry.scratch_id
    refused = at.tool("scratch_forget", scratch_id="latest")
    assert refused["isError"]
    assert texts(refused) == [f"scratch_forget takes a scratch_id or pinned name; 'latest' may mean {made}"]
    assert not at.tool("scratch_get", scratch_id=made)["isError"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"as_of": "yesterday"}, "as_of: 'yesterday' is no time; give ISO 8601, as 1970-01-01T00:00:00Z"),
        ({"as_of": 1e300}, "as_of: '1e+300' is no time"),
        ({"temporal": "SOON"}, "`temporal` must be one of CURRENT, RECENT, HISTORICAL, ALL"),
        ({"max_tokens": "many"}, "`max_tokens` must be a whole number"),
        ({"query": 5}, "`query` must be a string"),
        ({"depth": -1}, "`depth` is refused: a depth is 0 or more"),
    ],
)
def test_faults_of_a_request_are_said_in_our_words(at: Bench, arguments: dict[str, object], said: str) -> None:
    """What is wrong, where, and what is allowed."""
    answer = at.tool("request_context", **{"query": "x", **arguments})
    assert answer["isError"]
    assert said in texts(answer)[0]
