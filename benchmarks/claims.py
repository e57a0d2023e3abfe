"""How well and how fast claims are checked: verdicts on the handed sentences, and an answer over a large table.

    python -m benchmarks.claims [--cases FOLDER] [--disagreements]

The cases are not part of the repository: CRP_SHARED or a folder `shared` beside it holds them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import Figure, table
from crp_mcp.core.claims import Evidence, check_claims
from crp_mcp.core.claims.batch import as_one
from crp_mcp.core.claims.load import read_document

SHARED = Path(os.environ.get("CRP_SHARED", Path(__file__).resolve().parents[1].parent / "shared"))
DECIDED = ("supported", "contradicted")


def evidence(payload: bytes, name: str) -> Evidence:
    document = read_document(payload)
    return Evidence(name, lambda: document)


def checked(cases: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Each hand-checked case and its verdict."""
    for line in (cases / "claims.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        files = [f for f in (case["output"], *case.get("other_outputs", [])) if f]
        given = [evidence((cases / f).read_bytes(), f) for f in files]
        yield case, str(as_one(check_claims(case["claim"], given))["verdict"])


def bulk(cases: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Each labelled case of the larger pools and its verdict."""
    for line in (cases / "claims_bulk.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if "result" in case:
            value: object = case["result"]
        elif len(set(case["columns"])) == len(case["columns"]):
            value = [dict(zip(case["columns"], row, strict=False)) for row in case["rows"]]
        else:
            value = {"columns": case["columns"], "rows": case["rows"]}
        given = evidence(json.dumps(value).encode(), case["id"])
        yield case, str(as_one(check_claims(case["claim"], [given]))["verdict"])


def tally(results: list[tuple[dict[str, Any], str]], key: str) -> list[str]:
    """Lines of the table: one for each value of `key`, and all of them."""
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for case, verdict in results:
        want = case.get("expected") or case.get("label")
        for group in (str(case.get(key) or case["id"].split("-")[2]), "all"):
            count = groups[group]
            count["n"] += 1
            count["right"] += verdict == want
            count["decided"] += verdict in DECIDED
            count["agree"] += verdict in DECIDED and verdict == want
            count["forbidden"] += verdict in case.get("never", ())
    return [
        f"| {name} | {c['n']} | {c['right'] / c['n']:.1%} | {c['decided'] / c['n']:.1%} | "
        f"{c['agree'] / max(1, c['decided']):.1%} | {c['forbidden']} |"
        for name, c in sorted(groups.items())
    ]


HEAD = ["| group | n | right | decided | of those, as labelled | forbidden |", "|---|---|---|---|---|---|"]


def disagreements(results: list[tuple[dict[str, Any], str]]) -> list[str]:
    """Decided against the label: id, label, verdict. The tables themselves stay where they are."""
    return [
        f"| {case['id']} | {case['expected']} | {verdict} |"
        for case, verdict in results
        if verdict in DECIDED and verdict != case["expected"]
    ]


COLUMNS = ("order_id", "customer", "region", "product", "quantity", "amount", "ordered_at")


def orders(size: int) -> list[tuple[Any, ...]]:
    """Rows of a made-up order table."""
    chance = random.Random(3)
    return [
        (
            n + 1,
            f"Customer {n % 7919}",
            chance.choice(("north", "south", "east", "west")),
            f"SKU-{chance.randrange(500):04}",
            chance.randint(1, 40),
            round(chance.random() * 900, 2),
            f"2024-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
        )
        for n in range(size)
    ]


QUERIES = (
    ("The orders query returned {:,} rows.", "SELECT COUNT(*) FROM o"),
    ("{:,} orders are in the north region.", "SELECT COUNT(*) FROM o WHERE region = 'north'"),
    ("The highest amount is {}.", "SELECT MAX(amount) FROM o"),
    ("The total quantity is {:,}.", "SELECT SUM(quantity) FROM o"),
    ("The average amount is {:.2f}.", "SELECT AVG(amount) FROM o"),
    ("{:,} orders were placed in January 2024.", "SELECT COUNT(*) FROM o WHERE ordered_at LIKE '2024-01%'"),
    ("{:,} orders have a quantity above 30.", "SELECT COUNT(*) FROM o WHERE quantity > 30"),
    ("There are {} different products.", "SELECT COUNT(DISTINCT product) FROM o"),
    ("Order id 5 belongs to customer {}.", "SELECT customer FROM o WHERE order_id = 5"),
    ("The {} region has the most orders.", "SELECT region FROM o GROUP BY region ORDER BY COUNT(*) DESC LIMIT 1"),
    ("The order with the highest amount has product {}.", "SELECT product FROM o ORDER BY amount DESC LIMIT 1"),
    ("The lowest quantity is {}.", "SELECT MIN(quantity) FROM o"),
    ("The average quantity in the west region is {:.2f}.", "SELECT AVG(quantity) FROM o WHERE region = 'west'"),
    ("{:,} orders are not in the north region.", "SELECT COUNT(*) FROM o WHERE region <> 'north'"),
    ("Only {} order has order id 77.", "SELECT COUNT(*) FROM o WHERE order_id = 77"),
    ("No order has a quantity above 40.", "SELECT COUNT(*) FROM o WHERE quantity > 40"),
)
FILLER = " I looked at this from several sides, and I think that on the whole the picture is fairly clear to everyone."


def metrics(number: int) -> Evidence:
    """A small result that has nothing to do with the question."""
    document = read_document(json.dumps([{"metric": f"m{k}", "value": k * number} for k in range(20)]).encode())
    return Evidence(f"scratch_metric_{number:03}", lambda: document, tool="metrics", columns=("metric", "value"))


def speed(size: int = 100_000, others: int = 49) -> tuple[list[Figure], str]:
    """A 300-word answer against 50 results, one of them large, beside the same questions asked in SQL."""
    rows = orders(size)
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE o ({', '.join(COLUMNS)})")
    base.executemany(f"INSERT INTO o VALUES ({', '.join('?' * len(COLUMNS))})", rows)
    said = [text.format(*base.execute(sql).fetchone()) for text, sql in QUERIES]
    text = " ".join(s + FILLER * (i % 5 != 0) for i, s in enumerate(said))
    payload = json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in rows]).encode()
    start = time.perf_counter()
    large = read_document(payload)
    given = [metrics(n) for n in range(others)]
    given.insert(others // 2, Evidence("scratch_sql_001", lambda: large, tool="query_orders", columns=COLUMNS))
    verdicts = check_claims(text, given)
    first = time.perf_counter() - start
    ours, theirs = [], []
    for _ in range(5):
        start = time.perf_counter()
        check_claims(text, given)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        for _, sql in QUERIES:
            base.execute(sql).fetchall()
        theirs.append(time.perf_counter() - start)
    ratio = sorted(ours)[2] / sorted(theirs)[2]
    right = sum(str(v.outcome) == "supported" for v in verdicts)
    note = f"{len(text.split())} words, {right} of {len(said)} true sentences supported, first answer {first:.1f} s"
    return [Figure("an answer over 100,000 rows, against its SQL", ratio, 10)], note


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, default=SHARED / "cases")
    parser.add_argument("--disagreements", action="store_true", help="list what was decided against its label")
    options = parser.parse_args()
    if options.cases.is_dir():
        print("\nHand-checked sentences\n", *HEAD, *tally(list(checked(options.cases)), "difficulty"), sep="\n")
        pools = list(bulk(options.cases))
        print("\nLarger pools, labels as they came\n", *HEAD, *tally(pools, "group"), sep="\n")
        if options.disagreements:
            print("\n| case | label | verdict |", "|---|---|---|", *disagreements(pools), sep="\n")
    else:
        print(f"no cases at {options.cases}: set CRP_SHARED")
    figures, note = speed()
    print("\nSpeed\n", table(figures), "", note, sep="\n")


if __name__ == "__main__":
    main()
