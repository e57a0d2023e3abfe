"""What is found out about a column of a derived table when it is first asked for. Reads, and keeps nothing."""

from __future__ import annotations

import re
import sqlite3

from .rewrite import Decimals
from .sql import quote


def find_decimals(db: sqlite3.Connection, table: str, column: str) -> Decimals | None:
    """How few digits after the point all numbers of a column have, and how large they are; None for more than six."""
    name = quote(column)
    for digits in (0, 2, 4, 6):
        factor = f"1{'0' * digits}.0"
        row = db.execute(
            f"SELECT 1 FROM {quote(table)} WHERE {name} IS NOT NULL AND (typeof({name}) NOT IN ('real', 'integer') OR "
            f"abs({name} * {factor}) > 1e13 OR CAST(round({name} * {factor}) AS INTEGER) / {factor} <> {name}) LIMIT 1"
        ).fetchone()
        if row is None:
            count, size = db.execute(f"SELECT count({name}), total(abs({name})) FROM {quote(table)}").fetchone()
            return Decimals(digits, count, size)
    return None


_AMOUNT_LOOK = re.compile(
    r"[\s(+−-]*(?:[^\W\d]{0,3}[$€£¥₹]|[A-Z]{3})?\s?[+−-]?[.,]?(?!0\d)\d[\d.,' \u00a0\u202f]*"
    r"\s?(?:[^\W\d]{0,4}|[%€$£°)]{1,2})\s*"
)
_SAMPLE = 500


def looks_like_amounts(db: sqlite3.Connection, table: str, column: str) -> bool:
    """Whether at least half of a sample of a column's texts begin and end as amounts do."""
    name = quote(column)
    rows = db.execute(f"SELECT {name} FROM {quote(table)} WHERE {name} IS NOT NULL AND {name} <> '' LIMIT {_SAMPLE}")
    texts = [str(row[0])[:80] for row in rows]
    return bool(texts) and 2 * sum(_AMOUNT_LOOK.fullmatch(text) is not None for text in texts) >= len(texts)
