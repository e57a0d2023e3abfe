"""A table row of the answer against a result, cell by cell: the row's label finds the row, headers find the columns."""

from __future__ import annotations

from .dates import claim_dates, matches
from .document import Column, Document, Table
from .link import link_columns
from .model import Claim, Distortion, Outcome
from .quantities import find_quantities
from .rows import bears_out, literal, quote
from .weigh import Judged
from .words import fold, keys, tokens


def weigh_cells(claim: Claim, document: Document) -> Judged:
    """Supported when every cell that can be placed agrees; contradicted by one that surely does not."""
    best = Judged(Outcome.UNVERIFIABLE, 9.0, reason="the table's row is not in the result")
    for table in document.tables:
        if table.rows:
            found = _against(claim, table)
            if found is not None and (found.outcome is not Outcome.UNVERIFIABLE or best.cost > found.cost):
                best = found
                if found.outcome is Outcome.SUPPORTED:
                    break
    return best


def _against(claim: Claim, table: Table) -> Judged | None:
    placed = [(header, cell, _column(table, header)) for header, cell in claim.cells]
    rows, label = _rows(table, placed)
    if not rows or label is None:
        return None
    checks = []
    for _header, cell, column in placed:
        if column is None or column is label[0]:
            continue
        results = [_agrees(cell, column, row) for row in rows]
        checks.append(
            (
                column,
                cell,
                True if True in results else (False if all(r is False for r in results) else None),
                [column.texts[r] for r in rows[:3]],
            )
        )
    if not checks:
        return None
    where = f"WHERE {quote(label[0].name)} = {literal(label[1])}"
    wrong = next((c for c in checks if c[2] is False), None)
    shown = wrong or checks[0]
    sql = f"SELECT {', '.join(quote(c[0].name) for c in checks)} FROM {{table}} {where}"
    if wrong:
        return Judged(
            Outcome.CONTRADICTED,
            0.2,
            sql,
            f"{shown[0].name}: {', '.join(shown[3])}",
            shown[1],
            _kind(wrong[0]),
            frame="cells",
        )
    if all(c[2] for c in checks) and len(checks) + 1 >= len(claim.cells):
        return Judged(
            Outcome.SUPPORTED, 0.1, sql, "; ".join(f"{c[0].name}: {c[3][0]}" for c in checks), claim.text, frame="cells"
        )
    return Judged(Outcome.UNVERIFIABLE, 0.5, reason="not every cell of the row has a column in the result")


def _kind(column: Column) -> Distortion:
    return (
        Distortion.DATE_SHIFTED
        if column.is_date
        else Distortion.NUMBER_CHANGED
        if column.values()
        else Distortion.ENTITY_SUBSTITUTED
    )


def _column(table: Table, header: str) -> Column | None:
    words = tokens(header)
    if not words:
        return None
    length, refs = link_columns(table, words, 0)
    sure = [r for r in refs if r.quality >= 0.7 or len(refs) == 1]
    return (
        sure[0].column
        if len(sure) == 1 and length == len(words)
        else next((c for c in table.columns if fold(c.name) == fold(header)), None)
    )


def _rows(table: Table, placed: list[tuple[str, str, Column | None]]) -> tuple[list[int], tuple[Column, str] | None]:
    """Rows that the first cell with a whole counterpart in a naming column points at."""
    for _header, cell, column in placed:
        for candidate in [column] if column is not None else [c for c in table.columns if not c.is_number]:
            rows = candidate.index.get(keys(cell), [])
            if (
                rows
                and (len(rows) == 1 or candidate.distinct >= 0.9 * table.rows)
                and not (candidate.is_number and candidate.distinct < table.rows)
            ):
                return rows, (candidate, candidate.texts[rows[0]])
    return [], None


def _agrees(cell: str, column: Column, row: int) -> bool | None:
    text = column.texts[row]
    if fold(cell).strip() == fold(text).strip() or (keys(cell) and keys(cell) == keys(text)):
        return True
    dates, quantities = claim_dates(cell), find_quantities(cell)
    when = column.dates[row] if column.is_date else None
    if when is not None and dates:
        return matches(dates[0], when)
    values = column.values()
    if values is not None and (number := values[row]) is not None and len(quantities) == 1:
        return bears_out(column, quantities[0], number)
    if values is None and not dates and not quantities and not column.is_date:
        mine, theirs = set(keys(cell)), set(keys(text))
        return None if mine & theirs or not mine or not theirs else False
    return None
