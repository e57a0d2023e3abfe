"""Statistics of columns over batches of rows: types, nulls, exact ranges, distinct values. Knows nothing of formats.

Strategy: a column is looked at a whole batch at a time with C-level builtins, never cell by cell. While it has few
distinct values it is only counted, and everything else is worked out from the counts at the end; once it has too many
it keeps no values, only its smallest and largest.

What a cell may be: None (null *or* missing), bool, int, float, Decimal, str, dict, list, or `Num`. A reader that has a
number's literal in hand passes `Num(literal)`; one that decoded floats for speed passes plain floats and `literal`, a
function that finds the literal of one cell when it is needed (a handful of times a batch at most). Without either a
float is shown as Python writes it. Feed batches of `BATCH` rows: equal batches give equal columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import chain, islice
from typing import Any

from .column_ends import Ends, Find
from .column_values import number_key
from .model import Column

BATCH = 500
"""Rows in a batch."""
MAX_COLUMNS = 50_000
"""More columns than this are not kept; `TableStats.full` says so."""
_TOP = 20
_LONGEST_TOP = 200
_GROUPS = 40
"""Rows of one batch with more key sets than this are taken cell by cell."""
_FLOATS = 32
_CHARS = 64
"""Most characters of distinct values kept, on average, before a column is only measured."""

Literal = Callable[[int, str], str]
"""(row in this batch, column name) -> the cell's literal as it stands in the payload."""


class Num(str):
    """A number kept as the literal it was in the payload (`1.10`, `1e5`, `12345678901234567890.0`)."""

    __slots__ = ()


class TableStats:
    """Collects columns over any number of batches, in first-seen order.

    `text_cells`: every cell is text (CSV, Markdown, psql), so types are read from the texts and "" is null.
    `words`: how the payload spells true and false.
    """

    def __init__(self, *, text_cells: bool = False, words: tuple[str, str] = ("true", "false")) -> None:
        self.rows = 0
        self.full = False
        self._text_cells = text_cells
        self._words = words
        self._columns: dict[tuple[str, int], _Stats] = {}
        self._names: Sequence[str] = ()
        self._keys: list[tuple[str, int]] = []

    def feed_objects(self, batch: Sequence[Mapping[str, Any]], literal: Literal | None = None) -> None:
        """Rows as mappings; a key that a row lacks is a null of its column."""
        if not batch:
            return
        self.rows += len(batch)
        groups: dict[tuple[str, ...], list[int]] = {}
        for at, names in enumerate(map(tuple, batch)):
            groups.setdefault(names, []).append(at)
        if len(groups) == 1:
            (names,) = groups
            self._feed(names, zip(*map(_values, batch), strict=True), range(len(batch)), literal)
            return
        self._register((name, 0) for name in chain.from_iterable(groups))
        if len(groups) > _GROUPS:
            self._feed_scattered(batch, literal)
            return
        for names, places in groups.items():
            self._feed(names, zip(*(_values(batch[at]) for at in places), strict=True), places, literal)

    def feed_rows(self, names: Sequence[str], batch: Sequence[Sequence[Any]], literal: Literal | None = None) -> None:
        """Rows as sequences in the order of `names`. Short rows miss cells; surplus cells get numbered columns."""
        if not batch:
            return
        width = max(map(len, batch))
        if width > len(names):
            names = [*names, *(f"column {n}" for n in range(len(names) + 1, width + 1))]
        if width < len(names) or min(map(len, batch)) < width:
            width = len(names)
            batch = [row if len(row) == width else [*row, *[None] * (width - len(row))] for row in batch]
        self.rows += len(batch)
        self._feed(names, zip(*batch, strict=True), range(len(batch)), literal)

    def feed_columns(
        self, names: Sequence[str], columns: Iterable[Sequence[Any]], literal: Literal | None = None
    ) -> None:
        """The same batch, already turned: one sequence of equal length for each name."""
        turned = list(columns)
        self.rows += len(turned[0]) if turned else 0
        self._feed(names, turned, range(len(turned[0]) if turned else 0), literal)

    def finish(self) -> tuple[Column, ...]:
        """Every column seen. May be called more than once, also between batches."""
        return tuple(stats.column(self.rows) for stats in self._columns.values())

    def _register(self, keys: Iterable[tuple[str, int]]) -> None:
        columns = self._columns
        for key in keys:
            if key not in columns:
                if len(columns) >= MAX_COLUMNS:
                    self.full = True
                    return
                columns[key] = _Stats(key[0], len(columns), self._text_cells, self._words)

    def _feed(
        self, names: Sequence[str], columns: Iterable[Sequence[Any]], places: Sequence[int], literal: Literal | None
    ) -> None:
        if names != self._names:
            seen: Counter[str] = Counter()
            self._names, self._keys = names, []
            for name in names:
                self._keys.append((name, seen[name]))
                seen[name] += 1
            self._register(self._keys)
        for key, cells in zip(self._keys, columns, strict=True):
            stats = self._columns.get(key)
            if stats is not None:
                stats.add(cells, places, literal)

    def _feed_scattered(self, batch: Sequence[Mapping[str, Any]], literal: Literal | None) -> None:
        """Rows that hardly share their keys: one pass over the cells, then a column at a time."""
        cells: dict[str, tuple[list[Any], list[int]]] = {}
        for at, row in enumerate(batch):
            for name, value in row.items():
                found = cells.get(name)
                if found is None:
                    found = cells[name] = ([], [])
                found[0].append(value)
                found[1].append(at)
        for name, (values, places) in cells.items():
            stats = self._columns.get((name, 0))
            if stats is not None:
                stats.add(values, places, literal)


