"""Text and logs as rows: number, text, and time, level and message where lines have them. Pure."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

PROBE = 400
"""Lines looked at to tell a log from prose."""
_SHARE = 0.5
_LOOK = 160
"""Characters of a line in which time and level stand."""

_TIME = re.compile(
    r"(?P<iso>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)"
    r"|(?P<slash>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?)"
    r"|(?P<web>\d{1,2}/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d(?: [+-]\d{4})?)"
    r"|(?P<sys>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d)",
    re.ASCII,
)
_LEVEL = re.compile(
    r"(?<![\w-])(?:(?P<big>FATAL|CRITICAL|PANIC|EMERG|ALERT|SEVERE|ERROR|WARNING|WARN|NOTICE|INFO|DEBUG|TRACE)(?![\w-])"
    r"|(?:\[|level=\"?)(?P<small>fatal|critical|panic|error|warning|warn|notice|info|debug|trace)\b\"?\]?)",
    re.ASCII,
)
_BARE = len("2024-01-01T00:00:00")
_SHORTEST = len("Jan  1 00:00:00")
_LEAD = " \t-:|,]>)"
COLUMNS_TEXT = ("line_no", "text")
COLUMNS_LOG = ("line_no", "text", "ts", "level", "message")


def is_log(lines: Sequence[str]) -> bool:
    """Whether at least half of the lines carry a time or a level."""
    full = [line[:_LOOK] for line in lines if line.strip() and not line[0].isspace()]
    hits = sum(1 for line in full if _TIME.search(line) or _LEVEL.search(line))
    return len(full) >= 2 and hits >= _SHARE * len(full)


def log_row(number: int, line: str) -> tuple[int, str, str | None, str | None, str]:
    """A line as (line_no, text, ts, level, message)."""
    time = _TIME.search(line, 0, _LOOK)
    start = time.end() if time is not None else 0
    level = _LEVEL.search(line, start, start + _LOOK) or (_LEVEL.search(line, 0, start) if start > _SHORTEST else None)
    if level is None:
        message = line[start:].lstrip(_LEAD) if time is not None else line
        return number, line, moment(time) if time is not None else None, None, message
    name = level.group(level.lastgroup or 0).upper()
    end = level.end()
    message = line[end if end > start else start :].lstrip(_LEAD)
    return number, line, moment(time) if time is not None else None, name, message


def moment(found: re.Match[str]) -> str:
    """A time as SQLite's date functions take it; as it is where it has no year."""
    text, kind = found.group(), found.lastgroup
    if kind == "iso":
        if len(text) == _BARE:
            return text
        text = text.replace(",", ".")
        return f"{text[:-2]}:{text[-2:]}" if text[-5] in "+-" else text
    if kind == "slash":
        return text.replace("/", "-")
    return _web_time(text) if kind == "web" else text


def _web_time(text: str) -> str:
    day, month, rest = text.split("/")
    year, clock = rest[:4], rest[5:13]
    number = (["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]).index(month) + 1
    zone = rest[14:]
    return f"{year}-{number:02d}-{int(day):02d} {clock}" + (f"{zone[:3]}:{zone[3:]}" if zone else "")


def split_lines(pieces: Iterable[bytes], codec: str = "utf-8") -> Iterator[list[str]]:
    """Lines of a text that comes in pieces, in batches; whatever the line ends are."""
    decoder = codecs.getincrementaldecoder(codec)("replace")
    rest = ""
    for piece in pieces:
        text = rest + decoder.decode(piece)
        held = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r")
        *lines, rest = _cut(text)
        rest += held
        if lines:
            yield lines
    last = rest + decoder.decode(b"", True)
    lines = _cut(last)
    if lines and lines[-1] == "":
        lines.pop()
    if lines:
        yield lines


def _cut(text: str) -> list[str]:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


def text_rows(batches: Iterable[list[str]]) -> tuple[tuple[str, ...], Iterator[list[tuple[Any, ...]]]]:
    """(columns, batches of rows) of a text. The first lines decide whether it is a log."""
    source = iter(batches)
    first: list[str] = []
    for batch in source:
        first += batch
        if len(first) >= PROBE:
            break
    log = is_log(first[:PROBE])
    return (COLUMNS_LOG if log else COLUMNS_TEXT), _numbered(first, source, log)


def _numbered(first: list[str], source: Iterator[list[str]], log: bool) -> Iterator[list[tuple[Any, ...]]]:
    number = 1
    batch: list[str] | None = first
    while batch is not None:
        if log:
            yield [log_row(at, line) for at, line in enumerate(batch, number)]
        else:
            yield list(enumerate(batch, number))
        number += len(batch)
        batch = next(source, None)
