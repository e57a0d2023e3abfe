"""Is the last row of a table the sum of those above it? By what it is called, in the languages tables are met in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from .typed_rows import Row

_TOTAL = re.compile(
    r"\W*(?:(?:grand|overall|column) )?(?:sub-?totals?|totals?|sum|(?:gesamt)?summe|gesamt|insgesamt"
    r"|total g[ée]n[ée]ral|totale|totaal|итого|всего|сумма|合計|总计|合计|總計|합계)\W*",
    re.I,
)
_LEAST = 3
"""Rows below which nobody sums up."""


def total_label(row: Iterable[Any], rows: int) -> str | None:
    """`Grand Total`, where that is the first text of the last of so many rows and numbers follow; else None."""
    if rows < _LEAST:
        return None
    cells = [cell for cell in row if cell is not None and cell != ""]
    if len(cells) < 2 or type(cells[0]) is not str or not _TOTAL.fullmatch(cells[0]):
        return None
    return cells[0] if any(map(_is_number, cells[1:])) else None


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return re.search(r"\d", cell) is not None
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def cells_of(row: Any) -> Sequence[Any]:
    """A row's cells, whatever it is."""
    if isinstance(row, Row):
        return msgspec.structs.astuple(row)
    return list(row.values()) if isinstance(row, dict) else row if isinstance(row, list | tuple) else []
