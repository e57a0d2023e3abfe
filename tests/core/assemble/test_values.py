"""Which later call carries a value out of which earlier result: what counts as a value, what as coming from there."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.assemble.values import Result, given_in, held_by, is_distinctive, links, values_of

DISTINCTIVE = "10293 59.9139 A-1029 6fbb1c9a-40cc ord_102 customer_id src/main.py alice@example.com AuthManager"
COMMON = "1 42 true Oslo 2024 12000 500000 2026-03-04 20260304 12:30 configuration well-known utf-8 v2"


@pytest.mark.parametrize("value", DISTINCTIVE.split())
def test_what_stands_for_one_thing_is_distinctive(value: str) -> None:
    """Ids, paths, addresses, names put together, numbers with enough digits."""
    assert is_distinctive(value)
    assert value in set(values_of(f'[{{"x": "{value}"}}, 3]'))


@pytest.mark.parametrize("value", COMMON.split())
def test_common_words_dates_and_round_numbers_are_not(value: str) -> None:
    """They stand in many results by chance."""
    assert not is_distinctive(value)


def result(number: int, given: dict[str, object], text: str, wanted: frozenset[str]) -> Result:
    return Result(f"r{number}", float(number), given_in(given), held_by(text, wanted))


def run(*calls: tuple[dict[str, object], object], said: tuple[tuple[float, str], ...] = ()) -> dict[str, list[str]]:
    wanted = frozenset().union(*(given_in(given) for given, _ in calls))
    texts = [one if isinstance(one, str) else json.dumps(one) for _, one in calls]
    made = [result(n, given, text, wanted) for n, ((given, _), text) in enumerate(zip(calls, texts, strict=True), 1)]
    return links(made, said)


def test_a_call_depends_on_the_result_its_value_came_from() -> None:
    """By an id, by a number, by a path in a longer text, and by a sentence."""
    listing = {
        "orders": [{"id": "ORD-20417", "file": "src/billing/late.py", "no": 88417}],
        "title": "Late payers of May",
    }
    for asked in (
        {"order": "ORD-20417"},
        {"n": 88417},
        {"command": "cat src/billing/late.py | head"},
        {"subject": "Late payers of May", "max": 3},
    ):
        assert run(({}, listing), ({}, "nothing of it"), (asked, "ok")) == {"r3": ["r1"]}


def test_what_was_known_before_came_from_elsewhere() -> None:
    """From a call's own arguments, from an earlier call's, or from the user."""
    listing, asks = {"id": "ORD-20417"}, {"order": "ORD-20417"}
    assert run((asks, listing), (asks, listing)) == {}
    assert run((asks, "unknown"), ({}, listing), (asks, "ok")) == {}
    assert run(({}, listing), (asks, "ok"), said=((0.5, "what of ORD-20417?"),)) == {}
    assert run(({}, listing), (asks, "ok"), said=((1.5, "and ORD-20417?"),)) == {"r2": ["r1"]}


def test_parts_of_longer_values_are_no_values() -> None:
    """ORD-2041 is not in ORD-20417, and 12345 not in 3.12345; the file of a URL is."""
    for text in ("ORD-20417", "XORD-2041", "ORD-2041-b"):
        assert not held_by(text, ["ORD-2041"])
    assert not held_by("3.12345", ["12345"])
    assert held_by("see https://example.com/ORD-2041?x=1.", ["ORD-2041"])
    assert held_by("ORD-20417, ORD-2041.", ["ORD-2041"])


def test_what_stands_everywhere_says_nothing() -> None:
    """A value in more than a quarter of the results, and in more than three."""
    calls = [({}, {"customer_id": number}) for number in range(8)]
    assert run(*calls, ({"sql": "SELECT customer_id FROM t"}, "ok")) == {}
    assert run(*calls[:2], ({"sql": "SELECT customer_id FROM t"}, "ok")) == {"r3": ["r2", "r1"]}


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=60)), max_size=8))
def test_nothing_depends_on_what_came_later(calls: list[tuple[str, str]]) -> None:
    """Whatever the texts are, links lead back in time."""
    found = run(*(({"x": asked}, text) for asked, text in calls))
    for one, sources in found.items():
        assert all(int(source[1:]) < int(one[1:]) for source in sources)
