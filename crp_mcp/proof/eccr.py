"""Ephemeral Context Compaction Receipts: issue and verify. Clock, keys and signing are passed in.

Verification believes nothing but the envelope before the signature has been checked, and fails closed: bytes go in,
a VerifiedReceipt comes out or Rejected is raised, whose `code` is one of reasons.Reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from crp_mcp.errors import Rejected
from crp_mcp.proof import merkle
from crp_mcp.proof.canonical import canonicalize
from crp_mcp.proof.lattice import DEFAULT_LATTICE, Lattice, is_label_name
from crp_mcp.proof.reasons import Reason, rejected
from crp_mcp.proof.signed import (
    Keys,
    Rejection,
    Sign,
    VerifySignature,
    check_signature,
    key_id,
    reject_record,
    sign_document,
)
from crp_mcp.proof.strict_json import read_object
from crp_mcp.proof.wire import (
    ALGORITHM,
    HEADER,
    LEAF,
    MEDIA_TYPE,
    RECEIPT,
    from_wire,
    is_hash,
    is_integer,
    to_wire,
)

__all__ = [
    "HEADER",
    "MEDIA_TYPE",
    "Item",
    "Receipt",
    "Rejection",
    "RuleEvidence",
    "Sign",
    "VerifiedReceipt",
    "VerifySignature",
    "ceiling_or_top",
    "event_data",
    "issue",
    "key_id",
    "leaf_bytes",
    "parse_leaf",
    "read_for_rule",
    "reject_record",
    "verify",
]

MAX_SKEW = 60
"""Seconds a receipt may come from the future (ECCR, Security Considerations)."""


@dataclass(frozen=True, slots=True)
class Item:
    """One source of a compaction: an entry, a turn, a fact, a fragment."""

    digest: str
    """`sha256:` and 64 hex digits; salted, so that a short content cannot be guessed from it."""
    sensitivity: str
    expires_at: int
    """Epoch seconds at which the item must be gone, within [1, 2^53 - 1]."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """One receipt as it stands on the wire."""

    root: str
    count: int
    ceiling: str
    output_hash: str
    purge_epoch: int
    issued_at: int
    kid: str
    supersedes: str | None
    body: bytes
    """The canonical bytes, signature included: what is stored, sent and digested."""
    digest: str
    """`sha256:` of body: how other documents cite this receipt."""
    leaves: tuple[bytes, ...] = ()
    """Canonical leaves in order, where they are known. Not part of the body."""


@dataclass(frozen=True, slots=True)
class VerifiedReceipt:
    """A receipt whose signature and times were right, and which bindings were checked besides."""

    receipt: Receipt
    items: tuple[Item, ...] | None
    """The sources, when their leaves were given and fit; None when they were not asked about."""
    output_checked: bool


@dataclass(frozen=True, slots=True)
class RuleEvidence:
    """What a rule outside may read of a receipt: only what stands in verified bytes (ECCR parser invariant 5)."""

    ceiling: str
    purge_epoch: int
    digest: str


def leaf_bytes(item: Item, lattice: Lattice = DEFAULT_LATTICE) -> bytes:
    """The canonical leaf of an item; a label the lattice does not know is written as the top it counts as.

    Raises ValueError for a malformed digest or an expiry out of range.
    """
    if not is_hash(item.digest):
        raise ValueError("an item digest is sha256: and 64 lower-case hex digits")
    if not is_integer(item.expires_at):
        raise ValueError("an item's expiry is an integer of epoch seconds within [1, 2^53 - 1]")
    sensitivity = lattice.effective(item.sensitivity)
    values = {"digest": item.digest, "sensitivity": sensitivity, "expires_at": item.expires_at}
    return canonicalize(to_wire(LEAF, values))


def parse_leaf(data: bytes) -> tuple[Item, bytes]:
    """The item a leaf stands for, and the leaf's canonical bytes (on the wire any strict spelling). Raises Rejected."""
    document = read_object(data)
    values = from_wire(LEAF, document)
    return Item(values["digest"], values["sensitivity"], values["expires_at"]), canonicalize(document)


