"""What rows have none of, in a column that measures it: `X has no errors`."""

from __future__ import annotations

from collections.abc import Iterator

from .model import Distortion
from .parse import Chunk
from .reading import Reading
from .rows import quote
from .scene import Scene


def has_none(scene: Scene, no: Chunk, noun: Chunk) -> Iterator[Reading]:
    """`X has no Y`, `only X has no Y`: nothing, or nothing counted, in the column Y of X's rows."""
    if any(chunk.ordinal for chunk in scene.chunks):
        return  # `the third that has none` says more
    only = scene.parse.ops("only")
    nouns = {c.at for c in scene.columns if not any(ref.column.is_measure for ref in c.columns)}
    for column in (ref.column for ref in noun.columns if ref.quality > 0.7):
        none = {row for row in scene.body if column.values() is not None and not (column.values() or ())[row]}
        for selection in scene.combine(scene.mentions):
            if not selection.conds or not selection.rows:
                continue
            holds = selection.rows <= none and (not only or none <= selection.rows)
            sql = f"SELECT {quote(column.name)} FROM {{table}}{selection.where}"
            found = ", ".join(column.texts[row] for row in sorted(selection.rows)[:3])
            used = selection.used | {no.at, noun.at} | nouns | {c.at for c in only}
            yield Reading(
                "lookup", holds != scene.negated, used, sql, found, no.text, Distortion.NUMBER_CHANGED, selection.cost
            )
