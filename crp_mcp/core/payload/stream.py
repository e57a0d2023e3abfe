"""The payload of a result in a spooled line, and the rewrite with summaries: as in memory, a window at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from crp_mcp.core.model import Block

from .equal import json_equal_pieces
from .extract import is_envelope_meta
from .memory import short_string
from .model import BlockScan, Malformed, NotExact, Scan, Span, Structured
from .replace import Summaries, has_reserved, rewrite
from .scan import MAX_KEY, WINDOW, Cursor, Read, scan_result
from .text import digest_base64, digest_text, identical, iter_text, iter_windows


@dataclass(frozen=True, slots=True)
class TextSpan:
    """Text a model would read, unread: where its JSON string stands."""

    index: int
    span: Span
    uri: str | None = None
    """Set for embedded resources."""


@dataclass(frozen=True, slots=True)
class SpooledPayload:
    """What `Payload` is for a result in memory, with where its bytes are instead of the bytes."""

    scan: Scan[Span]
    form: str
    is_error: bool = False
    blocks: tuple[Block, ...] = ()
    result_type: str | None = None
    structured: Structured = Structured.ABSENT
    texts: tuple[TextSpan, ...] = ()

    def pieces(self, read: Read, *, window: int = WINDOW) -> Iterator[bytes]:
        """The payload's bytes. Of the form `text` it may raise NotExact on the way: start again with `as_result`."""
        if self.form == "text":
            return iter_text(read, self.texts[0].span, window=window)
        return iter_windows(read, self.scan.node, window)

    def as_result(self) -> SpooledPayload:
        """The same with the result as received for a payload."""
        structured = self.structured
        return replace(
            self, form="result", structured=Structured.OTHER if structured is Structured.EQUAL else structured
        )


def open_payload(read: Read, start: int, end: int, *, window: int = WINDOW) -> SpooledPayload:
    """Find the payload of the result between two offsets: `extract_payload`'s rules. Never raises.

    Structured content counts as equal where its tokens come in the same order as the text's; in another order it is
    `OTHER` here. Block digests and that comparison read what they are about; nothing else is read but the skeleton.
    """
    line = _Line(read, window)
    scan = scan_result(read, start, end, window=window)
    members = scan.members or {}
    texts = tuple(line.texts(scan))
    found = SpooledPayload(
        scan,
        "result",
        line.raw(members.get("isError")) == b"true",
        tuple(line.media(i, block) for i, block in enumerate(scan.blocks or ()) if block.type != "text"),
        line.string(members.get("resultType")),
        _compare(line, members.get("structuredContent"), [text.span for text in texts if text.uri is None]),
        texts,
    )
    return replace(found, form="text") if _is_plain(line, scan, found.structured) else found


@dataclass(frozen=True, slots=True)
class _Line:
    """A spooled line, and how much of it is read at once."""

    read: Read
    window: int

    def first(self, span: Span) -> bytes:
        return self.read(span.start, span.start + 1)

    def raw(self, span: Span | None) -> bytes | None:
        """The bytes of a short value; b"" for one that is too long to be looked at."""
        if span is None:
            return None
        return self.read(span.start, span.end) if span.end - span.start <= MAX_KEY else b""

    def string(self, span: Span | None) -> str | None:
        return short_string(self.raw(span))

    def text(self, span: Span) -> Iterator[bytes]:
        return iter_text(self.read, span, window=self.window)

    def windows(self, span: Span) -> Iterator[bytes]:
        return iter_windows(self.read, span, self.window)

    def texts(self, scan: Scan[Span]) -> Iterator[TextSpan]:
        for index, block in enumerate(scan.blocks or ()):
            if block.text is not None and self.first(block.text) == b'"':
                yield TextSpan(index, block.text, self.string((block.resource or {}).get("uri")))

    def media(self, index: int, block: BlockScan[Span]) -> Block:
        """See `extract.media_block`."""
        holder = block.resource or block.members or {}
        try:
            if block.text is not None:
                digest, size = digest_text(self.text(block.text))
            elif block.encoded is not None:
                digest, size = digest_base64(self.text(block.encoded))
            else:
                digest, size = digest_text(self.windows(block.node))
        except NotExact:
            digest, size = digest_text(self.windows(block.node))
        return Block(index, block.type or "unknown", self.string(holder.get("mimeType")), digest, size)

    def equal(self, text: Span, other: Span) -> bool:
        """Whether a text is JSON equal to another value of the line."""
        try:
            if identical(self.text(text), self.windows(other)):
                return True
            return json_equal_pieces(self.text(text), self.windows(other))
        except NotExact:
            return False

    def same(self, text: Span, value: Span) -> bool:
        """Whether a value is a text again: as a string, or as the JSON that the text spells."""
        if self.first(value) != b'"':
            return self.equal(text, value)
        try:
            return identical(self.text(text), self.text(value))
        except NotExact:
            return False


