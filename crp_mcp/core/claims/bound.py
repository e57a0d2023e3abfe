"""Numbers and ordinals that belong to a column or pick a row (`rank 1`, `the first row`) -> mentions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .bind import labels
from .document import Column, twins
from .lexicon import ROW_NOUNS
from .link import ColumnRef
from .parse import Chunk, Parse, attribute_columns
from .rows import foreign, number_rows, number_sql, quote
from .scene import Cond, Mention
from .units import CURRENCIES
from .words import stem

_THE = frozenset(("the", "its", "their", "his", "her", "your", "my", "this", "that", "'s"))


def ordinal_rows(parse: Parse) -> list[Mention]:
    """`the first X`, `the last row`: a row by its place."""
    out: list[Mention] = []
    columns = parse.table.columns
    for chunk in parse.chunks:
        place = chunk.ordinal if chunk.ordinal else (-1 if chunk.low == "last" else None)
        following = parse.chunks[chunk.at + 1] if chunk.at + 1 < len(parse.chunks) else None
        if chunk.ordinal and chunk.at and _ranks(parse.chunks[chunk.at - 1]) and _ranked(parse, chunk, out):
            continue
        if (
            place is None
            or following is None
            or not following.words[0].is_word
            or following.op
            or not columns
            or parse.table.kind == "record"
        ):
            continue
        if not chunk.at or parse.chunks[chunk.at - 1].low not in _THE:
            continue
        if following.columns and any(c.column.is_measure for c in following.columns):
            continue
        if following.words[-1].stem not in ROW_NOUNS and not all(map(_in_order, columns)):
            continue  # the last in time is meant, which need not be the last that is listed
        if _ranked(parse, chunk, out):
            continue
        row = place - 1 if place > 0 else parse.table.rows - 1
        if 0 <= row < parse.table.rows:
            cond = Cond(frozenset((row,)), f"rowid = {row + 1}", Column("rowid", [], -1), (), 0.1, chunk.text)
            out.append(
                Mention(
                    frozenset((chunk.at, following.at)) if following.is_plain else frozenset((chunk.at,)),
                    (cond,),
                    chunk.at,
                    chunk.at,
                )
            )
    return out


def _in_order(column: Column) -> bool:
    """Whether rows stand in the order of time, where a column has times at all."""
    moments: Sequence[Any] = [] if not column.is_date else column.values() or column.time_order or ()
    known = [m for m in moments if m is not None]
    return all(a <= b for a, b in pairwise(known)) and bool(known or not column.is_date)


_RANKS = frozenset(stem(w) for w in ("rank", "ranking", "place", "position", "pos", "finish", "standing"))


def _ranks(chunk: Chunk) -> bool:
    """Whether a verb says that a place follows (`ranked first`, `finished third`)."""
    return chunk.words[-1].low in ("ranked", "ranks", "finished", "finishes", "placed", "came", "comes")


def _ranked(parse: Parse, chunk: Chunk, out: list[Mention]) -> bool:
    """`ranked first`, `in third place`: a value of the rank column, which is added to `out`."""
    around = [c for c in parse.chunks[max(0, chunk.at - 3) : chunk.at + 3] if c.columns]
    for named in around:
        for ref in named.columns:
            if set(ref.column.words) & _RANKS and ref.column.values() is not None:
                rows = frozenset(r for r, n in enumerate(ref.column.values() or ()) if n == chunk.ordinal)
                cond = Cond(rows, f"{quote(ref.column.name)} = {chunk.ordinal}", ref.column, (), 0.05, chunk.text)
                out.append(
                    Mention(frozenset((chunk.at, named.at)), (cond,), min(chunk.at, named.at), max(chunk.at, named.at))
                )
                return True
    return False


def bind_numbers(parse: Parse) -> list[Mention]:
    """Quantities that state a column's value (`rank 1`, `a score of 66`, `more than 20 goals`)."""
    out = []
    for chunk in parse.chunks:
        if chunk.qty is None or (chunk.when and not chunk.values) or chunk.op == "twice":
            continue
        if implied := _by_adjective(parse, chunk):
            out.append(implied)
            continue
        holder = _threshold(parse, chunk) or _holder(parse, chunk)
        if holder is None or any(c.op in ("more", "less") for c in parse.chunks[chunk.at + 1 : chunk.at + 2]):
            continue
        conds = []
        for ref in holder.columns:
            for column in (ref.column, *twins(parse.table, ref.column)):
                named = (not column.is_id or ref.quality >= 0.9) and not labels(parse.chunks, holder, chunk, column)
                if named and column.values() is not None and not foreign(column, chunk.qty):
                    doubt = (1 - ref.quality) * 0.3 + (0.02 if column is not ref.column else 0.0)
                    sql = number_sql(column, chunk.qty)
                    conds.append(Cond(number_rows(column, chunk.qty), sql, column, (), doubt, chunk.text))
        if conds and not (chunk.qty.compare == "between" and _spans_all(parse, chunk, holder)):
            out.append(
                Mention(
                    frozenset((chunk.at, holder.at)), tuple(conds), min(chunk.at, holder.at), max(chunk.at, holder.at)
                )
            )
    return out


