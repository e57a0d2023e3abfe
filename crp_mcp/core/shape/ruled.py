"""Tables drawn in text: Markdown, psql, grids and boxes, columns over dashes. One table, or None where there are more.

A rule (a line of dashes that agrees with the line above it) makes the table, never the pipes alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from .joints import columns_of, count_joints, cut_at_joints
from .text_tables import TextTable, named
from .underlined import DASHES, Region, under_dashes

_BOX = "\u2500-\u257f"
"""Box-drawing characters, as a range of a character class."""
_BARS = "│┃║┆┇┊┋╎╏|"
_MARKDOWN = re.compile(r"\s*\|?\s*:?-+:?\s*(?:[|+]\s*:?-+:?\s*)*\|?\s*")
_PSQL = re.compile(r"\s*[-─]+(?:[+┼][-─]+)*\s*")
_GRID = re.compile(r"\s*[+|](?:[-=:]+[+|])+\s*")
_BOX_RULE = re.compile(rf"\s*[{_BOX}]+(?:[ {_BOX}]*[{_BOX}])?\s*")
_COUNT = re.compile(
    r"\(?\s*(\d[\d,]*) (?:rows?|records?|results?|tuples?)(?: in set)?\b.{0,60}"
    r"|\[(\d+) rows x \d+ columns\]|Rows: (\d+)",
    re.I,
)
_SHAPE = re.compile(r"shape: \((\d[\d_,]*), ?\d+\)")
_TYPES = re.compile(
    r"-{2,}|(?:u?int|float|str|i|u|f)\d{0,3}|varchar.*|double|decimal.*|date|datetime.*|timestamp.*|bool(?:ean)?|bigint|hugeint|u?(?:small|tiny)int|cat|enum|list.*|struct.*|object|null|blob|uuid|time|interval|json|integer|text|string"
)
_AROUND_MARKDOWN, _AROUND = 0.4, 0.6
"""Share of the lines that may stand around a table and still leave the text a table."""
_WRAPPED = 40
"""Columns narrower than this are not broken over lines."""
_APART = re.compile(r"\S {4,}\S")
_HINT = re.compile(r"--|==|──|━━|══|\|-|\|:")


def count_ruled(text: str) -> int:
    """How many tables are drawn in the text (counting stops at three)."""
    return len(_find(text.splitlines())) if _HINT.search(text) else 0


_OF_DATABASES = frozenset({"grid", "box", "psql"})
"""What databases' own clients draw: they write NULL for what is null, and a text of these letters is next to none."""


def read_ruled(text: str) -> TextTable | None:
    """The one table of the text, or None."""
    if _HINT.search(text) is None:
        return None
    lines = text.splitlines()
    regions = _find(lines)
    if len(regions) != 1 or not _is_most(lines, regions[0]):
        return None
    region = regions[0]
    outside = [line.strip() for at, line in enumerate(lines) if line.strip() and not region.start <= at < region.end]
    declared = region.declared if region.declared is not None else _declared(outside)
    width = max(map(len, [*region.rows, region.names or []]), default=0)
    rows: Sequence[Sequence[str | None]] = region.rows
    if region.source in _OF_DATABASES:
        rows = [[None if cell == "NULL" else cell for cell in row] for row in region.rows]
    return TextTable(region.source, named(region.names, width), rows, tuple(outside), declared=declared)


def _is_most(lines: Sequence[str], region: Region) -> bool:
    """Is the table most of the text? Then what stands around it is remarks."""
    full = sum(1 for line in lines if line.strip())
    inside = sum(1 for line in lines[region.start : region.end] if line.strip())
    room = _AROUND_MARKDOWN if region.source == "markdown" else _AROUND
    chars = sum(map(len, lines[region.start : region.end]))
    return full - inside <= max(4, room * full) and sum(map(len, lines)) - chars <= chars + 400


def _declared(lines: Sequence[str]) -> int | None:
    for line in lines:
        found = _COUNT.fullmatch(line.strip()) or _SHAPE.search(line)
        if found:
            return int(re.sub(r"[,_]", "", next(part for part in found.groups() if part)))
    return None


_DOUBLE = re.compile(r"\|[|+].*[|+]\|\s*")


