"""Packing: never over budget, equal for equal inputs, near the exact optimum."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from crp_mcp.core.assemble.pack import Item, Option, extend, gain_of, pack, tokens_of

MEAN, WORST = 0.05, 0.15


def item_from(number: int, steps: list[tuple[int, float]], must: bool) -> Item:
    tokens, gain, options = 0, 0.0, []
    for depth, (more, better) in enumerate(steps):
        tokens, gain = tokens + more, gain + better
        options.append(Option(depth, tokens, gain))
    return Item(f"uri-{number}", tuple(options), must)


steps = st.lists(st.tuples(st.integers(1, 120), st.floats(0, 1, width=16)), min_size=1, max_size=4)
items = st.lists(st.tuples(steps, st.booleans()), max_size=40)


@settings(max_examples=150, deadline=None)
@given(items, st.integers(0, 1500))
def test_a_packing_never_passes_its_budget(given_items: list, budget: int) -> None:
    """Whatever is packed, the tokens of what was chosen fit; extending it keeps them within the budget too."""
    made = [item_from(n, s, must) for n, (s, must) in enumerate(given_items)]
    chosen = pack(made, budget)
    assert tokens_of(made, chosen) <= budget
    assert chosen == pack(made, budget)
    wider = extend(made, budget + 200, chosen)
    assert tokens_of(made, wider) <= budget + 200
    assert all(wider[number] >= option for number, option in chosen.items())


def exact(made: list[Item], budget: int) -> float:
    best = 0.0
    for picked in product(*(range(-1, len(item.options)) for item in made)):
        chosen = {n: o for n, o in enumerate(picked) if o >= 0}
        if tokens_of(made, chosen) <= budget:
            best = max(best, gain_of(made, chosen))
    return best


def test_small_packings_are_near_the_exact_optimum() -> None:
    """Over random small cases the gain is within 5 % of the optimum in the mean and within 15 % at worst."""
    from random import Random

    random, losses = Random(7), []
    for _ in range(400):
        made = []
        for n in range(random.randint(1, 6)):
            drawn = [
                (random.randint(1, 120), random.random() ** random.choice((1, 3))) for _ in range(random.randint(1, 4))
            ]
            made.append(item_from(n, drawn, False))
        budget = random.randint(10, 400)
        best = exact(made, budget)
        if best > 0:
            losses.append(1 - gain_of(made, pack(made, budget)) / best)
    assert max(losses) <= WORST
    assert sum(losses) / len(losses) <= MEAN


def test_handles_of_what_must_be_there_come_first() -> None:
    """A worthless item that must be there has its handle, before a worthier one gets anything."""
    made = [Item("a", (Option(0, 50, 9.0),)), Item("b", (Option(0, 30, 0.0),), must=True)]
    assert pack(made, 60) == {1: 0}


def test_what_does_not_fit_deep_is_given_shallower() -> None:
    """An item whose full rendering is too large is there in a smaller one."""
    made = [Item("a", (Option(0, 10, 0.2), Option(4, 60, 0.6), Option(9, 500, 1.0)))]
    assert pack(made, 100) == {0: 1}
    assert pack(made, 5) == {}
