"""Finds a text inside stored bytes, however it is spelled there: white space, case, JSON escapes. Pure.

Built for erasure, so it would rather find too much than too little; but a number is never found inside a longer one.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from crp_mcp.errors import BadRequest

_ROUNDS = 3
"""Escapes inside escapes: JSON in a JSON string in a result."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\"\\/bfnrt]))")
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_BETWEEN = r"[\s\"'`:=\\]+"
"""What may stand where the text has white space: `customer 4711` also finds `"customer": 4711` and `customer=4711`."""
_AHEAD = 512


class Matcher:
    """Whether a text occurs. Raises BadRequest for one that is empty."""

    def __init__(self, text: str) -> None:
        words = fold(text).split()
        if not words:
            raise BadRequest("matching: give the text to look for")
        pattern = _BETWEEN.join(map(re.escape, words))
        before = r"(?<!\d)" if words[0][0].isdigit() else ""
        after = r"(?!\d)" if words[-1][-1].isdigit() else ""
        self._pattern = re.compile(before + pattern + after, re.IGNORECASE)
        self._keep = _AHEAD + 12 * len(text)
        self._first = words[0].casefold() if len(words) > 1 else None

    def in_text(self, text: str) -> bool:
        """Whether it occurs in a text, or in what its escapes stand for."""
        for _ in range(_ROUNDS):
            if self._pattern.search(fold(text)):
                return True
            if "\\" not in text:
                return False
            text = unescape(text)
        return self._pattern.search(fold(text)) is not None

    def in_pieces(self, pieces: Iterable[bytes]) -> bool:
        """The same over UTF-8 bytes in pieces, without holding them all."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        tail = ""
        for piece in pieces:
            window = tail + decoder.decode(piece)
            if self.in_text(window):
                return True
            tail = window[-self._keep :]
        return False

    def in_bytes(self, data: bytes) -> bool:
        return self.in_pieces([data])

    def in_row(self, names: Iterable[str], cells: Iterable[Any]) -> bool:
        """Whether it occurs in a row: in one cell, or as a column's name and its value."""
        return any(
            self.in_text(f"{name}: {cell}") for name, cell in zip(names, cells, strict=False) if cell is not None
        )

    def may_be_a_cell(self, names: Iterable[str]) -> bool:
        """Whether its first word ends a column's name: then a table's text need not contain it as it stands."""
        first = self._first
        return first is not None and any(fold(name).casefold().split()[-1:] == [first] for name in names)


def fold(text: str) -> str:
    """A text in one spelling of its letters: composed, `ß` as `ss`. What is ASCII stays: the pattern ignores case."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def unescape(text: str) -> str:
    """One layer of JSON escapes taken off."""

    def plain(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 16))
        return _SHORT.get(found[2], found[2])

    return _ESCAPE.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def has_value(arguments: Any, wanted: str, name: str | None = None) -> bool:
    """Whether arguments hold a value, however deep; under `name`, where one is given."""
    if isinstance(arguments, Mapping):
        return any(
            has_value(value, wanted, None if name == key else name)
            if isinstance(value, (Mapping, list))
            else (name is None or name == key) and _spells(value, wanted)
            for key, value in arguments.items()
        )
    if isinstance(arguments, list):
        return any(has_value(item, wanted, name) for item in arguments)
    return name is None and _spells(arguments, wanted)


def _spells(value: object, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted.lower() == str(value).lower()
    return value is not None and str(value) == wanted
