"""Under which other names a query has its columns: AS, subqueries, common table expressions, compounds. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from crp_mcp.core.folding import fold

from .sql import Token, closing, split_arguments

_RECKONING = frozenset({"<", ">", "<=", ">=", "=", "==", "<>", "!=", "+", "-", "*", "/", "%", "and", "or", "not", "is"})
_NUMBERS = frozenset(
    {
        *("abs", "avg", "cast", "ceil", "ceiling", "count", "dense_rank", "exact_sum", "floor", "instr", "julianday"),
        *("length", "ntile", "octet_length", "rank", "round", "row_number", "sign", "strftime", "sum", "total"),
        *("trunc", "unicode", "unixepoch"),
    }
)
"""Functions whose result is a number, or no longer what the text was."""
_ENDS = frozenset(["from", "where", "group", "order", "having", "limit", "window", "union", "except", "intersect"])
_COMPOUND = frozenset({"union", "except", "intersect"})
_DEPTH = 8
"""How often a name may be given on."""


def other_names(tokens: Sequence[Token], columns: Collection[str]) -> dict[str, set[str]]:
    """Every name the query gives something, folded -> the columns (of these, folded) whose texts it may hold.

    A name for a number that was computed holds none of them.
    """
    found: dict[str, set[str]] = {}
    for _ in range(_DEPTH):
        before = {name: set(held) for name, held in found.items()}
        for name, item in _given(tokens):
            found.setdefault(name, set()).update(_holds(item, columns, found))
        if found == before:
            break
    return found


def _given(tokens: Sequence[Token]) -> Iterator[tuple[str, Sequence[Token]]]:
    """(name, what it stands for) of every column of every SELECT in the query."""
    first: dict[int, list[str]] = {}
    """Where a bracket opens -> names of the columns of the first SELECT in it, which its compounds have too."""
    opened, compound = [-1], False
    for at, token in enumerate(tokens):
        if token.text == "(":
            opened.append(at)
        elif token.text == ")" and len(opened) > 1:
            opened.pop()
        if token.kind != "word":
            continue
        compound = compound or token.low in _COMPOUND
        if token.low != "select":
            continue
        items = _items(tokens, at)
        names = [_name(item) for item in items]
        outer = first[opened[-1]] if compound and opened[-1] in first else _declared(tokens, opened[-1]) or names
        first.setdefault(opened[-1], outer)
        compound = False
        yield from ((fold(name), _value(item)) for name, item in zip(names, items, strict=True) if name)
        if outer is not names and len(outer) == len(names):
            yield from ((fold(name), _value(item)) for name, item in zip(outer, items, strict=True) if name)


def _items(tokens: Sequence[Token], select: int) -> list[Sequence[Token]]:
    start = select + 1
    if start < len(tokens) and tokens[start].low in ("distinct", "all"):
        start += 1
    depth, end = 0, start
    while end < len(tokens):
        depth += (tokens[end].text == "(") - (tokens[end].text == ")")
        if depth < 0 or (depth == 0 and tokens[end].kind == "word" and tokens[end].low in _ENDS):
            break
        end += 1
    return [tokens[first:last] for first, last in split_arguments(tokens, start - 1, end)]


def _name(item: Sequence[Token]) -> str:
    """The name of a column of a SELECT; "" for one without."""
    if not item or not item[-1].name or item[-1].low == "end":
        return ""
    if len(item) == 1 or item[-2].text == ".":
        return item[-1].name
    before = item[-2]
    ends = before.low == "as" or before.text == ")" or before.kind in ("text", "number") or bool(before.name)
    return item[-1].name if ends and before.low not in _RECKONING else ""


def _value(item: Sequence[Token]) -> Sequence[Token]:
    """A column of a SELECT without the name it is given."""
    if len(item) > 1 and _name(item) and item[-2].text != ".":
        return item[: -2 if item[-2].low == "as" else -1]
    return item


def _declared(tokens: Sequence[Token], opened: int) -> list[str]:
    """The names in `q(a, b) AS (SELECT ...`, by where the bracket of the SELECT opens."""
    at = opened - 1
    while at > 0 and tokens[at].low in ("materialized", "not"):
        at -= 1
    if at < 1 or tokens[at].low != "as" or tokens[at - 1].text != ")":
        return []
    start = at - 1
    while start > 0 and tokens[start].text != "(":
        start -= 1
    return [token.name for token in tokens[start + 1 : at - 1] if token.name]


def _holds(item: Sequence[Token], columns: Collection[str], given: Mapping[str, set[str]]) -> set[str]:
    if item and item[0].low == "case":
        parts = [at for at, token in enumerate(item) if token.low in ("then", "else")]
        return set().union(*(_holds(_branch(item, at), columns, given) for at in parts)) if parts else set()
    depth, held = 0, set[str]()
    for at, token in enumerate(item):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and (token.low in _RECKONING or (token.low in _NUMBERS and _whole_call(item, at))):
            return set()
        low = token.key
        if low in columns:
            held.add(low)
        held |= given.get(low, set())
    return held


def _branch(item: Sequence[Token], at: int) -> Sequence[Token]:
    ends = [end for end in range(at + 1, len(item)) if item[end].low in ("when", "else", "end")]
    return item[at + 1 : ends[0] if ends else len(item)]


def _whole_call(item: Sequence[Token], at: int) -> bool:
    return at + 1 < len(item) and item[at + 1].text == "(" and closing(item, at + 1) is not None
