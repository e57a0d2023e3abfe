"""`The X is Y` over a record or a named row, where Y stands nowhere: X's own cell decides. One frame of several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .document import Column
from .model import Distortion
from .parse import Chunk
from .reading import Reading
from .rows import quote
from .scene import Scene
from .words import STOP, fold, stems

_COPULA = frozenset(("is", "was", "are", "were", ":", "=", "be"))
_DAYS = frozenset(stems("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"))
_MONTHS = frozenset(stems("January February March April May June July August September October November December"))
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_CODE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w-]{4,}|\d+(?:\.\d+){2,}")
_TRUTH = {"yes": "true", "true": "true", "enabled": "true", "no": "false", "false": "false", "disabled": "false"}
MOST_WORDS = 4


def readings(scene: Scene) -> Iterator[Reading]:
    """Each named column whose stated value links to nothing of the table."""
    if scene.numbers or any(c.op and not c.columns and c.op != "not" for c in scene.chunks):
        return
    for chunk in scene.chunks:
        verb = scene.chunks[chunk.at + 1] if chunk.at + 1 < len(scene.chunks) else None
        if not chunk.columns or verb is None or verb.low not in _COPULA:
            continue
        said = [c for c in scene.chunks[verb.at + 1 :] if c.low not in STOP and c.words[0].low[0].isalnum()]
        if not said or len(said) > MOST_WORDS or any(c.when or c.qty for c in said):
            continue
        for ref in chunk.columns[:3]:
            if ref.quality >= 0.75 and (reading := _compare(scene, chunk, ref.column, said)):
                yield reading


def _compare(scene: Scene, named: Chunk, column: Column, said: Sequence[Chunk]) -> Reading | None:
    """The stated words against the cells of the one row that is meant."""
    others = [m for m in scene.mentions if m.last < named.at]
    rows = scene.body
    used = {named.at, *(c.at for c in said)} | scene.nots
    for selection in scene.combine(others):
        rows, used = selection.rows, used | selection.used
        break
    constant = column.distinct == 1 and not others
    if scene.table.kind != "record" and not constant and (not others or len(rows) != 1):
        return None
    cells = list(dict.fromkeys(column.texts[r] for r in rows if column.texts[r]))
    text = " ".join(c.text for c in said)
    if len(cells) != 1 or len(cells[0]) > 80:
        return None
    agree = _agree(text, cells[0])
    if agree is None:
        return None
    sql = f"SELECT {quote(column.name)} FROM {{table}}"
    holds = agree != scene.negated
    return Reading("stated", holds, frozenset(used), sql, cells[0], text, Distortion.ENTITY_SUBSTITUTED, 0.05)


def _agree(said: str, cell: str) -> bool | None:
    """Whether a stated value is the cell's; None where they differ in words alone, which may mean the same."""
    mine, theirs = stems(said), stems(cell)
    if mine == theirs:
        return True
    if _truth(said) and _truth(cell):
        return _truth(said) == _truth(cell)
    for closed in (_DAYS, _MONTHS):
        if set(mine) & closed and set(theirs) & closed:
            return set(mine) & closed == set(theirs) & closed
    for form in (_EMAIL, _CODE):
        a, b = form.fullmatch(said.strip(" .'\"")), form.fullmatch(cell.strip())
        if a and b:
            return fold(a.group()) == fold(b.group())
    return None


def _truth(text: str) -> str:
    return _TRUTH.get(fold(text).strip(" ."), "")
