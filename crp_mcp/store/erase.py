"""Erasure as rows: what was built on an item, and taking it out with all that names it.

Runs inside the caller's transaction. Which items go, and what stands in for them, is decided above; `scrub` cleans up.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crp_mcp.core.model import Entry, Scope
from crp_mcp.errors import NotFound
from crp_mcp.store import entries, mutate, scopes
from crp_mcp.store.ids import number_of
from crp_mcp.store.model import CaptureDraft, SealEntry
from crp_mcp.store.payloads import WrittenPayload
from crp_mcp.store.schema import CHUNK_BITS

AT_ONCE = 4 << 20
"""Stored bytes of a payload that are overwritten in the erasure's own transaction; larger ones follow in steps."""


class PlanChanged(Exception):
    """Something was built on an item, or it left, since the erasure was planned: plan again."""


@dataclass(frozen=True, slots=True)
class LooseText:
    """A text that belongs to no entry: `what` is turn, fact or stub; `key` its row, `id` what a person knows it by."""

    what: str
    key: int
    id: str
    scope: Scope
    text: str


@dataclass(frozen=True, slots=True)
class Trace:
    """What the audit chain still knows of an entry that left earlier: its salted digest and its receipts."""

    digest: str | None
    receipts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What stands in for an entry: a new one, stored before the old one goes."""

    instead_of: str
    draft: CaptureDraft
    payload: WrittenPayload
    seal: SealEntry
    name: str | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class StoneRow:
    """A signed tombstone as it is kept."""

    scratch_id: str
    digest: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Work:
    """One erasure within one tenant and project: all of it happens, or nothing."""

    scope: Scope
    entries: tuple[str, ...]
    """Entries that leave, sources first."""
    rebuilt: tuple[Rebuilt, ...] = ()
    stubs: tuple[str, ...] = ()
    """Entries that had left already, whose arguments and summaries are still in their stubs."""
    receipts: tuple[str, ...] = ()
    """Receipts of those."""
    turns: tuple[int, ...] = ()
    facts: tuple[int, ...] = ()
    stones: tuple[StoneRow, ...] = ()
    why: str = "purged"
    at: float = 0.0


# -- what is there


def built_on(db: sqlite3.Connection, scope: Scope, item: str) -> tuple[str, ...]:
    """Return the ids of entries that have `item` among their sources."""
    rows = db.execute(
        "SELECT entry FROM derivation WHERE space_id = ? AND source = ? ORDER BY entry",
        (scopes.space_of(db, scope) or 0, item),
    )
    return tuple(row[0] for row in rows.fetchall())


def sources_of(db: sqlite3.Connection, scope: Scope, scratch_id: str) -> tuple[tuple[str, bytes], ...]:
    """Return (id, leaf) of what an entry was built on, in the order of its receipt; () for one that was captured."""
    found = entries.find(db, scope, scratch_id)
    digest = found[1].receipt if found else None
    space = scopes.space_of(db, scope)
    seen: set[str] = set()
    while digest is not None and digest not in seen:
        seen.add(digest)
        row = db.execute(
            "SELECT id, supersedes FROM receipt WHERE digest = ? AND space_id = ? ORDER BY id LIMIT 1", (digest, space)
        ).fetchone()
        if row is None:
            break
        leaves = db.execute("SELECT item, body FROM leaf WHERE receipt_id = ? ORDER BY idx", (row[0],)).fetchall()
        if leaves and all(item is not None for item, _ in leaves):
            return tuple((item, body) for item, body in leaves)
        digest = row[1]
    return ()


def facts_on(db: sqlite3.Connection, scope: Scope, item: str) -> tuple[int, ...]:
    """Return the facts that were promoted from an entry."""
    space = scopes.space_of(db, scope)
    rows = db.execute("SELECT id FROM fact WHERE space_id = ? AND source = ?", (space, item))
    return tuple(row[0] for row in rows.fetchall())


def loose_texts(db: sqlite3.Connection) -> Iterator[LooseText]:
    """Yield every text of the store that stands outside entries and payloads."""
    yield from _texts(
        db,
        "turn",
        "SELECT u.id, 'turn ' || u.number, t.name, s.project, c.name, coalesce(u.text, '') || char(10) || "
        "coalesce(u.decision, '') FROM turn u "
        "JOIN conversation c ON c.id = u.conversation_id JOIN space s ON s.id = c.space_id "
        "JOIN tenant t ON t.id = s.tenant_id WHERE u.text IS NOT NULL OR u.decision IS NOT NULL",
    )
    yield from _texts(
        db,
        "fact",
        "SELECT f.id, 'fact ' || f.id, t.name, s.project, '', f.content FROM fact f "
        "JOIN space s ON s.id = f.space_id JOIN tenant t ON t.id = s.tenant_id",
    )
    yield from _texts(
        db,
        "stub",
        "SELECT b.id, b.scratch_id, t.name, s.project, coalesce(c.name, ''), "
        "coalesce(b.tool_call_args, '') || char(10) || coalesce(b.summary, '') || char(10) || coalesce(b.name, '') "
        "FROM stub b JOIN space s ON s.id = b.space_id JOIN tenant t ON t.id = s.tenant_id "
        "LEFT JOIN conversation c ON c.id = b.conversation_id "
        "WHERE b.tool_call_args IS NOT NULL OR b.summary IS NOT NULL OR b.name IS NOT NULL",
    )


def _texts(db: sqlite3.Connection, what: str, sql: str) -> Iterator[LooseText]:
    for key, known, tenant, project, conversation, text in db.execute(sql).fetchall():
        yield LooseText(what, key, known, Scope(tenant, project, conversation), text)


def traces(db: sqlite3.Connection, scope: Scope, ids: Sequence[str]) -> dict[str, Trace]:
    """Return what the chain says of entries that left earlier. Reads the whole chain once."""
    space = scopes.space_of(db, scope)
    rows = db.execute("SELECT name FROM conversation WHERE space_id = ?", (space,)).fetchall()
    sessions = {row[0] for row in rows}
    wanted, digests = set(ids), dict[str, str]()
    receipts: dict[str, list[str]] = {name: [] for name in ids}
    last = 0
    while batch := db.execute("SELECT seq, body FROM record WHERE seq > ? ORDER BY seq LIMIT 500", (last,)).fetchall():
        last = batch[-1][0]
        for _, body in batch:
            if b'"scratch_id"' not in body:
                continue
            record = json.loads(body)
            data, known = record["data"], record["data"].get("scratch_id")
            if known in wanted and record["session_id"] in sessions:
                if record["event_type"] == "TOOL_CALL":
                    digests[known] = data["output_hash"]
                elif record["event_type"] == "RECEIPT_ISSUED":
                    receipts[known].append(data["receipt"])
    return {name: Trace(digests.get(name), tuple(receipts[name])) for name in ids}


def entry_digests(db: sqlite3.Connection) -> list[tuple[str, str, bytes, str]]:
    """Return (conversation, id, salt, provenance hash) of every entry of the store."""
    return db.execute(
        "SELECT c.name, e.scratch_id, e.salt, e.provenance_hash FROM entry e "
        "JOIN conversation c ON c.id = e.conversation_id ORDER BY e.seq"
    ).fetchall()


def tombstones(db: sqlite3.Connection, up_to: int | None = None) -> list[bytes]:
    """Return the signed tombstones in order."""
    rows = db.execute("SELECT body FROM tombstone WHERE ? IS NULL OR id <= ? ORDER BY id", (up_to, up_to))
    return [row[0] for row in rows.fetchall()]


def is_buried(db: sqlite3.Connection, digests: Sequence[str]) -> frozenset[str]:
    """Return those of the digests (of items or receipts) that an erasure has put out of force."""
    found: set[str] = set()
    for digest in digests:
        asked = "SELECT 1 FROM tombstone WHERE digest = ? UNION SELECT 1 FROM revoked WHERE digest = ?"
        if db.execute(asked, (digest, digest)).fetchone():
            found.add(digest)
    return frozenset(found)


def expired_facts(db: sqlite3.Connection, now: float) -> list[LooseText]:
    """Return the facts whose retention epoch has passed."""
    sql = (
        "SELECT f.id, 'fact ' || f.id, t.name, s.project, '', f.content FROM fact f JOIN space s ON s.id = f.space_id "
        f"JOIN tenant t ON t.id = s.tenant_id WHERE f.expires_at > 0 AND f.expires_at <= {float(now)!r}"
    )
    return list(_texts(db, "fact", sql))


def add_rejection(db: sqlite3.Connection, body: bytes, at: float) -> None:
    """Keep the signed word that something was refused."""
    db.execute("INSERT INTO rejection (body, at) VALUES (?, ?)", (body, at))


def rejections(db: sqlite3.Connection) -> list[bytes]:
    """Return the signed rejections in order."""
    return [row[0] for row in db.execute("SELECT body FROM rejection ORDER BY id").fetchall()]


# -- taking out


def apply(db: sqlite3.Connection, work: Work) -> list[Entry]:
    """Store what stands in, take out what must go, keep the tombstones. Returns the new entries.

    Raises:
        PlanChanged: more was built on the items than the work knows of, or one of them is gone.
    """
    leaving = {*work.entries}
    for item in work.entries:
        if not leaving.issuperset(built_on(db, work.scope, item)):
            raise PlanChanged
        if not set(facts_on(db, work.scope, item)) <= set(work.facts):
            raise PlanChanged
    made = [(mutate.capture(db, one.draft, one.payload, one.seal), one) for one in work.rebuilt]
    successors = {one.instead_of: entry.receipt for entry, one in made}
    for item in work.entries:
        _take_out(db, work, item, successors)
    for scratch_id in work.stubs:
        _empty_stub(db, work.scope, scratch_id)
    space = scopes.space_of(db, work.scope) or 0
    for digest in work.receipts:
        _revoke(db, space, digest, None, work.at)
    db.executemany("UPDATE turn SET text = NULL, decision = NULL WHERE id = ?", [(key,) for key in work.turns])
    _drop_facts(db, work.facts)
    for entry, one in made:
        if one.pinned:
            db.execute(
                "UPDATE entry SET persistence = 'PINNED', name = ? WHERE space_id = ? AND number = ?",
                (one.name, space, number_of(entry.scratch_id)),
            )
    db.executemany(
        "INSERT INTO tombstone (space_id, scratch_id, digest, body, at) VALUES (?, ?, ?, ?, ?)",
        [(space, stone.scratch_id, stone.digest, stone.body, work.at) for stone in work.stones],
    )
    db.execute("INSERT INTO scrub (at, needs) VALUES (?, 'file')", (work.at,))
    return [entry for entry, _ in made]


_ANSWERS_ERASED = """
UPDATE turn SET text = NULL, decision = NULL
WHERE role = 'assistant' AND conversation_id = (SELECT conversation_id FROM entry WHERE seq = :seq) AND (
    instr(coalesce(text, '') || coalesce(decision, ''), :item)
    OR EXISTS (
        SELECT 1 FROM (
            SELECT turn AS used FROM reference WHERE entry_seq = :seq UNION SELECT turn_id FROM entry WHERE seq = :seq
        ) WHERE used <= turn.number AND NOT EXISTS (
            SELECT 1 FROM turn asked WHERE asked.conversation_id = turn.conversation_id AND asked.role = 'user'
            AND asked.number > used AND asked.number <= turn.number)))
