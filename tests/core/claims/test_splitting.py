"""What counts as a claim: sentences, list items, table rows; not questions, plans, hedges or code."""

from __future__ import annotations

import pytest

from crp_mcp.core.claims import claims_of
from crp_mcp.core.claims.split import clauses


def texts(text: str) -> list[str]:
    return [c.text for c in claims_of(text)]


def test_sentences_are_split_and_numbers_and_abbreviations_are_not() -> None:
    """A full stop inside a number, an abbreviation or an initial ends nothing."""
    found = texts("The mean is 4.5 approx. per day. Dr. Smith saw 3 patients. J. Doe saw none.")
    assert found == ["The mean is 4.5 approx. per day.", "Dr. Smith saw 3 patients.", "J. Doe saw none."]


@pytest.mark.parametrize(
    "text",
    [
        "Would you like me to continue?",
        "How many rows are there?",
        "I'll check the logs next.",
        "Let me run the query again.",
        "I think there are 12 rows.",
        "It might be 12 rows.",
        "The count is probably 12.",
        "Please wait 5 seconds.",
        "Sure!",
        "You should restart the 3 servers.",
    ],
)
def test_what_claims_nothing_is_left_alone(text: str) -> None:
    """Questions, plans, hedges, advice and pleasantries are no claims."""
    assert texts(text) == []


def test_statement_before_a_question_is_a_claim() -> None:
    """`There are 7, do you want one?` states the 7."""
    assert len(texts("There are 7 open tickets, would you like to see them?")) == 1


def test_list_items_carry_their_lead() -> None:
    """Each item is a claim, and knows what the list is of."""
    found = claims_of("Shops by revenue:\n\n- Station: 203,750\n- Harbour: 120,500\n")
    assert [(c.text, c.context) for c in found] == [
        ("Station: 203,750", "Shops by revenue"),
        ("Harbour: 120,500", "Shops by revenue"),
    ]


def test_table_rows_are_claims_cell_by_cell() -> None:
    """A Markdown table gives one claim a row, its cells paired with their headers."""
    text = "Here:\n\n| Shop | Staff |\n|---|---:|\n| Station | 21 |\n| Harbour | 14 |\n"
    assert [c.cells for c in claims_of(text)] == [
        (("Shop", "Station"), ("Staff", "21")),
        (("Shop", "Harbour"), ("Staff", "14")),
    ]


def test_code_is_no_claim() -> None:
    """What stands in a fence is not said."""
    assert texts("Run this:\n\n```\nThere are 5 rows.\n```\n\nThere are 6 rows.") == ["There are 6 rows."]


def test_citations_are_taken_off_and_kept() -> None:
    """`[scratch_sql_001]` is a citation, not a word of the claim."""
    claim = claims_of("There are 6 rows [scratch_sql_001].")[0]
    assert (claim.text, claim.cited) == ("There are 6 rows .", ("scratch_sql_001",))


def test_offsets_point_into_the_text() -> None:
    """A claim can be found again where it was said."""
    text = "First, hello. The **total** is 5. Fine then, it was 6."
    assert [text[c.start : c.end] for c in claims_of(text)][1:] == ["The **total** is 5.", "Fine then, it was 6."]


def test_clauses_are_cut_coarsest_first() -> None:
    """`while` cuts before `and` does."""
    ways = clauses("A has 5 rows and the rest is new, while B has 6 rows")
    assert ways[0] == ["A has 5 rows and the rest is new", "B has 6 rows"]


def test_a_name_that_ends_in_an_abbreviation_may_end_a_sentence() -> None:
    """What starts like a sentence after `Ltd.` is one; a name goes on."""
    assert [c.text for c in claims_of("It was sold to Birch Ltd. The price was 5.")] == [
        "It was sold to Birch Ltd.",
        "The price was 5.",
    ]
    assert len(claims_of("Birch Ltd. Norway has 5 shops.")) == 1
