"""A table that was found in text, and its shape. The readers (delimited, ruled, records, …) make it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from crp_mcp.core.model import Kind

from .columns import BATCH, TableStats
from .json_shapes import row_values
from .lists import EDGE, column_names
from .model import Column, Shape
from .partial import text_extent
from .totals import total_label


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of texts under names, and the lines that stood around them."""

    source: str
    names: tuple[str, ...]
    rows: Sequence[Sequence[str | None]]
    around: tuple[str, ...] = ()
    """Title, footer, lines between the rows that are no rows."""
    noise: int = 0
    """How many lines between the rows are no rows."""
    declared: int | None = None
    """Rows there are, by the footer."""
    reader: Mapping[str, Any] = field(default_factory=dict)
    """How to read the rows again, where the source alone does not say it."""

    @property
    def width(self) -> int:
        return len(self.names)


class TableCollector:
    """Collects the rows of one table of texts, however many."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._stats = TableStats(text_cells=True)
        self._queue: list[Sequence[str | None]] = []
        self._head: list[Sequence[str | None]] = []
        self._last: Sequence[str | None] = ()
        self._ragged = 0

    def feed(self, rows: Sequence[Sequence[str | None]]) -> None:
        if len(self._head) < EDGE:
            self._head += rows[: EDGE - len(self._head)]
        if rows:
            self._last = rows[-1]
        width, queue = len(self._names), self._queue
        if any(len(row) != width for row in rows):
            self._ragged += sum(len(row) != width for row in rows)
            rows = [row[:width] for row in rows]
        queue.extend(rows)
        done = 0
        while len(queue) - done >= BATCH:
            self._stats.feed_rows(self._names, queue[done : done + BATCH])
            done += BATCH
        del queue[:done]

    def shape(self, source: str, around: Sequence[str], *, noise: int = 0, declared: int | None = None) -> Shape:
        """Tabular, or empty where there is a header and nothing under it."""
        if self._queue:
            self._stats.feed_rows(self._names, self._queue)
            self._queue = []
        count = self._stats.rows
        columns = self._stats.finish() if count else empty_columns(self._names)
        extent = text_extent(around, count)
        total, why = extent.total, extent.why
        if declared is not None and declared >= count:
            total = max(total or 0, declared)
            why = why or (f"{count} of {declared}" if declared > count else None)
        notes = {
            "around": [line[:200] for line in around[:6]],
            "noise_lines": noise,
            "ragged_rows": self._ragged,
            "total_row": total_label(self._last, count),
        }
        return Shape(
            Kind.TABULAR if count else Kind.EMPTY,
            source,
            rows=count,
            rows_total=total,
            partial=why is not None,
            partial_why=why,
            columns=columns,
            more_columns=self._stats.full,
            head=tuple(row_values(list(row), columns) for row in self._head),
            text={name: note for name, note in notes.items() if note},
        )


def text_table_shape(table: TextTable) -> Shape:
    """The shape of a table at hand."""
    collector = TableCollector(table.names)
    collector.feed(table.rows)
    shape = collector.shape(table.source, table.around, noise=table.noise, declared=table.declared)
    return replace(shape, reader=dict(table.reader))


def empty_columns(names: Sequence[str]) -> tuple[Column, ...]:
    return tuple(Column(name, (), 0) for name in names)


def named(names: Sequence[str] | None, width: int) -> tuple[str, ...]:
    """The header's names, numbered where there is none."""
    return tuple(names) if names is not None else column_names(width)
