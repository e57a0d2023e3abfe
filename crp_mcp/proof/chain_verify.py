"""Verify an audit chain over the bytes as they are stored. Keys and checkpoints are passed in; nothing is repaired.

Strategy: one pass, constant memory. Canonical bytes have one order of members, so what links a record (seq, prev,
session) stands in a fixed tail that one anchored pattern reads; nothing is parsed or canonicalised again. A fault
never stops the walk: it goes on from what is stored, so that each fault is named where it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any

from crp_mcp.errors import Rejected
from crp_mcp.proof.chain import EMPTY_CHAIN, Checkpoint, Head, read_checkpoint
from crp_mcp.proof.signed import Keys, VerifySignature
from crp_mcp.proof.strict_json import read

MacKeys = Callable[[str], Sequence[bytes]]
"""session id -> the keys its records may be under, the likeliest first; none where it is not known."""

MAX_FAULTS = 100
_DATA_START = b'{"data":{'
_TAIL_START = b',"event_type":"'
_TAIL = re.compile(
    rb',"event_type":"[A-Z_]+","prev":"(|sha256:[0-9a-f]{64})","seq":([1-9][0-9]{0,15}),'
    rb'"session_id":"((?:[^"\\]|\\.)*+)","timestamp":"[0-9TZ:.+-]+","turn_id":(?:null|-?[0-9]+),"v":1\}'
)


class Verdict(StrEnum):
    VALID = "VALID"
    """Everything asked for was checked and fits."""
    PARTIAL = "PARTIAL"
    """What could be checked fits; the note says what could not."""
    UNVERIFIED = "UNVERIFIED"
    """There was nothing to check against: no secret, no trusted checkpoint."""
    BROKEN = "BROKEN"
    """Something was changed, removed, inserted or signed by another; the faults say where."""


class FaultKind(StrEnum):
    FORM = "FORM"
    HASH = "HASH"
    MAC = "MAC"
    LINK = "LINK"
    MISSING = "MISSING"
    ORDER = "ORDER"
    TAIL = "TAIL"
    CHECKPOINT = "CHECKPOINT"
    GAP = "GAP"
    EXPORT = "EXPORT"
    RECEIPT = "RECEIPT"
    ENTRY = "ENTRY"
    PAYLOAD = "PAYLOAD"
    FACT = "FACT"
    ERASURE = "ERASURE"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that does not fit, located: in the records `first` to `last`, both included, and of which item."""

    kind: FaultKind
    first: int
    last: int
    message: str
    item: str = ""
    """The id of what does not fit, where that is no record."""


@dataclass(frozen=True, slots=True)
class ChainVerdict:
    """What a walk found."""

    verdict: Verdict
    records: int
    head: Head
    """The last record seen."""
    sealed: int
    """The last record a trusted checkpoint vouches for; 0 for none."""
    macs_checked: int
    faults: tuple[Fault, ...]
    note: str
    """One sentence for a person."""


def verify_chain(
    records: Iterable[tuple[int, bytes, str, str]],
    *,
    checkpoints: Iterable[bytes] = (),
    keys: Keys | None = None,
    verify_signature: VerifySignature | None = None,
    mac_keys: MacKeys | None = None,
    session: str | None = None,
    start: Head | None = EMPTY_CHAIN,
    expected_head: Head | None = None,
) -> ChainVerdict:
    """Walk `records` (seq, body, hash, mac) in order of seq. Never raises for what is in them.

    `checkpoints`: signed bodies, the store's own and any kept elsewhere, believed if signed by one of `keys`.
    `mac_keys`: for who holds the secret; with `session`, only that conversation's MACs are asked for.
    `start`: after which head the records begin; None for an extract that begins anywhere (PARTIAL at best).
    `expected_head`: where the chain must end, if that is known.
    """
    walk = _Walk(mac_keys, session, start)
    walk.marks = _read_marks(checkpoints, keys or {}, verify_signature, walk)
    for seq, body, stored_hash, mac in records:
        walk.step(seq, body, stored_hash, mac)
    return walk.finish(expected_head)


