"""What a cache file says of its own tables: their columns, and what was found out about those."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from .build import Built
from .rewrite import Decimals

MEMBERS = ("name", "scratch_id", "rows", "columns", "text", "indexed", "decimals", "lost", "looks", "grouped", "sums")
MADE = ("name", "scratch_id", "rows", "columns", "text", "lost", "sums")


@dataclass(frozen=True, slots=True)
class Table:
    """A derived table. `columns`: (name, kind, column with the original text or None)."""

    name: str
    scratch_id: str
    rows: int
    columns: tuple[tuple[str, str, str | None], ...]
    text: bool = False
    indexed: bool = False
    decimals: Mapping[str, Decimals | None] = field(default_factory=dict)
    """For float columns that were asked: how exact sums can be had; None where there are too many digits."""
    lost: Mapping[str, int] = field(default_factory=dict)
    """Columns of numbers or dates -> how many texts were neither, and are null."""
    looks: Mapping[str, str] = field(default_factory=dict)
    """For texts that were asked, by column or expression: what they look like all the same, "" for nothing."""
    grouped: Mapping[str, tuple[str, str] | None] = field(default_factory=dict)
    """For converted numbers that were asked: a text, and what it was read as, where another reading fits as well."""
    sums: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Columns of fractions -> (hidden column with them as whole numbers, digits these are shifted by)."""
    union: tuple[Table, ...] = ()
    """Of a stream: the tables of its chunks, in order; such a table is in no file."""


def noted(built: Built) -> tuple[str, str]:
    """What is known of a table when it is built, as `MADE` has it last."""
    return json.dumps(built.lost), json.dumps(built.sums)


@lru_cache(maxsize=64)
def table_of(row: tuple[Any, ...]) -> Table:
    """A row of the catalogue, its members as in `MEMBERS`. Kept: every query asks for what it says."""
    name, scratch_id, count, columns, text, indexed = row[:6]
    decimals, lost, looks, grouped, sums = map(json.loads, row[6:])
    return Table(
        name,
        scratch_id,
        count,
        tuple((column, kind, beside) for column, kind, beside in json.loads(columns)),
        bool(text),
        bool(indexed),
        {column: None if one is None else Decimals(*one) for column, one in decimals.items()},
        lost,
        looks,
        {column: None if one is None else (one[0], one[1]) for column, one in grouped.items()},
        {column: (hidden, digits) for column, (hidden, digits) in sums.items()},
    )
