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
# What SQLite's date functions take as it stands is none.
_DATE_LOOK = re.compile(
    r"\s*(?!\d{4}-\d\d-\d\d)(?:[^\W\d]{2,9}\.?,?\s+)?"
    r"(?:(?:[0-3]?\d|[12]\d{3})(?P<sign>[-/ ]|\.\s?)(?:[0-3]?\d|[^\W\d]{3,9}\.?)(?P=sign)"
    r"(?:[12]\d{3}|(?<!\.)(?<!\. )\d\d)"
    r"|[^\W\d]{3,9}\.?\s+[0-3]?\d,?\s+[12]\d{3})(?:(?:[T,]|\s).*)?\s*"
)
_WORD_LOOK = re.compile(r"\s*(?:true|false)\s*", re.IGNORECASE)
_LOOKS = (
    *(("words", _WORD_LOOK), ("dates", _DATE_LOOK), ("amounts", _AMOUNT_LOOK)),
    *(("T", re.compile(r"\d{4}-\d\d-\d\dT.*")), ("blank", re.compile(r"\d{4}-\d\d-\d\d .*"))),
    ("month", re.compile(r"\d{4}-\d\d")),
)
_WIDE = re.compile(r"\s*[+-]?\d{19,}\s*")
_SAMPLE = 500
_NESTED = 20_000
"""Rows whose JSON is opened to see what stands in it."""
_VERSION = re.compile(r"\d{1,3}\.(0|[1-9]\d?)")
_ONE_SIGN = re.compile(r"[^\d.,]*[1-9]\d{0,2}[.,]\d{3}[^\d.,]*")


def look_of(db: sqlite3.Connection, table: str, expression: str) -> str:
    """What at least half of a sample of texts look like: amounts, dates, words for true and false, months, times with
    a T or a blank in them; `wide` for numbers beyond 64 bits among them; "" for nothing.
    """
    most = "" if expression.startswith('"') and expression.endswith('"') else f" LIMIT {_NESTED}"
    texts = [
        str(row[0])[:80]
        for row in db.execute(
            f"SELECT x FROM (SELECT {expression} AS x FROM {quote(table)}{most}) WHERE typeof(x) = 'text' AND x <> '' "
            f"LIMIT {_SAMPLE}"
        )
    ]
    for name, look in _LOOKS:
        if texts and 2 * sum(look.fullmatch(text) is not None for text in texts) >= len(texts):
            return "wide" if name == "amounts" and any(map(_WIDE.fullmatch, texts)) else name
    return ""


def find_grouped(db: sqlite3.Connection, table: str, column: str, beside: str) -> tuple[str, str] | None:
    """A text with a comma or a point, and its number, if all that have one could be something else as well: the sign
    could be read the other way, or they could be versions.
    """
    first = shortened = None
    grouped, version, least = True, True, 2
    for text, value in db.execute(
        f"SELECT CAST({quote(beside)} AS TEXT), {quote(column)} FROM {quote(table)} WHERE {quote(column)} IS NOT NULL "
        f"AND (instr({quote(beside)}, ',') OR instr({quote(beside)}, '.'))"
    ):
        first = first or (text, value)
        grouped = grouped and _ONE_SIGN.fullmatch(text) is not None
        found = _VERSION.fullmatch(text) if version else None
        version = found is not None
        if found is not None:
            least = min(least, len(found[1]))
            shortened = shortened or ((text, value) if found[1].endswith("0") and len(found[1]) > 1 else None)
        if not grouped and not version:
            return None
    doubtful = first if grouped else shortened if version and least < 2 else None
    return None if doubtful is None else (doubtful[0], _shown(doubtful[1]))


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.15g}"
