"""A parse made ready for the frames: conditions on rows, and what is left over. Computes row sets, decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

from .dates import When, matches
from .document import Column, Table
from .link import ColumnRef
from .numbers import Number, Quantity, agrees
from .parse import Chunk, Parse
from .words import stem

MAX_COMBINATIONS = 24
SKIPPED = 0.3
"""What it costs to read a weak mention as picking no rows."""
_JOINERS = frozenset((",", "and", "or", "&", "/", ";", "nor", "but", "the"))
_GLUE = frozenset("of in is was were are be the a an : = - , ' \" ( at for on by with s from".split())


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

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        return self.parse.chunks

    @cached_property
    def body(self) -> frozenset[int]:
        return self.table.body

    def combine(self, mentions: Iterable[Mention]) -> Iterator[Selection]:
        """Every way to read these mentions together as one selection of rows, cheapest first."""
        picked = list(mentions)
        ways: list[tuple[Cond | None, ...]] = [(*m.options, None) if m.weak else m.options for m in picked]
        count = 1
        for options in ways:
            count *= max(1, len(options))
        if count > MAX_COMBINATIONS * 8:
            ways = [w[:2] for w in ways]
        combos = sorted(product(*ways), key=lambda cs: sum(SKIPPED if c is None else c.cost for c in cs))[:MAX_COMBINATIONS]
        used = frozenset().union(*(m.chunks for m in picked)) if picked else frozenset()
        for chosen in combos:
            conds = tuple(c for c in chosen if c is not None)
            rows = self.body
            for cond in conds:
                rows = rows & cond.rows
            if rows or not (_at_odds(conds) or self._emptied(picked, chosen)):
                pairs = tuple((m, c) for m, c in zip(picked, chosen, strict=True) if c is not None)
                yield Selection(rows, conds, used, sum(SKIPPED if c is None else c.cost for c in chosen), pairs)

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


def quote(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    """An SQL literal."""
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


def build(parse: Parse) -> Scene:
    """Bind quantities to columns, group names into lists, and turn both into conditions."""
    bound_numbers = _bind_numbers(parse)
    taken = {i for m in bound_numbers for i in m.chunks}
    mentions = list(bound_numbers)
    for group in _groups(parse, taken):
        if mention := _mention(parse, group):
            mentions.append(mention)
    mentions += _ordinal_rows(parse)
    mentions.sort(key=lambda m: m.first)
    used = {i for m in mentions for i in m.chunks}
    numbers = tuple(c for c in parse.chunks if c.qty and c.at not in used and not (c.when and scene_setting(parse, c.at)))
    columns = tuple(c for c in parse.chunks if c.columns and c.at not in used)
    return Scene(parse, parse.table, tuple(mentions), numbers, columns, frozenset(used))


def _ordinal_rows(parse: Parse) -> list[Mention]:
    """`the first X`, `the last row`: a row by its place."""
    out = []
    columns = parse.table.columns
    for chunk in parse.chunks:
        place = chunk.ordinal if chunk.ordinal else (-1 if chunk.low == "last" else None)
        following = parse.chunks[chunk.at + 1] if chunk.at + 1 < len(parse.chunks) else None
        if (
            place is None
            or following is None
            or not following.words[0].is_word
            or following.op
            or not columns
            or parse.table.kind == "record"
        ):
            continue
        if following.columns and any(c.column.is_number for c in following.columns):
            continue
        if _ranked(parse, chunk, out):
            continue
        row = place - 1 if place > 0 else parse.table.rows - 1
        if 0 <= row < parse.table.rows:
            cond = Cond(frozenset((row,)), f"rowid = {row + 1}", Column("rowid", [], -1), (), 0.1, chunk.text)
            out.append(
                Mention(
                    frozenset((chunk.at, following.at)) if following.is_plain else frozenset((chunk.at,)),
                    (cond,),
                    chunk.at,
                    chunk.at,
                )
            )
    return out


_RANKS = frozenset(stem(w) for w in ("rank", "ranking", "place", "position", "pos", "finish", "standing"))


def _ranked(parse: Parse, chunk: Chunk, out: list[Mention]) -> bool:
    """`ranked first`, `in third place`: a value of the rank column, which is added to `out`."""
    around = [c for c in parse.chunks[max(0, chunk.at - 3) : chunk.at + 3] if c.columns]
    for named in around:
        for ref in named.columns:
            if set(ref.column.words) & _RANKS and ref.column.values() is not None:
                rows = frozenset(r for r, n in enumerate(ref.column.values() or ()) if n == chunk.ordinal)
                cond = Cond(rows, f"{quote(ref.column.name)} = {chunk.ordinal}", ref.column, (), 0.05, chunk.text)
                out.append(Mention(frozenset((chunk.at, named.at)), (cond,), min(chunk.at, named.at), max(chunk.at, named.at)))
                return True
    return False


def _groups(parse: Parse, taken: set[int]) -> Iterator[list[Chunk]]:
    """Runs of names (or dates) in a row, joined by commas, `and`, `or`."""
    group: list[Chunk] = []
    joined = True
    for chunk in parse.chunks:
        named = bool(chunk.values or chunk.when) and chunk.at not in taken and not (chunk.qty and not chunk.when)
        if named and chunk.columns and not _as_value(parse, chunk):
            named = False
        if named and group and joined and _alike(group[-1], chunk):
            group.append(chunk)
        elif named:
            if group:
                yield group
            group = [chunk]
        elif chunk.low in _JOINERS:
            joined = True
            continue
        else:
            if group and not (chunk.columns and chunk.low not in _JOINERS and False):
                yield group
            group = []
        joined = False
    if group:
        yield group


def _as_value(parse: Parse, chunk: Chunk) -> bool:
    """Whether a chunk that names a column and cells alike is to be taken as cells."""
    best = max(c.quality for c in chunk.columns)
    return chunk.is_exact and best < 0.9


def _alike(a: Chunk, b: Chunk) -> bool:
    if a.when and b.when and not (a.values and b.values):
        return True
    return bool({v.column.position for v in a.values} & {v.column.position for v in b.values})


def _negated_before(parse: Parse, at: int) -> bool:
    """Whether the name at `at` is excluded (`not X`, `non-X`, `other than X`)."""
    before = [c.low for c in parse.chunks[max(0, at - 3) : at]]
    if (
        before[-1:] == ["non"]
        or before[-2:] in (["non", "-"], ["other", "than"], ["apart", "from"])
        or before[-1:] == ["except"]
    ):
        return True
    return before[-1:] in (["besides"], ["excluding"], ["except"]) or before[-2:] in (
        ["except", "for"],
        ["aside", "from"],
    )


def _mention(parse: Parse, group: Sequence[Chunk]) -> Mention | None:
    first, last = group[0].at, group[-1].at
    used = {c.at for c in group}
    beside = _beside(parse, first, last)
    options: list[Cond] = []
    for column in parse.table.columns:
        if cond := _value_cond(column, group):
            near = beside and column in [r.column for r in beside.columns]
            options.append(Cond(cond.rows, cond.sql, column, cond.members, 0.0 if near else cond.cost, cond.text))
    if group[0].when:
        options += _date_and_time(parse.table, group) or _date_conds(parse.table, group)
    if not options:
        return None
    told = {r.column.position for c in parse.chunks if c.columns and c.at not in used for r in c.columns if r.quality >= 0.9}
    if any(o.column.position in told for o in options):
        options = [o if o.column.position in told else replace(o, cost=o.cost + 0.4) for o in options]
    if beside and (close := [o for o in options if o.column in [r.column for r in beside.columns]]):
        options = close
        used.add(beside.at)
    if negated := _negated_before(parse, first):
        everything = parse.table.body
        options = [Cond(everything - o.rows, f"NOT ({o.sql})", o.column, (), o.cost, o.text) for o in options]
        used |= {c.at for c in parse.chunks[max(0, first - 2) : first]}
    conjoined = any(c.low in ("and", "&") for c in parse.chunks[first:last])
    options.sort(key=lambda o: o.cost)
    if _scattered(group):
        return None
    return Mention(frozenset(used), tuple(options[:6]), first, last, negated, len(group), conjoined, _is_weak(parse, group))


def _scattered(group: Sequence[Chunk]) -> bool:
    """One word that stands inside cells of many columns names none of them."""
    chunk = group[0]
    return len(group) == 1 and len(chunk.words) == 1 and not chunk.when and not chunk.is_exact and len(chunk.values) > 3


def _is_weak(parse: Parse, group: Sequence[Chunk]) -> bool:
    chunk = group[0]
    if len(group) > 1:
        return False
    if bare_year(chunk):
        return parse.table.kind != "record" and scene_setting(parse, chunk.at)
    return bool(chunk.values) and not chunk.when and not chunk.is_exact and len(chunk.words) == 1 and not chunk.text[:1].isupper()


_LEADS = frozenset("in of during the for since at by 's from".split())


def bare_year(chunk: Chunk) -> bool:
    """Whether a chunk is a lone year, or a season over two."""
    when = chunk.when
    if when is None or when.year is None or when.month is not None or when.has_time:
        return False
    season = when.compare == "between" and when.until is not None and when.until.year == when.year + 1
    return (when.compare == "eq" or season) and when.year_end in (None, when.year + 1)


def scene_setting(parse: Parse, at: int) -> bool:
    """Whether a year stands where it only says when (`in the 1998 …`, `the 2005 team`)."""
    index = at - 1
    while index >= 0 and parse.chunks[index].low in ("the", "their", "its", "his", "her", "this"):
        index -= 1
    return index < 0 or index < at - 1 or parse.chunks[index].low in _LEADS


def _beside(parse: Parse, first: int, last: int) -> Chunk | None:
    """A column word that stands right by a name and says what it is (`the city of X`, `X division`)."""
    for step in range(1, 4):
        at = first - step
        if at < 0:
            break
        chunk = parse.chunks[at]
        if chunk.columns and not (chunk.values and chunk.is_exact):
            return chunk
        if chunk.low not in _GLUE:
            break
    after = parse.chunks[last + 1] if last + 1 < len(parse.chunks) else None
    return after if after and after.columns else None


def _value_cond(column: Column, group: Sequence[Chunk]) -> Cond | None:
    members, texts, exact = [], [], True
    for chunk in group:
        ref = next((v for v in chunk.values if v.column is column), None)
        if ref is None:
            return None
        members.append(ref.rows)
        texts.append(ref.text if ref.exact else chunk.text)
        exact = exact and ref.exact
    rows = frozenset().union(*members)
    name = quote(column.name)
    if exact:
        sql = (
            f"{name} = {literal(texts[0])}"
            if len(texts) == 1
            else f"{name} IN ({', '.join(literal(t) for t in texts)})"
        )
    else:
        sql = " OR ".join(f"{name} LIKE {literal('%' + t + '%')}" for t in texts)
        sql = f"({sql})" if len(texts) > 1 else sql
    return Cond(rows, sql, column, tuple(members), 0.0 if exact else 0.1, ", ".join(texts))


def _date_conds(table: Table, group: Sequence[Chunk]) -> list[Cond]:
    out = []
    for column in table.columns:
        if table.kind != "record" and not column.is_date and not (column.is_number and _yearly(group)):
            continue
        members = [date_rows(column, c.when, embedded=table.kind == "record") for c in group if c.when]
        if all(m is None for m in members):
            continue
        rows = frozenset().union(*(m for m in members if m))
        named = f"{quote(column.name)} in {' or '.join(c.text for c in group)}"
        sql = " OR ".join(date_sql(column, c.when) for c in group if c.when)
        text = ", ".join(c.text for c in group)
        out.append(
            Cond(
                rows,
                f"({sql})" if len(group) > 1 else sql or named,
                column,
                tuple(m or frozenset() for m in members),
                0.05,
                text,
            )
        )
    return out


def _date_and_time(table: Table, group: Sequence[Chunk]) -> list[Cond]:
    """A date with a time of day over two columns, one of dates and one of times."""
    when = group[0].when
    if len(group) != 1 or when is None or not (when.has_date and when.has_time):
        return []
    day, hour = replace(when, hour=None, minute=None, second=None), replace(when, year=None, month=None, day=None)
    out = []
    for a, b in product([c for c in table.columns if c.is_date], repeat=2):
        if a is not b and (first := date_rows(a, day)) is not None and (second := date_rows(b, hour)) is not None:
            sql = f"{date_sql(a, day)} AND {date_sql(b, hour)}"
            out.append(Cond(first & second, sql, b, (), 0.05, group[0].text))
    return out


def _yearly(group: Sequence[Chunk]) -> bool:
    return all(c.when and c.when.year and not c.when.month for c in group)


def date_rows(column: Column, when: When, *, embedded: bool = False) -> frozenset[int] | None:
    """Rows of a date column inside what was stated; None when they have no field in common."""
    found, known = set(), False
    cells = column.embedded_dates if embedded and not any(column.dates) else [(d,) if d else () for d in column.dates]
    for row, cell in enumerate(cells):
        hits = [matches(when, d) for d in cell]
        known = known or any(h is not None for h in hits)
        if any(hits):
            found.add(row)
    return frozenset(found) if known else None


def date_sql(column: Column, when: When) -> str:
    """What a date condition asks, as near to SQL as dates in text allow."""
    name = quote(column.name)
    parts = ("year", when.year), ("month", when.month), ("day", when.day), ("hour", when.hour), ("minute", when.minute)
    stated = " ".join(f"{k}={v}" for k, v in parts if v is not None)
    relation = {"eq": "in", "lt": "before", "gt": "after", "le": "not after", "ge": "not before", "between": "between"}[
        when.compare
    ]
    more = f" and {date_sql(column, when.until).split(' in ')[-1]}" if when.until else ""
    if when.year_end:
        return f"{name} between {when.year} and {when.year_end}"
    return f"{name} {relation} ({stated}){more}"


def number_rows(values: Sequence[Number | None], qty: Quantity) -> frozenset[int]:
    """Rows whose number bears out the quantity."""
    return frozenset(r for r, n in enumerate(values) if n is not None and agrees(qty, n))


def number_sql(column: Column, qty: Quantity) -> str:
    """The comparison a quantity makes with a column."""
    sign = {"eq": "=", "gt": ">", "ge": ">=", "lt": "<", "le": "<=", "ne": "<>"}.get(qty.compare)
    name = quote(column.name)
    return f"{name} {sign} {qty.value}" if sign else f"{name} BETWEEN {qty.value} AND {qty.high}"


def _bind_numbers(parse: Parse) -> list[Mention]:
    """Quantities that state a column's value (`rank 1`, `a score of 66`, `more than 20 goals`)."""
    out = []
    for chunk in parse.chunks:
        if chunk.qty is None or (chunk.when and not chunk.values) or chunk.op == "twice":
            continue
        holder = _holder(parse, chunk)
        if holder is None or any(c.op in ("more", "less") for c in parse.chunks[chunk.at + 1 : chunk.at + 2]):
            continue
        conds = []
        for ref in holder.columns:
            values = ref.column.values()
            if values is not None:
                rows = number_rows(values, chunk.qty)
                conds.append(
                    Cond(rows, number_sql(ref.column, chunk.qty), ref.column, (), (1 - ref.quality) * 0.3, chunk.text)
                )
        if conds and not (chunk.qty.compare == "between" and _spans_all(parse, chunk, holder)):
            out.append(
                Mention(
                    frozenset((chunk.at, holder.at)), tuple(conds), min(chunk.at, holder.at), max(chunk.at, holder.at)
                )
            )
    return out