"""
"""An answer is recorded after what it used: all up to the next thing the user said go, and all that cite the entry."""


def _take_out(db: sqlite3.Connection, work: Work, item: str, successors: dict[str, str | None]) -> None:
    found = entries.find(db, work.scope, item)
    if found is None or found[1].scratch_id != item:
        raise PlanChanged
    seq, entry = found
    space = scopes.space_of(db, work.scope) or 0
    db.execute(_ANSWERS_ERASED, {"seq": seq, "item": item})
    db.execute(
        "DELETE FROM stream WHERE stream_id = ? AND conversation_id = "
        "(SELECT conversation_id FROM entry WHERE seq = ?) AND NOT EXISTS "
        "(SELECT 1 FROM entry e WHERE e.conversation_id = stream.conversation_id AND e.stream_id = stream.stream_id "
        "AND e.seq != ?)",
        (entry.stream_id, seq, seq),
    )
    _revoke_own(db, space, entry.receipt, work.at, replaced=item in successors, successor=successors.get(item))
    built = "SELECT r.digest FROM leaf l JOIN receipt r ON r.id = l.receipt_id WHERE l.item = ? AND r.space_id = ?"
    for (digest,) in db.execute(built, (item, space)).fetchall():
        _revoke(db, space, digest, None, work.at, keep=True)
    db.execute("DELETE FROM derivation WHERE space_id = ? AND (source = ? OR entry = ?)", (space, item, item))
    payload_id = entries.remove(db, seq, why=work.why, at=work.at, erase=True)
    small = db.execute("SELECT stored_bytes FROM payload WHERE id = ?", (payload_id,)).fetchone()
    if small and small[0] <= AT_ONCE:
        first, past = payload_id << CHUNK_BITS, (payload_id + 1) << CHUNK_BITS
        db.execute("DELETE FROM chunk WHERE id >= ? AND id < ?", (first, past))
        db.execute("DELETE FROM payload WHERE id = ?", (payload_id,))


def _revoke_own(
    db: sqlite3.Connection, space: int, digest: str | None, at: float, *, replaced: bool, successor: str | None
) -> None:
    """Put an entry's receipts out of force. Where something stands in, the last one stays to be compared with."""
    seen: set[str] = set()
    while digest is not None and digest not in seen:
        seen.add(digest)
        row = db.execute(
            "SELECT supersedes FROM receipt WHERE digest = ? AND space_id = ? ORDER BY id LIMIT 1", (digest, space)
        ).fetchone()
        _revoke(db, space, digest, successor, at, keep=replaced)
        digest = row[0] if row else None


