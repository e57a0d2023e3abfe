"""The ECCR wire profile: which members a receipt and a leaf have, and what each must look like. Data, and its checks.

The draft's own figure is not public yet. When it is, the tables here change and nothing else does: everywhere else
a member goes by its role. See docs/proof.md for what is the draft's and what is this profile's.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from crp_mcp.proof.canonical import canonicalize
from crp_mcp.proof.merkle import EMPTY_ROOT
from crp_mcp.proof.reasons import Reason, rejected
from crp_mcp.proof.strict_json import MAX_INTEGER

ALGORITHM = "Ed25519"
MEDIA_TYPE = "application/agent-lineage-eccr+json"
HEADER = "Agent-Memory-Lineage-Receipt"
SIGNATURE_BYTES = 64

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_EMPTY_HASH = "sha256:" + EMPTY_ROOT.hex()


class Form(StrEnum):
    """What the value of a member must look like, before anything else is asked of it."""

    HASH = "hash"
    ROOT = "root"
    INTEGER = "integer"
    LABEL = "label"
    ITEM_LABEL = "item label"
    KID = "kid"
    ALGORITHM = "algorithm"
    SIGNATURE = "signature"


@dataclass(frozen=True, slots=True)
class Member:
    """One member: its role in the code, its name on the wire, its form."""

    role: str
    name: str
    form: Form
    required: bool = True


RECEIPT: tuple[Member, ...] = (
    # `alg` stands first: what a signature is must be known before anything signed is looked at.
    Member("alg", "alg", Form.ALGORITHM),
    Member("root", "source_items_merkle_root", Form.ROOT),
    Member("count", "source_item_count", Form.INTEGER),
    Member("ceiling", "inherited_sensitivity_ceiling", Form.LABEL),
    Member("output_hash", "compacted_output_hash", Form.HASH),
    Member("purge_epoch", "retention_purge_epoch", Form.INTEGER),
    Member("issued_at", "issued_at", Form.INTEGER),
    Member("supersedes", "supersedes", Form.HASH, required=False),
    Member("kid", "kid", Form.KID),
    Member("signature", "signature", Form.SIGNATURE),
)
LEAF: tuple[Member, ...] = (
    Member("digest", "item_digest", Form.HASH),
    Member("sensitivity", "sensitivity", Form.ITEM_LABEL),
    Member("expires_at", "expires_at", Form.INTEGER),
)
SIGNATURE_NAME = next(member.name for member in RECEIPT if member.form is Form.SIGNATURE)


def to_wire(table: tuple[Member, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    """Wire members of the given roles; a role that is absent or None is left out."""
    return {member.name: values[member.role] for member in table if values.get(member.role) is not None}


def from_wire(table: tuple[Member, ...], document: Mapping[str, Any]) -> dict[str, Any]:
    """Values by role, each of its form. Optional members that are absent are None.

    Raises Rejected: MISSING_MEMBER, UNKNOWN_MEMBER, or the reason of the first member that is malformed.
    """
    for member in table:
        if member.required and member.name not in document:
            raise rejected(Reason.MISSING_MEMBER, f"no member {member.name}")
    values = {member.role: document.get(member.name) for member in table}
    present = sum(member.name in document for member in table)
    if present != len(document):
        raise rejected(Reason.UNKNOWN_MEMBER, f"{len(document) - present} members the profile does not know")
    for member in table:
        if member.name in document:
            _check(member, document[member.name])
    return values


def is_hash(value: object) -> bool:
    """Whether this is `sha256:` and 64 lower-case hex digits, and nothing else (ECCR parser invariant 4)."""
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def is_integer(value: object) -> bool:
    """Whether this is an exact integer within [1, 2^53 - 1] and no boolean (ECCR parser invariant 2)."""
    return type(value) is int and 1 <= value <= MAX_INTEGER


def encode_signature(signature: bytes) -> str:
    """base64url without padding (RFC 4648 §5)."""
    return base64.urlsafe_b64encode(signature).rstrip(b"=").decode("ascii")


def decode_signature(text: object) -> bytes | None:
    """The 64 bytes, or None for anything that is not their one spelling."""
    if not isinstance(text, str) or not text.isascii():
        return None
    try:
        signature = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    return signature if len(signature) == SIGNATURE_BYTES and encode_signature(signature) == text else None


def signed_bytes(document: Mapping[str, Any]) -> bytes:
    """What a signature is over: the canonical bytes of everything but the signature."""
    return canonicalize({name: value for name, value in document.items() if name != SIGNATURE_NAME})


def _check(member: Member, value: object) -> None:
    refusal = _refusal(member.form, value)
    if refusal is not None:
        raise rejected(refusal, f"member {member.name} is not a well-formed {member.form.value}")


def _refusal(form: Form, value: object) -> Reason | None:
    """The reason why `value` is not of this form; None if it is."""
    match form:
        case Form.HASH:
            return None if is_hash(value) else Reason.BAD_HASH
        case Form.ROOT:
            # A count is at least 1, so the root of no leaves can never be right.
            return None if is_hash(value) and value != _EMPTY_HASH else Reason.BAD_HASH
        case Form.INTEGER:
            return None if is_integer(value) else Reason.BAD_INTEGER
        case Form.LABEL | Form.ITEM_LABEL:
            # Which labels exist is the lattice's to say: on a receipt an unknown one rejects, on an item it is the top.
            return None if isinstance(value, str) else Reason.BAD_LABEL
        case Form.ALGORITHM:
            return None if value == ALGORITHM else Reason.BAD_ALGORITHM
        case Form.KID:
            return None if is_hash(value) else Reason.UNKNOWN_KEY
        case Form.SIGNATURE:
            return None if decode_signature(value) is not None else Reason.BAD_SIGNATURE
