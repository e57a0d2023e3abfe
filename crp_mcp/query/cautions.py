"""Where a query adds up or compares texts as if they were numbers: SQLite does so without a word. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from crp_mcp.core.folding import fold

from .sql import Statement, Token

_ADDING = frozenset({"sum", "avg", "total", "exact_sum"})
_COMPARING = frozenset(("min", "max", "median", "percentile", "percentile_cont", "percentile_disc"))
_NUMERIC = _ADDING | _COMPARING | {"cast", "abs", "round", "ceil", "ceiling", "floor", "trunc", "sign"}
_SIGNS = frozenset({"<", ">", "<=", ">=", "+", "-", "*", "/", "%", "between"})
_EQUAL = frozenset({"=", "==", "<>", "!="})
_ENDS = frozenset({"limit", ")", "union", "except", "intersect", "rows", "range", "groups"})


def added_up(statement: Statement) -> set[str]:
    """Names, folded, that stand alone in a sum or an average."""
    tokens = statement.tokens
    found = set()
    for at, token in enumerate(tokens):
        if token.name and _caller(tokens, at) in _ADDING and _is_alone(tokens, at):
            found.add(fold(token.name))
    return found


def used_as_numbers(statement: Statement, columns: Collection[str]) -> set[str]:
    """Those of the columns (folded names) that are added up, reckoned with, compared with numbers or put in order.

    In a query inside a query, where a column may go by another name, any sum or extreme counts.
    """
    tokens = statement.tokens
    found = {
        fold(token.name)
        for at, token in enumerate(tokens)
        if token.name and fold(token.name) in columns and _is_used(tokens, at)
    }
    nested = sum(token.kind == "word" and token.low == "select" for token in tokens) > 1
    named = any(token.kind == "word" and token.low == "as" for token in tokens)
    if (nested or named) and any(_calls(tokens, at) in _ADDING | _COMPARING for at in range(len(tokens))):
        return set(columns) if nested else found
    return found


def _is_used(tokens: Sequence[Token], at: int) -> bool:
    start = at - 2 if at >= 2 and tokens[at - 1].text == "." else at
    before = tokens[start - 1] if start else None
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    for side, other in ((before, start - 2), (after, at + 2)):
        if side is None or (side.name and side.low not in _SIGNS):
            continue
        opposite = tokens[other] if 0 <= other < len(tokens) else None
        if side.low in _SIGNS and not (side.text in "<>=" and opposite is not None and opposite.kind == "text"):
            return True
        if side.low in _EQUAL and opposite is not None and opposite.kind == "number":
            return True
    return _caller(tokens, at) in _NUMERIC or _is_in_order(tokens, at)


def _caller(tokens: Sequence[Token], at: int) -> str:
    """The nearest function that means numbers among those whose brackets are open here; "" for none."""
    depth = 0
    for back in range(at - 1, 0, -1):
        if tokens[back].text == ")":
            depth += 1
        elif tokens[back].text == "(":
            if depth == 0 and _calls(tokens, back - 1) in _NUMERIC:
                return tokens[back - 1].low
            depth = max(0, depth - 1)
        elif depth == 0 and tokens[back].kind == "word" and tokens[back].low == "select":
            return ""
    return ""


def _calls(tokens: Sequence[Token], at: int) -> str:
    """The name of the function that is called at a position; "" for none."""
    called = 0 <= at < len(tokens) - 1 and tokens[at].kind == "word" and tokens[at + 1].text == "("
    return tokens[at].low if called else ""


def _is_alone(tokens: Sequence[Token], at: int) -> bool:
    """Whether a name is all that stands in a function's brackets."""
    start = at - 2 if at >= 2 and tokens[at - 1].text == "." else at
    return tokens[start - 1].text == "(" and at + 1 < len(tokens) and tokens[at + 1].text == ")"


def _is_in_order(tokens: Sequence[Token], at: int) -> bool:
    for back in range(at - 1, 0, -1):
        if tokens[back].low in _ENDS:
            return False
        if tokens[back].low == "by":
            return tokens[back - 1].low == "order"
    return False


def notes(mixed: Sequence[str], texts: Sequence[str], lost: Mapping[str, tuple[int, str]]) -> list[str]:
    """What to say of columns: of numbers and texts, of texts, of texts that became null (how many; where)."""
    said = []
    if mixed:
        said.append(
            f"{', '.join(mixed)}: numbers and texts stand in it; SQL puts every number before every text, and adds a "
            "text as the number it begins with"
        )
    if texts:
        said.append(
            f"{', '.join(texts)}: texts, not all of them numbers in one spelling; they were not converted, so this did "
            "not add or compare them as numbers"
        )
    said += [
        f"{name}: {count:,} text{'' if count == 1 else 's'} that could not be read so {'is' if count == 1 else 'are'} "
        f"null in it (see {beside})"
        for name, (count, beside) in lost.items()
    ]
    return said
