"""Going on: pages of a context never repeat, keep within their budgets, and end with all that can be delivered."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crp_mcp import ContextBudget, ContextRequest
from crp_mcp.core.assemble.assembling import assemble
from crp_mcp.core.assemble.corpus import About
from crp_mcp.core.assemble.reply import Reply
from tests.core.assemble.test_assembling import COUNT, Shelf, body, node, shelf

REQUEST = ContextRequest(query="alpha return delta", focus=["m0"], breadth=2, depth=5)


def page(corpus: Shelf, budget: int, before: dict[str, int], request: ContextRequest = REQUEST) -> Reply:
    return assemble(request, corpus, budget=ContextBudget(max_tokens=budget), count=COUNT, before=before)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(body, min_size=1, max_size=10), st.lists(st.integers(40, 500), min_size=1, max_size=5))
def test_pages_join(bodies: list[str], budgets: list[int]) -> None:
    """Whatever the sizes: nothing twice, nothing over its budget, and all that one large answer has."""
    corpus = shelf(*bodies)
    whole = {one.uko_node for one in page(corpus, 100_000, {}).fragments}
    before: dict[str, int] = {}
    digests, number = set[str](), 0
    while True:
        budget = budgets[number] if number < len(budgets) else 2_000
        reply, again = page(corpus, budget, before), page(corpus, budget, before)
        assert reply.to_json() == again.to_json()
        assert reply.context.total_tokens <= budget
        digests.add(reply.found_digest)
        new = {one.uko_node: one.detail_depth for one in reply.fragments}
        assert not new.keys() & before.keys()
        before |= new
        number += 1
        if not reply.more:
            break
        assert new or budget < 500
    assert len(digests) == 1
    assert whole <= before.keys()


def test_what_was_said_is_not_said_again_under_another_name() -> None:
    """Equal content, and parts of what was delivered whole, are left out of the next page too."""
    whole, part = node(1, "alpha beta\nalpha gamma"), replace(node(2, "alpha gamma"), whole=True)
    twin = node(3, "alpha beta\nalpha gamma")
    corpus = Shelf({one.uri: one for one in (whole, part, twin)})
    corpus.abouts[part.uri] = About(part.uri, "P", parent=whole.uri)
    reply = page(corpus, 10_000, {whole.uri: 9}, ContextRequest(query="alpha"))
    assert reply.fragments == []
    assert not reply.more
    shallow = page(corpus, 10_000, {whole.uri: 4}, ContextRequest(query="alpha"))
    assert [one.uko_node for one in shallow.fragments] == [part.uri]


def test_the_digest_changes_with_what_is_found() -> None:
    """Another node, other content: another digest; another budget: the same."""
    first = page(shelf("alpha", "beta delta"), 500, {})
    assert page(shelf("alpha", "beta delta"), 90, {}).found_digest == first.found_digest
    assert page(shelf("alpha", "beta delta", "alpha delta"), 500, {}).found_digest != first.found_digest
    assert page(shelf("alpha", "delta beta"), 500, {}).found_digest != first.found_digest
