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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import mean, median
from typing import Any

from crp_mcp.core.claims import Evidence, check_claims
from crp_mcp.core.claims.batch import as_one
from crp_mcp.core.claims.load import read_document

Row = dict[str, Any]
Made = tuple[str, str, bool | None]
"""Kind, sentence, and whether it is true; None where the table does not say."""
SOUNDS = "ba cor dal en fi gra hol ix jun kel lor mev nor ost pri qua ril sto tam ul vek wil yar zen"
SYLLABLES = SOUNDS.split()


@dataclass(frozen=True)
class Domain:
    """A kind of table: what its rows are, and its columns by what they hold."""

    noun: str
    plural: str
    name: str
    group: str
    measures: tuple[tuple[str, int, int], ...]
    day: str
    groups: tuple[str, ...]


DOMAINS = (
    Domain("parcel", "parcels", "parcel", "depot", (("weight", 1, 90), ("fee", 100, 9000)), "shipped",
           ("Northside", "Quayside", "Millgate", "Eastpoint")),
    Domain("course", "courses", "title", "faculty", (("students", 5, 400), ("credits", 1, 30)), "started",
           ("Botany", "History", "Physics")),
    Domain("server", "servers", "hostname", "zone", (("requests", 1000, 90000), ("errors", 0, 500)), "booted",
           ("amber", "cobalt", "olive", "scarlet")),
    Domain("player", "players", "player", "squad", (("goals", 0, 40), ("assists", 0, 30)), "joined",
           ("Falcons", "Otters", "Herons")),
    Domain("branch", "branches", "branch", "county", (("turnover", 20000, 900000), ("visitors", 50, 4000)), "opened",
           ("Kerry", "Antrim", "Wicklow", "Sligo")),
)  # fmt: skip


def word(chance: random.Random) -> str:
    return "".join(chance.sample(SYLLABLES, 3)).capitalize()


def make_rows(chance: random.Random, domain: Domain) -> list[Row]:
    names = [word(chance) for _ in range(chance.randint(6, 25))]
    start = date(2019, 1, 1)
    return [
        {
            domain.name: name,
            domain.group: chance.choice(domain.groups),
            **{m: chance.randint(low, high) for m, low, high in domain.measures},
            domain.day: (start + timedelta(days=chance.randrange(1800))).isoformat(),
        }
        for name in dict.fromkeys(names)
    ]


