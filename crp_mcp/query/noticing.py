"""Finds the columns an answer must say something of: what the query does with them, and what they look like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from crp_mcp.core.folding import fold

from .cache import Cache
from .catalogue import Table
from .cautions import Uses, find_uses, items_of, paths_of
from .findings import Findings
from .moments import DateUses, find_date_uses
from .sql import Statement, quote
from .views import base_tables

_WATCHED = frozenset({"mixed", "text", "bool", "json", "bigint"})
_DATES = frozenset({"date", "datetime"})
_NUMBERS = frozenset({"int", "bigint", "float"})


def find_findings(
    cache: Cache, statement: Statement, used: Sequence[Table], reads: Callable[[Table], set[str]]
) -> Findings:
    """Columns that were read, and used as something they are not, or that could be read another way."""
    found = Findings()
    for table in used:
        names = reads(table)
        kinds = {name: kind for name, kind, _ in table.columns if name in names and kind in _WATCHED}
        uses = find_uses(statement, frozenset(map(fold, kinds)))
        for name, kind in kinds.items():
            _judge(found, _Looks(cache, table, statement), name, kind, uses)
        _judge_dates(found, _Looks(cache, table, statement), table, names, statement)
        beside = {name: second for name, _, second in table.columns if second and name in names}
        found.lost.update({name: (table.lost[name], beside[name]) for name in beside.keys() & table.lost.keys()})
        _find_grouped(found, cache, table, beside)
    return found


class _Looks:
    """What texts of one table look like."""

    def __init__(self, cache: Cache, table: Table, statement: Statement) -> None:
        self._cache = cache
        self._bases = base_tables([table])
        self._statement = statement

    def of(self, name: str) -> set[str]:
        """Of a column, in all chunks of a stream."""
        return {self._cache.look(base, quote(own)) for base in self._bases for own in _own(base, name, _WATCHED)}

    def inside(self, name: str) -> dict[str, set[str]]:
        """Of what stands at the paths the query goes into a column of JSON by: path as written -> looks."""
        return {
            said: {
                self._cache.look(base, expression(quote(own)))
                for base in self._bases
                for own in _own(base, name, _WATCHED)
            }
            for said, expression in self._expressions(fold(name)).items()
        }

    def _expressions(self, name: str) -> dict[str, Callable[[str], str]]:
        """What is looked at: as it is called -> SQL of the column. Of items of lists the first text of each row."""
        paths = paths_of(self._statement, name)
        found: dict[str, Callable[[str], str]] = {path: partial(_at, path) for path in paths}
        if items_of(self._statement.tokens, {name}):
            for inner in paths_of(self._statement, "value") or [""]:
                found |= {f"{path} {inner}".strip(): partial(_item, path, inner) for path in paths or ["'$'"]}
        return found

    def of_dates(self, name: str) -> set[str]:
        """What stands between date and time."""
        return {self._cache.look(base, quote(own)) for base in self._bases for own in _own(base, name, _DATES)}


def _at(path: str, column: str) -> str:
    return f"{column} ->> {path}"


def _item(path: str, inner: str, column: str) -> str:
    item = _at(inner, "value") if inner else "value"
    return f"(SELECT {item} FROM json_each({column}, {path}) WHERE typeof({item}) = 'text' LIMIT 1)"


def _own(base: Table, name: str, kinds: frozenset[str]) -> list[str]:
    return [own for own, kind, _ in base.columns if fold(own) == fold(name) and kind in kinds]


def _judge(found: Findings, looks: _Looks, name: str, kind: str, uses: Uses) -> None:
    low = fold(name)
    if kind == "mixed" and low in uses.numbers:
        found.mixed.append(name)
    elif kind == "bigint" and low in uses.dates | uses.reckoned:
        found.wide += [name] if "wide" in looks.of(name) else []
    elif kind == "json" and low in uses.numbers | uses.dates:
        for path, seen in looks.inside(name).items():
            _note(found, f"{name} {path}", seen, low, uses)
    elif kind in ("text", "bool") and low in uses.numbers | uses.dates | uses.truths | uses.worded:
        seen = looks.of(name)
        if _note(found, name, seen, low, uses):
            return
        if kind == "text" and low in uses.added | uses.reckoned:
            (found.texts if low in uses.added else found.reckoned).append(name)
        elif kind == "bool" and low in uses.worded and "words" not in seen:
            found.flags.append(name)


def _judge_dates(found: Findings, looks: _Looks, table: Table, names: set[str], statement: Statement) -> None:
    dates = [name for name, kind, _ in table.columns if name in names and kind in _DATES]
    uses: DateUses = find_date_uses(statement, frozenset(map(fold, dates)))
    for name in dates:
        low = fold(name)
        if low in uses.shifted:
            found.shifted.append(name)
        if low in uses.foreign:
            found.foreign.append(name)
        if low in uses.called and "month" in looks.of_dates(name):
            found.months.append(name)
        if low in uses.with_t | uses.with_blank:
            seen = looks.of_dates(name)
            if ("T" in seen and low in uses.with_blank) or ("blank" in seen and low in uses.with_t):
                found.spelled.append(name)


def _note(found: Findings, name: str, seen: set[str], low: str, uses: Uses) -> bool:
    for look, used, into in (
        ("amounts", uses.numbers, found.texts),
        ("wide", uses.numbers, found.wide),
        ("dates", uses.dates, found.dates),
        ("words", uses.truths, found.words),
    ):
        if look in seen and low in used:
            into.append(name)
            return True
    return False


def _find_grouped(found: Findings, cache: Cache, table: Table, beside: dict[str, str]) -> None:
    for name in beside:
        bases = [base for base in base_tables([table]) if _own(base, name, _NUMBERS)]
        ends = [cache.grouped(base, *pair) for base in bases for pair in _pairs(base, name)]
        known = [one for one in ends if one is not None]
        if known and len(known) == len(ends):
            found.grouped[name] = known[0]


def _pairs(base: Table, name: str) -> list[tuple[str, str]]:
    return [(own, second) for own, _, second in base.columns if second and fold(own) == fold(name)]
