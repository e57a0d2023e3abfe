"""Lengths of time as people write them in files: whole seconds, or ISO 8601 (PT30S, P30D). Knows no clock."""

from __future__ import annotations

import re

_ISO = re.compile(
    r"P(?=[0-9T])(?:(?P<weeks>\d{1,6})W)?(?:(?P<days>\d{1,6})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,12})S)?)?"
)
_SECONDS = {"weeks": 604_800, "days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}

HINT = "whole seconds such as 300, or a duration such as PT5M, PT1H or P30D"


def parse_duration(value: object) -> int:
    """Seconds of a duration: an int ≥ 0, or ISO 8601 text in weeks, days, hours, minutes and seconds.

    Years and months have no fixed length and are refused. Raises ValueError with a sentence for a person.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise ValueError(f"a duration cannot be negative; write {HINT}")
        return value
    if isinstance(value, str):
        found = _ISO.fullmatch(value)
        if found is not None and any(found.groups()):
            return sum(int(number) * _SECONDS[unit] for unit, number in found.groupdict(default="0").items())
        if re.fullmatch(r"P.*\d[YM].*", value.partition("T")[0]):
            raise ValueError(f"years and months have no fixed length; write {HINT}")
    raise ValueError(f"not a duration; write {HINT}")
