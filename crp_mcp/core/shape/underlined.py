"""Columns over dashes: sqlite3's column mode, PowerShell, reStructuredText's simple tables. Dashes show where columns
stand; cells of numbers may begin left of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

from .aligned import column_spans
from .headers import names_columns

DASHES = re.compile(r"\s*(?:-{2,}|={2,})(?:\s+(?:-{2,}|={2,}))*\s*")
_GAP = re.compile(r"\S {2,}\S")


@dataclass
class Region:
    """One table as it is found: from its first line to the one after its last."""

    source: str
    start: int
    end: int
    names: list[str] | None
    rows: list[list[str]] = field(default_factory=list)
    declared: int | None = None


def under_dashes(lines: Sequence[str], rule: int) -> Region | None:
    """The table whose header stands above the line of dashes `rule`, or None."""
    spans = [found.span() for found in re.finditer(r"-+|=+", lines[rule])]
    if len(spans) == 1:
        spans = _under_one_rule(lines, rule) or spans
    header = lines[rule - 1]
    names = _sliced(header, spans)
    if names is None or not any(names):
        return None
    if len(spans) == 1 and not _one_column(lines, rule, spans[0]):
        return None
    region = Region("columns", rule - 1, rule + 1, names)
    if rule >= 2 and lines[rule - 2].strip() == lines[rule].strip():
        region.start -= 1
    for line in lines[rule + 1 :]:
        if not line.strip():
            break
        region.end += 1
        if line.strip() == lines[rule].strip():
            break
        cells = _sliced(line, spans)
        if cells is None:
            region.end -= 1
            if not region.rows:
                return None  # a header whose rows cannot be read is no table without rows
            break
        region.rows.append(cells)
    return region


def _sliced(line: str, spans: Sequence[tuple[int, int]]) -> list[str] | None:
    cuts = [0]
    for (_, end), (start, _) in pairwise(spans):
        cut = _cut_before(line, end, start)
        if cut is None:
            parts = re.split(r"\s{2,}", line.strip())
            return parts if len(parts) == len(spans) else None
        cuts.append(cut)
    return [line[start:end].strip() for start, end in zip(cuts, [*cuts[1:], len(line)], strict=True)]


def _cut_before(line: str, end: int, start: int) -> int | None:
    """Where the column whose dashes begin at `start` begins in this line: there, or left of it where its cell is wider
    than its dashes and does not reach those before it, which end at `end`.
    """
    if start >= len(line) or line[start - 1].isspace() or line[start].isspace():
        return start
    word = start - len(line[:start].split()[-1])
    return word if word >= end else None


def _under_one_rule(lines: Sequence[str], rule: int) -> list[tuple[int, int]] | None:
    """One unbroken rule below a header of several names: the columns are where the lines around it leave blanks."""
    header = lines[rule - 1]
    if not _GAP.search(header.strip()):
        return None
    body = list(takewhile(lambda line: line.strip() and not DASHES.fullmatch(line), lines[rule + 1 :]))
    spans = column_spans([header, *body]) if body else []
    if len(spans) < 2 or not names_columns([header[start:end].strip() for start, end in spans]):
        return None
    if any(after[0] - before[1] < 2 for before, after in pairwise(spans)):
        return None  # words of two lines have a blank at one place by chance
    return None if any(sum(bool(line[a:b].strip()) for a, b in spans) < 2 for line in body) else spans


def _one_column(lines: Sequence[str], rule: int, span: tuple[int, int]) -> bool:
    """A single column is a table only where the dashes are as long as its longest line, and no line is empty."""
    body = [line.rstrip() for line in lines[rule + 1 :]]
    while body and not body[-1]:
        body.pop()
    longest = max((len(line) for line in [lines[rule - 1].rstrip(), *body]), default=0)
    return rule == 1 and bool(body) and all(body) and longest == span[1] and lines[rule].strip()[0] == "-"
