"""Dates, times and periods in any usual spelling, with only the fields stated. Knows no clock, no tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from .words import fold, word_list

_MONTHS = {
    name: i + 1
    for i, names in enumerate(
        word_list(
            """january|jan february|feb march|mar april|apr may june|jun july|jul august|aug september|sept|sep
        october|oct november|nov december|dec"""
        )
    )
    for name in names.split("|")
}
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_LONE_MONTH = _MONTH.replace("may", r"may(?! (?:be|have|not|also|well|like|want|need|work|or)\b)").replace(
    "mar(?:ch)?", "march"
)
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)"


@dataclass(frozen=True, slots=True)
class When:
    """A moment or period. None = not stated. A period of years has `year` and `year_end` (inclusive)."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    hour: int | None = None
    minute: int | None = None
    second: float | None = None
    year_end: int | None = None
    literal: str = ""
    start: int = 0
    end: int = 0
    compare: str = "eq"
    """eq, lt (before), gt (after), le, ge, or between (then `until` holds)."""
    until: When | None = None

    @property
    def has_date(self) -> bool:
        return self.year is not None or self.month is not None

    @property
    def has_time(self) -> bool:
        return self.hour is not None

    def order(self) -> tuple[float, ...]:
        """A key by which moments that state the same fields sort in time."""
        parts = (self.year, self.month, self.day, self.hour, self.minute, self.second)
        return tuple(-1.0 if p is None else float(p) for p in parts)


_TIME = r"(?P<H>\d{1,2})(?::(?P<M>\d{2})(?::(?P<S>\d{2}(?:\.\d+)?))?)?\s?(?P<ap>[ap]\.?\s?m\.?(?![a-z]))?"
_ZONE = r"(?:\s?(?:z|utc|gmt|[+-]\d{2}:?\d{2})\b)?"
_PATTERNS = [
    re.compile(p, re.IGNORECASE)
    for p in (
        rf"(?P<y>\d{{4}})-(?P<m>\d{{2}})-(?P<d>\d{{2}})(?:(?:[t ]|, (?:at )?|\s+at\s+){_TIME}{_ZONE})?(?![\d-])",
        r"(?P<y>\d{4})[/.](?P<m>\d{1,2})[/.](?P<d>\d{1,2})(?!\d)",
        r"(?P<a>\d{1,2})[/.](?P<b>\d{1,2})[/.](?P<y>\d{4})(?!\d)",
        rf"(?:{_WEEKDAY},?\s+)?(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?[\s-]+(?P<mon>{_MONTH})\b\.?(?:\s*,?[\s-]*(?P<y>\d{{4}})\b)?(?:,?\s+(?:at\s+)?{_TIME}(?<=[\dmM.]){_ZONE})?",
        rf"(?:{_WEEKDAY},?\s+)?(?P<mon>{_MONTH})\b\.?\s+(?:the\s+)?(?P<d>\d{{1,2}})(?:st|"
        rf"nd|rd|th)?(?![\d:]|\s?[ap]\.?m)(?:\s*,?\s*(?P<y>\d{{4}})\b(?!\s*(?:-|people)\s*\d))?(?:,?\s+(?:at\s+)?(?P<H>\d{{1,2}}):(?P<M>\d{{2}})(?::(?P<S>\d{{2}}))?\s?(?P<ap>[ap]\.?m\.?(?![a-z]))?{_ZONE})?",
        rf"(?P<mon>{_MONTH})\b\.?\s*(?:of\s+|,\s*)?(?P<y>(?:1[0-9]|20)\d{{2}})\b(?!\s*-\s*\d)",
        r"(?P<qual>early|mid|late)?[\s-]*(?:the\s+)?(?P<dec>(?:1[0-9]|20)\d0)['’]?s\b",
        r"(?P<cent>\d{1,2})(?:st|nd|rd|th)[\s-]century",
        r"(?<![\w$€£.,-])(?P<y>(?:1[5-9]|20)\d{2})\s?[-–/]\s?(?P<yy>\d{2})(?![\d/.-])",
        r"q(?P<q>[1-4])[\s,-]*(?P<y>\d{4})?\b",
        r"(?<![\d:.])(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2}(?:\.\d+)?))?\s?(?P<ap>[ap]\.?\s?m\.?(?![a-z]))?(?![\d:])"
        + _ZONE,
        r"(?<![\d:.$])(?P<H>\d{1,2})\s?(?P<ap>[ap]\.?\s?m\.?(?![a-z]))",
        r"(?<![\w$€£.,-])(?P<y>(?:1[4-9]|20)\d{2})(?![\w%]|[.,:]\d)",
        r"\b(?P<mon>" + _LONE_MONTH + r")\b",
    )
]


