"""SQL text as tokens: which names it mentions, and the few places where it is put differently for SQLite.

Pure. It never decides what is allowed: the gate of the child does, on what SQLite itself makes of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from crp_mcp.core.folding import fold
from crp_mcp.errors import BadRequest

from .dialects import advice, advice_at_start

LONGEST = 20_000
"""Characters of one query."""

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))
      |(?P<text>[xX]?'(?:[^']|'')*')
      |(?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])
      |(?P<number>(?:\d[\w.]*|\.\d\w*)(?:(?<=[eE])[+-]?\d+)?)
      |(?P<word>[^\W\d]\w*)
      |(?P<parameter>[?:@$#]\w*)
      |(?P<other>\|\||->>|->|<=|>=|<>|!=|==|<<|>>|.)""",
    re.X | re.S,
)
_QUOTES = {'"': '"', "`": "`", "[": "]"}
_STOP = "where group order having limit window union except intersect select returning"
_CLAUSES = frozenset(_STOP.split())
_DATE_FUNCTIONS = frozenset(("date", "time", "datetime", "julianday", "unixepoch", "strftime"))
_CURRENT = {
    "current_date": lambda now: f"'{now[:10]}'",
    "current_time": lambda now: f"'{now[11:19]}'",
    "current_timestamp": lambda now: f"'{now[:19]}'",
}


@dataclass(slots=True)
class Token:
    """A piece of the text. `name` is what an identifier says without its quotes; "" for everything else."""

    kind: str
    text: str
    name: str = ""
    lead: str = ""
    """White space in front of it, so that the text comes out as it went in."""
    low: str = field(init=False)
    """The text in lower case."""
    key: str = field(init=False)
    """The name, folded."""

    def __post_init__(self) -> None:
        self.low, self.key = self.text.lower(), fold(self.name)


@dataclass(slots=True)
class Statement:
    """One query as tokens, white space and comments left out; `tokens` may be edited, `text()` writes it again."""

    tokens: list[Token]
    renamed: dict[str, str] = field(default_factory=dict)
    """What stands in the text now -> what stood there, for the names of result columns."""

    def text(self) -> str:
        return written(self.tokens)

    def sources(self) -> list[str]:
        """Every name that stands where a table may, once, in order of appearance; of `a.b` the first part."""
        places = sorted(table_places(self.tokens))
        return list(dict.fromkeys(self.tokens[at].name for at in places))

    def in_quotes(self) -> list[str]:
        """Names in double quotes that the statement does not itself give to something."""
        tokens = self.tokens
        given = {tokens[at + 1].key for at in range(len(tokens) - 1) if tokens[at].low == "as"}
        return [token.name for token in tokens if token.text[:1] == '"' and token.key not in given]


def read_statement(sql: str) -> Statement:
    """Split one statement.

    Raises BadRequest for what cannot be a query: nothing, several statements, parameters, anything that writes.
    """
    if len(sql) > LONGEST:
        raise BadRequest(f"sql: {len(sql)} characters; at most {LONGEST} are allowed")
    tokens = _with_leads(_split(sql))
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    if not tokens:
        raise BadRequest("sql: it is empty; give one SELECT, for example SELECT count(*) FROM latest")
    if any(token.text == ";" for token in tokens):
        raise BadRequest("sql: only one statement is allowed; give a single SELECT without ';' inside")
    if tokens[0].low not in ("select", "with", "values"):
        raise BadRequest(
            f"sql: {tokens[0].text[:40]!r} is not allowed; only one SELECT (or WITH ... SELECT) that reads is"
            + (f"; {said}" if (said := advice_at_start(tokens[0])) else "")
        )
    for token in tokens:
        if token.kind == "parameter":
            if instead := advice(tokens):
                raise BadRequest(f"sql: {token.text[:20]!r} is not SQLite's; instead: {'; '.join(instead)}")
            raise BadRequest(f"sql: parameters like {token.text[:20]!r} are not allowed; write the value itself")
        if token.text in ("'", '"', "`", "["):
            raise BadRequest(f"sql: a quote is opened with {token.text} and never closed")
    return Statement(tokens)


def written(tokens: Sequence[Token]) -> str:
    """Tokens as text."""
    return "".join(token.lead + token.text for token in tokens)


def _with_leads(pieces: Iterator[Token]) -> list[Token]:
    """The tokens without white space and comments, each with the space that stood before it."""
    tokens: list[Token] = []
    lead = ""
    for piece in pieces:
        if piece.kind == "space":
            lead += piece.text if piece.text.isspace() else " "
        else:
            piece.lead, lead = lead, ""
            tokens.append(piece)
    return tokens


def _split(sql: str) -> Iterator[Token]:
    for found in _TOKEN.finditer(sql):
        kind, text = str(found.lastgroup), found.group()
        name = ""
        if kind == "word":
            name = text
        elif kind == "quoted":
            end = _QUOTES[text[0]]
            name = text[1:-1].replace(end * 2, end)
        yield Token(kind, text, name)


def quote(name: str) -> str:
    """An identifier, quoted."""
    return '"' + name.replace('"', '""') + '"'


# --- tables -----------------------------------------------------------------------------------------------------------


def table_places(tokens: Sequence[Token]) -> set[int]:
    """Positions of tokens that name a table: after FROM and JOIN, and after commas of the same FROM clause."""
    places: set[int] = set()
    depth = 0
    open_from: dict[int, bool] = {}
    for at, token in enumerate(tokens):
        if token.text == "(":
            depth += 1
        elif token.text == ")":
            open_from.pop(depth, None)
            depth -= 1
        elif token.kind == "word" and token.low in ("from", "join"):
            open_from[depth] = True
            places.add(at + 1)
        elif token.kind == "word" and token.low == "in":
            places.add(at + 1)  # `x IN some_table`
        elif token.kind == "word" and token.low in _CLAUSES:
            open_from.pop(depth, None)
        elif token.text == "," and open_from.get(depth):
            places.add(at + 1)
    return {at for at in places if at < len(tokens) and tokens[at].name}


