"""JSON value -> shape: table, object, list, scalar, error or empty. Knows nothing of bytes or text around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from crp_mcp.core.model import Kind

from .cells import to_value, type_name
from .faults import value_fault
from .find_rows import Found, empty_list, find_rows, is_list, size
from .lists import ListFacts, list_facts
from .model import MOST_MEMBERS, Column, Shape, Value
from .partial import read_extent
from .totals import cells_of, total_label
from .vocabulary import COUNTS, FIRST, PAGES, plain

_NULL = Value("", "null")
_MOST_NAMED, _NAMED_CHARS = 8, 48
"""How many members of a list's objects are named, and in how many characters."""
_MOST_ITEMS = 3


def shape_json(value: Any) -> Shape:
    """The shape of one JSON document. Lists may be `ListFacts` already."""
    message = value_fault(value)
    if message is not None:
        return error_shape(message, "json_error", value)
    if isinstance(value, dict):
        return object_shape(value)
    if is_list(value):
        return list_shape(value if isinstance(value, ListFacts) else list_facts(value))
    return scalar_shape(value)


def scalar_shape(value: Any) -> Shape:
    if value is None or value == "":
        return Shape(Kind.EMPTY, "json_scalar", rows=0)
    return Shape(Kind.SCALAR, "json_scalar", head=((to_value(value),),))


def error_shape(message: str, source: str, value: Any = None) -> Shape:
    scalars = tuple(list_scalars(value)) if isinstance(value, dict) else ()
    return Shape(
        Kind.ERROR,
        source,
        is_error=True,
        text=message_facts(message),
        scalars=scalars,
        key_count=len(value) if isinstance(value, dict) else None,
    )


_MESSAGE_END = 4_000


def message_facts(message: str) -> dict[str, Any]:
    """An error's message as a shape keeps it: whole if it is short, else its two ends, the second as `message_end`."""
    plain_text = message.strip()
    lines = [line.rstrip()[:500] for line in plain_text.splitlines() if line.strip()]
    whole = len(plain_text) <= 2 * _MESSAGE_END
    return {
        "message": plain_text if whole else plain_text[:_MESSAGE_END],
        **({} if whole else {"message_end": plain_text[-_MESSAGE_END:]}),
        "chars": len(message),
        "lines": len(lines),
        "head": lines[:5],
        "tail": lines[-5:],
    }


def list_shape(facts: ListFacts) -> Shape:
    """A list that is the whole document."""
    if not facts.count and facts.names is None:
        return Shape(Kind.EMPTY, "json_list", rows=0, partial=facts.cut)
    if facts.tabular:
        return table_shape(Found(facts, (), (), "json_lists" if facts.of_lists else "json_rows"))
    head = tuple((to_value(item),) for item in facts.head)
    tail = tuple(
        (to_value(item),)
        for item in facts.tail[len(facts.head) - facts.count if facts.count < 2 * len(facts.head) else 0 :]
    )
    return Shape(
        Kind.LIST,
        "json_list",
        rows=facts.count,
        head=head,
        tail=tail if facts.count > len(head) else (),
        text={"item_types": dict(facts.kinds)},
        row_index=facts.index,
        partial=facts.cut,
        partial_why="cut at the end" if facts.cut else None,
    )


def table_shape(found: Found) -> Shape:
    facts, columns = found.facts, found.facts.columns or ()
    extent = read_extent([dict(wrapper) for wrapper in found.wrappers], facts.count)
    why = "cut at the end" if facts.cut else extent.why
    label = total_label(cells_of(facts.tail[-1]), facts.count) if facts.tail else None
    return Shape(
        Kind.TABULAR,
        found.source,
        rows=facts.count,
        rows_total=extent.total,
        partial=why is not None,
        partial_why=why,
        columns=columns,
        more_columns=facts.more_columns,
        path=path_text(found.path),
        scalars=tuple(_wrapper_scalars(found)),
        head=tuple(row_values(row, columns) for row in facts.head),
        text={"total_row": label} if label else {},
        row_index=facts.index,
        reader=_recipe(found),
    )


