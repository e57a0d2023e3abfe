"""What can be shown about a receipt without all of its sources: that one item is in it, that one replaced another."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from crp_mcp.proof import merkle
from crp_mcp.proof.canonical import canonicalize
from crp_mcp.proof.eccr import Item, Receipt, VerifiedReceipt, parse_leaf
from crp_mcp.proof.reasons import Reason, rejected
from crp_mcp.proof.strict_json import read, read_object

MAX_LEAVES = 64 * 2**20
"""Bytes of the longest file of leaves that is read."""
_NODE = re.compile(r"[0-9a-f]{64}")
_MAX_PATH = 64
"""No tree of at most 2^53 leaves is higher."""
_NAMES = {"leaf", "leaf_index", "tree_size", "inclusion_path"}


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """That one leaf stands at one place of a receipt's tree (RFC 9162 §2.1.3)."""

    leaf: bytes
    """Canonical leaf bytes."""
    index: int
    tree_size: int
    path: tuple[bytes, ...]

    def to_json(self) -> bytes:
        """Canonical JSON: `{inclusion_path: [hex…], leaf: {…}, leaf_index, tree_size}`."""
        leaf = read_object(self.leaf)
        path = [node.hex() for node in self.path]
        return canonicalize(
            {"inclusion_path": path, "leaf": leaf, "leaf_index": self.index, "tree_size": self.tree_size}
        )


def read_leaves(data: bytes) -> tuple[bytes, ...]:
    """Canonical leaves, in order, from a file: an array of leaves, or one leaf a line. Raises Rejected.

    A leaf of an array may also stand as a string, as it does in the audit export.
    """
    if not data.lstrip(b" \t\r\n").startswith(b"["):
        return tuple(parse_leaf(line)[1] for line in data.splitlines() if line.strip())
    found: Any = read(data, max_bytes=MAX_LEAVES)  # begins with a bracket, so what was read is a list
    texts = [leaf.encode() if isinstance(leaf, str) else canonicalize(leaf) for leaf in found]
    return tuple(parse_leaf(text)[1] for text in texts)


def prove(leaves: Sequence[bytes], index: int) -> InclusionProof:
    """The proof for leaf `index` (0-based) of all canonical leaves of a receipt. Raises IndexError."""
    path = merkle.inclusion_proof([merkle.leaf_hash(leaf) for leaf in leaves], index)
    return InclusionProof(leaves[index], index, len(leaves), tuple(path))


def read_proof(data: bytes) -> InclusionProof:
    """Read `to_json` back, from any strict spelling. Proves nothing yet. Raises Rejected."""
    document: dict[str, Any] = read_object(data)
    if _NAMES - document.keys():
        raise rejected(Reason.MISSING_MEMBER, "a proof has leaf, leaf_index, tree_size and inclusion_path")
    if len(document) != len(_NAMES):
        raise rejected(Reason.UNKNOWN_MEMBER, "a proof has no other members")
    path = document["inclusion_path"]
    if not isinstance(path, list) or len(path) > _MAX_PATH or not all(_is_node(node) for node in path):
        raise rejected(Reason.BAD_HASH, "the path is not a list of hashes of 64 lower-case hex digits")
    index, size = document["leaf_index"], document["tree_size"]
    if type(index) is not int or type(size) is not int or index < 0 or size < 1:
        raise rejected(Reason.BAD_INTEGER, "leaf index or tree size is not an integer in range")
    _, leaf = parse_leaf(canonicalize(document["leaf"]))
    return InclusionProof(leaf, index, size, tuple(bytes.fromhex(node) for node in path))


def _is_node(node: object) -> bool:
    return isinstance(node, str) and _NODE.fullmatch(node) is not None


def verify_inclusion(verified: VerifiedReceipt, proof: InclusionProof) -> Item:
    """The item a proof shows to be among a receipt's sources (ECCR parser invariant 4).

    The root does not commit to the size of its tree, so the proof's size must be the signed count.
    Raises Rejected: COUNT_MISMATCH, ROOT_MISMATCH, or what a malformed leaf is refused for.
    """
    receipt = verified.receipt
    if proof.tree_size != receipt.count:
        raise rejected(Reason.COUNT_MISMATCH, "the proof is for a tree of another size than the receipt counts")
    item, canonical = parse_leaf(proof.leaf)
    merkle.verify_inclusion(
        leaf=merkle.leaf_hash(canonical),
        index=proof.index,
        size=proof.tree_size,
        path=proof.path,
        expected_root=bytes.fromhex(receipt.root.removeprefix("sha256:")),
    )
    return item


def remaining(items: Sequence[Item], tombstoned: Collection[str]) -> tuple[Item, ...]:
    """What a superseding receipt is issued over: the items that were not purged, in their order (ECCR rule 2)."""
    return tuple(item for item in items if item.digest not in tombstoned)


def verify_superseding(
    new: VerifiedReceipt, old: Receipt, old_items: Sequence[Item], tombstoned: Collection[str]
) -> None:
    """Check that `new` replaces `old` after an erasure: it cites it, and is over exactly what remained.

    Raises Rejected: MISSING_MEMBER (nothing cited), BAD_HASH (another receipt cited), CLOCK_SKEW (older than what it
    replaces), ROOT_MISMATCH (its leaves were not checked, or are not the remaining ones), TOMBSTONED, OUTPUT_MISMATCH
    (the output is unchanged although a source is gone).
    """
    if new.receipt.supersedes is None:
        raise rejected(Reason.MISSING_MEMBER, "the receipt supersedes nothing")
    if new.receipt.supersedes != old.digest:
        raise rejected(Reason.BAD_HASH, "the receipt supersedes another one")
    if new.receipt.issued_at < old.issued_at:
        raise rejected(Reason.CLOCK_SKEW, "the receipt is older than the one it supersedes")
    if new.items is None:
        raise rejected(Reason.ROOT_MISMATCH, "the leaves of the superseding receipt were not checked")
    if any(item.digest in tombstoned for item in new.items):
        raise rejected(Reason.TOMBSTONED, "a purged item is still among the sources")
    if new.items != remaining(old_items, tombstoned):
        raise rejected(Reason.ROOT_MISMATCH, "the sources are not the old ones without the purged")
    if new.items != tuple(old_items) and new.receipt.output_hash == old.output_hash:
        raise rejected(Reason.OUTPUT_MISMATCH, "the output is still the one that was built on the purged item")
