"""Plain facts about rows: X has Y in Z. The frame for clauses without an operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .bind import ways
from .document import Column
from .lexicon import HINTS
from .model import Distortion
from .parse import names_column
from .reading import Reading
from .rows import number_rows
from .scene import Cond, Scene, Selection
from .units import CURRENCIES

_BLOCKERS = frozenset(
    (
        "max",
        "min",
        "more",
        "less",
        "only",
        "all",
        "none",
        "avg",
        "median",
        "mostof",
        "nearall",
        "half",
        "fewof",
        "range",
        "diff",
        "same",
        "than",
        "twice",
        "multiple",
        "distinct",
    )
)


def readings(scene: Scene) -> Iterator[Reading]:
    """One row that meets everything said."""
    if any(c.op in _BLOCKERS and not names_column(c) and c.at not in scene.bound for c in scene.chunks):
        return
    if scene.table.kind == "list" or (scene.parse.ops("both") and not any(m.listed > 1 for m in scene.mentions)):
        return
    yield from _conjunction(scene)


def _conjunction(scene: Scene) -> Iterator[Reading]:
    record = scene.table.kind == "record"
    numbers = [c for c in scene.numbers if c.qty]
    nots = scene.nots
    if not scene.mentions and not (record and numbers):
        return
    if len(scene.mentions) + len(numbers) + record < 2 or _part_of_whole(scene):
        return
    for selection in scene.combine(scene.mentions):
        if numbers and len(selection.rows) > 1 and any(not names_column(c) for c in scene.parse.ops("sum")):
            continue  # a sum over several rows is no value of one
        for conds, used, cost in ways(scene, numbers):
            rows = selection.rows
            for cond in conds:
                rows = rows & cond.rows
            every = (*selection.conds, *conds)
            minor = not rows and _in_minor_units(scene, scene.body)
            if len({c.column.position for c in every}) < len(every) or len(every) + record < 2:
                continue
            anchored = record or _anchored(scene, every)
            where = " AND ".join(c.sql for c in every)
            sql = f"SELECT * FROM {{table}} WHERE {where}"
            minor = minor or _says_less(scene, selection, conds, rows)
            unsaid = any(c.is_content for at in nots for c in scene.chunks[at + 1 : at + 3])
            holds: bool = (bool(rows) and _each(scene, selection, rows)) != bool(nots)
            if holds and record and not _each_member(scene, selection):
                holds = False
            if holds and not nots and (left_out := _left_out(scene, selection)):
                holds, rows = False, left_out
            if record and not _says_enough(scene, every):
                continue
            if record:
                cost += sum(0.36 for c in every if not _is_named(scene, c))
            spent = selection.used | used | nots | _named(scene, every)
            kind, found = _difference(scene, every)
            firm = anchored and not (nots and (len(nots) > 1 or len(every) > 2))
            yield Reading(
                "lookup",
                None if minor or unsaid else holds,
                frozenset(spent),
                sql,
                found if not rows else f"{len(rows)} such rows",
                ", ".join(c.text for c in every),
                kind,
                selection.cost + cost,
                firm,
            )


def _each(scene: Scene, selection: Selection, rows: frozenset[int]) -> bool:
    """Names joined by `and` must each have such a row."""
    lists = {m.first for m in scene.mentions if m.listed > 1 and m.conjoined}
    return not lists or all(rows & part for c in selection.conds for part in c.members if len(c.members) > 1)


def _each_member(scene: Scene, selection: Selection) -> bool:
    """Whether what is said of several members of an object is so of each (`A and B are active`)."""
    for mention, cond in selection.pairs:
        named: list[Column] = []
        for chunk in reversed(scene.chunks[: mention.first]):
            refs = [ref.column for ref in chunk.columns if ref.quality > 0.9]
            if not refs and chunk.low not in _BETWEEN_MEMBERS:
                break
            named += refs
        cells = {column.texts[0].lower() for column in named if column.texts}
        if len(named) > 1 and (len(cells) > 1 or cond.column not in named):
            return False
    return True


_BETWEEN_MEMBERS = frozenset(("is", "are", "was", "were", "has", "have", "and", ",", "&", "the", "both"))


def _left_out(scene: Scene, selection: Selection) -> frozenset[int]:
    """Rows that a whole list should have: `the open tickets are 4 and 9` names each of them."""
    verb = next((c.at for c in scene.chunks if c.low in ("are", "were")), 0)
    if not verb or scene.chunks[0].low not in ("the", "these", "those") or len(scene.chunks) > verb + 1 + _LONGEST:
        return frozenset()
    listed = [(m, c) for m, c in selection.pairs if m.first in (verb + 1, verb + 2)]
    said = [c for m, c in selection.pairs if m.last < verb and not m.negated]
    if len(listed) != 1 or not said or len(said) + 1 != len(selection.pairs):
        return frozenset()
    mention, names = listed[0]
    after = scene.chunks[mention.last + 1 :]
    each_one = all(len(part) == 1 for part in names.members or (names.rows,))
    if (
        not each_one
        or any(c.words[0].is_word for c in after)
        or scene.chunks[mention.first - 1].low not in _BEFORE_LIST
    ):
        return frozenset()
    meant = scene.body
    for cond in said:
        meant = meant & cond.rows
    return meant - names.rows


_LONGEST = 40
"""Chunks after the verb: of a longer list some may be cut off."""
_BEFORE_LIST = frozenset(("are", "were", ":", "#"))


def _says_less(scene: Scene, selection: Selection, conds: Sequence[Cond], rows: frozenset[int]) -> bool:
    """Whether that there is such a row says less than was said: of several it is said, or since when exactly."""
    since = any(c.when and c.when.compare == "ge" and c.low.startswith("since") for c in scene.chunks)
    limits = any(c.qty and c.qty.compare not in ("eq", "ne") for c in scene.numbers)
    return bool(rows) and (since or (limits and bool(conds) and rows != selection.rows))


def _in_minor_units(scene: Scene, rows: frozenset[int]) -> bool:
    """Whether an amount of money stands there a hundredfold, as cents do: then it is not to be called wrong."""
    for chunk in scene.chunks:
        if chunk.qty and chunk.qty.unit in CURRENCIES:
            cents = replace(chunk.qty, value=chunk.qty.value * 100, step=1)
            for column in scene.table.columns:
                if column.is_measure and number_rows(column, cents) & rows:
                    return True
    return False


def _part_of_whole(scene: Scene) -> bool:
    """`5 of their 7`: a count, never a value."""
    for chunk in scene.numbers:
        after = scene.chunks[chunk.at + 1 : chunk.at + 6]
        if any(c.low == "of" for c in after[:2]) and any(c.qty and not c.when for c in after):
            return True
    return False


def _names_record(scene: Scene, cond: Cond) -> bool:
    """Whether a condition only says which record it is."""
    return cond.column is scene.table.key_column or bool(set(cond.column.words) & {"titl", "name", "id"})


def _says_enough(scene: Scene, conds: Sequence[Cond]) -> bool:
    """Whether conditions on a record say something of it: one whose member is named, or two."""
    told = [c for c in conds if _tells(scene, c)]
    return len(told) > 1 or any(_is_named(scene, c) for c in told)


def _tells(scene: Scene, cond: Cond) -> bool:
    """Whether a condition says something of a record: not which one it is, and not a word inside a longer text."""
    if _names_record(scene, cond) and not _pathed(scene, cond):
        return False
    return not any(cond in m.options and m.weak for m in scene.mentions)


def _is_named(scene: Scene, cond: Cond) -> bool:
    """Whether the clause also says which member of a record a value is of; its title needs no saying."""
    if _names_record(scene, cond) or _hinted(scene, cond):
        return True
    return any(cond.column is r.column for c in scene.chunks for r in c.columns) or _pathed(scene, cond)


_DATED = frozenset(("year", "date", "day", "time", "when"))


def _hinted(scene: Scene, cond: Cond) -> bool:
    """Whether the preposition before the name says as much (`from SFO`, `in Houston`)."""
    for mention in scene.mentions:
        if cond in mention.options and scene.chunks[mention.first].when and set(cond.column.words) & _DATED:
            return True
        if mention.first and cond in mention.options:
            lead = scene.chunks[mention.first - 1].low
            return bool(HINTS.get(lead, frozenset()) & set(cond.column.words))
    return False


def _pathed(scene: Scene, cond: Cond) -> bool:
    """Whether the clause names the object that a value is a member of (`the hero is …` for `hero.name`)."""
    outer = set(cond.column.path_words) - set(cond.column.words)
    return bool(outer & {w.stem for c in scene.chunks for w in c.words})


def _anchored(scene: Scene, conds: tuple[Cond, ...]) -> bool:
    """Whether one condition names a single row by what identifies it, so that the row's other cells are at issue."""
    for cond in conds:
        if cond.column.position < 0:
            return True
        if cond.column is scene.table.key_column or cond.column.distinct >= 0.95 * scene.table.rows:
            return all(len(rows) == 1 for rows in cond.members or (cond.rows,)) or _meets_in_one(scene, conds)
    return _meets_in_one(scene, conds)


