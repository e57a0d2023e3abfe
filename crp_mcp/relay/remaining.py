"""What is left of a table when rows are taken out of it. Pure: bytes and a shape in, bytes out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from crp_mcp.core.model import Kind
from crp_mcp.core.shape import iter_rows, read_shape
from crp_mcp.core.shape.cells import compact_json
from crp_mcp.core.shape.model import Shape

from .matching import Matcher

_WHOLE = 1 << 40


@dataclass(frozen=True, slots=True)
class Rest:
    """The other rows, as JSON: `{"columns": […], "rows": […]}` for a table, a list for a list."""

    payload: bytes
    removed: int
    kept: int


def rest_of(payload: bytes, shape: Shape, matcher: Matcher) -> Rest | None:
    """The rows in which `matcher` finds nothing. None where there is no table, no such row, or no other.

    What stood around the rows goes too: it is about rows that are no longer there.
    """
    if shape.kind not in (Kind.TABULAR, Kind.LIST) or shape.rows is None or shape.blocks:
        return None
    names = names_of(shape)
    kept, removed = list[tuple[Any, ...]](), 0
    for row in iter_rows(payload, shape):
        if matcher.in_row(names, row):
            removed += 1
        else:
            kept.append(row)
    if not removed or not kept:
        return None
    made = write_rows(shape, names, kept)
    return None if matcher.in_bytes(made) else Rest(made, removed, len(kept))


def has_row(payload: bytes, shape: Shape, matcher: Matcher) -> bool:
    """Whether a row matches by its column's name and value, which the bytes need not hold side by side."""
    if shape.kind is not Kind.TABULAR or shape.rows is None or not matcher.may_be_a_cell(names_of(shape)):
        return False
    names = names_of(shape)
    return any(matcher.in_row(names, row) for row in iter_rows(payload, shape))


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left of a source for others to be rebuilt from: bytes, and how they are to be read."""

    payload: bytes
    shape: Shape


def emptied(shape: Shape | None) -> Remains:
    """The same table without its rows; of anything else, a text without lines."""
    if shape is None or shape.kind not in (Kind.TABULAR, Kind.LIST):
        return Remains(b"", read_shape(b"no line is left of it"))
    names = names_of(shape)
    sample = read_shape(write_rows(shape, names, [(None,) * len(names)]))  # a row, so that it reads as a table
    return Remains(write_rows(shape, names, []), replace(sample, row_index=()))


def names_of(shape: Shape) -> list[str]:
    return ["value"] if shape.columns is None else [column.name for column in shape.columns]


def write_rows(shape: Shape, names: list[str], rows: list[tuple[Any, ...]]) -> bytes:
    """Rows as JSON, a line each, numbers as they stood."""
    if shape.kind is Kind.LIST:
        return ("[" + ",\n".join(compact_json(row[0], _WHOLE) for row in rows) + "]").encode("utf-8", "replace")
    head = compact_json(names, _WHOLE)
    return "".join(_pieces(head, rows)).encode("utf-8", "replace")


def _pieces(head: str, rows: list[tuple[Any, ...]]) -> Iterator[str]:
    yield f'{{"columns":{head},"rows":['
    for number, row in enumerate(rows):
        yield (",\n" if number else "\n") + compact_json(list(row), _WHOLE)
    yield "\n]}" if rows else "]}"
