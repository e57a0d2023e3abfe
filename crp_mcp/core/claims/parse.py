"""A clause against one table -> chunks: values, columns, quantities, dates, operations, words. Decides nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from .dates import When, claim_dates
from .document import Table
from .lexicon import ATTRIBUTES, OPS, OUTCOME_WORDS, REPORT, ROW_NOUNS
from .link import ColumnRef, ValueRef, link_columns, link_values
from .numbers import ORDINALS, Quantity
from .quantities import find_quantities
from .words import LIGHT, STOP, Token, fold, stem, tokens, word_list


@dataclass(frozen=True, eq=False)
class Chunk:
    """One piece of a clause and all it may be. `at` is its place in the clause."""

    at: int
    text: str
    start: int
    end: int
    words: tuple[Token, ...]
    values: tuple[ValueRef, ...] = ()
    columns: tuple[ColumnRef, ...] = ()
    qty: Quantity | None = None
    when: When | None = None
    op: str = ""
    ordinal: int | None = None

    @property
    def stem(self) -> str:
        return self.words[0].stem if len(self.words) == 1 else ""

    @property
    def low(self) -> str:
        return " ".join(w.low for w in self.words)

    @property
    def is_plain(self) -> bool:
        """A word that links to nothing."""
        return not (self.values or self.columns or self.qty or self.when or self.op or self.ordinal)

    @property
    def is_content(self) -> bool:
        """A plain word that would need a counterpart in the data."""
        word = self.words[0]
        return self.is_plain and word.low[0].isalnum() and word.low not in STOP and word.stem not in LIGHT

    @property
    def is_exact(self) -> bool:
        return any(v.exact for v in self.values)


@dataclass(frozen=True, eq=False)
class Parse:
    """A clause read against one table."""

    text: str
    table: Table
    chunks: tuple[Chunk, ...]
    context: frozenset[str] = field(default_factory=frozenset)
    """Stems that the table's surroundings (tool, arguments, caption) account for."""
    others: tuple[Table, ...] = ()
    """The result's other tables: a word that is a cell there and nothing here was not about this table."""

    def ops(self, *names: str) -> list[Chunk]:
        return [c for c in self.chunks if c.op in names]

    @property
    def quantities(self) -> list[Chunk]:
        return [c for c in self.chunks if c.qty]


def parse(text: str, table: Table, context: frozenset[str] = frozenset(), others: tuple[Table, ...] = ()) -> Parse:
    """Cut a clause into chunks, longest and most telling reading of each stretch first."""
    words = tokens(text)
    amounts = find_quantities(text)
    dates = [d for d in claim_dates(text) if not _counts_rows(text, d) and not _compared(d, amounts)]
    quantities = [
        q for q in amounts if not any(d.start < q.end and q.start < d.end and not _bare_year(d, q) for d in dates)
    ]
    quantities = [q for q in quantities if not _stands_for(text, q)]
    if any(c.is_version for c in table.columns):
        quantities = [q for q in quantities if not _is_version(text, q, table)]
    chunks: list[Chunk] = []
    at = 0
    while at < len(words):
        chunk = _next(text, table, words, at, dates, quantities, len(chunks))
        chunks.append(chunk)
        at += len(chunk.words)
    return Parse(text, table, tuple(chunks), context, others)


_THE_ONE = re.compile(
    r"\b(?:\w+est|most \w+|least \w+|first|last|next|this|that|which|another|other|every|each|no|right|same)\s+$",
    re.IGNORECASE,
)


def _stands_for(text: str, qty: Quantity) -> bool:
    """Whether `one` stands for a noun (`the deepest one`), and counts nothing."""
    return qty.word and qty.value == 1 and qty.literal.lower() == "one" and bool(_THE_ONE.search(text[: qty.start]))


_BEFORE_VERSION = re.compile(r"\b(?P<word>\w+)(?:\s+(?:number|is|was|at|to|of|:|=|of \w+ is|of \w+ was))*\s*$")


def _is_version(text: str, qty: Quantity, table: Table) -> bool:
    """Whether a dotted number is a version: it stands in a column of those, or follows the column's name."""
    literal = text[qty.start : qty.end].strip()
    if "." not in literal or qty.unit or qty.compare != "eq":
        return False
    columns = [c for c in table.columns if c.is_version]
    lead = _BEFORE_VERSION.search(text[max(0, qty.start - 40) : qty.start])
    named = lead is not None and any(stem(fold(lead["word"])) in c.words for c in columns)
    return named or any((literal,) in c.index for c in columns)


def _compared(when: When, amounts: Sequence[Quantity]) -> bool:
    """Whether a lone year is the number of a comparison (`more than 1400`)."""
    bare = when.year is not None and when.month is None and when.year_end is None and when.compare == "eq"
    return bare and any(
        q.start < when.end and when.start < q.end and q.compare in ("gt", "ge", "lt", "le") for q in amounts
    )


def _counts_rows(text: str, when: When) -> bool:
    """Whether a lone year-like number counts rows (`2000 rows`)."""
    following = tokens(text[when.end : when.end + 24])
    bare = when.year is not None and when.month is None and when.end - when.start <= 5
    return bare and bool(following) and following[0].stem in ROW_NOUNS


def _bare_year(when: When, qty: Quantity) -> bool:
    """A lone year may be a plain number just as well."""
    return (
        when.year is not None
        and when.month is None
        and when.year_end is None
        and qty.value == when.year
        and qty.compare == "eq"
    )


