"""The strict reader: what it reads, and with which reason it refuses the rest."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.proof.reasons import Reason
from crp_mcp.proof.strict_json import MAX_BYTES, MAX_DEPTH, MAX_INTEGER, read, read_object
from tests.proof.support import outcome, reason_of, shared

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_reads_what_json_writes(value: object, ascii_only: bool, indent: int | None) -> None:
    """Every value within the limits comes back, whatever the spelling."""
    data = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    assert read(data) == value


@given(st.binary(max_size=200))
def test_only_the_typed_rejection_escapes_for_any_bytes(data: bytes) -> None:
    """Arbitrary bytes are read or rejected with a known reason; what is read, the standard reader reads the same."""
    value, reason = outcome(lambda: read(data))
    assert reason is not None or json.loads(data) == value


@given(st.text(alphabet='{}[]",:\\u0d8af-1e. \n\tntruefalse', max_size=60))
def test_only_the_typed_rejection_escapes_for_json_like_text(text: str) -> None:
    """Text made of JSON's own characters is read or rejected, and never read differently from the standard reader."""
    value, reason = outcome(lambda: read(text.encode()))
    assert reason is not None or json.loads(text) == value


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", Reason.MALFORMED_JSON),
        (b"{", Reason.MALFORMED_JSON),
        (b'{"a":1,}', Reason.MALFORMED_JSON),
        (b"[1,]", Reason.MALFORMED_JSON),
        (b'{"a" 1}', Reason.MALFORMED_JSON),
        (b"{a:1}", Reason.MALFORMED_JSON),
        (b"[1 2]", Reason.MALFORMED_JSON),
        (b"01", Reason.MALFORMED_JSON),
        (b"+1", Reason.MALFORMED_JSON),
        (b"-", Reason.MALFORMED_JSON),
        (b"NaN", Reason.MALFORMED_JSON),
        (b"Infinity", Reason.MALFORMED_JSON),
        (b"truex", Reason.MALFORMED_JSON),
        (b'"\t"', Reason.MALFORMED_JSON),
        (b'"\\x41"', Reason.MALFORMED_JSON),
        (b'"\\u00e"', Reason.MALFORMED_JSON),
        (b'"\\u+0e9"', Reason.MALFORMED_JSON),
        (b'"\\ud800"', Reason.MALFORMED_JSON),
        (b'"\\udc00\\ud800"', Reason.MALFORMED_JSON),
        (b'"a\\ud800b"', Reason.MALFORMED_JSON),
        ("\u00a01".encode(), Reason.MALFORMED_JSON),
        ("\u0661".encode(), Reason.MALFORMED_JSON),
        (b"\xff", Reason.BAD_ENCODING),
        (b'"\xc0\x80"', Reason.BAD_ENCODING),
        (b'"\xed\xa0\x80"', Reason.BAD_ENCODING),
        (b"\xef\xbb\xbf1", Reason.BAD_ENCODING),
        ("{}".encode("utf-16-le"), Reason.BAD_ENCODING),
        ("{}".encode("utf-32-be"), Reason.BAD_ENCODING),
        (b'{"a":1,"a":1}', Reason.DUPLICATE_KEY),
        (b'{"a":1,"\\u0061":2}', Reason.DUPLICATE_KEY),
        (b'{"/":1,"\\/":2}', Reason.DUPLICATE_KEY),
        ('{"\U0001f600":1,"\\ud83d\\ude00":2}'.encode(), Reason.DUPLICATE_KEY),
        (b'[{"b":{"a":1,"a":2}}]', Reason.DUPLICATE_KEY),
        (b"1.0", Reason.BAD_INTEGER),
        (b"1e0", Reason.BAD_INTEGER),
        (b"1E400", Reason.BAD_INTEGER),
        (b"-0", Reason.BAD_INTEGER),
        (b"9007199254740992", Reason.BAD_INTEGER),
        (b"-9007199254740992", Reason.BAD_INTEGER),
        (b"9" * 5000, Reason.BAD_INTEGER),
        (b"[" * (MAX_DEPTH + 1), Reason.TOO_DEEP),
        (b'{"a":' * (MAX_DEPTH + 1), Reason.TOO_DEEP),
        (b" " * MAX_BYTES + b"1", Reason.TOO_LARGE),
    ],
)
def test_refuses_with_the_reason(data: bytes, reason: Reason) -> None:
    """Each kind of bad input is refused with its own code."""
    assert reason_of(lambda: read(data)) == reason


def test_limits_are_inclusive() -> None:
    """The largest integer, the deepest nesting and the longest document are still read."""
    assert read(b"9007199254740991") == MAX_INTEGER
    assert read(b"-9007199254740991") == -MAX_INTEGER
    assert reason_of(lambda: read(b"[" * MAX_DEPTH)) == Reason.MALFORMED_JSON
    assert read(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) is not None
    assert read(b"1".ljust(MAX_BYTES)) == 1


def test_surrogate_pair_is_one_character() -> None:
    """An escaped pair reads as the character it spells, and raw characters beside it are kept."""
    assert read(b'"\\ud83d\\ude00 \\u00e9 \xc3\xa9 \\n\\/"') == "\U0001f600 é é \n/"


def test_root_must_be_an_object() -> None:
    """read_object takes nothing but an object."""
    assert read_object(b' {"a":[]} ') == {"a": []}
    for data in (b"[]", b"1", b"null", b'"{}"'):
        assert reason_of(lambda data=data: read_object(data)) == Reason.NOT_AN_OBJECT


def test_long_hostile_strings_take_linear_time() -> None:
    """A string of escapes that never ends is refused after one look, not after many."""
    assert reason_of(lambda: read(b'"' + b"\\u0041a" * 8000)) == Reason.MALFORMED_JSON
    assert reason_of(lambda: read(b'{"a":"' + b"\\\\" * 30000)) == Reason.MALFORMED_JSON


def test_json_test_suite() -> None:
    """All 188 n_ files are refused; the y_ files refused are those with fractions, -0 or duplicates, by design."""
    by_design = {Reason.BAD_INTEGER, Reason.DUPLICATE_KEY}
    refused = 0
    for path in sorted(shared("jsontestsuite", "test_parsing").iterdir()):
        data = path.read_bytes()
        if path.name.startswith("n_"):
            reason_of(lambda data=data: read(data))
            refused += 1
        elif path.name.startswith("y_"):
            value, reason = outcome(lambda data=data: read(data))
            assert reason in by_design or value == json.loads(data), path.name
    assert refused == 188
