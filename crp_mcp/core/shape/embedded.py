"""JSON inside other text: fenced, between sentences, under Markdown headings. Finds it; knows nothing of shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .cells import NotJson, load_json
from .json_stream import JsonReader, read_stream
from .lists import ListFacts

_FENCE = re.compile(
    r"(?ms)^(?:(?<!\S\n)(?=[ \t]*~)|(?=[ \t]*`))[ \t]*(```+|~~~+)[ \t]*([\w.+-]*)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)"
)
"""Tildes directly under words underline them."""
_START = re.compile(r"(?m)(?:^[ \t]*|[:=][ \t]*|[ \t])(?=[\[{])")
_HTTP = re.compile(r"(?:< )?HTTP/\d(?:\.\d)? \d{3}|\* +Trying |\*   Trying ")
_TRIES = 40
_MOST_AROUND = 1_200


class _Broken(Exception):
    """No document begins here. `at`: how far it was read."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


@dataclass(frozen=True, slots=True)
class Embedded:
    """A JSON value, how it was wrapped, and the text before and after it."""

    value: Any
    how: str
    start: int
    """Where it begins, in characters."""
    around: tuple[str, ...]
    cut: bool = False


def fenced_blocks(text: str) -> list[tuple[str, str]]:
    """(language, content) of every fenced block."""
    return [(found[2].lower(), found[3]) for found in _FENCE.finditer(text)]


def without_fences(text: str) -> str:
    return _FENCE.sub("", text)


def find_embedded(text: str) -> Embedded | None:
    """The one JSON document that is most of the text, or None."""
    if _HTTP.match(text.lstrip()):
        return None
    spent = 0
    for start in _starts(text):
        body = text[start:].encode("utf-8", "surrogatepass")
        try:
            value, length, cut = _first_value(body)
        except _Broken as broken:
            spent += broken.at
            if spent > len(text):
                return None
            continue
        spent += length
        found = _weigh(text, start, body[:length].decode("utf-8", "surrogatepass"), value, cut)
        if found is not None:
            return found
    return None


def embedded_start(head: str) -> int | None:
    """Where in the beginning of a long text a document seems to begin, or None."""
    if _HTTP.match(head.lstrip()):
        return None
    for start in _starts(head[: 2 * _MOST_AROUND]):
        reader = JsonReader()
        reader.feed(head[start:].encode("utf-8", "surrogatepass"))
        reader.finish()
        if reader.cut and reader.found and isinstance(reader.value, dict | ListFacts):
            return start
    return None


def _starts(text: str) -> Iterator[int]:
    for count, found in enumerate(_START.finditer(text)):
        if count >= _TRIES or found.end() > max(_MOST_AROUND, len(text) // 2):
            return
        yield found.end()


def _first_value(body: bytes) -> tuple[Any, int, bool]:
    """(value, length in bytes, whether it was cut). Raises _Broken."""
    if len(body) <= 2_000:
        try:
            return load_json(body.strip()), len(body), False
        except NotJson:
            pass
    reader = read_stream(body)
    if reader.broken is not None or not reader.found:
        raise _Broken(reader.end)
    return reader.value, reader.end, reader.cut


def _weigh(text: str, start: int, spelled: str, value: Any, cut: bool) -> Embedded | None:
    """Only a container with something in it, and only where the rest is little."""
    if not isinstance(value, dict | list | ListFacts):
        return None
    before, after = text[:start].strip(), text[start + len(spelled) :].strip()
    plain = isinstance(value, list) and not any(isinstance(item, dict | list) for item in value)
    around = len(before) + len(after)
    size = len(spelled.strip())
    if (
        around > max(size, 60)
        or around > _MOST_AROUND + size // 4
        or (plain and around > size // 2)
        or (cut and size < 40)
    ):
        return None
    if not value or (size < 60 and before and before[-1] not in ":=" and not before.startswith("#")):
        return None
    how = "markdown section" if before.startswith("#") else "prose"
    return Embedded(
        value,
        how,
        start,
        tuple(line.strip() for line in [*before.splitlines(), *after.splitlines()] if line.strip()),
        cut,
    )