_ENVELOPE = frozenset({"content", "isError", "resultType", "_meta", "structuredContent"})


def _is_plain(line: _Line, scan: Scan[Span], structured: Structured) -> bool:
    """Whether there is one text block and nothing else, by the rule of `extract_payload`."""
    members = scan.members or {}
    if scan.blocks is None or len(scan.blocks) != 1 or not members.keys() <= _ENVELOPE:
        return False
    if structured not in (Structured.ABSENT, Structured.EQUAL):
        return False
    if line.raw(members.get("isError")) not in (None, b"true", b"false"):
        return False
    result_type = members.get("resultType")
    if result_type is not None and line.raw(result_type) != b"null" and line.string(result_type) is None:
        return False
    if "_meta" in members and (scan.meta is None or not is_envelope_meta(scan.meta)):
        return False
    return _is_plain_text(line, scan.blocks[0])


def _is_plain_text(line: _Line, block: BlockScan[Span]) -> bool:
    members = block.members or {}
    if block.type != "text" or block.text is None or not members.keys() <= {"type", "text", "annotations", "_meta"}:
        return False
    if line.first(block.text) != b'"':
        return False
    return all(_is_empty(line, members.get(key)) for key in ("annotations", "_meta"))


def _is_empty(line: _Line, span: Span | None) -> bool:
    raw = line.raw(span)
    return raw in (None, b"null") or (raw is not None and raw[:1] == b"{" and not raw[1:-1].strip(b" \t\r\n"))


def _compare(line: _Line, structured: Span | None, texts: list[Span]) -> Structured:
    if structured is None:
        return Structured.ABSENT
    if len(texts) == 1 and line.equal(texts[0], structured):
        return Structured.EQUAL
    try:
        return Structured.WRAPPED if _wraps(line, structured, texts) else Structured.OTHER
    except Malformed:
        return Structured.OTHER


def _wraps(line: _Line, structured: Span, texts: list[Span]) -> bool:
    """Whether structured content is only the text blocks again: see `extract.wraps`."""
    cursor = Cursor(line.read, structured.end, line.window)
    value = structured
    if line.first(structured) == b"{":
        members, _ = cursor.members(structured.start, {})
        if len(members) != 1:
            return False
        value = next(iter(members.values()))
    elif line.first(structured) != b'"':
        return False
    if len(texts) == 1 and line.same(texts[0], value):
        return True
    items = cursor.list(value.start) if line.first(value) == b"[" else None
    return items is not None and len(items) == len(texts) and all(map(line.same, texts, items))


def replace_spooled(
    read: Read,
    scan: Scan[Span],
    summaries: Summaries,
    meta: Mapping[str, Any],
    *,
    modern: bool,
    structured_summary: str | None = None,
    keep_structured: bool = False,
    window: int = WINDOW,
) -> Iterator[bytes]:
    """The pieces of the result to send instead of a spooled one: `replace_with_summary`'s rules."""
    extra = [structured_summary] if structured_summary is not None else []
    return rewrite(
        scan,
        summaries,
        meta,
        _Line(read, window).windows,
        modern=modern,
        extra=extra,
        keep_structured=keep_structured,
    )


def strip_spooled(read: Read, scan: Scan[Span], *, window: int = WINDOW) -> Iterator[bytes] | None:
    """The pieces of a spooled result without reserved keys of the upstream's; None where there are none."""
    if scan.members is None or not has_reserved(scan):
        return None
    return rewrite(scan, {}, {}, _Line(read, window).windows, modern=False, keep_structured=True)