def _build(match: re.Match[str]) -> When | None:
    g = match.groupdict()
    year = int(g["y"]) if g.get("y") else None
    month = _month(g["mon"]) if g.get("mon") else int(g["m"]) if g.get("m") else None
    day = int(g["d"]) if g.get("d") else None
    year_end = None
    if g.get("dec"):
        year, year_end = _decade(int(g["dec"]), (g.get("qual") or "").lower())
    elif g.get("yy") and year and _is_month(match, year):
        month = int(g["yy"])
    elif g.get("yy") and year:
        year_end = year - year % 100 + int(g["yy"])
        if year_end <= year:
            year_end += 100
        if year_end - year > 15:
            return None
    elif g.get("cent"):
        year, year_end = int(g["cent"]) * 100 - 99, int(g["cent"]) * 100
    elif g.get("q"):
        month = int(g["q"]) * 3 - 2
        return None if year is None else When(year, month, literal=match.group(), start=match.start(), end=match.end(),
                                              until=When(year, month + 2), compare="between")  # fmt: skip
    if g.get("a"):
        month, day = int(g["a"]), int(g["b"])
        if month > 12:
            month, day = day, month
    hour, minute = (int(g["H"]), int(g.get("M") or 0)) if g.get("H") else (None, None)
    if hour is not None and g.get("ap"):
        hour = hour % 12 + (12 if g["ap"].lower().startswith("p") else 0)
    if (month and not 1 <= month <= 12) or (day and not 1 <= day <= 31) or (hour is not None and hour > 24):
        return None
    second = float(g["S"]) if g.get("S") else None
    return When(year, month, day, hour, minute, second, year_end, match.group(), match.start(), match.end())


def _is_month(match: re.Match[str], year: int) -> bool:
    """Whether `2025-03` is a month: what can be no season (`2025-26`) is one."""
    return match.group()[4] == "-" and len(match.group()) == 7 and 1 <= int(match["yy"]) <= 12 and (
        int(match["yy"]) != (year + 1) % 100
    )  # fmt: skip


def _month(name: str) -> int:
    return _MONTHS[fold(name)[:3]] if fold(name)[:3] in _MONTHS else _MONTHS[fold(name)]


def _decade(year: int, qualifier: str) -> tuple[int, int]:
    span = 100 if year % 100 == 0 and year < 2000 else 10
    third = {"early": (0, 0.4), "mid": (0.3, 0.7), "late": (0.6, 1.0)}.get(qualifier, (0.0, 1.0))
    return year + int(span * third[0]), year + int(span * third[1]) - 1


@lru_cache(maxsize=65536)
def find_dates(text: str) -> tuple[When, ...]:
    """Every date, time and period of a text, in order; overlapping spellings are resolved to the fullest one."""
    text = text.replace(" , ", ",  ")
    found: list[When] = []
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if any(w.start < match.end() and match.start() < w.end for w in found) or not match.group().strip():
                continue
            if when := _build(match):
                lead = len(match.group()) - len(match.group().lstrip())
                found.append(replace(when, start=when.start + lead))
    return tuple(sorted(found, key=lambda w: w.start))


_SCAN = re.compile(r"\d|" + _MONTH, re.IGNORECASE)


@lru_cache(maxsize=65536)
def cell_date(text: str) -> When | None:
    """The one moment a cell states, when it states nothing else; None otherwise (bare numbers too)."""
    text = text.strip()
    if len(text) > 60 or not _SCAN.search(text) or text.isdigit():
        return None
    found = find_dates(text)
    if len(found) == 2 and found[0].has_date and not found[0].has_time and found[1].has_time and not found[1].has_date:
        found = (replace(found[1], year=found[0].year, month=found[0].month, day=found[0].day, start=found[0].start),)
    if len(found) != 1:
        return None
    rest = text[: found[0].start] + text[found[0].end :]
    rest = re.sub(
        rf"\b{_WEEKDAY}\b|\([^()]*\)|\[[^\]]*\]|\b(?:utc|gmt|est|edt|pst|pdt|cet|z)\b|[+-]\d{{1,2}}(?::?\d\d)?$",
        "",
        rest,
        flags=re.IGNORECASE,
    )
    return None if re.search(r"[^\W_]", rest) else found[0]


