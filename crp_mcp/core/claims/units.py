"""Units of numbers and of columns: which can be compared, and a stated number in a column's own unit. No sentences."""

from __future__ import annotations

import re

from .words import fold, word_list

_CODES = word_list("usd eur gbp jpy inr chf cad aud nzd sek nok dkk pln czk huf cny krw brl mxn zar sgd hkd try ils")
CODES = "|".join(_CODES)
_SIGNS = {"usd": "$", "us$": "$", "dollars": "$", "dollar": "$", "eur": "€", "euros": "€", "euro": "€", "gbp": "£",
          "jpy": "¥", "yen": "¥", "inr": "₹", "rupees": "₹"}  # fmt: skip
UNITS = {
    "%": "%", "percent": "%", "per cent": "%", "pct": "%",
    **{sign: sign for sign in "$€£¥₹"},
    **{code: code for code in _CODES},
    **_SIGNS,
}  # fmt: skip
"""Spelling of a currency or share -> its one name."""
CURRENCIES = frozenset(UNITS.values()) - {"%"}
DEGREES = {"°c": "°C", "°f": "°F", "°": "°", "degrees": "°", "degree": "°"}
"""Spelling of a degree of temperature -> its one name. They are not converted."""
UNITS |= DEGREES

_SCALES = {
    "s": {"s": 1, "ms": 0.001, "us": 1e-6, "ns": 1e-9, "min": 60, "h": 3600, "day": 86400, "week": 604800},
    "B": {"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40},
    "m": {"m": 1, "mm": 0.001, "cm": 0.01, "km": 1000, "mi": 1609.344, "ft": 0.3048, "yd": 0.9144, "inch": 0.0254},
    "kg": {"kg": 1, "g": 0.001, "mg": 1e-6, "lb": 0.45359237, "oz": 0.028349523125, "t": 1000},
}
_SPELLINGS = """
s sec secs second seconds
ms millisecond milliseconds msec millis
us microsecond microseconds
min mins minute minutes
h hr hrs hour hours
day days
week weeks
b byte bytes
kb kilobyte kilobytes
mb megabyte megabytes
gb gigabyte gigabytes
tb terabyte terabytes
kib
mib
gib
tib
m metre metres meter meters
mm millimetre millimetres millimeter millimeters
cm centimetre centimetres centimeter centimeters
km kilometre kilometres kilometer kilometers
mi mile miles
ft foot feet
yd yard yards
inch inches
kg kilo kilos kilogram kilograms
g gram grams
mg milligram milligrams
lb lbs
oz ounce ounces
t ton tons tonne tonnes
"""
_SCALE_OF = {name: (base, float(scale)) for base, units in _SCALES.items() for name, scale in units.items()}
SCALED: dict[str, tuple[str, float]] = {
    word: _SCALE_OF[line.split()[0]]
    for line in _SPELLINGS.strip().splitlines()
    if line.split()[0] in _SCALE_OF
    for word in line.split()
}
"""Unit word -> (base unit, factor): quantities of one base unit can be compared."""
_TELLING = frozenset(w for w in SCALED if len(w) > 1) - frozenset(word_list("us min mins mi mm oz day week second ton"))
"""Units that a part of a column's name can only mean as such (`latency_ms`, `size_mb`, `duration_hours`)."""

Measure = tuple[str, float]
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[%$€£¥₹]")


def measure_of(unit: str) -> Measure | None:
    """Base and factor of a unit as a cell or header writes it; None for what is no known unit."""
    unit = fold(unit).strip()
    if unit in UNITS:
        return UNITS[unit], 1.0
    return SCALED.get(unit)


def unit_in_name(name: str) -> str:
    """The unit that a column's name ends in or has in parentheses; empty for none."""
    inner = name[name.find("(") + 1 : name.rfind(")")] if "(" in name else ""
    if measure_of(inner):
        return fold(inner).strip()
    parts = [fold(p) for p in _PART.findall(name)]
    return next((p for p in reversed(parts) if len(parts) > 1 and (p in _TELLING or p in UNITS)), "")


_SCALE_NAMES = {
    "bn": 10**9, "billion": 10**9, "billions": 10**9, "mn": 10**6, "mln": 10**6, "mio": 10**6, "mil": 10**6,
    "million": 10**6, "millions": 10**6, "thousand": 10**3, "thousands": 10**3,
}  # fmt: skip


def scale_in_name(name: str) -> int:
    """What a column's name says that its numbers are counted in (`gdp_bn`); 1 for ones."""
    return next((_SCALE_NAMES[p] for p in (fold(p) for p in _PART.findall(name)) if p in _SCALE_NAMES), 1)


def of_other_degrees(unit: str, name: str) -> bool:
    """Whether a column's name says that its degrees are not the stated ones (`temp_f` against °C)."""
    last = {p for p in (fold(p) for p in _PART.findall(name)) if p in ("c", "f", "celsius", "fahrenheit")}
    return unit in ("°C", "°F") and bool(last) and not any(p[0] == unit[1].lower() for p in last)


def factors(stated: Measure, column: Measure) -> tuple[float, ...]:
    """What to multiply a stated number by to have it in the column's unit; kilo- and megabytes may count 1,024s."""
    if stated[0] != column[0]:
        return ()
    plain = stated[1] / column[1]
    mine, theirs = _POWERS.get(stated[1]), _POWERS.get(column[1])
    if stated[0] != "B" or mine is None or theirs is None or mine == theirs:
        return (plain,)
    return (plain, 1024.0 ** (mine - theirs))


_POWERS = {1.0: 0, 1e3: 1, 1e6: 2, 1e9: 3, 1e12: 4}


def guesses(stated: Measure) -> tuple[float, ...]:
    """Factors where the column does not say its unit: as it stands, or any unit of the same base."""
    if stated[0] not in _SCALES:
        return (1.0,)
    return (1.0, *(f for scale in _SCALES[stated[0]].values() for f in factors(stated, (stated[0], float(scale)))))
