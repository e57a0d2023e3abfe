"""The order of texts of one spelling: which of them is the smallest, and which the largest."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from operator import itemgetter

from .column_values import Reading, fits

_EXACT = 2**53
_LAST, _LAST_SIX = itemgetter(-1), itemgetter(slice(-6, None))


def extremes(reading: Reading, texts: Sequence[str]) -> tuple[str, str] | None:
    """Smallest and largest of texts that all match; None where they have no common order."""
    if reading.plain_order and _sort_as_texts(texts):
        ends = min(texts), max(texts)
        if fits(reading, ends[0]) and fits(reading, ends[1]):
            return ends
    if reading.key is Decimal:
        values = list(map(float, texts))
        low, high = min(values), max(values)
        if low > -_EXACT and high < _EXACT:
            return texts[values.index(low)], texts[values.index(high)]
    try:
        keys = list(map(reading.key, texts))
    except (ValueError, ArithmeticError):
        real = [text for text in texts if fits(reading, text)]
        return extremes(reading, real) if real else None
    if isinstance(keys[0], tuple) and len({key[0] for key in keys}) > 1:
        return None
    return texts[keys.index(min(keys))], texts[keys.index(max(keys))]


def _sort_as_texts(texts: Sequence[str]) -> bool:
    """Year-first dates of one length sort as texts, unless their zones differ."""
    if len(set(map(len, texts))) > 1 or any(text[0] == " " or text[-1] == " " for text in texts):
        return False
    joined = "".join(texts)
    if "+" not in joined and joined.count("-") <= 2 * len(texts) and not any(mark in joined for mark in "ZUG"):
        return True
    return (len(texts[0]) > 19 and len(set(map(_LAST_SIX, texts))) == 1) or set(map(_LAST, texts)) == {"Z"}
