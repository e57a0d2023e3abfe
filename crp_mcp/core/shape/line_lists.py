"""A text that is a list, an item a line: names, paths, ids, marked entries. Prose, code and encoded data are none."""

from __future__ import annotations

import re
from collections import Counter

_MOST_LINES = 100_000
_LONGEST = 400
_MARKED = re.compile(r"(\[[A-Z]{2,12}\]|[-*•]) \S.*")
_CODE = re.compile(r"[;{}()<>=,\\]$|^[{}()<>#@]|^(?:-{3,}|={3,}|\.{3,})")
_ENCODED = 40
"""Lines at least this long, all of one length, are wrapped data and no items."""


def read_line_list(text: str) -> list[str] | None:
    """The items, or None where the text is something else."""
    lines = [line.rstrip() for line in text.strip("\r\n").split("\n", _MOST_LINES)]
    if len(lines) < 2 or len(lines) > _MOST_LINES or not all(lines) or max(map(len, lines)) > _LONGEST:
        return None
    if all(map(_MARKED.fullmatch, lines)):
        marks = {line.split(" ", 1)[0] for line in lines}
        bullets = marks <= {"-", "*", "•"}
        short = all(len(line) <= 120 and not line.endswith((".", ":")) for line in lines)
        return lines if (len(marks) <= 1 and short) or (not bullets and len(marks) <= 4) else None
    if any(re.search(r"\s", line) or _CODE.search(line) or not any(map(str.isalnum, line)) for line in lines):
        return None
    length, count = Counter(map(len, lines)).most_common(1)[0]
    return None if length >= _ENCODED and count >= 0.6 * len(lines) else lines
