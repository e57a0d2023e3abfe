"""Ages and times in words and digits, for a reader. Pure: now is passed in."""

from __future__ import annotations

from datetime import UTC, datetime

_STEPS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def age_text(seconds: float) -> str:
    """`40 s`, `4 min`, `3 h`, `2 d`: the largest whole unit; never negative."""
    whole = max(0, int(seconds))
    for size, unit in _STEPS:
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"


def iso_time(epoch: float) -> str:
    """ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(int(epoch), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_duration(seconds: int) -> str:
    """ISO 8601 duration in seconds: `PT300S`."""
    return f"PT{seconds}S"


def rows_text(rows: int) -> str:
    """`1 row`, `4,300 rows`."""
    return f"{rows:,} row" + ("" if rows == 1 else "s")


def size_text(size: int) -> str:
    """`812 B`, `12.4 KB`, `3.1 MB`: three digits at most."""
    value, unit = float(size), "B"
    for unit in ("B", "KB", "MB", "GB"):
        if value < 999.5 or unit == "GB":
            break
        value /= 1000
    return f"{size} B" if unit == "B" else f"{value:.1f} {unit}" if value < 99.95 else f"{value:.0f} {unit}"


def is_fresh(age: float, ttl: int | None) -> bool:
    """Fresh iff age < TTL; a clock that went backwards reads as stale; no TTL never stales (SPEC-029 §4)."""
    return age >= 0 and (ttl is None or age < ttl)