def _meets_in_one(scene: Scene, conds: tuple[Cond, ...]) -> bool:
    """Whether whole names of two columns meet in one row, which one named measure is stated of."""
    measured = [c for c in conds if c.column.is_measure]
    naming = [c for c in conds if c not in measured and len(c.members) == 1 and " = " in c.sql]
    if len(measured) != 1 or len(naming) < 2 or len(naming) + 1 != len(conds):
        return False
    return len(scene.body.intersection(*(c.rows for c in naming))) == 1 and _is_named(scene, measured[0])


def _named(scene: Scene, conds: tuple[Cond, ...]) -> set[int]:
    """Column words that name a column already used."""
    used = {c.column.position for c in conds}
    return {c.at for c in scene.columns if used & {r.column.position for r in c.columns}}


def _difference(scene: Scene, conds: tuple[Cond, ...]) -> tuple[Distortion, str]:
    """What kind of difference it is, and what stands there instead: the cells of the rows most conditions agree on."""
    best: tuple[int, frozenset[int], Cond] | None = None
    key = scene.table.key_column
    for missing in sorted(conds, key=lambda c: c.column is key):
        rows = scene.body
        for cond in conds:
            rows = rows if cond is missing else rows & cond.rows
        if rows and (best is None or len(rows) < len(best[1])):
            best = (1, rows, missing)
    if best is None:
        return Distortion.ENTITY_SUBSTITUTED, "no row meets even all but one of the conditions"
    column = best[2].column
    found = ", ".join(column.texts[r] if column.cells else f"row {r + 1}" for r in sorted(best[1])[:3])
    kind = (
        Distortion.DATE_SHIFTED
        if column.cells and column.is_date
        else Distortion.NUMBER_CHANGED
        if column.cells and column.values() is not None
        else Distortion.ENTITY_SUBSTITUTED
    )
    return kind, f"{column.name}: {found}"
