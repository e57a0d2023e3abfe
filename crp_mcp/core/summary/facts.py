"""What one line says of a column, a value, a source. Knows nothing of caps."""

from __future__ import annotations

import json
import re

from crp_mcp.core.shape.model import MOST_MEMBERS, Column, Shape, Value

from .clean import clean, short

NOTHING = '""'
_MOST_INSIDE = 6
_FEW_NOTES = 3
"""With room for no more scalars beside the rows than this, what stands around them in words is left out."""
_COUNTING = re.compile(
    r"rows?|records?|results?|items?|match(?:es)?|entr(?:y|ies)|lines?|columns?|total|found|returned|selected|affected"
    r"|retrieved|listed|shown|showing|displaying|fetched|in|set|query|sec|m?s|of|the|by|x",
    re.I,
)
"""Words of lines that say no more than how many rows there are."""
_LITERAL = 60
"""A number or date longer than this is described, not shown: it may not be cut."""


def plural(count: int, noun: str) -> str:
    """`1 row`, `8,000 rows`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def value_text(value: Value, width: int) -> str:
    """A value as a cell of a line. The empty string is shown as two quotes."""
    if value.type == "null":
        return "null"
    if value.type in ("int", "float"):
        return _literal(value.text, value.size if value.cut else len(value.text))
    return short(value.text, width, whole=value.size if value.cut else None) or NOTHING


def _literal(text: str, size: int | None = None) -> str:
    """`size`: characters of the whole where `text` may be its beginning, 0 if they are not known."""
    if len(text) <= _LITERAL:
        return clean(text)
    whole = len(text) if size is None else size
    return f"({whole} characters long)" if whole else f"(over {len(text)} characters long)"


def column_line(column: Column, rows: int | None, tops: int, *, ranges: bool = True, sample: str | None = None) -> str:
    """`name: type low..high, nulls, distinct values with counts`: at most `tops` of those, or else the sample."""
    filled = None if rows is None else rows - column.nulls
    name = short(column.name, 40) or NOTHING
    if filled == 0:
        return f"{name}: all null"
    typed = _typed(column, ranges)
    facts = [typed] if typed else []
    if column.nulls:
        facts.append(f"{column.nulls} null")
    values = _values(column, filled, tops)
    facts.extend(values)
    if sample and column.low is None and not (values and (":" in values[0] or column.distinct == 1)):
        facts.append(f"e.g. {sample}")
    return f"{name}: {', '.join(facts)}" if facts else name


def _typed(column: Column, ranges: bool) -> str:
    types = "/".join(column.types)
    if not ranges or column.low is None or column.high is None:
        return types
    if column.low == column.high:
        return f"{types} {_literal(column.low)}"
    return f"{types} {_literal(column.low)}..{_literal(column.high)}"


def _values(column: Column, filled: int | None, tops: int) -> list[str]:
    distinct, top = column.distinct, column.top
    if distinct is None or distinct == 0:
        return []
    if distinct == 1:
        return [f"always {short(top[0][0], 40)}"] if top and column.low is None else []
    if distinct == filled:
        return ["all distinct"]
    said = f"{distinct} distinct"
    # Single occurrences and a few of many values say little; ranges already say it for numbers and dates.
    telling = sum(1 for _, count in top if count > 1) if len(top) < distinct or distinct > tops else len(top)
    shown = min(tops, telling)
    stands_out = filled is not None and top and 10 * top[0][1] >= filled
    if not shown or (distinct > 3 * tops and not stands_out) or (column.low is not None and distinct > tops):
        return [said]
    listed = ", ".join(f"{short(text, 24) or NOTHING} ×{count}" for text, count in top[:shown])
    return [f"{said}: {listed}{', …' if distinct > shown else ''}"]


def columns_in(shape: Shape) -> str:
    """`5 columns`; `more than 50,000 columns` where not all of them were kept."""
    said = plural(len(shape.columns or ()), "column")
    return f"more than {said}" if shape.more_columns else said


def about(shape: Shape) -> str:
    """`csv at data.items, unwrapped: fenced, partial: has_more: true`: where it was found and what it lacks."""
    parts = [shape.source.replace("_", " ") if shape.source else "data"]
    if shape.path:
        parts[0] += f" at {short(shape.path, 60)}"
    if shape.unwrapped:
        parts.append("unwrapped: " + ", ".join(short(note, 40) for note in shape.unwrapped))
    if shape.partial_why and shape.partial_why != f"{shape.rows} of {shape.rows_total}":
        parts.append(f"partial: {short(shape.partial_why, 80)}")
    return ", ".join(parts)


def extent(shape: Shape, shown: int, noun: str) -> str:
    """`3 of 8,000 rows shown`; where the source kept some back, all three numbers."""
    if is_partial(shape):
        total = f"{shape.rows_total:,}" if shape.rows_total is not None else "unknown"
        returned = f", returned {shape.rows:,}" if shape.rows is not None else ""
        return f"UPSTREAM PARTIAL: total {total}{returned}, shown {plural(shown, noun)}"
    if shape.rows is None:
        return f"{plural(shown, noun)} shown"
    return f"{shown:,} of {plural(shape.rows, noun)} shown"


def is_partial(shape: Shape) -> bool:
    """The source says, or its own total shows, that there is more than it returned."""
    more = shape.rows_total is not None and shape.rows is not None and shape.rows_total > shape.rows
    return shape.partial or more


def notes(shape: Shape, most: int = 8) -> list[str]:
    """Lines about the whole: where it was found, why it is partial, the scalars that stand beside the rows."""
    lines = [about(shape)]
    around = [line for line in _strings(shape.text.get("around")) if not _counts_only(line, shape)]
    if around and most > _FEW_NOTES:
        lines.append("around the rows: " + "; ".join(short(line, 60) for line in around[:2]))
    total = shape.text.get("total_row")
    if isinstance(total, str) and most:
        lines.append(f"the last row is a total, counted with the others: {short(total, 40)}")
    said = {str(shape.rows), str(shape.rows_total)}
    beside = [(key, value) for key, value in shape.scalars if value.text not in said and not _told(shape, key, value)]
    if beside and most:
        listed = "; ".join(f"{short(key, 30)}: {value_text(value, 40)}" for key, value in beside[:most])
        left = len(beside) - most
        over = "at least " if len(shape.scalars) >= MOST_MEMBERS else ""
        lines.append(f"beside the rows: {listed}" + (f"; and {over}{left} more" if left > 0 else ""))
    return lines


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []


def _counts_only(line: str, shape: Shape) -> bool:
    """`(412 rows)`: nothing that is not said already."""
    if (shape.partial_why or "\n").strip(". ") in line:
        return True
    numbers = set(re.findall(r"\d+", line.replace(",", "")))
    told = bool(numbers) and numbers <= {f"{shape.rows}", f"{shape.rows_total}"}
    return told and all(map(_COUNTING.fullmatch, re.findall(r"[^\W\d]+", line)))


def _told(shape: Shape, key: str, value: Value) -> bool:
    return shape.partial_why is not None and f"{key}: {value.text}" in shape.partial_why


def example(shape: Shape, place: int) -> str | None:
    """The first value of a column among the sample rows that is not null."""
    for row in shape.head:
        if place < len(row) and row[place].type not in ("null", "object", "list"):
            return value_text(row[place], 24)
    return None


def inside(shape: Shape, place: int) -> str:
    """` of name, price, …`: the members of a column's objects, by the first one among the sample rows."""
    if (shape.columns or ())[place].types != ("object",):
        return ""
    cell = next((row[place] for row in shape.head if place < len(row) and row[place].type == "object"), None)
    if cell is None or cell.cut:
        return ""
    try:
        names = list(json.loads(cell.text))
    except ValueError:
        return ""
    said = ", ".join(short(name, 24) for name in names[:_MOST_INSIDE]) + (", …" if len(names) > _MOST_INSIDE else "")
    return f", e.g. with {said}" if said else ""
