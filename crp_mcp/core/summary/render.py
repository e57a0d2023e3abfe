"""The summary of a shape within a token cap: our own line first, then lines of the data.

Same shape, same text, in every process. Knows nothing of how a shape was read or how tokens are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from crp_mcp.core.model import CountTokens, Kind, SummaryOptions
from crp_mcp.core.shape.model import Shape

from .draft import PREFIX, Draft, Fits, Step, first_fit, pointer, written
from .error import error_steps
from .facts import plural
from .nested import list_steps, object_steps, scalar_steps
from .prose import binary_steps, empty_steps, media_lines, text_steps
from .table import table_steps

_REST_TOKENS, _BLOCK_TOKENS = 12, 28
"""Kept for the line on the blocks left out; least a block's lines are worth."""
_STEPS: Mapping[Kind, Callable[[Shape, SummaryOptions], list[Step]]] = {
    Kind.TABULAR: table_steps,
    Kind.OBJECT: object_steps,
    Kind.LIST: list_steps,
    Kind.SCALAR: scalar_steps,
    Kind.TEXT: text_steps,
    Kind.ERROR: error_steps,
    Kind.EMPTY: empty_steps,
    Kind.BINARY: binary_steps,
}


def render_summary(shape: Shape, *, scratch_id: str, tool: str, count: CountTokens, options: SummaryOptions) -> str:
    """Text of at most `options.cap` tokens, whatever the shape.

    The first line is ours alone (what is not shown, the id, the way to it) and holds nothing of the payload; every
    other line begins with the prefix. A cap too small even for the line gives the id alone, or nothing.
    """
    fits = Fits(count, options.cap)
    steps = block_steps(shape, scratch_id, count, options) if shape.blocks else _steps(shape, options)
    draft = first_fit(steps, lambda draft: fits(written(draft, scratch_id)))
    if draft is not None:
        return written(draft, scratch_id)
    bare = Draft(steps[-1]().shown, ("scratch_get",))
    for text in (pointer(bare, scratch_id), f"{scratch_id}; use scratch_get", scratch_id):
        if fits(text):
            return text
    return ""


def _steps(shape: Shape, options: SummaryOptions) -> list[Step]:
    steps = _STEPS[shape.kind](shape, options)
    if shape.media and shape.kind is not Kind.BINARY:
        return [*(partial(_with_media, step, shape) for step in steps), steps[-1]]
    return steps


def _with_media(step: Step, shape: Shape) -> Draft:
    draft = step()
    return replace(draft, lines=(*draft.lines, *media_lines(shape, 4)))


def block_steps(shape: Shape, scratch_id: str, count: CountTokens, options: SummaryOptions) -> list[Step]:
    """Drafts of several blocks: each text block gets an even share of the room that is left, the last ones may go."""
    said = [
        plural(len(shape.blocks), "text block"),
        *([plural(len(shape.media), "other block")] if shape.media else []),
    ]
    media = tuple(media_lines(shape, 4))
    outline = Draft(f"outline of {' and '.join(said)}", ("scratch_query", 'scratch_get(view="raw")'))
    room = options.cap - count(written(replace(outline, lines=media), scratch_id)) - _REST_TOKENS
    several = min(len(shape.blocks), max(1, room // _BLOCK_TOKENS))
    parts: list[tuple[str, ...]] = []
    for place, (number, block) in enumerate(shape.blocks[:several]):
        share = room // (several - place)
        part = _block_lines(number, block, count, replace(options, cap=max(share, 0)))
        if part is None:
            break
        parts.append(part)
        room -= count("\n".join(PREFIX + line for line in part)) + 1
    steps: list[Step] = [partial(_assemble, shape, outline, parts, kept, media) for kept in range(len(parts), -1, -1)]
    return [*steps, partial(_assemble, shape, outline, parts, 0, ()), lambda: outline]


def _block_lines(number: int, block: Shape, count: CountTokens, options: SummaryOptions) -> tuple[str, ...] | None:
    fits = Fits(count, options.cap)

    def lines(draft: Draft) -> tuple[str, ...]:
        return f"block {number}, {block.kind}: {draft.shown}", *draft.lines

    draft = first_fit(_steps(block, options), lambda draft: fits("\n".join(PREFIX + line for line in lines(draft))))
    return lines(draft) if draft is not None else None


def _assemble(
    shape: Shape, outline: Draft, parts: Sequence[tuple[str, ...]], kept: int, media: tuple[str, ...]
) -> Draft:
    lines = [line for part in parts[:kept] for line in part]
    rest = Counter(str(block.kind) for _, block in shape.blocks[kept:])
    if rest:
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(rest.items()))
        lines.append(f"{plural(rest.total(), 'more text block')}: {kinds}")
    return replace(outline, lines=(*lines, *media))
