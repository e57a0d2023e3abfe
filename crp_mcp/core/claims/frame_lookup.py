"""Plain facts about rows: X has Y in Z. The frame for clauses without an operation."""

from __future__ import annotations

from collections.abc import Iterator

from .document import Column
from .model import Distortion
from .numbers import Quantity, agrees
from .parse import Chunk
from .reading import Reading
from .scene import Cond, Scene, Selection, number_rows, number_sql, quote

_BLOCKERS = frozenset(("max", "min", "more", "less", "only", "all", "none", "avg", "median", "mostof", "half", "fewof", "range", "diff", "same", "than", "twice", "multiple", "distinct"))


def readings(scene: Scene) -> Iterator[Reading]:
    """One row that meets everything said."""
    if any(c.op in _BLOCKERS and not c.columns for c in scene.chunks):
        return
    if scene.table.kind == "list":
        return
    yield from _conjunction(scene)


def _conjunction(scene: Scene) -> Iterator[Reading]:
    record = scene.table.kind == "record"
    numbers = [c for c in scene.numbers if c.qty]
    nots = {c.at for c in scene.parse.ops("not")}
    if not scene.mentions and not (record and numbers):
        return
    if len(scene.mentions) + len(numbers) + record < 2:
        return
    for selection in scene.combine(scene.mentions):
        for conds, used, cost in _number_ways(scene, numbers):
            rows = selection.rows
            for cond in conds:
                rows = rows & cond.rows
            every = (*selection.conds, *conds)
            if len({c.column.position for c in every}) < len(every):
                continue
            anchored = record or _anchored(scene, every)
            where = " AND ".join(c.sql for c in every)
            sql = f"SELECT * FROM {{table}} WHERE {where}"
            holds: bool = bool(rows) != bool(nots)
            spent = selection.used | used | nots | _named(scene, every)
            kind, found = _difference(scene, every)
            yield Reading("lookup", holds, frozenset(spent), sql, found if not rows else f"{len(rows)} such rows", ", ".join(c.text for c in every),
                          kind, selection.cost + cost, firm=anchored and not (nots and rows))  # fmt: skip


def _number_ways(scene: Scene, numbers: list[Chunk]) -> Iterator[tuple[list[Cond], frozenset[int], float]]:
    """Each way to give every loose number a column: one named near it, else one whose unit fits."""
    if not numbers:
        yield [], frozenset(), 0.0
        return
    ways: list[list[tuple[Cond, frozenset[int], float]]] = []
    for chunk in numbers:
        options = _number_options(scene, chunk)
        if not options:
            return
        ways.append(options[:4])
    for combo in _product(ways):
        conds = [c for c, _, _ in combo]
        yield conds, frozenset().union(*(u for _, u, _ in combo)), sum(x for _, _, x in combo)


def _product(ways: list[list[tuple[Cond, frozenset[int], float]]]) -> Iterator[list[tuple[Cond, frozenset[int], float]]]:
    if not ways:
        yield []
        return
    for head in ways[0]:
        for tail in _product(ways[1:]):
            yield [head, *tail]


def _number_options(scene: Scene, chunk: Chunk) -> list[tuple[Cond, frozenset[int], float]]:
    qty = chunk.qty
    assert qty is not None
    out = []
    for named, ref, cost in scene.near_columns(chunk.at, after=3, before=5):
        if (values := ref.column.values()) is not None:
            cond = Cond(number_rows(values, qty), number_sql(ref.column, qty), ref.column, (), 0.0, chunk.text)
            out.append((cond, frozenset((chunk.at, named.at)), cost))
    if not out and qty.unit == "$":
        for column in scene.table.columns:
            if (values := column.values()) is not None and (column.unit == "$" or set(column.words) & _MONEY):
                cond = Cond(_money_rows(column, qty), number_sql(column, qty), column, (), 0.0, chunk.text)
                out.append((cond, frozenset((chunk.at,)), 0.1))
    return out


_MONEY = frozenset(("price", "cost", "amount", "total", "fare", "fee", "rent", "money", "balance", "payment", "salary", "revenue", "refund", "subtotal", "tax", "charge", "earn", "prize"))


def _money_rows(column: Column, qty: Quantity) -> frozenset[int]:
    values = column.values() or ()
    return frozenset(r for r, n in enumerate(values) if n is not None and (agrees(qty, n) or agrees(qty, abs(n))))


def _anchored(scene: Scene, conds: tuple[Cond, ...]) -> bool:
    """Whether one condition names a single row by what identifies it, so that the row's other cells are at issue."""
    for cond in conds:
        if cond.column is scene.table.key_column or cond.column.distinct >= 0.95 * scene.table.rows:
            return len(cond.rows) == 1
    return False


def _named(scene: Scene, conds: tuple[Cond, ...]) -> set[int]:
    """Column words that name a column already used."""
    used = {c.column.position for c in conds}
    return {c.at for c in scene.columns if used & {r.column.position for r in c.columns}}


def _difference(scene: Scene, conds: tuple[Cond, ...]) -> tuple[Distortion, str]:
    """What kind of difference it is, and what stands there instead: the cells of the rows most conditions agree on."""
    best: tuple[int, frozenset[int], Cond] | None = None
    for missing in conds:
        rows = scene.body
        for cond in conds:
            rows = rows if cond is missing else rows & cond.rows
        if rows and (best is None or len(rows) < len(best[1])):
            best = (1, rows, missing)
    if best is None:
        return Distortion.ENTITY_SUBSTITUTED, "no row meets even all but one of the conditions"
    column = best[2].column
    found = ", ".join(column.texts[r] for r in sorted(best[1])[:3])
    kind = Distortion.DATE_SHIFTED if column.is_date else Distortion.NUMBER_CHANGED if column.values() is not None else Distortion.ENTITY_SUBSTITUTED
    return kind, f"{column.name}: {found}"


def selection_sql(selection: Selection, column: Column) -> str:
    """The lookup of one column, for messages."""
    return f"SELECT {quote(column.name)} FROM {{table}}{selection.where}"
