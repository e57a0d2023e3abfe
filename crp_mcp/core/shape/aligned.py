"""Tables set in columns of blanks alone, without rules: `kubectl get`, `docker ps`, `df`, a printed data frame.

Columns are parted by rivers: places that are blank in every line. Prose, listings and calendars have no rivers, or no
header.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .headers import is_name
from .text_tables import TextTable

_MOST_LINES = 20_000
_LONGEST = 2_000
_MOST_NAME = 40
_SIZE = re.compile(r"\[(\d+) rows x \d+ columns\]")


def read_aligned(text: str) -> TextTable | None:
    """The table, or None."""
    lines = [line.rstrip() for line in text.expandtabs().split("\n", _MOST_LINES) if line.strip()]
    around: list[str] = []
    if len(lines) > 2 and _SIZE.fullmatch(lines[-1].strip()):
        around.append(lines.pop().strip())
    if len(lines) < 2 or len(lines) > _MOST_LINES or max(map(len, lines)) > _LONGEST:
        return None
    header = lines[0]
    gaps = [len(gap) for gap in re.findall(r"(?<=\S) +(?=\S)", header)]
    wide = sum(gap >= 2 for gap in gaps)
    if not wide or (wide * 2 < len(gaps) and header != header.upper()):
        return None
    spans = column_spans(lines)
    names = _cut(header, spans)
    if len(spans) < 3 or not _named(names):
        return None
    rows = [_cut(line, spans) for line in lines[1:]]
    size = _SIZE.fullmatch(around[0]) if around else None
    declared = int(size[1]) if size else None
    rows = [row for row in rows if not all(cell in ("", "...", "..", "…") for cell in row[1:])]
    full = sum(bool(cell) for row in rows for cell in row)
    if not rows or full < 0.6 * len(rows) * len(spans) or any(sum(map(bool, row)) < 2 for row in rows):
        return None
    return TextTable("aligned", tuple(names), rows, tuple(around), declared=declared)


def column_spans(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Where the columns stand: runs of places that are not blank in every line, the header, the first of them, among
    them. A run without a name belongs to the column before it: its cells have a blank at one place in every line.
    """
    spans: list[tuple[int, int]] = []
    for start, end in _runs(lines):
        if spans and not lines[0][start:end].strip():
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _runs(lines: Sequence[str]) -> list[tuple[int, int]]:
    width = max(map(len, lines))
    used = [False] * width
    for line in lines:
        for found in re.finditer(r"\S+", line):
            used[found.start() : found.end()] = [True] * (found.end() - found.start())
    marks = "".join("x" if mark else " " for mark in used)
    return [found.span() for found in re.finditer(r"x+", marks)]


def _cut(line: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    return [line[start:end].strip() for start, end in spans]


def _named(names: Sequence[str]) -> bool:
    """Every column but the first has a name, no two the same; names are short and no sentence."""
    rest = names[1:] if not names[0] else names
    return (
        len(set(rest)) == len(rest)
        and all(name and len(name) <= _MOST_NAME and (is_name(name) or name[0] in "%#") for name in rest)
        and not any(name[-1] in ".,;:" for name in rest)
    )
