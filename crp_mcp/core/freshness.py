"""What becomes of an entry that would be used: as it is, with a warning, left out, or called anew (SPEC-029 §4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from .ages import age_text, is_fresh
from .model import Entry, Persistence, Volatility
from .safety import Stale


class Use(StrEnum):
    """What is to be done with an entry."""

    FRESH = "fresh"
    WARN = "warn"
    EXCLUDE = "exclude"
    REINVOKE = "reinvoke"


def is_current(entry: Entry, now: float) -> bool:
    """Within its time to live, and nothing is known that changed it since."""
    return entry.stale_since is None and is_fresh(now - entry.created_at, entry.freshness_ttl)


def plan_use(entry: Entry, now: float, stale: Stale | None, *, may_reinvoke: bool) -> Use:
    """What to do. `stale` is the policy's directive, None where it says nothing: REALTIME is called anew, others warn.

    A call that may not be made anew leaves out a REALTIME entry: an old reading is never just warned about. A pinned
    entry is given with its age whatever its class: somebody asked for it to be kept.
    """
    if is_current(entry, now):
        return Use.FRESH
    realtime = entry.volatility is Volatility.REALTIME
    wanted = stale or (Stale.REINVOKE if realtime else Stale.WARN)
    if wanted is Stale.REINVOKE:
        if may_reinvoke:
            return Use.REINVOKE
        wanted = Stale.EXCLUDE if realtime else Stale.WARN
    if wanted is Stale.EXCLUDE and entry.persistence is not Persistence.PINNED:
        return Use.EXCLUDE
    return Use.WARN


def warning(entry: Entry, now: float) -> str:
    """The note a stale entry is never used without (SPEC-029 §4.2)."""
    age = age_text(now - entry.created_at)
    why = f": {entry.stale_why}" if entry.stale_since is not None and entry.stale_why else ""
    return f"NOTE: This result is from {age} ago and may be outdated{why}"


def needed(entry: Entry, now: float) -> str:
    """What to say in place of an entry that is left out: what to call for fresh data."""
    age = age_text(now - entry.created_at)
    call = call_text(entry.tool_name, entry.tool_call_args)
    return f"{entry.scratch_id} is stale ({age} old) and left out; fresh data needed: {call}"


def call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call for a reader: `read_rows(n=3, table='orders')`, long values cut."""
    return f"{tool}({', '.join(f'{key}={_short(value)}' for key, value in sorted(arguments.items())[:12])})"


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:79]}…"


def shares_a_value(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two calls were about the same thing: an argument value in common that is not trivial."""
    return not _values(one.values()).isdisjoint(_values(other.values()))


def _values(values: Iterable[Any]) -> frozenset[str]:
    found: set[str] = set()
    for value in values:
        if isinstance(value, str) and len(value.strip()) > 1:
            found.add(value.strip())
        elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) > 1:
            found.add(str(value))
        elif isinstance(value, Mapping):
            found |= _values(value.values())
        elif isinstance(value, list | tuple):
            found |= _values(value)
    return frozenset(found)
