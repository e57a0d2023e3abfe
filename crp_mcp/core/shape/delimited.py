"""Comma, tab, semicolon and pipe separated rows: recognising them among prose, code and logs, and reading them.

A comma in an e-mail makes no table: rows must agree in width, and either be separated without spaces or have a column
of numbers or dates.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from .edges import FOOTER, in_columns, numbered_lines, preamble
from .headers import has_header, is_typed, names_columns, of_one_sort
from .text_tables import TextTable, named

_DELIMITERS = ("\t", ",", ";", "|")
_SAMPLE_CHARS = 262_144
_SAMPLE_ROWS = 1_000
LONGEST_CELL = 2**30
_STRONG = re.compile(r"[^\W\d][\w.-]{0,60}")
_BLANK_LINE = re.compile(r"\n[ \t]*\r?\n(?=[^\n]*\S)")
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the rows are written."""

    delimiter: str
    width: int
    header: bool = True
    quoted: bool = True
    skip: int = 0
    """Lines before the first row."""
    padded: bool = False
    """Blanks after a delimiter belong to it."""
    outer: bool = False
    """Rows begin and end with the delimiter."""
    trim: bool = False
    """Blanks around the cells are no part of them."""


_PLAIN = {"header": True, "quoted": True, "skip": 0, "padded": False, "outer": False, "trim": False}


def read_delimited(text: str) -> TextTable | None:
    """The table, or None where this is none."""
    dialect = find_dialect(text)
    if dialect is None:
        return None
    rows = list(read_rows(text, dialect))
    around: list[str] = []
    while rows and len(rows[-1]) == 1 and dialect.width > 1 and FOOTER.fullmatch(rows[-1][0].strip()):
        around.insert(0, rows.pop()[0].strip())
    names = tuple(rows.pop(0)) if dialect.header and rows else None
    head = [line for line in text.lstrip("\ufeff").splitlines()[: dialect.skip] if line.strip()]
    source = {"\t": "tsv", ",": "csv", ";": "csv", "|": "delimited"}[dialect.delimiter]
    footer = {"footer": len(around)} if around else {}
    return TextTable(
        source, named(names, dialect.width), rows, tuple(head + around), reader={**recipe(dialect), **footer}
    )


def recipe(dialect: Dialect) -> dict[str, Any]:
    """The dialect as plain values; `Dialect(**recipe)` is the dialect again."""
    return {name: value for name, value in asdict(dialect).items() if value != _PLAIN.get(name)}


def find_dialect(text: str, *, whole: bool = True) -> Dialect | None:
    """Decided by the first 256 KiB (`whole`: the text is all of it)."""
    sample = text[:_SAMPLE_CHARS].lstrip("\ufeff")
    whole = whole and len(text) <= _SAMPLE_CHARS
    if sample.lstrip()[:1] in "<{[" or numbered_lines(sample) or in_columns(sample):
        return None
    best: tuple[float, Dialect] | None = None
    for delimiter in _DELIMITERS:
        if delimiter not in sample:
            continue
        for quoted, padded in _ways(sample, delimiter):
            found = _try(sample, whole, Dialect(delimiter, 0, True, quoted, 0, padded))
            if found is not None and (best is None or found[0] > best[0] + 0.001):
                best = found
    return best[1] if best else _one_column(sample)


def _ways(sample: str, delimiter: str) -> Iterator[tuple[bool, bool]]:
    quotes = '"' in sample
    if delimiter == "|" or not quotes:
        yield False, False
    if quotes:
        # Quotes set off by blanks in the header say that the blanks are none of the cells'.
        if delimiter == "\t" or not re.search(rf'{re.escape(delimiter)} +"', sample.lstrip().split("\n", 1)[0]):
            yield True, False
        if f'{delimiter} "' in sample:
            yield True, True
        if delimiter == "\t":
            yield False, False


def read_rows(text: str, dialect: Dialect) -> Iterator[list[str]]:
    """Every row but blank lines. Cells as written, without the blanks of padded or outer dialects."""
    text = text.lstrip("\ufeff")
    source = io.StringIO(text, newline="")
    for _ in range(dialect.skip):
        source.readline()
    yield from parse_lines(source, dialect)


