"""One query over stored results: finds what it names, builds the tables it needs, lets a child run it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from crp_mcp.core.model import Entry, Scope
from crp_mcp.core.shape import Shape, shape_from_json
from crp_mcp.errors import BadRequest, NotFound, Refused, StoreError
from crp_mcp.log import log
from crp_mcp.store import Filters, Store, Stub

from .cache import Cache, Table, Vanished, scope_file
from .mistakes import explain, quoted_mistake, refused, stopped
from .rewrite import Decimals, computes, fix_match, fix_sums, sum_exactly
from .sandbox import Sandbox, Stopped
from .sql import Statement, fix_now, join_dotted, quote, read_statement, restore_names

SECONDS = 5.0
MOST_ROWS = 20_000
MOST_BYTES = 8 << 20
MOST_TABLES = 16
LATEST = "latest"
_DAMAGE = ("malformed", "not a database", "disk I/O error", "[Errno 2]")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query gave. `rows`: one JSON list each; `total` counts also those beyond the limits."""

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    total: int
    inputs: tuple[Entry, ...]
    """What was read, the oldest capture first."""
    converted: tuple[tuple[str, str], ...] = ()
    """(column, column with the original text) of columns that were read and had been converted."""


@dataclass(slots=True)
class _Names:
    """The names of one query: what each stands for."""

    entries: dict[str, Entry] = field(default_factory=dict)
    """Name as written, in lower case -> entry."""
    gone: dict[str, str] = field(default_factory=dict)


class _Damaged(StoreError):
    """The cache file is not what it was built as."""


