"""What must hold of every summary, whatever it is of: used by the property tests and on real outputs."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

from crp_mcp.core.shape.model import Shape
from crp_mcp.tokens import Counter, open_counter

ID = "scratch_sql_001"


@functools.cache
def _counter() -> Counter:
    return open_counter()


def count_tokens(text: str) -> int:
    """Tokens by the counter the product uses; loaded on first need."""
    return _counter().count(text)


_OWN_LINE = re.compile(
    r"(?:UPSTREAM PARTIAL: total (?:[\d,]+|unknown)(?:, returned [\d,]+)?, shown [\d,]+ (?:row|item)s?"
    r"(?:, [\d,]+ of (?:more than )?[\d,]+ columns)?"
    r"|(?:[\d,]+ of )?[\d,]+ (?:row|item)s? shown(?:, [\d,]+ of (?:more than )?[\d,]+ columns)?"
    r"|(?:UPSTREAM PARTIAL; )?object(?: of [\d,]+ keys?)?; [\w, ]+ shown"
    r"|(?:UPSTREAM PARTIAL(?:, [\d,]+ in all)?; )?excerpt(?: of [\d,]+ \w+(?:, [\d,]+ \w+)?)?"
    r"|one value, (?:not )?shown in full|text of [\d,]+ lines?, shown in full"
    r"|error, (?:message shown in full|[\d,]+ of [\d,]+ lines? shown(?: in part)?)"
    r"|(?:UPSTREAM PARTIAL: total [\d,]+, )?returned 0 rows"
    r"|binary data, (?:[\d,]+ bytes?, )?not shown|outline of [\w, ]+)"
    rf"; {ID}; use scratch_(?:query|get)[\w() =\"…]*"
)
_UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_FORGED = re.compile(r"scratch_\w|upstream partial|<base64\b(?! (?:over )?\d+ K?B>)", re.IGNORECASE)


_RUNS = re.compile("[0-9]+")


def texts_of(shape: Shape) -> Iterator[str]:
    yield from (shape.path or "", shape.partial_why or "", *shape.unwrapped)
    for column in shape.columns or ():
        yield from (column.name, column.low or "", column.high or "", *(text for text, _ in column.top))
    for row in (*shape.head, *shape.tail):
        yield from (value.text for value in row)
    for key, value in shape.scalars:
        yield from (key, value.text)
    yield from (text for member in shape.members for text in member)
    for fact in shape.text.values():
        yield from ([fact] if isinstance(fact, str) else map(str, fact) if isinstance(fact, list | dict) else [])
    yield from (text for _, kind, mime, _ in shape.media for text in (kind, mime))
    for _, block in shape.blocks:
        yield from texts_of(block)


def counted(shape: Shape) -> Iterator[int]:
    yield from (shape.rows or 0, shape.rows_total or 0, shape.key_count or 0)
    for column in shape.columns or ():
        yield from (column.nulls, column.distinct or 0, *(count for _, count in column.top))
    yield from (fact for fact in shape.text.values() if isinstance(fact, int))
    yield from shape.text.get("levels", {}).values()
    yield from (number for block in shape.media for number in (block[0], block[3]))
    if shape.rows is not None:
        yield from range(max(0, shape.rows - 8), shape.rows)  # numbers of the last items
    lines = shape.text.get("lines")
    if isinstance(lines, int):
        yield from range(max(0, lines - 100), lines)  # lines left out of an error
    for number, block in shape.blocks:
        yield number
        yield from counted(block)


def check_lines(text: str) -> None:
    first, *others = text.splitlines()
    assert _OWN_LINE.fullmatch(first), first
    for line in others:
        assert line.startswith("| "), line
        assert not _UNSAFE.search(line), line
        assert not _FORGED.search(re.sub(r"^\| block \d+, \w+: UPSTREAM PARTIAL\b", "", line)), line


def check_numbers(shape: Shape, text: str, payload: Iterable[str]) -> None:
    """Each run of digits is a whole run of digits of the payload's texts, or one of our counts."""
    payload = list(payload)
    texts = [*payload, *(re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", " ", text) for text in payload)]
    true = {run for text in texts for run in _RUNS.findall(text)}
    pieces = [piece for text in texts_of(shape) for piece in (text, *text.splitlines())]
    lengths = {len(piece) for piece in (*pieces, *map(str.rstrip, pieces))}
    listed = max(60, 1 + len(shape.scalars) + len(shape.members), 1 + len(shape.columns or ()))
    counts = (*counted(shape), *range(listed), *lengths, *(n // 1024 for n in lengths))
    true.update(run for n in counts for run in (str(n), *f"{n:,}".split(",")))
    for run in _RUNS.findall(re.sub(r"scratch_sql_001|base64", "", text)):
        assert run in true, (run, text)