def parse_lines(lines: Iterator[str] | io.StringIO, dialect: Dialect) -> Iterator[list[str]]:
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(
        lines,
        delimiter=dialect.delimiter,
        quoting=csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE,
        skipinitialspace=dialect.padded,
    )
    for row in reader:
        if dialect.outer:
            row = row[1:-1]
        if dialect.trim:
            row = list(map(str.strip, row))
        if row and (len(row) > 1 or row[0].strip()):
            yield row


def _try(sample: str, whole: bool, dialect: Dialect) -> tuple[float, Dialect] | None:
    skip = preamble(sample, dialect.delimiter)
    dialect = Dialect(dialect.delimiter, 0, True, dialect.quoted, skip, dialect.padded)
    rows: list[list[str]] = []
    try:
        for row in read_rows(sample, dialect):
            rows.append(row)
            if len(rows) >= _SAMPLE_ROWS:
                break
    except csv.Error:
        return None
    if len(rows) < _SAMPLE_ROWS and not whole:
        rows = rows[:-1]
    while rows and len(rows) > 2 and len(rows[-1]) == 1 and FOOTER.fullmatch(rows[-1][0].strip()):
        rows.pop()
    if not rows:
        return None
    if dialect.delimiter == "|" and all(len(row) > 2 and not row[0].strip() and not row[-1].strip() for row in rows):
        rows = [[cell.strip() for cell in row[1:-1]] for row in rows]
        dialect = Dialect("|", 0, True, False, skip, outer=True, trim=True)
    elif dialect.delimiter == "|" and all(cell[:1] in ("", " ") for row in rows for cell in row[1:]):
        dialect = replace(dialect, trim=True)
        bare = [list(map(str.strip, row)) for row in rows]
        rows = bare if len(bare[0]) >= 3 and _strong(bare[0]) else rows
    elif all(any(cell[-1:] == " " for cell in row[:-1]) for row in rows[:20]):
        rows, dialect = [list(map(str.rstrip, row)) for row in rows], replace(dialect, trim=True)
    return _judge(sample, rows, dialect)


def _judge(sample: str, rows: list[list[str]], dialect: Dialect) -> tuple[float, Dialect] | None:
    widths = Counter(map(len, rows))
    width, agreeing = max(widths.items(), key=lambda pair: (pair[1], pair[0]))
    first = rows[0]
    named_first = len(first) >= 2 and names_columns(first)
    strong = _strong(first)
    if len(first) != width and strong and len(first) >= 3:
        width, agreeing = len(first), widths[len(first)]
    if width < 2 or len(first) < 2 or _is_something_else(rows, width, dialect):
        return None
    share = agreeing / len(rows)
    if share < (0.85 if len(rows) > 10 else 0.999) and not _ragged(rows, strong, dialect):
        return None
    if len(rows) == 1:
        return _lone_row(sample, rows[0], dialect)
    if not _separated(rows, width, dialect, named_first or strong):
        return None
    if not (strong or named_first or dialect.quoted) and _BLANK_LINE.search(sample.strip()):
        return None
    header = has_header([row for row in rows[:300] if len(row) == width or row is first])
    final = replace(dialect, width=width, header=header)
    return share + min(width, 50) / 1_000 - 0.0005 * dialect.padded - 0.1 * dialect.skip, final


def _strong(first: Sequence[str]) -> bool:
    """A header beyond doubt: identifiers without blanks, few of them empty or the same."""
    named = [cell for cell in first if cell]
    return len(named) >= 2 and len(set(named)) >= 0.5 * len(first) and all(map(_STRONG.fullmatch, named))


def _ragged(rows: Sequence[Sequence[str]], strong: bool, dialect: Dialect) -> bool:
    """A header beyond doubt over rows of uneven length."""
    if not strong or len(rows[0]) < 3 or dialect.delimiter == "|":
        return False
    near = sum(2 <= len(row) <= 2 * len(rows[0]) for row in rows[1:])
    tight = sum(cell[:1] == " " for row in rows[1:] for cell in row[1:])
    cells = sum(len(row) - 1 for row in rows[1:])
    return near >= 0.7 * (len(rows) - 1) and tight <= 0.2 * max(1, cells)


