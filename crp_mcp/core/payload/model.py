"""The nouns of a tool result's JSON: payload, text block, and the spans it is made of. Knows no reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from crp_mcp.core.model import Block

RESERVED = "dev.crp/"
"""Prefix of our own `_meta` keys: what an upstream sends under it is captured, and never forwarded."""

ENVELOPE_META_PREFIX = "io.modelcontextprotocol/"
ENVELOPE_META = frozenset({"traceparent", "tracestate", "baggage"})
"""`_meta` keys the protocol itself owns (2026-07-28, SEP-414): they describe the message, not the data."""

MAX_BLOCKS = 10_000
"""More content blocks, or more members of one object, than this are not told apart: the result is opaque."""


class Malformed(Exception):
    """These bytes are not the JSON they should be. Never leaves this package: such results are `result` payloads."""


class NotExact(Exception):
    """A JSON string that has no exact UTF-8: a lone surrogate, invalid UTF-8, a control character, a wrong escape.

    The payload is then the result JSON exactly as received.
    """


class Structured(StrEnum):
    """How `structuredContent` relates to the text blocks of the same result."""

    ABSENT = "absent"
    EQUAL = "equal"
    """The one text block is JSON with the same tokens: stored once, as the text."""
    WRAPPED = "wrapped"
    """The text blocks again, in a one-member object (`{"result": …}`) or as a bare string: no data of its own."""
    OTHER = "other"


class Span(NamedTuple):
    """Half-open range of byte offsets in a spooled line."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Payload:
    """The bytes that are hashed and stored, and what is recorded beside them.

    `form` is `text` (the one text block's exact UTF-8) or `result` (the result JSON exactly as received).
    """

    data: bytes
    form: str
    is_error: bool = False
    blocks: tuple[Block, ...] = ()
    """Blocks that are not text: type, MIME type, digest and size of the decoded bytes."""
    result_type: str | None = None
    structured: Structured = Structured.ABSENT
    meta: bytes | None = None
    """The upstream's `_meta`, raw JSON, reserved keys included."""


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Text a model would read: of a `text` block, or of an embedded `resource` that carries text."""

    index: int
    data: bytes
    """UTF-8; lone surrogates and invalid bytes replaced where `exact` is false."""
    exact: bool = True
    uri: str | None = None
    """Set for embedded resources."""


N = TypeVar("N")
"""Where a piece of JSON stands: the raw bytes themselves in memory, a `Span` of a spooled line."""


@dataclass(frozen=True, slots=True)
class BlockScan(Generic[N]):
    """One content block and where the parts of it stand that anybody asks for."""

    node: N
    members: Mapping[str, N] | None
    """None: the block is not an object."""
    type: str | None = None
    resource: Mapping[str, N] | None = None
    """Members of an embedded resource."""
    meta: Mapping[str, N] | None = None

    @property
    def text(self) -> N | None:
        """The JSON string a model would read: a text block's, or that of an embedded resource that carries text."""
        holder = self.members if self.type == "text" else self.resource if self.type == "resource" else None
        return None if holder is None else holder.get("text")

    @property
    def encoded(self) -> N | None:
        """The base64 string of an image, an audio clip or an embedded resource."""
        if self.resource is not None:
            return self.resource.get("blob")
        return None if self.members is None else self.members.get("data")


@dataclass(frozen=True, slots=True)
class Scan(Generic[N]):
    """The skeleton of a result: where its members and its content blocks stand, big values unread.

    Of duplicate keys the last wins, as with every JSON decoder a host may use; the name keeps its first place.
    """

    node: N
    members: Mapping[str, N] | None
    """None: the result is not an object, or not JSON."""
    blocks: tuple[BlockScan[N], ...] | None
    """None: `content` is missing, not a list, or has more than `MAX_BLOCKS` items."""
    meta: Mapping[str, N] | None = None
