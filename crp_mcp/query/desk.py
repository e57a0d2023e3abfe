"""One query over stored results: finds what it names, builds the tables it needs, lets a child run it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from crp_mcp.core.folding import fold
from crp_mcp.core.model import Entry, Scope
from crp_mcp.core.shape import Shape, shape_from_json
from crp_mcp.errors import BadRequest, NotFound, Refused
from crp_mcp.log import log
from crp_mcp.store import Store, Stub

from .answers import Answer, answer_of, expressions, reads_of
from .cache import Cache, Damaged, Vanished, is_damage
from .cache_file import scope_file
from .catalogue import Table
from .dialects import advice, use_own_names
from .findings import notes
from .mistakes import explain, quoted_mistake, refused, stopped
from .moments import find_slips
from .names import Names, Resolver
from .noticing import find_findings
from .rewrite import Decimals, adds, computes, fix_match, fix_sums, only_sorts, sum_exactly
from .sandbox import Sandbox, Stopped
from .searches import REFUSED, find_apart
from .sql import Statement, fix_now, join_dotted, read_statement, selects_all
from .views import base_tables, hidden_sums, table_names, used_tables, view_of

SECONDS = 5.0
MOST_ROWS = 20_000
MOST_BYTES = 8 << 20


class Desk:
    """Queries over one store. Safe from several threads. `folder` holds the cache files."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        sandbox: Sandbox | None = None,
        seconds: float = SECONDS,
        check: Callable[[Scope, Entry], object] | None = None,
        clears: Callable[[Scope, Entry | Stub], bool] | None = None,
    ) -> None:
        """`check` raises for a result that may not be read by a scope; `clears` only tells."""
        self._store = store
        self._names = Resolver(store, check, clears, self.forget)
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
        except Damaged as harm:
            log("info", "tables_damaged", reason=str(harm))
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
        names = self._names.resolve(scope, statement)
        cache = self.cache(scope)
        cache.touch()
        tables = self._build(cache, names, statement)
        by_name = table_names(names, tables)
        join_dotted(statement, lambda name: _known(name, by_name))
        fix_now(statement, time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now)))
        use_own_names(statement)
        used = used_tables(statement, by_name)
        if mistake := quoted_mistake(statement.in_quotes(), used):
            raise BadRequest(f"sql: {mistake}")
        searched = fix_match(statement, {fold(name) for table in used for name, _, _ in table.columns})
        for table in base_tables(used):
            if searched and table.text:
                cache.ensure_index(table)
        request = self._request(cache, statement, by_name, searched)
        plain = Statement(list(statement.tokens), dict(statement.renamed))
        if adds(statement):
            self._fix_sums(cache, statement, used)
        reply = self._ask({**request, "sql": statement.text()})
        if reply.get("error") == "integer overflow":
            statement = plain
            sum_exactly(statement)
            reply = self._ask({**request, "sql": statement.text()})
        if searched and str(reply.get("error")).startswith(REFUSED):
            statement, reply = self._find_apart(cache, plain, by_name) or (statement, reply)
        if not reply.get("ok"):
            raise self._fault(reply, scope, used, names, searched, advice(plain.tokens))
        reads = reads_of(reply["reads"], plain, used)
        converted = {
            name: second for table in used for name, _, second in table.columns if second and name in reads(table)
        }
        cautions = [*notes(find_findings(cache, plain, used, reads)), *find_slips(plain.tokens)]
        return replace(answer_of(reply, statement, names), converted=tuple(converted.items()), cautions=tuple(cautions))

    def _is_there(self, scope: Scope, scratch_id: str) -> bool:
        try:
            return not isinstance(self._store.get(scope, scratch_id), Stub)
        except NotFound:
            return False

    def _build(self, cache: Cache, names: Names, statement: Statement) -> dict[str, tuple[Table, ...]]:
        """Tables of every named result, by scratch_id."""
        wanted = names.all_entries()
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
        bare = [entry for entry in names.entries.values() if not tables[entry.scratch_id]]
        if bare:
            kind = bare[0].kind.value
            raise BadRequest(f"sql: {bare[0].scratch_id} is {kind}, it has no table; see its summary")
        return tables

    def _fix_sums(self, cache: Cache, statement: Statement, used: Sequence[Table]) -> None:
        kinds: dict[str, str] = {}
        for table in used:
            for name, kind, beside in table.columns:
                low = fold(name)
                kinds[low] = "float" if "float" in (kind, kinds.get(low)) else kind
                if beside:
                    kinds.setdefault(fold(beside), "text")

        def digits(column: str) -> Decimals | None:
            found = [
                cache.decimals(table, name)
                for table in base_tables(used)
                for name, kind, _ in table.columns
                if fold(name) == fold(column) and kind in ("float", "int")
            ]
            known = [one for one in found if one is not None]
            if not known or len(known) < len(found):
                return None
            most = max(one.digits for one in known)
            return Decimals(most, sum(one.count for one in known), sum(one.size for one in known))

        hidden = {} if selects_all(statement.tokens) else hidden_sums(used)
        fix_sums(statement, kinds, digits, hidden)

    def _request(self, cache: Cache, statement: Statement, by_name: dict[str, Table], searched: bool) -> dict[str, Any]:
        views = {name: view_of(name, table, statement, searched) for name, table in by_name.items()}
        return {
            "op": "query",
            "path": str(cache.path),
            "views": {name: view for name, view in views.items() if view is not None},
            "tables": sorted({table.name for table in base_tables(list(by_name.values()))}),
            "expressions": expressions(statement),
            "named": sorted(map(fold, statement.sources())),
            "rows": MOST_ROWS,
            "bytes": MOST_BYTES,
            "clean": computes(statement),
            "sorts": only_sorts(statement),
        }

    def _find_apart(
        self, cache: Cache, statement: Statement, by_name: dict[str, Table]
    ) -> tuple[Statement, dict[str, Any]] | None:
        """The query with its searches put apart from the rest, and the reply to it; None where that does not help."""
        apart, found = find_apart(statement, by_name)
        request = self._request(cache, apart, by_name, searched=False)
        reply = self._ask({**request, "views": {**request["views"], **found}, "sql": apart.text()})
        lacks = re.match(r"no such column: (?:.*\.)?(?:line_no|_chunk)|unable to use", str(reply.get("error")))
        return None if lacks else (apart, reply)

    def _ask(self, request: dict[str, Any], *, again: bool = True) -> dict[str, Any]:
        try:
            return self._sandbox.ask(request, seconds=self._seconds)
        except Stopped as error:
            if str(error) == "died" and again:  # a file cut short while it is read does that; a new process sees it
                return self._ask(request, again=False)
            return {"ok": False, "stopped": str(error)}

    def _fault(
        self,
        reply: dict[str, Any],
        scope: Scope,
        used: Sequence[Table],
        names: Names,
        searched: bool,
        instead: Sequence[str],
    ) -> Exception:
        if reply.get("stopped") or reply.get("late"):
            return Refused(stopped(self._seconds, reply.get("stopped") or "late"))
        error = str(reply.get("error"))
        for name, why in names.gone.items():  # first: a connection that knew its table calls it one of somebody else's
            if name in fold(str(reply.get("refused") or error)):
                return NotFound(why)
        if reply.get("refused"):
            return Refused("; ".join([refused(str(reply["refused"])), *instead]))
        if is_damage(error):
            return Damaged(error)
        if any(error in (f"no such table: main.{one.name}", f"no such table: {one.name}") for one in base_tables(used)):
            return Vanished(error)
        if error == "out of memory":
            return Refused(stopped(self._seconds, "memory"))
        parts = [table for one in names.entries.values() for table in self.cache(scope).tables(one.scratch_id)]
        listed = list(dict.fromkeys([*(table.name for table in (*used, *parts)), *self._names.listed(scope)]))
        return BadRequest(f"sql: {explain(error, used, listed, reply.get('pattern'), searched, instead)}")


def _known(name: str, by_name: dict[str, Table]) -> str | None:
    low = fold(name)
    return low if low in by_name else None


def _mentions_parts(statement: Statement, names: Names, scratch_id: str) -> bool:
    own = {name.partition(".")[0] for name, entry in names.entries.items() if entry.scratch_id == scratch_id} | {
        name for name, entry in names.entries.items() if entry.scratch_id == scratch_id
    }
    tokens = statement.tokens
    for at, token in enumerate(tokens):
        if token.key in own and at + 1 < len(tokens) and tokens[at + 1].text == ".":
            return True
        if "." in token.name and token.key.partition(".")[0] in own:
            return True
    return False