class Desk:
    """Queries over one store. Safe from several threads. `folder` holds the cache files."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        sandbox: Sandbox | None = None,
        seconds: float = SECONDS,
        check: Callable[[Scope, Entry], object] | None = None,
        clears: Callable[[Scope, Entry], bool] | None = None,
    ) -> None:
        """`check` raises for a result that may not be read by a scope; `clears` only tells."""
        self._check = check
        self._clears = clears
        self._store = store
        self._folder = folder
        self._sandbox = sandbox or Sandbox()
        self._seconds = seconds
        self._caches: dict[Path, Cache] = {}
        self._lock = Lock()

    def query(self, scope: Scope, sql: str, now: float) -> Answer:
        """Run one SELECT. `now`: epoch seconds, what the query's current time is.

        Raises:
            BadRequest: what is wrong with the query, with the names that exist. Refused: what is not allowed.
        """
        try:
            return self._run(scope, sql, now)
        except _Damaged:
            self.cache(scope).discard()
        except Vanished as gone:
            log("info", "tables_vanished", reason=str(gone))
        return self._run(scope, sql, now)

    def grep(self, pattern: str, pieces: Any, *, context: int, offset: int, most: int) -> dict[str, Any]:
        """Lines of a text in which a pattern is found. Raises BadRequest for a bad pattern, Refused for a slow one."""
        request = {"op": "grep", "pattern": pattern, "context": context, "offset": offset, "most": most}
        try:
            reply = self._sandbox.ask(request, seconds=self._seconds, feed=pieces)
        except Stopped as error:
            if str(error) == "late":
                raise Refused(f"the pattern was stopped after {self._seconds:g} s; make it simpler") from None
            raise Refused("the pattern needed too much memory and was stopped; make it simpler") from None
        if not reply.get("ok"):
            raise BadRequest(f"grep: {reply.get('error')}")
        return reply

    def cache(self, scope: Scope) -> Cache:
        """The cache of derived tables of tenant + project."""
        path = scope_file(self._folder, scope)
        with self._lock:
            if path not in self._caches:
                self._caches[path] = Cache(path)
            return self._caches[path]

    def forget(self, scope: Scope, scratch_ids: Sequence[str]) -> bool:
        """Remove what was derived from these results. False: another process still reads it; ask again."""
        return self.cache(scope).forget(scratch_ids)

    def sweep(self) -> int:
        """Remove tables of results that are gone; how many results those were."""
        removed = 0
        for scope in self._store.spaces():
            if not scope_file(self._folder, scope).exists():
                continue
            cache = self.cache(scope)
            gone = [one for one in cache.results() if not self._is_there(scope, one)]
            if gone:
                cache.forget(gone)
                removed += len(gone)
        return removed

    def close(self) -> None:
        self._sandbox.close()
        for cache in self._caches.values():
            cache.close()

    # -- inside

    def _run(self, scope: Scope, sql: str, now: float) -> Answer:
        statement = read_statement(sql)
        names = self._resolve(scope, statement)
        cache = self.cache(scope)
        cache.touch()
        tables = self._build(cache, names, statement)
        by_name = _views(names, tables)
        join_dotted(statement, lambda name: _known(name, by_name))
        fix_now(statement, time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now)))
        used = _used(statement, by_name)
        if mistake := quoted_mistake(statement.in_quotes(), used):
            raise BadRequest(f"sql: {mistake}")
        searched = fix_match(statement, {name.lower() for table in used for name, _, _ in table.columns})
        for table in used:
            if searched and table.text:
                cache.ensure_index(table)
        self._fix_sums(cache, statement, used)
        request = self._request(cache, statement, by_name, used, searched)
        reply = self._ask(request)
        if reply.get("error") == "integer overflow":
            sum_exactly(statement)
            reply = self._ask({**request, "sql": statement.text()})
        if not reply.get("ok"):
            raise self._fault(reply, scope, used, names, searched)
        return _answer(reply, statement, tables, names)

    def _is_there(self, scope: Scope, scratch_id: str) -> bool:
        try:
            return not isinstance(self._store.get(scope, scratch_id), Stub)
        except NotFound:
            return False

    def _resolve(self, scope: Scope, statement: Statement) -> _Names:
        names = _Names()
        for name in statement.sources():
            low = name.lower()
            if low in names.entries:
                continue
            entry = self._find(scope, name, names)
            if entry is not None:
                names.entries[low] = entry
            if len(names.entries) > MOST_TABLES:
                raise BadRequest(f"sql: it names more than {MOST_TABLES} stored results; join fewer at a time")
        return names

    def _find(self, scope: Scope, name: str, names: _Names) -> Entry | None:
        for reference in dict.fromkeys((name, name.lower())):
            try:
                found = self._store.get(scope, reference)
            except NotFound:
                continue
            if isinstance(found, Stub):
                names.gone[name.lower()] = f"{found.scratch_id} is gone ({found.why})"
                self.cache(scope).forget([found.scratch_id])
                continue
            return self._allowed(scope, found)
        if name.lower() == LATEST:
            latest = self._store.latest(scope)
            newest = self._store.get(scope, latest.scratch_id) if latest else None
            return self._allowed(scope, newest) if isinstance(newest, Entry) else None
        dot = name.find(".")
        return self._find(scope, name[:dot], names) if dot > 0 else None

    def _allowed(self, scope: Scope, entry: Entry) -> Entry:
        if self._check is not None:
            self._check(scope, entry)
        return entry

    def _build(self, cache: Cache, names: _Names, statement: Statement) -> dict[str, tuple[Table, ...]]:
        """Tables of every named result, by scratch_id."""
        wanted = {entry.scratch_id: entry for entry in names.entries.values()}
        cache.make_room(wanted)
        parts = any(token.text == "." or "." in token.name for token in statement.tokens)
        tables: dict[str, tuple[Table, ...]] = {}
        for scratch_id, entry in wanted.items():
            deep = parts and _mentions_parts(statement, names, scratch_id)

            def payload(entry: Entry = entry) -> Any:
                return self._store.open_reader(entry.payload_id)

            def shape(entry: Entry = entry) -> Shape:
                return shape_from_json(entry.structured or {"kind": "text", "source": "text"})

            tables[scratch_id] = cache.ensure(entry, shape, payload, parts=deep)
            if not tables[scratch_id]:
                raise BadRequest(f"sql: {scratch_id} is {entry.kind.value}, it has no table; see its summary")
        return tables

    def _fix_sums(self, cache: Cache, statement: Statement, used: Sequence[Table]) -> None:
        kinds: dict[str, str] = {}
        for table in used:
            for name, kind, beside in table.columns:
                low = name.lower()
                kinds[low] = "float" if "float" in (kind, kinds.get(low)) else kind
                if beside:
                    kinds.setdefault(beside.lower(), "text")

        def digits(column: str) -> Decimals | None:
            found = [
                cache.decimals(table, name)
                for table in used
                for name, kind, _ in table.columns
                if name.lower() == column.lower() and kind == "float"
            ]
            known = [one for one in found if one is not None]
            return max(known) if found and len(known) == len(found) else None

        fix_sums(statement, kinds, digits)

    def _request(
        self, cache: Cache, statement: Statement, by_name: dict[str, Table], used: Sequence[Table], searched: bool
    ) -> dict[str, Any]:
        views = {}
        for name, table in by_name.items():
            indexed = searched and table.text
            if name != table.name.lower() or indexed:
                views[name] = _select(table, indexed)
        return {
            "op": "query",
            "path": str(cache.path),
            "sql": statement.text(),
            "views": views,
            "tables": sorted({table.name for table in by_name.values()}),
            "expressions": _expressions(statement),
            "rows": MOST_ROWS,
            "bytes": MOST_BYTES,
            "clean": computes(statement),
        }

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._sandbox.ask(request, seconds=self._seconds)
        except Stopped as error:
            return {"ok": False, "stopped": str(error)}

    def _fault(
        self, reply: dict[str, Any], scope: Scope, used: Sequence[Table], names: _Names, searched: bool
    ) -> Exception:
        if reply.get("stopped") or reply.get("late"):
            return Refused(stopped(self._seconds, reply.get("stopped") or "late"))
        if reply.get("refused"):
            return Refused(refused(str(reply["refused"])))
        error = str(reply.get("error"))
        if any(sign in error for sign in _DAMAGE):
            return _Damaged(error)
        if any(
            error == f"no such table: main.{table.name}" or error == f"no such table: {table.name}" for table in used
        ):
            return Vanished(error)
        if error == "out of memory":
            return Refused(stopped(self._seconds, "memory"))
        for name, why in names.gone.items():
            if name in error.lower():
                return NotFound(why)
        return BadRequest(f"sql: {explain(error, used, self._listed(scope, used), reply.get('pattern'), searched)}")

    def _listed(self, scope: Scope, used: Sequence[Table]) -> list[str]:
        """Names a query may use: what was captured last in this conversation, and what is pinned."""
        recent = self._store.list(scope, limit=20).entries
        pinned = self._store.list(scope, filters=Filters(pinned=True), limit=20, within="project").entries
        shown = [entry for entry in (*pinned, *recent) if self._clears is None or self._clears(scope, entry)]
        found = [name for entry in shown for name in (entry.name, entry.scratch_id) if name]
        latest = [LATEST] if self._store.latest(scope) is not None else []
        return list(dict.fromkeys([*(table.name for table in used), *found, *latest]))


def _views(names: _Names, tables: dict[str, tuple[Table, ...]]) -> dict[str, Table]:
    """Every name a query may use, in lower case -> table. Parts are `<name>.<part>` under each name of their result."""
    found: dict[str, Table] = {}
    for name, entry in names.entries.items():
        base = name.partition(".")[0] if name.partition(".")[0] in _own_names(entry) else name
        for table in tables[entry.scratch_id]:
            suffix = table.name[len(entry.scratch_id) :].lower()
            found[base + suffix] = table
            found[table.name.lower()] = table
    return found


def _own_names(entry: Entry) -> set[str]:
    return {entry.scratch_id.lower(), (entry.name or "").lower(), LATEST}


def _known(name: str, by_name: dict[str, Table]) -> str | None:
    low = name.lower()
    return low if low in by_name else None


def _mentions_parts(statement: Statement, names: _Names, scratch_id: str) -> bool:
    own = {name.partition(".")[0] for name, entry in names.entries.items() if entry.scratch_id == scratch_id} | {
        name for name, entry in names.entries.items() if entry.scratch_id == scratch_id
    }
    tokens = statement.tokens
    for at, token in enumerate(tokens):
        if token.name.lower() in own and at + 1 < len(tokens) and tokens[at + 1].text == ".":
            return True
        if "." in token.name and token.name.lower().partition(".")[0] in own:
            return True
    return False


def _used(statement: Statement, by_name: dict[str, Table]) -> list[Table]:
    found = [by_name[token.name.lower()] for token in statement.tokens if token.name.lower() in by_name]
    return list({table.name: table for table in found}.values())


def _select(table: Table, indexed: bool) -> str:
    if not indexed:
        return f"SELECT * FROM main.{quote(table.name)}"
    columns = ", ".join(quote(name) for name, _, _ in table.columns if name != "line_no")
    return f"SELECT rowid AS line_no, {columns} FROM main.{quote(table.name + '.fts')}"


def _expressions(statement: Statement) -> list[str]:
    """Names of common table expressions: those before `AS (`, and before `(columns) AS (`."""
    tokens, found = statement.tokens, []
    for at, token in enumerate(tokens):
        if token.kind != "word" or token.low != "as" or at == 0:
            continue
        after = [one.low for one in tokens[at + 1 : at + 3]]
        if "(" not in after[:1] and after[:1] not in (["materialized"], ["not"]):
            continue
        back = at - 1
        if tokens[back].text == ")":
            while back > 0 and tokens[back].text != "(":
                back -= 1
            back -= 1
        if back >= 0 and tokens[back].name:
            found.append(tokens[back].name)
    return found


def _answer(reply: dict[str, Any], statement: Statement, tables: dict[str, tuple[Table, ...]], names: _Names) -> Answer:
    reads = {name.lower(): set(columns) for name, columns in reply["reads"].items()}
    inputs: dict[str, Entry] = {}
    converted: dict[str, str] = {}
    for entry in names.entries.values():
        for table in tables[entry.scratch_id]:
            read = reads.get(table.name.lower())
            if read is None:
                continue
            inputs[entry.scratch_id] = entry
            converted.update({name: beside for name, _, beside in table.columns if beside and name in read})
    for entry in names.entries.values():  # SQLite does not say that JOIN ... USING reads the table it joins
        inputs[entry.scratch_id] = entry
    columns = unique(restore_names(statement, reply["columns"]))
    ordered = sorted(inputs.values(), key=lambda entry: (entry.created_at, entry.scratch_id))
    return Answer(columns, tuple(reply["rows"]), reply["total"], tuple(ordered), tuple(converted.items()))


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """The names with a number where one comes twice."""
    found: list[str] = []
    for name in names:
        number, free = 1, name
        while free in found:
            number += 1
            free = f"{name}_{number}"
        found.append(free)
    return tuple(found)
