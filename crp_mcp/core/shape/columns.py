"""Statistics of columns over batches of rows: types, nulls, exact ranges, distinct values. Knows nothing of formats.

Strategy: a column is looked at a whole batch at a time with C-level builtins, never cell by cell. While it has few
distinct values it is only counted, and everything else is worked out from the counts at the end; once it has too many
it keeps no values, only its smallest and largest.

What a cell may be: None (null *or* missing), bool, int, float, Decimal, str, dict, list, or `Num`. A reader that has a
number's literal in hand passes `Num(literal)`; one that decoded floats for speed passes plain floats and `literal`, a
function that finds the literal of one cell when it is needed (a handful of times a batch at most). Without either a
float is shown as Python writes it. Feed batches of `BATCH` rows: equal batches give equal columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from .column_stats import ColumnStats, Literal
from .column_values import Num
from .model import Column

__all__ = ["BATCH", "MAX_COLUMNS", "Literal", "Num", "TableStats"]

BATCH = 500
"""Rows in a batch."""
MAX_COLUMNS = 50_000
"""More columns than this are not kept; `TableStats.full` says so."""
_GROUPS = 40
"""Rows of one batch with more key sets than this are taken cell by cell."""


class TableStats:
    """Collects columns over any number of batches, in first-seen order.

    `text_cells`: every cell is text (CSV, Markdown, psql), so types are read from the texts and "" is null.
    `words`: how the payload spells true and false.
    """

    def __init__(self, *, text_cells: bool = False, words: tuple[str, str] = ("true", "false")) -> None:
        self.rows = 0
        self.full = False
        self._text_cells = text_cells
        self._words = words
        self._columns: dict[tuple[str, int], ColumnStats] = {}
        self._names: Sequence[str] = ()
        self._keys: list[tuple[str, int]] = []

    def feed_objects(self, batch: Sequence[Mapping[str, Any]], literal: Literal | None = None) -> None:
        """Rows as mappings; a key that a row lacks is a null of its column."""
        if not batch:
            return
        self.rows += len(batch)
        groups: dict[tuple[str, ...], list[int]] = {}
        for at, names in enumerate(map(tuple, batch)):
            groups.setdefault(names, []).append(at)
        if len(groups) == 1:
            (names,) = groups
            self._feed(names, zip(*map(_values, batch), strict=True), range(len(batch)), literal)
            return
        self._register((name, 0) for name in chain.from_iterable(groups))
        if len(groups) > _GROUPS:
            self._feed_scattered(batch, literal)
            return
        for names, places in groups.items():
            self._feed(names, zip(*(_values(batch[at]) for at in places), strict=True), places, literal)

    def feed_rows(self, names: Sequence[str], batch: Sequence[Sequence[Any]], literal: Literal | None = None) -> None:
        """Rows as sequences in the order of `names`. Short rows miss cells; surplus cells get numbered columns."""
        if not batch:
            return
        width = max(map(len, batch))
        if width > len(names):
            names = [*names, *(f"column_{n}" for n in range(len(names) + 1, width + 1))]
        if width < len(names) or min(map(len, batch)) < width:
            width = len(names)
            batch = [row if len(row) == width else [*row, *[None] * (width - len(row))] for row in batch]
        self.rows += len(batch)
        self._feed(names, zip(*batch, strict=True), range(len(batch)), literal)

    def feed_columns(
        self,
        names: Sequence[str],
        columns: Iterable[Sequence[Any]],
        literal: Literal | None = None,
        kinds: Sequence[type | None] | None = None,
    ) -> None:
        """The same batch, already turned: one sequence of equal length for each name.

        `kinds`: by column, the Python type that every cell is known to have, or None where it must be looked at.
        """
        turned = list(columns)
        self.rows += len(turned[0]) if turned else 0
        self._feed(names, turned, range(len(turned[0]) if turned else 0), literal, kinds)

    def finish(self) -> tuple[Column, ...]:
        """Every column seen. May be called more than once, also between batches."""
        return tuple(stats.column(self.rows) for stats in self._columns.values())

    def _register(self, keys: Iterable[tuple[str, int]]) -> None:
        columns = self._columns
        for key in keys:
            if key not in columns:
                if len(columns) >= MAX_COLUMNS:
                    self.full = True
                    return
                columns[key] = ColumnStats(key[0], len(columns), self._text_cells, self._words)

    def _feed(
        self,
        names: Sequence[str],
        columns: Iterable[Sequence[Any]],
        places: Sequence[int],
        literal: Literal | None,
        kinds: Sequence[type | None] | None = None,
    ) -> None:
        if names != self._names:
            seen: Counter[str] = Counter()
            self._names, self._keys = names, []
            for name in names:
                self._keys.append((name, seen[name]))
                seen[name] += 1
            self._register(self._keys)
        for key, cells, kind in zip(self._keys, columns, kinds or repeat(None, len(self._keys)), strict=True):
            stats = self._columns.get(key)
            if stats is not None:
                stats.add(cells, places, literal, kind)

    def _feed_scattered(self, batch: Sequence[Mapping[str, Any]], literal: Literal | None) -> None:
        """Rows that hardly share their keys: one pass over the cells, then a column at a time."""
        cells: dict[str, tuple[list[Any], list[int]]] = {}
        for at, row in enumerate(batch):
            for name, value in row.items():
                found = cells.get(name)
                if found is None:
                    found = cells[name] = ([], [])
                found[0].append(value)
                found[1].append(at)
        for name, (values, places) in cells.items():
            stats = self._columns.get((name, 0))
            if stats is not None:
                stats.add(values, places, literal)


def _values(row: Mapping[str, Any]) -> Iterable[Any]:
    return row.values()
