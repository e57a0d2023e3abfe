"""The gate of the query process: what SQLite may do there, and how much of it. Standard library alone.

Two locks: the connection is opened read-only on the one cache file, and an authorizer lets SELECT and pure functions
through and nothing else. Everything here runs in a child that its parent can kill.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crp_mcp.core.folding import fold
from crp_mcp.query.functions import LONGEST_PATTERN, add_functions, without_noise

HEAP_BYTES = 256 << 20
MAPPED_BYTES = 256 << 20
"""How much of a file is read where it lies, not copied."""
CACHE_KIB = 32 << 10
SORT_KIB = 160 << 10
LONGEST_VALUE = 32 << 20
"""Bytes of one value: `zeroblob(2e9)` and the like end here."""
STEPS = 20_000
"""Virtual machine steps between two looks at the clock."""

_PURE = """
-> ->> abs acos acosh asin asinh atan atan2 atanh avg bm25 ceil ceiling char coalesce concat concat_ws cos
cosh count cume_dist date datetime degrees dense_rank exact_sum exp first_value floor format glob group_concat
hex highlight ifnull iif instr json json_array json_array_length json_error_position json_extract
json_group_array json_group_object json_insert json_object json_patch json_pretty json_quote json_remove
json_replace json_set json_type json_valid julianday lag last_value lead length like likelihood likely ln log
log10 log2 lower ltrim match max median min mod nth_value ntile nullif octet_length percent_rank percentile
percentile_cont percentile_disc pi pow power printf quote radians rank regexp replace round row_number rtrim
sign sin sinh snippet soundex sqrt strftime string_agg substr substring sum tan tanh time timediff total trim
trunc typeof unhex unicode unixepoch unlikely upper zeroblob
"""
PURE_FUNCTIONS = frozenset(_PURE.split())
TABLE_FUNCTIONS = frozenset({"json_each", "json_tree"})
_OURS = ("sqlite_", "pragma_", "crp_")
_INDEX_PARTS = (".fts", ".fts_data", ".fts_idx", ".fts_docsize", ".fts_config", ".fts_content")
_LIMITS = {
    "SQLITE_LIMIT_LENGTH": LONGEST_VALUE,
    "SQLITE_LIMIT_SQL_LENGTH": 100_000,
    "SQLITE_LIMIT_EXPR_DEPTH": 200,
    "SQLITE_LIMIT_COMPOUND_SELECT": 500,
    "SQLITE_LIMIT_VDBE_OP": 1_000_000,
    "SQLITE_LIMIT_FUNCTION_ARG": 100,
    "SQLITE_LIMIT_ATTACHED": 0,
    "SQLITE_LIMIT_LIKE_PATTERN_LENGTH": LONGEST_PATTERN,
    "SQLITE_LIMIT_VARIABLE_NUMBER": 100,
    "SQLITE_LIMIT_TRIGGER_DEPTH": 1,
    "SQLITE_LIMIT_WORKER_THREADS": 0,
}


@dataclass(slots=True)
class Gate:
    """Decides for one query what SQLite may do, and remembers what was read and what was refused."""

    tables: frozenset[str]
    """Names that may be read, in lower case."""
    modules: frozenset[str] = frozenset()
    """Names of built-in virtual tables: no common table expression is one of them."""
    expressions: frozenset[str] = frozenset()
    """Names of the query's common table expressions, in lower case."""
    named: frozenset[str] = frozenset()
    """What stands where a table may, folded."""
    reads: dict[str, set[str]] = field(default_factory=dict)
    refused: str | None = None

    def __call__(self, action: int, first: str | None, second: str | None, schema: str | None, via: str | None) -> int:
        if action == sqlite3.SQLITE_SELECT or action == sqlite3.SQLITE_RECURSIVE:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            return self._read(str(first), second or "")
        if action == sqlite3.SQLITE_FUNCTION:
            name = fold(str(second))
            return sqlite3.SQLITE_OK if name in PURE_FUNCTIONS else self._refuse(f"the function {name}()")
        if action == sqlite3.SQLITE_PRAGMA and first == "data_version" and second is None:
            return sqlite3.SQLITE_OK  # the full-text index asks this of its own file
        return self._refuse(self._own_table() or _ACTIONS.get(action, "this statement"))

    def _own_table(self) -> str | None:
        """SQLite's own table that the query names: making it known would be what is refused, and says nothing."""
        own = sorted(name for name in self.named - self.tables if name in self.modules or name.startswith(_OURS))
        return f"reading {own[0]}, a table of SQLite's own," if own else None

    def _read(self, table: str, column: str) -> int:
        low = fold(table)
        base = low
        for part in _INDEX_PARTS:
            base = base.removesuffix(part) if low.endswith(part) else base
        if low in self.named and low.endswith(_INDEX_PARTS[1:]) and low not in self.tables:
            return self._refuse(f"reading {table}, a part of the search index,")
        if base in self.tables and not low.startswith(_OURS):
            self.reads.setdefault(base, set()).add(column)
            return sqlite3.SQLITE_OK
        if low in TABLE_FUNCTIONS:
            return sqlite3.SQLITE_OK
        if not column and low in self.expressions - self.modules and not low.startswith(_OURS):
            return sqlite3.SQLITE_OK  # rows of the query's own expression are counted
        return self._refuse(f"reading {table}")

    def _refuse(self, what: str) -> int:
        self.refused = self.refused or what
        return sqlite3.SQLITE_DENY


