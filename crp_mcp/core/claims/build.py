"""Chunks of a parse -> mentions: names in lists, dates, bound quantities, row picks, and what each may mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .bound import bind_numbers, ordinal_rows
from .dated import date_conds
from .document import Column
from .limits import Work
from .marked import marks, missing_values
from .numbered import numbered_rows
from .parse import Chunk, Parse
from .rows import literal, quote
from .scene import Cond, Mention, Scene, bare_year, scene_setting
from .words import LIGHT, word_list

_JOINERS = frozenset((",", "and", "or", "&", "/", ";", "nor", "but", "the"))
_GLUE = frozenset(word_list("""of in is was were are be the a an : = - , ' " ( at for on by with s from to"""))


def build(parse: Parse, work: Work | None = None) -> Scene:
    """Bind quantities to columns, group names into lists, and turn both into conditions."""
    numbered = numbered_rows(parse)
    named = {i for m in numbered for i in m.chunks}
    bound_numbers = numbered + [m for m in bind_numbers(parse) if not m.chunks & named]
    taken = {i for m in bound_numbers for i in m.chunks}
    mentions = list(bound_numbers)
    for group in _groups(parse, taken):
        if mention := _mention(parse, group):
            mentions.append(mention)
    mentions += ordinal_rows(parse) + missing_values(parse) + marks(parse)
    mentions.sort(key=lambda m: m.first)
    used = {i for m in mentions for i in m.chunks}
    numbers = tuple(
        c for c in parse.chunks if c.qty and c.at not in used and not (c.when and scene_setting(parse, c.at))
    )
    columns = tuple(c for c in parse.chunks if c.columns and c.at not in used)
    return Scene(parse, parse.table, tuple(mentions), numbers, columns, frozenset(used), work or Work())


def _groups(parse: Parse, taken: set[int]) -> Iterator[list[Chunk]]:
    """Runs of names (or dates) in a row, joined by commas, `and`, `or`."""
    group: list[Chunk] = []
    joined = True
    for chunk in parse.chunks:
        named = bool(chunk.values or chunk.when) and chunk.at not in taken and not (chunk.qty and not chunk.when)
        if named and chunk.columns and not _as_value(parse, chunk):
            named = False
        if named and group and joined and _alike(group[-1], chunk):
            group.append(chunk)
        elif named:
            if group:
                yield group
            group = [chunk]
        elif chunk.low in _JOINERS:
            joined = True
            continue
        else:
            if group:
                yield group
            group = []
        joined = False
    if group:
        yield group


def _as_value(parse: Parse, chunk: Chunk) -> bool:
    """Whether a chunk that names a column and cells alike is to be taken as cells."""
    best = max(c.quality for c in chunk.columns)
    return chunk.is_exact and (best < 0.9 or _is_predicate(parse, chunk.at) or _is_attribute(parse, chunk.at))


def _is_attribute(parse: Parse, at: int) -> bool:
    """Whether a word stands before what rows are called (`the paid bills`)."""
    following = parse.chunks[at + 1] if at + 1 < len(parse.chunks) else None
    if following is None or following.qty:
        return False
    named = bool(following.columns) and not any(ref.column.is_measure for ref in following.columns)
    return named or following.words[-1].stem in parse.table.nouns


_COPULAS = frozenset(("is", "are", "was", "were"))


def _is_predicate(parse: Parse, at: int) -> bool:
    """Whether a word is all that is said of something (`two are paid`): then it is what cells say, not their column."""
    following = parse.chunks[at + 1] if at + 1 < len(parse.chunks) else None
    ends = following is None or (not following.words[0].is_word and not following.qty)
    ends = ends or (following is not None and following.low in ("and", "or", "but", "while", "now", "already"))
    return at > 0 and parse.chunks[at - 1].low in _COPULAS and ends


def _alike(a: Chunk, b: Chunk) -> bool:
    if a.when and b.when and not (a.values and b.values):
        return True
    return bool({v.column.position for v in a.values} & {v.column.position for v in b.values})


_OUT = frozenset(("except", "besides", "excluding", "outside", "non"))


def _negation(parse: Parse, at: int) -> set[int]:
    """The chunks by which the name at `at` is excluded (`not in X`, `non-X`, `outside X`); empty when it is not."""
    before = parse.chunks[max(0, at - 4) : at]
    low = [c.low for c in before]
    while low and low[-1] in ("the", "of", "for", "a", "in"):
        low, before = low[:-1], before[:-1]
    if low[-2:] in (["other", "than"], ["apart", "from"], ["aside", "from"]):
        return {c.at for c in before[-2:]}
    while low and low[-1] in ("the", "of", "for", "from", "a", "in", "at", "on", "by", "-"):
        low, before = low[:-1], before[:-1]
    glued = len(before) < min(4, at)
    if low[-1:] and (low[-1] in _OUT or (low[-1] == "but" and _universal(parse, before[-1].at))):
        return {before[-1].at}
    if glued and before and before[-1].op == "not":
        return {before[-1].at}
    return set()


