"""Seals what is stored: audit records linked to the head, and a signed receipt for every compaction.

Called inside the store's write transaction, so it signs and hashes, and touches nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from crp_mcp.core.model import Entry, Scope
from crp_mcp.proof import chain
from crp_mcp.proof.canonical import canonicalize
from crp_mcp.proof.chain import CHECKPOINT_EVERY, Record, link, make_checkpoint, salted_digest, salted_hash
from crp_mcp.proof.eccr import Item, Receipt, event_data, issue
from crp_mcp.proof.lattice import Lattice
from crp_mcp.proof.signed import sign_tombstone
from crp_mcp.store import Head, Leaf, Sealed, SealedReceipt, StoredCheckpoint, Stub
from crp_mcp.store.fixed import fixed_of
from crp_mcp.store.limits import Evicted

from .leaving import Gone, Loose, Stone

Events = tuple[tuple[str, Mapping[str, Any]], ...]


class Signer(Protocol):
    """The part of a keyring that sealing needs."""

    @property
    def kid(self) -> str: ...
    def sign(self, message: bytes) -> bytes: ...
    def mac_key(self, session_id: str) -> bytes: ...


Held = TypeVar("Held", bound=Entry | Stub)


class Raise(Protocol):
    """Gives an entry, or what is left of one, with its label raised to its signed ceiling."""

    def __call__(self, entry: Held) -> Held: ...


@dataclass(frozen=True, slots=True)
class Source:
    """One thing an artifact was built on: its id (`scratch_…`) and the item its receipt has a leaf for."""

    id: str
    item: Item


def item_of(entry: Entry | Stub, salt: bytes) -> Item:
    """The entry, or what is left of it, as a source of a compaction."""
    return Item(salted_digest(salt, entry.provenance_hash or ""), str(entry.label), entry.expires_at)


def text_hash(text: str) -> str:
    """`sha256:` of a text that was put in place of something: what its receipt is about."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Sealer:
    """Makes the records and receipts of one store with one keyring. `linked`: whether it ever made a record.

    `raised`: an entry with its label raised to its signed ceiling (see ceilings); not for inside a transaction.
    """

    def __init__(self, signer: Signer, lattice: Lattice, raised: Raise = lambda entry: entry) -> None:
        self._signer = signer
        self.lattice = lattice
        self.linked = False
        self.raised = raised

    def capture(
        self,
        head: Head,
        entry: Entry,
        *,
        salt: bytes,
        arguments: bytes,
        sent: str | None,
        supersedes: str | None = None,
        now: float | None = None,
        more: Events = (),
    ) -> Sealed:
        """The record of the call, the receipt for what the host gets in its place, and the record of that.

        `sent` is the summary; None where the result goes on untouched: its receipt is then over the salted digest
        of the payload itself, since nothing was compacted. `supersedes`: the receipt of what this stands in for, after
        an erasure; `now`: when that is not the moment of the capture. `more`: further records of the same moment.
        """
        at = entry.created_at if now is None else now
        item = item_of(entry, salt)
        receipt = self._issue([item], item.digest if sent is None else text_hash(sent), at, supersedes)
        events = (*self._made(entry, item, salt, arguments, receipt), *more)
        leaf = Leaf(receipt.leaves[0], entry.scratch_id)
        return self._sealed(head, entry.scope.conversation, entry.turn_id, at, events, _stored(receipt, (leaf,)))

    def derived(
        self,
        head: Head,
        entry: Entry,
        *,
        salt: bytes,
        arguments: bytes,
        sources: Sequence[Source],
        sent: str | None,
        supersedes: str | None = None,
        now: float | None = None,
        more: Events = (),
    ) -> Sealed:
        """The same for an entry built on others: its receipt has a leaf for each source, in their order.

        The entry must carry the ceiling of the sources and expire with the earliest (`ceiling_of`): else ValueError.
        """
        items = [source.item for source in sources]
        label, expires_at = self.ceiling_of(items)
        if self.lattice.rank(entry.label) < self.lattice.rank(label) or entry.expires_at > expires_at:
            raise ValueError("a derived entry is labelled below its sources, or outlives one of them")
        at = entry.created_at if now is None else now
        own = item_of(entry, salt)
        receipt = self._issue(items, own.digest if sent is None else text_hash(sent), at, supersedes)
        events = (*self._made(entry, own, salt, arguments, receipt), *more)
        leaves = tuple(Leaf(leaf, source.id) for leaf, source in zip(receipt.leaves, sources, strict=True))
        return self._sealed(head, entry.scope.conversation, entry.turn_id, at, events, _stored(receipt, leaves))

    def ceiling_of(self, items: Sequence[Item]) -> tuple[str, int]:
        """Label and expiry of what is built on `items`: the least upper bound, the earliest epoch."""
        return self.lattice.join(item.sensitivity for item in items), min(item.expires_at for item in items)

    def summary(self, head: Head, entry: Entry, *, salt: bytes, summary: str, now: float) -> Sealed:
        """The receipt for a summary made after the capture; it supersedes the entry's first one."""
        return self._again(head, entry, text_hash(summary), salt, now)

    def extended(
        self, head: Head, entry: Entry, *, salt: bytes, event: str, data: Mapping[str, Any], now: float
    ) -> Sealed:
        """The record of an event that lengthened the entry's life, and a receipt that says the new epoch."""
        output = item_of(entry, salt).digest if entry.summary is None else text_hash(entry.summary)
        return self._again(head, entry, output, salt, now, (event, {"scratch_id": entry.scratch_id, **data}))

    def assembled(
        self,
        head: Head,
        scope: Scope,
        *,
        sources: Sequence[Source],
        output_hash: str,
        turn_id: int | None,
        now: float,
        first: Events = (),
        more: Mapping[str, Any] | None = None,
    ) -> tuple[Sealed, Receipt]:
        """Receipt and record of what was made from items and is not kept as an entry.

        `first`: records before it; `more`: what its own record says besides.
        """
        receipt = self._issue([source.item for source in sources], output_hash, now, None)
        leaves = tuple(Leaf(leaf, source.id) for leaf, source in zip(receipt.leaves, sources, strict=True))
        events: Events = (*first, ("RECEIPT_ISSUED", {**event_data(receipt), **(more or {})}))
        return self._sealed(head, scope.conversation, turn_id, now, events, _stored(receipt, leaves)), receipt

    def event(self, head: Head, entry: Entry, event: str, data: Mapping[str, Any], now: float) -> Sealed:
        """One audit record about an entry."""
        return self.note(head, entry.scope, event, {"scratch_id": entry.scratch_id, **data}, now, entry.turn_id)

    def events(self, head: Head, said: Sequence[tuple[str, Entry, Mapping[str, Any]]], now: float) -> Sealed:
        """Several records, each about an entry."""
        records: list[Record] = []
        end = chain.Head(head.seq, head.hash)
        for event, entry, data in said:
            events: Events = ((event, {"scratch_id": entry.scratch_id, **data}),)
            records += self._link(end, entry.scope.conversation, entry.turn_id, now, events)
            end = records[-1].head
        return Sealed(records, checkpoints=self._checkpoints(records, now))

    def evicted(self, head: Head, gone: Sequence[Evicted], reason: str, now: float) -> Sealed:
        """The records of evictions: each with a salted digest of what is left of the entry."""
        said = [(one.entry, {"reason": reason, "stub_hash": salted_hash(one.salt, one.left)}) for one in gone]
        return self.events(head, [("EVICTED", entry, data) for entry, data in said], now)

    def note(
        self, head: Head, scope: Scope, event: str, data: Mapping[str, Any], now: float, turn_id: int | None = None
    ) -> Sealed:
        """One audit record of a conversation."""
        return self._sealed(head, scope.conversation, turn_id, now, ((event, data),))

    def tombstone(self, gone: Gone, now: float) -> Stone:
        """The signed word that an item must be gone."""
        return Stone(
            gone, sign_tombstone(gone.digest, at=int(now), kid=self._signer.kid, sign=self._signer.sign).body, now
        )

    def tombstoned(
        self, head: Head, stones: Sequence[Stone], reason: str, now: float, loose: Sequence[Loose] = ()
    ) -> Sealed:
        """The records of an erasure, one an item."""
        records: list[Record] = []
        of_items = [(stone.gone.scope, stone.gone.turn_id, stone.data()) for stone in stones]
        for scope, turn_id, data in (*of_items, *((one.scope, None, one.data) for one in loose)):
            end = records[-1].head if records else chain.Head(head.seq, head.hash)
            events: Events = (("TOMBSTONED", {**data, "reason": reason}),)
            records += self._link(end, scope.conversation, turn_id, now, events)
        return Sealed(records, checkpoints=self._checkpoints(records, now))

    def checkpoint(self, head: Head, now: float) -> StoredCheckpoint:
        """A signed head. Raises ValueError for the empty chain."""
        sign, kid = self._signer.sign, self._signer.kid
        return StoredCheckpoint(head.seq, make_checkpoint(head, time=int(now), kid=kid, sign=sign).body, now)

    # -- inside

    def _made(self, entry: Entry, item: Item, salt: bytes, arguments: bytes, receipt: Receipt) -> Events:
        called = {
            "scratch_id": entry.scratch_id,
            "tool_name": entry.tool_name,
            "input_hash": salted_hash(salt, arguments),
            "output_hash": item.digest,
            "entry_hash": salted_hash(salt, fixed_of(entry, call_hash_of(entry.server, entry.tool_name, arguments))),
        }
        issued = {"scratch_id": entry.scratch_id, "receipt": receipt.digest}
        if receipt.supersedes is not None:
            issued["supersedes"] = receipt.supersedes
        return ("TOOL_CALL", called), ("RECEIPT_ISSUED", issued)

    def _again(
        self, head: Head, entry: Entry, output: str, salt: bytes, now: float, *first: tuple[str, Mapping[str, Any]]
    ) -> Sealed:
        item = item_of(entry, salt)
        receipt = self._issue([item], output, now, entry.receipt)
        issued = {"scratch_id": entry.scratch_id, "receipt": receipt.digest, "supersedes": entry.receipt}
        leaf = Leaf(receipt.leaves[0], entry.scratch_id)
        events: Events = (*first, ("RECEIPT_ISSUED", issued))
        return self._sealed(head, entry.scope.conversation, entry.turn_id, now, events, _stored(receipt, (leaf,)))

    def _issue(self, items: Sequence[Item], output_hash: str, now: float, supersedes: str | None) -> Receipt:
        return issue(
            items,
            output_hash=output_hash,
            issued_at=int(now),
            kid=self._signer.kid,
            sign=self._signer.sign,
            lattice=self.lattice,
            supersedes=supersedes,
        )

    def _sealed(
        self,
        head: Head,
        session: str,
        turn_id: int | None,
        now: float,
        events: Events,
        receipt: SealedReceipt | None = None,
    ) -> Sealed:
        records = self._link(chain.Head(head.seq, head.hash), session, turn_id, now, events)
        return Sealed(records, receipt, checkpoints=self._checkpoints(records, now))

    def _link(self, end: chain.Head, session: str, turn_id: int | None, now: float, events: Events) -> list[Record]:
        self.linked = True
        key = self._signer.mac_key(session)
        records: list[Record] = []
        for event, data in events:
            record = link(
                end, event_type=event, timestamp=now, session_id=session, turn_id=turn_id, data=data, mac_key=key
            )
            records.append(record)
            end = record.head
        return records

    def _checkpoints(self, records: Sequence[Record], now: float) -> tuple[StoredCheckpoint, ...]:
        due = [record for record in records if record.seq % CHECKPOINT_EVERY == 0]
        return tuple(self.checkpoint(record.head, now) for record in due)


def _stored(receipt: Receipt, leaves: tuple[Leaf, ...]) -> SealedReceipt:
    return SealedReceipt(receipt.digest, receipt.body, leaves, receipt.supersedes)


def call_hash_of(server: str, tool: str, arguments: bytes) -> bytes:
    """Digest of a call (its arguments as `canonical_arguments`): equal calls have equal ones."""
    return hashlib.sha256(f"{server}\0{tool}\0".encode("utf-8", "surrogatepass") + arguments).digest()


def canonical_arguments(arguments: Mapping[str, Any], raw: bytes) -> bytes:
    """Arguments in one spelling, so that equal calls have equal digests; as received where they have no such form."""
    try:
        return canonicalize(arguments)
    except (ValueError, TypeError):
        return raw
