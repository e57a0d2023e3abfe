"""Seals what is stored: audit records linked to the head, and a signed receipt for every compaction.

Called inside the store's write transaction, so it signs and hashes, and touches nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

from crp_mcp.core.model import Entry
from crp_mcp.proof import chain
from crp_mcp.proof.canonical import canonicalize
from crp_mcp.proof.chain import Record, link, salted_digest, salted_hash
from crp_mcp.proof.eccr import Item, Receipt, issue, leaf_bytes
from crp_mcp.proof.lattice import Lattice
from crp_mcp.store import Head, Leaf, Sealed, SealedReceipt


class Signer(Protocol):
    """The part of a keyring that sealing needs."""

    @property
    def kid(self) -> str: ...
    def sign(self, message: bytes) -> bytes: ...
    def mac_key(self, session_id: str) -> bytes: ...


def item_of(entry: Entry, salt: bytes) -> Item:
    """The entry as a source of a compaction."""
    return Item(salted_digest(salt, entry.provenance_hash), entry.label, entry.expires_at)


class Sealer:
    """Makes the records and receipts of one store with one keyring."""

    def __init__(self, signer: Signer, lattice: Lattice) -> None:
        self._signer = signer
        self._lattice = lattice

    def capture(self, head: Head, entry: Entry, *, salt: bytes, arguments: bytes, sent: str | None) -> Sealed:
        """The record of the call, the receipt for what the host gets in its place, and the record of that.

        `sent` is the summary; None where the result goes on untouched: its receipt is then over the salted digest
        of the payload itself, since nothing was compacted.
        """
        item = item_of(entry, salt)
        output = item.digest if sent is None else "sha256:" + hashlib.sha256(sent.encode()).hexdigest()
        receipt = self._issue([item], output, entry.created_at, None)
        called = {
            "scratch_id": entry.scratch_id,
            "tool_name": entry.tool_name,
            "input_hash": salted_hash(salt, arguments),
            "output_hash": item.digest,
        }
        issued = {"scratch_id": entry.scratch_id, "receipt": receipt.digest}
        records = self._link(head, entry, entry.created_at, ("TOOL_CALL", called), ("RECEIPT_ISSUED", issued))
        leaf = Leaf(leaf_bytes(item, self._lattice), entry.scratch_id)
        return Sealed(records, SealedReceipt(receipt.digest, receipt.body, (leaf,)))

    def summary(self, head: Head, entry: Entry, *, salt: bytes, summary: str, now: float) -> Sealed:
        """The receipt for a summary made after the capture; it supersedes the entry's first one."""
        item = item_of(entry, salt)
        output = "sha256:" + hashlib.sha256(summary.encode()).hexdigest()
        receipt = self._issue([item], output, now, entry.receipt)
        issued = {"scratch_id": entry.scratch_id, "receipt": receipt.digest, "supersedes": entry.receipt}
        leaf = Leaf(leaf_bytes(item, self._lattice), entry.scratch_id)
        sealed = SealedReceipt(receipt.digest, receipt.body, (leaf,), entry.receipt)
        return Sealed(self._link(head, entry, now, ("RECEIPT_ISSUED", issued)), sealed)

    def event(self, head: Head, entry: Entry, event: str, data: Mapping[str, Any], now: float) -> Sealed:
        """One audit record about an entry."""
        return Sealed(self._link(head, entry, now, (event, {"scratch_id": entry.scratch_id, **data})))

    def _issue(self, items: list[Item], output_hash: str, now: float, supersedes: str | None) -> Receipt:
        return issue(
            items,
            output_hash=output_hash,
            issued_at=int(now),
            kid=self._signer.kid,
            sign=self._signer.sign,
            lattice=self._lattice,
            supersedes=supersedes,
        )

    def _link(self, head: Head, entry: Entry, now: float, *events: tuple[str, Mapping[str, Any]]) -> list[Record]:
        session = entry.scope.conversation
        key = self._signer.mac_key(session)
        records: list[Record] = []
        end = chain.Head(head.seq, head.hash)
        for event, data in events:
            record = link(
                end, event_type=event, timestamp=now, session_id=session, turn_id=entry.turn_id, data=data, mac_key=key
            )
            records.append(record)
            end = record.head
        return records


def canonical_arguments(arguments: Mapping[str, Any], raw: bytes) -> bytes:
    """Arguments in one spelling, so that equal calls have equal digests; as received where they have no such form."""
    try:
        return canonicalize(arguments)
    except (ValueError, TypeError):
        return raw
