"""The audit chain: linking records, sealing heads, salting digests. Verification is in chain_verify.

A record is the RFC 8785 bytes of `{v, seq, event_type, timestamp, session_id, turn_id, data, prev}`, kept verbatim;
its hash is SHA-256 over them, `prev` the hash of the one before, its MAC HMAC-SHA256 under the session's key.
Content is never in a record: only identifiers, counts and salted digests. Where records are kept is not known here.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple

from crp_mcp.proof.canonical import canonicalize
from crp_mcp.proof.reasons import Reason, rejected
from crp_mcp.proof.signed import Keys, Sign, VerifySignature, read_statement, sign_statement
from crp_mcp.proof.strict_json import read_object
from crp_mcp.proof.wire import is_hash, is_integer

RECORD_VERSION = 1
CHECKPOINT_EVERY = 1_000
"""Records after which a head is due for sealing, besides at exit and in every export."""
SALT_BYTES = 16


class Event(StrEnum):
    """What is recorded (SPEC-029 §6.3, §8)."""

    TOOL_CALL = "TOOL_CALL"
    PINNED = "PINNED"
    UNPINNED = "UNPINNED"
    EVICTED = "EVICTED"
    PROMOTED = "PROMOTED"
    STALE_USED = "STALE_USED"
    REINVOKED = "REINVOKED"
    SUBSTITUTED = "SUBSTITUTED"
    TOOL_CLAIM_CHECKED = "TOOL_CLAIM_CHECKED"
    DISTORTION_DETECTED = "DISTORTION_DETECTED"
    RECEIPT_ISSUED = "RECEIPT_ISSUED"
    RECEIPT_REJECTED = "RECEIPT_REJECTED"
    TOMBSTONED = "TOMBSTONED"
    WITHHELD = "WITHHELD"
    SCRATCH_FULL = "SCRATCH_FULL"
    POLICY_CHANGED = "POLICY_CHANGED"


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain. The empty chain ends at 0 with no hash."""

    seq: int = 0
    hash: str = ""


EMPTY_CHAIN = Head()


class Record(NamedTuple):
    """One link. A tuple, so that rows of a store can be verified as they come."""

    seq: int
    body: bytes
    hash: str
    mac: str

    @property
    def head(self) -> Head:
        """The chain's end once this record is its last."""
        return Head(self.seq, self.hash)


def link(
    head: Head,
    *,
    event_type: str,
    timestamp: float,
    session_id: str,
    turn_id: int | None,
    data: Mapping[str, Any],
    mac_key: bytes,
) -> Record:
    """The record that follows `head`. `timestamp`: epoch seconds, written as RFC 3339 UTC with milliseconds.

    `mac_key` is the session's own (keys.Keyring.mac_key). Raises ValueError for an event that does not exist, or data
    that has no canonical form.
    """
    document = {
        "v": RECORD_VERSION,
        "seq": head.seq + 1,
        "event_type": Event(event_type).value,
        "timestamp": rfc3339(timestamp),
        "session_id": session_id,
        "turn_id": turn_id,
        "data": dict(data),
        "prev": head.hash,
    }
    body = canonicalize(document)
    mac = hmac.digest(mac_key, body, "sha256").hex()
    return Record(head.seq + 1, body, "sha256:" + sha256(body).hexdigest(), mac)


def rfc3339(epoch: float) -> str:
    """Epoch seconds as `2026-12-01T09:30:00.125Z`."""
    return datetime.fromtimestamp(epoch, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def salted_digest(salt: bytes, digest: str) -> str:
    """The form in which a `sha256:` digest may stand in the chain or a leaf: SHA-256(salt ‖ raw digest).

    The salt (16 random bytes) is kept with the entry and destroyed with it: afterwards even a guess of the content
    cannot be confirmed. Raises ValueError for a salt or digest that is malformed.
    """
    if len(salt) != SALT_BYTES:
        raise ValueError(f"a salt is {SALT_BYTES} bytes")
    if not is_hash(digest):
        raise ValueError("a digest is sha256: and 64 lower-case hex digits")
    return "sha256:" + sha256(salt + bytes.fromhex(digest.removeprefix("sha256:"))).hexdigest()


def salted_hash(salt: bytes, content: bytes) -> str:
    """`salted_digest` of a content's SHA-256. Raises ValueError for a salt of the wrong length."""
    return salted_digest(salt, "sha256:" + sha256(content).hexdigest())


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A signed head: up to here, this is the chain; no secret is needed to check it."""

    seq: int
    hash: str
    time: int
    """When it was signed, epoch seconds."""
    kid: str
    body: bytes


_CHECKPOINT = "crp-checkpoint"
_CHECKPOINT_NAMES = frozenset({"seq", "hash", "time"})


def make_checkpoint(head: Head, *, time: int, kid: str, sign: Sign) -> Checkpoint:
    """Seal a head. Raises ValueError for the empty chain: there is nothing to vouch for."""
    if head.seq < 1 or not is_hash(head.hash):
        raise ValueError("only a chain that has records can be sealed")
    fields = {"seq": head.seq, "hash": head.hash, "time": time}
    return Checkpoint(head.seq, head.hash, time, kid, sign_statement(_CHECKPOINT, fields, kid=kid, sign=sign))


def read_checkpoint(body: bytes, *, keys: Keys, verify_signature: VerifySignature) -> Checkpoint:
    """Verify a checkpoint's own signature and form. Raises Rejected."""
    fields = read_statement(body, _CHECKPOINT, _CHECKPOINT_NAMES, keys=keys, verify_signature=verify_signature)
    if not is_integer(fields["seq"]) or not is_integer(fields["time"]):
        raise rejected(Reason.BAD_INTEGER, "a number of the checkpoint is not an exact integer in range")
    if not is_hash(fields["hash"]):
        raise rejected(Reason.BAD_HASH, "the hash of the checkpoint is malformed")
    return Checkpoint(fields["seq"], fields["hash"], fields["time"], str(read_object(body)["kid"]), body)
