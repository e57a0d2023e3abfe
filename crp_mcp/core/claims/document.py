"""One result as tables, records and lines: what readings are computed from. Columns are typed on first need.

Everything is a table: rows of objects, a record (an object's scalars, one row), a list of scalars (one column).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import Any

from .dates import When, cell_date, find_dates, year_of
from .numbers import Number, cell_number
from .words import fold, keys, name_words, stem

Cell = str | int | float | bool | None
_YEARLY = frozenset(
    stem(w) for w in ("year", "season", "date", "since", "founded", "established", "born", "edition", "debut")
)
_NAMES_IT = frozenset(stem(w) for w in ("title", "name", "id"))
_NAMING = frozenset(("id", "ids", "uuid", "guid", "key", "pk", "zip", "phone"))
_COUNTED = frozenset(
    stem(w)
    for w in (
        "attendance",
        "population",
        "inhabitants",
        "votes",
        "capacity",
        "spectators",
        "employees",
        "people",
        "passengers",
    )
)
_DOTTED = re.compile(r"\d{1,3}(?:\.\d{3})*")
NULLS = frozenset(("", "null", "none", "n/a", "nan", "-", "--", "—", "n / a", "nil"))


def cell_text(cell: Any) -> str:
    """A cell as it would be read aloud: booleans lower-case, null empty."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell if isinstance(cell, str) else str(cell)


