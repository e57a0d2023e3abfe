"""Names of tables and columns: which are the same to SQLite, and one for each column. Pure, standard library alone.

SQLite takes `A` and `a` for one letter, `É` and `é` for two. Whatever compares names must do as it does.
"""

from __future__ import annotations

from collections.abc import Sequence

_FOLD = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def fold(name: str) -> str:
    """The name with A to Z in lower case, and nothing else: equal for names that SQLite takes for the same."""
    return name.lower() if name.isascii() else name.translate(_FOLD)


def utterable(name: str) -> str:
    """The name with marks in place of what no statement can hold: NUL, and halves of surrogate pairs."""
    return name.replace("\0", "\ufffd").encode("utf-8", "replace").decode() if not name.isprintable() else name


def unique_names(names: Sequence[str]) -> list[str]:
    """Every column's name, no two the same to SQLite: `column_2` where there is none, `name_2` where one comes again.

    A name that stands in the data is never given to another column.
    """
    names = list(map(utterable, names))
    taken = {fold(name) for name in names}
    used: set[str] = set()
    found = []
    for at, name in enumerate(names, 1):
        free, number = name or f"column_{at}", 1
        while fold(free) in used or (free != name and fold(free) in taken):
            number += 1
            free = f"{name or f'column_{at}'}_{number}"
        used.add(fold(free))
        found.append(free)
    return found