def path_text(path: Sequence[str | int]) -> str | None:
    """`data.results[0].rows`; None for the root."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.lstrip(".") or None


def _recipe(found: Found) -> dict[str, Any]:
    """How `rows` finds these rows again."""
    recipe: dict[str, Any] = {"path": list(found.path)} if found.path else {}
    if found.facts.node:
        recipe["node"] = True
    if found.facts.names is not None and found.source == "json_lists":
        recipe["header"] = True
    return recipe


def row_values(row: Any, columns: Sequence[Column]) -> tuple[Value, ...]:
    """One row as a value a column, in their order."""
    if isinstance(row, dict):
        return tuple(to_value(row[column.name]) if column.name in row else _NULL for column in columns)
    cells = row if isinstance(row, list | tuple) else []
    return tuple(to_value(cell) for cell in cells[: len(columns)]) + (_NULL,) * (len(columns) - len(cells))


def _wrapper_scalars(found: Found) -> Iterator[tuple[str, Value]]:
    prefix = ""
    for at, wrapper in enumerate(found.wrappers):
        step = found.path[at] if at < len(found.path) else None
        yield from list_scalars({key: item for key, item in wrapper.items() if key != step}, prefix)
        prefix += f"{step}." if isinstance(step, str) else ""


def object_shape(value: Mapping[str, Any]) -> Shape:
    """An object: a wrapper of rows or of one list, nothing at all, or a thing of its own."""
    if not value:
        return Shape(Kind.EMPTY, "json_object", rows=0, key_count=0)
    found = find_rows(value)
    if found is not None:
        return table_shape(found)
    return _empty_shape(value) or _listed_shape(value) or _entity_shape(value)


def _empty_shape(value: Mapping[str, Any]) -> Shape | None:
    way = empty_list(value)
    if way is None and any(item not in (None, "", [], {}) for item in value.values()):
        return None
    return Shape(
        Kind.EMPTY,
        "json_object",
        rows=0,
        rows_total=read_extent([dict(value)], 0).total,
        path=path_text(way or ()),
        scalars=tuple(list_scalars(value)),
        key_count=len(value),
    )


def _listed_shape(value: Mapping[str, Any]) -> Shape | None:
    """The list that is all the object holds, at its path."""
    single = _single_list(value)
    if single is None:
        return None
    key, shape = single
    extent = read_extent([dict(value)], shape.rows or 0)
    why = shape.partial_why or extent.why
    return replace(
        shape,
        path=key,
        reader={"path": [key]},
        rows_total=extent.total,
        partial=why is not None,
        partial_why=why,
        scalars=tuple(list_scalars({name: item for name, item in value.items() if name != key})),
    )


def _entity_shape(value: Mapping[str, Any]) -> Shape:
    cut = next((key for key in value if plain(key) in ("truncated", "istruncated") and value[key] is True), None)
    return Shape(
        Kind.OBJECT,
        "json_object",
        scalars=tuple(list_scalars(value)),
        members=tuple(_members(value)),
        key_count=len(value),
        partial=cut is not None,
        partial_why=f"{cut}: true" if cut is not None else None,
    )


def _single_list(value: Mapping[str, Any]) -> tuple[str, Shape] | None:
    """An object that is nothing but one list of plain items."""
    lists = [key for key, node in value.items() if is_list(node) and size(node)]
    if len(lists) != 1:
        return None
    others = [key for key, node in value.items() if key != lists[0] and node not in (None, "", [], {})]
    node = value[lists[0]]
    if not all(plain(key) in COUNTS or plain(key) in PAGES for key in others):
        return None
    return lists[0], list_shape(node if isinstance(node, ListFacts) else list_facts(node, lists[0]))


def list_scalars(value: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Value]]:
    """Scalar members, nested ones under dotted names, the ones that matter first; at most 60."""
    found: list[tuple[int, int, str, Value]] = []
    _collect(value, prefix, 0, found)
    found.sort(key=lambda entry: entry[:2])
    return [(name, text) for _, _, name, text in found[:MOST_MEMBERS]]


def _collect(value: Mapping[str, Any], prefix: str, depth: int, found: list[tuple[int, int, str, Value]]) -> None:
    for key, item in value.items():
        if len(found) >= 400:
            return
        if isinstance(item, dict):
            if depth < 2 and len(item) <= 40:
                _collect(item, f"{prefix}{key}.", depth + 1, found)
        elif not is_list(item):
            rank = FIRST.index(key.lower()) if key.lower() in FIRST else len(FIRST)
            found.append(
                (
                    rank + depth * 3 + (len(FIRST) if item in (None, "") else 0),
                    len(found),
                    prefix + key,
                    to_value(item),
                )
            )


def _members(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    members = [(key, describe(node)) for key, node in value.items() if isinstance(node, dict) or is_list(node)]
    return members[:MOST_MEMBERS]


def describe(node: Any) -> str:
    """`list of 12 objects (id, name)`, `list of 2 texts: a, b`, `object, 5 keys`, `empty list`."""
    if isinstance(node, dict):
        # What an object has of scalars is listed under dotted names; an object of objects says what they are called.
        deep = all(isinstance(item, dict) or is_list(item) for item in node.values())
        keys = f"object, {len(node)} key{'s' * (len(node) != 1)}{_listed_names(node) if deep else ''}"
        return keys if node else "empty object"
    count = size(node)
    if not count:
        return "empty list"
    kinds = dict(node.kinds) if isinstance(node, ListFacts) else {type_name(item): 1 for item in node[:1_000]}
    kind = next(iter(kinds)) if len(kinds) == 1 else "item"
    words = {
        "object": "object",
        "list": "list",
        "str": "text",
        "int": "number",
        "float": "number",
        "bool": "truth value",
        "null": "null",
    }
    name = words.get(kind, "item")
    return f"list of {count:,} {name}{'s' * (count != 1)}{_named(node) if kind == 'object' else _few(node)}"


def _few(node: Any) -> str:
    """The items themselves, where they are so few and so short that they take no more room than their number."""
    items = node if isinstance(node, list) else list(node.head) if node.count == len(node.head) else []
    if not 1 <= len(items) <= _MOST_ITEMS or any(isinstance(item, dict | list) or item is None for item in items):
        return ""
    said = ", ".join(to_value(item).text for item in items)
    return f": {said}" if said and len(said) <= _NAMED_CHARS else ""


def _named(node: Any) -> str:
    """The members a list's objects have, as many as are short enough to be worth their place."""
    return _listed_names(node[0] if not isinstance(node, ListFacts) else [column.name for column in node.columns or ()])


def _listed_names(every: Iterable[str]) -> str:
    names: list[str] = []
    for name in every:
        if len(names) == _MOST_NAMED or sum(map(len, names)) + len(name) > _NAMED_CHARS:
            return f" ({', '.join([*names, '…'])})" if names else ""
        names.append(name)
    return f" ({', '.join(names)})" if names else ""
