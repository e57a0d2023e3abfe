"""The Context Request Protocol's models: the reference's example as written, and what the models refuse."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from crp_mcp.core.request import LADDERS, DetailLevelMap, LevelError, Node, TemporalScope, render, resolve_depth

EXAMPLE = """
from crp_mcp import (
    ContextBudget,
    ContextFragment,
    ContextRequest,
    DetailLevelMap,
    FragmentProvenance,
)

# Create a detail level map for source code
code_map = DetailLevelMap(
    domain="uko-code:",
    max_depth=9,
    levels={
        "MODULE_LISTING": 0,
        "SIGNATURES": 4,
        "FULL_SOURCE": 9,
    },
)

# Resolve a named level
depth = code_map.resolve("SIGNATURES")  # -> 4

# Create a context request
request = ContextRequest(
    query="How does authentication work?",
    focus=["uko-py:class/AuthManager"],
    breadth=2,
    depth="SIGNATURES",
    purpose="Understand the auth flow for refactoring",
)

# Create a budget
budget = ContextBudget(max_tokens=8000, reserved_tokens=1000)
print(budget.available_tokens)  # 7000

# Create a fragment
fragment = ContextFragment(
    uko_node="uko-py:class/AuthManager",
    content="class AuthManager: ...",
    detail_depth=4,
    token_count=120,
    relevance_score=0.95,
    provenance=FragmentProvenance(
        resource_uri="uko-py:module/auth",
        location="lines 1-50",
        strategy="breadth-depth-navigator",
    ),
)
"""  # the reference's own example; only the import line is changed


def test_the_reference_example_runs_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    """Every value the reference's example shows is what comes out, and every default is the one it lists."""
    names: dict = {}
    exec(EXAMPLE, names)
    assert names["depth"] == 4
    assert capsys.readouterr().out == "7000\n"
    request = names["request"]
    assert (request.temporal, request.depth_gradient, request.priority) == (TemporalScope.CURRENT, True, 0.5)
    assert (request.max_tokens, request.entities, request.required_backends) == (None, [], [])
    assert names["fragment"].provenance.location == "lines 1-50"
    assert names["fragment"].metadata == {}


def test_models_are_frozen_and_refuse_what_is_no_value() -> None:
    """Nothing but a level map can be changed, and bools, negatives and unknown fields are refused."""
    from crp_mcp import ContextBudget, ContextFragment, ContextRequest

    request = ContextRequest()
    with pytest.raises(ValidationError):
        request.breadth = 3  # type: ignore[misc]
    for bad in ({"breadth": -1}, {"breadth": True}, {"depth": -1}, {"depth": True}, {"priority": 1.1}, {"nope": 1}):
        with pytest.raises(ValidationError):
            ContextRequest(**bad)
    with pytest.raises(ValidationError):
        ContextBudget(max_tokens=10, reserved_tokens=11)
    with pytest.raises(ValidationError):
        ContextFragment.model_validate({"uko_node": "x"})


def test_depths_clamp_and_names_resolve_through_parents() -> None:
    """Numbers above the maximum clamp, a child's level beats its parent's, an inherited one above our max clamps."""
    parent = DetailLevelMap(domain="uko-code:", max_depth=9, levels={"SIGNATURES": 4, "FULL_SOURCE": 9})
    child = DetailLevelMap(domain="uko-py:", parent=parent, max_depth=6, levels={"SIGNATURES": 3})
    assert (child.resolve(99), child.resolve("SIGNATURES"), child.resolve("FULL_SOURCE")) == (6, 3, 6)
    assert (child.resolve("2"), child.resolve("signatures")) == (2, 3)
    for bad in (-1, True, "NOPE", 1.5):
        with pytest.raises(LevelError):
            child.resolve(bad)  # type: ignore[arg-type]
    with pytest.raises(LevelError, match="SIGNATURES"):
        child.resolve("NOPE")


def test_maps_refuse_levels_outside_and_cycles_of_parents() -> None:
    """Values outside 0 to max are refused by register and constructor alike, and so is being one's own ancestor."""
    made = DetailLevelMap(domain="a:", max_depth=3)
    made.register("MID", 2)
    assert made.effective_levels() == {"MID": 2}
    for value in (-1, 4, True):
        with pytest.raises(LevelError):
            made.register("BAD", value)
        with pytest.raises(ValidationError):
            DetailLevelMap(domain="a:", max_depth=3, levels={"BAD": value})
    child = DetailLevelMap(domain="b:", max_depth=3, parent=made)
    with pytest.raises(LevelError):
        made.parent = child
    assert made.parent is None


def test_inserting_a_level_renumbers_what_is_deeper() -> None:
    """A level put behind another moves the deeper ones and the maximum; the parent stays as it was."""
    parent = DetailLevelMap(domain="p:", max_depth=4, levels={"TOP": 0, "DEEP": 4})
    child = DetailLevelMap(domain="c:", max_depth=4, parent=parent, levels={"MID": 2})
    assert child.insert_after("TOP", "NEW") == 1
    assert child.effective_levels() == {"TOP": 0, "NEW": 1, "MID": 3, "DEEP": 5}
    assert (child.max_depth, parent.max_depth) == (5, 4)
    with pytest.raises(LevelError):
        child.insert_after("TOP", "MID")


def test_every_domain_has_a_ladder_and_a_name_of_one_means_its_number_in_all() -> None:
    """A level that only source code has is the same depth for stored results and documents."""
    assert {"uko-tool:", "uko-fact:", "uko-turn:", "uko-py:", "uko-code:", "uko-doc:"} < set(LADDERS)
    assert set(resolve_depth("SIGNATURES").values()) == {4}
    assert resolve_depth("EVERYTHING")["uko-doc:"] == 9
    with pytest.raises(LevelError):
        resolve_depth("NO_SUCH_LEVEL")


words = st.text(alphabet="abcdefg \n", min_size=1, max_size=30)


@given(words, st.lists(words, max_size=3), words, words, words, st.booleans())
def test_each_depth_tells_all_the_one_before_told(title, children, relation, summary, body, whole) -> None:
    """Every word of a rendering is in the next deeper one, and the deepest holds the whole body."""
    held = f"{body}\n{' '.join(children)} {summary} shape calls: {relation}"
    node = Node(
        "uko-py:class/x", title, "file", children=tuple(children), relations=(("calls", (relation,)),),
        inverse=(("called by", (title,)),),
        summary=summary, shape=("shape",), body=held, whole=whole,
    )  # fmt: skip
    texts = [render(node, depth) for depth in range(10)]
    marks = {"contains:", "…", "more", "lines"} | {str(n) for n in range(100)}
    for shallow, deep in pairwise(texts):
        assert {w.strip(",") for w in shallow.split()} - marks <= {w.strip(",") for w in deep.split()} | {""}
    assert texts[9].endswith(held.rstrip("\n"))
    assert render(node, 12) == texts[9]
