"""Made-up sentences over made-up tables, true or false by plain Python: how often the checker is right, by kind.

    python -m benchmarks.claims_made [--tables 60] [--seed 1] [--wrong]

Nothing here shares code, tables or wording with the checker or its tests: whether a sentence is true is worked out from
the rows alone. A kind's precision is the share of its decided sentences that were decided rightly; its recall the share
of all of them that were. `open` sentences have no counterpart in the table: deciding one is wrong, whichever way.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator

from benchmarks.claims_tables import DOMAINS, Case, Made, Row, make_rows
from benchmarks.claims_templates import TEMPLATES
from crp_mcp.core.claims import Evidence, check_claims
from crp_mcp.core.claims.batch import as_one
from crp_mcp.core.claims.load import read_document


def sentences(tables: int, seed: int) -> Iterator[tuple[list[Row], Made]]:
    """Every template once over each of so many tables."""
    chance = random.Random(seed)
    for _ in range(tables):
        domain = chance.choice(DOMAINS)
        rows = make_rows(chance, domain)
        for template in TEMPLATES:
            yield rows, template(Case(chance, domain, rows))


def verdict(rows: list[Row], text: str) -> str:
    document = read_document(json.dumps(rows).encode())
    return str(as_one(check_claims(text, [Evidence("scratch_made_001", lambda: document)]))["verdict"])


WANTED = {True: "supported", False: "contradicted", None: "unverifiable"}


def measure(tables: int, seed: int) -> tuple[dict[str, Counter[str]], list[str]]:
    """Counts of each kind, and what was decided wrongly."""
    kinds: dict[str, Counter[str]] = {}
    wrong = []
    for rows, (kind, text, truth) in sentences(tables, seed):
        got, count = verdict(rows, text), kinds.setdefault(kind, Counter())
        count["n"] += 1
        count["decided"] += got != "unverifiable"
        count["right"] += got == WANTED[truth]
        if got not in ("unverifiable", WANTED[truth]):
            count["wrong"] += 1
            wrong.append(f"{kind}: {got}, {WANTED[truth]} is right: {text}")
    return kinds, wrong


def lines(kinds: dict[str, Counter[str]]) -> list[str]:
    """The table, `open` apart: there a right answer is an undecided one."""
    out = ["| kind | n | precision | recall |", "|---|---|---|---|"]
    asked = {k: c for k, c in kinds.items() if k != "open"}
    for name, c in [*sorted(asked.items()), ("all of these", sum(asked.values(), Counter()))]:
        out.append(f"| {name} | {c['n']} | {c['right'] / max(1, c['decided']):.1%} | {c['right'] / c['n']:.1%} |")
    c = kinds["open"]
    return [*out, f"| not in the table: left open | {c['n']} | – | {c['right'] / c['n']:.1%} |"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wrong", action="store_true", help="list what was decided wrongly")
    options = parser.parse_args()
    kinds, wrong = measure(options.tables, options.seed)
    print(*lines(kinds), sep="\n")
    if options.wrong:
        print("", *wrong, sep="\n")


if __name__ == "__main__":
    main()
