"""Fills derived tables from a stored payload, batch by batch. Knows tables and shapes, not who may see them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

from crp_mcp.core.folding import fold, utterable
from crp_mcp.core.model import Kind
from crp_mcp.core.shape.again import SMALL, has_blocks, open_body, open_document, row_blocks, small_rows, stream_rows
from crp_mcp.core.shape.cells import NotJson
from crp_mcp.core.shape.columns import TableStats
from crp_mcp.core.shape.model import Column, Shape

from .cells import whole_text
from .columns import plan_columns
from .filling import BATCH, Built, Table
from .lines import split_lines, text_rows
from .sql import quote
from .tables import Source, lists_of

PIECE = 1 << 20
_JSON_SOURCES = ("json", "ndjson", "structured", "python")


class Payload(Protocol):
    """Slices of the payload's bytes."""

    size: int

    def read(self, offset: int, length: int) -> bytes: ...


def build(db: sqlite3.Connection, name: str, source: Source, payload: Payload) -> list[Built]:
    """Create the tables of one source inside the caller's transaction: the main one, named `name`."""
    if source.how == "lines":
        return [_build_lines(db, name, source.shape, payload)]
    if source.how == "document":
        return [_build_document(db, name, source.shape, payload)]
    return [_build_rows(db, name, source.shape, payload)]


def build_parts(db: sqlite3.Connection, name: str, shape: Shape, payload: Payload, taken: Sequence[str]) -> list[Built]:
    """Create a table for every list inside a JSON object, `<name>.<key>`; those that exist already are left out."""
    try:
        document = open_document(payload.read(0, payload.size), shape)
    except NotJson:
        return []
    built: list[Built] = []
    used = set(map(fold, taken))
    for key, items in lists_of(document).items():
        part = f"{name}.{utterable(key)}"
        if fold(part) not in used:
            used.add(fold(part))
            built.append(_build_items(db, part, items))
    return built


# --- rows -------------------------------------------------------------------------------------------------------------


def _build_rows(db: sqlite3.Connection, name: str, shape: Shape, payload: Payload) -> Built:
    text_cells = not shape.source.startswith(_JSON_SOURCES)
    columns = shape.columns if shape.columns is not None else (_value_column(shape, payload),)
    plans = plan_columns(columns, text_cells=text_cells, rows=shape.rows or 0)
    table = Table(db, name, plans, text_cells)
    names = [column.name for column in columns]
    if payload.size <= SMALL and (items := small_rows(payload.read(0, payload.size), shape, literals=table.nested)):
        for at in range(0, len(items), BATCH):
            table.add_block(items[at : at + BATCH], names)
    elif shape.columns and has_blocks(shape):
        for block in row_blocks(payload.read, payload.size, shape):
            table.add_block(block, names)
    else:
        rows = stream_rows(payload.read, payload.size, shape)
        while batch := list(islice(rows, BATCH)):
            table.add(batch)
    return table.finish()


def _value_column(shape: Shape, payload: Payload) -> Column:
    """The column of a list of plain items, which has none in its shape."""
    stats = TableStats()
    items = stream_rows(payload.read, payload.size, shape)
    while batch := [row[0] for row in islice(items, BATCH)]:
        stats.feed_columns(("value",), [batch])
    return next(iter(stats.finish()), Column("value", (), 0))


# --- documents --------------------------------------------------------------------------------------------------------


def _build_document(db: sqlite3.Connection, name: str, shape: Shape, payload: Payload) -> Built:
    """A JSON object as one row, its members as columns; any other value as one column `value`."""
    try:
        value = open_document(payload.read(0, payload.size), shape)
    except NotJson:
        return _build_lines(db, name, shape, payload)
    if shape.kind is Kind.EMPTY:
        return _build_items(db, name, [])
    return _build_items(db, name, [value])


def _build_items(db: sqlite3.Connection, name: str, items: Sequence[Any]) -> Built:
    """A list already in memory as a table, its columns found the way every result's are."""
    stats = TableStats()
    objects = bool(items) and all(isinstance(item, Mapping) for item in items)
    for at in range(0, len(items), BATCH):
        batch = items[at : at + BATCH]
        stats.feed_objects(batch) if objects else stats.feed_columns(("value",), [batch])
    columns = stats.finish() or (Column("value", (), 0),)
    names = [column.name for column in columns]
    rows: Iterable[tuple[Any, ...]] = (
        (tuple(map(item.get, names)) for item in items) if objects else ((item,) for item in items)
    )
    plans = plan_columns(columns, text_cells=False, rows=len(items))
    table = Table(db, name, plans, False)
    source = iter(rows)
    while chunk := list(islice(source, BATCH)):
        table.add(chunk)
    return table.finish()


# --- text -------------------------------------------------------------------------------------------------------------


def _build_lines(db: sqlite3.Connection, name: str, shape: Shape, payload: Payload) -> Built:
    codec, skip = shape.reader.get("encoding", ("utf-8", 0))
    if shape.reader.get("steps") or shape.source.startswith("json"):
        pieces: Iterable[bytes] = [open_body(payload.read(0, payload.size), shape)]
        codec = "utf-8"
    else:
        pieces = _pieces(payload, int(skip))
    columns, batches = text_rows(split_lines(pieces, str(codec)))
    spelled = ", ".join(
        f"{column} INTEGER PRIMARY KEY" if column == "line_no" else f"{column} TEXT" for column in columns
    )
    db.execute(f"CREATE TABLE {quote(name)} ({spelled})")
    insert = f"INSERT INTO {quote(name)} VALUES ({', '.join('?' * len(columns))})"
    count = 0
    for batch in batches:
        try:
            db.executemany(insert, batch)
        except UnicodeEncodeError:
            db.executemany(insert, [tuple(whole_text(c) if isinstance(c, str) else c for c in row) for row in batch])
        count += len(batch)
    kinds = {"line_no": "int", "ts": "datetime"}
    return Built(name, count, tuple((column, kinds.get(column, "text"), None) for column in columns), True)


def _pieces(payload: Payload, start: int) -> Iterator[bytes]:
    at = start
    while at < payload.size:
        piece = payload.read(at, PIECE)
        at += len(piece)
        yield piece


def build_index(db: sqlite3.Connection, built: Built) -> None:
    """Full-text search over a table of lines, as `<name>.fts`; it keeps no second copy of the text."""
    index = quote(f"{built.name}.fts")
    rest = [f"{quote(name)} UNINDEXED" for name, _, _ in built.columns if name not in ("line_no", "text")]
    columns = ", ".join(["text", *rest])
    content = built.name.replace("'", "''")
    db.execute(f"CREATE VIRTUAL TABLE {index} USING fts5({columns}, content='{content}', content_rowid='line_no')")
    db.execute(f"INSERT INTO {index}({index}) VALUES('rebuild')")


__all__ = ["BATCH", "Built", "Payload", "build", "build_index", "build_parts"]
