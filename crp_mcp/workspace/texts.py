"""Small readings of texts that every parser needs."""

from __future__ import annotations

import re

_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])|\n\s*\n")
_LONGEST = 240


def first_sentence(text: str) -> str:
    """The first sentence of a text on one line, at most 240 characters; "" where there is none."""
    start = text.strip()[: 4 * _LONGEST]
    sentence = " ".join(_END.split(start, maxsplit=1)[0].split()) if start else ""
    return sentence if len(sentence) <= _LONGEST else sentence[: _LONGEST - 1].rstrip() + "…"