def _spans_all(parse: Parse, number: Chunk, holder: Chunk) -> bool:
    """`with X between A and B` may say where X lies for all rows, rather than pick some."""
    return any(c.low == "with" for c in parse.chunks[max(0, holder.at - 2) : number.at]) or number.op == "range"


def _holder(parse: Parse, number: Chunk) -> Chunk | None:
    """The column word a quantity belongs to, when the wording leaves no doubt that it is a value and no count."""
    at, chunks = number.at, parse.chunks
    index = at - 1
    while (
        index >= 0
        and not chunks[index].columns
        and chunks[index].low
        in (
            "of",
            "is",
            "was",
            "be",
            "are",
            "were",
            ":",
            "=",
            "a",
            "an",
            "the",
            "at",
            "than",
            "with",
            "#",
            "number",
            "(",
            "equal",
            "to",
            "'",
            "has",
            "had",
        )
    ):
        index -= 1
    gap = at - 1 - index
    if index >= 0 and chunks[index].columns and chunks[index].op in ("", "sum", "percent"):
        between = {c.low for c in chunks[index + 1 : at]}
        exact = all(r.column.is_number for r in chunks[index].columns)
        of = at + 1 < len(chunks) and chunks[at + 1].low in ("of", "out")
        if ((gap == 0 and exact and not of) or between & {"of", "is", "was", "be", ":", "=", "at", "than", "are", "were", "#", "(", "to", "has", "had"}
        ) and not _superlative(parse, index):
            return chunks[index]
    return None


def _superlative(parse: Parse, at: int) -> bool:
    """Whether the column word at `at` is what a superlative or aggregate is about: then the number is its result."""
    near = parse.chunks[max(0, at - 4) : at + 1]
    return any(c.op in ("max", "min", "avg", "sum", "median", "more", "less") and not c.columns for c in near) and not any(c.op == "than" for c in near)
