"""What is kept of one column while batches go by, and the `Column` it makes in the end. Knows nothing of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import chain, islice
from typing import Any

from .column_ends import Ends, Find
from .column_values import Num, number_key
from .model import Column

_TOP = 20
_LONGEST_TOP = 200
_FLOATS = 32
_CHARS = 64
"""Most characters of distinct values kept, on average, before a column is only measured."""

Literal = Callable[[int, str], str]
"""(row in this batch, column name) -> the cell's literal as it stands in the payload."""


class ColumnStats:
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

    def add(
        self, cells: Sequence[Any], places: Sequence[int], literal: Literal | None, kind: type | None = None
    ) -> None:
        parts = [(kind, cells)] if kind is not None else _by_type(cells)

        def find(value: float) -> str:
            known = self._literals.get(value)
            if known is not None or literal is None or value != value:
                return known or repr(value)
            at = cells.index(value)
            if type(cells[at]) is not float:  # an equal int or bool stands before it
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
        reading = ends.reading(texts, self._numbers()) if ends is not None and texts else None
        distinct: int | None = None
        top: tuple[tuple[str, int], ...] = ()
        if counts is not None and self._seen.keys() <= _SCALARS:
            distinct, top = _distinct(counts), self._top(counts)
        nulls = rows - sum(self._seen.values())
        return Column(self.name, types, nulls, low, high, distinct, top, reading.name if reading is not None else None)

    def _numbers(self) -> int:
        """Cells that are numbers. 0 where there is anything beside numbers and texts."""
        kinds = self._seen.keys() - {str}
        return sum(self._seen[kind] for kind in kinds) if kinds <= _NUMERIC else 0

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
        ranked = sorted(chain.from_iterable(values.values() for values in counts.values()), reverse=True)
        if not ranked or ranked[0] < 2:
            return ()
        # Ties are settled by the literal, so only values as frequent as the last one shown need be looked at.
        least = ranked[min(_TOP, len(ranked)) - 1]
        pairs = [
            (self._spelled(kind, value), count)
            for kind, values in counts.items()
            for value, count in values.items()
            if count >= least
        ]
        pairs.sort(key=lambda pair: (-pair[1], pair[0]))
        return tuple(islice((pair for pair in pairs if len(pair[0]) <= _LONGEST_TOP), _TOP))

    def _spelled(self, kind: type, value: Any) -> str:
        if kind is bool:
            return self.words[0] if value else self.words[1]
        return self._literals[value] if kind is float else str(value)


_NULL = type(None)
_SCALARS = frozenset({bool, int, float, Decimal, str, Num})
_NUMERIC = frozenset({int, float, Decimal, Num})
_TEXTS = frozenset({str, Num})
_LABELS = {bool: "bool", int: "int", float: "float", Decimal: "float", dict: "object", list: "list", tuple: "list"}
_BOOLS = frozenset({"true", "false"})


def _by_type(cells: Sequence[Any]) -> list[tuple[type, Sequence[Any]]]:
    types = list(map(type, cells))
    if not types or types.count(types[0]) == len(types):
        return [(kind, cells) for kind in types[:1]]
    return [(kind, [cell for cell in cells if type(cell) is kind]) for kind in sorted(set(types), key=_type_name)]


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
