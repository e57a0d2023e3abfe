"""A table that was found in text, and its shape. The readers (delimited, ruled, records, …) make it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from crp_mcp.core.model import Kind

from .columns import BATCH, TableStats
from .json_shapes import row_values
from .lists import EDGE, column_names
from .model import Column, Shape
from .partial import text_extent


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

    @property
    def width(self) -> int:
        return len(self.names)


def text_table_shape(table: TextTable) -> Shape:
    """Tabular, or empty where there is a header and nothing under it."""
    stats = TableStats(text_cells=True)
    rows = iter(table.rows)
    while batch := list(islice(rows, BATCH)):
        stats.feed_rows(table.names, [row[: table.width] for row in batch])
    columns = stats.finish() if stats.rows else empty_columns(table.names)
    extent = text_extent(table.around, stats.rows)
    total, why = extent.total, extent.why
    if table.declared is not None:
        total = max(total or 0, table.declared) if table.declared >= stats.rows else total
        if table.declared > stats.rows:
            why = why or f"{stats.rows} of {table.declared}"
    ragged = sum(len(row) != table.width for row in table.rows)
    notes = {"around": [line[:200] for line in table.around[:6]], "noise_lines": table.noise, "ragged_rows": ragged}
    return Shape(
        Kind.TABULAR if stats.rows else Kind.EMPTY,
        table.source,
        rows=stats.rows,
        rows_total=total,
        partial=why is not None,
        partial_why=why,
        columns=columns,
        head=tuple(row_values(list(row), columns) for row in table.rows[:EDGE]),
        text={name: note for name, note in notes.items() if note},
    )


def empty_columns(names: Sequence[str]) -> tuple[Column, ...]:
    return tuple(Column(name, (), 0) for name in names)


def named(names: Sequence[str] | None, width: int) -> tuple[str, ...]:
    """The header's names, numbered where there is none."""
    return tuple(names) if names is not None else column_names(width)
