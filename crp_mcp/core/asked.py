"""Did a call get as many rows as it asked for, or as a limit usually lets through? Then there may be more. Pure.

A shape knows what the source says of the whole; what was asked of the source stands in the call's arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .model import Kind
from .shape.model import Shape
from .shape.vocabulary import LIMIT, plain

_ASKING = LIMIT | {"first", "last", "maxnum", "numresults", "take", "top"}
"""Names of arguments that say how many are wanted at most."""
_SQL_LIMIT = re.compile(r"\blimit\s+(\d{1,9})(?:\s+offset\s+\d+)?\s*;?\s*\Z", re.IGNORECASE)
_ORDERED = re.compile(r"\border\s+by\b", re.IGNORECASE)
"""The first rows of an order are what was wanted."""
_LEAST_ROUND = 50
_ROUND = frozenset({"1", "2", "25", "5"})


def with_asked(shape: Shape, arguments: Mapping[str, Any]) -> Shape:
    """The shape, partial where it has exactly as many rows as asked for; a round number of rows is remarked alone."""
    rows = shape.rows
    if shape.kind not in (Kind.TABULAR, Kind.LIST) or not rows or shape.partial or shape.rows_total is not None:
        return shape
    for said, most in _limits(arguments):
        if most == rows:
            return replace(shape, partial=True, partial_why=f"as many rows as asked for ({said})")
    if any(most > rows for _, most in _limits(arguments)):
        return shape
    if is_round(rows):
        return replace(shape, partial_why=f"maybe, as {rows:,} rows are as many as a limit often lets through")
    return shape


def is_round(rows: int) -> bool:
    """50, 100, 200, 250, 500, 1,000 and so on."""
    return rows >= _LEAST_ROUND and str(rows).rstrip("0") in _ROUND


def _limits(arguments: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """(how it is said, the number) of every limit in the arguments."""
    for key, value in arguments.items():
        if isinstance(value, str):
            found = _SQL_LIMIT.search(value[-200:])
            if found is not None and _ORDERED.search(value) is None:
                yield f"LIMIT {found[1]}", int(found[1])
            value = int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else None
        if isinstance(value, int) and not isinstance(value, bool) and plain(key) in _ASKING:
            yield f"{key}: {value}", value
