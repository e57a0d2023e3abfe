"""`The X is Y` over a record or a named row, where Y stands nowhere: X's own cell decides. One frame of several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .document import Column
from .marked import SWITCHES, is_mark
from .model import Distortion
from .parse import Chunk
from .reading import Reading
from .rows import quote
from .scene import Scene
from .versions import version_of
from .words import STOP, fold, stems

_COPULA = frozenset(("is", "was", "are", "were", ":", "=", "be"))
_DAYS = frozenset(stems("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"))
_MONTHS = frozenset(stems("January February March April May June July August September October November December"))
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_CODE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w-]{4,}|\d+(?:\.\d+){2,}")
_TRUTH = {"yes": "true", "true": "true", "enabled": "true", "on": "true",
          "no": "false", "false": "false", "disabled": "false", "off": "false"}  # fmt: skip
MOST_WORDS = 4


def readings(scene: Scene) -> Iterator[Reading]:
    """Each named column whose stated value links to nothing of the table."""
    if scene.numbers or any(c.op and not c.columns and c.op != "not" for c in scene.chunks):
        return
    for chunk in scene.chunks:
        verb = _verb(scene, chunk) if chunk.columns else None
        if verb is None:
            continue
        said = [c for c in scene.chunks[verb.at + 1 :] if c.low not in STOP and c.words[0].low[0].isalnum()]
        switched = scene.chunks[verb.at + 1 : verb.at + 2]
        if switched and switched[0].low in ("on", "off") and any(is_mark(r.column) for r in chunk.columns):
            said = list(switched)
        if not said or len(said) > MOST_WORDS or any(c.when or c.qty for c in said):
            continue
        for ref in chunk.columns[:3]:
            if ref.quality >= 0.75 and (reading := _compare(scene, chunk, verb, ref.column, said)):
                yield reading


def _verb(scene: Scene, named: Chunk) -> Chunk | None:
    """What joins a column's name to the value stated for it: a copula, maybe after `of X`; nothing before a version."""
    after = scene.chunks[named.at + 1 :]
    if after and after[0].low in SWITCHES:
        after = after[1:]
    if after and after[0].low in _COPULA:
        return after[0]
    if len(after) > 2 and after[0].low in ("of", "for"):
        return next((c for c in after[1:6] if c.low in _COPULA), None)
    return named if any(r.column.is_version for r in named.columns) else None


def _compare(scene: Scene, named: Chunk, verb: Chunk, column: Column, said: Sequence[Chunk]) -> Reading | None:
    """The stated words against the cells of the one row that is meant."""
    others = [m for m in scene.mentions if m.last < verb.at and named.at not in m.chunks]
    rows = scene.body
    used = {*range(named.at, verb.at + 1)} if verb.at - named.at == 2 else {named.at}
    used |= {c.at for c in said} | scene.nots
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
    agree = _same_version(text, column, cells[0]) if column.is_version else _agree(text, cells[0])
    if agree is None:
        return None
    sql = f"SELECT {quote(column.name)} FROM {{table}}"
    holds = agree != scene.negated
    return Reading("stated", holds, frozenset(used), sql, cells[0], text, Distortion.ENTITY_SUBSTITUTED, 0.05)


def _same_version(said: str, column: Column, cell: str) -> bool | None:
    """Whether a stated version is the cell's; a cell that was a number may have lost a zero at its end."""
    mine, theirs = version_of(said.strip(" .")), version_of(cell)
    if mine is None or theirs is None:
        return None
    if any(isinstance(c, float) for c in column.cells) and mine.parts[0] == theirs.parts[0]:
        return True if mine == theirs else None
    return mine.key() == theirs.key() if "." in mine.literal else mine.parts[0] == theirs.parts[0]


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
