"""Small signed statements other than receipts: rejections, tombstones, checkpoints, seals.

One form for all: the RFC 8785 bytes of `{type, v, …, kid, alg, signature}`, the signature over everything else.
`type` keeps one kind from passing for another, and no receipt has it. Keys and signing are passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from crp_mcp.proof.canonical import canonicalize
from crp_mcp.proof.reasons import Reason, rejected
from crp_mcp.proof.strict_json import read_object
from crp_mcp.proof.wire import (
    ALGORITHM,
    SIGNATURE_NAME,
    decode_signature,
    encode_signature,
    is_hash,
    is_integer,
    signed_bytes,
)

Sign = Callable[[bytes], bytes]
"""Ed25519 over the message: 64 bytes (RFC 8032)."""
VerifySignature = Callable[[bytes, bytes, bytes], bool]
"""(public key, signature, message) -> whether it fits. Never raises."""
Keys = Mapping[str, bytes]
"""kid -> raw public key, 32 bytes: whom the caller trusts."""

_VERSION = 1
_COMMON = {"type", "v", "kid", "alg", SIGNATURE_NAME}


def key_id(public_key: bytes) -> str:
    """`kid`: "sha256:" and the hex SHA-256 of the raw public key."""
    return "sha256:" + sha256(public_key).hexdigest()


def check_signature(document: Mapping[str, Any], *, keys: Keys, verify_signature: VerifySignature) -> None:
    """Check the Ed25519 signature of a read document. Raises Rejected: BAD_ALGORITHM, UNKNOWN_KEY, BAD_SIGNATURE."""
    if document.get("alg") != ALGORITHM:
        raise rejected(Reason.BAD_ALGORITHM, "the only algorithm is Ed25519")
    kid = document.get("kid")
    public_key = keys.get(kid) if isinstance(kid, str) else None
    if public_key is None or key_id(public_key) != kid:
        raise rejected(Reason.UNKNOWN_KEY, "signed with a key that is not among the trusted ones")
    signature = decode_signature(document.get(SIGNATURE_NAME))
    if signature is None or not verify_signature(public_key, signature, signed_bytes(document)):
        raise rejected(Reason.BAD_SIGNATURE, "the signature does not fit the content")


def sign_document(document: Mapping[str, Any], *, sign: Sign) -> bytes:
    """The canonical bytes of `document` with its signature added."""
    return canonicalize({**document, SIGNATURE_NAME: encode_signature(sign(canonicalize(document)))})


def sign_statement(kind: str, fields: Mapping[str, Any], *, kid: str, sign: Sign) -> bytes:
    """Sign `fields` as a statement of type `kind`. Raises ValueError if they have no canonical form."""
    return sign_document({**fields, "type": kind, "v": _VERSION, "kid": kid, "alg": ALGORITHM}, sign=sign)


def read_statement(
    body: bytes, kind: str, names: frozenset[str], *, keys: Keys, verify_signature: VerifySignature
) -> dict[str, Any]:
    """Verify a statement and return its own fields. Raises Rejected; nothing unsigned is ever returned."""
    document: dict[str, Any] = read_object(body)
    missing = (names | _COMMON) - document.keys()
    if missing:
        raise rejected(Reason.MISSING_MEMBER, f"{len(missing)} members missing in a statement of type {kind}")
    if len(document) != len(names) + len(_COMMON):
        raise rejected(Reason.UNKNOWN_MEMBER, f"members a statement of type {kind} does not have")
    if document["type"] != kind or document["v"] is True or document["v"] != _VERSION:
        raise rejected(Reason.UNKNOWN_MEMBER, f"not a statement of type {kind}, version {_VERSION}")
    check_signature(document, keys=keys, verify_signature=verify_signature)
    return {name: document[name] for name in names}


@dataclass(frozen=True, slots=True)
class Rejection:
    """A verifier's word that it refused something: never the input, only its digest."""

    reason: str
    received_hash: str
    at: int
    """When it was refused, epoch seconds."""
    kid: str
    """The verifier's key, not the refused document's."""
    body: bytes


_REJECTION = "eccr-rejection"
_REJECTION_NAMES = frozenset({"reason", "received_hash", "time"})


def reject_record(reason: str, received: bytes, *, at: int, kid: str, sign: Sign) -> Rejection:
    """The signed rejection record of one refused input (ECCR, Security Considerations).

    `reason` is the code of the Rejected that was caught. Raises ValueError for a code that does not exist.
    """
    code = Reason(reason).value
    received_hash = "sha256:" + sha256(received).hexdigest()
    fields = {"reason": code, "received_hash": received_hash, "time": at}
    return Rejection(code, received_hash, at, kid, sign_statement(_REJECTION, fields, kid=kid, sign=sign))


def verify_rejection(body: bytes, *, keys: Keys, verify_signature: VerifySignature) -> Rejection:
    """Read a rejection record back. Raises Rejected."""
    fields = read_statement(body, _REJECTION, _REJECTION_NAMES, keys=keys, verify_signature=verify_signature)
    if fields["reason"] not in Reason.__members__:
        raise rejected(Reason.UNKNOWN_MEMBER, "a reason code that does not exist")
    _check_fields(fields, hashes=("received_hash",))
    return Rejection(fields["reason"], fields["received_hash"], fields["time"], _kid(body), body)


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The signed word that an item must be gone: what receipts over it are measured against."""

    item_digest: str
    at: int
    """When the erasure was ordered, epoch seconds."""
    kid: str
    body: bytes


_TOMBSTONE = "eccr-tombstone"
_TOMBSTONE_NAMES = frozenset({"item_digest", "time"})


def sign_tombstone(item_digest: str, *, at: int, kid: str, sign: Sign) -> Tombstone:
    """Order the erasure of one item, named by its (salted) digest. Raises ValueError for a malformed digest."""
    if not is_hash(item_digest):
        raise ValueError("an item digest is sha256: and 64 lower-case hex digits")
    fields = {"item_digest": item_digest, "time": at}
    return Tombstone(item_digest, at, kid, sign_statement(_TOMBSTONE, fields, kid=kid, sign=sign))


def verify_tombstone(body: bytes, *, keys: Keys, verify_signature: VerifySignature) -> Tombstone:
    """Read a tombstone back. Raises Rejected."""
    fields = read_statement(body, _TOMBSTONE, _TOMBSTONE_NAMES, keys=keys, verify_signature=verify_signature)
    _check_fields(fields, hashes=("item_digest",))
    return Tombstone(fields["item_digest"], fields["time"], _kid(body), body)


def _check_fields(fields: Mapping[str, Any], *, hashes: tuple[str, ...]) -> None:
    if not all(is_hash(fields[name]) for name in hashes):
        raise rejected(Reason.BAD_HASH, "a hash of the statement is malformed")
    if not is_integer(fields["time"]):
        raise rejected(Reason.BAD_INTEGER, "the time of the statement is not an exact integer in range")


def _kid(body: bytes) -> str:
    return str(read_object(body)["kid"])