def issue(
    items: Sequence[Item],
    *,
    output_hash: str,
    issued_at: int,
    kid: str,
    sign: Sign,
    lattice: Lattice = DEFAULT_LATTICE,
    supersedes: str | None = None,
    purge_epoch: int | None = None,
) -> Receipt:
    """Sign the receipt of one compaction over `items`, in this order. Leaves come with it, to be kept.

    The ceiling is the least upper bound of the items' labels; `purge_epoch` is the earliest expiry unless an earlier
    one is given. Raises ValueError for no items, malformed values, or an epoch beyond the earliest expiry.
    """
    if not items:
        raise ValueError("a receipt is over at least one item")
    earliest = min(item.expires_at for item in items)
    epoch = earliest if purge_epoch is None else purge_epoch
    if epoch > earliest:
        raise ValueError("a compaction may not outlive the earliest of its sources")
    leaves = tuple(leaf_bytes(item, lattice) for item in items)
    values: dict[str, Any] = {
        "root": "sha256:" + merkle.root(leaves).hex(),
        "count": len(leaves),
        "ceiling": lattice.join(item.sensitivity for item in items),
        "output_hash": output_hash,
        "purge_epoch": epoch,
        "issued_at": issued_at,
        "kid": kid,
        "supersedes": supersedes,
    }
    _refuse_malformed(values)
    body = sign_document(to_wire(RECEIPT, {**values, "alg": ALGORITHM}), sign=sign)
    return Receipt(**values, body=body, digest=_digest(body), leaves=leaves)


def verify(
    body: bytes,
    *,
    keys: Keys,
    verify_signature: VerifySignature,
    now: int | None,
    lattice: Lattice = DEFAULT_LATTICE,
    leaves: Sequence[bytes] | None = None,
    output_hash: str | None = None,
    tombstoned: Collection[str] = (),
) -> VerifiedReceipt:
    """Verify a receipt as received, in any strict spelling. `now`: epoch seconds; None leaves the times unchecked.

    `leaves`: all source leaves, in order; they re-derive root, count, ceiling and retention. `output_hash`: of the
    artifact in hand. `tombstoned`: digests of items, artifacts or receipts that were purged. Raises Rejected.
    """
    document: dict[str, Any] = read_object(body)
    values = from_wire(RECEIPT, document)
    ceiling = values["ceiling"]
    if not is_label_name(ceiling) or not lattice.knows(ceiling):
        raise rejected(Reason.BAD_LABEL, "the ceiling is not a label of the lattice; handle the artifact as the top")
    check_signature(document, keys=keys, verify_signature=verify_signature)
    if now is not None:
        _check_times(values, now)
    items = None if leaves is None else _check_leaves(values, leaves, lattice)
    if output_hash is not None and output_hash != values["output_hash"]:
        raise rejected(Reason.OUTPUT_MISMATCH, "the receipt is about another output")
    receipt = _receipt(document, values)
    _check_tombstones(receipt, items or (), tombstoned)
    return VerifiedReceipt(receipt, items, output_checked=output_hash is not None)


def read_for_rule(
    body: bytes,
    *,
    cited_digest: str,
    keys: Keys,
    verify_signature: VerifySignature,
    now: int,
    lattice: Lattice = DEFAULT_LATTICE,
    tombstoned: Collection[str] = (),
) -> RuleEvidence:
    """Ceiling and epoch for the evaluation of a rule, from the receipt's own verified bytes and nothing else.

    `cited_digest`: by which the verdict record cites the receipt. Raises Rejected; then ask `ceiling_or_top`.
    """
    found = verify(
        body, keys=keys, verify_signature=verify_signature, now=now, lattice=lattice, tombstoned=tombstoned
    ).receipt
    if found.digest != cited_digest:
        raise rejected(Reason.BAD_HASH, "these are not the bytes that were cited")
    return RuleEvidence(found.ceiling, found.purge_epoch, found.digest)


