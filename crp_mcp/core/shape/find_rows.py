"""Where the rows of a JSON object stand: under `data`, `items`, `edges`, as columns, as lists beside their names.

Structure decides, not the server: a list that is the object's one big thing is its rows; one list among many members
of an entity is a member.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .cells import compact_json, type_name
from .lists import ListFacts, header_row, list_facts, rename
from .vocabulary import CONTAINERS, ENTITY, META, NAMES, PAYLOADS, SURE_CONTAINERS, plain

_RANK = {name: at for at, name in enumerate(CONTAINERS)}
_DEEPEST = 4
_SAMPLE = 50
_MANY = 200
"""An object with more members is a map or a set of columns, no wrapper."""


@dataclass(frozen=True, slots=True)
class Found:
    """Rows, the way to them, and the objects passed on the way."""

    facts: ListFacts
    path: tuple[str | int, ...]
    wrappers: tuple[Mapping[str, Any], ...]
    source: str


def find_rows(value: Mapping[str, Any], depth: int = 0) -> Found | None:
    """The rows of an object, or None where it is an entity of its own."""
    if depth > _DEEPEST or not value:
        return None
    if len(value) > _MANY:
        return _columnar(value, depth) or (_records(value) if depth < 2 else None)
    return (
        _columns_form(value)
        or _list_member(value)
        or _columnar(value, depth)
        or _deeper(value, depth)
        or (_records(value) if depth < 2 else None)
    )


def is_list(node: Any) -> bool:
    return isinstance(node, list | ListFacts)


def size(node: Any) -> int:
    """Items of a list."""
    return node.count if isinstance(node, ListFacts) else len(node)


def facts_of(node: Any, name: str) -> ListFacts:
    return node if isinstance(node, ListFacts) else list_facts(node, name)


def weight(node: Any, room: int = 4_000_000) -> int:
    """About how much of the payload this is."""
    if isinstance(node, ListFacts):
        return node.count * max(1, len(compact_json(list(node.head), 20_000)) // max(1, len(node.head)))
    if isinstance(node, list) and len(node) > _SAMPLE:
        return len(node) * weight(node[:_SAMPLE]) // _SAMPLE
    return len(compact_json(node, 20_000))


def holds_rows(node: Any) -> bool:
    """A list of objects, or of lists of one width."""
    if isinstance(node, ListFacts):
        return node.tabular and node.count > 0
    if not isinstance(node, list) or not node:
        return False
    sample = node[:_SAMPLE]
    if all(isinstance(item, dict) and item for item in sample):
        return True
    if all(isinstance(item, list) for item in sample):
        return (
            len(sample[0]) >= 1
            and not any(isinstance(c, list | dict) for c in sample[0])
            and (len(set(map(len, sample))) == 1 or header_row(sample) is not None)
        )
    return sum(isinstance(item, dict) for item in sample) * 2 >= len(sample) and all(
        item is None or isinstance(item, dict) for item in sample
    )


def _rank(key: str) -> int:
    return _RANK.get(key.lower(), _RANK.get(plain(key), len(CONTAINERS)))


def _columns_form(value: Mapping[str, Any]) -> Found | None:
    """`{columns, rows}`, `{fields, data}`, `{meta, data}`, `{schema: {fields}, data}`: lists beside their names."""
    for key in sorted((key for key in value if is_list(value[key])), key=_rank):
        node = value[key]
        if not holds_rows(node) or _rank(key) == len(CONTAINERS):
            continue
        facts = facts_of(node, key)
        if not facts.of_lists or facts.columns is None:
            continue
        names = None if facts.names is not None else _sibling_names(value, key, len(facts.columns))
        if names is not None:
            facts = replace(facts, columns=rename(facts.columns, names), names=tuple(names))
            return Found(facts, (key,), (value,), "json_columns_rows")
        if len(value) <= 8:
            return Found(facts, (key,), (value,), "json_lists")
    return None


def _sibling_names(value: Mapping[str, Any], but: str, width: int) -> list[str] | None:
    for key, node in value.items():
        if key == but:
            continue
        inner = [node] if is_list(node) else list(node.values()) if isinstance(node, dict) and len(node) <= 12 else []
        for candidate in inner:
            names = _as_names(candidate)
            if names is not None and len(names) == width:
                return names
    return None


def _as_names(node: Any) -> list[str] | None:
    items = list(node.head) if isinstance(node, ListFacts) and node.count == len(node.head) else node
    if not isinstance(items, list) or not items:
        return None
    if all(item is None or isinstance(item, str) for item in items) and any(items):
        return [item or "" for item in items]
    if all(isinstance(item, dict) for item in items):
        for name in NAMES:
            known = [item.get(name) for item in items]
            if all(one is None or isinstance(one, str) for one in known) and 2 * sum(map(bool, known)) >= len(items):
                return [one or "" for one in known]
    return None


def _list_member(value: Mapping[str, Any]) -> Found | None:
    """The one list of rows in a wrapper."""
    tables = sorted(
        (key for key, node in value.items() if holds_rows(node)), key=lambda key: (_rank(key), -size(value[key]))
    )
    if not tables or not _is_wrapper(value, tables) or _describes_nothing(value, tables):
        return None
    best = tables[0]
    facts = facts_of(value[best], best)
    if not facts.tabular:
        return None
    source = "json_lists" if facts.of_lists else "json_rows"
    return _only_element(value[best], best, value) or Found(facts, (best,), (value,), source)


def _describes_nothing(value: Mapping[str, Any], tables: Sequence[str]) -> bool:
    """`{"rows": [], "fields": [{"name": "id"}]}`: the columns of rows that are not there."""
    none = any(is_list(node) and not size(node) and _rank(key) < len(CONTAINERS) for key, node in value.items())
    return none and all(plain(key) in META for key in tables)


def _is_wrapper(value: Mapping[str, Any], tables: Sequence[str]) -> bool:
    """Is the object there for the first of these lists, or an entity that has lists?"""
    best, rivals = tables[0], [key for key in tables[1:] if plain(key) not in META]
    others = [key for key in value if key != best and plain(key) not in META]
    rank = _rank(best)
    if any(_rank(key) == rank for key in rivals):
        return False
    if (
        rivals
        and plain(best) not in SURE_CONTAINERS
        and weight(value[best]) < 3 * sum(weight(value[key]) for key in rivals)
    ):
        return False
    if rank == len(CONTAINERS) or (rank >= _RANK["members"] and len(others) > 4):
        return _dominates(value, best, others)
    return len(others) <= 12


def _only_element(node: Any, key: str, value: Mapping[str, Any]) -> Found | None:
    """`results: [{columns: …, values: …}]`: a list of one statement's result."""
    items = list(node.head) if isinstance(node, ListFacts) else node
    if size(node) != 1 or not isinstance(items[0], dict) or len(items[0]) > 8:
        return None
    inner = _columns_form(items[0]) or _one_more(items[0])
    if inner is None or not inner.facts.of_lists:
        return None
    return Found(inner.facts, (key, 0, *inner.path), (value, {}, *inner.wrappers), inner.source)


