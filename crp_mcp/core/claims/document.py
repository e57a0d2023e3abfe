"""One result as tables, records and lines: what readings are computed from.

Everything is a table: rows of objects, a record (an object's scalars, one row), a list of scalars (one column).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .column import Column
from .words import name_words, stem

__all__ = ["Column", "Document", "Table", "make_table", "transposed", "twins"]
_NAMES_IT = frozenset(stem(w) for w in ("title", "name", "id"))


@dataclass(frozen=True, eq=False)
class Table:
    """Rows that mean the same kind of thing. `kind`: `rows`, `record` (one object) or `list` (scalars)."""

    name: str
    columns: tuple[Column, ...]
    rows: int
    kind: str = "rows"
    path: str = ""
    total: int | None = None
    """How many there are in all, where the source says so."""
    partial: bool = False
    caption: str = ""
    index_cache: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def nouns(self) -> frozenset[str]:
        """Stems that a sentence may call a row by."""
        return frozenset(name_words(self.name)) | frozenset(name_words(self.path.rsplit(".", 1)[-1]))

    @cached_property
    def summary_rows(self) -> frozenset[int]:
        """Rows that sum up others (`Total`), which counts and aggregates leave out."""
        if self.kind != "rows" or self.rows < 3:
            return frozenset()
        marked = {r for c in self.columns[:3] for r in (self.rows - 1, 0) if c.texts[r].strip().lower() in _SUMMARY}
        return frozenset(marked)

    @cached_property
    def body(self) -> frozenset[int]:
        """Row numbers that count."""
        return frozenset(range(self.rows)) - self.summary_rows

    @cached_property
    def key_column(self) -> Column | None:
        """The column that names each row: the first text column of nearly unique cells, else the first text column."""
        texts = [c for c in self.columns if not c.is_number and not c.is_date and c.filled]
        if self.kind == "record":
            return next((c for c in texts if set(c.words) & _NAMES_IT), None)
        for column in texts:
            if column.distinct >= 0.9 * self.rows:
                return column
        return texts[0] if texts else None

    def holds(self, word: str) -> bool:
        """Whether some cell is just this word."""
        return any((word,) in c.index for c in self.columns if not c.is_prose)

    def column(self, name: str) -> Column | None:
        return next((c for c in self.columns if c.name == name), None)


_SUMMARY = frozenset(("total", "totals", "sum", "all", "overall", "grand total", "average", "subtotal", "mean"))


def make_table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, name: str = "", kind: str = "rows", path: str = "",
    total: int | None = None, partial: bool = False, caption: str = "",
) -> Table:  # fmt: skip
    """A table from column names and rows; short rows are filled with null, surplus cells dropped."""
    data = list(rows)
    made = []
    for i, title in enumerate(columns):
        made.append(Column(str(title), [row[i] if i < len(row) else None for row in data], i))
    return Table(name, tuple(made), len(data), kind, path, total, partial, caption)


@dataclass(frozen=True, eq=False)
class Document:
    """One result, read. `lines` are the text's lines where it is text; `scalars` every path and scalar of a tree."""

    tables: tuple[Table, ...] = ()
    lines: tuple[str, ...] = ()
    scalars: tuple[tuple[str, Any], ...] = ()
    is_error: bool = False
    is_empty: bool = False
    partial: bool = False
    kind: str = "text"
    message: str = ""
    """The error's own words, or the whole of a short text."""
    statuses: tuple[int, ...] = ()
    """HTTP status codes the result states of itself."""
    total: int | None = None
    caption: str = ""
    unread: str = ""
    """Why it could not be read, where that is so: then nothing is known of it, and nothing is held against it."""

    @property
    def main(self) -> Table | None:
        """The table a count with no other name means: the one with the most rows nearest to the root."""
        real = [t for t in self.tables if t.kind != "record"]
        return min(real, key=lambda t: (t.path.count("."), -t.rows), default=None)


def transposed(table: Table) -> Table:
    """The table with rows and columns changed over, the old headers as its first column."""
    head, *rest = table.columns
    names = [head.name, *head.texts]
    rows = [[c.name, *c.cells] for c in rest]
    return make_table(names, rows, name=table.name, path=table.path, caption=table.caption)


_FORMS = frozenset(("str", "string", "text", "raw", "value", "num", "formatted"))


def twins(table: Table, column: Column) -> list[Column]:
    """Columns that hold the same in another form (`id` and `id_str`)."""
    mine = set(column.path_words)
    return [
        c for c in table.columns if c is not column and mine < set(c.path_words) and set(c.path_words) - mine <= _FORMS
    ]
