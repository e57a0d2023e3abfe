"""As many figures as names, in their order: `A and B have 3 and 12 comments`. One frame of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .document import Column
from .model import Distortion
from .parse import Chunk
from .reading import Reading
from .rows import bears_out, quote
from .scene import Cond, Mention, Scene

_JOIN = frozenset((",", "and", "&"))
_REACH = 3
"""Chunks after the last figure within which their column is named."""


def readings(scene: Scene) -> Iterator[Reading]:
    """One reading for each list of names, list of figures after it, and column these may be of."""
    if scene.table.kind != "rows":
        return
    for run in _runs(scene.chunks):
        for mention in scene.mentions:
            if mention.listed == len(run) and mention.conjoined and mention.last < run[0].at and not scene.nots:
                yield from _in_order(scene, mention, run)


def _runs(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    """Lists of two figures and more."""
    run: list[Chunk] = []
    joined = False
    for chunk in chunks:
        if chunk.qty and not chunk.when and (joined or not run):
            run.append(chunk)
            joined = False
        elif run and chunk.low in _JOIN:
            joined = True
        else:
            if len(run) > 1:
                yield run
            run, joined = ([chunk], False) if chunk.qty and not chunk.when else ([], False)
    if len(run) > 1:
        yield run


def _in_order(scene: Scene, mention: Mention, run: Sequence[Chunk]) -> Iterator[Reading]:
    for named in scene.chunks[mention.last + 1 : run[-1].at + 1 + _REACH]:
        for ref in named.columns:
            for names in mention.options:
                if ref.column.is_measure and ref.column is not names.column and len(names.members) == len(run):
                    yield from _reading(scene, mention, names, run, named, ref.column)


def _reading(
    scene: Scene, mention: Mention, names: Cond, run: Sequence[Chunk], named: Chunk, column: Column
) -> Iterator[Reading]:
    values = column.values()
    rows = [next(iter(part)) for part in names.members if len(part) == 1]
    if values is None or len(rows) != len(run):
        return
    found = [values[row] for row in rows]
    fits = [
        value is not None and chunk.qty is not None and bears_out(column, chunk.qty, value)
        for chunk, value in zip(run, found, strict=True)
    ]
    between = {c.at for c in scene.chunks[run[0].at : run[-1].at + 1]}
    used = mention.chunks | between | {named.at} | {c.at for c in scene.chunks if c.low == "respectively"}
    sql = f"SELECT {quote(column.name)} FROM {{table}} WHERE {names.sql}"
    stated = ", ".join(chunk.text for chunk in run)
    yield Reading(
        "paired", all(fits), frozenset(used), sql, ", ".join(map(str, found)), stated, Distortion.NUMBER_CHANGED
    )
