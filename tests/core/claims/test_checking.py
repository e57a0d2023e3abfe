"""From text to verdicts: citations, alignment, attribution, several results, tables in the answer, the batch form."""

from __future__ import annotations

import json
from pathlib import Path

from crp_mcp.core.claims import Document, Evidence, Options, Source, check_claims, make_evidence, run_batch
from crp_mcp.core.claims.batch import as_one
from crp_mcp.core.shape import read_shape

from .sample import SHOPS, TICKETS, evidence, verdict, verdicts

REQUIRED = Options(require_citation=True)


def test_cited_result_decides_alone() -> None:
    """A claim that cites one result is held against that one."""
    shops, tickets = evidence(SHOPS, "scratch_sql_001"), evidence(TICKETS, "scratch_api_002")
    assert verdict("The query returned 24 rows [scratch_sql_001].", shops, tickets) == "contradicted"
    assert verdict("The query returned 24 rows [scratch_api_002].", shops, tickets) == "supported"


def test_unknown_citation_is_flagged() -> None:
    """An id that does not exist grounds nothing."""
    found = verdicts("There are 5 shops [scratch_sql_999].", SHOPS)[0]
    assert (found.citation, str(found.outcome)) == ("unknown", "unverifiable")


def test_required_citation_that_is_missing_is_flagged() -> None:
    """Under `tool-provenance=required` a grounded claim must cite."""
    assert verdicts("There are 5 shops.", SHOPS, options=REQUIRED)[0].citation == "missing"
    assert verdicts("There are 5 shops [scratch_sql_001].", SHOPS, options=REQUIRED)[0].citation is None
    assert verdicts("The weather is nice.", SHOPS, options=REQUIRED)[0].citation is None


def test_without_evidence_nothing_is_decided() -> None:
    """An empty store grounds nothing."""
    found = check_claims("Seattle had 737,015 inhabitants in 2020.", [])[0]
    assert (str(found.outcome), str(found.attribution)) == ("unverifiable", "UNVERIFIABLE")


def test_attribution_follows_the_source() -> None:
    """A tool's result, a fact and a turn ground differently."""
    found = [
        str(verdicts("There are 5 shops.", evidence(SHOPS, source=source))[0].attribution)
        for source in (Source.TOOL, Source.FACT, Source.TURN)
    ]
    assert found == ["TOOL_GROUNDED", "CONTEXT_GROUNDED", "CONVERSATION_GROUNDED"]


def test_distortions_have_types() -> None:
    """What was changed is named."""
    texts = [
        "Station has 12 staff.",
        "Harbour is in Bergen.",
        "Harbour opened on 4 April 2011.",
        "All shops are in Bergen.",
    ]
    found = [str(verdicts(t, SHOPS)[0].distortion) for t in texts]
    assert found == ["NUMBER_CHANGED", "ENTITY_SUBSTITUTED", "DATE_SHIFTED", "CONTEXT_STRIPPED"]


def test_among_many_results_only_likely_ones_are_loaded() -> None:
    """A result that cannot bear on a claim is not read."""
    loaded: list[str] = []

    def lazily(value: object, name: str, columns: tuple[str, ...], tool: str) -> Evidence:
        given = evidence(value, name)

        def load() -> Document:
            loaded.append(name)
            return given.load()

        return Evidence(name, load, tool=tool, columns=columns)

    many = [lazily([{"x": n}], f"scratch_api_{n:03}", ("x",), "metrics") for n in range(40)]
    many.insert(20, lazily(SHOPS, "scratch_sql_099", ("shop", "town", "staff", "revenue"), "list_shops"))
    found = check_claims("Station has 21 staff and a revenue of 203,750.", many)[0]
    assert str(found.outcome) == "supported"
    assert loaded == ["scratch_sql_099"]


