"""Lines that stand before and behind the rows of delimited text, and numbers that stand before every line."""

from __future__ import annotations

import re
from itertools import dropwhile, pairwise, takewhile

from .headers import names_columns

_MOST = 6
FOOTER = re.compile(
    r"\(?\d[\d,]* (?:rows?|records?|results?|lines?)\b.{0,60}|\[\d+ rows x \d+ columns\]"
    r"|(?:total|showing|result|note|\.\.\.).{0,100}",
    re.I,
)
_GAP = re.compile(r"[^\s,;|] {3,}(?=[^\s,;|])")
_LINE_NUMBER = re.compile(r"( *)(\d{1,9})(\t|: ?|→|\| ?)(.*)")


def numbered_lines(sample: str) -> bool:
    """The lines of a file behind their numbers, as editors and `cat -n` show them."""
    found = [_LINE_NUMBER.match(line) for line in sample.split("\n")[:100] if line.strip()]
    numbers = [int(match[2]) for match in found if match]
    if len(numbers) < 2 or len(numbers) < len(found) - 1:
        return False
    runs = all(after == before + 1 for before, after in pairwise(numbers))
    return runs and any(match[1] or match[4][:1] in ("", " ", "\t") for match in found if match)


def in_columns(sample: str) -> bool:
    """Whether the lines are set in columns of blanks: commas in them part no cells."""
    lines = [line for line in sample.split("\n")[:100] if line.strip()]
    return len(lines) > 1 and sum(map(bool, map(_GAP.search, lines))) > 0.8 * len(lines)


def preamble(sample: str, delimiter: str) -> int:
    """Comment lines, `sep=;` and titles before the first row."""
    lines = sample.splitlines()[: _MOST + 40]
    notes = sum(1 for _ in takewhile(lambda line: line.startswith("#"), lines))
    if 2 <= notes < len(lines) and names_columns([cell or "x" for cell in lines[notes].split(delimiter)][1:]):
        return notes
    skip = 0
    while skip < min(len(lines), _MOST):
        line = lines[skip]
        below = dropwhile(lambda other: delimiter not in other, lines[skip + 1 : _MOST + 1])
        rest = [other for other in [*below, *lines[_MOST + 1 :]][:4] if other.strip()]
        title = delimiter not in line and len(rest) >= 2 and all(other.count(delimiter) >= 1 for other in rest)
        if (
            not (line.startswith("#") and (title or line.count(delimiter) < 2))
            and not line.lower().startswith("sep=")
            and not title
            and line.strip()
        ):
            break
        skip += 1
    return skip if skip < len(lines) else 0
