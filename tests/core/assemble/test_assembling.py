"""Assembling over random shelves of nodes: budgets hold, equal inputs give equal replies, content is said once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crp_mcp import ContextBudget, ContextRequest
from crp_mcp.core.assemble.assembling import assemble
from crp_mcp.core.assemble.bm25 import Bm25
from crp_mcp.core.assemble.choose import BackendMissing
from crp_mcp.core.assemble.corpus import About
from crp_mcp.core.assemble.intent import read_intent
from crp_mcp.core.assemble.reply import Reply
from crp_mcp.core.assemble.words import count_terms
from crp_mcp.core.request.nodes import Node
from crp_mcp.tokens import open_counter

COUNT = open_counter().count


@dataclass
class Shelf:
    """Nodes in memory, with relations as given."""

    nodes: dict[str, Node]
    edges: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    abouts: dict[str, About] = field(default_factory=dict)

    backends = frozenset(("shelf",))

    def __post_init__(self) -> None:
        self.index = Bm25()
        for node in self.nodes.values():
            self.index.add(count_terms([node.title, node.summary, node.body]))

    def search(self, terms: Mapping[str, float], limit: int) -> Sequence[tuple[str, float]]:
        uris = list(self.nodes)
        return [(uris[number], score) for number, score in self.index.search(terms)[:limit]]

    def resolve(self, reference: str) -> Sequence[str]:
        return [uri for uri in self.nodes if uri.endswith(reference)]

    def neighbours(self, uri: str) -> Iterable[tuple[str, str]]:
        return self.edges.get(uri, [])

    def about(self, uri: str) -> About | None:
        return self.abouts.get(uri) or (About(uri, "PCE"[len(uri) % 3]) if uri in self.nodes else None)

    def node(self, uri: str) -> Node | None:
        return self.nodes.get(uri)

    def chosen(self) -> Sequence[str]:
        return [uri for uri, about in self.abouts.items() if about.chosen]

    def past(self) -> Sequence[str]:
        return [uri for uri, about in self.abouts.items() if about.past]

    def note(self, uri: str) -> str:
        return "NOTE: old" if len(uri) % 5 == 0 else ""


def node(number: int, body: str = "", **more: object) -> Node:
    uri = f"uko-py:function/m{number}"
    return Node(uri, f"function m{number}", "m.py", body=body, whole=True, **more)  # type: ignore[arg-type]


def shelf(*bodies: str) -> Shelf:
    made = [node(number, body, summary=body[:20]) for number, body in enumerate(bodies)]
    return Shelf({one.uri: one for one in made})


def ask(corpus: Shelf, budget: int = 10_000, **fields: object) -> Reply:
    return assemble(ContextRequest(**fields), corpus, budget=ContextBudget(max_tokens=budget), count=COUNT)


PIECES = ("alpha", "beta", "gamma", "delta\n", "", "return(x)", "東京", "🙂🙂", "'''", "\n\n", "0x1f")
body = st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(body, max_size=12), st.integers(0, 400), st.integers(0, 3), st.booleans(), st.data())
def test_no_budget_is_ever_passed(
    bodies: list[str], budget: int, breadth: int, gradient: bool, data: st.DataObject
) -> None:
    """Preamble and text, counted in one piece, fit the budget; the reply is the same when asked again."""
    corpus = shelf(*bodies)
    uris = list(corpus.nodes)
    for uri in uris:
        corpus.edges[uri] = [("calls", other) for other in data.draw(st.lists(st.sampled_from(uris), max_size=3))]
    fields = {
        "query": "alpha return delta",
        "breadth": breadth,
        "depth_gradient": gradient,
        "focus": ["m0"],
        "depth": 5,
    }
    reply, again = ask(corpus, budget, **fields), ask(corpus, budget, **fields)
    delivered = COUNT(reply.text) + COUNT(reply.context.preamble or "") if reply.text or reply.context.preamble else 0
    assert delivered == reply.context.total_tokens <= budget
    assert again.to_json() == reply.to_json()
    for one in reply.fragments:
        assert one.content in reply.text
        assert one.token_count == COUNT(one.content)


def test_equal_content_is_said_once_and_named_for_both() -> None:
    """Two nodes with the same content give one fragment, which names the other; the other is among the excluded."""
    reply = ask(shelf("alpha beta gamma", "alpha beta gamma"), query="alpha")
    (only,) = reply.fragments
    assert only.metadata["same_content"] == ["uko-py:function/m1"]
    assert "same content" in reply.excluded[0].why


def test_what_stands_inside_a_whole_node_is_not_said_again() -> None:
    """A part is left out where the node that contains it is delivered whole."""
    corpus = shelf("alpha outer\nalpha inner", "alpha inner")
    outer, inner = corpus.nodes
    corpus.abouts[inner] = About(inner, "P", parent=outer)
    reply = ask(corpus, focus=["m0"], query="alpha")
    assert [one.uko_node for one in reply.fragments] == [outer]
    assert reply.excluded[0].why == f"stands in {outer}"


def test_cycles_end_and_breadth_zero_stays_at_the_focus() -> None:
    """Relations in a circle are walked once; without breadth nothing but the focus comes."""
    corpus = shelf("one", "two", "three")
    a, b, c = corpus.nodes
    corpus.edges = {a: [("calls", b)], b: [("calls", c)], c: [("calls", a)]}
    assert {one.uko_node for one in ask(corpus, focus=["m0"], breadth=5).fragments} == {a, b, c}
    assert [one.uko_node for one in ask(corpus, focus=["m0"], breadth=0).fragments] == [a]
    depths = {one.uko_node: one.detail_depth for one in ask(corpus, focus=["m0"], breadth=2, depth=9).fragments}
    assert depths[a] > depths[b] > depths[c]


def test_time_type_and_priority_filter() -> None:
    """Past nodes need HISTORICAL or ALL; a point in time shows what held then; types and low priority leave out."""
    corpus = shelf("alpha rare", "alpha rare gone", "beta alpha other words dilute it a lot, many of them here")
    now, before, weak = corpus.nodes
    corpus.abouts = {
        now: About(now, "P", at=100.0),
        before: About(before, "P", at=10.0, past=True, since=100.0),
        weak: About(weak, "P", at=5.0),
    }

    def found(**fields: object) -> set[str]:
        return {one.uko_node for one in ask(corpus, query="alpha rare", **fields).fragments}

    assert found() == {now, weak}
    assert found(temporal="HISTORICAL") == {before}
    assert found(temporal="ALL") == {now, before, weak}
    assert found(as_of="1970-01-01T00:00:50") == {before, weak}
    assert found(uko_types=["uko-doc:"]) == set()
    assert weak not in found(priority=0.0)


@pytest.mark.parametrize("name", ["closeSession", "close_session", "`gadget`", "``gadget``"])
def test_what_a_question_spells_as_a_name_counts_more_than_its_other_words(name: str) -> None:
    """Code quotes, inner capitals and underscores say that a word is a name."""
    word = name.strip("`")
    corpus = shelf("lost lost", f"{word} {word}", *(f"other{n} {'lost' if n % 3 else word}" for n in range(9)))
    lost, named = list(corpus.nodes)[:2]
    scores = {one.uko_node: one.relevance_score for one in ask(corpus, query=f"lost {name}").fragments}
    assert scores[named] > scores[lost]
    plain = {one.uko_node: one.relevance_score for one in ask(corpus, query="lost gadget").fragments}
    if word == "gadget":
        assert scores[named] - scores[lost] > plain[named] - plain[lost]


def test_a_missing_backend_is_an_error_that_names_those_there_are() -> None:
    """A required backend that is not there stops the request."""
    with pytest.raises(BackendMissing, match="shelf"):
        ask(shelf("alpha"), query="alpha", required_backends=["semantic-embedding"])


def test_reserved_tokens_are_for_critical_requests() -> None:
    """Only a priority above one half draws on what is reserved."""
    corpus = shelf("alpha " * 400)
    budget = ContextBudget(max_tokens=300, reserved_tokens=200)

    def limit(priority: float) -> int:
        request = ContextRequest(query="alpha", priority=priority)
        return assemble(request, corpus, budget=budget, count=COUNT).budget

    assert (limit(0.5), limit(0.75), limit(1.0)) == (100, 200, 300)


@pytest.mark.parametrize(
    ("question", "name", "blend"),
    [
        ("Filter those query results to last month and explain the trend", "TOOL_REFERENCE", (25, 25, 50)),
        ("Show me those results again", "TOOL_REFERENCE", (20, 30, 50)),
        ("What do you mean by that?", "CLARIFY", (20, 75, 5)),
        ("Tell me more about the parser", "DRILL_DOWN", (30, 65, 5)),
        ("Continue with the migration", "CONTINUE", (50, 40, 10)),
        ("How does authentication work?", "EXPLORE", (70, 25, 5)),
        ("How are default values shown in the help output?", "EXPLORE", (70, 25, 5)),
    ],
)
def test_intents_and_their_blends(question: str, name: str, blend: tuple[int, int, int]) -> None:
    """The first intent that fits decides the shares of persistent, conversational and ephemeral context."""
    intent = read_intent(question)
    assert (intent.name, tuple(intent.percent.values())) == (name, blend)


def test_notes_are_delivered_and_stand_outside_the_hash() -> None:
    """What must be said beside a node is in the text, and does not change the context's hash."""
    corpus = shelf("alpha")
    (uri,) = corpus.nodes
    plain = ask(corpus, query="alpha")
    corpus.nodes[uri] = replace(corpus.nodes[uri])
    corpus.note = lambda uri: "NOTE: may be outdated"  # type: ignore[method-assign]
    noted = ask(corpus, query="alpha")
    assert noted.text.startswith("NOTE: may be outdated\n")
    assert noted.context.context_hash == plain.context.context_hash
