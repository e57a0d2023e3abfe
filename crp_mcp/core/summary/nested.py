"""Drafts for objects, lists and scalars."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from crp_mcp.core.model import SummaryOptions
from crp_mcp.core.shape.model import MOST_MEMBERS, Shape, Value

from .clean import short
from .draft import Draft, Step
from .facts import about, column_line, extent, notes, plural, value_text

_SINGLE, _NARROW = 8, 40
"""Values that each have a line of their own; width from which on all have."""
_RAW = 'scratch_get(view="raw")'
_WAYS = ("scratch_get(path=…)", _RAW)
_TABLES = ("scratch_query",)
_TABLE = re.compile(r"list of [\d,]+ objects?\b")


def object_steps(shape: Shape, options: SummaryOptions) -> list[Step]:
    """Drafts of an object: values first, then what its other members are."""
    most = min(len(shape.scalars) + len(shape.members), options.cap // 3 + 1)
    details = [(most, width) for width in (240, 120, 80, 48)] if most == len(shape.scalars) + len(shape.members) else []
    details += [(kept, 32) for kept in range(most, 0, -1)] + [(0, 0)]
    return [partial(_object, shape, *detail) for detail in details]


def _object(shape: Shape, most: int, width: int) -> Draft:
    scalars = shape.scalars[: _share(len(shape.scalars), len(shape.members), most)]
    members = shape.members[: most - len(scalars)]
    lines = [about(shape)] if shape.source and most else []
    said = [f"{_key(key)}: {value_text(value, width)}" for key, value in scalars]
    lines += _grouped(said, width)
    lines += _grouped([f"{_key(key)}: {short(what, 80)}" for key, what in members], width)
    left = len(shape.scalars) + len(shape.members) - len(scalars) - len(members)
    if left and most:
        over = "at least " if MOST_MEMBERS in (len(shape.scalars), len(shape.members)) else ""
        lines.append(f"and {over}{left} more")
    tables = any(_TABLE.match(what) for _, what in shape.members)
    return Draft(_object_extent(shape, len(scalars), len(members)), (*_TABLES[:tables], *_WAYS), tuple(lines))


def _grouped(said: Sequence[str], width: int) -> list[str]:
    """The first ones matter most and have a line each; of very many the others share lines."""
    single = len(said) if len(said) <= _SINGLE or width > _NARROW else _SINGLE // 2
    return [*said[:single], *("; ".join(said[at : at + 4]) for at in range(single, len(said), 4))]


def _object_extent(shape: Shape, values: int, members: int) -> str:
    """`object of 27 keys; 15 of 24 values and 3 of 3 members shown`: values may lie deeper than the first level."""
    said = f"object of {plural(shape.key_count, 'key')}" if shape.key_count is not None else "object"
    parts = [f"{values:,} of {_number(len(shape.scalars), 'value')}"] if shape.scalars else []
    parts += [f"{members:,} of {_number(len(shape.members), 'member')} in outline"] if shape.members else []
    partial_mark = "UPSTREAM PARTIAL; " if shape.partial else ""
    return f"{partial_mark}{said}; {' and '.join(parts) or 'nothing'} shown"


def _number(count: int, noun: str) -> str:
    """With as many as a shape keeps there may be more."""
    return f"at least {plural(count, noun)}" if count >= MOST_MEMBERS else plural(count, noun)


def _share(scalars: int, members: int, most: int) -> int:
    """How many of `most` lines go to scalars: all if they fit, else two thirds unless there are few members."""
    return max(min(scalars, most - members), min(scalars, (2 * most + 2) // 3))


def _key(key: str) -> str:
    return short(key, 48) or '""'


def list_steps(shape: Shape, options: SummaryOptions) -> list[Step]:
    """Drafts of a list: its count and types, first and last items."""
    edge = options.sample_rows
    details = [(edge, width, 8) for width in (200, 100, 60, 40)]
    details += [(fewer, 40, 6) for fewer in range(edge - 1, 0, -1)] + [(min(edge, 1), 16, 3), (0, 16, 3), (0, 0, 0)]
    return [partial(_list, shape, *detail) for detail in details]


def _list(shape: Shape, edge: int, width: int, tops: int) -> Draft:
    rows = shape.rows if shape.rows is not None else len(shape.head)
    first = shape.head[:edge]
    last = shape.tail[max(0, len(shape.tail) - min(edge, max(0, rows - len(first)))) :] if edge else ()
    lines = notes(shape, tops) if width else []
    types = shape.text.get("item_types")
    if lines and isinstance(types, Mapping) and types:
        lines[0] += (
            f", items: {', '.join(f'{short(str(name), 16)} ×{count}' for name, count in list(types.items())[:6])}"
        )
    for column in (shape.columns or ())[:3]:
        if width:
            named = column_line(column, shape.rows, tops)
            lines.append(f"values{named[1:]}" if named.startswith('"":') else named)
    if edge:
        lines += [f"item {number}: {_cells(row, width)}" for number, row in enumerate(first, 1)]
        lines += [f"item {rows - len(last) + number}: {_cells(row, width)}" for number, row in enumerate(last, 1)]
    ways = ('scratch_get(view="rows")', _RAW)
    return Draft(extent(shape, len(first) + len(last) if edge else 0, "item"), ways, tuple(lines))


def _cells(row: Sequence[Value], width: int) -> str:
    return " | ".join(value_text(value, max(8, width // max(1, len(row)))) for value in row[:8])


def scalar_steps(shape: Shape, options: SummaryOptions) -> list[Step]:
    """Drafts of a single value: all of it, or its beginning and its length."""
    widths = [6 * options.cap, 4 * options.cap, 3 * options.cap, 2 * options.cap, options.cap, options.cap // 2, 24, 0]
    return [partial(_scalar, shape, width) for width in widths]


def _scalar(shape: Shape, width: int) -> Draft:
    value = shape.head[0][0] if shape.head and shape.head[0] else Value("", "null")
    said = value_text(value, width)
    whole = not value.cut and "…(" not in said and not said.startswith(("<base64", "("))
    lines = [*([about(shape)] if shape.unwrapped else []), f"{value.type}: {said}"] if width else []
    return Draft(
        "one value, shown in full" if whole and width else "one value, not shown in full", (_RAW,), tuple(lines)
    )
