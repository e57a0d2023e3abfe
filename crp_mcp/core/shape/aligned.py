"""Tables set in columns of blanks alone, without rules: `kubectl get`, `docker ps`, `df`, a printed data frame.

Columns are parted by rivers: places that are blank in every line. Prose, listings and calendars have no rivers, or no
header. A text with two such tables is no table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from .headers import is_name, is_typed
from .text_tables import TextTable

_MOST_LINES = 20_000
_LONGEST = 2_000
_MOST_NAME = 40
_MOST_TITLES = 6
"""Lines without columns that may stand directly above a header."""
_SIZE = re.compile(r"\[(\d+) rows x \d+ columns\]")
_WIDE = re.compile(r"(?<=\S) {2,}(?=\S)")
_ODD_NAME = re.compile(r"[%#]|\d+[KMG]?B?-\w")
"""`%CPU`, `#id`, `1K-blocks`."""
_Span = tuple[int, int]


def read_aligned(text: str) -> TextTable | None:
    """The one table of the text, or None."""
    lines = [line.rstrip() for line in text.expandtabs().split("\n", _MOST_LINES)]
    if not 2 <= len(lines) <= _MOST_LINES or max(map(len, lines)) > _LONGEST:
        return None
    groups = [list(group) for full, group in groupby(lines, bool) if full]
    if len(groups) > 1 and len(groups[0]) == 1 and len(groups[1]) > 1 and _read(groups[0] + groups[1]):
        groups[:2] = [groups[0] + groups[1]]  # a header set off by a blank line
    found = [(at, table) for at, group in enumerate(groups) for table in [_table_in(group)] if table is not None]
    if len(found) != 1:
        return None
    at, table = found[0]
    outside = [line for group in (*groups[:at], *groups[at + 1 :]) for line in group]
    full = sum(map(len, groups))
    around = [*(line.strip() for line in outside), *table.around]
    if 3 * len(around) > full and not (at == 0 and len(outside) <= len(table.rows) + 2 and len(table.rows) >= 2):
        return None
    declared = next((int(size[1]) for line in around for size in [_SIZE.fullmatch(line)] if size), None)
    return TextTable("aligned", table.names, table.rows, tuple(around), declared=declared)


def _table_in(group: Sequence[str]) -> TextTable | None:
    """The table of lines without a blank one between them, where titles may stand above it."""
    table = _read(group)
    for skip in range(1, min(_MOST_TITLES, len(group) - 3) + 1):
        if table is not None or (_WIDE.search(group[skip - 1]) and skip > 1):
            break
        table = _read(group[skip:], titles=[line.strip() for line in group[:skip]])
    return table


def _read(lines: Sequence[str], titles: Sequence[str] = ()) -> TextTable | None:
    header = lines[0]
    gaps = [len(gap) for gap in re.findall(r"(?<=\S) +(?=\S)", header)]
    wide = sum(gap >= 2 for gap in gaps)
    if len(lines) < 2 or not (wide or header.startswith(" ")):
        return None
    spans = column_spans(lines)
    spans = _whole_names(lines, spans, apart=2 * wide > len(gaps))
    names, rows = _cut(header, spans), [_cut(line, spans) for line in lines[1:]]
    if any(map(_WIDE.search, names)):
        parted = _parted(names, rows)
        if parted is None:
            return None
        names, *rows = parted
    if len(names) < 2 or not _named(names) or _goes_on(rows):
        return None
    rows = [row for row in rows if not all(cell in ("", "...", "..", "…") for cell in row[1:])]
    typed = sum(map(_is_typed, zip(*rows, strict=True)))
    if len(names) == 2 and (not typed or len(rows) < 2 or not all(map(_WIDE.search, lines))):
        return None
    if (titles and not typed) or not (wide or _runs_on([row[0] for row in rows])):
        return None
    if 2 * wide < len(gaps) and header != header.upper() and 3 * typed < len(names):
        return None
    full = sum(bool(cell) for row in rows for cell in row)
    if not rows or full < 0.6 * len(rows) * len(names) or any(sum(map(bool, row)) < 2 for row in rows):
        return None
    return TextTable("aligned", tuple(names), rows, tuple(titles))


def column_spans(lines: Sequence[str]) -> list[_Span]:
    """Where the columns stand: runs of places that are not blank in every line, the header, the first of them, among
    them. A run without a name belongs to the nearer of its neighbours, or to the one before it: its cells have a blank
    at one place in every line. A first one is a column of its own, unless it is a word that some rows have.
    """
    spans: list[_Span] = []
    waiting: int | None = None
    runs = _runs(lines)
    for at, (start, end) in enumerate(runs):
        unnamed = not lines[0][start:end].strip()
        first = start if waiting is None else waiting
        if unnamed and at + 1 < len(runs):
            gap = runs[at + 1][0] - end
            if waiting is not None or (
                gap < start - runs[at - 1][1] if spans else gap == 1 and _is_word(lines, runs[at])
            ):
                waiting = first
                continue
        if unnamed and spans and waiting is None:
            first = spans.pop()[0]
        waiting = None
        spans.append((first, end))
    return spans


def _is_word(lines: Sequence[str], span: _Span) -> bool:
    """Whether some rows have a word there, and others nothing."""
    cells = [line[slice(*span)].strip() for line in lines[1:]]
    return not all(cells) and any(cell.isalnum() for cell in cells)


def _whole_names(lines: Sequence[str], spans: Sequence[_Span], *, apart: bool) -> list[_Span]:
    """`NOMINATED NODE` over cells as short as `<none>`: where names are set far `apart`, one blank is part of a name if
    little stands below one side of it. Where they are not, a small letter behind it says so: `Mounted on`.
    """
    header, rows = lines[0], lines[1:]
    whole: list[_Span] = []
    for start, end in spans:
        before = header[slice(*whole[-1])].strip() if whole else ""
        if before and "  " not in header[whole[-1][0] : start + 1].lstrip():
            goes_on = apart or (header[start : start + 1].islower() and not header.islower())
            filled = [sum(bool(row[a:b].strip()) for row in rows) for a, b in (whole[-1], (start, end))]
            if goes_on and (min(filled) == 0 or (apart and 2 * min(filled) < len(rows))):
                start = whole.pop()[0]
        whole.append((start, end))
    return whole


def _parted(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]] | None:
    """Names and rows where cells of neighbours came so near that no river is left: each such cell is as many words as
    there are names. None where they are not.
    """
    table: list[list[str]] = [[] for _ in range(len(rows) + 1)]
    for at, name in enumerate(names):
        parts = _WIDE.split(name)
        cells = [[row[at]] if len(parts) == 1 else row[at].split() for row in rows]
        if any(len(cell) != len(parts) for cell in cells):
            return None
        for line, cell in zip(table, [parts, *cells], strict=True):
            line += cell
    return table


def _goes_on(rows: Sequence[Sequence[str]]) -> bool:
    """Columns without a name behind the last one that has one."""
    last = [row[-1] for row in rows if row[-1]]
    return 2 * sum(bool(_WIDE.search(cell)) for cell in last) > len(last) > 0


def _runs_on(column: Sequence[str]) -> bool:
    """1, 2, 3: the numbers of rows."""
    return column[:1] in (["0"], ["1"]) and column == [
        str(at) for at in range(int(column[0]), int(column[0]) + len(column))
    ]


def _is_typed(column: Sequence[str]) -> bool:
    full = [cell for cell in column if cell]
    return bool(full) and sum(map(is_typed, full)) >= 0.8 * len(full)


def _runs(lines: Sequence[str]) -> list[_Span]:
    width = max(map(len, lines))
    used = [False] * width
    for line in lines:
        for found in re.finditer(r"\S+", line):
            used[found.start() : found.end()] = [True] * (found.end() - found.start())
    marks = "".join("x" if mark else " " for mark in used)
    return [found.span() for found in re.finditer(r"x+", marks)]


def _cut(line: str, spans: Sequence[_Span]) -> list[str]:
    return [line[start:end].strip() for start, end in spans]


def _named(names: Sequence[str]) -> bool:
    """Every column but the first has a name, no two the same; names are short and no sentence."""
    rest = names[1:] if not names[0] else names
    return (
        len(set(rest)) == len(rest)
        and all(name and len(name) <= _MOST_NAME and (is_name(name) or _ODD_NAME.match(name)) for name in rest)
        and not any(name[-1] in ".,;:" for name in rest)
    )
