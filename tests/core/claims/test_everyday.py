"""Sentences as models write them about results: sums without the word, durations, ids after superlatives, switches."""

import json

import pytest

from crp_mcp.core.claims import Evidence, Options, Outcome, check_claims
from crp_mcp.core.claims.load import read_document

YES, NO, OPEN = Outcome.SUPPORTED, Outcome.CONTRADICTED, Outcome.UNVERIFIABLE
HARVEST = [
    {"month": "May", "farm": "Hill", "crates": 20, "income": 200.5},
    {"month": "May", "farm": "Lake", "crates": 25, "income": 310.0},
    {"month": "June", "farm": "Hill", "crates": 31, "income": 290.25},
    {"month": "June", "farm": "Lake", "crates": 12, "income": 150.0},
]
TICKETS = [
    {"ticket_id": 701, "buyer": "Nora", "paid": 45.5, "bought": "2024-05-02"},
    {"ticket_id": 702, "buyer": "Otto", "paid": 130.0, "bought": "2024-05-06"},
    {"ticket_id": 703, "buyer": "Nora", "paid": 99.5, "bought": "2024-05-04"},
]
CREW = [
    {"name": "Pia", "watch": "day", "salary": 3100, "seen": "2023-11-02"},
    {"name": "Quentin", "watch": "night", "salary": 3900, "seen": "2024-02-01"},
    {"name": "Rosa", "watch": "day", "salary": 3300, "seen": "2024-03-09"},
]
RIDES = [{"ride": "A1", "duration_min": 95}, {"ride": "B2", "duration_min": 130}, {"ride": "C3", "duration_min": 70}]
LOG = "\n".join(f"10:0{i} {level} step {i}" for i, level in enumerate(["INFO", "ERROR", "INFO", "WARN"]))
RESULTS = {
    "harvest": HARVEST, "tickets": TICKETS, "crew": CREW, "rides": RIDES,
    "config": {"host": "db1", "cache": True, "trace": False}, "log": LOG,
}  # fmt: skip


@pytest.mark.parametrize(
    ("of", "text", "expected"),
    [
        ("harvest", "In May, 45 crates were sold.", YES),
        ("harvest", "In May, 47 crates were sold.", OPEN),
        ("harvest", "Income totalled 950.75.", YES),
        ("harvest", "Income totalled 905.75.", NO),
        ("tickets", "The average ticket value is about $92.", YES),
        ("tickets", "The average ticket value is about $29.", NO),
        ("tickets", "The most recent ticket was bought on May 4, 2024 by Nora.", NO),
        ("tickets", "The most recent ticket was bought on May 6, 2024 by Otto.", YES),
        ("tickets", "The largest ticket is 702.", YES),
        ("tickets", "The largest ticket is 703.", NO),
        ("tickets", "1 of the 3 tickets exceed 100.", YES),
        ("tickets", "2 of the 3 tickets exceed 100.", NO),
        ("crew", "The day watch earns 6,400 in total.", YES),
        ("crew", "Quentin is the highest paid, with 3,900.", YES),
        ("crew", "Rosa is the highest paid.", NO),
        ("crew", "Two people earn more than 3,200.", YES),
        ("crew", "Pia has not been seen since 2023.", YES),
        ("rides", "The fastest option takes 1 hour 10 minutes.", YES),
        ("rides", "The fastest option takes 1 hour 50 minutes.", NO),
        ("config", "Trace mode is disabled.", YES),
        ("config", "Trace mode is enabled.", NO),
        ("config", "Cache mode is enabled.", YES),
        ("harvest", "Hill's income in May was 310.", NO),
        ("harvest", "Hill's income in May was 200.50.", YES),
        ("harvest", "June in the Hill had the highest income.", OPEN),
        ("crew", "Rosa: 3,300", YES),
        ("crew", "Rosa: 3,900", NO),
        ("log", "There were no errors in the log.", NO),
    ],
)
def test_everyday_sentences(of: str, text: str, expected: Outcome) -> None:
    """What a person computes by hand is what is found."""
    data = RESULTS[of]
    document = read_document((data if isinstance(data, str) else json.dumps(data)).encode())
    verdict = check_claims(text, [Evidence("r", lambda: document)])[0]
    assert verdict.outcome is expected, verdict.reason


def test_no_error_elsewhere_says_nothing_of_a_test_run() -> None:
    """Where nothing bears on a sentence, the latest result is no run of tests; a tool of that name comes before it."""
    rides = read_document(json.dumps(RIDES).encode())
    denied = read_document(b'{"error": "permission denied", "status": 403}')
    results = [Evidence("a", lambda: denied, tool="query_db"), Evidence("b", lambda: rides, tool="list_rides")]
    for text in ("All 63 tests passed.", "The tests pass.", "The query succeeded."):
        assert check_claims(text, results, options=Options(picked=False))[0].outcome is OPEN
