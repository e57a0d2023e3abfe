"""What a text calls by its very name: ids in any spelling, pinned names, tools and files. Weighs nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .candidate import Candidate
from .phrases import Phrase
from .words import tokens

_ID = re.compile(r"scratch_(?P<word>\w+)_(?P<number>\d+)")


def named_in(text: str, earlier: Sequence[Candidate]) -> Candidate | None:
    """The newest result whose id or whole pinned name stands in the text."""
    words = tokens(text)
    plain = text.lower()
    for c in reversed(earlier):
        if re.search(rf"(?<!\w){re.escape(c.id.lower())}(?!\w)", plain) or _in_pieces(c, plain):
            return c
        name = tokens(c.name) if c.name else []
        if len(name) > 1 and any(words[at : at + len(name)] == name for at in range(len(words))):
            return c
        if name and words in (name, ["the", *name], ["that", *name]):
            return c
    return None


def unknown_id(text: str) -> str:
    """What is spelled as an id is; asked for where no result has that id. Empty for none."""
    found = _ID.search(text.lower())
    return "" if found is None else found.group()


def _in_pieces(c: Candidate, plain: str) -> bool:
    """Whether an id stands there with other marks between its parts: `scratch sql 3`, `sql-003`."""
    parts = _ID.fullmatch(c.id.lower())
    if parts is None:
        return False
    word, number = re.escape(parts["word"]).replace("_", r"[\s_-]*"), parts["number"].lstrip("0") or "0"
    zeros = parts["number"][: len(parts["number"]) - len(number)]
    whole = rf"scratch[\s_:/-]*{word}[\s_#-]*0*{number}"
    short = rf"{word}[\s_#-]*{zeros}{number}"
    return re.search(rf"(?<!\w)(?:{whole}{'|' + short if zeros else ''})(?!\w)", plain) is not None


def literals_in(text: str, earlier: Sequence[Candidate]) -> list[Phrase]:
    """Names of tools and files as they stand in the text; not those that something is to be written to."""
    plain = text.lower()
    spoken = re.sub(r"[_-]", " ", plain)
    found = []
    for literal in sorted({one for c in earlier for one in c.literals if " " in one or "." in one}):
        written = re.escape(literal)
        if re.search(rf"(?<![\w.])(?<!to )(?<!as )(?<!into ){written}(?!\w)", plain if "." in literal else spoken):
            found.append(Phrase(literal, 0.9, literal, literal=True))
    return found