def selects_all(tokens: Sequence[Token]) -> bool:
    """Whether it asks for every column of something without naming them: `*`, `t.*`, `IN some_table`, NATURAL JOIN."""
    for at, token in enumerate(tokens[1:], 1):
        before = tokens[at - 1]
        if token.text == "*" and (before.text in (",", ".") or before.low in ("select", "distinct", "all")):
            return True
        if token.name and before.kind == "word" and before.low == "in":
            return True
    return any(token.kind == "word" and token.low in ("natural", "table") for token in tokens)


def dotted(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """The dotted name that begins at a position, and how many tokens it takes."""
    name, used = tokens[at].name, 1
    while at + used + 1 < len(tokens) and tokens[at + used].text == "." and tokens[at + used + 1].name:
        name += "." + tokens[at + used + 1].name
        used += 2
    return name, used


def join_dotted(statement: Statement, known: Callable[[str], str | None]) -> None:
    """Make one quoted identifier of every `a.b` that is a table's name. `known`: dotted name -> the table's name."""
    tokens = statement.tokens
    joined: set[str] = set()
    for at in sorted(table_places(tokens), reverse=True):
        used, name = _longest_known(tokens, at, known)
        if name is not None and used > 1:
            joined.add(fold(name))
            tokens[at : at + used] = [Token("quoted", quote(name), name, tokens[at].lead)]
    for at in range(len(tokens) - 2, -1, -1):
        if tokens[at].name and (at == 0 or tokens[at - 1].text != "."):
            used, name = _longest_known(tokens, at, known)
            if name is not None and used > 1 and fold(name) in joined:
                tokens[at : at + used] = [Token("quoted", quote(name), name, tokens[at].lead)]


def _longest_known(tokens: Sequence[Token], at: int, known: Callable[[str], str | None]) -> tuple[int, str | None]:
    _, used = dotted(tokens, at)
    while used > 1:
        name = known(".".join(tokens[i].name for i in range(at, at + used, 2)))
        if name is not None:
            return used, name
        used -= 2
    return 1, None


# --- time -------------------------------------------------------------------------------------------------------------


def fix_now(statement: Statement, now: str) -> None:
    """Write the time of the call wherever the query asks for the current time, so that it can be run again.

    `now`: `YYYY-MM-DD HH:MM:SS`, UTC.
    """
    tokens = statement.tokens
    for at, token in enumerate(tokens):
        after = tokens[at + 1].text if at + 1 < len(tokens) else ""
        if token.kind == "word" and token.low in _CURRENT and after not in (".", "(") and not _is_part(tokens, at):
            _replace(statement, at, _CURRENT[token.low](now))
        elif token.kind == "word" and token.low in _DATE_FUNCTIONS and after == "(":
            _fix_call(statement, at, now)


def _is_part(tokens: Sequence[Token], at: int) -> bool:
    return at > 0 and (tokens[at - 1].text == "." or tokens[at - 1].low == "as")


def _fix_call(statement: Statement, at: int, now: str) -> None:
    tokens = statement.tokens
    end = closing(tokens, at + 1)
    if end is None:
        return
    arguments = split_arguments(tokens, at + 1, end)
    which = 1 if tokens[at].low == "strftime" else 0
    if len(arguments) <= which:
        literal = f"'{now}'" if which == 0 or not arguments else f", '{now}'"
        inner = tokens[end - 1]
        tokens[end - 1] = Token(inner.kind, inner.text + literal, inner.name, inner.lead)
        statement.renamed[tokens[at].text + "(" + literal + ")"] = tokens[at].text + "()"
        return
    first, last = arguments[which]
    if last - first == 1 and tokens[first].kind == "text" and tokens[first].low == "'now'":
        _replace(statement, first, f"'{now}'")


def _replace(statement: Statement, at: int, text: str) -> None:
    statement.renamed[text] = statement.tokens[at].text
    statement.tokens[at] = Token("text", text, "", statement.tokens[at].lead)


# --- calls ------------------------------------------------------------------------------------------------------------


def closing(tokens: Sequence[Token], opening: int) -> int | None:
    """Position of the bracket that closes the one at `opening`; None where there is none."""
    depth = 0
    for at in range(opening, len(tokens)):
        depth += (tokens[at].text == "(") - (tokens[at].text == ")")
        if depth == 0:
            return at
    return None


def split_arguments(tokens: Sequence[Token], opening: int, end: int) -> list[tuple[int, int]]:
    """(first, past the last) token of every argument between two brackets."""
    if end == opening + 1:
        return []
    parts, start, depth = [], opening + 1, 0
    for at in range(opening + 1, end):
        depth += (tokens[at].text == "(") - (tokens[at].text == ")")
        if tokens[at].text == "," and depth == 0:
            parts.append((start, at))
            start = at + 1
    return [*parts, (start, end)]


def restore_names(statement: Statement, names: Sequence[str]) -> list[str]:
    """Names of result columns with what was put differently put back."""
    swaps: Mapping[str, str] = statement.renamed
    restored = []
    for name in names:
        for now, before in sorted(swaps.items(), key=lambda swap: -len(swap[0])):
            name = name.replace(now, before)
        restored.append(name)
    return restored
