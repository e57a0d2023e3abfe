"""Where a query reckons with, compares or orders texts that are not what they look like: SQLite does so without a word.

Pure: it looks at the query's words, and is told what columns look like.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from .aliases import other_names
from .sql import Statement, Token, closing

_ADDING = frozenset({"sum", "avg", "total", "exact_sum"})
_COMPARING = frozenset(("min", "max", "median", "percentile", "percentile_cont", "percentile_disc"))
_NUMERIC = _ADDING | _COMPARING | {"cast", "abs", "round", "ceil", "ceiling", "floor", "trunc", "sign"}
_DATES = frozenset({"date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"})
_SAME_TEXT = frozenset(
    {
        *("coalesce", "ifnull", "iif", "json_extract", "likely", "lower", "ltrim", "nullif", "replace", "rtrim"),
        *("substr", "trim", "upper"),
    }
)
"""Functions that hand a text on: who compares what comes out compares the text."""
_ORDER = frozenset({"<", ">", "<=", ">=", "between"})
_REACHING = frozenset({"+", "-", "*", "/", "%"})
_SIGNS = _ORDER | _REACHING
_TRUTHS = frozenset({"'true'", "'false'"})
_ITEMS = ("value", "atom")
_EQUAL = frozenset({"=", "==", "<>", "!=", "is"})
_MATCHING = frozenset({"like", "glob", "regexp", "match", "in", "not"})
_ENDS = frozenset({"limit", ")", "union", "except", "intersect", "rows", "range", "groups"})
_COMPOUND = ("union", "except", "intersect")
_CONDITION = frozenset(["where", "and", "or", "not", "when", "on", "having", "("])
_WORDS_BEFORE = frozenset({"select", "distinct", "by", "then", "else", "case", "between", "like", "is", "as"})
_AFTER_CONDITION = frozenset(
    ["and", "or", "then", "group", "order", "limit", ")", "having", "union", "except", "intersect"]
)


MOST_PLACES = 300
"""Places of names that are looked at: each may cost a look at the whole query."""


@dataclass(slots=True)
class Uses:
    """Columns (folded names) a query uses as something, under whatever names it gives them."""

    numbers: set[str] = field(default_factory=set)
    """Added up, reckoned with, compared with numbers, or put in order."""
    added: set[str] = field(default_factory=set)
    """Of these what stands alone in a sum or an average."""
    dates: set[str] = field(default_factory=set)
    """Compared with anything, put in order, or given to a date function."""
    truths: set[str] = field(default_factory=set)
    """Taken for true or false by themselves, or compared with 1, 0, true or false."""
    worded: set[str] = field(default_factory=set)
    """Compared with the texts 'true' or 'false'."""
    reckoned: set[str] = field(default_factory=set)
    """Beside one of + - * / %."""


def find_uses(statement: Statement, columns: Collection[str]) -> Uses:
    """What a query does with these columns (folded names)."""
    tokens, uses = statement.tokens, Uses()
    stands_for = held_by_name(statement, columns)
    seen: set[tuple[str, ...]] = set()
    for at, token in enumerate(tokens):
        held = stands_for.get(token.key, set()) if token.name else set()
        if not held or _is_seen(tokens, at, seen):
            continue
        ordered = _is_in_order(tokens, at)
        if ordered or _is_reckoned(tokens, at):
            uses.numbers |= held
        if _is_alone(tokens, at) and caller(tokens, at, _NUMERIC) in _ADDING:
            uses.added |= held
        if ordered or _is_compared(tokens, at):
            uses.dates |= held
        if _is_truth(tokens, at):
            uses.truths |= held
        if any(sign in _EQUAL and other is not None and other.low in _TRUTHS for sign, other in sides(tokens, at)):
            uses.worded |= held
        if any(sign in _REACHING for sign, _ in sides(tokens, at)):
            uses.reckoned |= held
    return uses


def held_by_name(statement: Statement, columns: Collection[str]) -> dict[str, set[str]]:
    """Every name in a query that stands for one of these columns (folded names), and for which."""
    tokens = statement.tokens
    stands_for = {name: {name} for name in columns}
    nested = sum(token.kind == "word" and token.low == "select" for token in tokens) > 1
    for name, held in other_names(tokens, columns).items():
        if held and (nested or name not in columns):
            stands_for[name] = stands_for.get(name, set()) | held
    for name, column in items_of(tokens, columns):
        stands_for.setdefault(name, set()).add(column)
    return stands_for


def items_of(tokens: Sequence[Token], columns: Collection[str]) -> list[tuple[str, str]]:
    """(name, column) for the columns of JSON whose items `json_each` gives as `value` and `atom`."""
    found = []
    for at in range(len(tokens) - 2):
        if tokens[at].low in ("json_each", "json_tree") and tokens[at + 1].text == "(":
            end = closing(tokens, at + 1) or at + 1
            found += [(name, one.key) for one in tokens[at + 2 : end] if one.key in columns for name in _ITEMS]
    return found


def _is_seen(tokens: Sequence[Token], at: int, seen: set[tuple[str, ...]]) -> bool:
    """Whether a name stood among the same words before; of a query that has no end, the rest counts as seen."""
    near = tuple("0" if one.kind == "number" else one.low for one in tokens[max(0, at - 3) : at + 4])
    if near in seen or len(seen) >= MOST_PLACES:
        return True
    seen.add(near)
    return False


def _operand(tokens: Sequence[Token], at: int) -> tuple[int, int]:
    """First and last token of what a name is part of without changing: `t.name`, `trim(name)`, `name ->> 'key'`."""
    start = at - 2 if at >= 2 and tokens[at - 1].text == "." else at
    end = at
    while True:
        if end + 2 < len(tokens) and tokens[end + 1].text in ("->>", "->", "collate"):
            end += 2
            continue
        opened = _opening(tokens, start)
        last = closing(tokens, opened) if opened is not None else None
        if opened is None or last is None:
            return start, end
        hands_on = opened and tokens[opened - 1].low in _SAME_TEXT
        alone = opened == start - 1 and last == end + 1 and not (opened and _is_function(tokens[opened - 1]))
        if not hands_on and not alone:
            return start, end
        start, end = (opened - 1 if hands_on else opened), last


def _is_function(before: Token) -> bool:
    """Whether what stands before a bracket is a function's name, and no word of SQL."""
    return bool(before.name) and before.low not in _CONDITION and before.low not in _WORDS_BEFORE


