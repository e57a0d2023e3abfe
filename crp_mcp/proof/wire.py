"""The ECCR wire profile: which members a receipt and a leaf have, and what each must look like. Data, and its checks.

The draft's own figure is not public yet. When it is, the tables here change and nothing else does: everywhere else
a member goes by its role. See docs/proof.md for what is the draft's and what is this profile's.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """The members of one kind of document, in the order in which they are checked."""

    members: tuple[Member, ...]
    required: frozenset[str] = field(init=False)
    known: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "required", frozenset(m.name for m in self.members if m.required))
        object.__setattr__(self, "known", frozenset(m.name for m in self.members))


RECEIPT = Table(
    (
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
)
LEAF = Table(
    (
        Member("digest", "item_digest", Form.HASH),
        Member("sensitivity", "sensitivity", Form.LABEL),
        Member("expires_at", "expires_at", Form.INTEGER),
    )
)
SIGNATURE_NAME = next(member.name for member in RECEIPT.members if member.form is Form.SIGNATURE)


def to_wire(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """Wire members of the given roles; a role that is absent or None is left out."""
    return {member.name: values[member.role] for member in table.members if values.get(member.role) is not None}


def from_wire(table: Table, document: Mapping[str, Any]) -> dict[str, Any]:
    """Values by role, each of its form. Optional members that are absent are None.

    Raises Rejected: MISSING_MEMBER, UNKNOWN_MEMBER, or the reason of the first member that is malformed.
    """
    if not table.required <= document.keys():
        missing = next(member.name for member in table.members if member.required and member.name not in document)
        raise rejected(Reason.MISSING_MEMBER, f"no member {missing}")
    if not document.keys() <= table.known:
        raise rejected(Reason.UNKNOWN_MEMBER, f"{len(document.keys() - table.known)} members the profile does not know")
    values: dict[str, Any] = {}
    for member in table.members:
        value = values[member.role] = document.get(member.name)
        well_formed, reason = _FORMS[member.form]
        if not well_formed(value) and (member.required or member.name in document):
            raise rejected(reason, f"member {member.name} is not a well-formed {member.form.value}")
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


def _is_root(value: object) -> bool:
    # A count is at least 1, so the root of no leaves can never be right.
    return is_hash(value) and value != _EMPTY_HASH


def _is_text(value: object) -> bool:
    # Which labels exist is the lattice's to say: on a receipt an unknown one rejects, on an item it is the top.
    return isinstance(value, str)


_FORMS: dict[Form, tuple[Callable[[object], bool], Reason]] = {
    Form.HASH: (is_hash, Reason.BAD_HASH),
    Form.ROOT: (_is_root, Reason.BAD_HASH),
    Form.INTEGER: (is_integer, Reason.BAD_INTEGER),
    Form.LABEL: (_is_text, Reason.BAD_LABEL),
    Form.KID: (is_hash, Reason.UNKNOWN_KEY),
    Form.ALGORITHM: (lambda value: value == ALGORITHM, Reason.BAD_ALGORITHM),
    Form.SIGNATURE: (lambda value: decode_signature(value) is not None, Reason.BAD_SIGNATURE),
}
"""What a value of each form must be, and why it is refused if it is not."""
