"""One earlier result as references see it: what it was called, what it holds, what it is. Built from facts alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from crp_mcp.core.model import Kind, ToolClass
from crp_mcp.core.shape.model import Shape

from .words import FILE_NAME, name_parts, name_words, stem, text_words

MAX_CELLS = 200
_FAILED = frozenset({"error", "errors", "fatal", "critical"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """Words are stems. `rows`: rows of a table or items of a list, None otherwise."""

    id: str
    tool: str
    kind: Kind
    tool_class: ToolClass
    rows: int | None
    rows_total: int | None
    is_error: bool
    is_log: bool
    has_errors: bool
    """A log or text in which something failed."""
    name: str | None
    tool_words: frozenset[str]
    column_words: frozenset[str]
    argument_words: frozenset[str]
    asked_words: frozenset[str]
    """Words of argument values."""
    value_words: frozenset[str]
    """Words of sample cells, and of what was said when the result came."""
    literals: frozenset[str] = frozenset()
    """Names that may stand in a sentence as they are: the tool's, and of files among the arguments. Lower case."""
    tables: frozenset[str] = frozenset()
    """Stems of the tables whose rows it holds as they are: read by a query that computes nothing of them."""
    extent: int = 0
    """Rows, items, keys or lines: what "the largest" goes by."""
    is_json: bool = False
    has_number: bool = False
    """A short text with a number in it, or a number."""


def candidate_of(
    id: str,
    tool: str,
    arguments: Mapping[str, Any],
    shape: Shape,
    *,
    server: str = "",
    tool_class: ToolClass = ToolClass.OTHER,
    name: str | None = None,
    said: str = "",
) -> Candidate:
    """A candidate from a stored result. `said`: the words it was presented with, where they are known."""
    levels = shape.text.get("levels") or {}
    failed = any(str(level).lower() in _FAILED for level in levels) or bool(shape.text.get("first_error"))
    return Candidate(
        id=id,
        tool=tool,
        kind=shape.kind,
        tool_class=tool_class,
        rows=shape.rows,
        rows_total=shape.rows_total,
        is_error=shape.is_error or shape.kind is Kind.ERROR,
        is_log=bool(levels),
        has_errors=failed,
        name=name,
        tool_words=name_words(tool) | name_words(server),
        column_words=frozenset().union(*(name_words(one) for one in _names(shape))),
        argument_words=frozenset().union(*(name_words(str(key)) for key in arguments)),
        asked_words=text_words(_texts(arguments.values())),
        value_words=text_words((*_cells(shape), said)),
        literals=frozenset({_spoken(tool), *_file_names(arguments.values())}),
        tables=frozenset() if shape.is_error else frozenset(_tables(arguments.values())),
        extent=shape.rows_total or shape.rows or int(shape.text.get("lines") or 0),
        has_number=shape.kind is Kind.SCALAR or any(map(str.isdigit, str(shape.text.get("first_sentence", ""))[:200])),
        is_json=shape.source.startswith("json") and not any("repr" in one for one in shape.unwrapped),
    )


def _spoken(tool: str) -> str:
    """A tool's name as its words are written in a sentence: `git_log` → `git log`."""
    return " ".join(part.lower() for part in name_parts(tool))


def _file_names(values: Iterable[Any]) -> Iterable[str]:
    for text in _texts(values):
        last = text.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
        if FILE_NAME.fullmatch(last):
            yield last


_FROM = re.compile(r"\bfrom\s+[\"'`\[]?(?:\w+\.)?(\w+)", re.IGNORECASE)
_COMPUTES = re.compile(r"\b(?:group\s+by|join|union|distinct)\b|\b(?:count|sum|avg|min|max|total)\s*\(", re.IGNORECASE)


def _tables(values: Iterable[Any]) -> Iterable[str]:
    for text in _texts(values):
        if text.lstrip().lower().startswith(("select", "with")) and not _COMPUTES.search(text):
            yield from (stem(name.lower()) for name in _FROM.findall(text))


def _names(shape: Shape) -> Iterable[str]:
    yield from (column.name for column in shape.columns or ())
    yield from (name for name, _ in (*shape.scalars, *shape.members))
    for _, block in shape.blocks:
        yield from _names(block)


def _cells(shape: Shape) -> list[str]:
    found = [value.text for row in (*shape.head, *shape.tail) for value in row]
    found += [text for column in shape.columns or () for text, _ in column.top]
    found += [value.text for _, value in shape.scalars]
    for key in ("first_sentence", "message"):
        if isinstance(shape.text.get(key), str):
            found.append(shape.text[key])
    found += [str(one) for one in shape.text.get("headings") or ()]
    return found[:MAX_CELLS]


def _texts(values: Iterable[Any]) -> Iterable[str]:
    for value in values:
        if isinstance(value, str):
            yield value[:500]
        elif isinstance(value, Mapping):
            yield from _texts(value.values())
        elif isinstance(value, list):
            yield from _texts(value[:50])