def year_of(value: object) -> int | None:
    """A bare number that can be a year."""
    return value if isinstance(value, int) and 1000 <= value <= 2100 else None


def matches(stated: When, found: When) -> bool | None:
    """Whether a found moment lies in what was stated; None when they have no field in common."""
    if stated.compare != "eq":
        return _relates(stated, found)
    if stated.year_end is not None:
        return None if found.year is None else stated.year is not None and stated.year <= found.year <= stated.year_end
    common = False
    for name in ("year", "month", "day", "hour", "minute", "second"):
        mine, theirs = getattr(stated, name), getattr(found, name)
        if mine is not None and theirs is not None:
            if mine != theirs:
                return False
            common = True
    if (
        not common
        or (stated.has_time and not found.has_time)
        or (stated.day and found.day is None and found.month is None)
    ):
        return None
    if found.year_end is not None and stated.year is not None:
        return None
    return True


def compare(a: When, b: When) -> int | None:
    """-1, 0, 1 in time over the fields both state; None when they share no leading field."""
    fields = ("year", "month", "day", "hour", "minute", "second")
    shared = [f for f in fields if getattr(a, f) is not None and getattr(b, f) is not None]
    if not shared:
        return None
    x, y = [getattr(a, f) for f in shared], [getattr(b, f) for f in shared]
    return (x > y) - (x < y)


def _relates(stated: When, found: When) -> bool | None:
    if stated.compare == "between" and stated.until is not None:
        low, high = compare(found, stated), compare(found, stated.until)
        if low is None or high is None:
            return None
        wraps = stated.year is None and compare(stated, stated.until) == 1
        return (low >= 0 or high <= 0) if wraps else low >= 0 and high <= 0
    order = compare(found, stated)
    if order is None:
        return None
    return {"lt": order < 0, "gt": order > 0, "le": order <= 0, "ge": order >= 0}[stated.compare]


_RANGE_WORDS = re.compile(r"\s*(?:and|to|through|thru|until|till|-|–)\s*(?:the\s)?", re.IGNORECASE)
_RANGE_LEAD = re.compile(r"\b(?:between|from|during)\s*(?:the\s)?(?:years?\s)?$", re.IGNORECASE)
_DATE_BEFORE = [
    (re.compile(p + r"\s*(?:the\s)?(?:year\s)?$", re.IGNORECASE), op)
    for p, op in (
        (r"\b(?:before|prior to|earlier than|preceding)", "lt"),
        (r"\b(?:after|later than|following)", "gt"),
        (r"\b(?:since|starting (?:in|on|from)|as of|from)", "ge"),
        (r"\b(?:until|till|through|by|up to|no later than)", "le"),
    )
]


def claim_dates(text: str) -> list[When]:
    """Dates of a sentence with what stands before them read in: before, after, since, until, between … and."""
    out: list[When] = []
    for when in find_dates(text):
        before = text[max(0, when.start - 24) : when.start]
        last = out[-1] if out else None
        if last and last.compare in ("eq", "ge") and _RANGE_WORDS.fullmatch(text[last.end : when.start]):
            lead_text = text[max(0, last.start - 24) : last.start]
            lead = _RANGE_LEAD.search(lead_text)
            dash = "-" in text[last.end : when.start] or "–" in text[last.end : when.start]
            if lead or last.compare == "ge" or (dash and last.has_date == when.has_date):
                out[-1] = _between(last, when, last.start - (len(lead_text) - lead.start()) if lead else last.start)
                continue
        compare_op, start = when.compare, when.start
        for pattern, op in _DATE_BEFORE if when.compare == "eq" else ():
            if match := pattern.search(before):
                compare_op, start = op, when.start - (len(before) - match.start())
                break
        out.append(replace(when, compare=compare_op, start=start))
    return out


def _between(first: When, last: When, start: int) -> When:
    if first.year is None and last.year is not None:
        first = replace(first, year=last.year)
    if first.day is not None and last.month is None and last.year is None:
        last = replace(last, month=first.month)
    return replace(first, compare="between", until=replace(last, start=0, end=0), start=start, end=last.end)


_CUMULATIVE = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


def days(when: When) -> int | None:
    """Day number of a full date (proleptic Gregorian), for differences."""
    if when.year is None or when.month is None or when.day is None:
        return None
    y, m = when.year - 1, when.month
    leap = when.year % 4 == 0 and (when.year % 100 != 0 or when.year % 400 == 0)
    return y * 365 + y // 4 - y // 100 + y // 400 + _CUMULATIVE[m - 1] + when.day + (leap and m > 2)