def _one_more(item: Mapping[str, Any]) -> Found | None:
    for key, node in item.items():
        if is_list(node) and size(node) == 1 and holds_rows(node):
            return _only_element(node, key, item)
    return None


def _dominates(value: Mapping[str, Any], best: str, others: Sequence[str]) -> bool:
    if len(value) == 1 or not others:
        return True
    mass = weight(value[best])
    rest = sum(weight(value[key]) for key in value if key != best)
    return mass >= rest and len(others) <= 12


def _columnar(value: Mapping[str, Any], depth: int) -> Found | None:
    """`{"a": [..], "b": [..]}` and `{"a": {"0": ..}, "b": {"0": ..}}`: one member a column."""
    if len(value) < 2:
        return None
    nodes = list(value.values())
    if all(isinstance(node, list) for node in nodes):
        lengths = set(map(len, nodes))
        flat = not any(isinstance(cell, dict | list) for node in nodes for cell in node[:_SAMPLE])
        if len(lengths) == 1 and lengths.pop() >= 2 and flat:
            rows = [dict(zip(value, row, strict=True)) for row in zip(*nodes, strict=True)]
            return Found(list_facts(rows), (), (), "json_columns")
    if all(isinstance(node, dict) for node in nodes) and _indexed(nodes):
        rows = [{name: column[label] for name, column in value.items()} for label in nodes[0]]
        return Found(list_facts(rows), (), (), "json_columns")
    return None


