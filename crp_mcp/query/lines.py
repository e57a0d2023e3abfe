"""Text and logs as rows: number, text, and time, level and message where lines have them. Pure.

A row of a log is a record: lines that carry neither, a traceback or the rest of a message, belong to the line before.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

PROBE = 400
"""Lines looked at to tell a log from prose."""
_SHARE = 0.5
_LEAST_SHARE = 0.05
"""Of a text that begins with a time: records with long tracebacks are few among its lines."""
_LEAST = 3
_EARLY = 48
"""A time that begins a record begins before this character."""
MOST_LINES = 1_000
"""Lines of one record; what follows stands in rows of its own."""
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


_MORE = re.compile(
    r"\s|$|Traceback \(most recent call last\)|Caused by: |During handling of the above |The above exception was "
    r"|[\w$.]*(?:Error|Exception|Warning|Throwable|Interrupt|Exit)\b(?:: |:?$)|[\w$]+(?:\.[\w$]+){2,}(?:: |$)"
    r"|\.{3} \d+ "
    r"|[\])}]"
)
"""How lines begin that go on with the record before: tracebacks of Python and Java, indented and closing lines."""


def is_log(lines: Sequence[str]) -> bool:
    """Whether lines carry a time or a level: half of those that begin a record, or some, each a time at its start."""
    full = [line[:_LOOK] for line in lines if line.strip() and not line[0].isspace()]
    begin = [line for line in full if not _MORE.match(line)]
    hits = sum(1 for line in begin if _TIME.search(line) or _LEVEL.search(line))
    if len(begin) >= 2 and hits >= _SHARE * len(begin):
        return True
    timed = sum(_begins(line) for line in full)
    return bool(full) and _begins(full[0]) and timed >= _LEAST and timed >= _LEAST_SHARE * len(lines)


def _begins(line: str) -> bool:
    return _TIME.search(line, 0, _EARLY + _SHORTEST) is not None


def begins_record(timed: bool) -> Callable[[str], bool]:
    """Whether a line begins a record. `timed`: the records of this log begin with a time."""
    if timed:
        return lambda line: _TIME.search(line, 0, _LOOK) is not None and _MORE.match(line) is None
    return lambda line: _MORE.match(line) is None


def is_timed(lines: Sequence[str]) -> bool:
    """Whether most lines that do not go on with one before begin with a time."""
    begin = [line for line in lines if not _MORE.match(line)]
    timed = sum(map(_begins, begin))
    levels = sum(1 for line in begin if _LEVEL.search(line[:_LOOK]) and not _begins(line))
    return timed >= 2 and timed > levels


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
    batches = chain([first], source)
    if log:
        yield from _records(batches, begins_record(is_timed(first[:PROBE])))
        return
    number = 1
    for batch in batches:
        yield list(enumerate(batch, number))
        number += len(batch)


def _records(batches: Iterable[list[str]], begins: Callable[[str], bool]) -> Iterator[list[tuple[Any, ...]]]:
    """Rows of a log, a record each, numbered by its first line."""
    held: list[str] = []
    at, number = 1, 1
    for batch in batches:
        rows = []
        for line in batch:
            if held and (begins(line) or len(held) >= MOST_LINES):
                rows.append(record(at, held))
                held, at = [line], number
            else:
                held.append(line)
            number += 1
        yield rows
    if held:
        yield [record(at, held)]


def record(number: int, lines: list[str]) -> tuple[int, str, str | None, str | None, str]:
    """The lines of one record as (line_no, text, ts, level, message); the message goes on to its end."""
    row = log_row(number, lines[0])
    if len(lines) == 1:
        return row
    while len(lines) > 1 and not lines[-1].strip():
        lines = lines[:-1]
    rest = "\n".join(["", *lines[1:]])
    return (number, row[1] + rest, row[2], row[3], row[4] + rest)
