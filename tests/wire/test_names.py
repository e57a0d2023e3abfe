"""Public names of many servers' tools: as they are where they can be, distinct, short and stable where not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.wire.names import MAX_NAME, may_be_of, public_names

SERVERS = st.sampled_from(["a", "a_b", "b", "git", "with space", "é"])
TOOLS = st.one_of(
    st.sampled_from(["c", "b_c", "a_b_c", "git_c", "x" * 60, "x" * 60 + "y", "dot.ted", "dot_ted"]), st.text(min_size=1)
)
ORIGINALS = st.lists(st.tuples(SERVERS, TOOLS), max_size=25)
PREFIXES = st.dictionaries(SERVERS, st.sampled_from(["", "p", "git"]))


@given(ORIGINALS, PREFIXES, st.sets(TOOLS), st.randoms())
def test_names_are_distinct_and_do_not_depend_on_order(names: list, prefixes: dict, taken: set, random) -> None:
    """Every original has one name, nobody else's, never one of ours; the order of listing does not matter."""
    public = public_names(names, prefixes, taken)
    assert public.keys() == set(names)
    assert len(set(public.values())) == len(public)
    assert not taken & set(public.values())
    random.shuffle(names)
    assert public_names(names, prefixes, taken) == public
    for (_, name), shown in public.items():
        assert shown == name or (re.fullmatch(r"[A-Za-z0-9_-]+", shown) and len(shown) <= MAX_NAME)


def test_names_stay_unless_two_collide() -> None:
    """Then both get their server in front."""
    names = [("git", "log"), ("db", "query"), ("files", "query")]
    assert public_names(names, {}) == {
        ("git", "log"): "log", ("db", "query"): "db_query", ("files", "query"): "files_query",
    }  # fmt: skip
    assert public_names(names, {"git": "g"})["git", "log"] == "g_log"
    assert public_names(names, {}, {"log"})["git", "log"] == "git_log"


def test_long_names_keep_both_ends() -> None:
    """The hash stands in the middle, and is that of the original."""
    long = "list_" + "very_" * 12 + "long_names"
    shown = public_names([("server", long), ("other", long)], {})
    assert {len(name) for name in shown.values()} == {MAX_NAME}
    assert shown["server", long].startswith("server_list_very")
    assert shown["server", long].endswith("long_names")
    more = public_names([("server", long), ("other", long), ("third", "x")], {})
    assert {original: more[original] for original in shown} == shown


def test_an_allow_listed_dot_is_left_alone() -> None:
    """A name that collides with nothing is not touched, whatever is in it."""
    assert public_names([("a", "dot.ted")], {}) == {("a", "dot.ted"): "dot.ted"}
    assert re.fullmatch(
        r"a_dot_ted_[0-9a-f]{8}", public_names([("a", "dot.ted"), ("b", "dot.ted")], {})["a", "dot.ted"]
    )


@given(ORIGINALS, PREFIXES, st.sets(TOOLS))
def test_every_public_name_may_be_of_its_server(names: list, prefixes: dict, taken: set) -> None:
    """Whatever else there is, and however the name was made: rules that show this one tool are enough."""
    for (server, name), public in public_names(names, prefixes, taken).items():
        assert may_be_of(public, server, prefixes.get(server), lambda shown, own=name: shown == own)


@pytest.mark.parametrize(
    ("public", "prefix", "shown", "may"),
    [
        ("echo", None, {"echo"}, True),
        ("echo", None, {"other"}, False),
        ("git_echo", None, {"echo"}, True),
        ("git_echo", None, {"git_ech"}, False),
        ("echo", "p", {"echo"}, False),
        ("git_echo", "p", {"echo", "git_echo"}, False),
        ("p_echo", "p", {"echo"}, True),
        ("p_secret", "p", {"echo"}, False),
        ("p_echo_0123abcd", "p", {"unreadable"}, True),
        ("p_echo_0123abcdef", "p", {"unreadable"}, False),
        ("q_echo_0123abcd", "p", {"unreadable"}, False),
    ],
)
def test_what_may_be_of_a_server(public: str, prefix: str | None, shown: set[str], may: bool) -> None:
    """By its prefix and its rules; a hash can stand for anything."""
    assert may_be_of(public, "git", prefix, shown.__contains__) == may
