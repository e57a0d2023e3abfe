"""Which lines of a text report an error. Fed the same blocks as the other facts; knows nothing of results.

A page that explains `builtins.Exception` reports none. So a line counts where the text is a log, a trace or a test
run; or where it states an error by itself: `ERROR: …`, `ValueError: …`, `fatal: …`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, islice

from .fault_texts import strip_ansi

LINE = 500
"""Characters kept of a line."""
# The word stands first, so that the search for it runs at the speed of a plain one.
_WORDS = tuple(
    (word, re.compile(re.escape(word) + rest))
    for word, rest in (
        ("Error", r"(?=\s?:(?!:)|\s?\([\"'\d])"),
        ("Exception", r"(?=\s?:(?!:)|\s?\([\"'\d])"),
        ("Error - ", ""),
        ("error:", ""),
        ("error[", ""),
        ("): error ", ""),
        ("npm ERR!", ""),
        ("fatal:", ""),
        ("panic:", ""),
        ("thread '", r"(?=[^'\n]{0,80}' (?:\(\d+\) )?panicked at )"),
        ("Traceback", r"(?= \(most)"),
    )
)
_STATEMENT = re.compile(
    r"(?:E {1,8}|[-*>|!✗✖❌]\s?|\[?\d[\dT:.,/ Z+-]{6,40}\]? |[\w./\\<>@-]{1,120}(?::\d+){1,2}: |[\w./-]{1,60}: )?"
    r"(?:(?:Uncaught |Unhandled |Caused by: |Exception in thread [^:\n]{1,80} )?"
    r"[\w.$]{0,120}(?:Error|Exception)(?: \[\w+\]|\(\d+\))?:(?: \S|$)"
    r"|(?:[A-Z]\w+ ){1,3}(?:[Ee]rror|Exception)(?: \(\d+\))?: \S"
    r"|[^\s()]{1,200}\(\d+(?:,\d+)?\): error \w|npm ERR! \S|(?:##)?\[error\] ?\S"
    r"|(?:fatal |internal )?error(?:\[\w+\])?: \S|fatal: \S|panic: \S"
    r"|thread '[^']{0,80}' (?:\(\d+\) )?panicked at \S|Error - \S|Traceback \(most recent call last\):"
    r"|\[?(?:ERROR|FATAL|CRITICAL|PANIC|FAILED)(?:\]:?|:| -|!)\s+\S|FAILED \S+::)"
)
_TIME = r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d"
_LOG = re.compile(
    rf"(?m)^(?:\W{{0,3}}{_TIME}|\W{{0,3}}\d\d:\d\d:\d\d[ ,.\]]|[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d "
    rf"|[^\s=]{{1,60}} {{1,4}}\|? ?\[?{_TIME}|[^\n\[]{{0,60}}\[(?:{_TIME}|\d\d/\w{{3}}/\d{{4}}:\d\d|\w{{3}} \w{{3}} \d)"
    r"|(?:\S{1,60} ){0,4}(?:level|lvl|severity)=\w"
    # Frames of a trace, then what test runs say.
    r"|[ \t]+File \"[^\"\n]{1,300}\", line \d|[ \t]+at \S[^\n]{0,200}:\d+\)?$|goroutine \d+ \["
    r"|[^\n]{0,80}\b\d+ (?:passed|failed)\b|(?:not )?ok \d+\b|--- (?:FAIL|PASS): |Ran \d+ tests? in |Tests run: \d"
    r"|\S{1,200}::\S{1,200} (?:PASSED|FAILED|ERROR)\b|(?:FAILED|ERROR) \S{1,200}(?:::|\.py)|collected \d+ items?\b)"
)
_NEAR = 8_192
"""Characters of a block looked at for signs of a log, at its beginning and before its first candidate."""
_TRIES = 200
"""Candidates of a block tried from either end."""
_SHARE = 0.3
"""Of all lines, those with a level in a text that is a log by its levels."""


class Alarms:
    """The first and the last line that report an error."""

    def __init__(self) -> None:
        self._log = False
        self._any: tuple[str, str] | None = None
        self._stated: tuple[str, str] | None = None

    def feed(self, block: str, places: Iterable[int]) -> None:
        """`places`: where words for a level that is an error stand in the block."""
        found = list(places)
        found += chain.from_iterable(
            (match.start() for match in pattern.finditer(block)) for word, pattern in _WORDS if word in block
        )
        if not found:
            return
        first, last = min(found), max(found)
        if not self._log:
            self._log = _is_log(block, first)
        self._any = _joined(self._any, _line_at(block, first), _line_at(block, last))
        if not self._log:
            found.sort()
            opening, closing = _statement(block, found), _statement(block, reversed(found))
            if opening is not None:
                self._stated = _joined(self._stated, opening, closing or opening)

    def lines(self, levels: int, lines: int) -> tuple[str | None, str | None]:
        """(first, last where it is another) of a text with so many lines, so many of them with a level."""
        found = self._any if self._log or levels > _SHARE * lines else self._stated
        if found is None:
            return None, None
        return found[0], found[1] if found[1] != found[0] else None


def _joined(known: tuple[str, str] | None, first: str, last: str) -> tuple[str, str]:
    return (known[0] if known is not None else first), last


def _is_log(block: str, first: int) -> bool:
    if _LOG.search(block, 0, min(len(block), _NEAR)) is not None:
        return True
    start = block.rfind("\n", 0, max(0, first - _NEAR // 2)) + 1
    return _LOG.search(block, start, min(len(block), start + _NEAR)) is not None


def _statement(block: str, places: Iterable[int]) -> str | None:
    for at in islice(places, _TRIES):
        line = _line_at(block, at, bare=False)
        if _STATEMENT.match(line) is not None:
            return line.strip()
    return None


def _line_at(block: str, at: int, *, bare: bool = True) -> str:
    start = block.rfind("\n", 0, at) + 1
    end = block.find("\n", at)
    start = max(start, at - LINE // 2)
    line = strip_ansi(block[start : min(end if end >= 0 else len(block), start + LINE)])
    return line.strip() if bare else line.rstrip()
