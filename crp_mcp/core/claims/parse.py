"""A clause against one table -> chunks: values, columns, quantities, dates, operations, words. Decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .dates import When
from .document import Table
from .lexicon import ATTRIBUTES, OPS, OUTCOME_WORDS, REPORT, ROW_NOUNS
from .link import ColumnRef, ValueRef, link_columns, link_values
from .numbers import ORDINALS, Quantity
from .stated import bare_year_number, numbers_and_dates
from .words import LIGHT, STOP, Token, stem, tokens, word_list


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
    dates, quantities = numbers_and_dates(text, table)
    chunks: list[Chunk] = []
    at = 0
    while at < len(words):
        chunk = _next(text, table, words, at, dates, quantities, len(chunks))
        chunks.append(chunk)
        at += len(chunk.words)
    return Parse(text, table, tuple(chunks), context, others)


@dataclass(frozen=True, slots=True)
class _Found:
    """What the words from one place on may be, and over how many of them each reaches."""

    values: tuple[ValueRef, ...]
    v_len: int
    columns: tuple[ColumnRef, ...]
    c_len: int
    op: str
    o_len: int
    when: When | None
    d_len: int
    qty: Quantity | None
    q_len: int

    @property
    def exact(self) -> bool:
        return any(v.exact for v in self.values)

    def columns_over(self, length: int) -> tuple[ColumnRef, ...]:
        return self.columns if self.c_len == length else ()

    def values_over(self, length: int) -> tuple[ValueRef, ...]:
        return self.values if self.v_len == length else ()

    def op_over(self, length: int) -> str:
        return self.op if self.o_len == length else ""


Piece = tuple[int, dict[str, Any]]
"""How many words a chunk takes, and what it is."""


def _next(
    text: str, table: Table, words: Sequence[Token], at: int, dates: Sequence[When], quantities: Sequence[Quantity],
    place: int,
) -> Chunk:  # fmt: skip
    found = _look(table, words, at, dates, quantities)
    length, parts = _stated(found) or _named(found, words[at]) or _lone(table, found, words[at])
    piece = tuple(words[at : at + length])
    start, end = piece[0].start, piece[-1].end
    return Chunk(place, text[start:end], start, end, piece, **parts)


def _look(
    table: Table, words: Sequence[Token], at: int, dates: Sequence[When], quantities: Sequence[Quantity]
) -> _Found:
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
    return _Found(values, v_len, columns, c_len, op, o_len, when, d_len, qty, q_len)


def _stated(f: _Found) -> Piece | None:
    """A long name, a date or a quantity: what leaves least doubt of where it ends."""
    longest = max(2, f.d_len, f.q_len + 1, f.c_len, f.o_len)
    if f.exact and f.v_len >= longest and not (f.when and f.d_len == f.v_len):
        return f.v_len, {"values": f.values, "columns": f.columns_over(f.v_len)}
    if f.when and f.d_len >= f.q_len:
        values = f.values_over(f.d_len) if f.exact else ()
        return f.d_len, {
            "when": f.when,
            "qty": f.qty if f.qty and bare_year_number(f.when, f.qty) else None,
            "values": values,
        }
    if f.qty and not (f.c_len > f.q_len and not f.qty.word):
        values = f.values_over(f.q_len) if f.exact else ()
        columns = () if f.qty.word else f.columns_over(f.q_len)
        op = f.op if f.o_len == f.q_len or f.op == "range" else ""
        return f.q_len, {"qty": f.qty, "values": values, "op": op, "columns": columns}
    return None


def _named(f: _Found, word: Token) -> Piece | None:
    """An operation, a column or cells, whichever tells most."""
    if (f.o_len > 1 and f.c_len <= f.o_len) or (f.o_len and f.c_len <= 1 and not f.exact):
        return f.o_len, {"op": f.op, "columns": f.columns_over(f.o_len)}
    whole = f.exact and f.v_len == f.c_len and max(c.quality for c in f.columns) < 0.9
    if f.c_len and f.c_len >= f.v_len and not whole:
        return f.c_len, {"columns": f.columns, "values": f.values_over(f.c_len), "op": f.op_over(f.c_len)}
    code = f.exact and word.text.isupper() and f.v_len > 0 and word.text == f.values[0].text
    tells = f.exact or f.v_len > 1 or word.stem not in LIGHT
    if f.v_len and tells and (word.low not in STOP or f.v_len > 1 or code):
        return f.v_len, {"values": f.values, "columns": f.columns_over(f.v_len), "op": f.op_over(f.v_len)}
    return None


def _lone(table: Table, f: _Found, word: Token) -> Piece:
    if f.o_len:
        return f.o_len, {"op": f.op}
    if outcome := _outcome(table, word):
        return 1, {"values": outcome}
    return 1, {"ordinal": _ordinal(word)}


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