def _opening(tokens: Sequence[Token], at: int) -> int | None:
    """Position of the bracket that is open here."""
    depth = 0
    for back in range(at - 1, -1, -1):
        depth += (tokens[back].text == ")") - (tokens[back].text == "(")
        if depth < 0:
            return back
    return None


def sides(tokens: Sequence[Token], at: int) -> list[tuple[str, Token | None]]:
    """(sign, what stands beyond it) on the left and on the right of what a name is part of."""
    start, end = _operand(tokens, at)
    places = ((start - 1, start - 2), (end + 1, end + 2))
    return [
        (tokens[sign].low, tokens[other] if 0 <= other < len(tokens) else None)
        for sign, other in places
        if 0 <= sign < len(tokens) and tokens[sign].kind in ("other", "word")
    ]


def _is_reckoned(tokens: Sequence[Token], at: int) -> bool:
    for sign, other in sides(tokens, at):
        if sign in _SIGNS and not (sign in _ORDER and other is not None and other.kind == "text"):
            return True
        if sign in _EQUAL and other is not None and other.kind == "number":
            return True
    return not _is_matched(tokens, at) and bool(caller(tokens, at, _NUMERIC))


def _is_matched(tokens: Sequence[Token], at: int) -> bool:
    """Whether what counts is that it is a certain text: `sum(status = 'paid')`."""
    return any(sign in _EQUAL or sign in _MATCHING for sign, _ in sides(tokens, at))


def _is_compared(tokens: Sequence[Token], at: int) -> bool:
    if any(sign in _SIGNS for sign, _ in sides(tokens, at)):
        return True
    return bool(caller(tokens, at, _COMPARING | _DATES))


def _is_truth(tokens: Sequence[Token], at: int) -> bool:
    for sign, other in sides(tokens, at):
        if sign in _EQUAL and other is not None and (other.kind == "number" or other.low in ("true", "false")):
            return True
    if not _is_matched(tokens, at) and caller(tokens, at, _ADDING):
        return True
    start, end = _operand(tokens, at)
    before, after = tokens[start - 1].low if start else "", tokens[end + 1].low if end + 1 < len(tokens) else ")"
    opens = before == "(" and start >= 2 and tokens[start - 2].low in _CONDITION
    return (before in _CONDITION - {"("} or opens) and after in _AFTER_CONDITION


def caller(tokens: Sequence[Token], at: int, functions: Collection[str]) -> str:
    """The nearest of these functions whose brackets are open here; "" for none."""
    depth = 0
    for back in range(at - 1, 0, -1):
        if tokens[back].text == ")":
            depth += 1
        elif tokens[back].text == "(":
            if depth == 0 and _calls(tokens, back - 1) in functions:
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


def paths_of(statement: Statement, column: str) -> list[str]:
    """The literal paths (`'$.price'`, `'price'`, as written) by which a query goes into a column of JSON."""
    tokens, found = statement.tokens, []
    for at in range(len(tokens) - 2):
        if tokens[at].key == column and tokens[at + 1].text in (",", "->>") and tokens[at + 2].kind == "text":
            found.append(tokens[at + 2].text)
    return list(dict.fromkeys(found))
