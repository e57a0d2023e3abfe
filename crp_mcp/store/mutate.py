"""What changes an entry, step by step, inside the caller's transaction: capture, summary, pin, unpin.

The order is the same everywhere: look, seal (link the audit record, sign the receipt), then store.
"""

from __future__ import annotations

import sqlite3
from dataclasses import fields, replace
from typing import Any

from crp_mcp.core.model import Entry, Persistence, Scope
from crp_mcp.errors import BadRequest
from crp_mcp.store import chain, entries, ids, numbers, scopes, uploads
from crp_mcp.store.model import CaptureDraft, Pinned, Sealed, SealEntry, Stub
from crp_mcp.store.payloads import WrittenPayload

_SHARED = tuple(field.name for field in fields(Entry) if field.name in {f.name for f in fields(CaptureDraft)})


def capture(db: sqlite3.Connection, draft: CaptureDraft, payload: WrittenPayload, seal: SealEntry) -> Entry:
    """Store one entry with its payload, records and receipt."""
    where = scopes.ensure_conversation(db, draft.scope, draft.created_at, draft.host_key)
    seq, number = numbers.peek(db, where.tenant)
    if draft.scratch_id is None:
        numbers.give_tenant(db, where.tenant, number)
    scratch_id = draft.scratch_id or ids.make_id(draft.slug, number)
    payload_id = uploads.finish(db, payload, seq)
    known: dict[str, Any] = {name: getattr(draft, name) for name in _SHARED}
    known |= {"scratch_id": scratch_id, "payload_id": payload_id, "payload_bytes": payload.size}
    known |= {"provenance_hash": payload.provenance_hash, "referenced_by": ()}
    head = chain.head(db)
    sealed = seal(head, Entry(**known))
    chain.store(db, head, sealed, space_id=where.space, own=scratch_id, taken=seq)
    known["receipt"] = sealed.receipt.digest if sealed.receipt else None
    if sealed.summary is not None:
        known["summary"] = sealed.summary
    entry = Entry(**known)
    sent = draft.sent_tokens if sealed.sent_tokens is None else sealed.sent_tokens
    entries.insert_entry(db, draft, entry, where, seq, payload.stored_bytes, sent)
    return entry


def _seal(db: sqlite3.Connection, seal: SealEntry, entry: Entry, scope: Scope) -> Sealed:
    head = chain.head(db)
    sealed = seal(head, entry)
    chain.store(db, head, sealed, space_id=scopes.space_of(db, scope) or 0, own=entry.scratch_id)
    return sealed


def set_summary(
    db: sqlite3.Connection, scope: Scope, scratch_id: str, summary: str, sent_tokens: int | None, seal: SealEntry
) -> Entry:
    """Give an entry its summary and receipt; the first one stays."""
    seq, entry = entries.must_find(db, scope, scratch_id)
    if entry.summary is not None:
        return entry
    entry = replace(entry, summary=summary)
    sealed = _seal(db, seal, entry, scope)
    digest = sealed.receipt.digest if sealed.receipt else entry.receipt
    db.execute(
        "UPDATE entry SET summary = ?, receipt = ?, sent_tokens = coalesce(?, sent_tokens) WHERE seq = ?",
        (summary, digest, sent_tokens, seq),
    )
    return replace(entry, receipt=digest)


def pin(
    db: sqlite3.Connection,
    scope: Scope,
    reference: str,
    seal: SealEntry,
    name: str | None,
    reason: str | None,
    expires_at: int | None,
    may_take: frozenset[str] | None = None,
) -> Pinned:
    """Pin an entry; a name another entry had moves here, if it may be taken from that one."""
    seq, entry = entries.must_find(db, scope, reference)
    holder = entries.find(db, scope, name) if name is not None else None
    taken_from = holder[1].scratch_id if holder is not None and holder[0] != seq else None
    if taken_from is not None and holder is not None:
        if may_take is not None and taken_from not in may_take:
            raise BadRequest(f"name: {name!r} is in use in this project; give another")
        db.execute("UPDATE entry SET name = NULL WHERE seq = ?", (holder[0],))
    entry = replace(
        entry,
        persistence=Persistence.PINNED,
        name=entry.name if name is None else name,
        expires_at=max(entry.expires_at, expires_at or 0),
    )
    sealed = _seal(db, seal, entry, scope)
    if sealed.receipt is not None:  # a longer life is said in a receipt of its own
        entry = replace(entry, receipt=sealed.receipt.digest)
    db.execute(
        "UPDATE entry SET persistence = 'PINNED', name = ?, expires_at = ?, pin_reason = ?, receipt = ? WHERE seq = ?",
        (entry.name, entry.expires_at, reason, entry.receipt, seq),
    )
    return Pinned(entry, taken_from)


def unpin(db: sqlite3.Connection, scope: Scope, reference: str, seal: SealEntry) -> Entry:
    """Take pin and name off an entry; nothing is recorded where there was none."""
    seq, entry = entries.must_find(db, scope, reference)
    if entry.persistence is not Persistence.PINNED:
        return entry
    entry = replace(entry, persistence=Persistence.EPHEMERAL, name=None)
    _seal(db, seal, entry, scope)
    db.execute("UPDATE entry SET persistence = 'EPHEMERAL', name = NULL, pin_reason = NULL WHERE seq = ?", (seq,))
    return entry


def remove(
    db: sqlite3.Connection, scope: Scope, reference: str, seal: SealEntry, why: str, at: float, erase: bool
) -> Stub:
    """Take an entry out, leaving a stub and the record of it."""
    seq, entry = entries.must_find(db, scope, reference)
    _seal(db, seal, entry, scope)
    entries.remove(db, seq, why=why, at=at, erase=erase)
    stub = entries.find_stub(db, scope, entry.scratch_id)
    assert stub is not None
    return stub
