"""Sentences that are easily misread, over small tables: what is right is supported, what is wrong contradicted."""

from __future__ import annotations

from typing import Any

import pytest

from .sample import rows, verdict

STAFF = rows(
    ("name", "age", "team", "earns", "place"),
    ("Ida", 31, "red", 115000, "remote"),
    ("Bo", 24, "blue", 90000, "on site"),
    ("Cy", 58, "red", 90000, "remote"),
    ("Dee", 27, "blue", 72500, "on site"),
    ("Eve", 44, "red", 101000, "remote"),
    ("Fay", 39, "green", 88000, "on site"),
)
TICKETS = rows(
    ("id", "status", "title"),
    (1, "closed", "Login"),
    (2, "open", "Export"),
    (3, "open", "Crash"),
    (4, "closed", "Slow"),
)
PLACES = rows(("employee", "location"), *((f"E{n}", "remote" if n < 5 else "office") for n in range(12)))
ACCOUNTS = b"account,balance\nRent,(12.50)\nFood,(300.00)\nPay,2500.00\n"
SEEDS = b"player,seed\nAda,(3)\nBea,1\nCal,(2)\n"
PACKAGES = rows(("package", "version", "size"), ("alpha", "3.11", 10), ("beta", "3.9", 20), ("gamma", "1.10", 30))
ROLES = rows(("name", "role", "points"), ("Ann", "lead", 5), ("Ben", "member", 7), ("Cat", "member", 9))
GOODS = rows(
    ("item", "price", "latency", "disk"),
    ("desk", "120 EUR", "300 ms", "4 GB"),
    ("lamp", "35 EUR", "120 ms", "16 GB"),
    ("sofa", "800 EUR", "90 ms", "8 GB"),
)
JOBS = rows(
    ("job", "status", "retries", "duration_ms"),
    ("sync", "failed", 2, 2_700_000),
    ("backup", "succeeded", 0, 7_200_000),
    ("index", "succeeded", 1, 600_000),
)
STOCK = rows(
    ("name", "qty", "price_usd", "active"),
    ("Bolt", 0, 0.25, True),
    ("Nut", 150, 0.1, True),
    ("Washer", 75, 0.05, False),
    ("Screw", 320, 0.3, True),
)
SCORES = rows(
    ("Model", "BLEU", "chrF", "Loss"),
    ("Base", 20.1, 45.0, 3.2),
    ("Wide", 22.4, 47.3, 2.9),
    ("Deep", 25.0, 50.1, 2.2),
    ("Deep-XL", 25.9, 51.0, 2.6),
)
GAMES = rows(("home", "away", "month"), ("Oaks", "Elms", "May"), ("Elms", "Oaks", "May"), ("Oaks", "Firs", "June"))
ORDERS = rows(
    ("order_id", "customer", "total", "status", "placed"),
    (5001, "Ann Lee", 120.5, "shipped", "2024-05-01"),
    (5002, "Bob Ray", 80.0, "pending", "2024-05-03"),
    (5003, "Ann Lee", 45.25, "cancelled", "2024-06-10"),
    (5004, "Cara Moss", 300.0, "shipped", "2024-06-21"),
)
WEATHER = {"city": "Lisbon", "temperature_c": 21.4, "humidity": 55, "condition": "cloudy"}
MONTHS = rows(("month", "units", "cost"), ("Jan", 100, 3000), ("Feb", 140, 3900), ("Mar", 90, 2800))
FILES = rows(("path", "lines", "author"), ("app.py", 120, "mia"), ("db.py", 340, "tom"), ("cli.py", 60, "mia"))
RUNS = rows(("job", "took", "size_mb"), ("build", "1.5 s", 2), ("lint", "300 ms", 5), ("test", "2 s", 3))


