"""Drafts for errors: the whole message if it fits; else its first lines and, with more room, its last ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from crp_mcp.core.model import SummaryOptions
from crp_mcp.core.shape.model import Shape

from .clean import SLACK, ends, short
from .draft import Draft, Step
from .facts import about, plural, value_text

_RAW = 'scratch_get(view="raw")'


@dataclass(frozen=True, slots=True)
class _Message:
    """The lines of a message, or of its two ends where the shape does not hold all of it."""

    lines: tuple[str, ...]
    total: int
    """Lines of the whole."""
    whole: bool
    size: int | None = None
    """Characters of the only line, where that is pieced together from its two ends."""


def error_steps(shape: Shape, options: SummaryOptions) -> list[Step]:
    """Drafts of an error, richest first."""
    message = _read(shape)
    count, cap = len(message.lines), options.cap
    most = min(count, cap // 3 + 1)
    sizes = [(most, times * cap // most) for times in (6, 4, 3, 2) if 0 < most == count < 8]
    sizes += [(most, width) for width in (240, 120) if most == count]
    sizes += [(kept, 80) for kept in range(most, 2, -1)]
    sizes += [(2, cap), (2, cap // 2), (2, 60), (1, cap), (1, cap // 2), (1, 40), (1, 20), (0, 0)]
    drafts: list[Step] = [partial(_part, shape, message, min(kept, count), width) for kept, width in sizes]
    return [partial(_all, shape, message), *drafts] if message.whole else drafts


def _read(shape: Shape) -> _Message:
    fact = shape.text
    text, end, size = str(fact.get("message") or ""), str(fact.get("message_end") or ""), fact.get("chars")
    if not text:
        edges = [*_texts(fact.get("head")), *_texts(fact.get("tail"))]
        return _Message(tuple(edges), _total(shape, len(edges)), False)
    lines, last = _lines(text), _lines(end)
    if not end:
        return _Message(tuple(lines), len(lines), True)
    if len(lines) > 1 or len(last) > 1:
        # Where the two pieces were cut, a line is not whole.
        lines = [*lines[:-1], *(last[1:] if len(last) > 1 else _texts(fact.get("tail")))]
        return _Message(tuple(lines), _total(shape, len(lines)), False)
    whole = size if isinstance(size, int) else 0
    return _Message((text + end,), 1, False, whole)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(item) for item in value] if isinstance(value, Sequence) else []


def _total(shape: Shape, least: int) -> int:
    told = shape.text.get("lines")
    return max(told, least) if isinstance(told, int) else least


def _extent(message: _Message, shown: int, cut: bool = False) -> str:
    return f"error, {shown:,} of {plural(message.total, 'line')} shown{' in part' if cut else ''}"


def _all(shape: Shape, message: _Message) -> Draft:
    said = [*_fault(shape), *(short(line, len(line)) for line in message.lines), *_members(shape, 8)]
    return Draft("error, message shown in full", (_RAW,), tuple(said))


def _part(shape: Shape, message: _Message, kept: int, width: int) -> Draft:
    if not kept:
        return Draft(_extent(message, 0), (_RAW,))
    first = kept // 3 + (kept == 2)
    chosen = [*message.lines[:first], *message.lines[first - kept :]]
    cut = message.size is not None or any(len(line) > width + SLACK for line in chosen)
    told = width >= 60
    said = [ends(line, width, whole=message.size) for line in chosen]
    if told and message.total > kept and first:
        left = message.total - kept
        said.insert(first, f"… {left} line{'s' * (left != 1)} …")
    said = [*(_fault(shape) if told else []), *said]
    return Draft(_extent(message, kept, cut), (_RAW,), (*said, *_members(shape, 4 if told else 0)))


def _fault(shape: Shape) -> list[str]:
    """What was taken off to find the error, and its type."""
    kind = shape.text.get("type")
    return [*([about(shape)] if shape.unwrapped else []), *([f"type: {short(str(kind), 80)}"] if kind else [])]


def _members(shape: Shape, most: int) -> list[str]:
    """Members of an error object that say more than its message: codes, ids, links."""
    message = str(shape.text.get("message") or "")
    more = [(key, value) for key, value in shape.scalars if value.type != "null" and value.text.strip() not in message]
    if not more or not most:
        return []
    return ["; ".join(f"{short(key, 30)}: {value_text(value, 60)}" for key, value in more[:most])]