def _lone_row(sample: str, row: list[str], dialect: Dialect) -> tuple[float, Dialect] | None:
    """One line: a header without rows, or a row of values."""
    if any(cell != cell.strip() or not cell for cell in row) or dialect.delimiter == "|":
        return None
    final = Dialect(dialect.delimiter, len(row), True, dialect.quoted, dialect.skip, dialect.padded)
    if names_columns(row) and all(_STRONG.fullmatch(cell) for cell in row) and sample.endswith(("\n", "\r")):
        return 0.5, final
    typed = sum(map(is_typed, row))
    if len(row) >= 3 and typed == len(row):
        return 0.5, Dialect(dialect.delimiter, len(row), False, dialect.quoted, dialect.skip, dialect.padded)
    if dialect.delimiter == "\t" and typed:
        return 0.5, Dialect("\t", len(row), False, dialect.quoted, dialect.skip)
    return None


def _is_something_else(rows: Sequence[Sequence[str]], width: int, dialect: Dialect) -> bool:
    """Code, indented text, markup, timestamps with a decimal comma."""
    sample = [row for row in rows[:300] if len(row) == width] or rows[:1]
    if all(not row[-1].strip() for row in sample) and width == 2:
        return True
    indented = (
        sum(1 for row in sample if not row[0].strip())
        if dialect.delimiter == "\t"
        else sum(row[0][:1] in (" ", "\t") for row in sample)
    )
    if indented > 0.5 * len(sample) and not (
        dialect.delimiter == "\t" and not all(not row[0] for row in sample) and width > 2
    ):
        typed = sum(is_typed(row[0]) for row in sample)
        if typed < 0.5 * len(sample):
            return not (rows[0][0] == "" and len(sample) > 1 and all(row[0] == "" for row in sample) and width > 2)
    unbalanced = sum(1 for row in sample if any(_unbalanced(cell) for cell in row))
    if unbalanced > 0.25 * len(sample):
        return True
    if dialect.delimiter == "," and sum(
        1 for row in sample if re.match(r"\d{3}(?:[ \]]|$)", row[1]) and re.search(r"\d\d:\d\d:\d\d$", row[0])
    ) > 0.5 * len(sample):
        return True
    return sum(row[0].lstrip()[:2] in ("//", "/*", "--", "$ ", "> ") for row in sample) > 0.3 * len(sample)


def _unbalanced(cell: str) -> bool:
    return any(cell.count(left) != cell.count(right) for left, right in _BRACKETS if left in cell or right in cell)


def _separated(rows: Sequence[Sequence[str]], width: int, dialect: Dialect, named_first: bool) -> bool:
    """Are the delimiters separators, and not punctuation?"""
    sample = [row for row in rows[:300] if len(row) == width]
    if len(sample) < 2:
        return named_first
    typed = _has_typed_column(sample[1:], width)
    if dialect.outer:
        return True
    if dialect.delimiter == "\t":
        return typed or named_first or len(sample) >= 3 or width >= 3
    cells = [cell for row in sample for cell in row[1:] if cell]
    spaced = sum(cell[0] == " " for cell in cells) / max(1, len(cells))
    if dialect.padded:
        spaced = 0.0
    if spaced < 0.5 and (typed or named_first):
        return True
    if spaced <= 0.05:
        long = sum(len(cell.split()) > 12 for row in sample for cell in row if '"' not in cell) / (len(sample) * width)
        return len(sample) >= 3 and long < 0.3 and all(rows[0][:1])
    if dialect.delimiter == "|":
        return width >= 3 and len(sample) >= 3 and len({tuple(map(len, row[:-1])) for row in sample}) == 1
    short = sum(len(cell) <= 60 for row in sample for cell in row) >= 0.9 * len(sample) * width
    return typed and short and len(sample) >= 3


def _has_typed_column(rows: Sequence[Sequence[str]], width: int) -> bool:
    for at in range(width):
        full = [row[at] for row in rows if row[at].strip()]
        if full and len(full) * 2 >= len(rows) and sum(map(is_typed, full)) >= 0.9 * len(full):
            return True
    return False


def _one_column(sample: str) -> Dialect | None:
    """A name over numbers, or over addresses: a table of one column."""
    lines = [line.strip() for line in sample.split("\n")[:_SAMPLE_ROWS] if line.strip()]
    if len(lines) < 2 or not re.fullmatch(r"[^\W\d]\w{0,40}(?:\([\w*, ]{0,40}\))?", lines[0]) or is_typed(lines[0]):
        return None
    if any("," in line for line in lines) or of_one_sort(lines[:1]):
        return None
    return Dialect(",", 1, True) if all(map(is_typed, lines[1:])) or of_one_sort(lines[1:]) else None
