"""Texts that are numbers or dates: recognising them in a column and ordering them, each kept as the literal it is.

Knows nothing of rows or batches. A reading is one spelling of numbers or dates; a column has at most one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

SHARE = 0.8
"""Least share of a column's texts that must fit a reading; the rest stay plain texts and have no part in the range."""
ABSENT = frozenset(
    {
        *("", "-", "--", "–", "—", ".", "..", "...", "…", "?", "na", "n/a", "n.a.", "nan", "nil", "none", "null"),
        *("#n/a", "(null)", "<na>", "<none>", "<null>", "<nil>", "<unset>", "\\n", "missing"),
    }
)
"""Texts, in lower case, that say that there is no value: however many there are, the others are what a column has."""
_PROBE = 24
"""How many values are tried before a reading is given up: prose columns must cost next to nothing."""

_WHOLE = r"(?:0|[1-9]\d*)"
_INT = rf"[+-]?{_WHOLE}"
_FLOAT = rf"[+-]?(?:{_WHOLE}(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_CODES = (
    "USD|EUR|GBP|JPY|CNY|CHF|CAD|AUD|NZD|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|RSD|RUB|UAH|TRY|ILS|INR|IDR|KRW|SGD|HKD"
    "|TWD|THB|MYR|PHP|VND|BRL|MXN|ARS|CLP|COP|PEN|ZAR|EGP|NGN|KES|AED|SAR|QAR|KWD"
)
_SIGNS = r"(?:US|A|C|NZ|HK|S|R)?\$|[€£¥₹₩₽₺₪₫฿₴₦₱]"
_GAP = "[ \u00a0\u202f\u2009]"
"""Blanks that group digits, or stand between an amount and its currency."""
_CURRENCY = rf"(?:{_SIGNS}|{_CODES})"
_POINTED = (
    rf"(?:[1-9]\d{{0,2}}(?:(?:,\d{{3}})+|(?:['’]\d{{3}})+|(?:{_GAP}\d{{3}})+)|[1-9]\d?(?:,\d\d)+,\d{{3}}|{_WHOLE})(?:\.\d+)?"
    r"|\.\d+"
)
_COMMAED = rf"(?:[1-9]\d{{0,2}}(?:(?:\.\d{{3}})+|(?:['’]\d{{3}})+|(?:{_GAP}\d{{3}})+)|{_WHOLE})(?:,\d+)?|,\d+"


def _amount(digits: str) -> str:
    """Digits with what stands around an amount of money: its sign, its currency or %, brackets or a minus behind it for
    one below zero.
    """
    bare = rf"(?:{_CURRENCY}{_GAP}?)?[+\-−]?(?:{digits})(?:{_GAP}?(?:%|{_CURRENCY}|kr\.?|zł|Kč))?"
    bracketed = rf"\((?:{_CURRENCY}{_GAP}?)?(?:{digits})(?:{_GAP}?(?:%|{_CURRENCY}|kr\.?|zł|Kč))?\)"
    return rf"[+\-−]?{bare}|{bracketed}|(?:{digits})[-−](?:{_GAP}?{_CURRENCY})?"


_HOUR = r"(?P<H>\d\d):(?P<M>\d\d)(?::(?P<S>\d\d)(?:[.,](?P<f>\d{1,9}))?)?"
_CLOCK = r"(?P<H>\d{1,2}):(?P<M>\d\d)(?::(?P<S>\d\d)(?:[.,](?P<f>\d{1,9}))?)?(?: ?(?P<p>[AaPp][Mm]))?"
_ZONE = r"(?P<z>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED = "|".join(name for month in _MONTHS for name in (month.title(), month.upper()))
_MONTH = rf"(?P<m>(?:{_NAMED})[A-Za-z]{{0,6}})\.?"
_YEAR, _DAY = r"(?P<y>\d{4})", r"(?P<d>\d{1,2})"
_WEEKDAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?"
_TIME = rf"(?:,? {_CLOCK}(?: ?{_ZONE})?)"