def off(chance: random.Random, value: int) -> int:
    """A number near the right one, and not it."""
    return value + chance.choice((-1, 1)) * chance.randint(1, max(2, abs(value) // 4))


def either(chance: random.Random, right: int) -> int:
    return right if chance.random() < 0.5 else off(chance, right)


@dataclass
class Case:
    """One table to speak of, with what the templates need at hand."""

    chance: random.Random
    domain: Domain
    rows: list[Row]

    def __post_init__(self) -> None:
        d = self.domain
        self.measure = self.chance.choice([m for m, _, _ in d.measures])
        self.group = self.chance.choice(sorted({r[d.group] for r in self.rows}))
        self.one, self.two = self.chance.sample(self.rows, 2)

    def name(self, row: Row) -> str:
        return str(row[self.domain.name])

    def of_group(self, group: str) -> list[Row]:
        return [r for r in self.rows if r[self.domain.group] == group]


Template = Callable[[Case], Made]


def count_all(c: Case) -> Made:
    n = either(c.chance, len(c.rows))
    form = c.chance.choice(("The list comprises {n} {p}.", "I count {n} {p} in it.", "{n} {p} came back."))
    return "count", form.format(n=n, p=c.domain.plural), n == len(c.rows)


def count_group(c: Case) -> Made:
    right = len(c.of_group(c.group))
    n = either(c.chance, right)
    verb, noun = ("belongs", c.domain.noun) if n == 1 else ("belong", c.domain.plural)
    form = c.chance.choice(("{n} {p} {v} to {g}.", "The {g} {k} has {n} {p}.", "{g} accounts for {n} {p}."))
    return "count-filter", form.format(n=n, p=noun, v=verb, g=c.group, k=c.domain.group), n == right


def count_above(c: Case) -> Made:
    limit = c.chance.choice(sorted(r[c.measure] for r in c.rows)[1:-1])
    right = sum(r[c.measure] > limit for r in c.rows)
    n = either(c.chance, right)
    form = c.chance.choice(("{n} {p} have more than {x:,} {m}.", "For {n} {p}, {m} exceeds {x:,}."))
    return "count-filter", form.format(n=n, p=c.domain.plural, m=c.measure, x=limit), n == right


def count_since(c: Case) -> Made:
    year = c.chance.randint(2020, 2022)
    right = sum(int(r[c.domain.day][:4]) == year for r in c.rows)
    n = either(c.chance, right)
    return "date", f"{n} of the {c.domain.plural} were {c.domain.day} in {year}.", n == right


def lookup(c: Case) -> Made:
    right = c.one[c.measure]
    n = either(c.chance, right)
    form = c.chance.choice(
        ("{a} shows {m} of {n:,}.", "{m} for {a} is {n:,}.", "With {n:,}, {a} has its {m} on record.")
    )
    text = form.format(a=c.name(c.one), m=c.measure, n=n)
    return "lookup", text[0].upper() + text[1:], n == right


def lookup_group(c: Case) -> Made:
    group = c.chance.choice(c.domain.groups)
    form = c.chance.choice(("{a} is part of {g}.", "{a}'s {k} is {g}.", "{a} sits in the {g} {k}."))
    text = form.format(a=c.name(c.one), g=group, k=c.domain.group)
    return "lookup", text, group == c.one[c.domain.group]


def lookup_day(c: Case) -> Made:
    day = date.fromisoformat(c.one[c.domain.day])
    said = day if c.chance.random() < 0.5 else day + timedelta(days=c.chance.choice((-31, -1, 1, 20)))
    spelled = c.chance.choice((f"{said:%B} {said.day}, {said.year}", f"{said.day} {said:%b} {said.year}"))
    return "date", f"{c.name(c.one)} was {c.domain.day} on {spelled}.", said == day


def earlier(c: Case) -> Made:
    a, b = c.one[c.domain.day], c.two[c.domain.day]
    early = c.chance.random() < 0.5
    text = f"{c.name(c.one)} was {c.domain.day} {'before' if early else 'after'} {c.name(c.two)}."
    return "date", text, a < b if early else a > b


def highest(c: Case) -> Made:
    top = c.chance.random() < 0.5
    edge = (max if top else min)(r[c.measure] for r in c.rows)
    best = [r for r in c.rows if r[c.measure] == edge]
    said = c.chance.choice(best) if c.chance.random() < 0.5 else c.one
    form = c.chance.choice(
        ("Nobody beats {a}: it has the {s} {m}.", "The {s} {m} belongs to {a}.", "{a} has the {s} {m} of all.")
    )
    text = form.format(a=c.name(said), s="highest" if top else "lowest", m=c.measure)
    return "extreme", text, said[c.measure] == edge


def highest_value(c: Case) -> Made:
    right = max(r[c.measure] for r in c.of_group(c.group))
    n = either(c.chance, right)
    return "extreme", f"Within {c.group}, the largest {c.measure} is {n:,}.", n == right


def total(c: Case) -> Made:
    right = sum(r[c.measure] for r in c.rows)
    n = either(c.chance, right)
    form = c.chance.choice(("{m} adds up to {n:,}.", "The sum of all {m} is {n:,}.", "Altogether, {m} come to {n:,}."))
    text = form.format(m=c.measure, n=n)
    return "aggregate", text[0].upper() + text[1:], n == right


def average(c: Case) -> Made:
    values = [r[c.measure] for r in c.of_group(c.group)]
    middle = c.chance.random() < 0.3
    right = median(values) if middle else mean(values)
    n = right if c.chance.random() < 0.5 else right * c.chance.choice((0.6, 0.8, 1.3))
    word_ = "median" if middle else "average"
    text = f"The {word_} {c.measure} in {c.group} is {n:,.1f}."
    return "aggregate", text, round(n, 1) == round(right, 1)


def more_than(c: Case) -> Made:
    up = c.chance.random() < 0.5
    a, b = c.one[c.measure], c.two[c.measure]
    form = c.chance.choice(("{a} has {w} {m} than {b}.", "Compared with {b}, {a} has {w} {m}."))
    text = form.format(a=c.name(c.one), b=c.name(c.two), w="more" if up else "less", m=c.measure)
    return "compare", text, a > b if up else a < b


def gap(c: Case) -> Made:
    a, b = c.one[c.measure], c.two[c.measure]
    n = either(c.chance, abs(a - b))
    word_ = "more" if a >= b else "fewer"
    return "compare", f"{c.name(c.one)} has {n:,} {word_} {c.measure} than {c.name(c.two)}.", n == abs(a - b) > 0


def share(c: Case) -> Made:
    right = 100 * len(c.of_group(c.group)) / len(c.rows)
    n = round(right) if c.chance.random() < 0.5 else round(right) + c.chance.choice((-15, -9, 9, 15))
    form = c.chance.choice(("{n}% of the {p} are {g}.", "{g} makes up {n}% of the {p}."))
    return "share", form.format(n=n, p=c.domain.plural, g=c.group), n == round(right)


def most(c: Case) -> Made:
    right = len(c.of_group(c.group)) * 2 > len(c.rows)
    return "share", f"More than half of the {c.domain.plural} are {c.group}.", right


def every(c: Case) -> Made:
    low = min(r[c.measure] for r in c.rows)
    limit = low if c.chance.random() < 0.5 else sorted(r[c.measure] for r in c.rows)[len(c.rows) // 2] + 1
    return "all", f"Every {c.domain.noun} has at least {limit:,} {c.measure}.", low >= limit


def nothing(c: Case) -> Made:
    high = max(r[c.measure] for r in c.rows)
    limit = high + 5 if c.chance.random() < 0.5 else high // 2
    return "all", f"No {c.domain.noun} has more than {limit:,} {c.measure}.", high <= limit


def but_one(c: Case) -> Made:
    rest = [r for r in c.rows if r is not c.one]
    low = min(r[c.measure] for r in rest)
    if c.one[c.measure] >= low:
        return every(c)
    limit = low if c.chance.random() < 0.5 else max(r[c.measure] for r in rest)
    text = f"Apart from {c.name(c.one)}, every {c.domain.noun} has at least {limit:,} {c.measure}."
    return "all", text, low >= limit and c.one[c.measure] < limit


def only_one(c: Case) -> Made:
    found = c.of_group(c.group)
    said = c.chance.choice(found)
    return "only", f"{c.name(said)} is the only {c.domain.noun} in {c.group}.", len(found) == 1


def top_two(c: Case) -> Made:
    order = sorted(c.rows, key=lambda r: -r[c.measure])
    edge = order[1][c.measure]
    a, b = (order[0], order[1]) if c.chance.random() < 0.5 else (c.one, c.two)
    text = f"The two {c.domain.plural} with the most {c.measure} are {c.name(a)} and {c.name(b)}."
    return "rank", text, min(a[c.measure], b[c.measure]) >= edge and a is not b


def second(c: Case) -> Made:
    values = sorted((r[c.measure] for r in c.rows), reverse=True)
    said = next(r for r in c.rows if r[c.measure] == values[1]) if c.chance.random() < 0.5 else c.one
    right = said[c.measure] in (values[1], sorted(set(values), reverse=True)[1])
    return "rank", f"{c.name(said)} has the second highest {c.measure}.", right


def both(c: Case) -> Made:
    a, b = (c.one, c.two) if c.chance.random() < 0.5 else tuple(c.chance.sample(c.of_group(c.group) * 2, 2))
    text = f"Both {c.name(a)} and {c.name(b)} are in {c.group}."
    return "list", text, a[c.domain.group] == b[c.domain.group] == c.group


def named_count(c: Case) -> Made:
    found = c.of_group(c.group)
    listed = c.chance.sample(found, min(2, len(found)))
    if c.chance.random() < 0.5:
        listed = [*listed[:-1], c.one]
    names = " and ".join(dict.fromkeys(map(c.name, listed)))
    text = f"{len(found)} {c.domain.plural} are in {c.group}, among them {names}."
    return "list", text, all(r in found for r in listed)


def not_in(c: Case) -> Made:
    group = c.chance.choice(c.domain.groups)
    return "negation", f"{c.name(c.one)} is not in {group}.", c.one[c.domain.group] != group


def aside(c: Case) -> Made:
    group = c.one[c.domain.group] if c.chance.random() < 0.6 else c.chance.choice(c.domain.groups)
    n = c.one[c.measure] if c.chance.random() < 0.7 else off(c.chance, c.one[c.measure])
    text = f"{c.name(c.one)}, which is in {group}, has {n:,} {c.measure}."
    return "aside", text, group == c.one[c.domain.group] and n == c.one[c.measure]


def two_facts(c: Case) -> Made:
    x, y = either(c.chance, c.one[c.measure]), c.two[c.measure]
    text = f"{c.name(c.one)} has {x:,} {c.measure}, whereas {c.name(c.two)} has {y:,}."
    return "two facts", text, x == c.one[c.measure]


def unknown_deed(c: Case) -> Made:
    form = c.chance.choice(
        (
            "{a} was praised by the committee for its {m}.",
            "{a} plans to leave {g} soon.",
            "Half of the {p} are painted green.",
            "{a} has {n} unread messages.",
            "{a}, founded by Orlinda Prewitt, has {n} {m}.",
            "Most {p} were inspected twice.",
            "{n} {p} were lost in a fire.",
        )
    )
    text = form.format(a=c.name(c.one), m=c.measure, g=c.group, p=c.domain.plural, n=c.chance.randint(3, 9))
    return "open", text, None


def stranger(c: Case) -> Made:
    return "open", f"{word(c.chance)}x has {c.chance.randint(5, 90)} {c.measure}.", None


TEMPLATES: tuple[Template, ...] = (
    count_all, count_group, count_above, count_since, lookup, lookup_group, lookup_day, earlier, highest, highest_value,
    total, average, more_than, gap, share, most, every, nothing, but_one, only_one, top_two, second, both, named_count,
    not_in, aside, two_facts, unknown_deed, stranger,
)  # fmt: skip


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
