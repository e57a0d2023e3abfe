"""What a result is, before anything is decided about it: payload, shape, the texts a model would see. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from crp_mcp.core.asked import with_asked
from crp_mcp.core.payload import (
    Scan,
    Structured,
    extract_payload,
    replace_with_summary,
    strip_reserved,
    text_blocks,
)
from crp_mcp.core.payload.memory import scan_bytes
from crp_mcp.core.plan import Text, text_of, visible_texts
from crp_mcp.core.shape import read_shape
from crp_mcp.core.shape.model import Shape
from crp_mcp.store import WrittenPayload

from .labels import hints_of


class Sink(Protocol):
    """Takes bytes: a payload writer, a hash."""

    def write(self, piece: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What capturing learnt of a result before deciding: payload, shape, and the texts a model would see."""

    form: str
    shape: Shape
    texts: tuple[Text, ...]
    payload: Callable[[Sink], object]
    """Writes the payload's bytes."""
    rewrite: Callable[..., Iterable[bytes]]
    """`replace_with_summary` or its twin, for this result."""
    strip: Callable[[], Iterable[bytes] | None]
    """The result without keys that are ours alone; None where there are none."""
    written: WrittenPayload | None = None
    """Set where the payload had to be written to be read at all."""
    labels: tuple[object, ...] = ()
    """Labels the upstream gave it: they may only raise the declared one."""

    def asked(self, arguments: Mapping[str, Any]) -> Reading:
        """The same, knowing what was asked for."""
        shape = with_asked(self.shape, arguments)
        if shape is self.shape:
            return self
        texts = tuple(replace(text, shape=shape) if text.shape is self.shape else text for text in self.texts)
        return replace(self, shape=shape, texts=texts)


def read_result(result: bytes) -> Reading:
    """Payload, shape and visible texts of a result in memory. Never raises."""
    payload = extract_payload(result)
    shape = read_shape(payload.data, form=payload.form, is_error=payload.is_error)
    if payload.form == "text":
        texts: tuple[Text, ...] = (text_of(0, payload.data, shape),)
    elif _is_one_piece(scan := scan_bytes(result)):
        texts = (text_of(None, result, shape),)
    else:
        own = payload.structured is Structured.OTHER
        raw = (scan.members or {}).get("structuredContent") if own else None
        structured = None if raw is None else bytes(raw)
        texts = visible_texts(text_blocks(result), payload.structured, structured, shape, read_shape)

    def strip() -> Iterable[bytes] | None:
        stripped = strip_reserved(result)
        return None if stripped is result else (stripped,)

    def rewrite(*args: Any, **options: Any) -> Iterable[bytes]:
        return (replace_with_summary(result, *args, **options),)

    write = payload.data
    return Reading(
        payload.form, shape, texts, lambda writer: writer.write(write), rewrite, strip, labels=hints_of(result)
    )


def _is_one_piece(scan: Scan[Any]) -> bool:
    """Whether a result's blocks cannot be told apart: too many of them, or no list at all. It is then one text."""
    return scan.blocks is None and (scan.members is None or "content" in scan.members)


def read_text(data: bytes) -> Reading:
    """The same for one text block's bytes, without a result around them. Any bytes at all."""
    shape = read_shape(data)
    return Reading(
        "text", shape, (text_of(0, data, shape),), lambda writer: writer.write(data), lambda: (), lambda: None
    )
