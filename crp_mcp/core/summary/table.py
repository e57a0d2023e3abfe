"""Drafts for tables. Under pressure: fewer sample rows, narrower cells, fewer columns (the rest by name), no ranges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from crp_mcp.core.model import SummaryOptions
from crp_mcp.core.shape.model import Column, Shape

from .clean import short
from .draft import Draft, Step
from .facts import column_line, example, extent, notes, plural, value_text

_WAYS = ("scratch_query", 'scratch_get(view="raw")')


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
    columns = shape.columns or ()
    rows = min(options.sample_rows, len(shape.head))
    # A column takes at least three tokens, so more than this never fit and need not be written to find out.
    most = min(len(columns), options.cap // 3 + 1)
    names = 2 * options.cap
    every = len(columns)
    full = [(rows, 48, 8, 6), (rows, 32, 6, 4), *((fewer, 28, 5, 4) for fewer in range(rows - 1, 0, -1))]
    full += [(min(rows, 1), 20, 4, 3), (0, 20, 4, 3), (0, 12, 3, 2), (0, 12, 2, 2)]
    details = [_Detail(*detail, every, names) for detail in full if most == every]
    details += [_Detail(0, 12, 3, 2, kept, names) for kept in range(most - (most == every), 0, -1)]
    details += [_Detail(0, 12, 0, 0, 1, names // 2), _Detail(0, 12, 0, -1, 1, names // 4, ranges=False)]
    details += [_Detail(0, 12, 0, -1, 0, names // 8, ranges=False), _Detail(0, 0, 0, -1, 0, 0, ranges=False)]
    order = _by_worth(columns, shape.rows)
    return [partial(_draft, shape, order, detail) for detail in details]


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


def _draft(shape: Shape, order: list[int], detail: _Detail) -> Draft:
    columns = shape.columns or ()
    kept = sorted(order[: detail.columns])
    whole = shape.rows is not None and shape.rows <= detail.rows
    lines = notes(shape, detail.notes) if detail.notes >= 0 else []
    if lines and columns:
        lines[0] = f"{plural(len(columns), 'column')}, {lines[0]}"
    if whole and kept and len(kept) == len(columns):
        lines += _whole(shape, detail)
    else:
        for place in kept:
            sample = None if detail.rows or not detail.tops else example(shape, place)
            lines.append(column_line(columns[place], shape.rows, detail.tops, ranges=detail.ranges, sample=sample))
        lines += _left_out(columns, set(kept), detail.names)
        lines += _rows(shape, kept, detail)
    return Draft(extent(shape, detail.rows if kept else 0, "row"), _WAYS, tuple(lines))


def _rows(shape: Shape, kept: list[int], detail: _Detail) -> list[str]:
    if not kept:
        return []
    lines = []
    for number, row in enumerate(shape.head[: detail.rows], 1):
        cells = [value_text(row[place], detail.width) for place in kept if place < len(row)]
        lines.append(f"row {number}: {' | '.join(cells)}")
    return lines


def _whole(shape: Shape, detail: _Detail) -> list[str]:
    """Every row is shown, so the columns need no statistics; a single row reads best as names with values."""
    columns = shape.columns or ()
    if shape.rows == 1 and shape.head:
        pairs = zip(columns, shape.head[0], strict=False)
        width = 2 * detail.width
        return [
            f"{short(column.name, 40)}: {'/'.join(column.types)} {value_text(value, width)}" for column, value in pairs
        ]
    named = " | ".join(f"{short(column.name, 40)} {'/'.join(column.types) or 'null'}" for column in columns)
    return [f"columns: {named}", *_rows(shape, list(range(len(columns))), detail)]


def _left_out(columns: tuple[Column, ...], kept: set[int], room: int) -> list[str]:
    left = len(columns) - len(kept)
    if not left:
        return []
    names: list[str] = []
    for place, column in enumerate(columns):
        if place in kept:
            continue
        name = short(column.name, 24) or '""'
        room -= len(name.encode("utf-8", "replace")) + 2
        if room < 0:
            break
        names.append(name)
    said = f"{plural(left, 'more column')} not described" if kept else plural(left, "column")
    if not names:
        return [said]
    unnamed = left - len(names)
    return [f"{said}: {', '.join(names)}" + (f", and {unnamed} more" if unnamed else "")]
