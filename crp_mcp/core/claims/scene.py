"""A parse made ready for the frames: conditions on rows, and how they combine. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush

from .document import Column, Table
from .limits import CHUNKS_A_STEP, ROWS_A_STEP, Work
from .link import ColumnRef
from .parse import Chunk, Parse

MAX_COMBINATIONS = 24
SKIPPED = 0.3
"""What it costs to read a weak mention as picking no rows."""


@dataclass(frozen=True, eq=False)
class Cond:
    """Rows of the table that meet one condition, and the SQL that says so."""

    rows: frozenset[int]
    sql: str
    column: Column
    members: tuple[frozenset[int], ...] = ()
    """For a list of names: the rows of each."""
    cost: float = 0.0
    text: str = ""


@dataclass(frozen=True, eq=False)
class Mention:
    """A stretch of the clause that picks rows: one or more chunks, with every condition it may mean."""

    chunks: frozenset[int]
    options: tuple[Cond, ...]
    first: int
    last: int
    negated: bool = False
    listed: int = 1
    """How many names it joins (`A, B and C` = 3)."""
    conjoined: bool = False
    """Joined by `and` rather than `or`."""
    weak: bool = False
    """One word found inside longer cells, or a year that may only set the scene: it may pick no rows at all."""


@dataclass(frozen=True, eq=False)
class Scene:
    """What the frames work on."""

    parse: Parse
    table: Table
    mentions: tuple[Mention, ...]
    numbers: tuple[Chunk, ...]
    """Quantities not bound to a column."""
    columns: tuple[Chunk, ...]
    """Column words that belong to no mention."""
    bound: frozenset[int] = field(default_factory=frozenset)
    work: Work = field(default_factory=Work)

    def step(self) -> None:
        """Count one try over the table's rows; raises TooMuch where the sentence has had its share."""
        self.work.spend(1 + self.table.rows // ROWS_A_STEP + len(self.chunks) // CHUNKS_A_STEP)

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        return self.parse.chunks

    @cached_property
    def nots(self) -> frozenset[int]:
        """Negations that belong to the clause and not to one name in it."""
        return frozenset(c.at for c in self.parse.ops("not") if c.at not in self.bound)

    @property
    def negated(self) -> bool:
        """Whether the clause as a whole is negated."""
        return len(self.nots) % 2 == 1

    @cached_property
    def body(self) -> frozenset[int]:
        return self.table.body

    def combine(self, mentions: Iterable[Mention]) -> Iterator[Selection]:
        """Every way to read these mentions together as one selection of rows, cheapest first."""
        picked = list(mentions)
        ways: list[tuple[Cond | None, ...]] = [(*m.options, None) if m.weak else m.options for m in picked]
        used = frozenset().union(*(m.chunks for m in picked)) if picked else frozenset()
        for chosen in cheapest(ways):
            self.step()
            conds = tuple(c for c in chosen if c is not None)
            rows = self.body
            for cond in conds:
                rows = rows & cond.rows
            if rows or not (_at_odds(conds) or self._emptied(picked, chosen)):
                pairs = tuple((m, c) for m, c in zip(picked, chosen, strict=True) if c is not None)
                yield Selection(rows, conds, used, sum(map(_price, chosen)), pairs)

    def _emptied(self, picked: Sequence[Mention], chosen: Sequence[Cond | None]) -> bool:
        """Whether only a weak mention leaves no rows: too little to say that there are none."""
        sure = [c.rows for m, c in zip(picked, chosen, strict=True) if c is not None and not m.weak]
        return len(sure) < sum(c is not None for c in chosen) and bool(self.body.intersection(*sure))

    def near_columns(self, at: int, *, after: int = 4, before: int = 6) -> list[tuple[Chunk, ColumnRef, float]]:
        """Columns named around chunk `at`, nearest first: (chunk, column, distance cost)."""
        out = []
        for chunk in self.columns:
            gap = chunk.at - at
            per = chunk.at > 0 and self.chunks[chunk.at - 1].low == "per"
            if not per and (0 <= gap <= after or -before <= gap < 0):
                for ref in chunk.columns:
                    out.append((chunk, ref, (abs(gap) - 1) * 0.03 + (1 - ref.quality) * 0.5 + (0.05 if gap < 0 else 0)))
        return sorted(out, key=lambda x: x[2])


def _price(cond: Cond | None) -> float:
    return SKIPPED if cond is None else cond.cost


def cheapest(ways: Sequence[tuple[Cond | None, ...]]) -> Iterator[tuple[Cond | None, ...]]:
    """The cheapest choices of one of each, in order of cost, without making them all."""
    if not all(ways):
        return
    ranked = [sorted(range(len(w)), key=lambda i, w=w: (_price(w[i]), i)) for w in ways]  # type: ignore[misc]

    def entry(places: tuple[int, ...]) -> tuple[float, tuple[int, ...], tuple[int, ...]]:
        chosen = tuple(r[p] for r, p in zip(ranked, places, strict=True))
        return sum(_price(w[c]) for w, c in zip(ways, chosen, strict=True)), chosen, places

    first = (0,) * len(ways)
    heap, seen = [entry(first)], {first}
    for _ in range(MAX_COMBINATIONS):
        if not heap:
            return
        _, chosen, places = heappop(heap)
        yield tuple(w[c] for w, c in zip(ways, chosen, strict=True))
        for i, place in enumerate(places):
            following = (*places[:i], place + 1, *places[i + 1 :])
            if place + 1 < len(ranked[i]) and following not in seen:
                seen.add(following)
                heappush(heap, entry(following))


@dataclass(frozen=True, eq=False)
class Selection:
    """Rows picked by several conditions at once."""

    rows: frozenset[int]
    conds: tuple[Cond, ...]
    used: frozenset[int]
    cost: float
    pairs: tuple[tuple[Mention, Cond], ...] = ()
    """Each mention that picked rows, with the condition it was read as."""

    @property
    def where(self) -> str:
        return " WHERE " + " AND ".join(c.sql for c in self.conds) if self.conds else ""

    @property
    def columns(self) -> set[Column]:
        return {c.column for c in self.conds}


def _at_odds(conds: Sequence[Cond]) -> bool:
    """Whether two conditions on one column exclude each other: then they were not meant to hold of one row."""
    return any(a.column is b.column and not a.rows & b.rows for i, a in enumerate(conds) for b in conds[:i])


def bare_year(chunk: Chunk) -> bool:
    """Whether a chunk is a lone year, or a season over two."""
    when = chunk.when
    if when is None or when.year is None or when.month is not None or when.has_time:
        return False
    season = when.compare == "between" and when.until is not None and when.until.year == when.year + 1
    return (when.compare == "eq" or season) and when.year_end in (None, when.year + 1)


_LEADS = frozenset(["in", "of", "during", "the", "for", "since", "at", "by", "'s", "from"])


def scene_setting(parse: Parse, at: int) -> bool:
    """Whether a year stands where it only says when (`in the 1998 …`, `the 2005 team`)."""
    index = at - 1
    while index >= 0 and parse.chunks[index].low in ("the", "their", "its", "his", "her", "this"):
        index -= 1
    return index < 0 or index < at - 1 or parse.chunks[index].low in _LEADS
