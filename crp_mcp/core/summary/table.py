"""Drafts for tables. Under pressure: fewer sample rows, narrower cells, fewer columns (the rest by name), no ranges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from crp_mcp.core.folding import fold, unique_names
from crp_mcp.core.model import SummaryOptions
from crp_mcp.core.shape.model import Column, Shape

from .clean import short
from .draft import Draft, Step
from .facts import NOTHING, column_line, columns_in, example, extent, inside, notes, plural, value_text

_WAYS = ("scratch_query", 'scratch_get(view="raw")')
_FEW = 3
"""With so few values of a column shown, there is no room for what its objects hold either."""


@dataclass(frozen=True, slots=True)
class _Detail:
    rows: int
    width: int
    tops: int
    notes: int
    """Scalars beside the rows; -1: no line about the whole at all."""
    columns: int
    names: int
    """Bytes that the names of the columns left out may take."""
    ranges: bool = True


def table_steps(shape: Shape, options: SummaryOptions) -> list[Step]:
    """Drafts of a table, richest first."""
    shape = _as_queried(shape)
    columns = shape.columns or ()
    rows = min(options.sample_rows, len(shape.head))
    # A described column takes at least five tokens, so more than this never fit and need not be written to find out.
    most = min(len(columns), options.cap // 5 + 1)
    names = 4 * options.cap // 3
    every = len(columns)
    full = [(rows, 48, 8, 6), (rows, 32, 6, 4), *((fewer, 28, 5, 4) for fewer in range(rows - 1, 0, -1))]
    full += [(min(rows, 1), 20, 4, 3), (0, 20, 4, 3), (0, 12, 3, 2), (0, 12, 2, 2)]
    details = [_Detail(*detail, every, names) for detail in full if most == every]
    details += [_Detail(0, 12, 3, 2, kept, names) for kept in range(most - (most == every), 0, -1)]
    details += [_Detail(0, 12, 0, 0, 1, names // 2), _Detail(0, 12, 0, -1, 1, names // 4, ranges=False)]
    details += [_Detail(0, 12, 0, -1, 0, names // 8, ranges=False), _Detail(0, 0, 0, -1, 0, 0, ranges=False)]
    table = _Table(shape)
    return [partial(table.draft, detail) for detail in details]


def _as_queried(shape: Shape) -> Shape:
    """The table with its columns named as in a query: each of them has a name, and no two the same."""
    columns = shape.columns or ()
    names = [column.name for column in columns]
    if all(names) and len(set(map(fold, names))) == len(names):
        return shape
    named = zip(columns, unique_names(names), strict=True)
    return replace(shape, columns=tuple(replace(column, name=name) for column, name in named))


class _Table:
    """Writes the drafts of one table; lines that several drafts share are made once."""

    __slots__ = ("_lines", "_names", "_order", "_shape")

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._order = _by_worth(shape.columns or (), shape.rows)
        self._names: dict[int, str] = {}
        self._lines: dict[tuple[int, int, bool, bool], str] = {}

    def draft(self, detail: _Detail) -> Draft:
        shape, columns = self._shape, self._shape.columns or ()
        kept = sorted(self._order[: detail.columns])
        lines = notes(shape, detail.notes) if detail.notes >= 0 else []
        if lines and columns:
            lines[0] = f"{columns_in(shape)}, {lines[0]}"
        if shape.rows == 1 and shape.head and kept:
            return self._single(kept, detail, lines)
        if shape.rows is not None and shape.rows <= detail.rows and len(kept) == len(columns):
            lines += self._whole(detail)
        else:
            lines += [self._column(place, detail) for place in kept]
            lines += self._left_out(set(kept), detail.names)
            lines += self._rows(kept, detail)
        return Draft(extent(shape, detail.rows if kept else 0, "row"), _WAYS, tuple(lines))

    def _column(self, place: int, detail: _Detail) -> str:
        with_sample = not detail.rows and detail.tops > 0
        key = (place, detail.tops, detail.ranges, with_sample)
        line = self._lines.get(key)
        if line is None:
            sample = example(self._shape, place) if with_sample else None
            column = (self._shape.columns or ())[place]
            line = column_line(column, self._shape.rows, detail.tops, ranges=detail.ranges, sample=sample)
            line += inside(self._shape, place) if detail.tops > _FEW else ""
            self._lines[key] = line
        return line

    def _rows(self, kept: list[int], detail: _Detail) -> list[str]:
        lines = []
        for number, row in enumerate(self._shape.head[: detail.rows], 1):
            cells = [value_text(row[place], detail.width) for place in kept if place < len(row)]
            lines.append(f"row {number}: {' | '.join(cells)}")
        return lines

    def _whole(self, detail: _Detail) -> list[str]:
        """Every row is shown, so no statistics are needed."""
        columns = self._shape.columns or ()
        named = " | ".join(
            f"{self._name(place, 40)} {'/'.join(column.types) or 'null'}" for place, column in enumerate(columns)
        )
        return [f"columns: {named}", *self._rows(list(range(len(columns))), detail)]

    def _single(self, kept: list[int], detail: _Detail, lines: list[str]) -> Draft:
        """A single row reads best as names with values."""
        columns, row = self._shape.columns or (), self._shape.head[0]
        for place in kept:
            if place < len(row):
                kind = "/".join(columns[place].types)
                cell = value_text(row[place], max(2 * detail.width, 24))
                lines.append(f"{self._name(place, 40)}: {f'{kind} {cell}' if kind else cell}")
        shown = extent(self._shape, 1, "row")
        if len(kept) < len(columns):
            shown += f", {len(kept):,} of {columns_in(self._shape)}"
        return Draft(shown, _WAYS, (*lines, *self._left_out(set(kept), detail.names)))

    def _name(self, place: int, width: int) -> str:
        name = self._names.get(place)
        if name is None:
            name = self._names[place] = short((self._shape.columns or ())[place].name, width) or NOTHING
        return name

    def _left_out(self, kept: set[int], room: int) -> list[str]:
        every = len(self._shape.columns or ())
        left = every - len(kept)
        if not left:
            return []
        names: list[str] = []
        for place in range(every):
            if place in kept:
                continue
            name = self._name(place, 24)
            room -= len(name.encode("utf-8", "replace")) + 2
            if room < 0:
                break
            names.append(name)
        said = f"{plural(left, 'more column')} not described" if kept else plural(left, "column")
        over = "over " if self._shape.more_columns else ""
        said = f"{over}{said}"
        if not names:
            return [said]
        unnamed = left - len(names)
        return [f"{said}: {', '.join(names)}" + (f", and {over}{unnamed} more" if unnamed else "")]


def _by_worth(columns: tuple[Column, ...], rows: int | None) -> list[int]:
    """Positions of the columns, those that say most first: the first one names the row, empty ones say nothing."""

    def rank(place: int) -> tuple[int, int]:
        column = columns[place]
        if rows is not None and column.nulls >= rows:
            return 3, place
        if column.types and column.types[0] in ("object", "list"):
            return 2, place
        return (0 if place < 2 or column.low is not None or column.top else 1), place

    return sorted(range(len(columns)), key=rank)