def _values(row: Mapping[str, Any]) -> Iterable[Any]:
    return row.values()


class _Stats:
    """One column. `counts` holds value -> count by Python type while there are few; `ends` takes over after that."""

    __slots__ = (
        "_bound",
        "_chars",
        "_checked",
        "_counts",
        "_ends",
        "_fraction",
        "_literals",
        "_seen",
        "name",
        "text_cells",
        "words",
    )

    def __init__(self, name: str, place: int, text_cells: bool, words: tuple[str, str]) -> None:
        self.name = name
        self.text_cells = text_cells
        self.words = words
        self._seen: dict[type, int] = {}
        # Wide tables keep less of each column, so that all of them together stay within a few megabytes.
        self._bound = 1_000 if place < 64 else 32 if place < 1_000 else 0
        self._counts: dict[type, Counter[Any]] | None = {} if self._bound else None
        self._ends: Ends | None = None
        self._literals: dict[float, str] = {}
        self._fraction = False
        self._checked: dict[type, int] = {}
        self._chars = 0

    def add(self, cells: Sequence[Any], places: Sequence[int], literal: Literal | None) -> None:
        kinds = set(map(type, cells))
        if len(kinds) == 1:
            parts = [(kinds.pop(), cells)]
        else:
            parts = [(kind, [cell for cell in cells if type(cell) is kind]) for kind in sorted(kinds, key=_type_name)]

        def find(value: float) -> str:
            known = self._literals.get(value)
            if known is not None or literal is None or value != value:
                return known or repr(value)
            at = next(at for at, cell in enumerate(cells) if type(cell) is float and cell == value)
            return literal(places[at], self.name)

        for kind, part in parts:
            if kind is str and self.text_cells and not all(part):
                part = [cell for cell in part if cell]
            if kind is not _NULL and part:
                self._seen[kind] = self._seen.get(kind, 0) + len(part)
                if self._bound and kind in _SCALARS:
                    self._take(kind, part, find)

    def _take(self, kind: type, cells: Sequence[Any], find: Find) -> None:
        if self._counts is None:
            if self._ends is not None:
                _widen(self._ends, kind, cells, None, find)
            self._fraction = self._fraction or (kind is Num and _fractional(cells))
            return
        self._counts.setdefault(kind, Counter()).update(cells)
        if self._too_many(kind, self._counts):
            self._ends = self._measure(self._counts, find)
            self._fraction = _fractional(self._counts.get(Num, ()))
            self._counts, self._literals = None, {}
        elif kind is float:
            for value in self._counts[kind].keys() - self._literals.keys():
                self._literals[value] = find(value)

    def _too_many(self, kind: type, counts: Mapping[type, Counter[Any]]) -> bool:
        checked, values = self._checked.get(kind, 0), counts[kind]
        if len(values) == checked:
            return False
        self._checked[kind] = len(values)
        if kind in _TEXTS:
            self._chars += sum(map(len, islice(values, checked, None)))
        # Each new float costs a look at the payload, so floats are counted only while they are few.
        return (
            sum(map(len, counts.values())) > self._bound
            or self._chars > _CHARS * self._bound
            or (kind is float and len(values) > _FLOATS)
        )

    @staticmethod
    def _measure(counts: Mapping[type, Counter[Any]], find: Find) -> Ends:
        ends = Ends()
        for kind in sorted(counts, key=_type_name):
            _widen(ends, kind, list(counts[kind]), counts[kind], find)
        return ends

    def column(self, rows: int) -> Column:
        counts = self._counts
        ends = self._ends if counts is None else self._measure(counts, lambda value: self._literals[value])
        texts = self._seen.get(str, 0)
        low, high = ends.range(texts) if ends is not None else (None, None)
        types = self._types(ends, texts)
        distinct: int | None = None
        top: tuple[tuple[str, int], ...] = ()
        if counts is not None and self._seen.keys() <= _SCALARS:
            distinct, top = _distinct(counts), self._top(counts)
        return Column(self.name, types, rows - sum(self._seen.values()), low, high, distinct, top)

    def _types(self, ends: Ends | None, texts: int) -> tuple[str, ...]:
        found: Counter[str] = Counter()
        fraction = self._fraction or (self._counts is not None and _fractional(self._counts.get(Num, ())))
        for kind, count in self._seen.items():
            if kind is str:
                for label, share in self._text_types(ends, texts):
                    found[label] += share
            else:
                found[("float" if fraction else "int") if kind is Num else _LABELS.get(kind, "str")] += count
        if found["float"]:
            found["float"] += found.pop("int", 0)
        return tuple(sorted(+found, key=lambda label: (-found[label], label)))

    def _text_types(self, ends: Ends | None, texts: int) -> Iterable[tuple[str, int]]:
        label = ends.text_type(texts) if ends is not None else None
        if self.text_cells and self._counts is not None and {text.lower() for text in self._counts[str]} <= _BOOLS:
            label = "bool"
            yield label, texts
        elif label is None or ends is None or (not self.text_cells and label in ("int", "float")):
            yield "str", texts
        else:
            yield label, ends.fitting
            yield "str", texts - ends.fitting

    def _top(self, counts: Mapping[type, Counter[Any]]) -> tuple[tuple[str, int], ...]:
        if max((count for values in counts.values() for count in values.values()), default=0) < 2:
            return ()
        pairs = [(self._spelled(kind, value), n) for kind, values in counts.items() for value, n in values.items()]
        ranked = sorted((pair for pair in pairs if len(pair[0]) <= _LONGEST_TOP), key=lambda pair: (-pair[1], pair[0]))
        return tuple(islice(ranked, _TOP))

    def _spelled(self, kind: type, value: Any) -> str:
        if kind is bool:
            return self.words[0] if value else self.words[1]
        return self._literals[value] if kind is float else str(value)


_NULL = type(None)
_SCALARS = frozenset({bool, int, float, Decimal, str, Num})
_TEXTS = frozenset({str, Num})
_LABELS = {bool: "bool", int: "int", float: "float", Decimal: "float", dict: "object", list: "list", tuple: "list"}
_BOOLS = frozenset({"true", "false"})


def _type_name(kind: type) -> str:
    return kind.__name__


def _fractional(literals: Iterable[str]) -> bool:
    joined = "".join(literals)
    return "." in joined or "e" in joined or "E" in joined


def _widen(ends: Ends, kind: type, values: Sequence[Any], counts: Mapping[Any, int] | None, find: Find) -> None:
    if kind is str:
        ends.texts(values, counts)
    elif kind is Num:
        ends.literals(values if counts is None else sorted(values))
    elif kind is not bool:
        ends.numbers(values, find)


def _distinct(counts: Mapping[type, Counter[Any]]) -> int:
    numbers = [kind for kind in counts if kind in (int, float, Decimal, Num)]
    if numbers in ([], [int], [float]):
        return sum(map(len, counts.values()))
    values = {number_key(value) if kind is Num else value for kind in numbers for value in counts[kind]}
    return len(values) + sum(len(counts[kind]) for kind in counts if kind not in numbers)
