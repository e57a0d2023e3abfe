"""Where tokens are counted: one thread, whoever asks."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from crp_mcp.relay.counting import LazyCounter


def test_captures_count_in_one_thread_whoever_asks() -> None:
    """Each thread that counts costs the engine's tables once more; work that counts may ask for more of it."""
    counter, seen = LazyCounter(), set[int]()

    def nested(_: object) -> int:
        seen.add(threading.get_ident())
        return counter.run(lambda found: found.count("two words"))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: counter.run(nested), range(20))) == [2] * 20
    assert len(seen) == 1
    assert threading.get_ident() not in seen


def test_what_goes_wrong_while_counting_is_raised_where_it_was_asked_for() -> None:
    """The counting thread goes on."""
    counter = LazyCounter()

    def broken(_: object) -> int:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        counter.run(broken)
    assert counter.run(lambda found: found.count("word")) == 1
