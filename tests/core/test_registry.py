"""The tool registry: which rule wins, what falls through, what annotations may do, and what errors say."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.durations import parse_duration
from crp_mcp.core.model import DAY, ToolClass, ToolPolicy, Volatility
from crp_mcp.core.registry import Registry, merge, parse_registry, tool_matches
from crp_mcp.core.registry.lookup import KNOWN_TOOLS
from crp_mcp.errors import ConfigError


def registry(*tools: dict[str, Any], **top: Any) -> Registry:
    return parse_registry({"version": 1, "tools": list(tools), **top}, where="tools.yaml")


def refusal(data: object, lines: dict[tuple[str | int, ...], int] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_registry(data, where="tools.yaml", lines=lines)
    return str(caught.value)


def test_undeclared_tool_is_volatile_internal_and_never_called_again_by_itself():
    """An undeclared tool gets the careful defaults."""
    policy = registry().policy("any", "thing")
    assert policy == ToolPolicy()
    assert (policy.volatility, policy.ttl, policy.sensitivity) == (Volatility.VOLATILE, 300, "INTERNAL")
    assert (policy.reinvoke, policy.reuse, policy.retention) == (False, False, 30 * DAY)


def test_every_field_is_read():
    """Each key of a rule reaches the policy under its own name."""
    rule = {
        "match": "db:read_query",
        "volatility": "STABLE",
        "ttl": "PT2M",
        "class": "sql",
        "sensitivity": "CONFIDENTIAL",
        "max_sensitivity": "RESTRICTED",
        "retention": "P7D",
        "reinvoke": "safe",
        "reuse": "fresh",
        "invalidates": ["list_tables", "other:*"],
        "accepts_scratch_from": ["*:read_query"],
        "redact_args": ["password"],
        "inline_tokens": 0,
        "passthrough": True,
        "summary": {"cap": 128, "sample_rows": 1},
    }
    policy = registry(rule).policy("db", "read_query")
    assert (policy.volatility, policy.ttl, policy.tool_class) == (Volatility.STABLE, 120, ToolClass.SQL)
    assert (policy.sensitivity, policy.max_sensitivity, policy.retention) == ("CONFIDENTIAL", "RESTRICTED", 7 * DAY)
    assert (policy.reinvoke, policy.reuse, policy.inline_tokens, policy.passthrough) == (True, True, 0, True)
    assert policy.invalidates == ("db:list_tables", "other:*")
    assert policy.accepts_scratch_from == ("*:read_query",)
    assert policy.redact_args == ("password",)
    assert (policy.summary.cap, policy.summary.sample_rows) == (128, 1)


@pytest.mark.parametrize(
    ("volatility", "ttl"), [("REALTIME", 30), ("VOLATILE", 300), ("STABLE", 3600), ("STATIC", None)]
)
def test_ttl_follows_volatility(volatility: str, ttl: int | None):
    """A rule that names only a volatility gets that class's usual time to live (SPEC-029 §4.1)."""
    assert registry({"match": "*:*", "volatility": volatility}).policy("s", "t").ttl == ttl


def test_operators_volatility_beats_a_shipped_ttl():
    """A volatility said by the operator brings its own ttl, even where the shipped rule names one."""
    shipped = registry({"match": "*:t", "volatility": "STATIC", "ttl": 7})
    assert merge(registry({"match": "s:*", "volatility": "REALTIME"}), shipped).policy("s", "t").ttl == 30


SPECIFIC_TO_VAGUE = ["db:read_query", "*:read_query", "db:read_*", "db:*", "d*:read_*", "*:read_*", "*:*"]


@given(st.permutations(SPECIFIC_TO_VAGUE), st.integers(0, len(SPECIFIC_TO_VAGUE) - 1))
def test_most_specific_rule_wins_whatever_the_order(order: list[str], dropped: int):
    """Exact names beat globs, the tool's before the server's, then literal characters; order does not count."""
    left = SPECIFIC_TO_VAGUE[dropped:]
    rules = [{"match": glob, "redact_args": [glob]} for glob in order if glob in left]
    assert registry(*rules).policy("db", "read_query").redact_args == (left[0],)


def test_equals_go_by_order():
    """Of two equally specific rules the first one written wins."""
    rules = [{"match": "*:a?c", "ttl": 1}, {"match": "*:ab?", "ttl": 2}]
    assert registry(*rules).policy("s", "abc").ttl == 1
    assert registry(*reversed(rules)).policy("s", "abc").ttl == 2


