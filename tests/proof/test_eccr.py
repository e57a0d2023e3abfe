"""Receipts: the profile's vectors byte for byte, and every refusal with its reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.proof import eccr
from crp_mcp.proof.canonical import canonicalize
from crp_mcp.proof.eccr import Item, leaf_bytes, verify
from crp_mcp.proof.lattice import Lattice
from crp_mcp.proof.signed import key_id, sign_document
from tests.proof.support import (
    LATER,
    NOW,
    OTHER,
    OUTPUT,
    RING,
    SIGN,
    TRUST,
    item,
    outcome,
    profile,
    reason_of,
    receipt,
)

BOTH = ["first", "after_tombstone_of_item_2"]


def vector_items(case: dict[str, Any]) -> list[Item]:
    return [Item(found["item_digest"], found["sensitivity"], found["expires_at"]) for found in case["items"]]


def resigned(body: bytes, *, drop: tuple[str, ...] = (), **changes: object) -> bytes:
    """The same receipt with members changed and signed again: what a misbehaving issuer could send."""
    document = {**json.loads(body), **changes}
    for name in ("signature", *drop):
        document.pop(name, None)
    return sign_document(document, sign=RING.sign)


def refusal(body: bytes, **more: Any) -> str:
    return reason_of(lambda: verify(body, **{**TRUST, "now": NOW, **more}))


def test_test_key_is_the_drafts() -> None:
    """The seed of 32 times 0x2a gives the public key and kid printed in the draft."""
    assert RING.public_key.hex() == profile()["public_key_hex"]
    assert RING.kid == profile()["kid"] == key_id(RING.public_key)


@pytest.mark.parametrize("name", BOTH)
def test_profile_receipts_byte_for_byte(name: str) -> None:
    """Issuing over the vector's items gives the vector's bytes and digest, and they verify with their leaves."""
    case = profile()[name]
    envelope = case["envelope"]
    made = eccr.issue(
        vector_items(case),
        output_hash=envelope["compacted_output_hash"],
        issued_at=envelope["issued_at"],
        supersedes=envelope.get("supersedes"),
        **SIGN,
    )
    assert made.body.hex() == case["jcs_hex"]
    assert made.digest == "sha256:" + case["jcs_sha256"]
    found = verify(made.body, now=envelope["issued_at"], leaves=made.leaves, **TRUST)
    assert found.items == tuple(vector_items(case))
    assert (found.receipt.ceiling, found.receipt.count) == (
        envelope["inherited_sensitivity_ceiling"],
        len(case["items"]),
    )


@pytest.mark.parametrize("name", list(profile()["must_reject_hex"]))
def test_must_reject_inputs_with_their_reason(name: str) -> None:
    """Each of the 47 inputs is refused, with a reason that is listed beside it."""
    assert refusal(bytes.fromhex(profile()["must_reject_hex"][name])) in profile()["must_reject_reason"][name]


def test_any_strict_spelling_has_the_same_digest() -> None:
    """White space, order and escapes on the wire do not matter; what is digested is the canonical form."""
    made = receipt()
    document = json.loads(made.body)
    spelled = json.dumps(dict(reversed(document.items())), indent=2).replace("sha256", "\\u0073ha256").encode()
    found = verify(spelled, now=NOW, leaves=[b" " + leaf + b"\n" for leaf in made.leaves], **TRUST).receipt
    assert (found.body, found.digest) == (made.body, made.digest)


@pytest.mark.parametrize("seconds", [-61, 60])
def test_clock_edges_that_are_accepted(seconds: int) -> None:
    """Sixty seconds from the future are tolerated; the past is."""
    assert verify(receipt(issued_at=NOW + seconds).body, now=NOW, **TRUST).receipt.issued_at == NOW + seconds


def test_clock_skew_beyond_sixty_seconds() -> None:
    """Sixty-one seconds from the future are not."""
    assert refusal(receipt(issued_at=NOW + 61).body) == "CLOCK_SKEW"


def test_expired_from_its_epoch_on() -> None:
    """At the retention epoch the content must be gone, so the receipt is refused; one second before it is not."""
    body = receipt(item(1, expires_at=NOW + 10)).body
    assert verify(body, now=NOW + 9, **TRUST).receipt.purge_epoch == NOW + 10
    assert refusal(body, now=NOW + 10) == "EXPIRED"


def test_history_is_verified_without_a_clock() -> None:
    """now=None checks everything but the times."""
    assert verify(receipt(item(1, expires_at=5), issued_at=4).body, now=None, **TRUST).receipt.purge_epoch == 5


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"extra": 1}, "UNKNOWN_MEMBER"),
        ({"drop": ("kid",)}, "MISSING_MEMBER"),
        ({"drop": ("issued_at",)}, "MISSING_MEMBER"),
        ({"alg": "EdDSA"}, "BAD_ALGORITHM"),
        ({"alg": None}, "BAD_ALGORITHM"),
        ({"kid": OTHER.kid}, "UNKNOWN_KEY"),
        ({"kid": "me"}, "UNKNOWN_KEY"),
        ({"issued_at": 0}, "BAD_INTEGER"),
        ({"issued_at": "1793664000"}, "BAD_INTEGER"),
        ({"inherited_sensitivity_ceiling": "TOP_SECRET"}, "BAD_LABEL"),
        ({"inherited_sensitivity_ceiling": 5}, "BAD_LABEL"),
        ({"compacted_output_hash": OUTPUT.upper()}, "BAD_HASH"),
        ({"supersedes": "sha256:"}, "BAD_HASH"),
        ({"supersedes": None}, "BAD_HASH"),
    ],
)
def test_well_signed_but_wrong(changes: dict[str, Any], reason: str) -> None:
    """A right signature does not save a receipt that is not of the profile."""
    assert refusal(resigned(receipt().body, **changes)) == reason


def test_a_signature_has_one_spelling() -> None:
    """Padding, the other base64 alphabet, spare bits and other lengths are refused although they decode alike."""
    document = json.loads(receipt().body)
    text = document["signature"]
    for other in (text + "==", text[:-1] + chr(ord(text[-1]) + 1), text + "\n", text[:-2], text + "AAAA", "é" * 86, 7):
        assert refusal(canonicalize({**document, "signature": other})) == "BAD_SIGNATURE"


def test_another_key_cannot_sign_for_ours() -> None:
    """A trusted key under a foreign kid, or a foreign signature under our kid, is refused."""
    foreign = receipt(kid=RING.kid, sign=OTHER.sign).body
    assert refusal(foreign) == "BAD_SIGNATURE"
    assert refusal(receipt().body, keys={RING.kid: OTHER.public_key}) == "UNKNOWN_KEY"


def test_output_and_leaves_bind() -> None:
    """Another output, a dropped, swapped or foreign leaf: each refused with its reason."""
    made = receipt(item(1), item(2), item(3))
    a, b, c = made.leaves
    assert refusal(made.body, output_hash="sha256:" + "00" * 32) == "OUTPUT_MISMATCH"
    assert refusal(made.body, leaves=[a, b]) == "COUNT_MISMATCH"
    assert refusal(made.body, leaves=[b, a, c]) == "ROOT_MISMATCH"
    assert refusal(made.body, leaves=[a, b, leaf_bytes(item(4))]) == "ROOT_MISMATCH"
    found = verify(made.body, now=NOW, leaves=[a, b, c], output_hash=OUTPUT, **TRUST)
    assert found.output_checked
    assert found.items == (item(1), item(2), item(3))


def test_malformed_leaves_are_refused_like_envelopes() -> None:
    """Leaves go through the strict reader and their own table."""
    made = receipt()
    leaf = json.loads(made.leaves[0])
    for broken, reason in [
        (b"[]", "NOT_AN_OBJECT"),
        (made.leaves[0][:-1] + b',"expires_at":1}', "DUPLICATE_KEY"),
        (canonicalize({**leaf, "note": "x"}), "UNKNOWN_MEMBER"),
        (canonicalize({**leaf, "expires_at": True}), "BAD_INTEGER"),
        (canonicalize({**leaf, "item_digest": "x"}), "BAD_HASH"),
        (canonicalize({**leaf, "sensitivity": None}), "BAD_LABEL"),
        (b"{}", "MISSING_MEMBER"),
    ]:
        assert refusal(made.body, leaves=[broken]) == reason


def test_tombstones_reach_receipt_output_and_items() -> None:
    """A purged item, artifact or receipt makes the receipt invalid, however it is named."""
    made = receipt(item(1), item(2))
    for digest in (made.digest, made.output_hash):
        assert refusal(made.body, tombstoned={digest}) == "TOMBSTONED"
    assert refusal(made.body, leaves=made.leaves, tombstoned={item(2).digest}) == "TOMBSTONED"
    assert verify(made.body, now=NOW, leaves=made.leaves, tombstoned={item(3).digest}, **TRUST).items is not None


def test_never_signs_what_no_verifier_accepts() -> None:
    """Nonsense is the caller's mistake, and nothing gets signed."""
    for broken in (
        {"output_hash": "sha256:zz"},
        {"kid": "x"},
        {"supersedes": "x"},
        {"issued_at": 0},
        {"issued_at": True},
        {"purge_epoch": LATER + 1},
        {"purge_epoch": 0},
    ):
        with pytest.raises(ValueError):
            receipt(item(1), **broken)
    for bad in (Item("x", "PUBLIC", LATER), Item(item(1).digest, "PUBLIC", 2**53), Item(item(1).digest, "PUBLIC", 0)):
        with pytest.raises(ValueError):
            receipt(bad)
    with pytest.raises(ValueError):
        eccr.issue([], output_hash=OUTPUT, issued_at=NOW, **SIGN)


