"""Sentences of written answers: movements, groups, lacks, limits, lists in cells, single lines, and what stays open."""

import json

import pytest

from crp_mcp.core.claims import Evidence, Options, Outcome, check_claims
from crp_mcp.core.claims.batch import as_one
from crp_mcp.core.claims.load import read_document

YES, NO, OPEN = Outcome.SUPPORTED, Outcome.CONTRADICTED, Outcome.UNVERIFIABLE
MONTHS = [
    {"month": f"2025-{n:02}", "visits": v, "income": i}
    for n, v, i in ((1, 400, 90.5), (2, 460, 99.0), (3, 430, 84.25), (9, 520, 120.0))
]
SALES = [
    {"order_id": 701 + n, "buyer": b, "state": s, "amount": a, "placed_at": d}
    for n, (b, s, a, d) in enumerate(
        (
            ("Alm", "sent", 120.0, "2026-03-04"), ("Alm", "void", 80.5, "2026-03-01"),
            ("Birk", "sent", 300.0, "2026-04-02"), ("Alm", "sent", 210.0, "2026-04-20"),
            ("Cirk", "open", 95.0, "2026-03-19"), ("Birk", "void", 60.0, "2026-04-11"),
        )
    )
]  # fmt: skip
NODES = [
    {"node": n, "zone": z, "state": s, "ready": r, "assignee": o, "labels": tags, "latency_ms": ms}
    for n, z, s, r, o, tags, ms in (
        ("n-1", "data", "Running", True, "ida", ["gpu", "big"], 40),
        ("n-2", "web", "Pending", False, None, ["gpu"], 75),
        ("n-3", "web", "Running", True, None, ["spot"], 22),
        ("n-4", "data", "CrashLoop", False, "max", [], 31),
    )
]
SITE = {"host": "db1", "port": 8443, "cache": {"enabled": False}, "tls": {"ssl": True}, "temp_c": 4.5, "wind_kph": 30}
LOG = "\n".join(
    (
        "10:00:01 INFO listening on port 8443", "10:00:09 WARN slow query took 2310 ms", "10:01:00 ERROR disk is full",
        "10:01:02 INFO retry 1 for job 88", "10:02:00 ERROR disk is full",
    )
)  # fmt: skip
RUN = """tests/test_api.py ..F.
FAILED tests/test_api.py::test_patch - AssertionError
FAILED tests/test_io.py::test_open - OSError
== 2 failed, 96 passed, 2 skipped in 12.4s ==
"""
STAFF = [{"team": t, "headcount": n} for t, n in (("Red", 40), ("Blue", 25), ("Green", 15))]
PLANS = [
    {"project": p, "budget": b, "spent": s}
    for p, b, s in (("Apollo", 45000, 43120), ("Zeus", 30000, 30000), ("Hera", 52000, 61000))
]
BILLS = [
    {"bill": f"B-{n}", "customer": c, "total": t, "paid": p, "status": s}
    for n, c, t, p, s in (
        (1, "Ada", 120, 120, "paid"), (2, "Bo", 980, 0, "open"),
        (3, "Ada", 430, 200, "partial"), (4, "Cy", 75, 75, "paid"),
    )
]  # fmt: skip
STARS = [{"post": n, "author": a, "comments": c} for n, a, c in ((7, "Ada", 0), (8, "Bo", 3), (9, "Cy", 12))]
RUNS = [
    {"run": n, "result": r} for n, r in ((4, "failed"), (5, "passed"), (9, "failed"), (11, "failed"), (12, "passed"))
]
UNITS = {"units": {"web": "failed", "mail": "active", "cache": "active"}, "since": "2026-01-04"}
DAYS = [
    {"day": f"2024-05-0{n}", "rain_mm": r, "sky": w}
    for n, r, w in ((1, 0, "sun"), (2, 3.2, "rain"), (3, 5, "rain"), (4, 0.4, "cloud"))
]
RESULTS = {
    "bills": BILLS,
    "units": UNITS,
    "runs": RUNS,
    "stars": STARS,
    "plans": PLANS,
    "days": DAYS,
    "months": MONTHS,
    "sales": SALES,
    "nodes": NODES,
    "site": SITE,
    "log": LOG,
    "run": RUN,
    "staff": STAFF,
}


def payload(of: str) -> bytes:
    value = RESULTS[of]
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def evidence(of: str, tool: str = "") -> Evidence:
    document, data = read_document(payload(of)), payload(of)
    return Evidence(
        f"scratch_{of}_001", lambda: document, tool=tool, mentions=lambda words: any(w.encode() in data for w in words)
    )


