"""A parsed JSON value -> tables, records and scalars, however deep they stand. Knows no bytes and no sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .celltext import Listed
from .document import Document, Table, make_table
from .failures import decode, error_of, status_codes
from .paging import counts_members, is_partial, total_of

MAX_TABLES = 60
MAX_SCALARS = 20_000
_COLUMN_KEYS = ("columns", "fields", "headers", "header", "column_names", "cols")
_ROW_KEYS = ("rows", "data", "values", "records", "result", "results")
_STATUS_KEYS = (
    "status",
    "status_code",
    "statuscode",
    "code",
    "http_status",
    "httpstatus",
    "response_code",
    "responsecode",
)


def read_tree(value: Any, *, name: str = "") -> Document:
    """Every table, record and scalar of a JSON value."""
    walk = _Walk()
    walk.visit(value, name, 0)
    tables = [t for t in walk.tables if t.columns or t.kind == "list"]
    scalars = tuple(walk.scalars)
    root = value if isinstance(value, dict) else {}
    error = error_of(value)
    empty = value in ([], {}, "", None) or (
        not error and bool(walk.empties) and not any(t.rows for t in tables if t.kind != "record")
    )
    codes = tuple(dict.fromkeys([*_statuses(scalars), *status_codes(error or "")]))
    main_total = total_of(root)
    caption = " ".join(str(root[k]) for k in ("caption", "title", "description") if isinstance(root.get(k), str))
    return Document(
        tables=tuple(tables), scalars=scalars, is_error=error is not None, is_empty=empty, partial=is_partial(root),
        kind="tree", message=error or "", statuses=codes, total=main_total, caption=caption,
    )  # fmt: skip


class _Walk:
    def __init__(self) -> None:
        self.tables: list[Table] = []
        self.scalars: list[tuple[str, Any]] = []
        self.empties: list[str] = []

    def visit(self, value: Any, path: str, depth: int) -> None:
        if depth > 8 or len(self.tables) >= MAX_TABLES:
            return
        if isinstance(value, str) and (inner := decode(value)) is not None:
            value = inner
        if isinstance(value, dict):
            self._mapping(value, path, depth)
        elif isinstance(value, list):
            self._sequence(value, path, depth, {})
        else:
            self._scalar(path, value)
            if depth == 0:
                self.tables.append(make_table([path or "value"], [[value]], kind="record", path=path))

    def _scalar(self, path: str, value: Any) -> None:
        if len(self.scalars) < MAX_SCALARS:
            self.scalars.append((path, value))

    def _mapping(self, value: Mapping[str, Any], path: str, depth: int) -> None:
        value = self._take_grid(value, path)
        if (table := _keyed(value, path)) or (table := _by_columns(value, path)):
            self.tables.append(table)
        flat = dict(flatten(value))
        for key, cell in flat.items():
            self._scalar(f"{path}.{key}".strip("."), cell)
        flat = {k: cell for k, cell in flat.items() if not counts_members(k, cell, value)}
        if flat:
            self.tables.append(make_table(list(flat), [list(flat.values())], kind="record", path=path))
        self._children(value, path, depth, value)

    def _take_grid(self, value: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """The object without the members that make up a table of columns and rows, which is kept."""
        found = _grid(value, path)
        if found is None:
            return value
        table, members = found
        self.tables.append(table)
        return {k: v for k, v in value.items() if k not in members}

    def _children(self, value: Mapping[str, Any], path: str, depth: int, owner: Mapping[str, Any]) -> None:
        for key, member in value.items():
            inner = decode(member) if isinstance(member, str) else member
            where = f"{path}.{key}".strip(".")
            if isinstance(inner, dict):
                if inner is member:
                    inner = self._take_grid(inner, where)
                    self._children(inner, where, depth + 1, inner)
                    if table := _keyed(inner, where):
                        self.tables.append(table)
                else:
                    self.visit(inner, where, depth + 1)
            elif isinstance(inner, list):
                self._sequence(inner, where, depth + 1, owner)

    def _sequence(self, value: Sequence[Any], path: str, depth: int, owner: Mapping[str, Any]) -> None:
        if not value:
            self.empties.append(path)
            self.tables.append(make_table([], [], path=path, name=_leaf(path), kind="list"))
            return
        decoded = [d if isinstance(v, str) and (d := decode(v)) is not None else v for v in value[:1]]
        if decoded[0] is not value[0]:
            value = [d if isinstance(v, str) and (d := decode(v)) is not None else v for v in value]
        objects = [v for v in value if isinstance(v, dict)]
        lists = [v for v in value if isinstance(v, list)]
        if objects and len(objects) >= 0.8 * len(value):
            self._rows(objects, path, depth, owner)
        elif lists and all(isinstance(x, dict) for inner in lists for x in inner):
            self._rows([x for inner in lists for x in inner], path, depth, owner)
        elif not objects and not lists:
            self.tables.append(
                make_table(
                    [_leaf(path) or "item"],
                    [[v] for v in value],
                    path=path,
                    name=_leaf(path),
                    kind="list",
                    total=total_of(owner),
                )
            )
            if len(value) == 1 and depth == 0:
                self._scalar(path, value[0])
        elif lists and len(lists) == len(value):
            width = max(len(x) for x in lists)
            self.tables.append(
                make_table([f"column {i + 1}" for i in range(width)], lists, path=path, name=_leaf(path))
            )

    def _rows(self, objects: Sequence[Mapping[str, Any]], path: str, depth: int, owner: Mapping[str, Any]) -> None:
        flat = [dict(flatten(o)) for o in objects]
        columns: dict[str, None] = {}
        for row in flat:
            if not row.keys() <= columns.keys():
                columns.update(dict.fromkeys(row))
        rows = [[row.get(c) for c in columns] for row in flat]
        kind = "record" if len(rows) == 1 and len(columns) == 1 and _is_figure(rows[0][0]) else "rows"
        total, partial = total_of(owner), is_partial(owner)
        self.tables.append(
            make_table(list(columns), rows, kind=kind, path=path, name=_leaf(path), total=total, partial=partial)
        )
        nested: dict[str, list[Any]] = {}
        holders = [
            k
            for k in dict.fromkeys(k for o in objects[:2000] for k in o)
            if any(isinstance(o.get(k), list) for o in objects)
        ]
        for key in holders:
            for item in objects:
                member = item.get(key)
                if isinstance(member, list) and member and isinstance(member[0], dict):
                    nested.setdefault(key, []).extend(member)
        for key, members in nested.items():
            if depth < 4 and len(self.tables) < MAX_TABLES:
                self._rows([m for m in members if isinstance(m, dict)], f"{path}.{key}".strip("."), depth + 1, {})


def _is_figure(cell: Any) -> bool:
    """Whether the only cell of a result is a number: the answer of a count or a sum, not a row."""
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def flatten(value: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """(dotted key, scalar) of an object; a list of scalars becomes one joined text, other lists are left out."""
    for key, member in value.items():
        if isinstance(member, str):
            if not (member[:1] in _OPENERS and decode(member) is not None):
                yield f"{prefix}{key}", member
        elif isinstance(member, dict):
            if depth < 5:
                yield from flatten(member, f"{prefix}{key}.", depth + 1)
        elif isinstance(member, list):
            if all(not isinstance(m, dict | list) for m in member):
                yield f"{prefix}{key}", Listed.of(member)
        else:
            yield f"{prefix}{key}", member


_OPENERS = frozenset("[{ \n\t\r")


def _leaf(path: str) -> str:
    return path.rsplit(".", 1)[-1]


def _grid(value: Mapping[str, Any], path: str) -> tuple[Table, tuple[str, ...]] | None:
    """`{columns: [...], rows: [[...]]}` and its spellings, with the names of the members it was made from."""
    lower = {k.lower(): k for k in value if isinstance(k, str)}
    for ckey in _COLUMN_KEYS:
        columns = value[lower[ckey]] if ckey in lower else None
        if not isinstance(columns, list) or not columns:
            continue
        names = [str(c.get("name", c.get("title", c.get("label", ""))) if isinstance(c, dict) else c) for c in columns]
        for rkey in _ROW_KEYS:
            rows = value[lower[rkey]] if rkey in lower else None
            if isinstance(rows, list) and rows and all(isinstance(r, list) for r in rows):
                table = make_table(
                    names,
                    rows,
                    path=path,
                    name=_leaf(path),
                    total=total_of(value),
                    partial=is_partial(value),
                    caption=str(value.get("caption", "")),
                )
                return table, (lower[ckey], lower[rkey])
    return None


def _keyed(value: Mapping[str, Any], path: str) -> Table | None:
    """An object of at least three alike objects: a table with the member names as its first column."""
    if len(value) < 3 or not all(isinstance(v, dict) and v for v in value.values()):
        return None
    shapes = [frozenset(v) for v in value.values()]
    if sum(s == shapes[0] for s in shapes) < 0.7 * len(shapes):
        return None
    flat = {k: dict(flatten(v)) for k, v in value.items()}
    columns = list(dict.fromkeys(c for row in flat.values() for c in row))
    return make_table(
        ["key", *columns], [[k, *(row.get(c) for c in columns)] for k, row in flat.items()], path=path, name=_leaf(path)
    )


def _by_columns(value: Mapping[str, Any], path: str) -> Table | None:
    """An object of at least two equally long lists of scalars."""
    lists = {k: v for k, v in value.items() if isinstance(v, list) and len(v) > 1}
    if len(lists) < 2 or len(lists) < len(value) - 2 or len({len(v) for v in lists.values()}) != 1:
        return None
    if any(isinstance(x, dict | list) for v in lists.values() for x in v):
        return None
    return make_table(list(lists), list(zip(*lists.values(), strict=True)), path=path, name=_leaf(path))


def _statuses(scalars: Sequence[tuple[str, Any]]) -> Iterator[int]:
    for path, value in scalars[:400]:
        if path.count(".") <= 3 and _leaf(path).lower() in _STATUS_KEYS:
            text = str(value)
            if re.fullmatch(r"[1-5]\d\d", text):
                yield int(text)
