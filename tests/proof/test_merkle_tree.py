"""Merkle trees against a naive reference written from RFC 9162's definitions, and against public vectors."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.proof import merkle
from crp_mcp.proof.merkle import leaf_hash
from tests.proof.support import VECTORS, outcome, reason_of, shared

LEAVES = st.lists(st.binary(max_size=6), max_size=40)
SOME_LEAVES = st.lists(st.binary(max_size=6), min_size=1, max_size=40)


def naive_root(leaves: list[bytes]) -> bytes:
    """MTH of §2.1.1, word for word."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    k = naive_split(len(leaves))
    return sha256(b"\x01" + naive_root(leaves[:k]) + naive_root(leaves[k:])).digest()


def naive_split(n: int) -> int:
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def naive_path(m: int, leaves: list[bytes]) -> list[bytes]:
    """PATH of §2.1.3.1, word for word."""
    if len(leaves) == 1:
        return []
    k = naive_split(len(leaves))
    if m < k:
        return [*naive_path(m, leaves[:k]), naive_root(leaves[k:])]
    return [*naive_path(m - k, leaves[k:]), naive_root(leaves[:k])]


@given(LEAVES)
def test_root_equals_the_naive_reference(leaves: list[bytes]) -> None:
    """For every size."""
    assert merkle.root(leaves) == naive_root(leaves)


@pytest.mark.parametrize("size", [1023, 1024, 1025, 2047, 2048, 3000, 5121])
def test_root_over_several_batches(size: int) -> None:
    """Sizes around the internal batch give the same root as the definition."""
    leaves = [number.to_bytes(4) for number in range(size)]
    assert merkle.root(iter(leaves)) == naive_root(leaves)


@given(SOME_LEAVES, st.data())
def test_inclusion_proofs_equal_the_reference_and_verify(leaves: list[bytes], data: st.DataObject) -> None:
    """Each proof is the defined path, verifies at its place, and for no other leaf."""
    index = data.draw(st.integers(0, len(leaves) - 1))
    path = merkle.inclusion_proof([leaf_hash(leaf) for leaf in leaves], index)
    assert path == naive_path(index, leaves)
    where: dict[str, Any] = {"index": index, "size": len(leaves), "path": path, "expected_root": merkle.root(leaves)}
    merkle.verify_inclusion(leaf=leaf_hash(leaves[index]), **where)
    assert reason_of(lambda: merkle.verify_inclusion(leaf=leaf_hash(b"another leaf"), **where)) == "ROOT_MISMATCH"


@given(SOME_LEAVES, st.data())
def test_consistency_proofs_verify(leaves: list[bytes], data: st.DataObject) -> None:
    """Every beginning of a tree is shown to be one; a changed beginning is not."""
    first = data.draw(st.integers(1, len(leaves)))
    path = merkle.consistency_proof([leaf_hash(leaf) for leaf in leaves], first)
    sizes: dict[str, Any] = {"first": first, "second": len(leaves), "second_root": merkle.root(leaves), "path": path}
    merkle.verify_consistency(first_root=merkle.root(leaves[:first]), **sizes)
    other = merkle.root([*leaves[: first - 1], b"another leaf"])
    assert reason_of(lambda: merkle.verify_consistency(first_root=other, **sizes)) == "ROOT_MISMATCH"


@given(
    st.integers(-2, 70),
    st.integers(-2, 70),
    st.lists(st.binary(min_size=30, max_size=33), max_size=8),
    st.binary(max_size=33),
)
def test_arbitrary_proofs_are_rejected_and_nothing_else(a: int, b: int, path: list[bytes], root: bytes) -> None:
    """Made-up proofs raise the typed rejection, whatever the sizes and hashes are."""
    assert reason_of(lambda: merkle.verify_inclusion(leaf=root, index=a, size=b, path=path, expected_root=b"x" * 32))
    _, reason = outcome(
        lambda: merkle.verify_consistency(first=a, second=b, first_root=root, second_root=b"x" * 32, path=path)
    )
    assert reason == "ROOT_MISMATCH" or (a == b and root == b"x" * 32)


def test_no_leaf_no_proof() -> None:
    """Asking for a proof outside the tree is the caller's mistake."""
    with pytest.raises(IndexError):
        merkle.inclusion_proof([b"x" * 32], 1)
    for first in (0, 2):
        with pytest.raises(ValueError):
            merkle.consistency_proof([b"x" * 32], first)


@pytest.mark.parametrize("folder", ["committed", "shared"])
def test_well_known_eight_leaf_tree(folder: str) -> None:
    """All nine roots and 36 inclusion proofs."""
    base = VECTORS / "rfc9162" if folder == "committed" else shared("rfc9162")
    tree = json.loads((base / "ct_8leaf_tree.json").read_bytes())
    leaves = [bytes.fromhex(leaf) for leaf in tree["leaf_inputs_hex"]]
    assert [merkle.root(leaves[:size]).hex() for size in range(9)] == tree["roots_hex"]
    assert len(tree["inclusion"]) == 36
    for case in tree["inclusion"]:
        hashes = [leaf_hash(leaf) for leaf in leaves[: case["size"]]]
        assert [node.hex() for node in merkle.inclusion_proof(hashes, case["index"])] == case["proof"]
        assert hashes[case["index"]].hex() == case["leaf_hash"]


def cases(kind: str, folder: str) -> list[dict[str, Any]]:
    if folder == "committed":
        return json.loads((VECTORS / "rfc9162" / f"{kind}.json").read_bytes())
    return [json.loads(path.read_bytes()) for path in sorted(Path(shared("rfc9162", kind)).rglob("*.json"))]


def raw(text: str | None) -> bytes:
    return base64.b64decode(text or "")


@pytest.mark.parametrize(("folder", "count"), [("committed", 34), ("shared", 98)])
def test_public_inclusion_vectors(folder: str, count: int) -> None:
    """Every case is accepted or rejected as published."""
    found = cases("inclusion", folder)
    assert len(found) == count
    for case in found:
        proof: dict[str, Any] = {
            "leaf": raw(case["leafHash"]),
            "index": case["leafIdx"],
            "size": case["treeSize"],
            "path": [raw(node) for node in case["proof"] or []],
            "expected_root": raw(case["root"]),
        }
        assert verifies(merkle.verify_inclusion, proof) is not case["wantErr"], case["desc"]


@pytest.mark.parametrize(("folder", "count"), [("committed", 35), ("shared", 98)])
def test_public_consistency_vectors(folder: str, count: int) -> None:
    """Every case is accepted or rejected as published, those from an empty tree included."""
    found = cases("consistency", folder)
    assert len(found) == count
    for case in found:
        proof: dict[str, Any] = {
            "first": case["size1"],
            "second": case["size2"],
            "first_root": raw(case["root1"]),
            "second_root": raw(case["root2"]),
            "path": [raw(node) for node in case["proof"] or []],
        }
        assert verifies(merkle.verify_consistency, proof) is not case["wantErr"], case["desc"]


def verifies(check: Any, proof: dict[str, Any]) -> bool:
    return outcome(lambda: check(**proof))[1] is None
