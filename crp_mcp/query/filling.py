"""One derived table being filled: rows in, as tuples or objects, and what became of its columns out."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from crp_mcp.core.folding import fold

from .cells import column_values, has_codes, original
from .columns import ColumnPlan, free_beside
from .sql import quote

BATCH = 2_000
MOST_SUMS = 24
"""Columns of fractions whose sums are prepared; of others they are exact as well, and slower."""


@dataclass(frozen=True, slots=True)
class Built:
    """A table that was filled. `columns`: (name, kind, name of the column with the original text or None)."""

    name: str
    rows: int
    columns: tuple[tuple[str, str, str | None], ...]
    text: bool = False
    sums: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Columns of fractions -> (the hidden column that has them as whole numbers, digits these are shifted by)."""
    lost: Mapping[str, int] = field(default_factory=dict)
    """Columns of numbers or dates -> how many texts were neither, and are null."""


class Table:
    """One table being filled."""

    def __init__(self, db: sqlite3.Connection, name: str, plans: Sequence[ColumnPlan], text_cells: bool) -> None:
        self._db, self._name, self._plans, self._text_cells = db, name, list(plans), text_cells
        self._rows = 0
        self._plain = all(plan.reading is None and plan.kind not in ("json", "mixed") for plan in plans)
        self.nested = any(plan.kind in ("json", "mixed") or plan.mixed for plan in plans)
        self._coded: set[str] = set()
        self._lost: Counter[str] = Counter()
        self._beside = [plan for plan in plans if plan.beside]
        """Columns with originals beside them, in the order of these."""
        self._sums = _hidden(plans)
        stored = [(plan.name, plan.declared) for plan in plans]
        stored += [(str(plan.beside), "" if plan.mixed else "TEXT") for plan in self._beside]
        stored += [(hidden, "INTEGER") for hidden, _ in self._sums.values()]
        spelled = ", ".join(f"{quote(column)} {declared}".strip() for column, declared in stored)
        db.execute(f"CREATE TABLE {quote(name)} ({spelled or 'value'})")
        self._insert = self._statement()

    def _statement(self) -> str:
        """The whole numbers of a hidden column are made by SQLite, from the value that is inserted anyway."""
        columns = [plan.name for plan in self._plans] + [str(plan.beside) for plan in self._beside]
        if not columns:
            return f"INSERT INTO {quote(self._name)} VALUES (?)"
        values = [f"?{number}" for number in range(1, len(columns) + 1)]
        for name, (hidden, digits) in self._sums.items():
            place = columns.index(name) + 1
            columns.append(hidden)
            values.append(f"CAST(round(?{place} * 1{'0' * digits}.0) AS INTEGER)")
        return f"INSERT INTO {quote(self._name)} ({', '.join(map(quote, columns))}) VALUES ({', '.join(values)})"

    def add_block(self, block: Sequence[Any], names: Sequence[str]) -> None:
        """Rows as tuples of plain cells, or as dicts."""
        if not block:
            return
        if isinstance(block[0], dict):
            block = _as_tuples(block, names)
            if not self._plain:
                self.add(block)
                return
        if self._plain and len(block[0]) == len(self._plans) and self._quick(block):
            self._rows += len(block)
            return
        self.add([tuple(_opened(cell) for cell in row) for row in block] if not self._plain else block)

    def _quick(self, block: Sequence[tuple[Any, ...]]) -> bool:
        """As they are, where every cell is one that SQLite takes."""
        self._db.execute("SAVEPOINT quick")
        try:
            self._db.executemany(self._insert, block)
        except (OverflowError, UnicodeEncodeError, sqlite3.Error):
            self._db.execute("ROLLBACK TO quick")
            return False
        finally:
            self._db.execute("RELEASE quick")
        return True

    def add(self, batch: Sequence[tuple[Any, ...]]) -> None:
        """Rows with cells of any kind."""
        if not self._plans:
            self._db.executemany(self._insert, [(None,)] * len(batch))
            self._rows += len(batch)
            return
        turned = list(zip(*batch, strict=True))
        main: list[Sequence[Any]] = []
        originals: dict[str, Sequence[Any]] = {}
        for at, plan in enumerate(self._plans):
            cells: Sequence[Any] = turned[plan.position]
            if self._text_cells and plan.kind in ("text", "date", "datetime", "bool"):
                cells = [None if cell is None else str(cell) for cell in cells]
            values = column_values(plan, cells, text_cells=self._text_cells)
            if plan.beside:
                self._look(plan, cells, values[0])
                originals[plan.name] = values[1]
            elif plan.reading is not None and loses_spelling(cells, values[0]):
                self._keep_originals(at)
                originals[plan.name] = list(map(original, cells))
            main.append(values[0])
        beside = [originals[plan.name] for plan in self._beside]
        self._db.executemany(self._insert, zip(*main, *beside, strict=True))
        self._rows += len(batch)

    def _look(self, plan: ColumnPlan, cells: Sequence[Any], values: Sequence[Any]) -> None:
        """Notice texts that are no numbers or dates, and those that must not become any."""
        if plan.kind not in ("date", "datetime") and plan.name not in self._coded and has_codes(cells):
            self._coded.add(plan.name)
        if None in values:
            self._lost[plan.name] += sum(
                value is None and type(cell) is str and bool(cell.strip())
                for cell, value in zip(cells, values, strict=True)
            )

    def _keep_originals(self, at: int) -> None:
        """From now on keep the texts of a column beside it: something of their spelling is lost in the numbers."""
        plan = self._plans[at]
        used = {fold(one.name) for one in self._plans} | {fold(str(one.beside)) for one in self._beside}
        plan = self._plans[at] = replace(plan, beside=free_beside(plan.name, used))
        self._beside.append(plan)
        table, second = quote(self._name), quote(str(plan.beside))
        self._db.execute(f"ALTER TABLE {table} ADD COLUMN {second} TEXT")
        if self._rows:
            self._db.create_function("crp_spelled", 1, _spelled, deterministic=True)
            self._db.execute(f"UPDATE {table} SET {second} = crp_spelled({quote(plan.name)})")
        self._insert = self._statement()

    def finish(self) -> Built:
        """What was built. Columns with codes (007) among their texts get these back."""
        columns: list[tuple[str, str, str | None]] = []
        for plan in self._plans:
            if plan.name in self._coded and plan.beside:
                table, name = quote(self._name), quote(plan.name)
                self._db.execute(f"ALTER TABLE {table} DROP COLUMN {name}")
                if hidden := self._sums.pop(plan.name, None):
                    self._db.execute(f"ALTER TABLE {table} DROP COLUMN {quote(hidden[0])}")
                self._db.execute(f"ALTER TABLE {table} RENAME COLUMN {quote(plan.beside)} TO {name}")
                columns.append((plan.name, "mixed" if plan.mixed else "text", None))
            else:
                columns.append((plan.name, plan.kind, plan.beside))
        lost = {name: count for name, count in self._lost.items() if count and name not in self._coded}
        return Built(self._name, self._rows, tuple(columns), lost=lost, sums=self._sums)


