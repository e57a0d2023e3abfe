"""Small signed statements: what they say comes back, what is not exactly that is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.proof import signed
from crp_mcp.proof.chain import Head, make_checkpoint, read_checkpoint
from crp_mcp.proof.reasons import Reason
from tests.proof.support import NOW, OTHER, OUTPUT, RING, SIGN, TRUST, outcome, reason_of, receipt

HEAD = Head(7, "sha256:" + "ab" * 32)
SECRET = b'{"password":"hunter2"}'


def rejection() -> signed.Rejection:
    return signed.reject_record("BAD_SIGNATURE", SECRET, at=NOW, **SIGN)


READERS: dict[str, tuple[bytes, Any]] = {
    "rejection": (rejection().body, signed.verify_rejection),
    "tombstone": (signed.sign_tombstone(OUTPUT, at=NOW, **SIGN).body, signed.verify_tombstone),
    "checkpoint": (make_checkpoint(HEAD, time=NOW, **SIGN).body, read_checkpoint),
}
ALL = pytest.mark.parametrize("name", list(READERS))


def test_statements_come_back_as_they_were_signed() -> None:
    """Reading gives the very value that writing gave."""
    assert signed.verify_rejection(rejection().body, **TRUST) == rejection()
    stone = signed.sign_tombstone(OUTPUT, at=NOW, **SIGN)
    assert signed.verify_tombstone(stone.body, **TRUST) == stone
    mark = make_checkpoint(HEAD, time=NOW, **SIGN)
    assert read_checkpoint(mark.body, **TRUST) == mark
    assert (mark.seq, mark.hash, mark.time, mark.kid) == (7, HEAD.hash, NOW, RING.kid)


def test_rejection_record_never_holds_the_input() -> None:
    """Reason, digest, time and the verifier's key; nothing of what was received."""
    made = rejection()
    assert b"hunter2" not in made.body
    assert set(json.loads(made.body)) == {"type", "v", "reason", "received_hash", "time", "kid", "alg", "signature"}
    assert (made.reason, made.at, made.kid) == ("BAD_SIGNATURE", NOW, RING.kid)
    with pytest.raises(ValueError):
        signed.reject_record("BECAUSE", SECRET, at=NOW, **SIGN)


@ALL
def test_no_statement_passes_for_another(name: str) -> None:
    """A kind is part of what is signed: no other reader takes it, and no receipt is one."""
    body, _ = READERS[name]
    for other, (_, reader) in READERS.items():
        assert (outcome(lambda reader=reader: reader(body, **TRUST))[1] is None) is (other == name)
    assert outcome(lambda: READERS[name][1](receipt().body, **TRUST))[1]


@ALL
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"time": "now"}, {"BAD_INTEGER"}),
        ({"time": True}, {"BAD_INTEGER"}),
        ({"v": 2}, {"UNKNOWN_MEMBER"}),
        ({"v": True}, {"UNKNOWN_MEMBER"}),
        ({"type": "eccr"}, {"UNKNOWN_MEMBER"}),
        ({"more": 1}, {"UNKNOWN_MEMBER"}),
        ({"alg": "none"}, {"BAD_ALGORITHM"}),
        ({"kid": OTHER.kid}, {"UNKNOWN_KEY"}),
        ({"kid": ["x"]}, {"UNKNOWN_KEY"}),
        ({"hash": "x", "item_digest": "x", "received_hash": "x"}, {"BAD_HASH", "UNKNOWN_MEMBER"}),
    ],
)
def test_well_signed_but_wrong(name: str, change: dict[str, Any], reason: set[str]) -> None:
    """A right signature does not save a statement of the wrong form."""
    body, reader = READERS[name]
    document = {**json.loads(body), **change}
    del document["signature"]
    again = signed.sign_document(document, sign=RING.sign)
    assert reason_of(lambda: reader(again, **TRUST)) in reason


@ALL
@given(st.data())
def test_any_changed_byte_is_found(name: str, data: st.DataObject) -> None:
    """No byte of a statement can be changed unnoticed, and only the typed rejection escapes."""
    body, reader = READERS[name]
    changed = bytearray(body)
    changed[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))
    assert outcome(lambda: reader(bytes(changed), **TRUST))[1]


@ALL
def test_missing_member_and_unknown_reason(name: str) -> None:
    """Each member is needed, and a rejection's code must be one that exists."""
    body, reader = READERS[name]
    for member in json.loads(body):
        document = {key: value for key, value in json.loads(body).items() if key != member}
        assert reason_of(lambda document=document: reader(json.dumps(document).encode(), **TRUST)) == "MISSING_MEMBER"
    document = {**json.loads(rejection().body), "reason": "BECAUSE"}
    del document["signature"]
    again = signed.sign_document(document, sign=RING.sign)
    assert reason_of(lambda: signed.verify_rejection(again, **TRUST)) == Reason.UNKNOWN_MEMBER


def test_nothing_malformed_is_signed() -> None:
    """A tombstone needs a digest, a checkpoint needs a record."""
    with pytest.raises(ValueError):
        signed.sign_tombstone("customer 4711", at=NOW, **SIGN)
    with pytest.raises(ValueError):
        make_checkpoint(Head(), time=NOW, **SIGN)
