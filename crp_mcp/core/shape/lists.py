"""A JSON list as facts: how many items, of what kinds, its columns, first and last. Knows nothing of where it stands.

Fed a batch at a time, so that a list of any length is held as its facts alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from .cells import type_name
from .columns import BATCH, Literal, TableStats
from .headers import goes_on, sets_apart
from .model import Column
from .typed_rows import BlockLiterals, GivenLiterals, Row, RowForm, with_floats

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
    """Where the items are rows: objects, or lists of one width. For plain items: None."""
    plain: Column | None = None
    """Plain items as a column without a name."""
    names: tuple[str, ...] | None = None
    """The header row of a list of lists."""
    index: tuple[tuple[int, int], ...] = ()
    """Sparse (item number, byte offset)."""
    cut: bool = False
    node: bool = False
    """Rows stood under `node` (GraphQL edges)."""
    more_columns: bool = False
    """More than were kept."""

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
        self._blocks: list[tuple[int, BlockLiterals]] = []
        """(items, literals) of the blocks the queue came from, in order."""
        self._form: RowForm | None = None
        self._kinds: Counter[str] = Counter()
        self._head: list[Any] = []
        self._tail: list[Any] = []
        self._stats = TableStats()
        self._take_as: Callable[[list[Any], Literal], None] | None = None
        self._widths: Counter[int] = Counter()
        self._nested = 0
        self.names: tuple[str, ...] | None = None
        self.node = False

    def feed(self, items: Sequence[Any], literals: BlockLiterals) -> None:
        """More items, fractions as floats, and `literals` to find how they are spelled."""
        self._queue.extend(items)
        self._blocks.append((len(items), literals))
        if len(self._queue) >= BATCH:
            self._work(BATCH)

    def feed_given(self, items: Sequence[Any]) -> None:
        """More items, with their numbers as `Num`: counted as floats, as everywhere, and spelled as they stand."""
        self.feed(list(map(with_floats, items)), GivenLiterals(items))

    def feed_form(self, rows: Sequence[Row], form: RowForm, literals: BlockLiterals) -> None:
        """More items, decoded as structs of a learnt form."""
        self._form = form
        self.feed(rows, literals)

    def _work(self, least: int) -> None:
        queue, done = self._queue, 0
        while len(queue) - done >= least and len(queue) > done:
            batch = queue[done : done + BATCH]
            self._take(batch, self._literal(done))
            done += len(batch)
        del queue[:done]
        self._forget(done)

    def _forget(self, done: int) -> None:
        while self._blocks and done >= self._blocks[0][0]:
            done -= self._blocks.pop(0)[0]
        if done and self._blocks:
            count, literals = self._blocks[0]
            self._blocks[0] = (count - done, _Shifted(literals, done))

    def _literal(self, offset: int) -> Literal:
        blocks = list(self._blocks)

        def literal(at: int, name: str) -> str:
            at += offset
            for count, literals in blocks:
                if at < count:
                    return self._spelled(literals.row(at), name)
                at -= count
            return ""

        return literal

    def _spelled(self, row: Any, name: str) -> str:
        if self.node:
            row = row["node"]
        if isinstance(row, dict):
            return str(row[name])
        if isinstance(row, list):
            names = self.names or column_names(len(row))
            return str(row[names.index(name)])
        return str(row)

    def _take(self, batch: list[Any], literal: Literal) -> None:
        if self._take_as is None:
            self._take_as = self._choose(batch)
            self._head = [self._plain(item, at) for at, item in enumerate(batch[: EDGE + 1])]
        self._tail = [*self._tail, *batch[-EDGE:]][-EDGE:]
        kinds = set(map(type, batch))
        if len(kinds) > 1:
            self._kinds.update(map(_kind, batch))
        elif kinds:
            self._kinds[_kind(batch[0])] += len(batch)
            if self._form is not None and issubclass(kinds.pop(), Row) and self._take_as == self._take_objects:
                self._stats.feed_columns(self._form.names, self._form.columns(batch), literal, self._form.kinds)
                return
        self._take_as(batch, literal)

    def _plain(self, item: Any, at: int) -> Any:
        """One of the first items, numbers as their literals."""
        for count, literals in self._blocks:
            if at < count:
                return literals.row(at)
            at -= count
        return item

    def _choose(self, batch: list[Any]) -> Callable[[list[Any], Literal], None]:
        objects = sum(isinstance(item, dict | Row) for item in batch)
        self.node = self._name == "edges" and all(
            isinstance(item, dict) and isinstance(item.get("node"), dict) for item in batch
        )
        if objects * 2 >= len(batch) and batch:
            return self._take_objects
        if all(isinstance(item, list) for item in batch):
            self.names = header_row(batch) if batch else None
            return self._take_lists
        return self._take_plain

    def _take_objects(self, batch: list[Any], literal: Literal) -> None:
        if self.node:
            batch = [item.get("node") if isinstance(item, dict) else None for item in batch]
        start = 0
        for structs, run in groupby(batch, _is_struct):
            rows = list(run)
            find = _later(literal, start) if start else literal
            if structs and self._form is not None:
                self._stats.feed_columns(self._form.names, self._form.columns(rows), find, self._form.kinds)
            else:
                self._stats.feed_objects([row if isinstance(row, dict) else {} for row in rows], find)
            start += len(rows)

    def _take_lists(self, batch: list[Any], literal: Literal) -> None:
        rows = [item if isinstance(item, list) else [] for item in batch]
        if self.names is not None and not self._widths:
            rows = rows[1:]
            literal = _later(literal, 1)
        self._widths.update(map(len, rows))
        self._nested += sum(type(cell) is dict or type(cell) is list for row in rows for cell in row)
        width = max(self._widths, default=0)
        self._stats.feed_rows(self.names or column_names(width), rows, literal)

    def _take_plain(self, batch: list[Any], literal: Literal) -> None:
        self._stats.feed_columns(("",), [batch], literal)

    def finish(self, *, index: tuple[tuple[int, int], ...] = (), cut: bool = False) -> ListFacts:
        self._work(1)
        count = self._kinds.total()
        columns = self._columns(count)
        skip = 1 if self.names is not None and columns is not None else 0
        kinds = tuple(sorted(self._kinds.items(), key=lambda pair: (-pair[1], pair[0])))
        head, tail = self._head[skip : skip + EDGE], self._tail[-max(0, count - skip) :]
        if self.node:
            head, tail = [item["node"] for item in head], []
        plain = self._stats.finish()[0] if self._take_as == self._take_plain and count else None
        names = self.names if skip else None
        return ListFacts(
            count - skip,
            kinds,
            tuple(head),
            tuple(tail),
            columns,
            plain,
            names,
            index,
            cut,
            self.node,
            self._stats.full and columns is not None,
        )

    def _columns(self, count: int) -> tuple[Column, ...] | None:
        objects, lists = self._kinds["object"], self._kinds["list"]
        if (
            objects
            and self._take_as == self._take_objects
            and (objects >= _MOSTLY * count or (objects * 2 >= count and objects + self._kinds["null"] == count))
        ):
            return self._stats.finish() or None
        if lists == count and self._widths and self._take_as == self._take_lists:
            (width, rows), *_ = self._widths.most_common(1)
            cells = sum(size * number for size, number in self._widths.items())
            table = width >= 2 or (width == 1 and rows >= 2)
            even = rows >= _MOSTLY * self._widths.total() or (
                self.names is not None and max(self._widths) <= len(self.names)
            )
            if table and even and self._nested * 2 < cells:
                return self._stats.finish() or None
        return None


class _Shifted(BlockLiterals):
    """The literals of what is left of a block."""

    __slots__ = ("_by", "_of")

    def __init__(self, of: BlockLiterals, by: int) -> None:
        self._of, self._by = of, by

    def row(self, at: int) -> Any:
        return self._of.row(at + self._by)


def _later(literal: Literal, by: int) -> Literal:
    return lambda at, name: literal(at + by, name)


def _is_struct(item: Any) -> bool:
    return isinstance(item, Row)


def _kind(item: Any) -> str:
    return "object" if isinstance(item, Row) else type_name(item)


def column_names(width: int) -> tuple[str, ...]:
    """Names for columns that have none."""
    return tuple(f"column_{number + 1}" for number in range(width))


def header_row(rows: Sequence[list[Any]]) -> tuple[str, ...] | None:
    """The first row, where it names the others' columns: all texts, over columns that are none, or hold typed texts.
    Rows may be shorter: spreadsheets leave out empty cells at a row's end.
    """
    first, rest = rows[0], rows[1:]
    if not rest or not first or not all(cell is None or type(cell) is str for cell in first):
        return None
    named = [cell for cell in first if cell]
    if len(set(named)) < len(named) or 2 * len(named) < len(first):
        return None
    if any(len(row) > len(first) for row in rest) or any(
        cell and goes_on(cell, [row[at] for row in rest if at < len(row)]) for at, cell in enumerate(first)
    ):
        return None
    names = tuple(cell or f"column_{at}" for at, cell in enumerate(first, 1))
    if all(len(row) == len(first) for row in rest):
        for column in zip(*rest, strict=True):
            typed = [cell for cell in column if cell is not None]
            if typed and not any(type(cell) is str or isinstance(cell, dict | list) for cell in typed):
                return names
    texts = [["" if cell is None else cell if type(cell) is str else str(cell) for cell in row] for row in rest]
    nested = any(isinstance(cell, dict | list) for row in rest for cell in row)
    return names if len(first) > 1 and not nested and sets_apart(names, texts) else None


def list_facts(items: Sequence[Any], name: str = "") -> ListFacts:
    """The facts of a list at hand."""
    collector = ListCollector(name)
    collector.feed_given(items)
    return collector.finish()


def rename(columns: tuple[Column, ...], names: Sequence[str]) -> tuple[Column, ...]:
    """The same columns under other names, as far as there are names."""
    return tuple(replace(column, name=names[at]) if at < len(names) else column for at, column in enumerate(columns))