def _find(lines: Sequence[str]) -> list[Region]:
    if any(map(_DOUBLE.fullmatch, lines[:12])):  # a table inside a frame
        lines = [line.strip()[1:-1] if _DOUBLE.fullmatch(line) else line for line in lines]
    regions: list[Region] = []
    at = 0
    while at < len(lines) and len(regions) < 3:
        region = _region_at(lines, at)
        if region is None:
            at += 1
        else:
            regions.append(region)
            at = max(region.end, at + 1)
    return regions


def _region_at(lines: Sequence[str], at: int) -> Region | None:
    line = lines[at]
    bare = line.strip()
    if len(bare) < 3 or (bare[0] not in "|+-=:" and not _is_box(bare[0])):
        return None
    if bare[0] == "+" and "|" not in bare and _GRID.fullmatch(line):
        return _boxed(lines, at, "grid", _GRID, "|")
    if _is_box(bare[0]) and _BOX_RULE.fullmatch(line) and not set(bare) <= {"─"} | {"━"} | {"═"}:
        if "┼" in bare and at and bare[0] in "─━" and "│" in lines[at - 1]:
            return _psql(lines, at)
        return _boxed(lines, at, "box", _BOX_RULE, _BARS)
    if at == 0 or not lines[at - 1].strip():
        return None
    if "|" in line and _MARKDOWN.fullmatch(line) and "|" in lines[at - 1]:
        return _markdown(lines, at)
    if bare[0] in "-─" and _PSQL.fullmatch(line) and ("+" in bare or "┼" in bare or len(bare) >= 3):
        region = _psql(lines, at)
        if region is not None:
            return region
    return under_dashes(lines, at) if DASHES.fullmatch(line) else None


def _is_box(char: str) -> bool:
    return "\u2500" <= char <= "\u257f"


# --- Markdown ---

_PIPE = re.compile(r"(?<!\\)\|")


def _cells(line: str) -> list[str]:
    bare = line.strip()
    if "`" in bare and "|" in "".join(re.findall(r"`[^`]*`", bare)):
        bare = re.sub(r"`[^`]*`", lambda found: found.group().replace("|", "\x00"), bare)
    parts = _PIPE.split(bare)
    parts = parts[1:] if bare.startswith("|") else parts
    parts = parts[:-1] if bare.endswith("|") and len(parts) > 1 and not bare.endswith("\\|") else parts
    return [part.strip().replace("\\|", "|").replace("\x00", "|") for part in parts]


def _markdown(lines: Sequence[str], rule: int) -> Region | None:
    names = _cells(lines[rule - 1])
    width = len(re.split(r"[|+]", lines[rule].strip().strip("|")))
    if len(names) != width or not any(names):
        return None
    region = Region("markdown", rule - 1, rule + 1, names)
    for line in lines[rule + 1 :]:
        if "|" not in line or not line.strip():
            break
        region.end += 1
        if not _MARKDOWN.fullmatch(line):
            cells = _cells(line)
            region.rows.append(cells if len(cells) <= width else _crowded(line, lines[rule], cells, width))
    region.rows = _unwrapped(region.rows)
    return region


def _crowded(line: str, rule: str, cells: list[str], width: int) -> list[str]:
    """A row with a bar too many: cut where the rule has its own if it is set as wide as the rows, else at the end."""
    exact = cut_at_joints(line, rule, "|")
    inner = exact[rule.lstrip()[:1] == "|" : len(exact) - (rule.rstrip()[-1:] == "|")] if exact else []
    return inner if len(inner) == width else [*cells[: width - 1], " | ".join(cells[width - 1 :])]


# --- psql ---


def _psql(lines: Sequence[str], rule: int) -> Region | None:
    """Aligned output: a header over `---+---`, rows, `(n rows)`; cells of many lines end each but the last in `+`."""
    bar = "│" if "┼" in lines[rule] else "|"
    width = len(re.split(r"[+┼]", lines[rule].strip()))
    names = [part.strip() for part in lines[rule - 1].split(bar)]
    if len(names) != width:
        return None
    region = Region("psql", rule - 1, rule + 1, names)
    open_row = False
    for line in lines[rule + 1 :]:
        found = _COUNT.fullmatch(line.strip())
        if found and line.count(bar) == 0:
            region.declared = int((found[1] or found[2] or found[3]).replace(",", ""))
            region.end += 1
            break
        if line.count(bar) < width - 1 or (not line.strip() and not open_row):
            break
        cells = _psql_cells(line, lines[rule], width, bar)
        if open_row:
            region.rows[-1] = list(map(_continued, region.rows[-1], cells))
        else:
            region.rows.append(cells)
        open_row = _continues(line, lines[rule], bar)
        region.end += 1
    return None if width == 1 and region.declared is None else region


