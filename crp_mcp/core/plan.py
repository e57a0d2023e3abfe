"""Decides what becomes of a result: forwarded as it came, or which of its texts a summary replaces. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .model import INLINE_TOKENS, CountTokens, Kind, SummaryOptions, ToolPolicy, inline_limit
from .payload import Structured, TextBlock
from .shape.model import Shape
from .summary import render_summary

MAX_SUMMARIES = 4
"""More big texts than this in one result get one summary together: the cap is for the result, not for each block."""
SMALLEST_CAP = 48

TokensOver = Callable[[bytes, int], bool]
"""Whether UTF-8 text has more than so many tokens, exactly; may be slow, is asked only when bytes cannot tell."""

MAX_TOKEN_BYTES = 128
"""The longest token of the vocabulary: bytes / 128 bounds the number of tokens from below, bytes from above."""


@dataclass(frozen=True, slots=True)
class Text:
    """One text the model would see: a text block's, or structured content that says something of its own."""

    block: int | None
    """Number of the content block; None for structured content."""
    size: int
    """Bytes of UTF-8."""
    pieces: Callable[[], Iterable[bytes]]
    """The text itself, wherever it is: only short ones are ever asked for whole."""
    shape: Shape


def text_of(block: int | None, data: bytes, shape: Shape) -> Text:
    """A text that is in memory."""
    return Text(block, len(data), lambda: (data,), shape)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`summarise` empty: the result goes on as it came. Otherwise the texts that summaries take the place of."""

    summarise: tuple[Text, ...] = ()
    together: bool = False
    """One summary, of the whole shape, speaks for all of `summarise`."""
    drop_structured: bool = True
    """False: structured content is small and says something of its own, so it stays."""


def is_over(texts: Sequence[Text], limit: int, tokens_over: TokensOver) -> bool:
    """Whether texts have more than `limit` tokens together. Asks the counter only between the two free bounds."""
    size = sum(text.size for text in texts)
    if size <= limit:
        return False
    if size > limit * MAX_TOKEN_BYTES + len(texts):
        return True
    return tokens_over(b"\n".join(b"".join(text.pieces()) for text in texts), limit)


def decide(shape: Shape, texts: Sequence[Text], policy: ToolPolicy, tokens_over: TokensOver) -> Verdict:
    """What a captured result becomes. `shape` is the whole result's; `texts` are those the model would see."""
    limit = inline_limit(policy, shape.kind)
    if shape.kind is Kind.EMPTY:
        limit = max(limit, INLINE_TOKENS)  # nothing to page through; only what stands beside it can be a flood
    if not texts or not is_over(texts, limit, tokens_over):
        return Verdict()
    if len(texts) == 1:
        return Verdict(tuple(texts))
    if not shape.blocks:
        return Verdict(tuple(texts), together=True)
    chosen = _largest_first(texts, limit, tokens_over)
    keeps = all(text.block is not None for text in chosen)
    return Verdict(chosen, together=len(chosen) > MAX_SUMMARIES, drop_structured=not keeps)


def _largest_first(texts: Sequence[Text], limit: int, tokens_over: TokensOver) -> tuple[Text, ...]:
    """The fewest texts, largest first, without which the rest fits; in the order they stand in the result."""
    by_size = sorted(range(len(texts)), key=lambda i: (-texts[i].size, i))
    few, enough = 0, len(texts)
    while enough - few > 1:
        middle = (few + enough) // 2
        if is_over([texts[i] for i in by_size[middle:]], limit, tokens_over):
            few = middle
        else:
            enough = middle
    return tuple(texts[i] for i in sorted(by_size[:enough]))


def render_all(
    verdict: Verdict, shape: Shape, *, scratch_id: str, tool: str, count: CountTokens, options: SummaryOptions
) -> tuple[str, ...]:
    """The summaries, one for each text of the verdict (one in all if `together`); within the cap all told."""
    if verdict.together or len(verdict.summarise) == 1:
        only = shape if verdict.together else verdict.summarise[0].shape
        return (render_summary(only, scratch_id=scratch_id, tool=tool, count=count, options=options),)
    share = max(SMALLEST_CAP, options.cap // len(verdict.summarise))
    small = SummaryOptions(cap=min(share, options.cap), sample_rows=options.sample_rows)
    return tuple(
        render_summary(text.shape, scratch_id=scratch_id, tool=_part(tool, text), count=count, options=small)
        for text in verdict.summarise
    )


def _part(tool: str, text: Text) -> str:
    return f"{tool}, structured content" if text.block is None else f"{tool}, block {text.block + 1}"


def visible_texts(
    texts: Sequence[TextBlock],
    structured: Structured,
    structured_data: bytes | None,
    shape: Shape,
    read: Callable[[bytes], Shape],
) -> tuple[Text, ...]:
    """What a model would see of a `result` payload: its texts, and structured content that is not their copy."""
    shapes = dict(shape.blocks)
    found = [text_of(block.index, block.data, shapes.get(block.index, shape)) for block in texts]
    if structured is Structured.OTHER and structured_data is not None:
        found.append(text_of(None, structured_data, read(structured_data) if found else shape))
    return tuple(found)
