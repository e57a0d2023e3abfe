"""What was built on what, and every text an erasure must look at. Runs inside the caller's transaction."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crp_mcp.core.model import Scope
from crp_mcp.store import entries, scopes
from crp_mcp.store.model import Stub


@dataclass(frozen=True, slots=True)
class LooseText:
    """A text that belongs to no entry: `what` is turn, fact or stub; `key` its row, `id` what a person knows it by."""

    what: str
    key: int
    id: str
    scope: Scope
    text: str

    @property
    def number(self) -> int:
        """The number of a fact or a turn."""
        return int(self.id.split()[-1])

    @property
    def item(self) -> str:
        """What leaves of contexts that delivered it are kept as."""
        return fact_item(self.key) if self.what == "fact" else turn_item(self.scope.conversation, self.number)


def fact_item(key: int) -> str:
    """What the leaf of a delivered fact is kept as."""
    return f"uko-fact:fact/{key}"


def turn_item(conversation: str, number: int) -> str:
    """What the leaf of a delivered turn is kept as: turns are numbered in each conversation anew."""
    return f"uko-turn:turn/{number} of {conversation}"


@dataclass(frozen=True, slots=True)
class Trace:
    """What the audit chain still knows of an entry that left earlier: its salted digest and its receipts."""

    digest: str | None
    receipts: tuple[str, ...]


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


def delivered(db: sqlite3.Connection, scope: Scope, item: str) -> dict[str, list[str]]:
    """Return the receipts that have `item` among their sources, by the digest that their leaves have for it."""
    rows = db.execute(
        "SELECT l.body, r.digest FROM leaf l JOIN receipt r ON r.id = l.receipt_id WHERE l.item = ? AND r.space_id = ? "
        "ORDER BY r.id",
        (item, scopes.space_of(db, scope) or 0),
    )
    found: dict[str, list[str]] = {}
    for body, receipt in rows.fetchall():
        found.setdefault(json.loads(body)["item_digest"], []).append(receipt)
    return found


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
    for row in db.execute(sql).fetchall():
        yield _text(*row, what=what)


def _text(
    key: int, known: str, tenant: str, project: str, conversation: str, text: str, *, what: str = "fact"
) -> LooseText:
    return LooseText(what, key, known, Scope(tenant, project, conversation), text)


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


def expired_facts(db: sqlite3.Connection, now: float) -> list[LooseText]:
    """Return the facts whose retention epoch has passed."""
    sql = (
        "SELECT f.id, 'fact ' || f.id, t.name, s.project, '', f.content FROM fact f JOIN space s ON s.id = f.space_id "
        f"JOIN tenant t ON t.id = s.tenant_id WHERE f.expires_at > 0 AND f.expires_at <= {float(now)!r}"
    )
    return list(_texts(db, "fact", sql))


def expired_stubs(db: sqlite3.Connection, now: float, most: int) -> list[Stub]:
    """Return what is left of evicted entries whose retention epoch has passed."""
    rows = db.execute(
        "SELECT t.name, s.project, b.scratch_id FROM stub b JOIN space s ON s.id = b.space_id "
        "JOIN tenant t ON t.id = s.tenant_id WHERE b.expires_at > 0 AND b.expires_at <= ? "
        "ORDER BY b.expires_at LIMIT ?",
        (now, most),
    )
    found = [entries.find_stub(db, Scope(tenant, project), name) for tenant, project, name in rows.fetchall()]
    return [stub for stub in found if stub is not None]


def texts_of_facts(db: sqlite3.Connection, scope: Scope, item: str) -> list[LooseText]:
    """Return the facts that were promoted from an entry, as texts."""
    sql = "SELECT f.id, 'fact ' || f.id, ?, ?, '', f.content FROM fact f WHERE f.source = ? AND f.space_id = ?"
    values = (scope.tenant, scope.project, item, scopes.space_of(db, scope))
    return [_text(*row) for row in db.execute(sql, values).fetchall()]


def leaf_of_fact(db: sqlite3.Connection, scope: Scope, source: str, content_hash: str) -> bytes | None:
    """Return the leaf of the receipt a fact was promoted with: digest, label and epoch of its source."""
    row = db.execute(
        "SELECT l.body FROM leaf l JOIN receipt r ON r.id = l.receipt_id WHERE l.item = ? AND r.space_id = ? "
        "AND instr(r.body, ?) > 0 ORDER BY r.id LIMIT 1",
        (source, scopes.space_of(db, scope), content_hash.encode()),
    ).fetchone()
    return None if row is None else bytes(row[0])


_USED = """
SELECT scratch_id FROM (
    SELECT number, scratch_id FROM entry WHERE conversation_id = :place AND (turn_id BETWEEN :first AND :last
        OR seq IN (SELECT entry_seq FROM reference WHERE turn BETWEEN :first AND :last) OR number IN ({cited}))
    UNION SELECT number, scratch_id FROM stub WHERE conversation_id = :place AND label IS NOT NULL
        AND (turn_id BETWEEN :first AND :last OR number IN ({cited}))
) ORDER BY number
"""
_CITED = re.compile(r"scratch_[a-z0-9]{1,16}_([0-9]{3,18})")


def behind_turn(db: sqlite3.Connection, scope: Scope, number: int) -> tuple[str, ...]:
    """Return the ids of what the words of a turn come from, what was evicted since too: for an answer, all it used."""
    place = scopes.conversation_of(db, scope)
    row = (
        place
        and db.execute(
            "SELECT role, coalesce(text, '') || coalesce(decision, ''), (SELECT max(number) FROM turn u "
            "WHERE u.conversation_id = turn.conversation_id AND u.role = 'user' AND u.number <= turn.number) "
            "FROM turn WHERE conversation_id = ? AND number = ?",
            (place.conversation, number),
        ).fetchone()
    )
    if not place or not row:
        return ()
    role, said, asked = row
    cited = {str(int(found)) for found in _CITED.findall(said) if role == "assistant"}
    first = (asked or 0) if role == "assistant" else number
    bounds = {"place": place.conversation, "first": first, "last": number}
    return tuple(found[0] for found in db.execute(_USED.format(cited=", ".join(cited)), bounds).fetchall())


_ANSWERS = """
SELECT turn.id, 'turn ' || turn.number, coalesce(text, '') || char(10) || coalesce(decision, '') FROM turn
WHERE role = 'assistant' AND coalesce(text, decision) IS NOT NULL
AND conversation_id = (SELECT conversation_id FROM entry WHERE seq = :seq) AND (
    instr(coalesce(text, '') || coalesce(decision, ''), :item)
    OR EXISTS (
        SELECT 1 FROM (
            SELECT turn AS used FROM reference WHERE entry_seq = :seq UNION SELECT turn_id FROM entry WHERE seq = :seq
        ) WHERE used <= turn.number AND NOT EXISTS (
            SELECT 1 FROM turn asked WHERE asked.conversation_id = turn.conversation_id AND asked.role = 'user'
            AND asked.number > used AND asked.number <= turn.number)))
"""
"""An answer is recorded after what it used: all up to the next thing the user said go, and all that cite the entry."""


def answers_with(db: sqlite3.Connection, scope: Scope, item: str) -> list[LooseText]:
    """Return the assistant's turns that an entry's erasure takes the text of."""
    found = entries.find(db, scope, item)
    if found is None:
        return []
    rows = db.execute(_ANSWERS, {"seq": found[0], "item": item}).fetchall()
    return [LooseText("turn", key, known, found[1].scope, text) for key, known, text in rows]


def waiting(db: sqlite3.Connection) -> int:
    """Return how many transactions of erasures have bytes left in the file or its log."""
    return int(db.execute("SELECT count(*) FROM scrub").fetchone()[0])
