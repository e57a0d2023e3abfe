"""Made-up tables to speak of: their kinds, their rows, and numbers near the right ones. Knows no sentences."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

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
