"""A count of a whole result: how many there are in all, in this response, and shown, are three numbers."""

from __future__ import annotations

import re

from .document import Document, Table
from .model import Distortion, Outcome
from .numbers import Quantity, agrees
from .quantities import find_quantities
from .testruns import Answer, answer_of

RETURNED = re.compile(
    r"\b(?:return(?:ed|s)?|in (?:this|the) (?:response|result|output|page)|shown|showing|"
    r"displayed|gave back|listed here|fetched|retrieved|came back|output has)\b",
    re.IGNORECASE,
)


_TOTAL = re.compile(
    r"\b(?:in total|total(?:s|ing|ed)?|match(?:es|ed|ing)?|overall|altogether|exist|across all|all)\b", re.IGNORECASE
)


def count_answer(text: str, document: Document) -> Answer | None:
    """A count of the whole result: total, returned and shown are different numbers."""
    table = document.main
    quantities = [q for q in find_quantities(text) if isinstance(q.value, int) and q.unit == ""]
    total = None if table is None else table.total if table.total is not None else document.total
    if (
        len(quantities) == 2
        and table is not None
        and total is not None
        and " of " in text[quantities[0].end : quantities[1].start + 1]
    ):
        if agrees(quantities[0], table.rows) and agrees(quantities[1], total):
            return answer_of(
                True, "SELECT COUNT(*) FROM {table}", f"{table.rows} of {total}", quantities[0].literal, None
            )
        return None
    if len(quantities) != 1 or table is None or document.is_error:
        return None
    return _count(text, document, table, quantities[0])


def _count(text: str, document: Document, table: Table, qty: Quantity) -> Answer | None:
    rows, total = table.rows, table.total if table.total is not None else document.total
    returned, totals = bool(RETURNED.search(text)), bool(_TOTAL.search(text))
    here = agrees(qty, rows)
    all_of = agrees(qty, total) if total is not None else None
    sql = "SELECT COUNT(*) FROM {table}"
    if total is not None and total != rows:
        if returned and not totals:
            return decide(here, sql, str(rows), qty)
        if totals and not returned:
            return decide(all_of, "total stated by the result", str(total), qty)
        if here or all_of:
            return answer_of(True, sql, str(rows if here else total), qty.literal, None)
        return decide(
            False if here is False and all_of is False else None, sql, f"{rows} returned, {total} in all", qty
        )
    if document.partial and not returned:
        if here is not True and rows < qty.value:
            return None
        return Answer(
            Outcome.UNVERIFIABLE,
            sql,
            f"{rows} returned, truncated",
            qty.literal,
            None,
            "the result is truncated: how many there are in all is not in it",
        )
    return decide(here, sql, str(rows), qty)


def decide(holds: bool | None, computed: str, found: str, qty: Quantity) -> Answer | None:
    if holds is None:
        return None
    return answer_of(holds, computed, found, qty.literal, Distortion.NUMBER_CHANGED)