def _indexed(nodes: Sequence[dict[str, Any]]) -> bool:
    """Are these objects columns over one index, and not records with the same members?"""
    labels = list(nodes[0])
    if not labels or any(node.keys() != nodes[0].keys() for node in nodes[1:]):
        return False
    if any(isinstance(cell, dict | list) for node in nodes for cell in list(node.values())[:_SAMPLE]):
        return False
    if labels == [str(at) for at in range(len(labels))]:
        return True
    if len(labels) < 2:
        return False
    return (
        len(labels) > len(nodes)
        and all(len({type_name(cell) for cell in node.values() if cell is not None} - {"float"}) <= 1 for node in nodes)
        and _mixed(nodes)
    )


def _mixed(nodes: Sequence[dict[str, Any]]) -> bool:
    return len({type_name(next((cell for cell in node.values() if cell is not None), None)) for node in nodes}) > 1


def _records(value: Mapping[str, Any]) -> Found | None:
    """`{"1": {…}, "2": {…}}`: objects of one form under their keys become rows, the key first."""
    nodes = list(value.values())
    if len(nodes) < 2 or not all(isinstance(node, dict) and node for node in nodes):
        return None
    numbered = all(key.lstrip("-").isdecimal() for key in value)
    members = {name for node in nodes for name in node}
    if len(members) > _MANY and len(members) > len(nodes):
        return None
    shared = sum(map(len, nodes)) / (len(nodes) * len(members))
    if not (shared >= 0.9 and len(members) >= 2 and (len(nodes) >= 3 or numbered)) and not (numbered and shared >= 0.5):
        return None
    if "key" in members:
        return None
    rows = [{"key": key, **node} for key, node in value.items()]
    return Found(list_facts(rows), (), (), "json_records")


def _deeper(value: Mapping[str, Any], depth: int) -> Found | None:
    """The one member that leads on to rows."""
    objects = [key for key, node in value.items() if isinstance(node, dict) and node]
    if not objects or any(is_list(node) and size(node) and plain(key) not in META for key, node in value.items()):
        return None
    found = [(key, inner) for key in objects for inner in [find_rows(value[key], depth + 1)] if inner is not None]
    found = [
        (key, inner) for key, inner in found if plain(key) not in ("meta", "metadata", "links", "extensions")
    ] or []
    if len(found) != 1:
        return None
    key, inner = found[0]
    others = [name for name in value if name != key and plain(name) not in META]
    payload = plain(key) in PAYLOADS or _rank(key) < len(CONTAINERS)
    most = 12 if inner.source == "json_columns" else 3
    if not (
        len(value) == 1 or (payload and len(others) <= 6) or (len(others) <= most and _dominates(value, key, others))
    ):
        return None
    return Found(inner.facts, (key, *inner.path), (value, *inner.wrappers), inner.source)


def empty_list(value: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The way to the empty list that is all this object has to offer, or None."""
    lists = [key for key, node in value.items() if is_list(node)]
    if any(size(value[key]) for key in lists if plain(key) not in META):
        return None
    empty = sorted((key for key in lists if not size(value[key]) and plain(key) not in META), key=_rank)
    if empty:
        gone = set(empty)
        full = [key for key, node in value.items() if key not in gone and node not in (None, "", {}, [])]
        rest = [key for key in full if plain(key) not in META or plain(key) in ENTITY]
        if any(isinstance(value[key], dict) and plain(key) not in META for key in rest):
            return None
        return (empty[0],) if not rest or (_rank(empty[0]) < len(CONTAINERS) and len(rest) <= 3) else None
    inner = [key for key, node in value.items() if isinstance(node, dict) and node and plain(key) in PAYLOADS]
    if len(inner) == 1 and all(plain(key) in META for key in value if key != inner[0]):
        way = empty_list(value[inner[0]])
        return None if way is None else (inner[0], *way)
    return None