@pytest.mark.parametrize(
    ("of", "text", "expected"),
    [
        ("months", "Visits grew from 400 in January to 520 in September.", YES),
        ("months", "Visits grew from 400 in January to 620 in September.", NO),
        ("months", "Income dropped between February and March.", YES),
        ("months", "Income rose between February and March.", NO),
        ("months", "Visits increased by 30% between January and September 2025.", YES),
        ("months", "Visits increased by 45% between January and September 2025.", NO),
        ("months", "Visits rose every month.", NO),
        ("months", "Income peaked in September at 120.", YES),
        ("months", "Income peaked in February at 99.", NO),
        ("sales", "Alm is the biggest buyer with 3 orders.", YES),
        ("sales", "Birk is the biggest buyer with 2 orders.", NO),
        ("sales", "Birk has the highest average amount.", YES),
        ("sales", "Cirk has the highest average amount.", NO),
        ("sales", "Alm is the biggest buyer by total amount, with 410.50.", YES),
        ("sales", "On average, Alm has a higher amount than Birk.", NO),
        ("sales", "No order has an amount of more than $350.", YES),
        ("sales", "No order has an amount of more than $250.", NO),
        ("sales", "Order 705 was placed on March 19, 2026 and has an amount of 59.", NO),
        ("sales", "The earliest order dates from March 1 and the latest from April 20.", YES),
        ("sales", "The earliest order is 701.", NO),
        ("nodes", "2 nodes are not ready.", YES),
        ("nodes", "3 nodes are not ready.", NO),
        ("nodes", "2 nodes are unassigned.", YES),
        ("nodes", "n-1 has no assignee.", NO),
        ("nodes", "2 nodes have the label gpu.", YES),
        ("nodes", "n-3 is faster than n-2.", YES),
        ("nodes", "n-2 is faster than n-3.", NO),
        ("nodes", "No node in the data zone is pending.", YES),
        ("nodes", "Both web nodes are ready.", NO),
        ("site", "SSL is off.", NO),
        ("site", "The temperature is 4.5 °C.", YES),
        ("site", "The temperature is 4.5 °F.", OPEN),
        ("log", "The slow query took 2310 ms.", YES),
        ("log", "The slow query took 2130 ms.", NO),
        ("run", "96% of the tests passed.", YES),
        ("run", "The run took about 12 seconds.", YES),
        ("run", "The two failing tests are test_patch and test_open.", YES),
        ("run", "test_patch passed.", NO),
        ("staff", "There are 80 people in total.", YES),
        ("plans", "Hera's spending of 61,000 exceeded its budget.", YES),
        ("bills", "Two bills are paid: B-1 and B-4.", YES),
        ("bills", "The paid bills are B-1 and B-4.", YES),
        ("bills", "The bills of Ada are B-1 and B-3.", YES),
        ("stars", "#7 and #8 have 0 and 3 comments.", YES),
        ("stars", "Bo and Cy have 3 and 12 comments, respectively.", YES),
        ("stars", "Bo and Cy have 12 and 3 comments, respectively.", NO),
        ("stars", "Ada, Bo and Cy have 0, 3 and 12 comments.", YES),
        ("runs", "Runs #4 and #9 failed.", YES),
        ("units", "The mail and the cache are active.", YES),
        ("units", "The web has failed.", YES),
        ("runs", "Runs #4 and #5 failed.", NO),
        ("runs", "The failed runs are #4, #9 and #11.", YES),
        ("runs", "Failed runs include #4 and #11.", YES),
        ("runs", "Three runs failed: #4, #9 and #11.", YES),
        ("stars", "Ada's post has no comments.", YES),
        ("stars", "Bo's post has no comments.", NO),
        ("stars", "Only Ada has no comments.", YES),
        ("stars", "Only Bo has no comments.", NO),
        ("bills", "Three bills are paid.", NO),
        ("bills", "B-2 is paid.", NO),
        ("bills", "B-3 was paid 200.", YES),
        ("plans", "Apollo's spending of 43,120 exceeded its budget.", NO),
        ("plans", "Hera's budget of 52,000 is 7,000 higher than Apollo's budget of 45,000.", YES),
    ],
)
def test_what_is_written_is_decided(of: str, text: str, expected: Outcome) -> None:
    """What the rows say of movements, groups, lacks and limits is borne out or refuted."""
    assert as_one(check_claims(text, [evidence(of)]))["verdict"] == str(expected)


@pytest.mark.parametrize(
    ("of", "text"),
    [
        ("sales", "Most orders in 2026 were sunny."),
        ("sales", "All urgent orders were sent."),
        ("sales", "6 orders are blocked."),
        ("sales", "Two orders need a signature."),
        ("sales", "Three orders were discontinued."),
        ("sales", "Most buyers prefer Cirk."),
        ("nodes", "Three nodes have a label: gpu, spot and arm."),
        ("nodes", "All nodes in the data zone are rebooting."),
        ("nodes", "n-1 can be moved from 40 to 19.0.1."),
        ("run", "The two failing tests are test_patch and test_close."),
        ("staff", "2 teams went over headcount: Red and Blue."),
        ("days", "It rained on three days."),
        ("bills", "B-3 still has €230 outstanding."),
        ("runs", "The failed runs are #4 and #11."),
        ("units", "The mail has failed."),
        ("bills", "Ada has two bills, coming to 550 together."),
        ("stars", "There are 15 comments on show across all posts."),
        ("bills", "Two bills were opened in May."),
        ("bills", "B-3 of Ada is the largest, with 430 in total."),
        ("days", "It rained on two days."),
    ],
)
def test_what_leaves_words_unexplained_stays_open(of: str, text: str) -> None:
    """A predicate, a limit or a name with no counterpart decides nothing, however well the numbers fit."""
    assert as_one(check_claims(text, [evidence(of)]))["verdict"] == str(OPEN)


@pytest.mark.parametrize(
    "text",
    ["Total income across all orders is 865.50.", "n-3 takes 22 seconds.", "The earliest order is of January 2."],
)
def test_a_result_decides_nothing_that_is_said_of_another(text: str) -> None:
    """Where another result has what a sentence names, this one contradicts nothing."""
    given = [evidence("sales", "list_orders"), evidence("nodes", "list_nodes"), evidence("months", "get_months")]
    for verdict in check_claims(text, given, options=Options(picked=False)):
        assert verdict.outcome is not NO or verdict.findings[0].scratch_id != "scratch_months_001"


def test_what_is_said_of_members_of_an_object_is_so_of_each() -> None:
    """One of them that is something else is enough."""
    text = "The mail and the web are active."
    assert as_one(check_claims(text, [evidence("units")]))["verdict"] == str(NO)
