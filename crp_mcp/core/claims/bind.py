"""Loose numbers of a clause -> conditions on columns: a column named beside the number, else one whose unit fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .document import Column, twins
from .lexicon import ROW_NOUNS
from .numbers import Quantity
from .parse import Chunk
from .rows import foreign, number_rows, number_sql
from .scene import Cond, Scene
from .units import CURRENCIES
from .words import stem, word_list

MONEY = frozenset(
    stem(w)
    for w in word_list(
        """price cost amount total fare fee rent money balance payment salary revenue refund subtotal tax charge
        earn prize paid pay value budget spend profit sale"""
    )
)
Option = tuple[Cond, frozenset[int], float]
"""A condition, the chunks it explains, and how doubtful it is."""


def options(scene: Scene, chunk: Chunk) -> list[Option]:
    """Columns a loose number may be a value of, likeliest first."""
    qty = chunk.qty
    assert qty is not None
    out: list[Option] = []
    following = scene.chunks[chunk.at + 1] if chunk.at + 1 < len(scene.chunks) else None
    if following is not None and following.is_plain and following.words[0].stem in ROW_NOUNS and qty.unit == "":
        return out
    money = (
        [c for c in scene.table.columns if c.values() is not None and (c.unit in CURRENCIES or set(c.words) & MONEY)]
        if qty.unit in CURRENCIES
        else []
    )
    for named, ref, cost in scene.near_columns(chunk.at, after=4, before=10):
        if not _joined(scene, chunk, named):
            continue
        for column in (ref.column, *twins(scene.table, ref.column)):
            unfit = qty.unit in CURRENCIES and column not in money and (money or ref.quality < 0.9)
            unfit = unfit or (column.is_id and ref.quality < 0.9) or labels(scene.chunks, named, chunk, column)
            if column.values() is None or foreign(column, qty) or unfit:
                continue
            cond = Cond(_rows(column, qty), number_sql(column, qty), column, (), 0.0, chunk.text)
            out.append((cond, frozenset((chunk.at, named.at)), cost + (0.1 if column is not ref.column else 0.0)))
    if not out and not _is_of_more(scene, following):
        for column in money:
            cond = Cond(_rows(column, qty), number_sql(column, qty), column, (), 0.0, chunk.text)
            out.append((cond, frozenset((chunk.at,)), 0.1))
    if not out and qty.unit in UNIT_COLUMNS:
        for column in scene.table.columns:
            fits = column.values() is not None and not foreign(column, qty)
            if fits and set(column.words) & UNIT_COLUMNS[qty.unit]:
                cond = Cond(_rows(column, qty), number_sql(column, qty), column, (), 0.0, chunk.text)
                beside = {chunk.at + 1} if _unit_word(scene, chunk) else set()
                out.append((cond, frozenset({chunk.at} | beside), 0.1))
    labelled = qty.compare == "eq" and _labelled(scene, chunk)
    if not out and (labelled or qty.compare in ("gt", "ge", "lt", "le")) and not qty.unit and _ends(following):
        measures = [c for c in scene.table.columns if c.is_measure]
        if len(measures) == 1 and scene.table.kind == "rows":
            cond = Cond(_rows(measures[0], qty), number_sql(measures[0], qty), measures[0], (), 0.0, chunk.text)
            out.append((cond, frozenset((chunk.at,)), 0.25))
    return out[:6]


def _labelled(scene: Scene, number: Chunk) -> bool:
    """Whether a number stands after the name of one row and a colon (`Anna: 12`)."""
    if number.at < 2 or scene.chunks[number.at - 1].low not in (":", "="):
        return False
    return any(m.last == number.at - 2 and all(len(o.rows) == 1 for o in m.options) for m in scene.mentions)


def _is_of_more(scene: Scene, following: Chunk | None) -> bool:
    """Whether a last word says of what kind an amount is, and is no column's (`€40 outstanding`)."""
    if following is None or not following.is_content:
        return False
    return following.at + 1 == len(scene.chunks) or not scene.chunks[following.at + 1].words[0].is_word