class Num(str):
    """A number kept as the literal it was in the payload (`1.10`, `1e5`, `12345678901234567890.0`)."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """One spelling: its type, the texts it takes, and the order of them."""

    name: str
    """What a stored shape calls it."""
    type: str
    pattern: str
    key: Callable[[str], Any]
    """Sort key of a matching text. Raises ValueError where it only looked like one."""
    plain_order: bool = False
    """True where texts of equal length and ending sort as what they mean."""

    @property
    def one(self) -> re.Pattern[str]:
        """Matches a value."""
        return _whole(self.pattern)

    @property
    def many(self) -> re.Pattern[str]:
        """Matches whole values joined by newlines, so that a batch is checked in one call."""
        return _lines(self.pattern)


# Patterns are compiled on first need: all at once would cost tens of milliseconds where the module is imported.
@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


@cache
def _whole(pattern: str) -> re.Pattern[str]:
    return _compiled(rf" *(?:{pattern}) *")


@cache
def _lines(pattern: str) -> re.Pattern[str]:
    return _compiled(rf"(?> *(?:{pattern}) *\n)++")  # atomic: a line that was read is never read another way


_DIGIT = re.compile("[0-9]")
_BRACKETED = re.compile(r" *\([\d.,]+\) *")
_ONLY_GROUPED = re.compile(rf" *(?:\d+(?:(?:\.\d{{3}})+|(?:,\d{{3}})+|(?:{_GAP}\d{{3}})+)) *")


def number_key(text: str) -> int | Decimal:
    """Value of a number literal, exact."""
    return int(text) if text.strip(" +-").isdecimal() else Decimal(text)


def _pointed_key(text: str) -> int | Decimal:
    """Value of an amount whose decimal sign is a point; of a plain number too."""
    if "e" in text or "E" in text:
        try:
            return number_key(text)
        except ArithmeticError:  # a currency with that letter
            pass
    digits = re.sub(r"[^0-9.]", "", text.replace("kr.", ""))
    return number_key(f"-{digits}" if _is_below_zero(text) else digits)


def _commaed_key(text: str) -> int | Decimal:
    """The same where it is a comma."""
    digits = re.sub(r"[^0-9,]", "", text).replace(",", ".")
    return number_key(f"-{digits}" if _is_below_zero(text) else digits)


def _is_below_zero(text: str) -> bool:
    signs = text.count("-") + text.count("−")
    if signs > 1 or (signs and "+" in text):
        raise ValueError(text)
    return bool(signs) or text.lstrip(" ")[:1] == "("


def affix(text: str) -> str:
    """What an amount is counted in: everything around its digits."""
    return re.sub(r"[0-9.,'’+\-−() \u00a0\u202f\u2009]", "", text.replace("kr.", "kr"))


def _date_key(pattern: str) -> Callable[[str], Any]:
    """Key (has a zone, time in UTC, digits of the second). What has no zone cannot be compared with what has one."""

    def key(text: str) -> Any:
        found = _compiled(pattern).fullmatch(text.strip(" "))
        if found is None:
            raise ValueError(text)
        return _moment(found.groupdict())

    return key


_LAST_CENTURY = 69
"""Years of two digits from here on are of the last century, as POSIX has it."""


def _moment(part: Mapping[str, str | None]) -> tuple[bool, datetime, str]:
    name, hour = part["m"] or "", int(part.get("H") or 0)
    year = int(part["y"] or 0)
    if len(part["y"] or "") == 2:
        year += 1900 if year >= _LAST_CENTURY else 2000
    month = int(name) if name.isdecimal() else _MONTHS.index(name[:3].lower()) + 1
    half = (part.get("p") or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    second, zone = part.get("S") or "0", part.get("z")
    # A leap second sorts after :59 by its digits.
    moment = datetime(year, month, int(part["d"] or 0), hour, int(part.get("M") or 0))
    if zone and zone[0] in "+-":
        shift = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:].lstrip(":") or 0))
        moment = moment - shift if zone[0] == "+" else moment + shift
    return bool(zone), moment, second.zfill(2) + (part.get("f") or "").ljust(9, "0")


def _reading(
    name: str, type_: str, pattern: str, key: Callable[[str], Any] | None = None, plain_order: bool = False
) -> Reading:
    free = re.sub(r"\(\?P<\w+>", "(?:", pattern)
    return Reading(name, type_, free, key or _date_key(pattern), plain_order)


_Y4, _M2, _D2 = r"(?P<y>\d{4})", r"(?P<m>\d\d)", r"(?P<d>\d\d)"
NUMBERS: tuple[Reading, ...] = (
    _reading("int", "int", _INT, int),
    _reading("float", "float", _FLOAT, Decimal),
    _reading("point", "float", rf"{_FLOAT}|{_amount(_POINTED)}", _pointed_key),
    _reading("comma", "float", _amount(_COMMAED), _commaed_key),
)
"""Spellings of numbers. Each of the first three takes what those before it take, as the same numbers; the last one
takes whole numbers alike, but reads `1.234` and `1,234` the other way round.
"""
_DATES: tuple[Reading, ...] = (
    _reading("iso", "date", rf"{_Y4}-{_M2}-{_D2}", plain_order=True),
    _reading("iso_time", "datetime", rf"{_Y4}-{_M2}-{_D2}[T ]{_HOUR}(?: ?{_ZONE})?", plain_order=True),
    _reading("slashed", "date", rf"{_Y4}/{_M2}/{_D2}", plain_order=True),
    _reading("month", "date", r"[12]\d{3}-(?:0[1-9]|1[0-2])", str, plain_order=True),
    _reading("slashed_time", "datetime", rf"{_Y4}/{_M2}/{_D2} {_HOUR}(?: ?{_ZONE})?"),
    _reading("dotted", "date", rf"{_DAY}\.(?P<m>\d{{1,2}})\.{_YEAR}"),
    _reading("dotted_time", "datetime", rf"{_DAY}\.(?P<m>\d{{1,2}})\.{_YEAR}{_TIME}"),
    _reading("basic_time", "datetime", rf"{_Y4}{_M2}{_D2}T(?P<H>\d\d)(?P<M>\d\d)(?P<S>\d\d){_ZONE}?"),
    _reading("day_named", "date", rf"{_WEEKDAY}{_DAY}[ -]{_MONTH}[ -]{_YEAR}"),
    _reading("day_named_short", "date", rf"{_DAY}-{_MONTH}-(?P<y>\d\d)"),
    _reading("named_day", "date", rf"{_WEEKDAY}{_MONTH} +{_DAY},? {_YEAR}"),
    _reading("day_named_time", "datetime", rf"{_WEEKDAY}{_DAY}[ -]{_MONTH}[ -]{_YEAR}{_TIME}"),
    _reading("named_day_time", "datetime", rf"{_WEEKDAY}{_MONTH} +{_DAY},? {_YEAR}{_TIME}"),
    _reading("clock_year", "datetime", rf"{_WEEKDAY}{_MONTH} +{_DAY} {_CLOCK} {_YEAR}(?: {_ZONE})?"),
    _reading("clock_zone_year", "datetime", rf"{_WEEKDAY}{_MONTH} +{_DAY} {_CLOCK} {_ZONE} {_YEAR}"),
    _reading("web", "datetime", rf"{_DAY}/{_MONTH}/{_YEAR}:{_CLOCK} {_ZONE}"),
)
_READINGS = (*NUMBERS, *_DATES)
number_reading = NUMBERS[1]
_DAY_FIRST, _MONTH_FIRST = (
    tuple(
        _reading(f"{name}{dashed}{time}", kind, rf"{first}{sign}{second}{sign}{_YEAR}{clock}")
        for sign, dashed in (("/", ""), ("-", "_dashed"))
        for time, kind, clock in (("", "date", ""), ("_time", "datetime", _TIME))
    )
    for name, first, second in (
        ("day_first", _DAY, r"(?P<m>\d{1,2})"),
        ("month_first", r"(?P<m>\d{1,2})", _DAY),
    )
)


def all_readings() -> tuple[Reading, ...]:
    """Every spelling of numbers and dates, narrow ones before wide ones."""
    return (*_READINGS, *_DAY_FIRST, *_MONTH_FIRST)


@cache
def _looks() -> re.Pattern[str]:
    """Cheap first look: begins and ends as some number or date does."""
    return re.compile(
        rf"(?=.{{0,60}}$) *(?:[-−+.,(\d]|{_CURRENCY}|Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep"
        rf"|Oct|Nov|Dec)(?:.*(?:[\dZCTMm.%)łčr−-]|{_CURRENCY}))? *$"
    )


def fits(reading: Reading, text: str) -> bool:
    """Whether the text is a number or date of this spelling, a possible one."""
    if reading.one.fullmatch(text) is None:
        return False
    try:
        reading.key(text)
    except (ValueError, ArithmeticError, OverflowError):
        return False
    return True


def all_fit(reading: Reading, texts: Sequence[str]) -> bool:
    """The same for a batch, in one pass of the regex engine. A newline inside a text makes it a no."""
    joined = "\n".join(texts)
    return joined.count("\n") == len(texts) - 1 and reading.many.fullmatch(joined + "\n") is not None


def find_reading(counts: Mapping[str, int]) -> Reading | None:
    """The spelling at least four fifths of these texts (with their counts) have, or None.

    Of numbers one that all have: texts with digits that mean something else leave nothing to add up.
    """
    texts = [text for text in counts if text.lower() not in ABSENT]
    probe = texts[:_PROBE]
    for reading in _candidates(texts):
        hits = [text for text in probe if reading.one.fullmatch(text)]
        if 2 * len(hits) < len(probe) or not any(fits(reading, text) for text in hits):
            continue
        if all_fit(reading, texts):
            return reading
        fitting = sum(n for text, n in counts.items() if fits(reading, text))
        if fitting < SHARE * (sum(counts.values()) - count_absent(counts, counts)):
            continue
        if reading not in NUMBERS or not any(has_digit(text) and not fits(reading, text) for text in texts):
            return reading
    return None


def count_absent(texts: Iterable[str], counts: Mapping[str, int] | None) -> int:
    """How many of these texts say that there is no value."""
    absent = [text for text in texts if text.lower() in ABSENT]
    return sum(map(counts.__getitem__, absent)) if counts is not None else len(absent)


def has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None


def is_sure(reading: Reading, texts: Iterable[str]) -> bool:
    """Whether something in texts of this spelling says that they are amounts. `192.168.100.200` may be an address,
    `612 345 678` a telephone number, `(1,2)` a point: digits that are all grouped or in brackets say nothing.
    """
    if reading.name not in ("point", "comma"):
        return True
    return any(
        (_ONLY_GROUPED.fullmatch(text) is None or (reading.name == "point" and "," in text))
        and _BRACKETED.fullmatch(text) is None
        for text in texts
    )


def _candidates(texts: Sequence[str]) -> Iterable[Reading]:
    probe = texts[:_PROBE]
    if 2 * sum(map(bool, map(_looks().match, probe))) < len(probe):
        return
    yield from _READINGS
    parted = [
        re.split("[/-]", text, maxsplit=2) for text in texts if any(one.one.fullmatch(text) for one in _DAY_FIRST)
    ]
    first = max((int(parts[0]) for parts in parted), default=0)
    second = max((int(parts[1]) for parts in parted), default=0)
    # 03/04/2024 is two dates: without a day above 12 in one place and none in the other there is no order.
    if first > 12 >= second:
        yield from _DAY_FIRST
    elif second > 12 >= first:
        yield from _MONTH_FIRST
