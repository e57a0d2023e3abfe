"""Drafts for texts, logs, empty and binary results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from crp_mcp.core.model import SummaryOptions
from crp_mcp.core.shape.model import MOST_HEADINGS, MOST_NAMES, Shape

from .clean import beginning, clean, ends, short
from .draft import Draft, Step
from .facts import about, column_line, notes, plural

_RAW = 'scratch_get(view="raw")'
_CUT = 500
"""Characters at which lines in a shape may have been cut."""
_TRIMMED = 60
"""Spaces that may have been stripped from a line that was cut."""
_GREP = ("scratch_get(grep=…)", _RAW)


def text_steps(shape: Shape, options: SummaryOptions) -> list[Step]:
    """Drafts of a text: levels and error lines first, then how it begins, headings, names, its end."""
    sizes = [(240, 24, 12, 5), (240, 16, 8, 5), (200, 12, 6, 4), (160, 10, 5, 3), (140, 8, 4, 2), (120, 8, 4, 1)]
    sizes += [(120, 6, 4, 0), (100, 4, 4, 0), (80, 3, 3, 0), (60, 2, 2, 0), (48, 1, 0, 0), (32, 0, 0, 0), (0, 0, 0, 0)]
    head = _strings(shape.text.get("head"))
    steps: list[Step] = [partial(_text, shape, *size) for size in sizes]
    if head and shape.text.get("lines") == len(head) and max(map(len, head)) < _CUT and not shape.partial:
        return [partial(_whole_text, shape, head), *steps]
    return steps


def _whole_text(shape: Shape, lines: Sequence[str]) -> Draft:
    """A few lines, all of which stand in the shape."""
    about_it = [about(shape)] if shape.unwrapped else []
    return Draft(f"text of {plural(len(lines), 'line')}, shown in full", (_RAW,), (*about_it, *map(clean, lines)))


def _text(shape: Shape, width: int, headings: int, entities: int, edge: int) -> Draft:
    fact = shape.text
    told = shape.unwrapped or shape.partial_why or shape.scalars or shape.source != "text"
    lines = notes(shape, 4) if width >= 100 and told else []
    head, tail = _strings(fact.get("head")), _strings(fact.get("tail"))
    if width:
        lines += _log_lines(fact, width)
        lines += _beginning(str(fact.get("first_sentence") or ""), head, width, edge)
        lines += _listed("headings", _strings(fact.get("headings")), headings, min(width, 60), MOST_HEADINGS)
        lines += _listed("names in it", _strings(fact.get("entities")), entities, min(width, 60), MOST_NAMES)
    # A line that long is a piece of one, cut at both ends, and not the end of the text.
    if edge and tail and len(tail[-1]) < _CUT and fact.get("lines") != 1 and tail[-1] not in head[:edge]:
        lines.append(f"last line: {beginning(tail[-1], width)}")
    return Draft(_measured(shape), _GREP, tuple(lines))


def _beginning(sentence: str, head: Sequence[str], width: int, edge: int) -> list[str]:
    """The first sentence and the first lines; the lines alone where it is only those run together."""
    lead, first = " ".join(sentence.split())[:80], " ".join(head[0].strip(" \t#>*-").split())[:80] if head else ""
    if edge > 1 and head and (not lead or first.startswith(lead) or lead.startswith(first)):
        return [f"begins: {beginning(head[0], width)}", *(f"  {beginning(line, width)}" for line in head[1:edge])]
    lines = [f"begins: {beginning(sentence, width)}"] if sentence else []
    others = [line for line in head if line.strip(" \t#>*-") not in sentence] if edge > 1 else []
    return lines + [f"  {beginning(line, width)}" for line in others[:edge]]


def _measured(shape: Shape) -> str:
    """`excerpt of 1,234 lines, 9,876 words`."""
    parts = [
        plural(shape.text[name], name[:-1]) for name in ("lines", "words") if isinstance(shape.text.get(name), int)
    ]
    said = f"excerpt of {', '.join(parts)}" if parts else "excerpt"
    if shape.partial:
        total = f", {shape.rows_total:,} in all" if shape.rows_total is not None else ""
        return f"UPSTREAM PARTIAL{total}; {said}"
    return said


def _log_lines(fact: Mapping[str, Any], width: int) -> list[str]:
    lines = []
    levels = fact.get("levels")
    if isinstance(levels, Mapping) and levels:
        lines.append(
            "levels: " + ", ".join(f"{short(str(name), 16)} {count}" for name, count in list(levels.items())[:10])
        )
    for key, said in (("first_error", "first error"), ("last_error", "last error")):
        if fact.get(key):
            lines.append(f"{said}: {_excerpt(str(fact[key]), width)}")
    return lines


def _excerpt(line: str, width: int) -> str:
    """A line of a log, or what of it stands in the shape: then without the pieces of words at its ends."""
    if len(line) < _CUT - _TRIMMED:
        return ends(line, width)
    words = line.split(" ")
    return (
        f"…{beginning(' '.join(words[1:-1]), width).rstrip('…')}…"
        if len(words) > 2
        else f"({len(line)} characters and more)"
    )


def _listed(said: str, texts: Sequence[str], most: int, width: int, limit: int) -> list[str]:
    """`limit`: how many a shape keeps; with as many there may be more."""
    if not texts or not most:
        return []
    left = len(texts) - most
    return [
        f"{said}: {'; '.join(beginning(text, width) for text in texts[:most])}"
        + ("; and more" if len(texts) >= limit else f"; and {left} more" if left > 0 else "")
    ]


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(item) for item in value] if isinstance(value, Sequence) else []


def empty_steps(shape: Shape, options: SummaryOptions) -> list[Step]:
    """Drafts of a result with nothing in it, which is a fact of its own."""
    return [partial(_empty, shape, *detail) for detail in ((40, 8), (12, 4), (4, 2), (0, 0))]


def _empty(shape: Shape, columns: int, beside: int) -> Draft:
    lines = notes(shape, beside) if beside else []
    lines += [f"{short(key, 40)}: {short(what, 60)}" for key, what in shape.members[:beside]]
    lines += [short(message, 160) for message in _strings(shape.text.get("message")) if beside]
    if shape.columns and columns:
        names = [column_line(column, None, 0) for column in shape.columns[:columns]]
        left, over = len(shape.columns) - len(names), "over " if shape.more_columns else ""
        lines.append(f"columns: {', '.join(names)}" + (f", and {over}{left} more" if left > 0 else ""))
    more = f"UPSTREAM PARTIAL: total {shape.rows_total:,}, " if shape.rows_total else ""
    return Draft(f"{more}returned 0 rows", (_RAW,), tuple(lines))


def binary_steps(shape: Shape, options: SummaryOptions) -> list[Step]:
    """Drafts of bytes that are no text."""
    return [partial(_binary, shape, most) for most in (8, 4, 1, 0)]


def _binary(shape: Shape, most: int) -> Draft:
    lines = media_lines(shape, most)
    size = shape.text.get("bytes")
    said = f"binary data, {plural(size, 'byte')}, not shown" if isinstance(size, int) else "binary data, not shown"
    return Draft(said, (_RAW,), tuple(lines))


def media_lines(shape: Shape, most: int) -> list[str]:
    """One line for each block that is no text: type, MIME type, size."""
    lines = []
    for number, kind, mime, size in shape.media[:most]:
        what = " ".join(short(part, 60) for part in (kind, mime) if part)
        known = size or kind != "resource_link"
        lines.append(f"block {number}: {what}" + (f", {size} byte{'s' * (size != 1)}" if known else ""))
    left = len(shape.media) - most
    return lines + ([f"and {plural(left, 'more block')}"] if left > 0 and most else [])