def _universal(parse: Parse, at: int) -> bool:
    """Whether a `but` follows all or none of something, and so makes an exception (`everyone but X`)."""
    return any(c.op in ("all", "none", "each") for c in parse.chunks[max(0, at - 4) : at])


def _mention(parse: Parse, group: Sequence[Chunk]) -> Mention | None:
    first, last = group[0].at, group[-1].at
    used = {c.at for c in group}
    beside = _beside(parse, first, last)
    options: list[Cond] = []
    for column in parse.table.columns:
        if cond := _value_cond(column, group):
            near = beside and column in [r.column for r in beside.columns]
            options.append(Cond(cond.rows, cond.sql, column, cond.members, 0.0 if near else cond.cost, cond.text))
    if group[0].when:
        options += date_conds(parse.table, group, negated=bool(parse.ops("not", "none")))
    if not options:
        return None
    told = {
        r.column.position for c in parse.chunks if c.columns and c.at not in used for r in c.columns if r.quality >= 0.9
    }
    if any(o.column.position in told for o in options):
        options = [o if o.column.position in told else replace(o, cost=o.cost + 0.4) for o in options]
    if beside and (close := [o for o in options if o.column in [r.column for r in beside.columns]]):
        options = [replace(o, cost=o.cost + 0.5) for o in close] if len(close) > 3 else close
        used.add(beside.at)
    if negation := _negation(parse, first):
        everything = parse.table.body
        options = [Cond(everything - o.rows, f"NOT ({o.sql})", o.column, (), o.cost, o.text) for o in options]
        used |= negation
    conjoined = any(c.low in ("and", "&") for c in parse.chunks[first:last])
    options.sort(key=lambda o: o.cost)
    if _scattered(group):
        return None
    return Mention(
        frozenset(used),
        tuple(options[:6]),
        first,
        last,
        bool(negation),
        len(group),
        conjoined,
        _is_weak(parse, group, beside),
    )


def _scattered(group: Sequence[Chunk]) -> bool:
    """One word that stands inside cells of many columns names none of them."""
    chunk = group[0]
    return len(group) == 1 and len(chunk.words) == 1 and not chunk.when and not chunk.is_exact and len(chunk.values) > 3


def _is_weak(parse: Parse, group: Sequence[Chunk], beside: Chunk | None) -> bool:
    """Whether a mention may be no mention: a year that sets the scene, a common word that happens to be a cell."""
    chunk = group[0]
    if len(group) > 1 or (beside is not None and chunk.is_exact):
        return False
    if bare_year(chunk):
        return parse.table.kind != "record" and scene_setting(parse, chunk.at) and _goes_on(parse, chunk.at)
    if not chunk.values or chunk.when or len(chunk.words) > 1 or not chunk.text[:1].islower():
        return False
    if chunk.is_exact and _said_to_be(parse, chunk.at):
        return False
    return not chunk.is_exact or chunk.words[0].stem in LIGHT


def _said_to_be(parse: Parse, at: int) -> bool:
    """Whether a word is what something is said to be (`is the lead`, `as a member`): then it is meant."""
    index = at - 1
    while index >= 0 and parse.chunks[index].low in ("a", "an", "the", "not", "also", "both"):
        index -= 1
    return index >= 0 and parse.chunks[index].low in ("is", "was", "are", "were", "as", "be")


def _goes_on(parse: Parse, at: int) -> bool:
    """Whether a year is part of a longer phrase, or opens the clause; at the end of one it is what is said."""
    following = parse.chunks[at + 1] if at + 1 < len(parse.chunks) else None
    opens = at <= 1 or all(c.low in ("in", "the", "during", "for", "of") for c in parse.chunks[:at])
    return opens or (following is not None and (following.is_content or following.low in ("-", "season")))


def _beside(parse: Parse, first: int, last: int) -> Chunk | None:
    """A column word that stands right by a name and says what it is (`the city of X`, `X division`)."""
    for step in range(1, 4):
        at = first - step
        if at < 0:
            break
        chunk = parse.chunks[at]
        if chunk.columns and not (chunk.values and chunk.is_exact):
            return chunk
        if chunk.low not in _GLUE:
            break
    after = parse.chunks[last + 1] if last + 1 < len(parse.chunks) else None
    return after if after and after.columns else None


def _value_cond(column: Column, group: Sequence[Chunk]) -> Cond | None:
    members, texts, exact = [], [], True
    for chunk in group:
        ref = next((v for v in chunk.values if v.column is column), None)
        if ref is None:
            return None
        members.append(ref.rows)
        texts.append(ref.text if ref.exact else chunk.text)
        exact = exact and ref.exact
    rows = frozenset().union(*members)
    name = quote(column.name)
    if exact and not column.is_listed:
        sql = (
            f"{name} = {literal(texts[0])}"
            if len(texts) == 1
            else f"{name} IN ({', '.join(literal(t) for t in texts)})"
        )
    else:
        sql = " OR ".join(f"{name} LIKE {literal('%' + t + '%')}" for t in texts)
        sql = f"({sql})" if len(texts) > 1 else sql
    return Cond(rows, sql, column, tuple(members), 0.0 if exact else 0.1, ", ".join(texts))
