"""What a query gave, what it read, and the names its own words make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from crp_mcp.core.folding import fold
from crp_mcp.core.model import Entry

from .catalogue import Table
from .names import Names
from .sql import Statement, restore_names, selects_all


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query gave. `rows`: one JSON list each; `total` counts also those beyond the limits."""

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    total: int
    inputs: tuple[Entry, ...]
    """What was read, the oldest capture first."""
    converted: tuple[tuple[str, str], ...] = ()
    """(column, column with the original text) of columns that were read and had been converted."""
    cautions: tuple[str, ...] = ()
    """What a reader must know of texts that were used as numbers."""
    streams: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(stream_id, ids of its chunks) of streams that were read as one table."""


def expressions(statement: Statement) -> list[str]:
    """Names of common table expressions: those before `AS (`, and before `(columns) AS (`."""
    tokens, found = statement.tokens, []
    for at, token in enumerate(tokens):
        if token.kind != "word" or token.low != "as" or at == 0:
            continue
        after = [one.low for one in tokens[at + 1 : at + 3]]
        if "(" not in after[:1] and after[:1] not in (["materialized"], ["not"]):
            continue
        back = at - 1
        if tokens[back].text == ")":
            while back > 0 and tokens[back].text != "(":
                back -= 1
            back -= 1
        if back >= 0 and tokens[back].name:
            found.append(tokens[back].name)
    return found


def reads_of(reads: dict[str, list[str]], statement: Statement, used: Sequence[Table]) -> Callable[[Table], set[str]]:
    """Columns of a table that a query read. Behind a view SQLite says that all are: those count that it mentions."""
    found = {fold(table): set(columns) for table, columns in reads.items()}
    mentioned = {fold(token.name) for token in statement.tokens if token.name}
    every = selects_all(statement.tokens)

    def columns(table: Table) -> set[str]:
        if not table.union:
            read = {name for name in found.get(fold(table.name), set()) if every or fold(name) in mentioned}
            return read | {name for name, (hidden, _) in table.sums.items() if hidden in read}
        return {name for name, _, _ in table.columns if every or fold(name) in mentioned}

    return columns


def answer_of(reply: dict[str, Any], statement: Statement, names: Names) -> Answer:
    """The answer of a reply of the query process."""
    columns = unique(restore_names(statement, reply["columns"]))
    # All that were named: SQLite does not say that JOIN ... USING reads the table it joins.
    inputs = sorted(names.all_entries().values(), key=lambda entry: (entry.created_at, entry.scratch_id))
    streams = tuple((one.stream_id, tuple(chunk.scratch_id for chunk in one.chunks)) for one in names.streams.values())
    return Answer(columns, tuple(reply["rows"]), reply["total"], tuple(inputs), streams=streams)


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """The names with a number where one comes twice."""
    found: list[str] = []
    for name in names:
        number, free = 1, name
        while free in found:
            number += 1
            free = f"{name}_{number}"
        found.append(free)
    return tuple(found)
