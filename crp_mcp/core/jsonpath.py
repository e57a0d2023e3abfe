"""Paths into JSON: `$.items[0].name`, `$['odd key']`, `[*]`, `[-1]`, `[2:5]`, `..key`. Pure.

A subset of RFC 9535 without filters: for those there is SQL. A path without wildcards names at most one value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from crp_mcp.errors import BadRequest

LONGEST = 1_000
MOST = 10_000
"""Values one path may find."""

_STEP = re.compile(
    r"""(?P<deep>\.\.)?(?:
        \.?(?P<star>\*)
      | \.?(?P<name>[^\W\d][\w-]*)
      | \[\s*(?P<index>-?\d{1,9})\s*\]
      | \[\s*(?P<start>-?\d{1,9})?\s*:\s*(?P<stop>-?\d{1,9})?\s*\]
      | \[\s*(?P<all>\*)\s*\]
      | \[\s*'(?P<single>(?:[^'\\]|\\.)*)'\s*\]
      | \[\s*"(?P<double>(?:[^"\\]|\\.)*)"\s*\]
    )""",
    re.X,
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a member's name, an index, a slice, or None for all; `deep`: at any depth below."""

    what: str | int | slice | None
    deep: bool = False

    @property
    def one(self) -> bool:
        return not self.deep and isinstance(self.what, str | int)


def parse_path(text: str) -> tuple[Step, ...]:
    """The steps of a path; a missing `$` at the start is forgiven. Raises BadRequest that points at the fault."""
    if len(text) > LONGEST:
        raise BadRequest(f"path: {len(text)} characters; at most {LONGEST} are allowed")
    bare = text.strip()
    at = 1 if bare.startswith("$") else 0
    if not at and bare and bare[0] not in ".[":
        bare = "." + bare
    steps = []
    while at < len(bare):
        found = _STEP.match(bare, at)
        if found is None or found.end() == at:
            raise BadRequest(
                f"path: cannot be read from {bare[at : at + 30]!r} on; write it like $.items[0].name, $['a key'], [*]"
            )
        steps.append(_step(found))
        at = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> Step:
    part = found.groupdict()
    deep = part["deep"] is not None
    if part["index"] is not None:
        return Step(int(part["index"]), deep)
    for quoted in ("single", "double"):
        if part[quoted] is not None:
            return Step(re.sub(r"\\(.)", r"\1", part[quoted]), deep)
    if part["name"] is not None:
        return Step(part["name"], deep)
    if part["star"] or part["all"]:
        return Step(None, deep)
    start, stop = part["start"], part["stop"]
    return Step(slice(int(start) if start else None, int(stop) if stop else None), deep)


def names_one(steps: Sequence[Step]) -> bool:
    """Whether the path can find one value at most."""
    return all(step.one for step in steps)


def find(value: Any, steps: Sequence[Step]) -> list[Any]:
    """Every value the path finds, in document order. Raises BadRequest for more than `MOST`."""
    found: list[Any] = [value]
    for step in steps:
        found = [item for one in found for item in _take(one, step)]
        if len(found) > MOST:
            raise BadRequest(f"path: it finds more than {MOST} values; narrow it, or use scratch_query")
    return found


def _take(value: Any, step: Step) -> Iterator[Any]:
    if not step.deep:
        yield from _children(value, step.what)
        return
    waiting = [value]
    while waiting:
        node = waiting.pop()
        yield from _children(node, step.what)
        inner = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
        waiting.extend(reversed([item for item in inner if isinstance(item, dict | list)]))


def _children(value: Any, what: str | int | slice | None) -> Iterator[Any]:
    if isinstance(value, dict):
        if isinstance(what, str) and what in value:
            yield value[what]
        elif what is None:
            yield from value.values()
    elif isinstance(value, list):
        if isinstance(what, int) and -len(value) <= what < len(value):
            yield value[what]
        elif isinstance(what, slice):
            yield from value[what]
        elif what is None:
            yield from value


def describe(value: Any) -> str:
    """What a value offers to the next step, for an error."""
    if isinstance(value, dict):
        keys = ", ".join(map(str, list(value)[:30])) or "no members"
        return f"an object with {keys}" + (f" and {len(value) - 30} more" if len(value) > 30 else "")
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "a single value"


def where_lost(value: Any, steps: Sequence[Step]) -> str:
    """How far a path that finds nothing goes, and what is there."""
    reached = value
    for at, step in enumerate(steps):
        found = list(_take(reached, step))
        if not found:
            return f"step {at + 1} finds nothing: there is {describe(reached)}"
        reached = found[0]
    return "it finds nothing"