@given(
    st.lists(
        st.tuples(st.text("ab*?", min_size=1, max_size=4), st.text("ab*?", min_size=1, max_size=4)),
        max_size=12,
        unique=True,
    ),
    st.text("ab", min_size=1, max_size=4),
    st.text("ab", min_size=1, max_size=4),
)
def test_the_index_finds_what_a_plain_walk_finds(globs: list[tuple[str, str]], server: str, tool: str):
    """The indexed look-up agrees with trying every rule in turn."""
    found = registry(*({"match": f"{s}:{t}"} for s, t in globs)).rules_for(server, tool)
    rules = [registry({"match": f"{s}:{t}"}).layers[0] for s, t in globs]
    hits = [rule for one in rules for rule in [one.find(server, tool)] if rule is not None]
    best = max(hits, key=lambda rule: rule.specificity(), default=None)
    assert [rule.match for rule in found] == ([] if best is None else [best.match])


def test_operators_rule_falls_through_to_the_shipped_one_field_by_field():
    """What the operator's rule does not say is still taken from the shipped rule."""
    shipped = registry({"match": "*:read_query", "class": "sql", "volatility": "STABLE"})
    policy = merge(registry({"match": "*:*", "inline_tokens": 0}), shipped).policy("db", "read_query")
    assert (policy.inline_tokens, policy.tool_class, policy.ttl) == (0, ToolClass.SQL, 3600)


def test_defaults_stand_below_every_rule():
    """Defaults fill in what no rule says, the operator's before the shipped ones."""
    shipped = registry({"match": "*:t", "ttl": 7}, defaults={"retention": "P1D", "class": "api"})
    merged = merge(registry(defaults={"ttl": 5, "retention": "P2D"}), shipped)
    assert (merged.policy("s", "t").ttl, merged.policy("s", "other").ttl) == (7, 5)
    assert (merged.policy("s", "t").retention, merged.policy("s", "t").tool_class) == (2 * DAY, ToolClass.API)


def test_labels_of_another_lattice_do_not_count():
    """With a lattice of one's own, shipped labels outside it are passed over, and nothing falls below its default."""
    shipped = registry({"match": "*:t", "sensitivity": "PUBLIC"})
    own = registry(labels=["LOW", "HIGH"], defaults={"sensitivity": "LOW"})
    assert merge(own, shipped).labels == ("LOW", "HIGH")
    assert merge(own, shipped).policy("s", "t").sensitivity == "LOW"
    assert merge(registry(labels=["LOW", "HIGH"]), shipped).policy("s", "t").sensitivity == "HIGH"


SAFE = {"match": "*:*", "reinvoke": "safe", "reuse": "fresh"}


@pytest.mark.parametrize(
    "said",
    [{"readOnlyHint": False}, {"destructiveHint": True}, {"readOnlyHint": True, "destructiveHint": True},
     {"idempotentHint": False}],
)  # fmt: skip
def test_annotations_that_speak_of_acting_withdraw_trust(said: dict[str, bool]):
    """A tool that says it acts is neither re-invoked nor reused, whatever the registry says."""
    policy = registry(SAFE).policy("s", "t", {"annotations": said})
    assert not policy.reinvoke
    assert not policy.reuse


@pytest.mark.parametrize(
    "said", [None, {}, {"title": "x"}, {"readOnlyHint": True, "idempotentHint": False}, "nonsense"]
)
def test_absent_or_harmless_annotations_say_nothing(said: object):
    """An absent annotation changes nothing; idempotentHint means nothing on a tool that only reads."""
    assert registry(SAFE).policy("s", "t", {"annotations": said}).reinvoke