def _revoke(
    db: sqlite3.Connection, space: int, digest: str, successor: str | None, at: float, *, keep: bool = False
) -> None:
    db.execute(
        "INSERT INTO revoked (digest, at, successor) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING",
        (digest, at, successor),
    )
    if keep:
        return
    rows = db.execute("SELECT id FROM receipt WHERE digest = ? AND space_id = ?", (digest, space)).fetchall()
    db.executemany("DELETE FROM leaf WHERE receipt_id = ?", rows)
    db.executemany("DELETE FROM receipt WHERE id = ?", rows)


def _empty_stub(db: sqlite3.Connection, scope: Scope, scratch_id: str) -> None:
    if not db.execute(
        "UPDATE stub SET name = NULL, tool_call_args = NULL, call_hash = NULL, provenance_hash = NULL, summary = NULL, "
        "why = 'purged' WHERE space_id = ? AND scratch_id = ?",
        (scopes.space_of(db, scope), scratch_id),
    ).rowcount:
        raise NotFound(f"no entry {scratch_id!r} here")


def _drop_facts(db: sqlite3.Connection, facts: Sequence[int]) -> None:
    if not facts:
        return
    db.executemany("DELETE FROM fact WHERE id = ?", [(key,) for key in facts])
    # A search index only marks words as deleted until its segments are merged; building it anew leaves none behind.
    db.execute("INSERT INTO fact_fts (fact_fts) VALUES ('rebuild')")