class Column:
    """One column: its name, its cells, and typed views of them made when first asked for."""

    def __init__(self, name: str, cells: Sequence[Any], position: int) -> None:
        self.name = name
        self.cells = cells
        self.position = position
        self.words = name_words(name.rsplit(".", 1)[-1]) or name_words(name)
        self.path_words = name_words(name)

    @cached_property
    def is_link(self) -> bool:
        """Whether the cells are addresses: their parts name nothing a sentence would say."""
        return sum(t.startswith(("http://", "https://")) for t in self.texts) > 0.5 * max(1, self.filled)

    @cached_property
    def is_prose(self) -> bool:
        """Whether the cells are long texts, of which a word says little."""
        return sum(len(t) for t in self.texts) > 160 * max(1, self.filled)

    @cached_property
    def texts(self) -> list[str]:
        return [cell_text(c) for c in self.cells]

    @cached_property
    def parsed(self) -> list[tuple[Number, str] | None]:
        if self._dotted_thousands():
            return [(int(t.replace(".", "")), "") if t.strip() else None for t in self.texts]
        out: list[tuple[Number, str] | None] = []
        for cell in self.cells:
            if isinstance(cell, bool) or cell is None:
                out.append(None)
            elif isinstance(cell, int | float):
                out.append((cell, "") if isinstance(cell, int) or isfinite(cell) else None)
            else:
                out.append(cell_number(cell_text(cell)))
        return out

    def _dotted_thousands(self) -> bool:
        """Whether the cells of a column of counts use the dot as thousands separator (`12.500` people)."""
        if not _COUNTED & set(self.words):
            return False
        filled = [t.strip() for t in self.texts if t.strip()]
        return any("." in t for t in filled) and all(_DOTTED.fullmatch(t) for t in filled)

    @cached_property
    def numbers(self) -> list[Number | None]:
        return [None if p is None else p[0] for p in self.parsed]

    @cached_property
    def unit(self) -> str:
        """The unit most cells carry, or the one named in the header's parentheses."""
        seen = [p[1] for p in self.parsed if p and p[1]]
        if seen:
            return max(set(seen), key=seen.count)
        return fold(self.name[self.name.find("(") + 1 : self.name.rfind(")")]) if "(" in self.name else ""

    @cached_property
    def filled(self) -> int:
        return sum(1 for t in self.texts if fold(t).strip() not in NULLS)

    @cached_property
    def is_number(self) -> bool:
        found = sum(n is not None for n in self.numbers)
        return found > 0 and found >= 0.75 * self.filled

    @cached_property
    def is_serial(self) -> bool:
        """Whether the numbers only count the rows off (1, 2, 3 …): a name, not a measure."""
        whole = [n for n in self.numbers if isinstance(n, int)]
        return len(whole) == len(self.cells) > 2 and all(b == a + 1 for a, b in pairwise(whole))

    @cached_property
    def is_measure(self) -> bool:
        """Whether the numbers measure something, rather than name or date the rows."""
        return self.is_number and not self.is_serial and not self.is_date and not _NAMING & set(self.words)

    @cached_property
    def holds_years(self) -> bool:
        """Whether every number of the column could be a year."""
        found = [n for n in self.numbers if n is not None]
        return bool(found) and all(year_of(n) is not None and n >= 1400 for n in found)

    @cached_property
    def dates(self) -> list[When | None]:
        return [_cell_when(t, n) for t, n in zip(self.texts, self.numbers, strict=True)]

    @cached_property
    def is_date(self) -> bool:
        if not self.filled or isinstance(self.cells[0], float):
            return False
        if self.is_number:
            years = sum(year_of(n) is not None for n in self.numbers)
            named = bool(_YEARLY & set(self.words))
            return years == self.filled and (named or "" in self.words)
        probe = [_cell_when(t, None) for t in self.texts[:200] if t.strip()]
        if len(self.cells) > 1000 and sum(d is not None for d in probe) < 0.3 * len(probe):
            return False
        found = sum(d is not None for d in self.dates)
        return found >= 0.6 * self.filled

    @cached_property
    def embedded_dates(self) -> list[tuple[When, ...]]:
        """Dates that stand among other words of a cell."""
        return [find_dates(t) if len(t) < 400 else () for t in self.texts]

    @cached_property
    def facet(self) -> list[Number | None] | None:
        """The one number among other words (`name (31)`, `hall 18613`), where nearly every cell has exactly one."""
        if self.is_number or self.is_date:
            return None
        out = [_single_number(t) for t in self.texts]
        found = sum(n is not None for n in out)
        return out if found >= 0.75 * max(1, self.filled) else None

    def values(self) -> list[Number | None] | None:
        """The column's numbers by which it can be compared, or None when it has none."""
        return self.numbers if self.is_number else self.facet

    @cached_property
    def index(self) -> dict[tuple[str, ...], list[int]]:
        """Words of a cell -> the rows that hold exactly those."""
        cells: dict[str, list[int]] = {}
        for row, text in enumerate(self.texts):
            if text:
                cells.setdefault(text, []).append(row)
        out: dict[tuple[str, ...], list[int]] = {}
        for text, rows in cells.items():
            out.setdefault(keys(text[:200]), []).extend(rows)
        return out

    @cached_property
    def postings(self) -> dict[str, set[tuple[str, ...]]]:
        """Stem of a word -> the cells (as words) that have it. Plain numbers have none: they are not named."""
        out: dict[str, set[tuple[str, ...]]] = {}
        for key, rows in self.index.items():
            if self.is_number and self.numbers[rows[0]] is not None:
                continue
            for word in key:
                out.setdefault(stem(word), set()).add(key)
        return out

    @cached_property
    def sorted_values(self) -> tuple[list[Number], list[int]]:
        """The column's numbers in order, and the row of each."""
        pairs = sorted((v, r) for r, v in enumerate(self.values() or ()) if v is not None)
        return [v for v, _ in pairs], [r for _, r in pairs]

    @cached_property
    def moments(self) -> dict[str, list[int]]:
        """Rows by the text of their date, so that each spelling is read once."""
        out: dict[str, list[int]] = {}
        for row, text in enumerate(self.texts):
            if self.dates[row] is not None:
                out.setdefault(text, []).append(row)
        return out

    @cached_property
    def time_order(self) -> list[tuple[float, ...] | None] | None:
        """A sort key for each row's moment, where all moments state the same fields; else None."""
        keys_ = [None if d is None else d.order() for d in self.dates]
        forms = {tuple(x < 0 for x in k) for k in keys_ if k is not None}
        return keys_ if len(forms) == 1 else None

    @cached_property
    def distinct(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        return f"Column({self.name!r}, {len(self.cells)} cells)"


def _single_number(text: str) -> Number | None:
    if "=" in text and (last := cell_number(text.rsplit("=", 1)[1].strip(" )"))):
        return last[0]
    found = [p for part in text.replace("(", " ").replace(")", " ").split() if (p := cell_number(part))]
    return found[0][0] if len(found) == 1 else None


def _cell_when(text: str, number: Number | None) -> When | None:
    if (year := year_of(number)) is not None and len(text.strip()) == 4:
        return When(year=year, literal=text)
    return cell_date(text)


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
