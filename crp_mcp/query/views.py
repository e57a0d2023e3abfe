"""The tables of one query under every name it may use, and how each is had: itself, as a view, as a union of chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crp_mcp.core.folding import fold, unique_names
from crp_mcp.core.model import Kind

from .catalogue import Table
from .names import LATEST, Names, Stream
from .sql import Statement, quote, selects_all

CHUNK = "_chunk"
"""Column of a stream that has the scratch_id of the chunk a row comes from."""


def table_names(names: Names, tables: Mapping[str, tuple[Table, ...]]) -> dict[str, Table]:
    """Every name a query may use, folded -> table. Parts are `<name>.<part>` under each name of their result."""
    found: dict[str, Table] = {}
    for name, entry in names.entries.items():
        first = name.partition(".")[0]
        own = {fold(entry.scratch_id), fold(entry.name or ""), LATEST}
        base = first if first in own else name
        for table in tables[entry.scratch_id]:
            found[base + fold(table.name[len(entry.scratch_id) :])] = table
            found[fold(table.name)] = table
    for name, stream in names.streams.items():
        found[name] = union(stream, tables)
    return found


def union(stream: Stream, tables: Mapping[str, tuple[Table, ...]]) -> Table:
    """The chunks of a stream as one table, columns by name, rows in the order of the chunks."""
    kept = [chunk for chunk in stream.chunks if chunk.kind is not Kind.ERROR] or list(stream.chunks)
    parts = [tables[chunk.scratch_id][0] for chunk in kept if tables[chunk.scratch_id]]
    parts = [part for part in parts if part.rows] or parts
    kinds: dict[str, tuple[str, list[str], str | None]] = {}
    for part in parts:
        for name, kind, beside in part.columns:
            known = kinds.get(fold(name), (name, [], None))
            kinds[fold(name)] = (known[0], [*known[1], kind], known[2] or beside)
    columns = [(name, _together(seen), beside) for name, seen, beside in kinds.values()]
    lost: dict[str, int] = {}
    for part in parts:
        for name, count in part.lost.items():
            first = kinds[fold(name)][0]
            lost[first] = lost.get(first, 0) + count
    chunk = unique_names([*(name for name, _, _ in columns), CHUNK])[-1]
    return Table(
        stream.stream_id,
        "",
        sum(part.rows for part in parts),
        (*columns, (chunk, "text", None)),
        bool(parts) and all(part.text for part in parts),
        bool(parts) and all(part.indexed for part in parts),
        lost=lost,
        union=tuple(parts),
    )


def _together(kinds: Sequence[str]) -> str:
    """The kind of a column that chunks have in these kinds."""
    seen = set(kinds) - {"null"}
    if len(seen) <= 1:
        return seen.pop() if seen else "null"
    if seen <= {"int", "bigint", "float"}:
        return "float" if "float" in seen else "bigint"
    return "datetime" if seen <= {"date", "datetime"} else "mixed"


def base_tables(tables: Sequence[Table]) -> list[Table]:
    """The tables of the cache file behind these."""
    found = [part for table in tables for part in (table.union or (table,))]
    return list({table.name: table for table in found}.values())


def hidden_sums(used: Sequence[Table]) -> dict[str, tuple[str, int]]:
    """Folded names of columns that one table alone has, and has prepared sums of -> (hidden column, digits)."""
    owners = [fold(name) for table in used for name, _, _ in table.columns]
    return {
        fold(name): prepared
        for table in used
        for name, prepared in table.sums.items()
        if owners.count(fold(name)) == 1 and not table.union
    }


def used_tables(statement: Statement, by_name: Mapping[str, Table]) -> list[Table]:
    """The tables whose names occur."""
    found = [by_name[token.key] for token in statement.tokens if token.key in by_name]
    return list({table.name: table for table in found}.values())


def view_of(name: str, table: Table, statement: Statement, searched: bool) -> str | None:
    """The SELECT that stands for a name; None where it is a table of the file. `searched`: texts are, by MATCH."""
    indexed = searched and table.text
    every = selects_all(statement.tokens)
    if table.union:
        return " UNION ALL ".join(_chunk_select(table, part, indexed) for part in table.union)
    if indexed:
        columns = ", ".join(quote(column) for column, _, _ in table.columns if column != "line_no")
        return f"SELECT rowid AS line_no, {columns} FROM main.{quote(table.name + '.fts')}"
    if table.sums and every:
        return f"SELECT {', '.join(_shown(table, statement))} FROM main.{quote(table.name)}"
    return None if name == fold(table.name) else f"SELECT * FROM main.{quote(table.name)}"


def _shown(table: Table, statement: Statement) -> list[str]:
    """The columns that are not hidden; with `rowid` where the query asks for it, which a view does not have itself."""
    names = [name for name, _, _ in table.columns] + [beside for _, _, beside in table.columns if beside]
    asked = any(token.key == "rowid" for token in statement.tokens) and "rowid" not in map(fold, names)
    return [*(["rowid AS rowid"] if asked else []), *map(quote, names)]


def _chunk_select(table: Table, part: Table, indexed: bool) -> str:
    """One chunk's rows in the columns of the whole, the originals last."""
    has = {fold(name): (name, beside) for name, _, beside in part.columns}
    cells, originals = [], []
    for name, _, beside in table.columns[:-1]:
        own, own_beside = has.get(fold(name), (None, None))
        here = "NULL" if own is None else "rowid" if indexed and own == "line_no" else quote(own)
        cells.append(f"{here} AS {quote(name)}")
        if beside:
            text = quote(own_beside) if own_beside else f"CAST({here} AS TEXT)"
            originals.append(f"{text} AS {quote(beside)}")
    chunk = f"'{part.scratch_id}' AS {quote(table.columns[-1][0])}"
    source = quote(part.name + ".fts") if indexed else quote(part.name)
    return f"SELECT {', '.join([*cells, *originals, chunk])} FROM main.{source}"