def _continued(old: str, new: str) -> str:
    return f"{old[:-1].rstrip()}\n{new}" if old.endswith("+") else old or new


def _psql_cells(line: str, rule: str, width: int, bar: str) -> list[str]:
    parts = line.split(bar)
    if len(parts) > width:
        parts = cut_at_joints(line, rule, bar) or [*parts[: width - 1], bar.join(parts[width - 1 :])]
    return [part.strip() for part in parts]


def _continues(line: str, rule: str, bar: str) -> bool:
    parts = line.split(bar)
    return any(part.endswith("+") for part in parts[:-1]) or (
        line.endswith("+") and columns_of(line) == columns_of(rule)
    )


# --- grids and boxes ---


def _boxed(lines: Sequence[str], start: int, source: str, rule: re.Pattern[str], bars: str) -> Region | None:
    groups: list[list[list[str]]] = [[]]
    at = start + 1
    rules, above = 1, lines[start].strip()
    while at < len(lines):
        bare = lines[at].strip()
        if rule.fullmatch(lines[at]):
            rules, above = rules + 1, bare
            groups.append([])
        elif bare and bare[0] in bars and bare[-1] in bars:
            groups[-1].append(_boxed_cells(bare, above, bars))
        else:
            break
        at += 1
    full = [group for group in groups if group]
    while len(full) > 1 and len(full[0]) == 1 and len(full[0][0]) == 1 and max(map(len, full[1])) > 1:
        full.pop(0)  # a title over the header
    if not full or rules < 2:
        return None
    width = max(len(row) for group in full for row in group)
    region = Region(source, start, at, None)
    if len(full) == 1 and len(full[0]) != 1:
        region.rows = full[0]
        return region
    region.names = _head(full[0])
    if any(map(_APART.search, region.names)):
        return None  # a panel of several things in a cell
    body = full[1:]
    region.rows = _unwrapped(body[0]) if len(body) == 1 else [_joined(group) for group in body]
    if len(body) == 2 and len(body[1][0]) == 1 and width > 1:
        region.declared = _declared([body[1][0][0]])
        region.rows = body[0]
    region.rows = [row for row in region.rows if not all(cell in ("·", "…", "...") for cell in row)]
    return region


def _unwrapped(rows: list[list[str]]) -> list[list[str]]:
    """Rows whose long cells were broken over lines, put together: the lines that go on are blank elsewhere, and stand
    under cells that fill their column.
    """
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    if len(widths) < 2 or max(widths) < _WRAPPED:
        return rows
    whole: list[list[str]] = []
    before: list[str] = []
    for row in rows:
        going = [at for at, cell in enumerate(row) if cell]
        full = all(at < len(before) and widths[at] >= _WRAPPED and len(before[at]) >= 0.7 * widths[at] for at in going)
        if whole and going and full and len(going) * 2 <= len(row):
            whole[-1] = [old + row[at] if at in going else old for at, old in enumerate(whole[-1])]
        else:
            whole.append(list(row))
        before = row
    return whole


def _boxed_cells(bare: str, above: str, bars: str) -> list[str]:
    """The cells of a line under the rule `above`, both without what stands around the table."""
    cells = [part.strip() for part in re.split(f"[{re.escape(bars)}]", bare[1:-1])]
    if len(cells) <= count_joints(above[1:-1]) + 1:
        return cells
    return cut_at_joints(bare[1:-1], above[1:-1], bars) or cells


def _head(group: list[list[str]]) -> list[str]:
    """Names of a header of one or more lines; a line of types under them is none of them."""
    named_lines = [
        row for at, row in enumerate(group) if at == 0 or not all(_TYPES.fullmatch(cell) or not cell for cell in row)
    ]
    return _joined(named_lines, " ")


def _joined(group: list[list[str]], glue: str = "\n") -> list[str]:
    width = max(map(len, group))
    return [glue.join(row[at] for row in group if at < len(row) and row[at]) for at in range(width)]