@given(
    st.dictionaries(
        st.sampled_from(["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]), st.booleans()
    )
)
def test_annotations_never_loosen(said: dict[str, bool]):
    """No annotation opens what the registry keeps closed."""
    policy = registry().policy("s", "t", {"annotations": said})
    assert not policy.reinvoke
    assert not policy.reuse


def test_a_tool_with_a_view_is_passed_through():
    """A tool whose result feeds a view is captured but never replaced."""
    assert registry().policy("s", "t", {"_meta": {"ui": {"resourceUri": "ui://x"}}}).passthrough
    assert not registry().policy("s", "t", {"_meta": {"other": 1}}).passthrough


def test_a_glob_without_a_server_means_the_same_server_literally():
    """`invalidates: [x]` speaks of the server the rule matched, even where its name looks like a glob."""
    policy = registry({"match": "*:w", "invalidates": ["read_*"]}).policy("a*b", "w")
    assert tool_matches(policy.invalidates[0], "a*b", "read_file")
    assert not tool_matches(policy.invalidates[0], "axb", "read_file")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT30S", 30),
        ("PT5M", 300),
        ("PT1H30M", 5400),
        ("P30D", 30 * DAY),
        ("P1W", 7 * DAY),
        ("P1DT1S", DAY + 1),
        (0, 0),
        (45, 45),
    ],
)
def test_durations(text: object, seconds: int):
    """ISO 8601 durations of fixed length, and plain seconds."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "bad", ["P", "PT", "P1Y", "P1M", "5m", "pt5m", "PT5M ", "", -1, True, 1.5, None, "PT-5S", "P1DT"]
)
def test_bad_durations_are_refused(bad: object):
    """Months, years, signs, fractions and look-alikes are refused with an example of what to write."""
    with pytest.raises(ValueError, match="PT5M"):
        parse_duration(bad)


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ({"match": "*:a", "volatilty": "STATIC"}, "tools[0].volatilty is not a known key; did you mean `volatility`?"),
        ({"match": "*:a", "volatility": "FAST"}, "is `FAST`; allowed: REALTIME, VOLATILE, STABLE, STATIC"),
        ({"match": "*:a", "sensitivity": "SECRET"}, "allowed: PUBLIC, INTERNAL"),
        ({"match": "*:a", "reinvoke": True}, "allowed: safe, never"),
        ({"match": "*:a", "ttl": "5m"}, "tools[0].ttl is not a duration"),
        ({"match": "*:a", "retention": 0}, "must be longer than 0 seconds"),
        ({"match": "*:a", "inline_tokens": -1}, "must be a whole number from 0"),
        ({"match": "*:a", "inline_tokens": True}, "must be a whole number from 0"),
        ({"match": "*:a", "passthrough": "yes"}, "must be true or false"),
        ({"match": "*:a", "summary": {"cap": 1}}, "tools[0].summary.cap must be a whole number from 48"),
        ({"match": "*:a", "summary": {"rows": 1}}, "tools[0].summary.rows is not a known key"),
        ({"match": "read_query"}, 'must be "server:tool"'),
        ({"match": ":x"}, 'must be "server:tool"'),
        ({"match": ["*:a", "*:a"]}, "stands here twice"),
        ({"ttl": 5}, "needs `match`"),
        ("*:a", "must be a mapping"),
    ],
)
def test_a_wrong_rule_is_named_with_what_is_allowed(tool: object, said: str):
    """Every error names the file and the field, and says what is allowed."""
    message = refusal({"version": 1, "tools": [tool]})
    assert message.startswith("tools.yaml")
    assert said in message


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "must be a mapping"),
        ({"tools": []}, "version must be 1"),
        ({"version": True}, "version must be 1"),
        ({"version": 1, "tool": []}, "did you mean `tools`?"),
        ({"version": 1, "labels": ["A", "A"]}, "labels[1] repeats `A`"),
        ({"version": 1, "labels": []}, "must be a list of labels"),
        ({"version": 1, "tools": {}}, "must be a list of rules"),
    ],
)
def test_a_wrong_top_is_named(data: object, said: str):
    """Errors of the file as a whole say what it must hold."""
    assert said in refusal(data)


def test_an_error_names_its_line():
    """Where lines are known the error names the line of the field, or of the nearest thing around it."""
    lines: dict[tuple[str | int, ...], int] = {("tools",): 2, ("tools", 0): 3, ("tools", 0, "ttl"): 4}
    assert refusal({"version": 1, "tools": [{"match": "*:a", "ttl": "x"}]}, lines).startswith("tools.yaml:4: ")
    assert refusal({"version": 1, "tools": [{"ttl": 1}]}, lines).startswith("tools.yaml:3: ")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_content_is_read_or_refused(data: object):
    """Whatever a file holds, the answer is a registry or a ConfigError."""
    for content in (
        data,
        {"version": 1, "tools": data},
        {"version": 1, "tools": [data]},
        {"version": 1, "defaults": data},
    ):
        with contextlib.suppress(ConfigError):
            assert isinstance(parse_registry(content, where="x"), Registry)


def test_asking_for_many_tools_costs_no_memory_and_changes_no_answer():
    """Policies are remembered for so many tools and no more; an answer is the same before and after."""
    known = registry({"match": "db:*", "volatility": "STABLE"})
    first = known.policy("db", "tool", {"annotations": {"readOnlyHint": False}})
    for number in range(3 * KNOWN_TOOLS):
        known.policy("db", f"tool-{number}")
    assert len(known.known) <= KNOWN_TOOLS
    assert known.policy("db", "tool", {"annotations": {"readOnlyHint": False}}) == first
    assert known.policy("db", "tool").volatility is Volatility.STABLE