def _read_marks(
    bodies: Iterable[bytes], keys: Keys, verify_signature: VerifySignature | None, walk: _Walk
) -> dict[int, list[Checkpoint]]:
    """Trusted checkpoints by seq; one that does not verify is a fault, unless no key is trusted at all."""
    marks: dict[int, list[Checkpoint]] = {}
    if verify_signature is None or not keys:
        return marks
    for number, body in enumerate(bodies, 1):
        try:
            mark = read_checkpoint(body, keys=keys, verify_signature=verify_signature)
        except Rejected as refusal:
            walk.fault(FaultKind.CHECKPOINT, 0, 0, f"checkpoint {number} does not verify: {refusal}")
        else:
            marks.setdefault(mark.seq, []).append(mark)
    return marks


class _Walk:
    """The state of one walk: what was last seen, and what was found."""

    __slots__ = (
        "_cache", "_mac_keys", "_session", "begun", "count", "faults", "first", "gap_open", "last", "macs",
        "macs_failed", "macs_missing", "marks", "prev", "sealed",
    )  # fmt: skip

    def __init__(self, mac_keys: MacKeys | None, session: str | None, start: Head | None) -> None:
        self._mac_keys = mac_keys
        self._session = session
        self._cache: dict[bytes, list[tuple[Any, Any]] | None] = {}
        self.begun = start is not None
        self.first = self.last = start.seq if start else 0
        self.prev: tuple[str, ...] = (start.hash,) if start else ()
        """Hashes the next record may name; none: whatever it names."""
        self.marks: Mapping[int, list[Checkpoint]] = {}
        self.sealed = self.count = self.macs = self.macs_failed = self.macs_missing = 0
        self.gap_open = False
        self.faults: list[Fault] = []

    def fault(self, kind: FaultKind, first: int, last: int, message: str) -> None:
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(Fault(kind, first, last, message))

    def step(self, seq: int, body: bytes, stored_hash: str, mac: str) -> None:
        """Check one record against what came before it."""
        self.count += 1
        if type(body) is not bytes or type(seq) is not int:  # a foreign hand in the store can put anything there
            self.fault(FaultKind.FORM, self.last + 1, self.last + 1, f"what follows record {self.last} is no record")
            return
        digest = "sha256:" + sha256(body).hexdigest()
        if digest != stored_hash:
            self.fault(FaultKind.HASH, seq, seq, f"record {seq} was changed: its bytes do not have its hash")
        at = body.rfind(_TAIL_START)
        tail = _TAIL.fullmatch(body, at) if at > 0 and body.startswith(_DATA_START) else None
        if tail is None or int(tail[2]) != seq:
            self.fault(FaultKind.FORM, seq, seq, f"record {seq} is not a record of this number")
            self._follow(seq, None, digest, stored_hash)
            return
        prev = tail[1].decode("ascii")
        if seq == self.last + 1 and (prev,) == self.prev and digest == stored_hash:
            self.last, self.prev = seq, (digest,)  # the common case of _follow, without the call
        else:
            self._follow(seq, prev, digest, stored_hash)
        self._check_mac(seq, tail[3], body, mac)
        if seq in self.marks:
            self._check_marks(seq, digest, stored_hash)

    def _follow(self, seq: int, prev: str | None, digest: str, stored_hash: str) -> None:
        """Order and link. A record out of order does not move the walk."""
        if seq <= self.last and self.begun:
            self.fault(FaultKind.ORDER, seq, seq, f"record {seq} stands after record {self.last}: inserted or swapped")
            return
        if not self.begun:
            self.begun, self.first, self.last, self.prev = True, seq - 1, seq - 1, ()
        if seq != self.last + 1:
            self.fault(FaultKind.MISSING, self.last + 1, seq - 1, f"records {self.last + 1} to {seq - 1} are missing")
        elif digest == stored_hash and prev is not None and self.prev and prev not in self.prev:
            message = f"record {seq} does not follow record {self.last}: one of the two was replaced"
            self.fault(FaultKind.LINK, max(self.last, 1), seq, message)
        self.last = seq
        # After a change either hash may be the one the next record was linked to.
        self.prev = (stored_hash,) if digest == stored_hash else (stored_hash, digest)

    def _check_mac(self, seq: int, raw_session: bytes, body: bytes, mac: str) -> None:
        if self._mac_keys is None:
            return
        if raw_session not in self._cache:
            try:
                self._cache[raw_session] = self._states(raw_session)
            except Rejected:
                self.fault(FaultKind.FORM, seq, seq, f"record {seq} names a conversation that is no text")
                return
        states = self._cache[raw_session]
        if states is None:
            return
        if not states:
            self.macs_missing += 1
            return
        self.macs += 1
        for inner, outer in states:
            inside, outside = inner.copy(), outer.copy()
            inside.update(body)
            outside.update(inside.digest())
            if outside.hexdigest() == mac:
                return
        self.macs_failed += 1
        self.fault(FaultKind.MAC, seq, seq, f"record {seq} was not written by who holds this key: its MAC does not fit")

    def _states(self, raw_session: bytes) -> list[tuple[Any, Any]] | None:
        """HMAC of RFC 2104 with both pads absorbed, per key; None for a conversation that was not asked about.

        Raises Rejected for one that cannot be read: it must not pass for one whose key is merely not known.
        """
        session = read(b'"' + raw_session + b'"')
        if self._session is not None and session != self._session:
            return None
        keys = self._mac_keys(str(session)) if self._mac_keys else ()
        return [(sha256(_pad(key, 0x36)), sha256(_pad(key, 0x5C))) for key in keys]

    def _check_marks(self, seq: int, digest: str, stored_hash: str) -> None:
        if all(mark.hash in (digest, stored_hash) for mark in self.marks[seq]):
            self.sealed, self.gap_open = max(self.sealed, seq), False
        elif not self.gap_open:
            # Everything after a rewritten record differs, so only the first checkpoint that differs locates it.
            self.gap_open = True
            after = max(self.sealed, self.first)
            message = f"records {after + 1} to {seq} are not those that were sealed by the checkpoint at {seq}"
            self.fault(FaultKind.GAP, after + 1, seq, message)

    def finish(self, expected_head: Head | None) -> ChainVerdict:
        """Check the end, and say what it all comes to."""
        vouched = max((seq for seq in self.marks), default=0)
        wanted = max(vouched, expected_head.seq if expected_head else 0)
        if wanted > self.last:
            self.fault(
                FaultKind.TAIL, self.last + 1, wanted, f"records {self.last + 1} to {wanted} were cut off the end"
            )
        elif expected_head and expected_head.seq < self.last:
            message = f"the chain should end at {expected_head.seq} but goes on to {self.last}"
            self.fault(FaultKind.TAIL, expected_head.seq + 1, self.last, message)
        elif expected_head and self.count and expected_head.hash not in self.prev:
            self.fault(
                FaultKind.LINK, self.last, self.last, f"record {self.last} is not the one the chain should end with"
            )
        self.faults.sort(key=lambda fault: (fault.last, -fault.first))  # the narrowest of those that end together first
        faults = tuple(self.faults)
        verdict, note = self._judge(expected_head)
        end = Head(self.last, self.prev[-1]) if self.prev else EMPTY_CHAIN
        return ChainVerdict(verdict, self.count, end, self.sealed, self.macs, faults, note)

    def _judge(self, expected_head: Head | None) -> tuple[Verdict, str]:
        if self.faults:
            if self.macs and self.macs_failed == self.macs and all(f.kind is FaultKind.MAC for f in self.faults):
                return Verdict.BROKEN, "No MAC fits: this is not the key the chain was written with."
            return Verdict.BROKEN, f"The chain is broken: {self.faults[0].message}."
        if not self.count:
            if expected_head is not None:
                return Verdict.VALID, "The chain is empty, as it should be."
            return Verdict.UNVERIFIED, "There are no records."
        if self.first:
            return Verdict.PARTIAL, f"What is here fits; records 1 to {self.first} are not here."
        if self.sealed == self.last:
            return Verdict.VALID, f"All {self.last} records are vouched for by a signed checkpoint."
        if self.macs and not self.macs_missing:
            return Verdict.VALID, f"All {self.last} records are linked, and every MAC asked for fits."
        if self.sealed or self.macs:
            rest = "their MACs could not be checked" if self.macs_missing else "no checkpoint vouches for the rest"
            return Verdict.PARTIAL, f"The chain fits up to record {self.last}, sealed up to {self.sealed}; {rest}."
        return Verdict.UNVERIFIED, "The records fit together, but there is neither a secret nor a trusted checkpoint."


def _pad(key: bytes, value: int) -> bytes:
    block = key if len(key) <= 64 else sha256(key).digest()
    return bytes(byte ^ value for byte in block.ljust(64, b"\x00"))