def _ends(following: Chunk | None) -> bool:
    """Whether nothing follows a number that it would be of."""
    return following is None or not following.words[0].is_word or following.low in ("in", "and", "or", "for", "but")


def labels(chunks: Sequence[Chunk], named: Chunk, number: Chunk, column: Column) -> bool:
    """Whether `line 12` names one of many that a column counts (`lines`), and states no count."""
    word, name = named.words[-1], column.name.lower()
    if not named.at or chunks[named.at - 1].low not in ("on", "at", "in", "the", "from", "to", "of", "and", "see"):
        return False
    return named.at == number.at - 1 and name.endswith("s") and not word.low.endswith("s") and word.stem != name


def _plural_of(named: Chunk) -> bool:
    """`11 games` over a column `game`: so many of them, not that one."""
    word = named.words[-1]
    return word.low.endswith("s") and word.low != word.stem and any(r.column.is_serial for r in named.columns)


_UNIT_COLUMNS = {
    "B": "size byte length filesize",
    "s": "duration time elapsed runtime latency seconds",
    "kg": "weight mass",
    "m": "height length distance width depth elevation altitude",
    "%": "percent percentage share rate pct ratio usage",
    **dict.fromkeys(("°", "°C", "°F"), "temperature temp"),
}
UNIT_COLUMNS = {unit: frozenset(stem(w) for w in words.split()) for unit, words in _UNIT_COLUMNS.items()}
"""Unit of a number -> stems of column names that it may be of when none is named."""


def _unit_word(scene: Scene, number: Chunk) -> bool:
    return number.at + 1 < len(scene.chunks) and scene.chunks[number.at + 1].is_plain


def is_money(column: Column) -> bool:
    """Whether a column holds amounts of money, by its unit or its name (`total` alone, not `total baggage`)."""
    words = set(column.words)
    return column.unit in CURRENCIES or bool(words & (MONEY - _VAGUE)) or (bool(words) and words <= MONEY)


_VAGUE = frozenset(stem(w) for w in ("total", "value", "amount"))


def _joined(scene: Scene, number: Chunk, named: Chunk) -> bool:
    """Whether nothing between a number and a column word breaks their tie."""
    low, high = sorted((number.at, named.at))
    between = scene.chunks[low + 1 : high]
    if named.at > number.at:
        if any(c.low in ("per", "each", "in", "on", "for", "from", "by", "at") for c in between) or _plural_of(named):
            return False
        if any(c.low in ("under", "over", "below", "above", "beyond", "within") for c in between):
            return False  # so much less or more than the other
        if any(c.columns and not any(r.column.is_measure for r in c.columns) for c in between):
            return False  # it counts what stands right after it
        return not any(c.values or c.qty or c.when or c.op in ("max", "min", "more", "less") for c in between)
    linked = any(c.low in ("is", "was", "are", "were", "be", ":", "=") for c in between[-3:])
    linked = linked or (len(between) in (2, 3) and between[-1].low == "at" and between[-2].low[0].isalpha())
    if len(between) > 3 and not linked:
        return False
    return not any(
        c.qty or ((c.values or c.when or c.is_content) and not linked) or c.op in ("max", "min") for c in between
    )


def _rows(column: Column, qty: Quantity) -> frozenset[int]:
    """Rows that bear a number out; an amount of money may stand there with either sign."""
    found = number_rows(column, qty)
    if qty.unit not in CURRENCIES or qty.compare != "eq":
        return found
    return found | number_rows(column, replace(qty, value=-qty.value))


def ways(scene: Scene, numbers: Sequence[Chunk]) -> Iterator[tuple[tuple[Cond, ...], frozenset[int], float]]:
    """Each way to give every one of these numbers a column; none when one has no column at all."""
    if not numbers:
        yield (), frozenset(), 0.0
        return
    for cond, used, cost in options(scene, numbers[0]):
        scene.step()
        for conds, more, extra in ways(scene, numbers[1:]):
            yield (cond, *conds), used | more, cost + extra
