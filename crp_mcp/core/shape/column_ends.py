"""Smallest and largest value of one column, exact, as literals of the payload. Knows nothing of batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .column_order import extremes
from .column_values import (
    NUMBERS,
    SHARE,
    Reading,
    affix,
    all_fit,
    count_absent,
    find_reading,
    fits,
    has_digit,
    is_sure,
    number_key,
    number_reading,
)

Find = Callable[[float], str]
"""A float of the values at hand -> its literal."""


class Ends:
    """Two running ends: one of the numbers, one of the texts that are numbers or dates."""

    __slots__ = ("_blank", "_high", "_looked", "_low", "fitting", "spelled")

    def __init__(self) -> None:
        self._low: tuple[Any, str] | None = None
        self._high: tuple[Any, str] | None = None
        self._looked = False
        self._blank = 0
        """Texts that say that there is no value: as good as null."""
        self.spelled: list[_Spelled] = []
        """The one spelling of dates; or the spellings of numbers that all texts with digits have so far: with a decimal
        point, with a decimal comma. The first one counts.
        """
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
            found = find_reading(counts if counts is not None else dict.fromkeys(values, 1))
            self.spelled = (
                [] if found is None else list(map(_Spelled, (_WHOLE, _COMMA) if found in NUMBERS else (found,)))
            )
        if counts is not None:
            # Of equal values in several spellings the first in this order is shown, however they came in.
            values = sorted(values)
        if not self.spelled:
            return
        fitting = self._numbers_in(values) if self.spelled[0].reading in NUMBERS else self._dates_in(values)
        if len(fitting) < len(values):
            self._blank += count_absent(values, counts)
        self.fitting += sum(map(counts.__getitem__, fitting)) if counts is not None else len(fitting)

    def _dates_in(self, values: Sequence[str]) -> Sequence[str]:
        (one,) = self.spelled
        if not all_fit(one.reading, values):
            values = [text for text in values if fits(one.reading, text)]
        one.take(values)
        return values

    def _numbers_in(self, values: Sequence[str]) -> Sequence[str]:
        """Leave the spellings that a text with digits does not have."""
        if all_fit(_WHOLE, values):
            for one in self.spelled:
                one.take(values, whole=True)
            return values
        full = values if any(all_fit(one.widest, values) for one in self.spelled) else list(filter(has_digit, values))
        self.spelled = [one for one in self.spelled if one.widen(full)]
        for one in self.spelled:
            one.take(full)
        return full if self.spelled else ()

    @property
    def _one(self) -> _Spelled | None:
        return next((one for one in self.spelled if one.sure and one.unit is not _SEVERAL), None)

    def reading(self, texts: int, numbers: int = 0) -> Reading | None:
        """How the texts are to be read, if at least four fifths are numbers or dates; beside `numbers` numbers, if all
        of them are numbers too.
        """
        one, texts = self._one, texts - self._blank
        if one is None or not texts or self.fitting < (texts if numbers else SHARE * texts):
            return None
        return one.reading if one.reading in NUMBERS or not numbers else None

    def text_type(self, texts: int) -> str | None:
        """What the texts are, if at least four fifths of them are; else None."""
        one = self._one
        if one is None or self.fitting < SHARE * (texts - self._blank):
            return None
        return "int" if one.whole else one.reading.type

    def range(self, texts: int) -> tuple[str | None, str | None]:
        """(low, high) of numbers and number texts, or else of dates; None twice where there is no order."""
        low, high, one = self._low, self._high, self._one
        text_low, text_high = (one.low, one.high) if one is not None and not one.unordered else (None, None)
        kind = self.text_type(texts) if text_low is not None else None
        if kind is not None and low is None:
            low, high = text_low, text_high
        elif kind in ("int", "float"):
            low = min((end for end in (low, text_low) if end is not None), key=_value)
            high = max((end for end in (high, text_high) if end is not None), key=_value)
        return (low[1], high[1]) if low is not None and high is not None else (None, None)


_SEVERAL = object()
_WHOLE, _POINT, _COMMA = NUMBERS[0], NUMBERS[2], NUMBERS[3]


class _Spelled:
    """The ends of texts read in one way."""

    __slots__ = ("high", "low", "reading", "sure", "unit", "unordered", "whole")

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.low: tuple[Any, str] | None = None
        self.high: tuple[Any, str] | None = None
        self.unordered = False
        self.whole = reading in (_WHOLE, _POINT, _COMMA)
        """Not one of them has a fraction, however its digits are grouped."""
        self.sure = reading is not _COMMA
        """Something says that these are amounts."""
        self.unit: object = None
        """What amounts are counted in; `_SEVERAL`: dollars and euros, which nobody can add up."""

    @property
    def widest(self) -> Reading:
        return _POINT if self.reading in NUMBERS[:3] else self.reading

    def widen(self, values: Sequence[str]) -> bool:
        """Take the narrowest of the spellings that agree which these texts have too; False where none of them does."""
        ways = NUMBERS[NUMBERS.index(self.reading) : 3] if self.reading in NUMBERS[:3] else (self.reading,)
        found = next((way for way in ways if all_fit(way, values)), None)
        if found is not None and found is not self.reading:
            plain = self.low is not None
            self.reading, self.sure, self.unit = found, plain or found is not _POINT, "" if plain else None
        return found is not None

    def take(self, values: Sequence[str], whole: bool = False) -> None:
        """Texts that all have this spelling. `whole`: they are plain whole numbers."""
        if not values:
            return
        if self.reading in (_POINT, _COMMA):
            self.sure = self.sure or is_sure(self.reading, values)
            units = {""} if whole else set(map(affix, values))
            unit = units.pop()
            self.unit = unit if self.unit in (None, unit) and not units else _SEVERAL
        if self.whole and not whole and self.reading is not _WHOLE:
            self.whole = self.reading in (_POINT, _COMMA) and not any(map(self._has_fraction, values))
        found = extremes(_WHOLE if whole else self.reading, values)
        if found is None:
            self.unordered = True
            return
        try:
            keys = self.reading.key(found[0]), self.reading.key(found[1])
            if self.low is None or keys[0] < self.low[0]:
                self.low = keys[0], found[0].strip(" ")
            if self.high is None or keys[1] > self.high[0]:
                self.high = keys[1], found[1].strip(" ")
        except TypeError:
            self.unordered = True

    def _has_fraction(self, text: str) -> bool:
        return ("." if self.reading is _POINT else ",") in text or "e" in text or "E" in text or "%" in text


def _value(end: tuple[Any, str]) -> Any:
    return end[0]


def _literal(value: Any, find: Find) -> str:
    return find(value) if isinstance(value, float) else str(value)