def test_table_in_the_answer_is_checked_cell_by_cell() -> None:
    """One wrong cell contradicts its row, and only its row."""
    head = "| Shop | Staff | Town |\n|---|---|---|\n"
    text = head + "| Station | 21 | Bergen |\n| Harbour | 15 | Aalborg |\n| Lindgren | 5 | Uppsala |\n"
    assert [str(v.outcome) for v in verdicts(text, SHOPS)] == ["supported", "contradicted", "supported"]


def test_list_in_the_answer_is_checked_item_by_item() -> None:
    """Items of a list are claims about what the list is of."""
    text = "Revenue by shop:\n- Station: 203,750\n- Harbour: 102,500\n"
    assert [str(v.outcome) for v in verdicts(text, SHOPS)] == ["supported", "contradicted"]


def test_answer_of_several_sentences() -> None:
    """Each sentence has its own verdict; the text is contradicted by any of them."""
    text = "I found 5 shops. Three are in Bergen. Station has the highest rating. Shall I go on?"
    found = verdicts(text, SHOPS)
    assert [str(v.outcome) for v in found] == ["supported", "supported", "contradicted"]
    assert as_one(found)["verdict"] == "contradicted"


def test_batch_answers_every_line(tmp_path: Path) -> None:
    """Good, unreadable and broken lines each get an answer, in order."""
    file = tmp_path / "shops.json"
    file.write_text(json.dumps(SHOPS), encoding="utf-8")

    def load(path: str) -> Evidence:
        return evidence((tmp_path / path).read_bytes(), path)

    lines = [
        json.dumps({"id": "a", "claim": "There are 5 shops.", "against": ["shops.json"]}),
        json.dumps({"id": "b", "claim": "There are 6 shops.", "against": ["shops.json"]}),
        json.dumps({"id": "c", "claim": "There are 6 shops.", "against": ["missing.json"]}),
        json.dumps({"id": "d", "claim": "How are you?", "against": []}),
        "not json",
    ]
    found = list(run_batch(lines, load))
    assert [(r["id"], r["verdict"]) for r in found] == [
        ("a", "supported"),
        ("b", "contradicted"),
        ("c", "unverifiable"),
        ("d", "unverifiable"),
        (None, "unverifiable"),
    ]
    assert found[1]["distortion"] == "NUMBER_CHANGED"
    assert found[1]["evidence"][0]["computed"] == 'SELECT COUNT(*) FROM "shops.json"'
    assert set(found[0]) == {"id", "verdict", "attribution", "distortion", "evidence", "reason"}
    assert "missing.json" in found[2]["reason"]


def test_evidence_of_a_stored_payload_is_read_once_and_late() -> None:
    """The payload is read on first need, and its shape says the columns before that."""
    reads: list[int] = []
    payload = json.dumps(SHOPS).encode()

    def read() -> bytes:
        reads.append(1)
        return payload

    given = make_evidence(
        "scratch_sql_001", read, shape=read_shape(payload), tool="list_shops", provenance_hash="sha256:x"
    )
    assert (given.columns[:2], reads) == (("shop", "town"), [])
    assert [str(v.outcome) for v in check_claims("There are 5 shops. Station has 22 staff.", [given])] == [
        "supported",
        "contradicted",
    ]
    assert given.mentions is not None
    assert (given.mentions(["Lindgren"]), given.mentions(["Nowhere"]), len(reads)) == (True, False, 1)


def test_a_result_that_was_not_read_decides_nothing() -> None:
    """Too large a one is neither empty nor without what is not found in it, and smaller ones may not overrule it."""
    text = (
        "There are 5 shops. There are no rows. The result is empty. Rome does not appear in the list. The call failed."
    )
    payload = json.dumps(SHOPS).encode()
    large = make_evidence("scratch_sql_001", lambda: payload, shape=read_shape(payload), size=101, largest=100)
    small = make_evidence("scratch_sql_002", lambda: b'[{"shop": "Harbour", "staff": 14}]')
    for given in ([large], [large, small]):
        found = check_claims(text, given)
        assert not any(v.outcome == "contradicted" for v in found)
        assert "too " in found[0].reason
    assert not any(v.checked for v in check_claims(text, [large]))
