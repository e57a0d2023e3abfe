"""The label an entry is handled under: the higher of what its row says and what its receipt was signed for.

A row is easily changed, by a mistake or on purpose; a receipt that does not verify, or is of something else, is handled
as the top of the lattice (ECCR parser invariant 3). What was verified once is remembered by the receipt's digest.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from crp_mcp.core.model import Entry
from crp_mcp.errors import NotFound, Rejected
from crp_mcp.keys import Keyring
from crp_mcp.proof.eccr import Receipt, verify
from crp_mcp.proof.lattice import Lattice
from crp_mcp.proof.reasons import Reason, rejected
from crp_mcp.store import SqliteStore, Stub

from .sealing import Held, item_of, text_hash

REMEMBERED = 8_192
Key = tuple[str, str, str, str | None, str | None, int]


@dataclass(slots=True)
class Ceilings:
    """For one store and its keyring; from any thread, and not from inside a transaction."""

    store: SqliteStore
    keyring: Keyring
    lattice: Lattice
    _known: dict[Key, str] = field(default_factory=dict, init=False)

    def raised(self, entry: Held) -> Held:
        """The entry, or what is left of it, its label raised to its signed ceiling where that is higher."""
        ceiling = self._ceiling(entry)
        if self.lattice.rank(ceiling) <= self.lattice.rank(entry.label):
            return entry
        return replace(entry, label=ceiling)

    def signed(self, entry: Entry | Stub) -> Receipt:
        """The receipt in force, verified, and over what the entry has now. Raises Rejected or NotFound."""
        if entry.receipt is None:
            raise NotFound(f"{entry.scratch_id} has no receipt")
        stored = self.store.receipt(entry.scope, entry.receipt)
        found = verify(
            stored.body,
            keys=self.keyring.public_keys(),
            verify_signature=self.keyring.verify,
            now=None,  # what is too old has its label none the less
            lattice=self.lattice,
            output_hash=self.output_of(entry),
        ).receipt
        if found.digest != entry.receipt:
            raise rejected(Reason.BAD_HASH, "these are not the bytes that the entry names")
        return found

    def check(self, entry: Entry) -> None:
        """Raise Rejected where an entry differs from its receipt: in its output, its label or its epoch."""
        found = self.signed(entry)
        if self.lattice.effective(entry.label) != found.ceiling:
            raise rejected(Reason.CEILING_MISMATCH, f"the entry is labelled {entry.label}, signed was {found.ceiling}")
        if entry.expires_at != found.purge_epoch:
            why = f"the entry is kept until {entry.expires_at}, signed was {found.purge_epoch}"
            raise rejected(Reason.RETENTION_EXCEEDED, why)

    def output_of(self, entry: Entry | Stub) -> str:
        """What the receipt must be over: the summary, or the result itself where none was made."""
        if entry.summary is not None:
            return text_hash(entry.summary)
        if isinstance(entry, Stub):
            return item_of(entry, entry.salt or b"").digest
        return item_of(entry, self.store.salt(entry.scope, entry.scratch_id)).digest

    def _ceiling(self, entry: Entry | Stub) -> str:
        scope, receipt = entry.scope, entry.receipt
        key = (scope.tenant, scope.project, entry.scratch_id, receipt, entry.provenance_hash, hash(entry.summary))
        known = self._known.get(key)
        if known is None:
            try:
                known = self.signed(entry).ceiling
            except (NotFound, Rejected, ValueError):
                known = self.lattice.top
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = known
        return known
