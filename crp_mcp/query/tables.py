"""Which tables one stored result gives. Pure: from its shape alone, or from its document where it has more lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from crp_mcp.core.model import Kind
from crp_mcp.core.shape.model import Shape

_DEEPEST = 4
_MOST_LISTS = 50


@dataclass(frozen=True, slots=True)
class Source:
    """Where the rows of one table come from.

    `how`: `rows` (the shape's rows), `lines` (text, a row a line), `document` (a JSON object: itself as one row).
    `suffix`: what follows the scratch_id in the table's name, with its dot; "" for the result's main table.
    """

    suffix: str
    how: str
    shape: Shape


def sources(shape: Shape) -> tuple[Source, ...]:
    """The tables a shape promises, the main one first. A binary has none."""
    main = _source("", shape)
    found = [main] if main is not None else []
    for at, block in shape.blocks:
        part = _source(f".block_{at + 1}", block)
        if part is not None:
            found.append(part)
    return tuple(found)


def _source(suffix: str, shape: Shape) -> Source | None:
    if shape.kind is Kind.BINARY:
        return None
    bare = replace(shape, blocks=())
    if shape.kind is Kind.EMPTY and shape.columns:
        return Source(suffix, "rows", replace(bare, rows=0))
    if shape.kind in (Kind.TABULAR, Kind.LIST) and shape.rows is not None and not _is_media(shape):
        return Source(suffix, "rows", bare)
    if shape.kind in (Kind.OBJECT, Kind.ERROR, Kind.SCALAR, Kind.EMPTY) and _is_json(shape):
        return Source(suffix, "document", bare)
    return Source(suffix, "lines", bare)


def _is_json(shape: Shape) -> bool:
    return shape.source.startswith("json") or shape.source in ("structured_content", "ndjson")


def _is_media(shape: Shape) -> bool:
    return shape.source == "result"


def has_parts(shape: Shape) -> bool:
    """Whether there may be further lists beside the main table: its payload is a JSON object."""
    return _is_json(shape) and (shape.kind is Kind.OBJECT or shape.path is not None or shape.kind is Kind.ERROR)


def lists_of(document: Any) -> dict[str, list[Any]]:
    """Every list of objects, or of anything, in an object: by its key, or by its path where keys repeat."""
    found: list[tuple[tuple[str, ...], list[Any]]] = []
    _collect(document, (), found)
    names: dict[str, list[Any]] = {}
    for path, items in found:
        short = path[-1]
        name = short if sum(other[-1] == short for other, _ in found) == 1 else ".".join(path)
        names.setdefault(name, items)
    return names


def _collect(value: Any, path: tuple[str, ...], found: list[tuple[tuple[str, ...], list[Any]]]) -> None:
    if len(path) > _DEEPEST or len(found) >= _MOST_LISTS:
        return
    if isinstance(value, list):
        found.append((path, value))
    elif isinstance(value, Mapping):
        for key, member in value.items():
            _collect(member, (*path, str(key)), found)
