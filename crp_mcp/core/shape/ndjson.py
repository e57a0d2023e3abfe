"""One JSON document a line: rows, with lines that are none of them counted apart. Fed blocks of whole lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crp_mcp.core.model import Kind

from .cells import NotJson, load_json
from .find_rows import Found
from .json_shapes import table_shape
from .json_stream import read_stream
from .lists import ListCollector
from .model import Shape
from .typed_rows import BlockLiterals, RowForm, decode_block

_SAMPLE = 60


def looks_like_lines(head: bytes, *, whole: bool) -> bool:
    """Whether these are lines of JSON objects (most of them), or of JSON lists (all of them)."""
    lines = head.split(b"\n")
    lines = [line for line in (lines if whole else lines[:-1]) if line.strip()][:_SAMPLE]
    firsts = [line.lstrip()[:1] for line in lines]
    if len(lines) < 2 or (firsts.count(b"{") < 0.5 * len(lines) and firsts.count(b"[") < len(lines)):
        return False
    kinds = [_kind(line) for line in lines]
    objects = kinds.count(dict)
    if objects >= 2 and objects >= 0.6 * len(lines):
        return True
    return kinds.count(list) == len(lines)


def _kind(line: bytes) -> type | None:
    if line.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        return type(load_json(line))
    except NotJson:
        return None


class LineRows:
    """Collects the rows of lines. `offset`: where the first block stands in the payload, or None where it does not."""

    def __init__(self, offset: int | None = 0) -> None:
        self._collector = ListCollector()
        self._form = RowForm()
        self._offset = offset
        self._index: list[tuple[int, int]] = []
        self._learning = True
        self.rows = 0
        self.noise = 0
        self.around: list[str] = []
        self._open = b""
        """The last line, where it is no document of its own."""

    def feed(self, block: bytes) -> None:
        """Whole lines (the last one may lack its newline)."""
        if self._offset is not None:
            self._index.append((self.rows, self._offset))
            self._offset += len(block)
        self._open = b""
        lines = [line for line in block.split(b"\n") if line.strip()]
        chunk = b",".join(lines)
        rows = self._form.decode(chunk)
        if rows is not None and len(rows) == len(lines):
            self._collector.feed_form(rows, self._form, BlockLiterals(chunk))
        else:
            lines = self._plain(lines, chunk)
        self.rows += len(lines)

    def _plain(self, lines: list[bytes], chunk: bytes) -> list[bytes]:
        items = decode_block(chunk)
        if items is None or len(items) != len(lines) or not all(isinstance(item, dict | list) for item in items):
            lines = self._sorted_out(lines)
            chunk = b",".join(lines)
            items = decode_block(chunk) or []
        self._form.learn(items[:_SAMPLE])
        self._collector.feed(items, BlockLiterals(chunk))
        return lines

    def _sorted_out(self, lines: Sequence[bytes]) -> list[bytes]:
        good = [line for line in lines if _kind(line) is not None]
        self.noise += len(lines) - len(good)
        self._open = lines[-1] if lines and (not good or lines[-1] is not good[-1]) else b""
        if len(self.around) < 6:
            kept = set(good)
            self.around += [line.decode("utf-8", "replace").strip()[:200] for line in lines if line not in kept][
                : 6 - len(self.around)
            ]
        return good

    def shape(self) -> Shape:
        facts = self._collector.finish(index=tuple(self._index))
        if not facts.tabular:
            shape = Shape(Kind.LIST, "ndjson", rows=facts.count, text={"item_types": dict(facts.kinds)})
        else:
            shape = table_shape(Found(facts, (), (), "ndjson"))
            notes = {"noise_lines": self.noise, "around": self.around} if self.noise else {}
            shape = replace(shape, text={**shape.text, **notes})
        return replace(shape, partial=True, partial_why="cut at the end") if self._is_cut() else shape

    def _is_cut(self) -> bool:
        """Whether the last line is the beginning of a document."""
        if self._open.lstrip()[:1] not in (b"{", b"["):
            return False
        reader = read_stream(self._open)
        return reader.cut and reader.broken is None


def event_stream(text: str) -> str | None:
    """The data lines of server-sent events, or None where the text is none."""
    lines = [line for line in text.splitlines() if line.strip()]
    data = [line[5:].strip() for line in lines if line.startswith("data:")]
    marked = sum(line.startswith(("data:", "event:", "id:", "retry:", ":")) for line in lines)
    if not data or marked < len(lines):
        return None
    return "\n".join(line for line in data if line != "[DONE]")