def ceiling_or_top(
    body: bytes, *, keys: Keys, verify_signature: VerifySignature, now: int, lattice: Lattice = DEFAULT_LATTICE
) -> str:
    """The label to handle an artifact under: its receipt's ceiling, or the top when the receipt is rejected."""
    try:
        found = verify(body, keys=keys, verify_signature=verify_signature, now=now, lattice=lattice)
    except Rejected:
        return lattice.top  # failing closed is the answer here (ECCR parser invariant 3)
    return found.receipt.ceiling


def event_data(receipt: Receipt) -> dict[str, Any]:
    """What a RECEIPT_ISSUED record of the audit chain says of a receipt: enough to find it, nothing of its content."""
    data = {"receipt": receipt.digest, "source_item_count": receipt.count, "ceiling": receipt.ceiling}
    return data if receipt.supersedes is None else {**data, "supersedes": receipt.supersedes}


def _digest(body: bytes) -> str:
    return "sha256:" + sha256(body).hexdigest()


def _receipt(document: Mapping[str, Any], values: Mapping[str, Any]) -> Receipt:
    canonical = canonicalize(document)
    fields = {role: value for role, value in values.items() if role not in ("alg", "signature")}
    return Receipt(**fields, body=canonical, digest=_digest(canonical))


def _refuse_malformed(values: Mapping[str, Any]) -> None:
    """Never sign what no verifier would accept."""
    if not all(is_hash(values[role]) for role in ("output_hash", "kid")):
        raise ValueError("output hash and kid are sha256: and 64 lower-case hex digits")
    if values["supersedes"] is not None and not is_hash(values["supersedes"]):
        raise ValueError("a superseded receipt is cited as sha256: and 64 lower-case hex digits")
    if not all(is_integer(values[role]) for role in ("purge_epoch", "issued_at")):
        raise ValueError("times are integers of epoch seconds within [1, 2^53 - 1]")


def _check_times(values: Mapping[str, Any], now: int) -> None:
    if values["issued_at"] > now + MAX_SKEW:
        raise rejected(Reason.CLOCK_SKEW, f"issued more than {MAX_SKEW} s in the future")
    if now >= values["purge_epoch"]:
        raise rejected(Reason.EXPIRED, "the retention epoch has passed: what it describes must be gone")


def _check_leaves(values: Mapping[str, Any], leaves: Sequence[bytes], lattice: Lattice) -> tuple[Item, ...]:
    """Re-derive everything the receipt says of its sources (ECCR rules 1 and 3, parser invariant 4)."""
    if len(leaves) != values["count"]:
        raise rejected(Reason.COUNT_MISMATCH, f"{len(leaves)} leaves; the receipt counts {values['count']}")
    parsed = [parse_leaf(leaf) for leaf in leaves]
    if "sha256:" + merkle.root(canonical for _, canonical in parsed).hex() != values["root"]:
        raise rejected(Reason.ROOT_MISMATCH, "the leaves are not those the receipt was issued over")
    items = tuple(item for item, _ in parsed)
    if lattice.join(item.sensitivity for item in items) != values["ceiling"]:
        raise rejected(Reason.CEILING_MISMATCH, "the ceiling is not the least upper bound of the sources' labels")
    if values["purge_epoch"] > min(item.expires_at for item in items):
        raise rejected(Reason.RETENTION_EXCEEDED, "the retention epoch is later than the earliest expiry of a source")
    return items


def _check_tombstones(receipt: Receipt, items: Sequence[Item], tombstoned: Collection[str]) -> None:
    """ECCR rule 2: nothing built on a purged item is valid."""
    named = (receipt.digest, receipt.output_hash, *(item.digest for item in items))
    if tombstoned and any(digest in tombstoned for digest in named):
        raise rejected(Reason.TOMBSTONED, "it is built on something that was purged")
