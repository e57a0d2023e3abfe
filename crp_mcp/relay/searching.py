"""Parts of a stored result: the value at a path, lines by a pattern, one block of several, a long text by pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from crp_mcp.core.folding import unique_names
from crp_mcp.core.jsonpath import Step, find, names_one, parse_path, where_lost
from crp_mcp.core.model import Entry, Kind
from crp_mcp.core.shape import rows_at
from crp_mcp.core.shape.again import open_body, open_document, stream_rows
from crp_mcp.core.shape.cells import NotJson, compact_json
from crp_mcp.core.shape.model import Shape
from crp_mcp.errors import BadRequest, NotFound
from crp_mcp.query.desk import Desk

from .reading import Reader
from .service import Counter

MOST_BYTES = 64 << 20
"""A document is opened whole for a path up to this size; beyond it rows are reached by number, or by SQL."""
_WHOLE = 1 << 40
CHARS_A_TOKEN = 16


@dataclass(frozen=True, slots=True)
class TextPage:
    """A piece of a text: character offsets, and how many characters there are in all."""

    text: str
    start: int
    end: int
    size: int
    what: str = "characters"


@dataclass(frozen=True, slots=True)
class Found:
    """Lines that match, with their neighbours, as text; counts are of matches."""

    text: str
    start: int
    count: int
    total: int
    lines: int


@dataclass(slots=True)
class Finder:
    """Reads parts. `counter` loads on first use."""

    reader: Reader
    desk: Desk
    counter: Callable[[], Counter]

    def value(self, entry: Entry, path: str, block: int | None = None) -> Any:
        """The value at a path, exact; a list of values where the path has wildcards.

        Raises BadRequest for a path that cannot be read, NotFound where there is nothing, saying what there is.
        """
        steps = parse_path(path)
        shape = self.block_shape(entry, block)
        row = self._indexed_row(entry, shape, steps)
        if row is not None:
            document, rest = row
        else:
            document, rest = self._document(entry, shape), steps
        found = find(document, rest)
        if not names_one(steps):
            return found
        if not found:
            raise NotFound(f"path {path}: {where_lost(document, rest)}")
        return found[0]

    def path(
        self, entry: Entry, path: str, block: int | None, offset: int, max_tokens: int, limit: int | None = None
    ) -> TextPage:
        """The value at a path as text, from a character offset on, as much as fits.

        `limit`: of a list that many items, from item `offset` on; of everything else that many characters.
        """
        value = self.value(entry, path, block)
        if limit is not None and isinstance(value, list):
            return self._items(value, offset, limit, max_tokens, entry)
        return self._page(value_text(value), offset, max_tokens, entry, limit)

    def _items(self, items: list[Any], offset: int, limit: int, max_tokens: int, entry: Entry) -> TextPage:
        """Items of a list as one JSON list, as many as fit; of one that does not fit, its beginning."""
        if offset > len(items) or (offset == len(items) and items):
            raise BadRequest(f"offset {offset} is past the end: this list of {entry.scratch_id} has {len(items)} items")
        counter, left = self.counter(), max_tokens - 2
        parts: list[str] = []
        for item in items[offset : offset + limit]:
            part = value_json(item)
            left -= counter.count(part) + 1
            if left < 0 and parts:
                break
            parts.append(part)
        text = counter.cut(f"[{', '.join(parts)}]", max_tokens)
        return TextPage(text, offset, offset + len(parts), len(items), "items")

    def block(self, entry: Entry, block: int, offset: int, max_tokens: int) -> TextPage:
        """The text of one block, from a character offset on, as much as fits."""
        body = open_body(self._payload(entry), self.block_shape(entry, block))
        return self._page(body.decode("utf-8", "replace"), offset, max_tokens, entry)

    def grep(
        self, entry: Entry, pattern: str, *, block: int | None, context: int, offset: int, limit: int, max_tokens: int
    ) -> Found:
        """Lines in which a regular expression is found. `offset`, `limit`: matches. The pattern runs in a child."""
        shape = self.block_shape(entry, block)
        reply = self.desk.grep(
            pattern, self._text(entry, shape, block), context=context, offset=offset, most=min(limit, 500)
        )
        text, taken = self._lines(reply["shown"], max_tokens)
        return Found(text, offset, taken, reply["matches"], reply["lines"])

    def block_shape(self, entry: Entry, block: int | None) -> Shape:
        """The shape of the result, or of its block number `block`, from 1. Raises BadRequest with those there are."""
        shape = self.reader.shape(entry)
        if block is None:
            return shape
        numbers = [at + 1 for at, _ in shape.blocks]
        for at, part in shape.blocks:
            if at + 1 == block:
                return part
        steps = shape.reader.get("steps", ())
        if not numbers and (block == 1 or (steps and list(steps[0]) == ["block", block - 1])):
            return shape
        there = ", ".join(map(str, numbers)) or "1"
        raise BadRequest(f"block: {entry.scratch_id} has no text block {block}; it has {there}")

    def whole_text(self, entry: Entry) -> str:
        """Every text of a result, exactly, blocks joined by a newline."""
        shape = self.reader.shape(entry)
        payload = self._payload(entry)
        parts = [replace(part, blocks=()) for _, part in shape.blocks] or [shape]
        return "\n".join(open_body(payload, part).decode("utf-8", "replace") for part in parts)

    # -- inside

    def _payload(self, entry: Entry) -> bytes:
        if entry.payload_bytes > MOST_BYTES:
            raise BadRequest(
                f"{entry.scratch_id} has {entry.payload_bytes:,} bytes, too many to open whole; use scratch_query, "
                "view rows, view raw or grep"
            )
        return self.reader.store.read(entry.payload_id, 0, entry.payload_bytes)

    def _document(self, entry: Entry, shape: Shape) -> Any:
        payload = self._payload(entry)
        try:
            return open_document(payload, shape)
        except NotJson:
            pass
        if shape.kind is Kind.TABULAR and shape.columns:
            names = unique_names([column.name for column in shape.columns])
            rows = stream_rows(lambda at, size: payload[at : at + size], len(payload), shape)
            return [dict(zip(names, row, strict=False)) for row in rows]
        raise BadRequest(f"path: {entry.scratch_id} is {shape.kind.value}, not JSON; use grep or view raw")

    def _indexed_row(self, entry: Entry, shape: Shape, steps: tuple[Step, ...]) -> tuple[Any, tuple[Step, ...]] | None:
        """The one row a path begins with, read by its place: (row, the steps inside it)."""
        listed = shape.source == "json_columns_rows" or shape.reader.get("node") or shape.reader.get("header")
        if not shape.row_index or shape.columns is None or listed:
            return None
        lead = shape.path.split(".") if shape.path else []
        at = len(lead)
        if [step.what for step in steps[:at]] != lead or len(steps) <= at or any(step.deep for step in steps):
            return None
        number = steps[at].what
        if not isinstance(number, int) or not 0 <= number < (shape.rows or 0):
            return None
        reader = self.reader.store.open_reader(entry.payload_id)
        rows = rows_at(reader.read, entry.payload_bytes, shape, number, 1)
        if not rows:
            return None
        row = dict(zip((column.name for column in shape.columns), rows[0], strict=True))
        return {name: cell for name, cell in row.items() if cell is not None or len(steps) > at + 1}, steps[at + 1 :]

    def _text(self, entry: Entry, shape: Shape, block: int | None) -> Iterator[bytes]:
        plain = not shape.reader.get("steps") and shape.reader.get("encoding", ("utf-8", 0))[0] == "utf-8"
        if plain and entry.form == "text":
            return self.reader.store.iter_payload(entry.payload_id)
        if block is None and (shape.blocks or not plain):
            parts = shape.blocks or ((0, shape),)
            payload = self._payload(entry)
            return iter([b"\n".join(open_body(payload, replace(part, blocks=())) for _, part in parts)])
        return iter([open_body(self._payload(entry), shape)])

    def _page(self, text: str, offset: int, max_tokens: int, entry: Entry, limit: int | None = None) -> TextPage:
        if offset > len(text) or (offset == len(text) and text):
            raise BadRequest(f"offset {offset} is past the end: this part of {entry.scratch_id} has {len(text)}")
        most = max_tokens * CHARS_A_TOKEN if limit is None else min(limit, max_tokens * CHARS_A_TOKEN)
        cut = self.counter().cut(text[offset : offset + most], max_tokens)
        return TextPage(cut, offset, offset + len(cut), len(text))

    def _lines(self, shown: list[list[Any]], max_tokens: int) -> tuple[str, int]:
        """Numbered lines (`:` a match, `-` around one) as far as they fit, and how many matches those are."""
        counter, taken, last, left = self.counter(), 0, 0, max_tokens
        lines: list[str] = []
        for number, text, match in shown:
            line = ("--\n" if last and number > last + 1 else "") + f"{number}{':' if match else '-'}{text}\n"
            left -= counter.count(line)
            if left < 0:
                if not lines:
                    return counter.cut(line, max_tokens), int(match)
                break
            lines.append(line)
            taken += bool(match)
            last = number
        return "".join(lines), taken


def value_text(value: Any) -> str:
    """A value as its text: strings as they are, everything else as JSON with its numbers as they stood."""
    if type(value) is str:
        return value
    return compact_json(value, _WHOLE)


def value_json(value: Any) -> str:
    """A value as JSON, exact."""
    return compact_json(value, _WHOLE)
