"""A JSON list as facts: how many items, of what kinds, its columns, first and last. Knows nothing of where it stands.

Fed a batch at a time, so that a list of any length is held as its facts alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .cells import type_name
from .columns import BATCH, Literal, TableStats
from .model import Column

EDGE = 3
"""Items kept from the beginning and the end."""
_MOSTLY = 0.9


@dataclass(frozen=True, slots=True)
class ListFacts:
    """A list that was read and let go of."""

    count: int
    """Items in it; a header row of a list of lists is none."""
    kinds: tuple[tuple[str, int], ...]
    """(type name, number of items), most frequent first."""
    head: tuple[Any, ...]
    tail: tuple[Any, ...]
    columns: tuple[Column, ...] | None = None
    """Where the items are rows: objects, or lists of one width."""
    names: tuple[str, ...] | None = None
    """The header row of a list of lists."""
    index: tuple[tuple[int, int], ...] = ()
    """Sparse (item number, byte offset)."""
    cut: bool = False
    node: bool = False
    """Rows stood under `node` (GraphQL edges)."""

    @property
    def tabular(self) -> bool:
        return self.columns is not None

    @property
    def of_lists(self) -> bool:
        return bool(self.kinds) and self.kinds[0][0] == "list"


class ListCollector:
    """Collects the facts of one list. `name` is the member it stands under."""

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._queue: list[Any] = []
        self._kinds: Counter[str] = Counter()
        self._head: list[Any] = []
        self._tail: list[Any] = []
        self._stats = TableStats()
        self._feed_batch: Callable[[list[Any], Literal | None], None] | None = None
        self._widths: Counter[int] = Counter()
        self._nested = 0
        self.names: tuple[str, ...] | None = None
        self.node = False

    def feed(self, items: Sequence[Any]) -> None:
        """More items, as JSON values."""
        queue = self._queue
        queue.extend(items)
        done = 0
        while len(queue) - done >= BATCH:
            self._take(queue[done : done + BATCH], None)
            done += BATCH
        if done:
            del queue[:done]

    def _take(self, batch: list[Any], literal: Literal | None) -> None:
        if self._feed_batch is None:
            self._feed_batch = self._choose(batch)
            self._head = batch[: EDGE + 1]
        self._kinds.update(map(type_name, batch))
        self._tail = [*self._tail, *batch[-EDGE:]][-EDGE:]
        self._feed_batch(batch, literal)

    def _choose(self, batch: list[Any]) -> Callable[[list[Any], Literal | None], None]:
        objects = sum(isinstance(item, dict) for item in batch)
        self.node = self._name == "edges" and all(
            isinstance(item, dict) and isinstance(item.get("node"), dict) for item in batch
        )
        if objects * 2 >= len(batch):
            return self._take_objects
        if all(isinstance(item, list) for item in batch):
            self.names = _header_row(batch)
            return self._take_lists
        return _take_nothing

    def _take_objects(self, batch: list[Any], literal: Literal | None) -> None:
        if self.node:
            batch = [item.get("node") if isinstance(item, dict) else None for item in batch]
        if not all(isinstance(item, dict) for item in batch):
            batch = [item if isinstance(item, dict) else {} for item in batch]
        self._stats.feed_objects(batch, literal)

    def _take_lists(self, batch: list[Any], literal: Literal | None) -> None:
        if self.names is not None and not self._widths:
            batch = batch[1:]
        rows = [item if isinstance(item, list) else [] for item in batch]
        self._widths.update(map(len, rows))
        self._nested += sum(isinstance(cell, dict | list) for row in rows for cell in row)
        width = max(self._widths, default=0)
        self._stats.feed_rows(self.names or column_names(width), rows, literal)

    def finish(self, *, index: tuple[tuple[int, int], ...] = (), cut: bool = False) -> ListFacts:
        if self._queue or self._feed_batch is None:
            self._take(self._queue, None)
            self._queue = []
        count = self._kinds.total()
        columns = self._columns(count)
        skip = 1 if self.names is not None and columns is not None else 0
        kinds = tuple(sorted(self._kinds.items(), key=lambda pair: (-pair[1], pair[0])))
        head, tail = self._head[skip : skip + EDGE], self._tail[-max(0, count - skip) :]
        if self.node:
            head, tail = [item["node"] for item in head], [item.get("node") for item in tail]
        return ListFacts(
            count - skip, kinds, tuple(head), tuple(tail), columns, self.names if skip else None, index, cut, self.node
        )

    def _columns(self, count: int) -> tuple[Column, ...] | None:
        objects, lists = self._kinds["object"], self._kinds["list"]
        if objects and self._feed_batch == self._take_objects:
            if objects >= _MOSTLY * count or (objects * 2 >= count and objects + self._kinds["null"] == count):
                return self._stats.finish() or None
        if lists == count and self._widths and self._feed_batch == self._take_lists:
            (width, rows), *_ = self._widths.most_common(1)
            cells = sum(size * number for size, number in self._widths.items())
            table = width >= 2 or (width == 1 and rows >= 2)
            if table and rows >= _MOSTLY * self._widths.total() and self._nested * 2 < cells:
                return self._stats.finish() or None
        return None


def _take_nothing(batch: list[Any], literal: Literal | None) -> None:
    """Items that are no rows have no columns."""


def column_names(width: int) -> tuple[str, ...]:
    """Names for columns that have none."""
    return tuple(f"column {number}" for number in range(1, width + 1))


def _header_row(rows: Sequence[list[Any]]) -> tuple[str, ...] | None:
    """The first row, where it names the others' columns: all texts, over columns that are none."""
    first, rest = rows[0], rows[1:]
    if not rest or not first or not all(type(cell) is str and cell for cell in first) or len(set(first)) < len(first):
        return None
    if any(len(row) != len(first) for row in rest):
        return None
    for column in zip(*rest, strict=True):
        typed = [cell for cell in column if cell is not None]
        if typed and not any(type(cell) is str or isinstance(cell, dict | list) for cell in typed):
            return tuple(first)
    return None


def list_facts(items: Sequence[Any], name: str = "") -> ListFacts:
    """The facts of a list at hand."""
    collector = ListCollector(name)
    collector.feed(items)
    return collector.finish()


def rename(columns: tuple[Column, ...], names: Sequence[str]) -> tuple[Column, ...]:
    """The same columns under other names, as far as there are names."""
    return tuple(
        replace(column, name=name)
        for column, name in zip(columns, [*names, *(c.name for c in columns[len(names) :])], strict=False)
    )
