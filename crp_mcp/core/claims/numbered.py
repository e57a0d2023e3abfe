"""Rows called by a number (`ticket 7`, `orders 3 and 9`, `#12`) -> mentions: it names, and counts nothing."""

from __future__ import annotations

from collections.abc import Sequence

from .document import Column, Table
from .lexicon import REPORT
from .parse import Chunk, Parse
from .rows import number_rows, quote
from .scene import Cond, Mention
from .words import LIGHT, STOP, stem, word_list

_IDS = frozenset(stem(w) for w in ("id", "no", "number", "num", "nr", "key", "index", "#"))
_JOIN = frozenset((",", "and", "or", "&"))
_VERBS = REPORT - frozenset(stem(w) for w in ("match", "report", "list", "show"))


_LEADS = frozenset(word_list("the this that a an and or of in on for to from by with both only not but : ( ,")) | {""}
"""What may stand before a noun; before a verb stands what does it."""


def numbered_rows(parse: Parse) -> list[Mention]:
    """Every number, or list of numbers, that stands right after the noun of what it names."""
    out: list[Mention] = []
    for chunk in parse.chunks:
        if any(chunk.at in mention.chunks for mention in out):
            continue
        if _plain_number(chunk) and (noun := _noun_before(parse, chunk)) is not None:
            group = _listed(parse, chunk)
            if not _counts_on(parse, group[-1]) and (mention := _mention(parse, noun, group)) is not None:
                out.append(mention)
    return out


def _plain_number(chunk: Chunk) -> bool:
    qty = chunk.qty
    return (
        qty is not None and isinstance(qty.value, int) and not (qty.unit or qty.word or qty.approx)
        and qty.compare == "eq" and "," not in qty.literal and not chunk.op
    )  # fmt: skip


def _noun_before(parse: Parse, chunk: Chunk) -> Chunk | None:
    """The noun that a number follows directly, or with a `#` or `number` between; the `#` where there is no noun."""
    marked = parse.chunks[chunk.at - 1] if chunk.at and parse.chunks[chunk.at - 1].low == "#" else None
    return _noun_at(parse, chunk) or marked


def _noun_at(parse: Parse, chunk: Chunk) -> Chunk | None:
    at = chunk.at - 1
    while at > 0 and parse.chunks[at].low in ("#", "no", "nr", "number", "."):
        at -= 1
    if at > 1 and parse.chunks[at].low in ("is", "was", ":") and _superlative(parse, at - 1):
        at -= 1
    if at < 0:
        return None
    noun = parse.chunks[at]
    if noun.low == "#":
        return noun
    if noun.op or noun.qty or noun.when or noun.ordinal or not noun.words[-1].is_word:
        return None
    low, root = noun.words[-1].low, noun.words[-1].stem
    verb = low.endswith(("ed", "ing")) or root in _VERBS or low in STOP
    known = root in parse.table.nouns or bool(noun.columns)
    lead = parse.chunks[noun.at - 1].low if noun.at else ""
    opens = lead in _LEADS and (noun.text[:1].isupper() or root not in LIGHT)
    return None if verb or not (known or opens) else noun


def _superlative(parse: Parse, at: int) -> bool:
    """Whether a noun whose rows have ids follows a superlative (`the largest order is 17`)."""
    ids = [c for c in _columns(parse.table, parse.chunks[at]) if c.is_serial or set(c.words) & _IDS]
    measured = any(r.column.is_measure for r in parse.chunks[at].columns)
    return parse.chunks[at - 1].op in ("max", "min") and bool(ids) and not measured


def _listed(parse: Parse, first: Chunk) -> list[Chunk]:
    """The number with those that are joined to it."""
    out = [first]
    for chunk in parse.chunks[first.at + 1 :]:
        if _plain_number(chunk) and parse.chunks[chunk.at - 1].low in _JOIN | {"#"}:
            out.append(chunk)
        elif chunk.low not in _JOIN and not (chunk.low == "#" and parse.chunks[chunk.at - 1].low in _JOIN):
            break
    return out


def _counts_on(parse: Parse, last: Chunk) -> bool:
    """Whether a noun follows that the number would count (`team red 3 members`)."""
    following = parse.chunks[last.at + 1] if last.at + 1 < len(parse.chunks) else None
    if following is not None and following.low in ("of", "out"):
        return True
    if following is None or not following.words[0].is_word or following.low in STOP or following.op:
        return False
    return following.words[-1].low.endswith("s") and not following.is_exact


def _mention(parse: Parse, noun: Chunk, group: Sequence[Chunk]) -> Mention | None:
    conds = []
    for column in _columns(parse.table, noun):
        members = tuple(number_rows(column, c.qty) for c in group if c.qty)
        stated = ", ".join(str(c.qty.value) for c in group if c.qty)
        sql = f"{quote(column.name)} IN ({stated})" if len(group) > 1 else f"{quote(column.name)} = {stated}"
        conds.append(Cond(frozenset().union(*members), sql, column, members, 0.0, stated))
    if not any(c.rows for c in conds):
        return None  # nothing here is called that: something else may be
    first, last = min(noun.at, group[0].at), group[-1].at
    conjoined = any(c.low in ("and", "&") for c in parse.chunks[group[0].at : last])
    used = frozenset(c.at for c in parse.chunks[first : last + 1])
    return Mention(used, tuple(conds), first, last, False, len(group), conjoined)


def _columns(table: Table, noun: Chunk) -> list[Column]:
    """Columns of whole numbers, each on one row, that can be what rows are called by."""
    whole = [
        c for c in table.columns
        if table.kind == "rows" and c.is_number and not c.is_date and c.distinct == table.rows
        and all(isinstance(n, int) for n in c.numbers)
    ]  # fmt: skip
    own = [c for c in whole if noun.words[-1].stem in c.words and (len(c.words) == 1 or set(c.words) & _IDS)]
    if own:
        return own
    named = [c for c in whole if set(c.words) & _IDS and (set(c.words) <= _IDS or c.position == 0)]
    return (named or [c for c in whole if noun.low == "#" and c.position == 0])[:1]
