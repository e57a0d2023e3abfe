"""What is said of a call as a whole: status, success, emptiness, truncation, test runs, logs."""

from __future__ import annotations

import pytest

from .sample import SHOPS, evidence, verdict

FAILED = {"error": "connection refused by upstream", "status_code": 500}
PYTEST = """........s...F....
=========================== short test summary info ============================
FAILED t.py::a
1 failed, 15 passed, 1 skipped in 2.31s
"""
GREEN = "..............\n14 passed, 2 skipped in 0.52s\n"
JEST = """Test Suites: 1 failed, 3 passed, 4 total
Tests:       2 failed, 28 passed, 30 total
Snapshots:   0 total
Time:        3.1 s
"""
GO = "--- PASS: TestA (0.00s)\n--- PASS: TestB (0.01s)\n--- FAIL: TestC (0.00s)\nFAIL\n"
LOG = "\n".join(
    ["2024-05-01 10:00:00 INFO started", "2024-05-01 10:00:01 WARN slow disk", "2024-05-01 10:00:02 ERROR lost peer"]
    + ["2024-05-01 10:00:03 INFO tick"] * 6
    + ["2024-05-01 10:00:09 ERROR lost peer again"]
)
EMPTY = {"results": [], "total": 0}
RESULT_ERROR = {"content": [{"type": "text", "text": "Error executing tool fetch: status code 404"}], "isError": True}


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("The API returned status 200.", FAILED, "contradicted"),
        ("The server answered with a 500 error.", FAILED, "supported"),
        ("The request failed with status 404.", RESULT_ERROR, "supported"),
        ("The request succeeded.", RESULT_ERROR, "contradicted"),
        ("The file was downloaded successfully.", RESULT_ERROR, "contradicted"),
        ("The query failed.", SHOPS, "contradicted"),
        ("The query returned no rows.", SHOPS, "contradicted"),
        ("No results were found.", EMPTY, "supported"),
        ("The search returned no results.", EMPTY, "supported"),
        ("The query returned 0 rows, so the table is empty.", FAILED, "contradicted"),
        ("The tests pass.", PYTEST, "contradicted"),
        ("All tests passed.", GREEN, "unverifiable"),
        ("14 tests passed.", GREEN, "supported"),
        ("All 16 tests passed.", GREEN, "contradicted"),
        ("2 tests were skipped and none failed.", GREEN, "supported"),
        ("15 tests passed and 1 failed.", PYTEST, "supported"),
        ("No tests failed.", PYTEST, "contradicted"),
        ("28 of 30 tests passed.", JEST, "supported"),
        ("All 30 tests passed.", JEST, "contradicted"),
        ("2 tests passed.", GO, "supported"),
        ("All tests passed.", GO, "contradicted"),
        ("The log has 2 errors.", LOG, "supported"),
        ("The log has 5 errors.", LOG, "contradicted"),
        ("There is 1 warning in the log.", LOG, "supported"),
    ],
)
def test_outcome(text: str, value: object, expected: str) -> None:
    """A sentence about the call itself is held against what the call gave."""
    assert expected == verdict(text, value)


def test_total_and_returned_are_two_numbers() -> None:
    """How many match and how many came are told apart."""
    page = {"total": 34, "startAt": 0, "issues": [{"key": "P-1", "summary": "x"}, {"key": "P-2", "summary": "y"}]}
    assert verdict("34 issues match the search.", page) == "supported"
    assert verdict("The search returned 34 issues in this response.", page) == "contradicted"
    assert verdict("The search returned 2 issues in this response.", page) == "supported"


def test_count_over_a_truncated_result_is_not_decided() -> None:
    """What was cut off cannot be counted."""
    cut = {"columns": ["id", "name"], "rows": [[i, f"n{i}"] for i in range(10)], "truncated": True}
    assert verdict("The table has 10 rows.", cut) == "unverifiable"
    assert verdict("The query returned 10 rows and the result was truncated.", cut) == "supported"


def test_scalar_result() -> None:
    """A bare number supports itself, contradicts a slip of the pen and decides nothing else."""
    assert verdict("You saved a total of $10,519.", "10519.0") == "supported"
    assert verdict("You saved a total of $10,591.", "10519.0") == "contradicted"
    assert verdict("You have 3 reservations.", "10519.0") == "unverifiable"


def test_number_in_an_error_text() -> None:
    """Labelled numbers of a message are told apart by their labels."""
    text = "Error: payment does not add up, total price is 305, but paid 255"
    assert verdict("The total price is $305.", text) == "supported"
    assert verdict("The total price is $255.", text) == "contradicted"


def test_rows_of_several_results_add_up() -> None:
    """A count may be the sum of the rows of like results."""
    one, more = [{"name": "Ada", "grade": 1}], [{"name": f"S{i}", "grade": 2} for i in range(18)]
    assert verdict("There are 19 students.", one, more) == "supported"
    assert verdict("There are 25 students.", one, more) != "supported"


def test_evidence_says_how_to_compute_it_again() -> None:
    """A verdict names the result, its hash and the query."""
    from .sample import verdicts

    found = verdicts("There are 4 shops in Bergen.", evidence(SHOPS))[0]
    assert found.findings[0].scratch_id == "scratch_sql_001"
    assert found.findings[0].provenance_hash == "sha256:scratch_sql_001"
    assert found.findings[0].computed == 'SELECT COUNT(*) FROM "scratch_sql_001" WHERE "town" = \'Bergen\''
    assert (found.findings[0].found, found.findings[0].stated) == ("3", "4")
    assert (str(found.attribution), str(found.distortion)) == ("TOOL_GROUNDED", "NUMBER_CHANGED")
