"""What becomes of a result: which of its texts a summary takes the place of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.model import Kind, ToolPolicy
from crp_mcp.core.plan import Text, decide, text_of
from crp_mcp.core.shape.model import Shape

SHAPE = Shape(Kind.TEXT, "text")


def _texts(sizes: list[int]) -> list[Text]:
    return [text_of(block, b"x" * size, SHAPE) for block, size in enumerate(sizes)]


def _whole(sizes: list[int]) -> Shape:
    return Shape(Kind.TEXT, "text", blocks=tuple((block, SHAPE) for block in range(len(sizes))))


@given(st.lists(st.integers(1, 60), min_size=2, max_size=40), st.integers(10, 400))
def test_the_fewest_texts_go_without_which_the_rest_fits(sizes: list[int], limit: int) -> None:
    """Largest first; one fewer would leave too much. Here a byte is a token."""
    policy = ToolPolicy(inline_tokens=limit)
    verdict = decide(_whole(sizes), _texts(sizes), policy, lambda data, most: len(data) > most)
    gone = {text.block for text in verdict.summarise}
    left = sorted((size for block, size in enumerate(sizes) if block not in gone), reverse=True)
    if not gone:
        assert sum(sizes) + len(sizes) - 1 <= limit or sum(sizes) <= limit
        return
    assert sum(left) + max(0, len(left) - 1) <= limit or sum(left) <= limit
    back = min(sizes[block] for block in gone if block is not None)
    assert sum(left) + back + len(left) > limit
    assert not left or left[0] <= back


def test_many_texts_are_counted_a_few_times_only() -> None:
    """Counting costs: the number of counts grows with the logarithm of the number of texts."""
    asked: list[int] = []

    def over(data: bytes, limit: int) -> bool:
        asked.append(len(data))
        return len(data) // 4 > limit

    sizes = [50] * 5_000
    verdict = decide(_whole(sizes), _texts(sizes), ToolPolicy(), over)
    assert verdict.together
    assert len(asked) <= 15
