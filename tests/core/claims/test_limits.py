"""Any sentence over any result ends after so many steps; what has too many readings is left undecided."""

import json
import time
from itertools import product

import pytest

from crp_mcp.core.claims import Evidence, Outcome, check_claims
from crp_mcp.core.claims.document import Column
from crp_mcp.core.claims.failures import decode
from crp_mcp.core.claims.limits import MAX_STEPS, TooMuch, Work
from crp_mcp.core.claims.load import read_document
from crp_mcp.core.claims.scene import MAX_COMBINATIONS, Cond, cheapest

CITIES = ["Oslo", "Lyon", "Rome", "Kyiv"]
ORDERS = [
    {"order_id": 5000 + i, "city": CITIES[i % 4], "status": "paid" if i % 3 else "open", "total": i * 1.5, "qty": i % 9}
    for i in range(40)
]
ALIKE = [{f"price {a} total {b}": i for a in "abcdef" for b in "abcdef"} for i in range(6)]
SAME = [dict.fromkeys("abcde", "Oslo") | {"f": "Lyon Oslo"} for _ in range(10)]


def verdict(text: str, rows: object) -> Outcome:
    document = read_document(json.dumps(rows).encode())
    return check_claims(text, [Evidence("r", lambda: document)])[0].outcome


@pytest.mark.parametrize("rows", [ORDERS, ALIKE, SAME])
@pytest.mark.parametrize(
    "text",
    [
        "Oslo is 5 of Lyon with total 6 in Rome at price 7 for Kyiv from qty 8 and open is 4 with paid. " * 3,
        " is Oslo of Lyon in Rome at Kyiv with" * 12,
        "The totals are " + ", ".join(f"${i}" for i in range(90)) + " for Oslo.",
        "Total 5 price 6 qty 7 " * 14,
        "In " + ", ".join(str(1990 + i % 60) for i in range(140)) + " Oslo had 5.",
        "Oslo has 5 while " * 60 + "Lyon has 6.",
        "Oslo" + "\u00a0" * 3000 + "has 5.",
    ],
)
def test_many_names_and_numbers_in_one_sentence_end(text: str, rows: object) -> None:
    """A sentence of very many names and numbers has a verdict, within the steps it is given."""
    before = time.process_time()
    verdict(text, rows)
    assert time.process_time() - before < 20


def test_a_sentence_too_long_to_be_one_is_undecided() -> None:
    """Ten thousand words without an end are no statement that can be held against anything."""
    assert verdict("The " + "quick order total " * 3333 + "is 5.", ORDERS) is Outcome.UNVERIFIABLE


def test_cheapest_choices_come_first_without_making_all() -> None:
    """The first choices are those that a full sort gives, also of more choices than can be made."""
    cells = Column("c", [], 0)
    ways = [
        tuple(Cond(frozenset(), f"{i}.{k}", cells, (), ((i * 7 + k * 3) % 5) / 4) for k in range(3)) for i in range(4)
    ]
    costs = sorted(sum(c.cost for c in combo) for combo in product(*ways))
    found = [sum(c.cost for c in combo if c) for combo in cheapest(ways)]
    assert found == pytest.approx(costs[:MAX_COMBINATIONS])
    assert len(list(cheapest(ways * 20))) == MAX_COMBINATIONS


def test_work_is_counted_and_ends() -> None:
    """Steps are counted, not timed."""
    work = Work()
    work.spend(MAX_STEPS)
    with pytest.raises(TooMuch):
        work.spend()


def test_text_of_brackets_alone_is_no_json() -> None:
    """Deep brackets with many commas neither fill the memory nor end in an error."""
    assert decode("[" * 100_000 + "," * 100_000) is None
    assert decode('[["a", 1], ["b", 2], ["c"') == [["a", 1], ["b", 2]]


def test_unit_of_a_column_is_the_first_of_the_most_frequent() -> None:
    """Of units that are equally frequent the first one is the column's, in every run."""
    assert Column("took", ["5 kg", "6 lb", "7 kg", "8 lb"], 0).unit == "kg"
