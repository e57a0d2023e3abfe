"""The nouns of a shape: what was read from a payload, ready for a summary. Knows nothing of how it was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crp_mcp.core.model import Kind

MOST_MEMBERS = 60
"""Scalars, and other members, that a shape keeps of an object."""
MOST_HEADINGS, MOST_NAMES = 24, 12
"""Headings and names that a shape keeps of a text. With as many as this, there may be more in the payload."""


@dataclass(frozen=True, slots=True)
class Value:
    """One cell or scalar as it stands in the payload. `text` is the literal itself: never re-formatted."""

    text: str
    type: str
    """`null`, `bool`, `int`, `float`, `str`, `date`, `datetime`, `object` or `list`."""
    cut: bool = False
    """True where `text` is only the beginning: long texts are not kept whole in a shape."""
    size: int = 0
    """Characters of the whole text where it was cut and they are known; else 0."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column over all rows. Ranges and distinct values are exact, or absent."""

    name: str
    types: tuple[str, ...]
    """Types seen, most frequent first, `null` left out; several mean a mixed column."""
    nulls: int
    """Cells that are null or missing."""
    low: str | None = None
    """Smallest value's literal, for numeric and date columns (numeric strings included)."""
    high: str | None = None
    distinct: int | None = None
    """Exact number of distinct non-null values; None once there were too many to keep."""
    top: tuple[tuple[str, int], ...] = ()
    """(value literal, count), most frequent first, for low-cardinality columns."""
    spelling: str | None = None
    """How its texts are to be read as numbers or dates (`column_values`); None where they are texts, or cannot be."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a payload is. Equal bytes give an equal shape on every platform and in every process."""

    kind: Kind
    source: str
    """The reader that recognised it: `json_rows`, `json_columns`, `ndjson`, `csv`, `markdown`, `psql`, `text`, …"""
    is_error: bool = False
    rows: int | None = None
    """Rows of a table, items of a list; None otherwise. What is in the payload, not what the source says exists."""
    rows_total: int | None = None
    """How many there are in all, where the source itself says so."""
    partial: bool = False
    """The source says, or the bytes show, that this is not all of it."""
    partial_why: str | None = None
    """The marker, in words of ours and literals of the payload: `has_more: true`, `showing first 15 rows`."""
    columns: tuple[Column, ...] | None = None
    more_columns: bool = False
    """There are more columns than `columns` holds; how many more is not known."""
    path: str | None = None
    """Where the rows stand in a wrapped result (`data.items`); None when they are the payload's root."""
    unwrapped: tuple[str, ...] = ()
    """What had to be taken off to find the data: `fenced`, `prose`, `double-encoded`, …"""
    scalars: tuple[tuple[str, Value], ...] = ()
    """Scalar members of an object or of a table's wrapper, the ones that matter first."""
    members: tuple[tuple[str, str], ...] = ()
    """Members of an object that are no scalars: (key, what it is: `list of 12 objects`, `object, 5 keys`)."""
    key_count: int | None = None
    head: tuple[tuple[Value, ...], ...] = ()
    """First rows (tables: one Value a column; lists: one Value a row; scalars: one row of one)."""
    tail: tuple[tuple[Value, ...], ...] = ()
    """Last items of a list."""
    text: Mapping[str, Any] = field(default_factory=dict)
    """For text and errors: first_sentence, headings, entities, lines, words, chars, levels, first_error, last_error,
    head, tail, message. For others: around (lines around the rows), noise_lines, ragged_rows, item_types, mime, bytes.
    """
    row_index: tuple[tuple[int, int], ...] = ()
    """Sparse (row number, byte offset in the payload) where rows are byte spans of it."""
    blocks: tuple[tuple[int, Shape], ...] = ()
    """Sub-shapes of a result with several text blocks: (block number, shape)."""
    media: tuple[tuple[int, str, str, int], ...] = ()
    """Blocks that are not text: (block number, type, MIME type or '', size in bytes)."""
    reader: Mapping[str, Any] = field(default_factory=dict)
    """What the reader needs to find the rows again (delimiter, header, encoding, …); JSON values only."""
