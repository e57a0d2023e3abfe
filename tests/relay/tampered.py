"""A small store that holds something of everything, and the ways in which somebody with its file could change it."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from crp_mcp.core.model import Volatility
from crp_mcp.keys import Keyring
from crp_mcp.proof.lattice import DEFAULT_LATTICE
from crp_mcp.relay.auditing import Audit, Auditor
from crp_mcp.relay.buffer import Budget
from crp_mcp.relay.choosing import Selection
from crp_mcp.relay.sealing import Sealer
from crp_mcp.store import open_store
from tests.relay.support import START, Bench, bench, order_rows, text_result

UNPROTECTED = {
    "tally.last_number": "a counter: ids go on from it, and one given twice is refused",
    "tally.last_used_at": "last use",
    "tally.entries": "a counter, from the entries",
    "tally.pinned": "a counter, from the entries",
    "tally.payload_bytes": "a counter, from the entries",
    "tally.stored_bytes": "a counter, from the entries",
    "tally.raw_tokens": "a counter, from the entries",
    "tally.tokens_saved": "a counter, from the entries",
    "tally.policy": "which policy was seen last; POLICY_CHANGED records say what held when",
    "entry.seq": "the number of a row",
    "entry.last_used_at": "last use",
    "entry.raw_token_count": "a count, filled in later",
    "entry.sent_tokens": "a count",
    "entry.name": "what people call it",
    "entry.pin_reason": "words about the pin; PINNED records have their own",
    "entry.stream_id": "which listing a page belongs to, found out later",
    "entry.stale_since": "a doubt; what is served says the age it has anyway",
    "entry.stale_why": "words about that",
    "payload.lease_until": "means nothing once an upload is finished",
    "receipt.id": "the number of a row",
    "leaf.item": "where it stands for a file in an assembled context: those are not erased by leaf",
    "revoked.at": "the tombstone has the signed time",
    "revoked.successor": "a hint; the successor's signed bytes say what it supersedes",
    "tombstone.id": "the number of a row",
    "tombstone.space_id": "the record has the conversation",
    "rejection.id": "the number of a row",
    "checkpoint.id": "the number of a row",
    "stub.id": "the number of a row",
    "stub.space_id": "reported where its conversation is of another project",
    "stub.server": "of a purged entry: no salt is left; of an evicted one it is covered",
    "stub.kind": "the same",
    "stub.tool_class": "the same",
    "stub.created_at": "the same",
    "stub.payload_bytes": "the same",
    "stub.rows": "the same",
    "stub.gone_at": "the same",
    "fact.provenance": "a constant",
    "fact.importance": "an estimate",
    "fact.access_count": "a counter",
    "fact.ttl": "a hint",
    "fact.status": "a doubt, which may come and go",
    "fact.flag": "words about that",
    "tenant.id": "reported as soon as an entry is in it",
    "conversation.host_key": "which host it belongs to on this machine",
    "conversation.created_at": "no result depends on it",
    "conversation.by_hook": "who made it",
}
"""Columns nothing signed covers, and why. docs/proof.md has the same list."""
WHOLLY = {
    "turn": "what people and models said: not signed for until it is delivered, and then by its digest alone",
    "reference": "which turn used what",
    "stream": "which listing is which",
    "assembly": "figures about what was delivered; its receipt is signed",
    "delivered": "the same",
    "scrub": "work that is still to be done",
    "fact_fts": "the search index, made from the facts",
}
"""Tables nothing signed covers."""
NOT_MISSED = {
    "checkpoint": "those that were due are missed; others are for the reader's convenience",
    "tally": "the store's own row is missed; the others are counters",
    "conversation": "missed as soon as something is in it",
    "space": "the same",
    "tenant": "the same",
}
"""Tables whose rows may go unmissed."""


def build(folder: Path) -> Keyring:
    """Make the store. Everything in it was put there by the product."""
    lasting = {"volatility": Volatility.STATIC, "ttl": None, "retention": 400 * 86_400}
    with bench(folder) as at:
        at.ask("record_turn", role="user", text="what is there", turn=1)
        table = at.capture(text_result(json.dumps(order_rows(400))), policy=lasting).entry.scratch_id
        noise = random.Random(3).randbytes(300_000).hex()
        at.capture(text_result(noise), tool="read_file", policy=lasting)
        at.ask("scratch_query", sql=f"select city, count(*) as n from {table} group by city")
        at.capture(text_result("secret"), arguments={"token": "x"}, policy={**lasting, "redact_args": ("token",)})
        office = at.capture(text_result("the office is in Bergen"), tool="office", policy=lasting).entry
        at.ask("scratch_pin", scratch_id=office.scratch_id, name="office", promote=True)
        at.ask("request_context", query="office orders")
        doomed = at.capture(text_result("of customer 4711"), tool="lookup", policy=lasting).entry
        at.ask("scratch_pin", scratch_id=doomed.scratch_id, promote=True)
        at.ask("request_context", query="customer lookup")
        at.capture(text_result("fresh"), tool="clock", supersedes=table, policy=lasting)
        plan = at.engine.eraser.plan(Selection(ids=(doomed.scratch_id,)))
        at.engine.eraser.carry_out(plan, reason="purge")
        refuse(at)
        evict(at)
        at.engine.store.sweep_uploads()
        return at.engine.keyring


def refuse(at: Bench) -> None:
    at.engine.receipts.refuse(b"{}", "MISSING_MEMBER", at.scope)


def evict(at: Bench) -> None:
    """One capture that the next one pushes out."""
    gone = at.capture(text_result(json.dumps(order_rows(500))), tool="evicted", policy={"ttl": 1}).entry
    at.capture(text_result("short lived"), tool="evicted_too", policy={"ttl": 1})
    at.clock.at += 10_000
    buffer, count = at.engine.life.buffer, at.engine.store.counters(at.scope).entries
    buffer.budget = Budget(conversation_entries=count - 1)
    newest = at.capture(text_result("next"), tool="newest").entry
    buffer.budget = Budget()
    assert newest.scratch_id
    assert at.events("EVICTED"), gone


def audit(folder: Path, keyring: Keyring, **how: Any) -> Audit:
    """The verdict on the store in a folder."""
    with open_store(folder) as store:
        return Auditor(store, keyring, Sealer(keyring, DEFAULT_LATTICE), lambda: START).verify(**how)


def tables(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "scratch.db")) as db:
        found = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        return [row[0] for row in db.execute(found)]


def columns(db: sqlite3.Connection, table: str) -> list[tuple[str, str, bool]]:
    """(name, type, may be NULL) of every stored column."""
    return [(row[1], row[2], not row[3] and not row[5]) for row in db.execute(f"PRAGMA table_info({table})")]


def keys(db: sqlite3.Connection, table: str, most: int) -> tuple[str, list[tuple[Any, ...]]]:
    """A condition that finds one row, and its values for some rows from all over, the first and last among them."""
    info = db.execute(f"PRAGMA table_info({table})").fetchall()
    names = [row[1] for row in sorted(info, key=lambda row: row[5]) if row[5]] or ["rowid"]
    rows = db.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall()
    if table == "tally":
        rows = [(0,)]  # the store's own; the others are counters alone
    if len(rows) > most:
        rows = [*rows[:: -(-len(rows) // most)], rows[-1]]
    return " AND ".join(f"{name} = ?" for name in names), rows


def others(value: Any, kind: str, nullable: bool) -> Iterator[Any]:
    """Values of the column's type that are not this one."""
    if nullable and value is not None:
        yield None
    if kind == "INTEGER":
        yield 7 if value is None else value + 1
        yield 2**62
    elif kind == "REAL":
        yield 7.5 if value is None else value + 3600.0
    elif kind == "BLOB":
        yield b"x" if not value else bytes([value[0] ^ 1]) + value[1:]
        yield b"" if value else b"y"
    else:
        yield "x" if not value else value[:-1] + ("0" if value[-1] != "0" else "1")
        yield "PUBLIC"


def changed(base: Path, target: Path, sql: str, values: tuple[Any, ...]) -> bool:
    """Copy the store and run a statement on the copy; False where SQLite itself does not allow it."""
    for left in target.glob("*"):
        left.unlink()
    target.mkdir(exist_ok=True)
    shutil.copy(base / "scratch.db", target)
    with closing(sqlite3.connect(target / "scratch.db", isolation_level=None)) as db:
        try:
            return db.execute(sql, values).rowcount > 0
        except sqlite3.IntegrityError:
            return False
