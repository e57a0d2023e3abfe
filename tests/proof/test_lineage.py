"""Inclusion proofs of receipts, and receipts that replace others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.proof import lineage
from crp_mcp.proof.eccr import Item, VerifiedReceipt, leaf_bytes, verify
from tests.proof.support import NOW, TRUST, item, outcome, profile, reason_of, receipt


def checked(*items: Item, **more: Any) -> VerifiedReceipt:
    made = receipt(*items, **more)
    return verify(made.body, now=NOW, leaves=made.leaves, **TRUST)


@pytest.mark.parametrize("name", ["first", "after_tombstone_of_item_2"])
def test_profile_proofs(name: str) -> None:
    """Leaf hashes and inclusion proofs of the vectors come out as they stand there, and verify."""
    case = profile()[name]
    items = [Item(found["item_digest"], found["sensitivity"], found["expires_at"]) for found in case["items"]]
    leaves = [leaf_bytes(found) for found in items]
    assert [lineage.merkle.leaf_hash(leaf).hex() for leaf in leaves] == case["leaf_hashes"]
    found = verify(bytes.fromhex(case["jcs_hex"]), now=case["envelope"]["issued_at"], **TRUST)
    for index, path in enumerate(case["proofs"]):
        proof = lineage.prove(leaves, index)
        assert [node.hex() for node in proof.path] == path
        assert lineage.verify_inclusion(found, lineage.read_proof(proof.to_json())) == items[index]


@given(st.integers(1, 20), st.data())
def test_every_item_can_be_shown(size: int, data: st.DataObject) -> None:
    """A proof goes through JSON and shows exactly its item, at its place only."""
    items = [item(number) for number in range(size)]
    made = receipt(*items)
    found = verify(made.body, now=NOW, **TRUST)
    index = data.draw(st.integers(0, size - 1))
    proof = lineage.read_proof(lineage.prove(made.leaves, index).to_json())
    assert lineage.verify_inclusion(found, proof) == items[index]
    other = data.draw(st.integers(0, 30).filter(lambda number: number != index))
    moved = lineage.InclusionProof(proof.leaf, other, size, proof.path)
    assert reason_of(lambda: lineage.verify_inclusion(found, moved)) == "ROOT_MISMATCH"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tree_size": 4}, "COUNT_MISMATCH"),
        ({"tree_size": 0}, "BAD_INTEGER"),
        ({"leaf_index": -1}, "BAD_INTEGER"),
        ({"leaf_index": True}, "BAD_INTEGER"),
        ({"leaf_index": 1}, "ROOT_MISMATCH"),
        ({"inclusion_path": []}, "ROOT_MISMATCH"),
        ({"inclusion_path": ["00" * 32] * 2}, "ROOT_MISMATCH"),
        ({"inclusion_path": ["00" * 32] * 65}, "BAD_HASH"),
        ({"inclusion_path": ["AA" * 32]}, "BAD_HASH"),
        ({"inclusion_path": {}}, "BAD_HASH"),
        ({"leaf": 1}, "NOT_AN_OBJECT"),
        ({"leaf": {}}, "MISSING_MEMBER"),
        ({"more": 1}, "UNKNOWN_MEMBER"),
    ],
)
def test_bad_proofs_are_refused_with_the_reason(changes: dict[str, object], reason: str) -> None:
    """What is wrong with a proof is named."""
    made = receipt(item(1), item(2), item(3))
    found = verify(made.body, now=NOW, **TRUST)
    document = {**json.loads(lineage.prove(made.leaves, 0).to_json()), **changes}
    data = json.dumps(document).encode()
    assert reason_of(lambda: lineage.verify_inclusion(found, lineage.read_proof(data))) == reason


@given(st.binary(max_size=200))
def test_only_the_typed_rejection_escapes_for_any_bytes(data: bytes) -> None:
    """Arbitrary bytes are no proof, and say so with a known reason."""
    assert outcome(lambda: lineage.read_proof(data))[1]


def test_superseding_is_over_exactly_what_remained() -> None:
    """Each way in which a superseding receipt can be wrong has its reason."""
    items = [item(1), item(2), item(3)]
    old = receipt(*items)
    purged = {item(2).digest}
    fresh = {"output_hash": "sha256:" + "0e" * 32, "supersedes": old.digest}
    check = lineage.verify_superseding
    check(checked(item(1), item(3), **fresh), old, items, purged)
    for new, reason in [
        (checked(item(1), item(3)), "MISSING_MEMBER"),
        (checked(item(1), item(3), **{**fresh, "supersedes": "sha256:" + "00" * 32}), "BAD_HASH"),
        (checked(item(1), item(3), issued_at=NOW - 1, **fresh), "CLOCK_SKEW"),
        (verify(receipt(item(1), item(3), **fresh).body, now=NOW, **TRUST), "ROOT_MISMATCH"),
        (checked(*items, **fresh), "TOMBSTONED"),
        (checked(item(1), **fresh), "ROOT_MISMATCH"),
        (checked(item(1), item(3), item(4), **fresh), "ROOT_MISMATCH"),
        (checked(item(1), item(3), supersedes=old.digest), "OUTPUT_MISMATCH"),
    ]:
        assert reason_of(lambda new=new: check(new, old, items, purged)) == reason


def test_leaves_are_read_from_every_kind_of_file() -> None:
    """An array of objects, an array of texts, one object a line: the same canonical leaves."""
    leaves = receipt(item(1), item(2), item(3)).leaves
    objects = [json.loads(leaf) for leaf in leaves]
    for data in (
        json.dumps(objects, indent=2).encode(),
        json.dumps([leaf.decode() for leaf in leaves]).encode(),
        b"\n".join(json.dumps(found).encode() for found in objects) + b"\n\n",
    ):
        assert lineage.read_leaves(data) == leaves
    assert lineage.read_leaves(b"") == ()
    for broken, reason in [(b"[1]", "NOT_AN_OBJECT"), (b'["x"]', "MALFORMED_JSON"), (b"[{}]", "MISSING_MEMBER")]:
        assert reason_of(lambda broken=broken: lineage.read_leaves(broken)) == reason


@given(st.binary(max_size=100))
def test_any_file_of_leaves_is_read_or_rejected(data: bytes) -> None:
    """Only the typed rejection escapes, and only an empty file has no leaves."""
    found, reason = outcome(lambda: lineage.read_leaves(data))
    assert reason is not None or (found == () and not data.strip(b"[] \t\r\n\x0b\x0c"))
