"""Rows of drawn tables, cut where the rule above them has its joints: a bar anywhere else stands in a cell."""

from __future__ import annotations

import re
import unicodedata

_JOINT = re.compile(r"[+|┬┼┴╪╤╧╋┳┻╇╈╬╦╩┿╂]")


def columns_of(text: str) -> int:
    """Terminal columns a text takes."""
    return sum(map(_width, text))


def count_joints(rule: str) -> int:
    """How many joints a rule has, those at its ends left out."""
    return len(_JOINT.findall(rule))


def cut_at_joints(line: str, rule: str, bars: str) -> list[str] | None:
    """The cells of a line between bars that stand right below the rule's joints; None where there are none."""
    places: dict[int, int] = {}
    column = 0
    for at, char in enumerate(line):
        places[column] = at
        column += _width(char)
    cuts = [places.get(joint.start(), -1) for joint in _JOINT.finditer(rule)]
    if not cuts or any(at < 0 or line[at] not in bars for at in cuts):
        return None
    return [line[start + 1 : end].strip() for start, end in zip([-1, *cuts], [*cuts, len(line)], strict=True)]


def _width(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1
