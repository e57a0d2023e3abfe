"""Where a text may be cut without changing its tokens: proven from the encoding's own pattern.

A letter before an ASCII character that is neither a letter nor an apostrophe ends a word; a digit before an ASCII
character that is no digit ends a number; the pattern looks behind nowhere. So such a place is always a border.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

CUT = re.compile(r"[A-Za-z](?=[\x00-&(-@\[-`{-\x7f])|[0-9](?=[\x00-/:-\x7f])")


def safe_pieces(text: str, size: int) -> Iterator[str]:
    """The text in pieces of about `size` characters, cut at safe places only; a piece without one just grows."""
    start = 0
    while len(text) - start > size:
        found = CUT.search(text, start + size)
        if found is None:
            break
        yield text[start : found.end()]
        start = found.end()
    if start < len(text):
        yield text[start:] if start else text
