"""Rows written one under another: psql's expanded display, `1. row`, `key: value` blocks. And a single such block.

Blocks make a table only where they have the same keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .text_tables import TextTable

_MARK = re.compile(
    r"\s*(?:-\[ RECORD \d+ \][-+]*|\*{3,} ?\d+\. row ?\*{3,}|\d+\. row:?"
    r"|(?:#+ )?(?:record|row|item|result|entry)\s*#?\s*\d+\s*[:.)]?"
    r"|-{3,} ?(?:record|row|item|result) #?\d+ ?-{3,})\s*",
    re.I,
)
_KEY = re.compile(
    r"(\s*)((?:[^\W\d_]|[%$@])[\w .()/%#*@&'\"\[\]-]{0,60}?|_\w{0,40})(\s*)( \| ?|\|$|: ?|:$| = |=$)(.*)", re.S
)
_FOOTER = re.compile(
    r"\(\d+ rows?\)|(?:result|total|showing|rows?|found|count)\b.{0,120}"
    r"|\d[\d,]* (?:rows?|records?|results?)\b.{0,80}|\.{3}.*",
    re.I,
)
_SETTING = re.compile(r"(?:export )?([A-Za-z_][A-Za-z0-9_.]{0,80})=([^=].*|)")
"""`HOME=/root`; `name==1.0` is none."""
_COUNTING = re.compile(r"\(?(\d[\d,]*) (?:rows?|records?|results?)\b")


def read_records(text: str) -> TextTable | None:
    """The records as rows, or None."""
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    marked = [at for at, line in enumerate(lines) if _MARK.fullmatch(line)]
    if marked and (_MARK.fullmatch(first) or (marked[0] <= 4 and len(marked) >= 2)):
        return _marked(lines, marked)
    return _blocks(lines)


def _marked(lines: Sequence[str], marks: Sequence[int]) -> TextTable | None:
    rows: list[dict[str, str]] = []
    around = [line.strip() for line in lines[: marks[0]] if line.strip()]
    for start, end in zip(marks, [*marks[1:], len(lines)], strict=True):
        block = list(lines[start + 1 : end])
        while block and (not block[-1].strip() or (end == len(lines) and _is_footer(block, len(marks)))):
            line = block.pop()
            if line.strip():
                around.append(line.strip())
        row = _record(block)
        if row is None:
            return None
        rows.append(row)
    return _table("records", rows, around)


def _is_footer(block: Sequence[str], count: int) -> bool:
    """A last line set off by a blank one, or one that counts the records."""
    line = block[-1].strip()
    if _FOOTER.fullmatch(line) is None:
        return False
    counts = _COUNTING.match(line)
    return len(block) < 2 or not block[-2].strip() or (counts is not None and int(counts[1].replace(",", "")) >= count)


def _record(block: Sequence[str]) -> dict[str, str] | None:
    row: dict[str, str] = {}
    last: str | None = None
    for line in block:
        found = _KEY.fullmatch(line)
        if found and (found[2].strip() not in row):
            last = found[2].strip()
            row[last] = found[5].strip()
        elif last is None:
            if line.strip():
                return None
        else:
            more = line.split("|", 1)[1] if re.match(r"\s+\| ", line) else line
            row[last] = f"{row[last].rstrip('+').rstrip()}\n{more.strip()}" if row[last] else more.strip()
    return row or None


def _blocks(lines: Sequence[str]) -> TextTable | None:
    """Blocks of `key: value` set off by blank lines or rules, all with the same keys."""
    groups = list(_groups(lines))
    if len(groups) < 2:
        return None
    around: list[str] = []
    if len(groups) > 2 and len(groups[0]) == 1 and not _plain_keys(groups[0]):
        around.append(groups.pop(0)[0].strip())
    if (
        len(groups) > 2
        and len(groups[-1]) <= 2
        and _FOOTER.fullmatch(groups[-1][0].strip())
        and not _same(groups[-1], groups[-2])
    ):
        around += [line.strip() for line in groups.pop()]
    if groups[0][0].rstrip().endswith(":") and len(groups[0]) > 2 and groups[0][0] not in groups[1]:
        around.append(groups[0].pop(0).strip())
    rows = []
    for group in groups:
        if not _plain_keys(group):
            return None
        row = _record(group)
        if row is None or len(row) < 2:
            return None
        rows.append(row)
    keys = [set(row) for row in rows]
    union = set().union(*keys)
    if len(rows) < 2 or sum(map(len, keys)) < 0.75 * len(union) * len(rows):
        return None
    return _table("records", rows, around)


def _groups(lines: Sequence[str]) -> Iterator[list[str]]:
    group: list[str] = []
    for line in lines:
        if not line.strip() or re.fullmatch(r"\s*(?:-{3,}|={3,}|\*{3,})\s*", line):
            if group:
                yield group
            group = []
        else:
            group.append(line)
    if group:
        yield group


def _plain_keys(group: Sequence[str]) -> bool:
    found = [_KEY.fullmatch(line) for line in group]
    names = [match[2] for match in found if match]
    return len(names) == len(group) and len(set(names)) == len(names) and all(len(name.split()) <= 4 for name in names)


def _same(group: Sequence[str], other: Sequence[str]) -> bool:
    return _plain_keys(group) and _plain_keys(other) and len(group) == len(other)


def _table(source: str, rows: Sequence[dict[str, str]], around: Sequence[str]) -> TextTable:
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    return TextTable(source, names, [[row.get(name) for name in names] for row in rows], tuple(around))


def read_settings(text: str) -> dict[str, str] | None:
    """`NAME=value` lines and nothing else: an environment."""
    lines = [line for line in text.splitlines() if line.strip()]
    found = [_SETTING.fullmatch(line) for line in lines] if 3 <= len(lines) <= 500 else []
    settings = {match[1]: _unquoted(match[2]) for match in found if match}
    return settings if settings and len(settings) == len(lines) else None


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'" else text


def read_pairs(text: str) -> dict[str, str] | None:
    """One block of `key: value` lines and nothing else."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not 3 <= len(lines) <= 500 or any(len(line) > 2_000 for line in lines):
        return None
    found = [_KEY.fullmatch(line) for line in lines]
    if not all(match and match[4] in (": ", ":", " = ") and len(match[2].split()) <= 4 for match in found):
        return None
    if any(match[1] or (match[4] == ":" and match[5]) for match in found if match):
        return None
    pairs = {match[2].strip(): match[5].strip() for match in found if match}
    return pairs if len(pairs) == len(lines) else None