def _next(
    text: str,
    table: Table,
    words: Sequence[Token],
    at: int,
    dates: Sequence[When],
    quantities: Sequence[Quantity],
    place: int,
) -> Chunk:
    word = words[at]
    v_len, values = link_values(table, words, at) if word.low[0].isalnum() else (0, ())
    c_len, columns = link_columns(table, words, at)
    o_len, op = _operation(words, at)
    when = next((d for d in dates if d.start <= word.start < d.end), None)
    qty = next((q for q in quantities if q.start <= word.start < q.end), None)
    d_len = _cover(words, at, when.end) if when else 0
    q_len = _cover(words, at, qty.end) if qty else 0
    if v_len == 1 and word.text[1:].islower() and (word.stem in ROW_NOUNS or _calls(words, at)):
        v_len, values = 0, ()
    exact = any(v.exact for v in values)

    def chunk(length: int, **parts: object) -> Chunk:
        piece = tuple(words[at : at + length])
        return Chunk(place, text[piece[0].start : piece[-1].end], piece[0].start, piece[-1].end, piece, **parts)  # type: ignore[arg-type]

    if exact and v_len >= max(2, d_len, q_len + 1, c_len, o_len) and not (when and d_len == v_len):
        return chunk(v_len, values=values, columns=columns if c_len == v_len else ())
    if when and d_len >= q_len:
        return chunk(
            d_len,
            when=when,
            qty=qty if qty and _bare_year(when, qty) else None,
            values=values if exact and v_len == d_len else (),
        )
    if qty and not (c_len > q_len and not qty.word):
        kept_op = op if o_len == q_len or op == "range" else ""
        return chunk(q_len, qty=qty, values=values if exact and v_len == q_len else (), op=kept_op,
                     columns=columns if c_len == q_len and not qty.word else ())  # fmt: skip
    if (o_len > 1 and c_len <= o_len) or (o_len and c_len <= 1 and not exact):
        return chunk(o_len, op=op, columns=columns if c_len == o_len else ())
    if c_len and c_len >= v_len and not (exact and v_len == c_len and max(c.quality for c in columns) < 0.9):
        return chunk(c_len, columns=columns, values=values if v_len == c_len else (), op=op if o_len == c_len else "")
    if (
        v_len
        and (exact or v_len > 1 or word.stem not in LIGHT)
        and (word.low not in STOP or v_len > 1 or (exact and word.text.isupper() and word.text == values[0].text))
    ):
        return chunk(v_len, values=values, columns=columns if c_len == v_len else (), op=op if o_len == v_len else "")
    if o_len:
        return chunk(o_len, op=op)
    if outcome := _outcome(table, word):
        return chunk(1, values=outcome)
    return chunk(1, ordinal=_ordinal(word))


_CALLS = frozenset(
    stem(w) for w in word_list("query search request call tool command api server result response lookup")
)


def _calls(words: Sequence[Token], at: int) -> bool:
    """Whether a word is the call that a sentence reports on (`the query returned …`)."""
    return words[at].stem in _CALLS and at + 1 < len(words) and words[at + 1].stem in REPORT


def _cover(words: Sequence[Token], at: int, end: int) -> int:
    length = 1
    while at + length < len(words) and words[at + length].start < end:
        length += 1
    return length


def _operation(words: Sequence[Token], at: int) -> tuple[int, str]:
    for length in (3, 2, 1):
        if op := OPS.get(tuple(w.low for w in words[at : at + length])):
            return length, op
    return (1, "not") if words[at].low.endswith(("n't", "n’t")) else (0, "")


def _ordinal(word: Token) -> int | None:
    if word.low in ORDINALS:
        return ORDINALS[word.low]
    digits = word.low.rstrip("stndrh")
    return int(digits) if digits.isdigit() and digits != word.low and len(digits) < 4 else None


def _outcome(table: Table, word: Token) -> tuple[ValueRef, ...]:
    """Short cells that say what this word says (`w` for won)."""
    spellings = OUTCOME_WORDS.get(word.stem)
    if not spellings:
        return ()
    out = []
    for column in table.columns:
        if column.distinct > max(200, 2 * len(column.cells) // 3) and not _leads(column):
            continue
        rows = {
            r
            for key, found in column.index.items()
            if key and key[0] in spellings and (len(key) == 1 or _leads(column))
            for r in found
        }
        if rows:
            out.append(ValueRef(column, frozenset(rows), True, word.low))
    return tuple(out)


def _leads(column: object) -> bool:
    """Whether the cells of a column begin with a one-letter outcome (`w 36 - 34`)."""
    index = column.index  # type: ignore[attr-defined]
    marked = sum(bool(k) and k[0] in ("w", "l", "t", "d", "win", "loss", "won", "lost") for k in index)
    return marked >= 0.7 * max(1, len(index))


def attribute_columns(table: Table, stem_of: str) -> list[ColumnRef]:
    """Columns that an adjective implies without naming them (`heaviest` -> weight)."""
    wanted = ATTRIBUTES.get(stem_of, frozenset())
    named = [ColumnRef(c, 0.6) for c in table.columns if wanted & set(c.words)]
    if not named and "date" in wanted:
        dated = [c for c in table.columns if c.is_date]
        return [ColumnRef(dated[0], 0.5)] if len(dated) == 1 else []
    return named


def names_column(chunk: Chunk) -> bool:
    """Whether a word that may be an operation is surely a column's name here (`total`, `average`)."""
    return bool(chunk.columns) and max(c.quality for c in chunk.columns) > 0.65
