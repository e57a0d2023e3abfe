"""Properties: any text is safe, generated truths are never denied, generated untruths never confirmed."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crp_mcp.core.claims import claims_of
from crp_mcp.core.claims.load import read_document

from .sample import SHOPS, evidence, verdict, verdicts

CITIES = ("Aalborg", "Bergen", "Cadiz", "Delft", "Espoo")
NAMES = ("Ash", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Larch", "Maple", "Oak", "Pine", "Rowan", "Yew")
SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Small tables with a naming column, a category and two measures."""
    names = draw(st.permutations(NAMES))[: draw(st.integers(4, len(NAMES)))]
    return [
        {
            "branch": name,
            "city": draw(st.sampled_from(CITIES)),
            "visitors": draw(st.integers(100, 9_999)),
            "score": draw(st.integers(10, 99)) / 10,
        }
        for name in names
    ]


def statements(rows: list[dict[str, Any]], seed: int) -> list[tuple[str, str]]:
    """(true sentence, false sentence) pairs computed from the rows."""
    pick = random.Random(seed)
    row = pick.choice(rows)
    city = row["city"]
    visitors = [r["visitors"] for r in rows]
    best, worst = max(rows, key=lambda r: r["visitors"]), min(rows, key=lambda r: r["visitors"])
    count = sum(r["city"] == city for r in rows)
    above = sum(v > row["visitors"] for v in visitors)
    other = pick.choice([c for c in CITIES if c != city])
    towns = len({r["city"] for r in rows})
    mean = sum(visitors) / len(rows)
    name, own = row["branch"], row["visitors"]
    out = [
        (f"There are {len(rows)} branches.", f"There are {len(rows) + 2} branches."),
        (f"{count} branches are in {city}.", f"{count + 1} branches are in {city}."),
        (f"There are {towns} different cities.", f"There are {towns + 1} different cities."),
        (f"{name} is in {city}.", f"{name} is in {other}."),
        (f"{name} has {own:,} visitors.", f"{name} has {own + 1000:,} visitors."),
        (f"The highest visitors is {max(visitors):,}.", f"The highest visitors is {max(visitors) + 7}."),
        (f"The total visitors are {sum(visitors)}.", f"The total visitors are {sum(visitors) + 5}."),
        (f"The average visitors is {mean:.2f}.", f"The average visitors is {mean + 9:.2f}."),
        (f"{above} branches have more than {own} visitors.", f"{above + 1} branches have more than {own} visitors."),
    ]  # fmt: skip
    if best["visitors"] != worst["visitors"]:
        out.append((f"{best['branch']} has the most visitors.", f"{worst['branch']} has the most visitors."))
        out.append(
            (
                f"{best['branch']} has more visitors than {worst['branch']}.",
                f"{worst['branch']} has more visitors than {best['branch']}.",
            )
        )
    return out


@SLOW
@given(tables(), st.integers(0, 10_000))
def test_generated_truths_hold_and_untruths_do_not(rows: list[dict[str, Any]], seed: int) -> None:
    """A sentence computed from a table is never contradicted, its perturbed twin never supported."""
    source = evidence(rows)
    for right, wrong in statements(rows, seed):
        assert verdict(right, source) == "supported", (right, rows)
        assert verdict(wrong, source) != "supported", (wrong, rows)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_safe(text: str) -> None:
    """No text raises, and every claim is a stretch of it."""
    for found in verdicts(text, SHOPS):
        assert 0 <= found.claim.start <= found.claim.end <= len(text)


GRAMMAR = """
the a most highest fewest only all none no not both than more less same average total of in at with and or but
3 five 2011 $5 40% shop shops town Bergen Station revenue staff rating opened before after between first second
% . , ( ) ' " - :
"""
WORDS = st.sampled_from(GRAMMAR.split())


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, max_size=25).map(" ".join))
def test_any_run_of_operation_words_is_safe(text: str) -> None:
    """Words of the grammar in any order raise nothing."""
    verdicts(text, SHOPS)


@settings(max_examples=80, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
        lambda x: st.lists(x, max_size=5) | st.dictionaries(st.text(max_size=8), x, max_size=5),
        max_leaves=20,
    )
)
def test_any_tree_is_safe(value: Any) -> None:
    """Any JSON value can be evidence."""
    verdicts("There are 3 rows and the highest x is 5.", evidence(value))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_payload_is_safe(payload: bytes) -> None:
    """Any bytes can be a payload."""
    read_document(payload)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_splitting_is_deterministic(text: str) -> None:
    """The same text gives the same claims."""
    assert claims_of(text) == claims_of(text)
