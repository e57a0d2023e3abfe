"""What a row is or lacks: yes-or-no columns, empty cells, and the words that say so -> mentions."""

from __future__ import annotations

from .celltext import NULLS
from .document import Column
from .link import alike
from .parse import Chunk, Parse
from .rows import quote
from .scene import Cond, Mention
from .words import fold, stem

_TRUE = frozenset(("true", "yes", "y"))
_FALSE = frozenset(("false", "no", "n"))
_WITHOUT = ("un", "in", "im", "ir", "il", "non", "dis")
_STATES = _TRUE | _FALSE | {"on", "off", "enabled", "disabled"}
_OPPOSITE = {"disabled": "enabled", "offline": "online", "off": "on"}
"""Words that say of a thing the opposite of what a column says, beside those with a prefix (`unpaid`)."""
SWITCHES = frozenset(("mode", "flag", "setting", "option", "feature", "switch"))
"""Nouns after the name of something that is on or off."""


def marks(parse: Parse) -> list[Mention]:
    """`X is active`, `three inactive X`, `X is not ready`: rows whose cell of a yes-or-no column says so."""
    out = []
    for chunk in parse.chunks:
        found = _marked(parse, chunk) or _unmarked(parse, chunk)
        if found is not None:
            out.append(found)
    return out


def _marked(parse: Parse, chunk: Chunk) -> Mention | None:
    following = parse.chunks[chunk.at + 1].low if chunk.at + 1 < len(parse.chunks) else ""
    column = next((r.column for r in chunk.columns if r.quality >= 0.75 and is_mark(r.column)), None)
    if following in SWITCHES and chunk.at + 2 < len(parse.chunks):
        following = parse.chunks[chunk.at + 2].low
    stated = following in (":", "=") and chunk.at + 2 < len(parse.chunks) and parse.chunks[chunk.at + 2].low in _STATES
    if column is None or chunk.values or stated or following in ("is", "was", "of", "column", "flag", "value"):
        return None
    nots = _not_before(parse, chunk)
    return _mention(column, chunk, nots, positive=not nots)


def _not_before(parse: Parse, chunk: Chunk) -> frozenset[int]:
    """The `not` or `out of` right before what something is said to be, where it is the only one."""
    at = chunk.at - 1
    while at >= 0 and parse.chunks[at].low in ("yet", "currently", "fully", "yet", "being"):
        at -= 1
    if parse.chunks[at].low == "of" and at and parse.chunks[at - 1].low == "out":
        return frozenset((at - 1, at))
    alone = at > 0 and parse.chunks[at].op == "not" and len(parse.ops("not", "none")) == 1
    return frozenset((at,)) if alone else frozenset()


def _unmarked(parse: Parse, chunk: Chunk) -> Mention | None:
    """`unavailable`, `inactive`, `unassigned`: the column without the prefix says no, or says nothing."""
    if not chunk.is_plain or len(chunk.words) != 1:
        return None
    low = chunk.low
    rest = [_OPPOSITE[low]] if low in _OPPOSITE else [low.removeprefix(p) for p in _WITHOUT if low.startswith(p)]
    for word in (w.lstrip("-") for w in rest):
        if len(word) < 4 and low not in _OPPOSITE:
            continue
        columns = [c for c in parse.table.columns if c.words and alike(c.words[-1], stem(word))]
        if len(columns) == 1 and is_mark(columns[0]):
            return _mention(columns[0], chunk, frozenset(), positive=False)
        if len(columns) == 1 and parse.table.kind == "rows" and (empty := _empty(columns[0])):
            cond = Cond(empty, f"{quote(columns[0].name)} IS NULL", columns[0], (), 0.1, chunk.text)
            return Mention(frozenset((chunk.at,)), (cond,), chunk.at, chunk.at)
    return None


def _mention(column: Column, chunk: Chunk, nots: frozenset[int], *, positive: bool) -> Mention:
    wanted = _TRUE if positive else _FALSE
    rows = frozenset(r for r, t in enumerate(column.texts) if fold(t).strip() in wanted)
    cond = Cond(rows, f"{quote(column.name)} = '{'true' if positive else 'false'}'", column, (), 0.05, chunk.text)
    return Mention(frozenset((chunk.at,)) | nots, (cond,), min((chunk.at, *nots)), chunk.at)


def is_mark(column: Column) -> bool:
    """Whether every cell says yes or no."""
    cells = {fold(t).strip() for t in column.texts[:5000]} - NULLS
    return bool(cells) and cells <= _TRUE | _FALSE


def _empty(column: Column) -> frozenset[int]:
    return frozenset(r for r, t in enumerate(column.texts) if fold(t).strip() in NULLS)


_HOLDERS = frozenset(("have", "has", "had", "with", "having"))


def missing_values(parse: Parse) -> list[Mention]:
    """`have no email`, `without a company`: rows whose cell is empty."""
    out = []
    for chunk in parse.chunks:
        lead = parse.chunks[chunk.at - 1].low if chunk.at else ""
        if not (chunk.low in ("without", "missing") or (chunk.low == "no" and lead in _HOLDERS)):
            continue
        named = next((c for c in parse.chunks[chunk.at + 1 : chunk.at + 3] if c.columns), None)
        for ref in named.columns if named is not None else ():
            empty = _empty(ref.column)
            if empty and ref.quality > 0.7 and named is not None:
                cond = Cond(empty, f"{quote(ref.column.name)} IS NULL", ref.column, (), 0.1, f"no {named.text}")
                out.append(Mention(frozenset((chunk.at, named.at)), (cond,), chunk.at, named.at))
                break
    return out