def test_another_lattice_is_a_parameter() -> None:
    """Labels of a named lattice of one's own are issued and verified, and are unknown to the default one."""
    lattice = Lattice(("LOW", "HIGH"))
    made = receipt(item(1, "LOW"), item(2, "HIGH"), lattice=lattice)
    assert verify(made.body, now=NOW, lattice=lattice, leaves=made.leaves, **TRUST).receipt.ceiling == "HIGH"
    assert refusal(made.body) == "BAD_LABEL"


def test_event_data_names_the_receipt_and_no_content() -> None:
    """What the chain says of a receipt is its digest, count, ceiling and what it replaces."""
    made = receipt(supersedes="sha256:" + "11" * 32)
    assert eccr.event_data(made) == {
        "receipt": made.digest,
        "source_item_count": 1,
        "ceiling": "INTERNAL",
        "supersedes": "sha256:" + "11" * 32,
    }
    assert "supersedes" not in eccr.event_data(receipt())


@given(st.binary(max_size=300))
def test_only_the_typed_rejection_escapes_for_any_bytes(data: bytes) -> None:
    """Arbitrary bytes as envelope or leaf are rejected with a known reason."""
    assert outcome(lambda: verify(data, now=NOW, **TRUST))[1]
    assert outcome(lambda: verify(receipt().body, now=NOW, leaves=[data], **TRUST))[1]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(OUTPUT),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(json.loads(receipt(supersedes=OUTPUT).body))), JSON)
def test_any_value_of_any_member_is_verified_or_rejected(name: str, value: object) -> None:
    """One member replaced by anything: refused with a known reason, unless it is what stood there."""
    document = json.loads(receipt(supersedes=OUTPUT).body)
    body = json.dumps({**document, name: value}).encode("utf-8", "surrogatepass")
    assert outcome(lambda: verify(body, now=NOW, **TRUST))[1] is not None or document[name] == value


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_any_changed_byte_is_found(position: int, change: int) -> None:
    """No byte of a canonical receipt can be changed unnoticed."""
    body = bytearray(receipt().body)
    body[position % len(body)] ^= change
    assert outcome(lambda: verify(bytes(body), now=NOW, **TRUST))[1] is not None
