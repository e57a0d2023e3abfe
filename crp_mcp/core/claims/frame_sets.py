"""Statements about sets of rows: only, all, none, both, most, shares. One frame of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from .bind import ways
from .frame_extreme import bare_most
from .model import Distortion
from .numbers import Quantity, agrees
from .parse import Chunk
from .reading import Reading
from .rows import quote
from .scene import Mention, Scene, Selection
from .words import word_list

_SHARES = {"mostof": ("gt", 0.5), "fewof": ("lt", 0.5), "half": ("eq", 0.5), "nearall": ("ge", 0.85)}


def readings(scene: Scene) -> Iterator[Reading]:
    """Readings for each set word the clause has."""
    if scene.table.kind == "record":
        yield from _no_such(scene)
    if scene.table.kind == "record" or any(c.op in ("than", "more", "less") and not c.columns for c in scene.chunks):
        return
    if scene.parse.ops("only") and scene.mentions and len(scene.mentions) + len(scene.numbers) >= 2:
        yield from _only(scene)
    over = any(c.at and scene.chunks[c.at - 1].low in _OVER for c in scene.parse.ops("all"))
    if scene.parse.ops("all", "both") and not over:
        yield from _all(scene)
    if (
        scene.parse.ops("each", "all")
        and not over
        and len(scene.numbers) == 1
        and not scene.parse.ops("avg", "max", "min")
    ):
        yield from _every_value(scene)
    if any(c.at not in scene.bound for c in scene.parse.ops("none")) and all(map(_is_limit, scene.numbers)):
        yield from _none(scene)
    if (
        scene.parse.ops("mostof", "half", "fewof", "nearall")
        or _most(scene)
        or any(c.qty and c.qty.unit == "%" for c in scene.numbers)
    ):
        yield from _share(scene)


def _no_such(scene: Scene) -> Iterator[Reading]:
    """`no warnings` over a record that counts them."""
    for op in scene.parse.ops("none"):
        following = scene.chunks[op.at + 1] if op.at + 1 < len(scene.chunks) else None
        for ref in following.columns if following else ():
            number = ref.column.numbers[0] if ref.column.numbers else None
            if number is not None and following is not None and ref.quality > 0.7:
                used = frozenset((op.at, following.at))
                sql = f"SELECT {quote(ref.column.name)} FROM {{table}}"
                yield Reading("none", number == 0, used, sql, str(number), "none", Distortion.NEGATION_FLIP)


def _only(scene: Scene) -> Iterator[Reading]:
    """`X is the only one that C`: the rows that meet C are X's and X's alone."""
    only = scene.parse.ops("only")[0].at
    nots = scene.nots
    negated = bool(nots)
    nouns = {c.at for c in scene.columns if 0 < c.at - only <= 3 and not any(r.column.is_measure for r in c.columns)}
    small = {c.at for c in scene.numbers if c.at == only + 1 and c.qty and c.qty.value == 1}
    for i in _subjects(scene, only):
        subject = scene.mentions[i]
        rest = scene.mentions[:i] + scene.mentions[i + 1 :]
        if negated and not any(m.first > min(nots) for m in rest):
            continue
        limits = [c for c in scene.numbers if _is_limit(c)]
        for selection, cond in product(_limited(scene, rest, limits), subject.options):
            alone = negated and len(selection.conds) == 1
            if not selection.conds or cond.column in selection.columns or (negated and not alone):
                continue
            rows = scene.body - selection.rows if negated else selection.rows
            holds = bool(rows) and rows <= cond.rows and all(m & rows for m in cond.members)
            where = f" WHERE NOT ({selection.conds[0].sql})" if negated else selection.where
            found = f"{len(rows)} rows, {len(rows - cond.rows)} of them not {cond.text}"
            cost = selection.cost + cond.cost + (0.15 if subject.first > only else 0.0)
            used = selection.used | subject.chunks | nouns | small | nots | {only}
            sql = f"SELECT * FROM {{table}}{where}"
            yield Reading("only", holds, used, sql, found, cond.text, Distortion.CONTEXT_STRIPPED, cost)


UNNAMED = 0.25
"""The doubt of a number whose column nothing names: too much to say of none or one alone."""


def _limited(scene: Scene, mentions: Sequence[Mention], limits: Sequence[Chunk]) -> Iterator[Selection]:
    """What mentions pick, within the limits that numbers set (`over 20`)."""
    for selection in scene.combine(mentions):
        for conds, used, cost in ways(scene, limits):
            if cost >= UNNAMED:
                continue
            rows = selection.rows.intersection(*(c.rows for c in conds))
            every = (*selection.conds, *conds)
            yield Selection(rows, every, selection.used | used, selection.cost + cost, selection.pairs)


def _subjects(scene: Scene, only: int) -> list[int]:
    """Which mentions may be the one thing that is alone: the nearest before `only`, or what the sentence ends in."""
    before = [i for i, m in enumerate(scene.mentions) if m.last < only]
    if before and scene.mentions[before[-1]].last == only - 1 and len(before) < len(scene.mentions):
        return [len(scene.mentions) - 1]  # `X only has Y`: nothing but Y is X's
    if before:
        return before[-1:]
    return [0] if only == 0 else [len(scene.mentions) - 1, 0]


def _splits(scene: Scene) -> Iterator[tuple[tuple[Mention, ...], tuple[Mention, ...]]]:
    """(which rows are meant, what is said of them): the last condition, or every one after the first, is said."""
    spared = tuple(m for m in scene.mentions if _is_spared(scene, m))
    mentions = tuple(m for m in scene.mentions if m not in spared)
    ops = scene.parse.ops("all")
    before = tuple(m for m in mentions if ops and m.last < ops[0].at)
    if before and len(before) < len(mentions) and before[-1].listed == 1:
        yield (*spared, *(m for m in mentions if m not in before)), before
        return
    for cut in range(len(mentions) - 1, -1, -1):
        yield (*spared, *mentions[:cut]), mentions[cut:]


_SPARES = frozenset(word_list("except excluding besides but apart aside other"))


def _is_spared(scene: Scene, mention: Mention) -> bool:
    """Whether a name is an exception to what is said of all (`everyone but X`, `apart from X`)."""
    return mention.negated and any(scene.chunks[at].low in _SPARES for at in mention.chunks)


_OVER = frozenset(("across", "over", "throughout"))
"""Before `all` these say over what something is added up, and nothing of each."""


def _all(scene: Scene) -> Iterator[Reading]:
    """`all X are C`; `both A and B are C`."""
    ops = {c.at for c in scene.parse.ops("all", "both")}
    nots = scene.nots
    nouns = {
        c.at
        for c in scene.columns
        if any(0 < c.at - o <= 4 for o in ops) and not any(r.column.is_measure for r in c.columns)
    }
    nouns |= {c.at for c in scene.chunks if any(0 < c.at - o <= 3 for o in ops) and _is_noun(scene, c)}
    numbers = [c for c in scene.numbers if c.qty and any(0 < c.at - o <= 2 for o in ops)]
    for which, said in _splits(scene):
        for domain in scene.combine(which):
            for selection in scene.combine(said):
                if not selection.conds or set(selection.columns) & set(domain.columns) or not domain.rows:
                    continue
                if not domain.conds and not scene.parse.ops("all"):
                    continue  # `both` says of which two
                sized = all(agrees(c.qty, len(domain.rows)) for c in numbers if c.qty)
                bad = domain.rows & selection.rows if nots else domain.rows - selection.rows
                listed = [m for mention, cond in domain.pairs if mention.listed > 1 for m in cond.members]
                if listed:
                    holds: bool | None = all(bool(m & selection.rows) != bool(nots) for m in listed)
                else:
                    holds = not bad and sized
                if holds and _needless(domain, selection):
                    holds = None
                said_sql = " AND ".join(c.sql for c in selection.conds)
                sql = f"SELECT COUNT(*) FROM {{table}}{domain.where}{_and(domain)} NOT ({said_sql})"
                used = domain.used | selection.used | ops | nouns | nots | {c.at for c in numbers}
                cost = domain.cost + selection.cost + 0.05 * len(said) + (0.4 if not which and len(said) > 1 else 0.0)
                yield Reading(
                    "all",
                    holds,
                    used,
                    sql,
                    f"{len(bad)} of {len(domain.rows)} differ",
                    "all",
                    Distortion.CONTEXT_STRIPPED,
                    cost,
                )


def _is_of_rows(scene: Scene, most: Chunk) -> bool:
    """Whether `most X` may be of the rows: not where these have a name, and X is another."""
    noun = scene.chunks[most.at + 1] if most.at + 1 < len(scene.chunks) else None
    named = scene.parse.context | scene.table.nouns
    return not named or noun is None or not noun.is_content or noun.stem in named


def _is_noun(scene: Scene, chunk: Chunk) -> bool:
    """Whether a word without counterpart may be what the rows are called, and does not stand before that."""
    following = scene.chunks[chunk.at + 1] if chunk.at + 1 < len(scene.chunks) else None
    named = following is not None and any(not r.column.is_measure for r in following.columns)
    return chunk.is_content and not (following is not None and (following.is_content or named))


def _needless(domain: Selection, said: Selection) -> bool:
    """Whether what is said of all but some holds of those as well: then there was no exception to make."""
    return any(m.negated and said.rows and not (said.rows <= c.rows) for m, c in domain.pairs)


def _and(domain: Selection) -> str:
    return " AND" if domain.conds else " WHERE"


def _every_value(scene: Scene) -> Iterator[Reading]:
    """`each X has N of Y`, `all X were N Y`: every row has the value."""
    ops = {c.at for c in scene.parse.ops("each", "all", "sum")}
    nouns = {c.at for c in scene.columns if not any(r.column.is_measure for r in c.columns)}
    for domain in scene.combine(scene.mentions):
        for conds, used, cost in ways(scene, scene.numbers):
            if not domain.rows or conds[0].column in domain.columns:
                continue
            bad = domain.rows - conds[0].rows
            sql = f"SELECT COUNT(*) FROM {{table}}{domain.where}{_and(domain)} NOT ({conds[0].sql})"
            spent = domain.used | used | ops | nouns
            yield Reading(
                "every",
                not bad,
                spent,
                sql,
                f"{len(bad)} of {len(domain.rows)} differ",
                conds[0].text,
                Distortion.CONTEXT_STRIPPED,
                domain.cost + cost,
            )


def _none(scene: Scene) -> Iterator[Reading]:
    """`no X is C`, `X never C`."""
    ops = {c.at for c in scene.parse.ops("none")}
    never = any(c.low == "never" for c in scene.parse.ops("none"))
    nouns = {c.at for c in scene.columns if not any(r.column.is_measure for r in c.columns)}
    for picked in _limited(scene, scene.mentions, scene.numbers):
        if not picked.conds or (never and len(picked.conds) < 2):
            continue
        sql = f"SELECT COUNT(*) FROM {{table}}{picked.where}"
        used, found = picked.used | ops | nouns, str(len(picked.rows))
        yield Reading("none", not picked.rows, used, sql, found, "none", Distortion.NEGATION_FLIP, picked.cost)


def _is_limit(chunk: Chunk) -> bool:
    """Whether a number is one to be over or under."""
    return chunk.qty is not None and chunk.qty.compare in ("gt", "ge", "lt", "le", "between")


def _most(scene: Scene) -> list[Chunk]:
    return [c for c in scene.parse.ops("max") if bare_most(scene, c)]


def _share(scene: Scene) -> Iterator[Reading]:
    """`most of X are C`, `80 % of X are C`, `more than half`."""
    words = scene.parse.ops("mostof", "half", "fewof", "nearall") + _most(scene)
    numbers = [c for c in scene.numbers if c.qty and c.qty.unit == "%" and scene.chunks[c.at - 1].low != "by"]
    nouns = {c.at for c in scene.columns if not any(r.column.is_measure for r in c.columns)}
    nouns |= {c.at for c in scene.chunks if c.is_content and any(c.at - w.at == 1 for w in words)}
    for which, said in _splits(scene):
        for domain in scene.combine(which):
            for selection in scene.combine(said):
                if not selection.conds or not domain.rows or set(selection.columns) & set(domain.columns):
                    continue
                if any(c.column is scene.table.key_column and len(c.rows) == 1 for c in selection.conds):
                    continue  # the name of one row is not what most of them are
                share = len(domain.rows & selection.rows) / len(domain.rows)
                sql = f"SELECT AVG({' AND '.join(c.sql for c in selection.conds)}) FROM {{table}}{domain.where}"
                used = domain.used | selection.used | nouns
                cost = domain.cost + selection.cost
                for chunk in words:
                    compare, limit = _SHARES.get(chunk.op, _SHARES["mostof"])
                    holds = agrees(Quantity(limit, chunk.text, 0, 0, compare=compare, step=0.1), share)
                    if chunk.op == "nearall" and not holds and share >= 0.6:
                        holds = None
                    yield Reading(
                        "share",
                        holds,
                        used | {chunk.at},
                        sql,
                        f"{share:.1%}",
                        chunk.text,
                        Distortion.MAGNITUDE_ALTERED,
                        cost,
                        _is_of_rows(scene, chunk),
                    )
                for chunk in numbers:
                    if chunk.qty:
                        holds = agrees(chunk.qty, round(share * 100, 9))
                        yield Reading(
                            "share",
                            holds,
                            used | {chunk.at},
                            sql,
                            f"{share:.1%}",
                            chunk.text,
                            Distortion.NUMBER_CHANGED,
                            cost,
                        )
