"""Shape <-> plain JSON values, as an entry stores it. The two are exact inverses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from crp_mcp.core.model import Kind

from .model import Column, Shape, Value

_DEFAULTS = {item.name: item.default for item in fields(Shape)}
_OPTIONAL = tuple((name, default) for name, default in _DEFAULTS.items() if name not in ("kind", "source"))


def shape_to_json(shape: Shape) -> dict[str, Any]:
    """Plain dicts, lists and scalars; members at their default are left out."""
    out: dict[str, Any] = {"kind": shape.kind.value, "source": shape.source}
    for name, default in _OPTIONAL:
        value = getattr(shape, name)
        if value is default or value == default or value in ((), {}):
            continue
        encode = _ENCODE.get(name)
        out[name] = encode(value) if encode else _plain(value)
    if shape.columns == ():
        out["columns"] = []
    return out


def shape_from_json(data: Mapping[str, Any]) -> Shape:
    """The shape again. Raises KeyError, TypeError or ValueError for what `shape_to_json` did not write."""
    members = {}
    for name, value in data.items():
        if name not in _DEFAULTS:
            continue
        read = _DECODE.get(name)
        members[name] = read(value) if read else value
    return Shape(**members)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


def _value(value: Value) -> list[Any]:
    return [value.text, value.type, True, value.size] if value.cut else [value.text, value.type]


def _column(column: Column) -> dict[str, Any]:
    out: dict[str, Any] = {"name": column.name, "types": list(column.types), "nulls": column.nulls}
    for name in ("low", "high", "distinct", "spelling"):
        if getattr(column, name) is not None:
            out[name] = getattr(column, name)
    if column.top:
        out["top"] = [list(pair) for pair in column.top]
    return out


def _read_column(data: Mapping[str, Any]) -> Column:
    rest = {name: data.get(name) for name in ("low", "high", "distinct", "spelling")}
    return Column(
        data["name"],
        tuple(data["types"]),
        data["nulls"],
        low=rest["low"],
        high=rest["high"],
        distinct=rest["distinct"],
        spelling=rest["spelling"],
        top=tuple((text, n) for text, n in data.get("top", ())),
    )


def _pairs(value: Any) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(item) for item in value)


_ENCODE: Mapping[str, Callable[[Any], Any]] = {
    "columns": lambda columns: [_column(column) for column in columns],
    "scalars": lambda pairs: [[name, _value(value)] for name, value in pairs],
    "head": lambda rows: [[_value(value) for value in row] for row in rows],
    "tail": lambda rows: [[_value(value) for value in row] for row in rows],
    "blocks": lambda blocks: [[at, shape_to_json(block)] for at, block in blocks],
}
_DECODE: Mapping[str, Callable[[Any], Any]] = {
    "kind": Kind,
    "columns": lambda columns: tuple(map(_read_column, columns)),
    "unwrapped": tuple,
    "scalars": lambda pairs: tuple((name, Value(*value)) for name, value in pairs),
    "members": _pairs,
    "head": lambda rows: tuple(tuple(Value(*value) for value in row) for row in rows),
    "tail": lambda rows: tuple(tuple(Value(*value) for value in row) for row in rows),
    "row_index": _pairs,
    "blocks": lambda blocks: tuple((at, shape_from_json(block)) for at, block in blocks),
    "media": _pairs,
}
