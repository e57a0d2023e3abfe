"""Fills derived tables from a stored payload, batch by batch. Knows tables and shapes, not who may see them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from crp_mcp.core.model import Kind
from crp_mcp.core.shape import read_shape
from crp_mcp.core.shape.again import SMALL, has_blocks, open_body, open_document, row_blocks, small_rows, stream_rows
from crp_mcp.core.shape.cells import NotJson, compact_json
from crp_mcp.core.shape.model import Column, Shape

from .columns import ColumnPlan, column_values, has_codes, plain_cell, plan_columns, whole_text
from .lines import split_lines, text_rows
from .sql import quote
from .tables import Source, lists_of

BATCH = 2_000
PIECE = 1 << 20
_TEXT_SOURCES = frozenset({"csv", "tsv", "delimited", "markdown", "psql", "records", "aligned", "ruled"})
_JSON_SOURCES = ("json", "ndjson", "structured", "python")


class Payload(Protocol):
    """Slices of the payload's bytes."""

    size: int

    def read(self, offset: int, length: int) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Built:
    """A table that was filled. `columns`: (name, kind, name of the column with the original text or None)."""

    name: str
    rows: int
    columns: tuple[tuple[str, str, str | None], ...]
    text: bool = False


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
    for key, items in lists_of(document).items():
        part = f"{name}.{key}"
        if part.lower() not in {other.lower() for other in (*taken, *(one.name for one in built))}:
            built.append(_build_items(db, part, items))
    return built


# --- rows -------------------------------------------------------------------------------------------------------------


def _build_rows(db: sqlite3.Connection, name: str, shape: Shape, payload: Payload) -> Built:
    text_cells = not shape.source.startswith(_JSON_SOURCES)
    columns = shape.columns if shape.columns is not None else (_value_column(shape),)
    plans = plan_columns(columns, text_cells=text_cells, rows=shape.rows or 0)
    table = _Table(db, name, plans, text_cells)
    names = [column.name for column in columns]
    if shape.columns and has_blocks(shape):
        for block in row_blocks(payload.read, payload.size, shape):
            table.add_block(block, names)
    elif payload.size <= SMALL and (items := small_rows(payload.read(0, payload.size), shape, literals=table.nested)):
        for at in range(0, len(items), BATCH):
            table.add_block(items[at : at + BATCH], names)
    else:
        rows = stream_rows(payload.read, payload.size, shape)
        while batch := list(islice(rows, BATCH)):
            table.add(batch)
    return table.finish()


def _value_column(shape: Shape) -> Column:
    return Column("value", ("int", "str"), 0)


class _Table:
    """One table being filled."""

    def __init__(self, db: sqlite3.Connection, name: str, plans: Sequence[ColumnPlan], text_cells: bool) -> None:
        self._db, self._name, self._plans, self._text_cells = db, name, plans, text_cells
        self._rows = 0
        self._plain = all(plan.reading is None and plan.kind not in ("json", "mixed") for plan in plans)
        self.nested = any(plan.kind in ("json", "mixed") for plan in plans)
        self._coded: set[str] = set()
        stored = [(plan.name, plan.declared) for plan in plans]
        stored += [(plan.beside, "TEXT") for plan in plans if plan.beside]
        spelled = ", ".join(f"{quote(column)} {declared}".strip() for column, declared in stored)
        db.execute(f"CREATE TABLE {quote(name)} ({spelled or 'value'})")
        marks = ", ".join("?" * max(1, len(stored)))
        self._insert = f"INSERT INTO {quote(name)} VALUES ({marks})"

    def add_block(self, block: Sequence[Any], names: Sequence[str]) -> None:
        """Rows as tuples of plain cells, or as dicts."""
        if not block:
            return
        if isinstance(block[0], dict):
            block = [tuple(map(item.get, names)) for item in block]
            if not self._plain:
                self.add(block)
                return
        if self._plain and len(block[0]) == len(self._plans) and self._quick(block):
            self._rows += len(block)
            return
        self.add([tuple(_opened(cell) for cell in row) for row in block] if not self._plain else block)

    def _quick(self, block: Sequence[tuple[Any, ...]]) -> bool:
        """As they are, where every cell is one that SQLite takes."""
        self._db.execute("SAVEPOINT quick")
        try:
            self._db.executemany(self._insert, block)
        except (OverflowError, UnicodeEncodeError, sqlite3.Error):
            self._db.execute("ROLLBACK TO quick")
            return False
        finally:
            self._db.execute("RELEASE quick")
        return True

    def add(self, batch: Sequence[tuple[Any, ...]]) -> None:
        """Rows with cells of any kind."""
        if not self._plans:
            self._db.executemany(self._insert, [(None,)] * len(batch))
            self._rows += len(batch)
            return
        turned = list(zip(*batch, strict=True))
        main: list[Sequence[Any]] = []
        beside: list[Sequence[Any]] = []
        for plan in self._plans:
            cells: Sequence[Any] = turned[plan.position]
            if plan.beside and plan.name not in self._coded and has_codes(cells):
                self._coded.add(plan.name)
            if self._text_cells and plan.kind in ("text", "date", "datetime", "bool"):
                cells = [None if cell is None else str(cell) for cell in cells]
            values = column_values(plan, cells)
            main.append(values[0])
            beside += values[1:]
        self._db.executemany(self._insert, zip(*main, *beside, strict=True))
        self._rows += len(batch)

    def finish(self) -> Built:
        """What was built. Columns of codes (007) get their texts back."""
        columns: list[tuple[str, str, str | None]] = []
        for plan in self._plans:
            if plan.name in self._coded and plan.beside:
                self._db.execute(f"ALTER TABLE {quote(self._name)} DROP COLUMN {quote(plan.name)}")
                self._db.execute(
                    f"ALTER TABLE {quote(self._name)} RENAME COLUMN {quote(plan.beside)} TO {quote(plan.name)}"
                )
                columns.append((plan.name, "text", None))
            else:
                columns.append((plan.name, plan.kind, plan.beside))
        return Built(self._name, self._rows, tuple(columns))


def _opened(cell: Any) -> Any:
    """A raw piece of JSON as its text; every other cell as it is."""
    kind = type(cell)
    if cell is None or kind is str or kind is int or kind is float or kind is bool:
        return cell
    return str(memoryview(cell), "utf-8") if kind.__name__ == "Raw" else cell


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
    payload = compact_json(list(items), 1 << 40).encode("utf-8", "surrogatepass")
    if items and all(isinstance(item, Mapping) for item in items):
        names = list(dict.fromkeys(key for item in items for key in item))
        rows: Iterable[tuple[Any, ...]] = (tuple(item.get(key) for key in names) for item in items)
    else:
        names, rows = ["value"], ((item,) for item in items)
    shape = read_shape(payload)
    known = {column.name: column for column in shape.columns or ()}
    plans = plan_columns(
        [known.get(key, Column(key, ("int", "str"), 0)) for key in names], text_cells=False, rows=len(items)
    )
    table = _Table(db, name, plans, False)
    source = iter(rows)
    while batch := list(islice(source, BATCH)):
        table.add(batch)
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


__all__ = ["BATCH", "Built", "Payload", "build", "build_index", "build_parts", "plain_cell"]
