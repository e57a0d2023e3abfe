"""What to say of a query that failed: what is allowed, which names exist, the nearest to the wrong one. Pure."""

from __future__ import annotations

import difflib
import re
import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache

from crp_mcp.core.folding import fold

from .catalogue import Table
from .functions import add_functions
from .gate import PURE_FUNCTIONS

ALLOWED = (
    "allowed is one SELECT over stored results, by scratch_id, pinned name or latest, "
    "with SQLite's pure functions, REGEXP and, on text, MATCH"
)
_MOST = 30
_NEAR = 3


def refused(what: str) -> str:
    """A refusal, with what is allowed."""
    return f"{what} is not allowed here; {ALLOWED}"


def stopped(seconds: float, why: str) -> str:
    """A query that was ended."""
    if why == "late":
        return (
            f"the query was stopped after {seconds:g} s; narrow it with WHERE, join on equal columns, or aggregate less"
        )
    if why == "died":
        return "the query's process ended meanwhile, most likely for want of memory; return fewer or shorter values"
    return "the query needed more memory than it may have and was stopped; return fewer or shorter values"


def explain(
    error: str,
    tables: Sequence[Table],
    names: Sequence[str],
    pattern: str | None,
    searched: bool = False,
    instead: Sequence[str] = (),
) -> str:
    """SQLite's message, with the names that exist and the nearest to a wrong one.

    `instead`: how to say here what its words say in other dialects.
    """
    if pattern:
        return pattern
    said = _meant(error, tables) or list(instead)
    if not said:
        return _explain(error, tables, names, searched)
    if error.startswith(("no such column", "no such table")):
        return f"{_explain(error, tables, names, searched)}; in SQLite: {'; '.join(said)}"
    return f"{error}. In SQLite: {'; '.join(said)}. {describe(tables)}".rstrip()


def _explain(error: str, tables: Sequence[Table], names: Sequence[str], searched: bool) -> str:
    if searched and "no such column" in error and not any(table.text for table in tables):
        error = re.sub(r"no such column: (?:\S+\.)?(text)$", r"no such column: \1", error)
        return f"{error}; MATCH works on texts and logs; here use LIKE or REGEXP on a column. {describe(tables)}"
    if searched and (error.startswith(("no such column", "fts5:")) or "unterminated" in error):
        return f"{error}; in MATCH, put words with signs in double quotes: MATCH '\"a-b\"'. {describe(tables)}"
    column = re.search(r"no such column: (.+)", error)
    if column:
        return f"{error}{_near(column[1], _columns(tables))}; {describe(tables) or 'there is no FROM with a table'}"
    table = re.search(r"no such table: (.+)", error)
    if table:
        listed = f"tables: {', '.join(names[:_MOST])}" if names else "nothing is stored yet"
        more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
        return f"{error}{_near(table[1], names)}; {listed}{more}; scratch_list says what they are"
    function = re.search(r"no such function: (.+)", error)
    if function:
        return f"{error}{_near(function[1], functions())}; {ALLOWED}"
    if "too big" in error:
        return f"{error}: a value or a query may be so large only; return less"
    if "MATCH" in error and any(table.text for table in tables):
        return f"{error}; here it needs a text in quotes, and line_no (of a stream _chunk as well) in the inner SELECT"
    if "MATCH" in error:
        return f"{error}; MATCH works on the text of logs and texts; elsewhere use LIKE or REGEXP"
    return f"{error}. {describe(tables)}" if tables else error


_MEANT = {
    "distinct aggregates": (
        "group_concat(x, '; ') FROM (SELECT DISTINCT x FROM t); of several: count(*) FROM (SELECT DISTINCT a, b FROM t)"
    ),
    "wrong number of arguments to function count": "count(*) FROM (SELECT DISTINCT a, b FROM t)",
}
"""Beginnings of messages -> what those who wrote such a query wanted."""


def _meant(error: str, tables: Sequence[Table]) -> list[str]:
    column = re.match(r"no such column: (.+)", error)
    found = (_dotted(column[1], tables) or _nested(column[1], tables)) if column else None
    return [found] if found else [said for begin, said in _MEANT.items() if error.lower().startswith(begin)]


def _dotted(wrong: str, tables: Sequence[Table]) -> str | None:
    """The column `a.b`, which only quotes keep from being `b` of `a`."""
    found = next((name for name in _columns(tables) if fold(name) == fold(wrong)), None)
    return f'a dot in a name needs quotes: "{found}"' if found is not None else None


def _nested(wrong: str, tables: Sequence[Table]) -> str | None:
    """`meta.who.name` as a path into the column `meta`, where that has objects."""
    parts = wrong.split(".")
    nested = {fold(name): name for table in tables for name, kind, _ in table.columns if kind == "json"}
    for at, part in enumerate(parts[:-1]):
        if fold(part) in nested:
            return f"{nested[fold(part)]} ->> '$.{'.'.join(parts[at + 1 :])}'"
    return None


@cache
def functions() -> tuple[str, ...]:
    """The allowed functions that this SQLite has."""
    db = sqlite3.connect(":memory:")
    add_functions(db)
    there = {str(row[0]) for row in db.execute("SELECT name FROM pragma_function_list")}
    db.close()
    return tuple(sorted(PURE_FUNCTIONS & there - {"exact_sum"}))


def quoted_mistake(quoted: Iterable[str], tables: Sequence[Table]) -> str | None:
    """A name in double quotes that no table has but that is nearly one: SQLite would take it for a text."""
    columns = _columns(tables)
    folded, known = set(map(fold, columns)), {name.lower() for name in columns}
    for name in quoted:
        if fold(name) not in folded and difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.8):
            return f"no such column: {name}{_near(name, columns)}; {describe(tables)}"
    return None


def describe(tables: Sequence[Table]) -> str:
    """Tables and their columns."""
    return "; ".join(f"{table.name} has {_listed(name for name, _, _ in table.columns)}" for table in tables[:5])


def _listed(names: Iterable[str]) -> str:
    all_names = list(names)
    more = f" and {len(all_names) - _MOST} more" if len(all_names) > _MOST else ""
    return ", ".join(all_names[:_MOST]) + more


def _columns(tables: Sequence[Table]) -> list[str]:
    return [name for table in tables for name, _, _ in table.columns]


def _near(wrong: str, names: Iterable[str]) -> str:
    """The nearest names to a wrong one, the nearest first: to all of it, or to what follows its last dot."""
    whole = wrong.strip().strip("\"'`[]").lower()
    lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(whole, lower, n=_NEAR, cutoff=0.6)
    near = near or difflib.get_close_matches(whole.rpartition(".")[2], lower, n=_NEAR, cutoff=0.5)
    *first, last = [lower[name] for name in near] or [""]
    return f"; did you mean {', '.join(first)}{' or ' if first else ''}{last}?" if last else ""
