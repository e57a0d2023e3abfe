"""Token counts: limits, odd input, characters counted in another's guise, failures of the engine."""

import itertools
import subprocess
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crp_mcp.tokens import VOCABULARY_SHA256, Counter, CounterFailed, lower_bound, open_counter, upper_bound
from crp_mcp.tokens.counter import Running
from crp_mcp.tokens.standins import STANDINS, needs_standins

texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("ab '1.,\n/é中😀\u0c5c\ua7cf"), max_size=60)


@pytest.fixture(scope="module")
def counter():
    return open_counter()


BROKEN = ["\ud800", "a\udfffb", "\ud83d" + "\ude00", "\ude00" + "\ud83d", "é\ud800" * 3, "\ud800" * 50_000]


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_lone_surrogates_count_as_the_reference_counts_them(counter, text):
    """Pairs are a character, lone ones the replacement character."""
    repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert counter.count(repaired) == counter.count(text)
    assert counter.over(text, counter.count(text)) is False
    assert text.startswith(counter.cut(text, 2))


@given(st.binary(max_size=200), st.integers(1, 9))
def test_bytes_that_are_no_text_count_as_replaced(counter, data, size):
    """Invalid UTF-8 counts as decoding would replace it, however the bytes come."""
    running = Running(counter, chunk=size)
    for start in range(0, len(data), size):
        running.feed(data[start : start + size])
    assert counter.count(data.decode("utf-8", "replace")) == running.total() == counter.count_bytes(data)


@settings(max_examples=200, deadline=None)
@given(texts, st.integers(-1, 80))
def test_over_and_cut_keep_to_the_limit(counter, text, limit):
    """`over` is the comparison; `cut` gives a beginning within the limit, all of it when it fits."""
    count = counter.count(text)
    assert (count > limit) == counter.over(text, limit)
    beginning = counter.cut(text, limit)
    assert text.startswith(beginning)
    assert counter.count(beginning) <= max(limit, 0)
    assert (beginning == text) == (count <= max(limit, 0))


def test_over_and_cut_do_not_read_all_of_a_long_text(counter):
    """The answer for a small limit is the same for a text of any length, and the cut uses the limit up."""
    text = "one two, three.\n" * 500_000
    assert counter.over(text, 100)
    assert counter.count(counter.cut(text, 100)) == 100
    assert not counter.over(text[:400], 400)


@pytest.mark.parametrize(
    ("unit", "times"), [(" ", 1_000_000), ("\t", 1_000_000), ("\n", 1_000_000), ("\u3000", 300_000), ("=", 300_000)]
)
def test_a_million_of_the_same_is_survived_and_bounded(counter, unit, times):
    """Where the reference's regular expression overflows its stack, the count is that of equal parts."""
    text = unit * times
    assert counter.count(text) == counter.count_bytes(text.encode())
    assert lower_bound(len(text.encode())) <= counter.count(text) <= upper_bound(len(text))


def test_a_text_without_any_cut_is_marked_inexact(counter):
    """Past its limit a running count goes on in bounded memory, and says that it is no longer exact."""
    running = Running(counter, chunk=1_000, max_pending=5_000)
    for _ in range(20):
        running.feed("語".encode() * 400)
        assert len(running._buffer) <= 6_200
    assert not running.exact
    assert running.total() > 0


class Merges:
    """What the vocabulary allows to merge, for the proof below. A token's rank is its place in the list."""

    def __init__(self, tokens):
        self.rank = {token: rank for rank, token in enumerate(tokens)}
        long = [token for token in tokens if len(token) > 1]
        self.pairs = {token[i : i + 2] for token in long for i in range(len(token) - 1)}
        self.prefixes = {token[:k] for token in tokens for k in range(1, 5)}
        self.endings = {token[-k:] for token in long for k in range(1, min(5, len(token)))}
        before_char = [
            token[:k] for token in long for k in range(1, 4) if len(token) > k and not 0x80 <= token[k] < 0xC0
        ]
        self.before_char = set(before_char)
        self.ending_in = {}
        for token in long:
            self.ending_in.setdefault(token[-1:], []).append(token)

    def parts(self, char):
        """The bytes of a character, cut where no token whatever can reach across."""
        data = char.encode()
        parts = [data[:1]]
        for i in range(1, len(data)):
            joined = parts[-1] + data[i : i + 1]
            open_left = len(parts) == 1
            reach = any(joined[k:] in self.prefixes for k in range(len(joined) - 1))
            if data[i - 1 : i + 1] in self.pairs and (open_left or reach):
                parts[-1] = joined
            else:
                parts.append(data[i : i + 1])
        return parts

    def left(self, part):
        """What the text before can merge with: nothing, or the first byte with these tokens, unless merged sooner."""
        if not any(part[:k] in self.endings for k in range(1, len(part) + 1)):
            return None
        if len(part) == 1:
            return part
        assert part not in self.endings
        assert all(self.rank[part] > self.rank[token] for token in self.ending_in[part[:1]])
        return part[:1], len(part)

    def right(self, part):
        return part if any(part[i:] in self.before_char for i in range(len(part))) else None

    def count(self, part):
        """BPE by the book."""
        pieces = [part[i : i + 1] for i in range(len(part))]
        while ranks := [(self.rank.get(a + b, 1 << 30), i) for i, (a, b) in enumerate(itertools.pairwise(pieces))]:
            rank, i = min(ranks)
            if rank == 1 << 30:
                break
            pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
        return len(pieces)


def test_standins_merge_like_what_they_stand_for(counter):
    """Proof from the vocabulary: with any neighbours, a character and its stand-in give as many tokens."""
    merges = Merges(counter._engine.token_byte_values())
    for code, standin in STANDINS.items():
        mine, other = merges.parts(chr(code)), merges.parts(chr(standin))
        assert len(mine) > 1, hex(code)
        assert merges.left(mine[0]) == merges.left(other[0]), hex(code)
        assert merges.right(mine[-1]) == merges.right(other[-1]), hex(code)
        assert sum(map(merges.count, mine)) == sum(map(merges.count, other)), hex(code)


def test_every_standin_is_found_and_keeps_offsets():
    """The quick look at UTF-8 misses none, and each stands for one character."""
    assert len(STANDINS) == 4_699
    assert all(needs_standins(chr(code).encode()) for code in STANDINS)
    assert not any(code in STANDINS for code in STANDINS.values())


def test_the_vocabulary_is_the_published_one(counter):
    """What the engine carries is, byte for byte, the file whose digest OpenAI publishes."""
    assert counter.vocabulary_sha256() == VOCABULARY_SHA256


def test_a_panic_of_the_engine_is_an_error_and_an_interrupt_is_not():
    """A panic is a BaseException: it must not end the server, while Ctrl-C must."""

    class Panic(BaseException):
        pass

    class Engine:
        def __init__(self, error):
            self.error = error

        def count(self, text):
            raise self.error

    with pytest.raises(CounterFailed):
        Counter(Engine(Panic())).count("x")
    with pytest.raises(KeyboardInterrupt):
        Counter(Engine(KeyboardInterrupt())).count("x")


def test_threads_share_one_counter():
    """Whoever asks first builds it; everybody gets the same, and counts in it at once."""
    found = []
    threads = [
        threading.Thread(target=lambda: found.append((open_counter(), open_counter().count("a b c")))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {(open_counter(), 3)} == set(found)


def test_importing_loads_no_engine():
    """Start-up pays nothing for the counter."""
    code = "import sys, crp_mcp.tokens; sys.exit('toktok' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
