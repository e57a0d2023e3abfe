"""Which names of a superlative may hold it, and which only limit among what. Weighs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .parse import Chunk
from .scene import Mention, Scene, Selection


def beside_them(subject: Sequence[Mention], among: Selection) -> bool:
    """Whether a name stands beside others of its column rather than among them (`A is best, followed by B and C`)."""
    return any(o.column is c.column and not o.rows & c.rows for m in subject for o in m.options for c in among.conds)


def _says_when(scene: Scene, op: Chunk, mention: Mention) -> bool:
    """Whether a date after `peaked` or `was hottest` is when that was, and limits nothing."""
    told = op.low.startswith("peak") or (op.at > 0 and scene.chunks[op.at - 1].low in ("is", "was", "were"))
    return told and mention.first > op.at and any(o.column.is_date for o in mention.options)


def describes(scene: Scene, op: Chunk, subject: Sequence[Mention], filters: Sequence[Mention]) -> bool:
    """Whether what stands beside the holder of an extreme may be said of that one, and not limit the others."""
    between = all(s.first < f.first < op.at for s in subject for f in filters)  # `A, by B, is the largest`
    return between or is_one_name(scene, (*subject, *filters)) or trails(scene, op, subject, filters)


def trails(scene: Scene, op: Chunk, subject: Sequence[Mention], filters: Sequence[Mention]) -> bool:
    """Whether a name follows the one that `the largest X is` gives: it may be said of that one (`A, for B`)."""
    verb = next((c.at for c in scene.chunks[op.at + 1 :] if c.low in ("is", "was", "are", "were")), None)
    return verb is not None and all(verb < s.first < f.first for s in subject for f in filters)


def is_one_name(scene: Scene, mentions: Sequence[Mention]) -> bool:
    """Whether two names stand as one (`March in the North`): both together, or one within the other."""
    first, last = min(mentions, key=lambda m: m.first), max(mentions, key=lambda m: m.first)
    between = [c.low for c in scene.chunks[first.last + 1 : last.first]]
    named = [m for m in mentions if any(c.when for c in scene.chunks[m.first : m.last + 1])]
    return len(mentions) == 2 and between in (["in", "the"], ["in"]) and first.first <= 1 and last not in named


def roles(scene: Scene, op: Chunk) -> Iterator[tuple[tuple[Mention, ...], tuple[Mention, ...], float]]:
    mentions = scene.mentions
    if mentions and not any(scene.chunks[m.first - 1].low in ("among", "amongst", "within") for m in mentions):
        yield mentions, (), 0.12 if len(mentions) > 1 else 0.0
    if len(mentions) > 1:
        told = _predicate(scene, op)
        for i, subject in enumerate(mentions):
            filters = mentions[:i] + mentions[i + 1 :]
            if not any(m in told or _says_when(scene, op, m) for m in filters):
                yield (subject,), filters, 0.05 * (i > 0)


_WITHIN = frozenset(("in", "for", "among", "of", "during", "at", "within", "from", "the", ","))


def _predicate(scene: Scene, op: Chunk) -> list[Mention]:
    """Names said of `the latest X` after its verb (`was sent by A`): no limits of X."""
    verb = next((c for c in scene.chunks[op.at + 1 :] if c.low in ("is", "was", "are", "were")), None)
    opens = all(c.low in ("the", "our", "your", "its") for c in scene.chunks[: op.at])
    if verb is None or not opens or any(m.first < verb.at for m in scene.mentions):
        return []
    return [m for m in scene.mentions if scene.chunks[m.first - 1].low not in _WITHIN]