def _hidden(plans: Sequence[ColumnPlan]) -> dict[str, tuple[str, int]]:
    """Hidden columns for the sums of fractions: adding whole numbers is exact, and as fast as adding any."""
    used = {fold(name) for plan in plans for name in (plan.name, plan.beside) if name}
    found: dict[str, tuple[str, int]] = {}
    for plan in plans:
        if plan.digits is not None and len(found) < MOST_SUMS:
            hidden = f"{plan.name} in whole"
            while fold(hidden) in used:
                hidden += "_"
            used.add(fold(hidden))
            found[plan.name] = hidden, plan.digits
    return found


def loses_spelling(cells: Sequence[Any], values: Sequence[Any]) -> bool:
    """Whether a text of the source cannot be had from the number it became: `2.00`, `+5`, `1e3`."""
    return any(
        isinstance(cell, str) and not isinstance(value, str) and value is not None and cell != _spelled(value)
        for cell, value in zip(cells, values, strict=True)
    )


def _spelled(value: Any) -> str | None:
    return None if value is None else repr(value) if isinstance(value, float) else str(value)


def _as_tuples(block: Sequence[dict[str, Any]], names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Objects as rows, null where one has no such member."""
    if len(names) > 1:
        try:
            return list(map(itemgetter(*names), block))
        except KeyError:
            pass  # some lack some: the slower way
    return [tuple(map(item.get, names)) for item in block]


def _opened(cell: Any) -> Any:
    """A raw piece of JSON as its text; every other cell as it is."""
    kind = type(cell)
    if cell is None or kind is str or kind is int or kind is float or kind is bool:
        return cell
    return str(memoryview(cell), "utf-8") if kind.__name__ == "Raw" else cell
