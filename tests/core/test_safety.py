"""The safety policy: what is read, what is refused, what a request may change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.safety import POLICY_KEY, Retain, SafetyPolicy, Stale, parse_policy, policy_for, tighten, with_header
from crp_mcp.errors import BadRequest, Refused

STALE = st.sampled_from([None, *Stale])


def test_both_spellings_are_read_and_one_is_written() -> None:
    """`name=value` and `name value` mean the same; `=` is what we write."""
    policy = parse_policy("tool-output-stale warn; tool-output-retain=audit ;tool-provenance = required;")
    assert policy == SafetyPolicy(Stale.WARN, Retain.AUDIT, True)
    assert policy.to_text() == "tool-output-stale=warn; tool-output-retain=audit; tool-provenance=required"
    assert policy.audits
    assert not policy.evicts


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("tool-output-stael=warn", "tool-output-stael"),
        ("tool-output-stale=warn; tool-output-stale=warn", "tool-output-stale"),
        ("tool-output-stale=maybe", "maybe"),
        ("tool-provenance", "tool-provenance"),
        ("tool-output-retain=", "tool-output-retain"),
    ],
)
def test_what_is_wrong_is_named(text: str, named: str) -> None:
    """Unknown and repeated directives and unknown values are errors that name what is wrong."""
    with pytest.raises(BadRequest, match=named):
        parse_policy(text)


def test_directives_of_other_parts_are_reported_not_enforced() -> None:
    """What SPEC-006 defines is understood, kept and said not to be enforced here."""
    policy = parse_policy("default-src context; halt-on CRITICAL; block-pii; tool-output-stale=exclude")
    assert policy.report()["not_enforced_here"] == ["default-src", "halt-on", "block-pii"]
    assert policy.report()["enforced"]["tool-output-stale"] == "exclude"
    assert parse_policy(policy.to_text()) == policy


@pytest.mark.parametrize(
    "asked",
    ["tool-output-stale=reinvoke", "tool-output-retain=audit", "tool-output-retain=all", "tool-provenance=optional"],
)
def test_a_request_may_not_set_what_is_the_operators(asked: str) -> None:
    """Only warn, exclude and required may be asked for."""
    with pytest.raises(Refused, match=asked):
        tighten(SafetyPolicy(), asked)


@given(STALE, st.sampled_from([None, Stale.WARN, Stale.EXCLUDE]), st.booleans(), st.booleans())
def test_a_request_only_tightens(operator: Stale | None, asked: Stale | None, cites: bool, wants: bool) -> None:
    """The stricter of the two holds, directive by directive, and the rest is the operator's."""
    text = "; ".join(
        [*([f"tool-output-stale={asked}"] if asked else []), *(["tool-provenance=required"] if wants else [])]
    )
    policy = SafetyPolicy(operator, Retain.ALL, cites)
    merged = tighten(policy, text)
    order = [None, Stale.REINVOKE, Stale.WARN, Stale.EXCLUDE]
    assert order.index(merged.stale) == max(order.index(operator), order.index(asked))
    assert merged.must_cite == (cites or wants)
    assert merged.retain is Retain.ALL


def test_headers_of_a_request_join_what_its_meta_asks_for() -> None:
    """Of a request's header lines and its `_meta` the strictest holds, whichever of them said it."""
    meta = {POLICY_KEY: "tool-output-stale=exclude", "other": 1}
    joined = with_header(meta, "tool-output-stale=warn; halt-on CRITICAL", "tool-provenance=required")
    policy = policy_for(SafetyPolicy(Stale.REINVOKE, Retain.AUDIT), joined)
    assert policy == SafetyPolicy(Stale.EXCLUDE, Retain.AUDIT, True, (("halt-on", "CRITICAL"),))
    assert joined["other"] == 1
    assert with_header(meta) == meta


@pytest.mark.parametrize("asked", ["tool-output-retain=evaporate", "tool-provenance=optional"])
def test_a_header_may_not_loosen(asked: str) -> None:
    """A header is a request: what is the operator's to say is refused by name."""
    with pytest.raises(Refused, match=asked):
        with_header({}, asked)


@pytest.mark.parametrize("asked", [True, 7, ["tool-output-stale=exclude"], {}])
def test_a_policy_of_another_type_is_an_error(asked: object) -> None:
    """Whoever asks for a policy in a way we cannot read must not believe that it holds."""
    with pytest.raises(BadRequest, match=POLICY_KEY):
        policy_for(SafetyPolicy(), {POLICY_KEY: asked})


@given(st.text(max_size=80))
def test_any_text_is_a_policy_or_an_error(text: str) -> None:
    """Nothing else comes out, and what was read reads back the same."""
    try:
        policy = parse_policy(text)
    except BadRequest:
        return
    assert parse_policy(policy.to_text()) == policy
