"""Sentences over small tables, each check in both directions: what is right is supported, its twin contradicted."""

from __future__ import annotations

import pytest

from .sample import SHOPS, TICKETS, verdict

PAIRS = [
    # counts
    ("The query returned 5 rows.", "The query returned 6 rows."),
    ("I found five shops.", "I found seven shops."),
    ("There are 3 shops in Bergen.", "There are 4 shops in Bergen."),
    ("There are 3 different towns.", "There are 4 different towns."),
    ("Only one shop is in Uppsala.", "Only two shops are in Uppsala."),
    ("Only 2 shops have more than 13 staff.", "Only 4 shops have more than 13 staff."),
    ("3 of the 5 shops are in Bergen.", "2 of the 5 shops are in Bergen."),
    ("Roughly 5 shops were returned.", "Roughly 50 shops were returned."),
    # lookups
    ("Lindgren is in Uppsala.", "Lindgren is in Bergen."),
    ("Station has 21 staff.", "Station has 12 staff."),
    ("Old Mill has a rating of 4.8.", "Old Mill has a rating of 4.5."),
    ("Harbour opened on 4 March 2011.", "Harbour opened on 4 April 2011."),
    ("Northgate opened in 2021.", "Northgate opened in 2019."),
    ("Station made $203,750 in revenue.", "Station made $230,750 in revenue."),
    # extremes
    ("Station has the highest revenue.", "Harbour has the highest revenue."),
    ("Lindgren has the fewest staff.", "Old Mill has the fewest staff."),
    ("The highest rating is 4.8.", "The highest rating is 4.9."),
    ("The lowest revenue is 41,250.", "The lowest revenue is 98,000."),
    ("Station has the most staff with 21.", "Harbour has the most staff with 14."),
    ("Bergen has the most shops.", "Uppsala has the most shops."),
    ("Northgate has the second highest revenue.", "Harbour has the second highest revenue."),
    ("Northgate is the newest shop.", "Station is the newest shop."),
    ("The top 2 shops by revenue are Station and Northgate.", "The top 2 shops by revenue are Station and Harbour."),
    # aggregates
    ("The average staff is 12.2.", "The average staff is 15.2."),
    ("The total revenue is 613,500.", "The total revenue is 631,500."),
    ("The median staff is 12.", "The median staff is 14."),
    ("The total staff in Bergen is 42.", "The total staff in Bergen is 61."),
    ("Staff ranges from 5 to 21.", "Staff ranges from 9 to 21."),
    # comparisons
    ("Station has more staff than Harbour.", "Harbour has more staff than Station."),
    ("Station has 7 more staff than Harbour.", "Station has 5 more staff than Harbour."),
    ("Bergen has more shops than Uppsala.", "Uppsala has more shops than Bergen."),
    ("Old Mill opened before Station.", "Station opened before Old Mill."),
    ("Harbour is older than Station.", "Station is older than Harbour."),
    ("Station's revenue is more than twice that of Old Mill.", "Station's revenue is more than twice that of Harbour."),
    ("Bergen has three times as many shops as Uppsala.", "Bergen has four times as many shops as Uppsala."),
    ("Uppsala and Aalborg have the same number of shops.", "Bergen and Aalborg have the same number of shops."),
    (
        "The difference in staff between Station and Harbour is 7.",
        "The difference in staff between Station and Harbour is 9.",
    ),
    # sets
    ("Lindgren is the only shop in Uppsala.", "Station is the only shop in Bergen."),
    ("All shops in Bergen have a rating above 3.5.", "All shops in Bergen have a rating above 4."),
    ("Most of the shops are in Bergen.", "Most of the shops are in Uppsala."),
    ("60% of the shops are in Bergen.", "80% of the shops are in Bergen."),
    ("Station accounts for 33% of the total revenue.", "Station accounts for 45% of the total revenue."),
    ("2 shops are not in Bergen.", "3 shops are not in Bergen."),
    ("Harbour is not in Bergen.", "Harbour is not in Aalborg."),
    ("No shop has fewer than 5 staff.", "No shop has fewer than 10 staff."),
    ("Oslo is not in the list.", "Bergen is not in the list."),
    ("Station has the highest revenue and the most staff.", "Station has the highest revenue and the highest rating."),
    ("The table has 6 columns.", "The table has 8 columns."),
    ("Both Station and Northgate are in Bergen.", "Both Station and Lindgren are in Bergen."),
]


@pytest.mark.parametrize(("right", "wrong"), PAIRS)
def test_right_sentence_is_supported_and_its_wrong_twin_contradicted(right: str, wrong: str) -> None:
    """Every kind of check decides both ways over a small table."""
    assert [verdict(right, SHOPS), verdict(wrong, SHOPS)] == ["supported", "contradicted"]


@pytest.mark.parametrize(
    "text",
    [
        "The shops are lovely.",
        "Would you like to see the shops in Bergen?",
        "I will open a sixth shop next.",
        "There might be 9 shops.",
        "Station was founded by Anna Berg.",
        "Harbour sells 300 kinds of tea.",
        "Malmo has the nicest harbour.",
    ],
)
def test_what_the_result_does_not_say_is_unverifiable(text: str) -> None:
    """Opinions, questions, plans, hedges and facts from elsewhere are left alone."""
    assert verdict(text, SHOPS) == "unverifiable"


def test_number_in_another_column_does_not_support() -> None:
    """A right number under a wrong name is no support."""
    assert verdict("Harbour has 4.2 staff.", SHOPS) != "supported"
    assert verdict("Station has a rating of 21.", SHOPS) == "contradicted"


def test_number_of_another_row_is_contradicted() -> None:
    """Station's revenue is not Harbour's."""
    assert verdict("Harbour has a revenue of 203,750.", SHOPS) == "contradicted"


def test_all_over_some_is_contradicted() -> None:
    """`all N are X` fails where only some are."""
    assert verdict("All 24 tickets are closed.", TICKETS) == "contradicted"
    assert verdict("16 tickets are open.", TICKETS) == "supported"
    assert verdict("8 tickets are open.", TICKETS) == "contradicted"


def test_numeric_strings_compare_as_numbers() -> None:
    """Numbers that came as strings are numbers."""
    rows = [{"artist": "Ox", "tracks": "213"}, {"artist": "Elk", "tracks": "99"}, {"artist": "Yak", "tracks": "100"}]
    assert verdict("Ox has the most tracks, 213.", rows) == "supported"
    assert verdict("Elk has the most tracks.", rows) == "contradicted"


def test_big_identifiers_are_exact() -> None:
    """Eighteen digits are compared to the last one."""
    rows = [{"id": 505874924095815681, "user": "a"}, {"id": 505874924095815999, "user": "b"}]
    assert verdict("The first row has id 505874924095815681.", rows) == "supported"
    assert verdict("The first row has id 505874924095815682.", rows) == "contradicted"


def test_negative_amount_is_a_refund_of_that_much() -> None:
    """`$114` over -114 is the same amount."""
    value = {
        "order": "A-17",
        "payments": [{"method": "gift card", "amount": 300}, {"method": "gift card", "amount": -114}],
    }
    assert verdict("A refund of $114 went back to your gift card.", value) == "supported"
