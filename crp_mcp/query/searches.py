"""MATCH where SQLite's full-text index alone cannot be asked: under OR or NOT, in counts over a stream. Pure.

`text MATCH 'x'` is put as `line_no IN (SELECT ...)` over what the index finds, which is right wherever it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from .catalogue import Table
from .sql import Statement, Token, quote, table_places, written
from .views import base_tables

REFUSED = "unable to use function MATCH"
"""How SQLite begins to say that it cannot ask its index there."""
_NO_ALIAS = frozenset(
    ["where", "group", "order", "having", "limit", "join", "left", "inner", "cross", "natural", "on", "using", "union"]
)


def find_apart(statement: Statement, by_name: Mapping[str, Table]) -> tuple[Statement, dict[str, str]]:
    """The statement with its searches put differently, and the views they need: name -> SELECT."""
    tokens, renamed = list(statement.tokens), dict(statement.renamed)
    owners = _owners(tokens, by_name)
    views: dict[str, str] = {}
    places = [at for at, (one, after) in enumerate(pairwise(tokens)) if one.low == "match" and after.kind == "text"]
    for at in reversed(places):
        negated = tokens[at - 1].low == "not"
        start, qualifier = _column(tokens, at - 1 - negated)
        table = owners.get(qualifier.lower())
        joined = at + 2 < len(tokens) and tokens[at + 2].text == "||"
        if start is None or table is None or joined:
            continue
        view = _free(f"found {len(views) + 1}", by_name)
        views[view] = _found(table, tokens[at + 1].text)
        condition = _condition(table, qualifier, view, negated)
        renamed[condition] = written(tokens[start : at + 2]).strip()
        tokens[start : at + 2] = [Token("other", condition, "", tokens[start].lead)]
    return Statement(tokens, renamed), views


def _owners(tokens: list[Token], by_name: Mapping[str, Table]) -> dict[str, Table]:
    """What stands before `.text` -> the text it means; "" for the only one."""
    found: dict[str, Table] = {}
    for at in sorted(table_places(tokens)):
        table = by_name.get(tokens[at].key)
        if table is None or not table.text:
            continue
        found[tokens[at].text.lower()] = found[tokens[at].key] = table
        alias = at + 1 + (at + 1 < len(tokens) and tokens[at + 1].low == "as")
        if alias < len(tokens) and tokens[alias].name and tokens[alias].low not in _NO_ALIAS:
            found[tokens[alias].low] = table
    if len({table.name for table in found.values()}) == 1:
        found[""] = next(iter(found.values()))
    return found


def _column(tokens: list[Token], at: int) -> tuple[int | None, str]:
    """Where the name of a column of texts begins, and what stands before its dot."""
    if at >= 2 and tokens[at].low == "text" and tokens[at - 1].text == ".":
        return at - 2, tokens[at - 2].text
    if at >= 0 and tokens[at].low.endswith(".text"):
        return at, tokens[at].text[: -len(".text")]
    return (at, "") if at >= 0 and tokens[at].low == "text" else (None, "")


def _found(table: Table, words: str) -> str:
    """The lines of every chunk in which the words are found."""
    parts = []
    for part in base_tables([table]):
        index = quote(f"{part.name}.fts")
        parts.append(
            f"SELECT '{part.scratch_id}' AS chunk, rowid AS line FROM main.{index} WHERE {index} MATCH {words}"
        )
    return " UNION ALL ".join(parts)


def _condition(table: Table, qualifier: str, view: str, negated: bool) -> str:
    of = f"{qualifier}." if qualifier else ""
    is_in = "NOT IN" if negated else "IN"
    if table.union:
        return f"(({of}{quote(table.columns[-1][0])}, {of}line_no) {is_in} (SELECT chunk, line FROM {quote(view)}))"
    return f"({of}line_no {is_in} (SELECT line FROM {quote(view)}))"


def _free(name: str, taken: Mapping[str, Table]) -> str:
    while name in taken:
        name += "_"
    return name
