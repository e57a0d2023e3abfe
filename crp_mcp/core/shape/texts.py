"""Prose, pages, code and logs: what a reader would want to know of a text. Fed a block of whole lines at a time."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from .alarms import LINE, Alarms
from .fault_texts import strip_ansi
from .model import MOST_HEADINGS, MOST_NAMES

_LEVELS = (
    "FATAL",
    "CRITICAL",
    "PANIC",
    "ERROR",
    "WARNING",
    "WARN",
    "NOTICE",
    "INFO",
    "DEBUG",
    "TRACE",
    "FAILED",
    "PASSED",
    "SKIPPED",
)
_SPELLINGS: tuple[tuple[str, str], ...] = (
    *((level, level) for level in _LEVELS),
    ("level=error", "ERROR"),
    ("level=warn", "WARN"),
    ("level=info", "INFO"),
    ("level=debug", "DEBUG"),
    ("[error]", "ERROR"),
    ("[warn]", "WARN"),
    ("[warning]", "WARNING"),
    ("[info]", "INFO"),
    ("[debug]", "DEBUG"),
)
# The word stands first, so that the search for it runs at the speed of a plain one.
_WORD = {
    word: re.compile(rf"{word}(?<![\w-]{word})(?![\w-])[^\n]*" if word.isalpha() else re.escape(word) + r"[^\n]*")
    for word, _ in _SPELLINGS
}
_ALARMS = frozenset({"FATAL", "CRITICAL", "PANIC", "ERROR", "FAILED"})
_HEADING = re.compile(r"(?m)^(#{1,6}[ \t]+\S.{0,150}|={3,} ?\S.{0,100}? ?={3,})[ \t#]*$")
_SENTENCE_END = re.compile(r"[.!?。！？](?=[\s\"')\]]|$)")
_ENTITY = re.compile(
    r"https?://[^\s<>\"'`)\]}]{3,200}|[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{2,60}"
    r"|(?<![\w/])(?:~|\.{1,2})?(?:/[\w.@+-]{1,80}){2,12}"
    r"|\b[A-Z][a-z]{1,30}(?: (?:[A-Z][a-z]{1,30}|[A-Z]\.|of|and|de|van|von)){0,3} [A-Z][a-z]{1,30}\b"
    r"|\b[A-Z]{2,10}-\d{1,8}\b|\b[A-Z][a-z]{1,30}(?:[A-Z][a-z]{1,30}){1,6}\b"
)
_ENCODED = re.compile(
    r"(?<![\w/:=?&%.+-])(?=[^a-z\s]{0,60}[a-z])(?=[^A-Z\s]{0,60}[A-Z])(?=[^\d\s]{0,120}\d)"
    r"(?:[A-Za-z0-9+/_-]{120,}|(?:[A-Za-z0-9+/]{60,76}\r?\n){2,}[A-Za-z0-9+/]*)={0,2}"
)
"""Base64, in one line or in lines of one length: what looks like a name in it is none."""
_HEAD_CHARS = 65_536
_TAIL_CHARS = 4_000
_EDGE = 5


class TextStats:
    """Counts lines, words and levels, and keeps the edges. A line may go on from one block into the next."""

    def __init__(self) -> None:
        self.chars = self.lines = self.words = 0
        self._levels: Counter[str] = Counter()
        self._open: set[str] = set()
        """Spellings of levels in the line that the last block left unfinished."""
        self._last_char = "\n"
        self._alarms = Alarms()
        self._headings: list[str] = []
        self._head = ""
        self._tail = ""

    def feed(self, block: str) -> None:
        if not block:
            return
        before, self._last_char = self._last_char, block[-1]
        self.chars += len(block)
        self.lines += block.count("\n") + (block[-1] != "\n") - (before != "\n")
        self.words += len(block.split()) - (not before.isspace() and not block[0].isspace())
        if len(self._head) < _HEAD_CHARS:
            self._head += block[: _HEAD_CHARS - len(self._head)]
        self._tail = (self._tail + block[-_TAIL_CHARS:])[-_TAIL_CHARS:]
        if len(self._headings) < MOST_HEADINGS and ("#" in block or "===" in block):
            start = 0 if before == "\n" else block.find("\n") + 1 or len(block)
            found = (match[1].strip() for match in _HEADING.finditer(block, start))
            self._headings += [text for text, _ in zip(found, range(MOST_HEADINGS - len(self._headings)), strict=False)]
        self._count_levels(block)

    def _count_levels(self, block: str) -> None:
        alarms: list[int] = []
        line_end, line_start = block.find("\n"), block.rfind("\n") + 1
        line_end = len(block) if line_end < 0 else line_end
        still = set() if line_start else self._open
        for spelling, level in _SPELLINGS:
            places = _lines_with(block, spelling)
            if places:
                self._levels[level] += len(places) - (spelling in self._open and places[0] < line_end)
                if level in _ALARMS:
                    alarms += places
                if places[-1] >= line_start and line_start < len(block):
                    still = still | {spelling}
        self._open = still
        self._alarms.feed(block, alarms)

    def facts(self) -> dict[str, Any]:
        """What goes into `Shape.text`; members without content are left out."""
        head = strip_ansi(self._head)
        first, last = self._alarms.lines(self._levels.total(), self.lines)
        order = {level: at for at, level in enumerate(_LEVELS)}
        facts: dict[str, Any] = {
            "chars": self.chars,
            "lines": self.lines,
            "words": self.words,
            "first_sentence": _first_sentence(head),
            "headings": list(self._headings),
            "entities": _entities(head),
            "levels": {level: self._levels[level] for level in sorted(self._levels, key=order.__getitem__)},
            "first_error": first,
            "last_error": last,
            "head": [line[:LINE] for line in head.splitlines() if line.strip()][:_EDGE],
            "tail": [line[:LINE] for line in strip_ansi(self._tail).splitlines() if line.strip()][-_EDGE:],
        }
        return {name: fact for name, fact in facts.items() if fact not in (None, "", [], {})}


def text_facts(text: str) -> dict[str, Any]:
    """The facts of a text that is at hand as a whole."""
    stats = TextStats()
    stats.feed(text)
    return stats.facts()


def _lines_with(block: str, word: str) -> list[int]:
    """Where the word stands as a word of its own, once for each line that holds it."""
    return [found.start() for found in _WORD[word].finditer(block)] if word in block else []


def _first_sentence(head: str) -> str:
    lines: list[str] = []
    for line in head[:4_000].splitlines():
        plain = line.strip().lstrip("#>*- ").strip()
        if not plain or not any(map(str.isalnum, plain)):
            if lines:
                break
            continue
        lines.append(plain)
        if line.lstrip().startswith("#") or sum(map(len, lines)) > 400:
            break
    text = " ".join(lines)
    end = _SENTENCE_END.search(text, 15)
    return text[: end.end() if end and end.end() <= 300 else 300].strip()


def _entities(head: str) -> list[str]:
    counts: Counter[str] = Counter(found.group().rstrip(".,;:") for found in _ENTITY.finditer(_ENCODED.sub(" ", head)))
    return [name for name, _ in counts.most_common(MOST_NAMES)]
