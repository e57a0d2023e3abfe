"""Receipts of the store, looked up and verified. What does not verify is refused, with a signed record of that."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crp_mcp.core.model import Entry, Scope
from crp_mcp.errors import NotFound, Rejected
from crp_mcp.keys import Keyring
from crp_mcp.proof.eccr import VerifiedReceipt, verify
from crp_mcp.proof.signed import reject_record
from crp_mcp.store import SqliteStore, StoredReceipt, stones
from crp_mcp.store.stones import add_rejection

from .ceilings import Ceilings
from .sealing import Sealer


@dataclass(slots=True)
class Receipts:
    """Looks up, verifies, refuses. One for a store and its keyring."""

    store: SqliteStore
    keyring: Keyring
    sealer: Sealer
    now: Callable[[], float]
    ceilings: Ceilings

    def find(self, scope: Scope | None, reference: str) -> StoredReceipt:
        """A receipt by its digest, or the one of an entry by its id or name (`scope` needed). Raises NotFound."""
        if reference.startswith("sha256:"):
            return self.store.receipt(scope, reference)
        scopes = [scope] if scope is not None else self.store.spaces()
        for one in scopes:
            try:
                found = self.store.get(one, reference)
            except NotFound:
                continue
            digest = getattr(found, "receipt", None)
            if digest is None:
                raise NotFound(f"{reference} has no receipt: it is gone")
            return self.store.receipt(one, digest)
        raise NotFound(f"no entry or receipt {reference!r} here")

    def described(self, scope: Scope | None, reference: str) -> Entry | None:
        """The entry of an id or name, as it is kept: what its receipt must agree with. None for a digest."""
        for one in () if reference.startswith("sha256:") else self.store.spaces() if scope is None else (scope,):
            try:
                found = self.store.get(one, reference)
            except NotFound:
                continue
            return found if isinstance(found, Entry) else None
        return None

    def verify(
        self, body: bytes, *, scope: Scope, leaves: Sequence[bytes] | None = None, output_hash: str | None = None
    ) -> VerifiedReceipt:
        """Verify with the keys this store trusts and against what was erased here.

        Raises Rejected, after the refusal was recorded.
        """
        try:
            return self.check(body, leaves=leaves, output_hash=output_hash)
        except Rejected as refusal:
            self.refuse(body, refusal.code, scope)
            raise

    def verify_of(self, entry: Entry) -> StoredReceipt:
        """The receipt in force of an entry, which must say the same as the entry of output, label and epoch.

        Raises Rejected, after the refusal was recorded; NotFound.
        """
        if entry.receipt is None:
            raise NotFound(f"{entry.scratch_id} has no receipt")
        found = self.store.receipt(entry.scope, entry.receipt)
        self.verify(
            found.body,
            scope=entry.scope,
            leaves=found.leaves or None,
            output_hash=self.ceilings.output_of(entry),
        )
        try:
            self.ceilings.check(entry)
        except Rejected as refusal:
            self.refuse(found.body, refusal.code, entry.scope)
            raise
        return found

    def check(
        self, body: bytes, *, leaves: Sequence[bytes] | None = None, output_hash: str | None = None
    ) -> VerifiedReceipt:
        """The same without a record."""
        found = verify(
            body,
            keys=self.keyring.public_keys(),
            verify_signature=self.keyring.verify,
            now=int(self.now()),
            lattice=self.sealer.lattice,
            leaves=leaves,
            output_hash=output_hash,
        )
        buried = self.buried(found)
        if buried:
            verify(
                body,
                keys=self.keyring.public_keys(),
                verify_signature=self.keyring.verify,
                now=int(self.now()),
                lattice=self.sealer.lattice,
                leaves=leaves,
                tombstoned=buried,
            )
        return found

    def buried(self, found: VerifiedReceipt) -> frozenset[str]:
        """What a receipt names, itself included, that an erasure here has put out of force."""
        named = [found.receipt.digest, found.receipt.output_hash, *(item.digest for item in found.items or ())]
        return self.store.ask(stones.is_buried, named)

    def refuse(self, received: bytes, reason: str, scope: Scope) -> None:
        """Keep a signed rejection, and the record of it. Never what was received."""
        now = self.now()
        signed = reject_record(reason, received, at=int(now), kid=self.keyring.kid, sign=self.keyring.sign)
        digest = "sha256:" + hashlib.sha256(signed.body).hexdigest()
        data = {"reason": signed.reason, "received_hash": signed.received_hash, "rejection": digest}
        self.store.append(
            lambda head: self.sealer.note(head, scope, "RECEIPT_REJECTED", data, now),
            lambda db: add_rejection(db, signed.body, now),
            scope,
        )