def _by_adjective(parse: Parse, number: Chunk) -> Mention | None:
    """A comparison whose own word says of what (`older than 30`); a bare `is under 30` is of an age."""
    qty = number.qty
    if qty is None or qty.compare in ("eq", "ne"):
        return None
    refs = [r for w in number.words for r in attribute_columns(parse.table, w.stem)]
    following = parse.chunks[number.at + 1] if number.at + 1 < len(parse.chunks) else None
    if not refs and _is_age(parse, number) and (following is None or not following.words[0].is_word):
        refs = [ColumnRef(c, 0.7) for c in parse.table.columns if c.words == ("age",)]
    conds = [
        Cond(number_rows(r.column, qty), number_sql(r.column, qty), r.column, (), 0.05, number.text)
        for r in refs
        if r.column.is_measure and not foreign(r.column, qty)
    ]
    return Mention(frozenset((number.at,)), tuple(conds), number.at, number.at) if conds else None


def _is_age(parse: Parse, number: Chunk) -> bool:
    lead = parse.chunks[number.at - 1].low if number.at else ""
    low = number.words[0].low
    return low in ("under", "over", "below", "above", "between") and lead in ("is", "was", "are", "were", "not")


def _spans_all(parse: Parse, number: Chunk, holder: Chunk) -> bool:
    """`with X between A and B` may say where X lies for all rows, rather than pick some."""
    return any(c.low == "with" for c in parse.chunks[max(0, holder.at - 2) : number.at]) or number.op == "range"


_OF_SEVERAL = frozenset(("in total", "altogether", "combined", "on average"))
"""What says that the number before is made of several values."""


def _holder(parse: Parse, number: Chunk) -> Chunk | None:
    """The column word a quantity belongs to, when the wording leaves no doubt that it is a value and no count."""
    at, chunks = number.at, parse.chunks
    if at + 1 < len(chunks) and chunks[at + 1].low in _OF_SEVERAL:
        return None
    index = at - 1
    while (
        index >= 0
        and not chunks[index].columns
        and chunks[index].low
        in (
            "of",
            "is",
            "was",
            "be",
            "are",
            "were",
            ":",
            "=",
            "a",
            "an",
            "the",
            "at",
            "than",
            "with",
            "#",
            "number",
            "(",
            "equal",
            "to",
            "'",
            "has",
            "had",
        )
    ):
        index -= 1
    gap = at - 1 - index
    if index >= 0 and chunks[index].columns and chunks[index].op in ("", "sum", "percent"):
        between = {c.low for c in chunks[index + 1 : at]}
        exact = all(r.column.is_number for r in chunks[index].columns)
        of = at + 1 < len(chunks) and chunks[at + 1].low in ("of", "out")
        if (
            (gap == 0 and exact and not of and number.qty is not None and number.qty.unit not in CURRENCIES)
            or between & {"of", "is", "was", "be", ":", "=", "at", "than", "are", "were", "#", "(", "to", "has", "had"}
        ) and not _superlative(parse, index):
            return chunks[index]
    return None


def _threshold(parse: Parse, number: Chunk) -> Chunk | None:
    """The measure that a compared number is followed by (`more than 20 goals`)."""
    following = parse.chunks[number.at + 1] if number.at + 1 < len(parse.chunks) else None
    if number.qty is None or number.qty.compare in ("eq", "between") or following is None or following.at == 0:
        return None
    measures = [r for r in following.columns if r.quality >= 0.75 and r.column.is_number and not r.column.is_serial]
    return following if measures and number.at > 0 and _has_subject(parse, number.at) else None


def _has_subject(parse: Parse, at: int) -> bool:
    """Whether something before a compared number has the measure (`X have over 20 Y`, not `over 20 Y are`)."""
    return any(
        c.low in ("with", "have", "has", "had", "having", "scored", "over") or c.low.endswith("ed")
        for c in parse.chunks[max(0, at - 3) : at]
    )


def _superlative(parse: Parse, at: int) -> bool:
    """Whether the column word at `at` is what a superlative or aggregate is about: then the number is its result."""
    near = parse.chunks[max(0, at - 4) : at + 1]
    return any(
        c.op in ("max", "min", "avg", "sum", "median", "more", "less") and not c.columns for c in near
    ) and not any(c.op == "than" for c in near)
