"""What an answer must say of the columns it read: what was found of each, and the sentences for it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Findings:
    """Columns, as the source names them, that an answer must say something of."""

    mixed: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    wide: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    reckoned: list[str] = field(default_factory=list)
    shifted: list[str] = field(default_factory=list)
    spelled: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    months: list[str] = field(default_factory=list)
    grouped: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Column -> (a text, what it was read as): it could be read the other way too."""
    lost: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Column -> (how many of its texts became null, the column that has them)."""


def notes(found: Findings) -> list[str]:
    """What to say of them."""
    said = [
        f"{', '.join(dict.fromkeys(names))}: {what}"
        for names, what in (
            (found.mixed, _MIXED),
            (found.texts, _TEXTS),
            (found.wide, _WIDE),
            (found.dates, _DATE_TEXTS),
            (found.words, _WORDS),
            (found.flags, _FLAGS),
            (found.reckoned, _RECKONED),
            (found.shifted, SHIFTED),
            (found.spelled, _SPELLED),
            (found.foreign, _FOREIGN),
            (found.months, _MONTHS),
        )
        if names
    ]
    said += [
        f"{name}: {text} was read as {value}; {_doubt(text, value)}" for name, (text, value) in found.grouped.items()
    ]
    return said + _lost(found.lost)


def _doubt(text: str, value: str) -> str:
    if text != value and text.rstrip("0") == value and text[-4:-3] not in (".", ","):
        return "if these are versions, use the texts: as numbers 1.1 and 1.10 are one"
    return "nothing in the column says whether its sign groups thousands or begins a fraction"


_MIXED = (
    "numbers and texts stand in it; SQL puts every number before every text, and adds a text as the number it begins "
    "with"
)
_TEXTS = (
    "texts, not all of them numbers in one spelling; they were not converted, so this did not add or compare them as "
    "numbers"
)
_WIDE = (
    "whole numbers beyond 64 bits stay texts: SQL compares them digit by digit, a longer one may come first, and "
    "+ - * / round them; in order they are with ORDER BY length(x), x"
)
_DATE_TEXTS = (
    "dates that were not converted, as they can be read in more than one way; this compared them as texts, and date "
    "functions give null"
)
_WORDS = (
    "the words as they stand in the source, not 1 and 0; compare with = 'true' in that spelling, or count such rows"
)


_FLAGS = "true and false are 1 and 0 here, so no row equals the words; compare with = 1 or = 0"
_RECKONED = "texts, of which + - * / took the numbers they begin with, or 0; texts are joined with ||"
SHIFTED = (
    "a date is a text, and + and - take its year alone; days between are julianday(a) - julianday(b), a day before is "
    "date(d, '-1 day')"
)
_SPELLED = (
    "one side of a comparison has a T between date and time, the other a blank, so that times of one day are not "
    "compared rightly; put datetime() around both"
)
_MONTHS = "months without a day, of which date functions make null; give them one: date(d || '-01')"
_FOREIGN = "its dates are written like 2024-05-31, and what they were compared with is not"


def _lost(lost: Mapping[str, tuple[int, str]]) -> list[str]:
    return [
        f"{name}: {count:,} text{'' if count == 1 else 's'} that could not be read so {'is' if count == 1 else 'are'} "
        f"null in it (see {beside})"
        for name, (count, beside) in lost.items()
    ]
