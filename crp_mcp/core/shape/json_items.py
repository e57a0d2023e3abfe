"""The items of a JSON list, read from a window of text and taken into facts. Knows nothing of streams."""

from __future__ import annotations

import json
import re
from typing import Any

from .cells import load_json, scan_json
from .lists import ListCollector, ListFacts
from .typed_rows import BlockLiterals, RowForm, decode_block

_KEPT = 20_000
"""Plain items kept as they are; longer lists become facts."""
_STRIDE = 262_144
"""Bytes between two places in the index."""
_GAP = re.compile(r"[ \t\r\n]*")
_GOES_ON = re.compile(r"[0-9.eE+-]*\Z")
"""Nothing follows, or what may be the rest of a number."""
_UNFINISHED = re.compile(
    r"[\s,:\"]*(?:-?[0-9.eE+-]*|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|Na?|-?I[nfity]{0,6}"
    r"|[bfnrt\"\\/]|\\?u?[0-9a-fA-F]{0,4}(?:\\u?[0-9a-fA-F]{0,4})?)\s*\Z"
)
"""What may be the beginning of a word, a number or an escape."""
NOTHING = object()
"""Of a value that was cut there was nothing yet."""


def byte_length(text: str, end: int) -> int:
    return end if text.isascii() else len(text[:end].encode("utf-8", "surrogateescape"))


def goes_on(text: str, end: int) -> bool:
    """Whether a number that ends here may go on in what is not read yet."""
    return _GOES_ON.match(text, end) is not None


def scan_items(text: str, last: bool, most: int) -> tuple[list[Any], int, str, int]:
    """Items `text` begins with: (items, where the next begins, `more`|`end`|`cut`|`broken`, end of the last)."""
    items: list[Any] = []
    start = _GAP.match(text)
    at = end = start.end() if start else 0
    while True:
        try:
            value, stop = scan_json(text, at)
        except RecursionError:
            return items, at, "broken", end
        except ValueError as error:
            if not runs_out(error, text):
                return items, at, "broken", end
            return items, at, "cut" if last else "more", end
        if not last and goes_on(text, stop):
            return items, at, "more", end
        gap = _GAP.match(text, stop)
        after = gap.end() if gap else stop
        mark = text[after : after + 1]
        if mark == "" and not last:
            return items, at, "more", end
        items.append(value)
        end = stop
        if mark == "]":
            return items, after + 1, "end", end
        if mark != ",":
            return items, stop, "cut" if mark == "" else "broken", end
        gap = _GAP.match(text, after + 1)
        at = gap.end() if gap else after + 1
        if at >= len(text):
            return items, at, "cut" if last else "more", end
        if most == 1:
            return items, at, "more", end


class Taken:
    """What was taken of one list so far."""

    def __init__(self, name: str) -> None:
        self.collector = ListCollector(name)
        self.index: list[tuple[int, int]] = []
        self.plain: list[Any] | None = []
        self.count = 0
        # Rows that stand under `node` are taken out one by one.
        self._form = RowForm(0) if name == "edges" else RowForm()

    def mark(self, offset: int) -> None:
        """The next item begins at this byte."""
        if not self.index or offset - self.index[-1][1] >= _STRIDE:
            self.index.append((self.count, offset))

    def items(self, items: list[Any]) -> None:
        """Items read one by one."""
        self.count += len(items)
        if self.plain is None:
            self.collector.feed_given(items)
            return
        self.plain += items
        if len(self.plain) > _KEPT:
            self._let_go()

    def _let_go(self) -> None:
        plain, self.plain = self.plain or [], None
        self.collector.feed_given(plain)

    def block(self, chunk: bytes) -> bool:
        """All items of a block; False where it is none."""
        rows = self._form.decode(chunk) if self.plain is None else None
        if rows is None:
            items = decode_block(chunk)
            if items is None:
                return False
            if self.plain is not None and not isinstance(items[0], dict | list):
                self.items(load_json(b"[" + chunk + b"]"))
                return True
            if self.plain is not None:
                self._let_go()
            self._form.learn(items)
            rows = self._form.decode(chunk)
            if rows is None:
                self.count += len(items)
                self.collector.feed(items, BlockLiterals(chunk))
                return True
        self.count += len(rows)
        self.collector.feed_form(rows, self._form, BlockLiterals(chunk))
        return True

    def result(self, *, cut: bool) -> list[Any] | ListFacts:
        if self.plain is not None and not cut:
            return self.plain
        if self.plain is not None:
            self._let_go()
        return self.collector.finish(index=tuple(self.index), cut=cut)


def error_place(error: ValueError) -> int:
    return error.pos if isinstance(error, json.JSONDecodeError) else 0


def runs_out(error: ValueError, text: str) -> bool:
    """Whether the text merely ended too early."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or _UNFINISHED.match(text, error.pos) is not None


def what_there_is(text: str, first: int) -> Any:
    """What there is of a value that was cut: the beginning of a string, nothing of a number."""
    if first != 0x22:
        return NOTHING
    body = re.sub(r"\\(?:u[0-9a-fA-F]{0,3})?$", "", text)
    if (len(body) - len(body.rstrip("\\"))) % 2:
        body = body[:-1]
    try:
        return scan_json(body + '"', 0)[0]
    except ValueError:
        return NOTHING