RIGHT = [
    (TICKETS, "Ticket 1 is closed."),
    (TICKETS, "Ticket 2 is open."),
    (TICKETS, "Tickets 1 and 4 are closed."),
    (TICKETS, "Ticket #3 is titled Crash."),
    (TICKETS, "2 tickets are closed."),
    (STAFF, "Half of the staff are in team red."),
    (STAFF, "One third of the staff are in team blue."),
    (STAFF, "A third of the people are in team blue."),
    (STAFF, "The two youngest are Bo and Dee."),
    (STAFF, "The two oldest are Cy and Eve."),
    (STAFF, "The three oldest are Cy, Eve and Fay."),
    (STAFF, "Bo and Cy both earn 90,000."),
    (STAFF, "Ida earns 115k."),
    (STAFF, "Ida earns 115 thousand."),
    (STAFF, "Everyone earns at least 72,000."),
    (STAFF, "Nobody earns less than 72,000."),
    (STAFF, "All of them earn more than 70,000."),
    (STAFF, "Everyone is older than 23."),
    (STAFF, "3 people are on site."),
    (STAFF, "Bo is on site."),
    (STAFF, "Everyone but Cy is younger than 50."),
    (STAFF, "Everyone but Fay is in team red or blue."),
    (STAFF, "Everyone except Cy is under 50."),
    (STAFF, "All except Fay are in team red or blue."),
    (STAFF, "Three people are in team red, including Ida."),
    (PLACES, "There are 12 employees, 5 of them remote."),
    (PLACES, "There are 12 employees, 7 of them in the office."),
    (PLACES, "12 employees, 5 of whom are remote."),
    (ACCOUNTS, "The balance of Rent is -12.50."),
    (ACCOUNTS, "The lowest balance is -300."),
    (ACCOUNTS, "Food has the lowest balance."),
    (ACCOUNTS, "The total balance is 2187.50."),
    (SEEDS, "Ada has seed 3."),
    (PACKAGES, "alpha has a newer version than beta."),
    (PACKAGES, "alpha has the highest version."),
    (PACKAGES, "gamma is at version 1.10."),
    (ROLES, "Two people, Ben and Cat, are members."),
    (ROLES, "Two people are members: Ben and Cat."),
    (ROLES, "Ann, who is the lead, has 5 points."),
    (ROLES, "Ann, the lead, has 5 points."),
    (GOODS, "The desk costs 120 EUR."),
    (GOODS, "The desk costs €120."),
    (GOODS, "The latency of the lamp is 120 ms."),
    (GOODS, "The latency of the lamp is 0.12 seconds."),
    (GOODS, "The lamp has 16 GB of disk."),
    (GOODS, "The lamp has a disk of 16,000 MB."),
    (GOODS, "The lamp has a disk of 16,384 MB."),
    (GOODS, "The highest latency is 300 ms."),
    (GOODS, "The highest price is 800 EUR."),
    (GOODS, "The average latency is 170 ms."),
    (STAFF, "The two people with the highest age are Cy and Eve."),
    (STAFF, "Compared with Bo, Ida has a higher age."),
    (STAFF, "Earns adds up to 556,500."),
    (STAFF, "Apart from Fay, everyone is in team red or blue."),
    (STAFF, "Within green, the highest age is 39."),
    (ROLES, "Ben has 7 points, whereas Cat has 9."),
    (JOBS, "The sync job failed."),
    (JOBS, "The duration of the backup was 120 minutes."),
    (STOCK, "Three of the four items are active."),
    (STOCK, "75% of the items are active."),
    (STOCK, "Bolt, Nut and Screw are active."),
    (STOCK, "Washer is not active."),
    (STOCK, "The total quantity is 545."),
    (STAFF, "Exactly two people are between 30 and 40."),
    (GAMES, "Oaks has more home games than away games."),
    (SCORES, "Wide outperforms Base."),
    (SCORES, "Wide outperforms Base by 2.3 points on BLEU."),
    (SCORES, "Wide improves over Base on chrF."),
    (SCORES, "Deep outperforms Deep-XL on Loss."),
    (SCORES, "Deep-XL achieves the best performance on BLEU and chrF."),
    (SCORES, "Base gives the worst results."),
    (SCORES, "Deep-XL outperforms all other models on BLEU."),
    (GOODS, "The slowest item is the desk, with 300 ms."),
    (RUNS, "All jobs have a size of at least 2 MB."),
    (ORDERS, "Order 5002 is still pending."),
    (ORDERS, "Orders 5001 and 5004 have shipped."),
    (WEATHER, "The temperature in Lisbon is 21.4 °C."),
    (WEATHER, "The humidity in Lisbon is about 55 percent."),
    (MONTHS, "Costs were 3,000 in January and 3,900 in February."),
    (ORDERS, "Order 5002 was placed two days after order 5001."),
    (RUNS, "test took the longest, at 2 seconds."),
    (RUNS, "The lint job has a size of 5 MB."),
]
WRONG = [
    (TICKETS, "Ticket 1 is open."),
    (TICKETS, "Ticket 4 is open."),
    (TICKETS, "Tickets 1 and 2 are closed."),
    (TICKETS, "1 ticket is closed."),
    (STAFF, "Two thirds of the staff are in team red."),
    (STAFF, "A quarter of the people are in team blue."),
    (STAFF, "The two youngest are Bo and Ida."),
    (STAFF, "The three oldest are Cy, Eve and Ida."),
    (STAFF, "Bo and Ida both earn 90,000."),
    (STAFF, "Ida earns 110k."),
    (STAFF, "Everyone earns at least 80,000."),
    (STAFF, "Nobody earns more than 100,000."),
    (STAFF, "Everyone is older than 30."),
    (STAFF, "4 people are on site."),
    (STAFF, "Ida is on site."),
    (STAFF, "2 people work on site."),
    (STAFF, "Everyone except Cy is under 40."),
    (STAFF, "Three people are in team red, including Bo."),
    (STAFF, "There are 3 people in team red, including Ida and Bo."),
    (PLACES, "There are 12 employees, 6 of them remote."),
    (ACCOUNTS, "Rent has the lowest balance."),
    (PACKAGES, "beta has a newer version than alpha."),
    (PACKAGES, "beta has the newest version."),
    (PACKAGES, "The version of gamma is 1.1."),
    (ROLES, "Two people, Ann and Ben, are members."),
    (ROLES, "Ben, who is the lead, has 7 points."),
    (ROLES, "Ben, the lead, has 7 points."),
    (ROLES, "Ann, who is a member, has 5 points."),
    (GOODS, "The desk costs 120 USD."),
    (GOODS, "The desk costs $120."),
    (GOODS, "The latency of the lamp is 120 s."),
    (GOODS, "The latency of the lamp is 120 seconds."),
    (GOODS, "The lamp has 16 MB of disk."),
    (GOODS, "The highest latency is 300 s."),
    (GOODS, "The highest price is 800 USD."),
    (GOODS, "The average latency is 170 s."),
    (STAFF, "The two people with the highest age are Bo and Eve."),
    (STAFF, "Compared with Bo, Ida has a lower age."),
    (STAFF, "Earns adds up to 456,500."),
    (STAFF, "Apart from Fay, everyone is in team red."),
    (ROLES, "Ben has 7 points, whereas Cat has 8."),
    (ROLES, "1 person is a lead, among them Ben."),
    (JOBS, "The sync job succeeded."),
    (JOBS, "The duration of the index job was 20 minutes."),
    (STOCK, "Half of the items are active."),
    (STOCK, "Washer is active."),
    (STAFF, "Two people are over 50."),
    (GAMES, "Elms has more away games than home games."),
    (SCORES, "Wide outperforms Base by 3.3 points on BLEU."),
    (SCORES, "Base improves upon Wide."),
    (SCORES, "Base outperforms all other models."),
    (SCORES, "Wide gives the worst results."),
    (SCORES, "Deep does not outperform Wide."),
    (RUNS, "All jobs have a size of at least 3 MB."),
    (ORDERS, "Orders 5001 and 5002 have shipped."),
    (ORDERS, "All orders by Ann Lee have shipped."),
    (FILES, "db.py has 34 lines."),
    (RUNS, "lint took the longest."),
    (RUNS, "The lint job has a size of 5 GB."),
]
OPEN = [
    (STAFF, "50% of the staff like tea."),
    (STAFF, "Half of the staff are left-handed."),
    (STAFF, "80% of the staff smoke."),
    (STAFF, "Three people are in team red, including Zoe."),
    (STAFF, "There are 6 people, including Zoe."),
    (STAFF, "Everyone but Ida is younger than 60."),
    (TICKETS, "Ticket 9 is closed."),
    (ORDERS, "There are 4 orders: 2 shipped, 1 pending and 1 cancelled."),
    (WEATHER, "It is sunny in Lisbon."),
    (WEATHER, "The temperature in Porto is 21.4 °C."),
    (FILES, "I changed 4 files."),
    (FILES, "The bug is on line 12 of app.py."),
    (FILES, "tom has never written a test."),
    (ORDERS, "Shipping takes 3 days."),
    (ORDERS, "No order is above 300."),
    (ORDERS, "Order 5001 weighs 3 kg."),
    (TICKETS, "Mara won 3 and lost 2."),
    (STAFF, "Almost everyone earns over 80,000."),
    (SCORES, "Deep-XL outperforms Deep."),
    (SCORES, "Deep-XL has the best results."),
    (SCORES, "Wide outperforms Base by a large margin."),
    (ROLES, "Zebulon has 14 points."),
    (ROLES, "With 12, Ben has a lot of points."),
    (ROLES, "Two people are members, Ben and Zed."),
    (ROLES, "Ben, who likes golf, has 7 points."),
    (ROLES, "Ben, who leads the team, has 7 points."),
]


@pytest.mark.parametrize(("data", "text"), RIGHT, ids=[t for _, t in RIGHT])
def test_what_is_right_is_supported(data: Any, text: str) -> None:
    """A true sentence is borne out by the table."""
    assert verdict(text, data) == "supported"


@pytest.mark.parametrize(("data", "text"), WRONG, ids=[t for _, t in WRONG])
def test_what_is_wrong_is_contradicted(data: Any, text: str) -> None:
    """A false sentence is said to be false."""
    assert verdict(text, data) == "contradicted"


@pytest.mark.parametrize(("data", "text"), OPEN, ids=[t for _, t in OPEN])
def test_what_the_table_does_not_say_stays_open(data: Any, text: str) -> None:
    """What a table has no word of is neither supported nor contradicted."""
    assert verdict(text, data) == "unverifiable"
