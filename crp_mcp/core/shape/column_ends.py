"""Smallest and largest value of one column, exact, as literals of the payload. Knows nothing of batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .column_values import SHARE, Reading, all_fit, extremes, find_reading, fits, number_key, number_reading

Find = Callable[[float], str]
"""A float of the values at hand -> its literal."""


class Ends:
    """Two running ends: one of the numbers, one of the texts that are numbers or dates."""

    __slots__ = ("_high", "_looked", "_low", "_text_high", "_text_low", "_unordered", "fitting", "reading")

    def __init__(self) -> None:
        self._low: tuple[Any, str] | None = None
        self._high: tuple[Any, str] | None = None
        self._text_low: tuple[Any, str] | None = None
        self._text_high: tuple[Any, str] | None = None
        self._looked = False
        self._unordered = False
        self.reading: Reading | None = None
        """The spelling this column's texts have; settled by the first texts given."""
        self.fitting = 0
        """Texts that have it."""

    def numbers(self, values: Sequence[Any], find: Find) -> None:
        """Take ints, floats or Decimals; floats are asked for their literal only where they are a new end."""
        total = sum(values)
        if total != total:
            values = [value for value in values if value == value]
            if not values:
                return
        low, high = min(values), max(values)
        if self._low is None or low < self._low[0]:
            self._low = low, _literal(low, find)
        if self._high is None or high > self._high[0]:
            self._high = high, _literal(high, find)

    def literals(self, values: Sequence[str]) -> None:
        """Take numbers given as their literals."""
        values = values if all_fit(number_reading, values) else [text for text in values if fits(number_reading, text)]
        found = extremes(number_reading, values) if values else None
        if found is not None:
            low, high = (number_key(text) for text in found)
            self._low = (low, str(found[0])) if self._low is None or low < self._low[0] else self._low
            self._high = (high, str(found[1])) if self._high is None or high > self._high[0] else self._high

    def texts(self, values: Sequence[str], counts: Mapping[str, int] | None = None) -> None:
        """Take texts, each once with `counts` or as often as they occur without."""
        if not self._looked:
            self._looked = True
            self.reading = find_reading(counts if counts is not None else dict.fromkeys(values, 1))
        reading = self.reading
        if reading is None:
            return
        if counts is not None:
            # Of equal values in several spellings the first in this order is shown, however they came in.
            values = sorted(values)
        if not all_fit(reading, values):
            values = [text for text in values if fits(reading, text)]
            if not values:
                return
        self.fitting += sum(map(counts.__getitem__, values)) if counts is not None else len(values)
        found = extremes(reading, values)
        if found is None:
            self._unordered = True
            return
        keys = reading.key(found[0]), reading.key(found[1])
        try:
            if self._text_low is None or keys[0] < self._text_low[0]:
                self._text_low = keys[0], found[0].strip(" ")
            if self._text_high is None or keys[1] > self._text_high[0]:
                self._text_high = keys[1], found[1].strip(" ")
        except TypeError:
            self._unordered = True

    def text_type(self, texts: int) -> str | None:
        """What the texts are, if at least four fifths of them are; else None."""
        return self.reading.type if self.reading is not None and self.fitting >= SHARE * texts else None

    def range(self, texts: int) -> tuple[str | None, str | None]:
        """(low, high) of numbers and number texts, or else of dates; None twice where there is no order."""
        low, high = self._low, self._high
        kind = self.text_type(texts) if self._text_low is not None and not self._unordered else None
        if kind is not None and low is None:
            low, high = self._text_low, self._text_high
        elif kind in ("int", "float"):
            low = min((end for end in (low, self._text_low) if end is not None), key=_value)
            high = max((end for end in (high, self._text_high) if end is not None), key=_value)
        return (low[1], high[1]) if low is not None and high is not None else (None, None)


def _value(end: tuple[Any, str]) -> Any:
    return end[0]


def _literal(value: Any, find: Find) -> str:
    return find(value) if isinstance(value, float) else str(value)