_ACTIONS = {
    sqlite3.SQLITE_PRAGMA: "PRAGMA",
    sqlite3.SQLITE_ATTACH: "ATTACH",
    sqlite3.SQLITE_DETACH: "DETACH",
    sqlite3.SQLITE_INSERT: "writing, or a table that is no stored result,",
    sqlite3.SQLITE_UPDATE: "writing",
    sqlite3.SQLITE_DELETE: "writing",
    sqlite3.SQLITE_TRANSACTION: "a transaction",
}


def open_connection(path: str) -> sqlite3.Connection:
    """The cache file, read-only, within the limits."""
    db = sqlite3.connect(f"{Path(path).as_uri()}?mode=ro", uri=True, isolation_level=None, cached_statements=0)
    for pragma in (
        "busy_timeout=2000",
        "trusted_schema=OFF",
        "cell_size_check=ON",
        f"mmap_size={MAPPED_BYTES}",
        f"hard_heap_limit={HEAP_BYTES}",
    ):
        db.execute(f"PRAGMA {pragma}").close()
    set_room(db, sorting=False)
    for name, value in _LIMITS.items():
        number = getattr(sqlite3, name, None)
        if number is not None:
            db.setlimit(number, value)
    if hasattr(db, "enable_load_extension"):  # off by default; left out of some builds of Python
        db.enable_load_extension(False)
    for name in sorted(TABLE_FUNCTIONS):  # known to the connection before an authorizer sees it made
        db.execute(f"SELECT 1 FROM {name}('[]')").fetchall()
    add_functions(db)
    return db


def prepare(db: sqlite3.Connection, views: Mapping[str, str]) -> None:
    """Make the names of this query: a temporary view for each, over a table of the file. Needs no authorizer yet.

    `views`: name -> SELECT that stands for it.
    """
    for (name,) in db.execute("SELECT name FROM temp.sqlite_master WHERE type = 'view'").fetchall():
        db.execute(f"DROP VIEW temp.{quote(name)}")
    for name, select in views.items():
        db.execute(f"CREATE TEMP VIEW {quote(name)} AS {select}")


def modules_of(db: sqlite3.Connection) -> frozenset[str]:
    """Names of the virtual tables this SQLite has built in."""
    return frozenset(fold(str(row[0])) for row in db.execute("PRAGMA module_list"))


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def set_room(db: sqlite3.Connection, *, sorting: bool) -> None:
    """Where what a query puts aside is kept: in memory. `sorting`: SQLite sorts as if it had a file for what is more
    than `SORT_KIB`, which costs it half the time; without one it says so then. Drops the names of `prepare`."""
    db.execute(f"PRAGMA temp_store={'FILE' if sorting else 'MEMORY'}").close()
    db.execute(f"PRAGMA cache_size=-{SORT_KIB if sorting else CACHE_KIB}").close()


def run(
    db: sqlite3.Connection, modules: frozenset[str], request: Mapping[str, Any], *, no_files: bool = False
) -> dict[str, Any]:
    """One query; what SQLite or the gate says against it is in the reply. `no_files`: this process can write none."""
    deadline = time.monotonic() + float(request["seconds"])
    if no_files and request["sorts"]:
        set_room(db, sorting=True)
        try:
            prepare(db, request["views"])
            reply = _attempt(db, modules, request, deadline)
        finally:
            set_room(db, sorting=False)
        if reply.get("error") not in _NO_FILE:
            return reply
    prepare(db, request["views"])
    return _attempt(db, modules, request, deadline)


_NO_FILE = ("disk I/O error", "database or disk is full", "unable to open database file")


def _attempt(
    db: sqlite3.Connection, modules: frozenset[str], request: Mapping[str, Any], deadline: float
) -> dict[str, Any]:
    gate = Gate(
        frozenset(fold(name) for name in (*request["tables"], *request["views"])),
        modules - TABLE_FUNCTIONS,
        frozenset(fold(name) for name in request["expressions"]),
        frozenset(request["named"]),
    )
    db.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    db.set_authorizer(gate)
    cursor = db.cursor()
    try:
        cursor.execute(request["sql"])
        reads = {name: sorted(columns) for name, columns in gate.reads.items()}
        return {"ok": True, **_fetch(cursor, request), "reads": reads}
    except sqlite3.Error as error:
        late = time.monotonic() > deadline
        return {"ok": False, "error": str(error), "refused": gate.refused, "late": late}
    finally:
        cursor.close()
        db.set_authorizer(None)
        db.set_progress_handler(None, 0)


def _fetch(cursor: sqlite3.Cursor, request: Mapping[str, Any]) -> dict[str, Any]:
    """Rows as JSON texts, up to the limits; rows beyond them are counted alone."""
    names = [column[0] for column in cursor.description or ()]
    most, room, clean = int(request["rows"]), int(request["bytes"]), bool(request["clean"])
    lines: list[str] = []
    total = 0
    while batch := cursor.fetchmany(500):
        for row in batch:
            total += 1
            if len(lines) >= most or room <= 0:
                most = len(lines)
                continue
            line = json.dumps([_value(cell, clean) for cell in row], ensure_ascii=False, separators=(",", ":"))
            room -= len(line)
            lines.append(line)
    return {"columns": names, "rows": lines, "total": total}


def _value(cell: Any, clean: bool) -> Any:
    if type(cell) is float:
        if not math.isfinite(cell):
            return "Infinity" if cell > 0 else "-Infinity"
        return without_noise(cell) if clean else cell
    return f"x'{cell.hex()}'" if isinstance(cell, bytes) else cell
