"""The tables, and how a store comes to have them: numbered migrations, each a function of a sqlite-utils database.

The number of the last one is the file's `user_version`. Only a store that is new or behind imports sqlite-utils.
What was released is never edited: a change is a new migration at the end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

APPLICATION_ID = 0x43525053
"""`CRPS`, at byte 68 of the file: tells a store of ours from any other SQLite file."""

CHUNK_BITS = 20
"""A chunk's rowid is payload id << 20 | chunk number: one b-tree, in reading order, no second index."""

_ENTRY = """
CREATE TABLE entry (
    seq INTEGER PRIMARY KEY,
    number INTEGER NOT NULL,
    space_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    payload_id INTEGER NOT NULL,
    created_at REAL NOT NULL,
    expires_at INTEGER NOT NULL,
    last_used_at REAL NOT NULL,
    kind TEXT NOT NULL,
    tool_class TEXT NOT NULL,
    persistence TEXT NOT NULL,
    origin TEXT NOT NULL,
    volatility TEXT NOT NULL,
    freshness_ttl INTEGER,
    is_error INTEGER NOT NULL,
    inline INTEGER NOT NULL,
    partial INTEGER NOT NULL,
    rows INTEGER,
    rows_total INTEGER,
    payload_bytes INTEGER NOT NULL,
    stored_bytes INTEGER NOT NULL,
    raw_token_count INTEGER,
    sent_tokens INTEGER,
    turn_id INTEGER,
    tool_name TEXT NOT NULL,
    server TEXT NOT NULL,
    label TEXT NOT NULL,
    form TEXT NOT NULL,
    scratch_id TEXT NOT NULL,
    name TEXT,
    pin_reason TEXT,
    stream_id TEXT,
    supersedes TEXT,
    provenance_hash TEXT NOT NULL,
    receipt TEXT,
    salt BLOB NOT NULL,
    call_hash BLOB,
    tool_call_args TEXT NOT NULL,
    summary TEXT,
    structured TEXT,
    tokens_saved INTEGER GENERATED ALWAYS AS (
        CASE WHEN inline = 0 AND raw_token_count > sent_tokens THEN raw_token_count - sent_tokens ELSE 0 END
    ) VIRTUAL
) STRICT
"""
# Columns that lists filter on come first and the wide ones last, so that a filter never walks overflow pages.

_ENTRY_INDEXES = (
    "CREATE UNIQUE INDEX entry_number ON entry (space_id, number)",
    "CREATE INDEX entry_conversation ON entry (conversation_id)",
    "CREATE INDEX entry_time ON entry (conversation_id, created_at)",
    "CREATE INDEX entry_kind ON entry (conversation_id, kind)",
    "CREATE INDEX entry_class ON entry (conversation_id, tool_class)",
    "CREATE INDEX entry_tool ON entry (conversation_id, tool_name)",
    "CREATE INDEX entry_expiry ON entry (expires_at)",
    "CREATE INDEX entry_pinned ON entry (conversation_id) WHERE persistence = 'PINNED'",
    "CREATE UNIQUE INDEX entry_name ON entry (space_id, name) WHERE name IS NOT NULL",
    "CREATE INDEX entry_stream ON entry (conversation_id, stream_id) WHERE stream_id IS NOT NULL",
    "CREATE INDEX entry_call ON entry (space_id, call_hash) WHERE call_hash IS NOT NULL",
)

_CHUNKS = (
    """
    CREATE TABLE payload (
        id INTEGER PRIMARY KEY,
        raw_bytes INTEGER NOT NULL,
        stored_bytes INTEGER NOT NULL,
        chunk_bytes INTEGER NOT NULL,
        sha256 BLOB NOT NULL,
        owner TEXT,
        lease_until REAL,
        codec INTEGER,
        data BLOB
    ) STRICT
    """,
    "CREATE INDEX payload_upload ON payload (lease_until) WHERE owner IS NOT NULL",
    "CREATE TABLE chunk (id INTEGER PRIMARY KEY, codec INTEGER NOT NULL, data BLOB NOT NULL) STRICT",
)

_LEAVES = (
    """
    CREATE TABLE leaf (
        receipt_id INTEGER NOT NULL,
        idx INTEGER NOT NULL,
        item TEXT,
        body BLOB NOT NULL,
        PRIMARY KEY (receipt_id, idx)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX leaf_item ON leaf (item) WHERE item IS NOT NULL",
)

_COUNTED = ("entries", "pinned", "payload_bytes", "stored_bytes", "raw_tokens", "tokens_saved")


def _count_of(row: str) -> tuple[str, ...]:
    return (
        "1",
        f"({row}.persistence = 'PINNED')",
        f"{row}.payload_bytes",
        f"{row}.stored_bytes",
        f"coalesce({row}.raw_token_count, 0)",
        f"{row}.tokens_saved",
    )


def _count_triggers() -> tuple[str, ...]:
    """Keep the counters of the conversation and of the store equal to what the entry table holds.

    What changes with every capture stands in one small b-tree, `tally`, so that a capture rewrites one page of it:
    row 0 is the store, row n conversation n, row -n tenant n. `last_number` is the store's last entry or payload
    number, and the tenant's last scratch_id.
    """
    new, old = _count_of("NEW"), _count_of("OLD")

    def triggers(name: str, event: str, changes: list[str], row: str, used: str = "") -> str:
        sets = ", ".join(changes)
        return (
            f"CREATE TRIGGER {name} AFTER {event} ON entry BEGIN "
            f"UPDATE tally SET {used}{sets} WHERE id = 0; "
            f"UPDATE tally SET {used}{sets} WHERE id = {row}.conversation_id; END"
        )

    used = "last_used_at = max(last_used_at, NEW.created_at), "
    added = [f"{c} = {c} + {n}" for c, n in zip(_COUNTED, new, strict=True)]
    removed = [f"{c} = {c} - {o}" for c, o in zip(_COUNTED, old, strict=True)]
    moved = [f"{c} = {c} + {n} - {o}" for c, n, o in zip(_COUNTED, new, old, strict=True)]
    columns = "persistence, raw_token_count, sent_tokens, inline, payload_bytes, stored_bytes"
    return (
        triggers("entry_counted", "INSERT", added, "NEW", used),
        triggers("entry_uncounted", "DELETE", removed, "OLD"),
        triggers("entry_recounted", f"UPDATE OF {columns}", moved, "NEW"),
    )


def _table(
    db: Database,
    name: str,
    columns: Mapping[str, type],
    pk: str | tuple[str, ...],
    optional: Sequence[str] = (),
    defaults: dict[str, int] | None = None,
) -> None:
    required = set(columns) - set(optional)
    db.create_table(name, dict(columns), pk=pk, not_null=required, defaults=defaults, strict=True)


def _first(db: Database) -> None:
    """Everything of the first release; turns, facts, stubs and streams are filled by later rooms."""
    counters: dict[str, type] = dict.fromkeys(_COUNTED, int)
    zero = dict.fromkeys(("last_number", "last_used_at", *_COUNTED), 0)

    table = partial(_table, db)
    table("tenant", {"id": int, "name": str}, "id")
    db.table("tenant").create_index(["name"], unique=True)
    table("space", {"id": int, "tenant_id": int, "project": str}, "id")
    db.table("space").create_index(["tenant_id", "project"], unique=True)
    table(
        "conversation",
        {"id": int, "space_id": int, "name": str, "host_key": str, "created_at": float},
        "id",
        ("host_key",),
    )
    db.table("conversation").create_index(["space_id", "name"], unique=True)
    db.table("conversation").create_index(["host_key"])
    columns: dict[str, type] = {"id": int, "last_number": int, "last_used_at": float}
    table("tally", columns | counters, "id", defaults=zero)
    db.table("tally").insert({"id": 0})
    for statement in (_ENTRY, *_ENTRY_INDEXES, *_CHUNKS, *_count_triggers()):
        db.execute(statement)
    _proof_tables(db, table)
    _later_tables(db, table)


def _proof_tables(db: Database, table: Callable[..., None]) -> None:
    table("record", {"seq": int, "body": bytes, "hash": str, "mac": str}, "seq")
    table("checkpoint", {"id": int, "seq": int, "body": bytes, "created_at": float}, "id")
    db.table("checkpoint").create_index(["seq"])
    receipt = {"id": int, "digest": str, "body": bytes, "supersedes": str, "space_id": int, "only_leaf": bytes}
    table("receipt", receipt, "id", ("supersedes", "only_leaf"))
    db.table("receipt").create_index(["digest"])  # not unique: equal sources in one second give equal receipts
    for statement in _LEAVES:
        db.execute(statement)


def _later_tables(db: Database, table: Callable[..., None]) -> None:
    turn = {"id": int, "conversation_id": int, "number": int, "role": str, "declared": int, "text": str, "at": float}
    table("turn", turn, "id", ("text",))
    db.table("turn").create_index(["conversation_id", "number"], unique=True)
    table("reference", {"entry_seq": int, "turn": int, "how": str, "at": float}, ("entry_seq", "turn", "how"))
    stub = {
        "id": int,
        "space_id": int,
        "conversation_id": int,
        "number": int,
        "scratch_id": str,
        "server": str,
        "tool_name": str,
        "kind": str,
        "tool_class": str,
        "created_at": float,
        "gone_at": float,
        "why": str,
        "payload_bytes": int,
        "rows": int,
        "name": str,
        "tool_call_args": str,
        "call_hash": bytes,
        "provenance_hash": str,
        "summary": str,
    }
    optional = ("rows", "name", "tool_call_args", "call_hash", "provenance_hash", "summary")
    table("stub", stub, "id", optional)
    db.table("stub").create_index(["space_id", "number"], unique=True)
    stream = {"id": int, "conversation_id": int, "stream_id": str, "tool_name": str, "call_hash": bytes, "at": float}
    table("stream", stream, "id", ("call_hash",))
    db.table("stream").create_index(["conversation_id", "stream_id"], unique=True)
    fact = {
        "id": int,
        "space_id": int,
        "content": str,
        "content_hash": str,
        "source": str,
        "provenance": str,
        "importance": float,
        "created_at": float,
        "access_count": int,
        "ttl": int,
        "status": str,
        "supersedes": int,
        "expires_at": int,
    }
    table("fact", fact, "id", ("source", "ttl", "supersedes"))
    db.table("fact").create_index(["space_id", "status"])
    db.table("fact").create_index(["space_id", "content_hash"])
    db.table("fact").enable_fts(["content"], create_triggers=True)


def _erasure(db: Database) -> None:
    """What an erasure needs: what was built on what, tombstones, receipts no longer in force, scrubs still to be done.

    The head of the audit chain also stands in `tally`, apart from the records, so that a cut end shows.
    """
    table = partial(_table, db)
    table("derivation", {"space_id": int, "source": str, "entry": str}, ("space_id", "source", "entry"))
    stone = {"id": int, "space_id": int, "scratch_id": str, "digest": str, "body": bytes, "at": float}
    table("tombstone", stone, "id")
    db.table("tombstone").create_index(["digest"])
    table("revoked", {"digest": str, "at": float, "successor": str}, "digest", ("successor",))
    table("rejection", {"id": int, "body": bytes, "at": float}, "id")
    table("scrub", {"id": int, "at": float, "needs": str}, "id")
    for column in ("head_seq INTEGER", "head_hash TEXT"):
        db.execute(f"ALTER TABLE tally ADD COLUMN {column}")
    db.execute(
        "UPDATE tally SET head_seq = (SELECT max(seq) FROM record), "
        "head_hash = (SELECT hash FROM record ORDER BY seq DESC LIMIT 1) WHERE id = 0"
    )


def _lifecycle(db: Database) -> None:
    """What is known to have changed behind an entry, what took its place; decisions in turns, doubts about facts."""
    for table, column in (
        ("entry", "stale_since REAL"),
        ("entry", "stale_why TEXT"),
        ("entry", "superseded_by TEXT"),
        ("turn", "decision TEXT"),
        ("fact", "flag TEXT"),
    ):
        db.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    # Eviction takes the entry longest unused first, of a conversation or of the store.
    db.execute(
        "CREATE INDEX entry_used ON entry (conversation_id, last_used_at) WHERE persistence = 'EPHEMERAL'",
    )
    db.execute("CREATE INDEX entry_used_anywhere ON entry (last_used_at) WHERE persistence = 'EPHEMERAL'")
    db.execute("CREATE INDEX reference_turn ON reference (turn)")


def _assemblies(db: Database) -> None:
    """What was put together and delivered on request: counts and hashes, never words of the request or its answer."""
    columns = {
        "id": int,
        "conversation_id": int,
        "at": float,
        "turn": int,
        "intent": str,
        "tokens": int,
        "budget": int,
        "persistent": int,
        "conversation": int,
        "ephemeral": int,
        "fragments": int,
        "context_hash": str,
    }
    _table(db, "assembly", columns, "id", ("turn",))
    db.table("assembly").create_index(["conversation_id", "at"])
    db.execute("CREATE INDEX stub_time ON stub (conversation_id, gone_at)")


def _origins(db: Database) -> None:
    """The operator's policy as the audit trail knows it, and which conversations a host's hook made by itself."""
    db.execute("ALTER TABLE tally ADD COLUMN policy TEXT")
    db.execute("ALTER TABLE conversation ADD COLUMN by_hook INTEGER NOT NULL DEFAULT 0")


def _pages(db: Database) -> None:
    """Which nodes a context had that goes on with a cursor, and which context it went on from."""
    db.execute("ALTER TABLE assembly ADD COLUMN previous INTEGER")
    _table(db, "delivered", {"assembly_id": int, "uko_node": str, "depth": int}, ("assembly_id", "uko_node"))


def _stubs(db: Database) -> None:
    """An evicted entry's salt stays with what is left of it, so that this can be held against its records."""
    db.execute("ALTER TABLE stub ADD COLUMN salt BLOB")


def _stub_labels(db: Database) -> None:
    """So do its label, epoch and receipt: what is left is handled and goes as the whole would have."""
    for column in ("label TEXT", "expires_at INTEGER", "receipt TEXT"):
        db.execute(f"ALTER TABLE stub ADD COLUMN {column}")
    db.execute("CREATE INDEX stub_expiry ON stub (expires_at) WHERE expires_at IS NOT NULL")


def _stub_turns(db: Database) -> None:
    """And the turn that made it: what was said there has the label of what is gone, too."""
    db.execute("ALTER TABLE stub ADD COLUMN turn_id INTEGER")


MIGRATIONS: tuple[Callable[[Database], None], ...] = (
    _first,
    _erasure,
    _lifecycle,
    _assemblies,
    _origins,
    _pages,
    _stubs,
    _stub_labels,
    _stub_turns,
)
VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the store up to VERSION. The caller holds `BEGIN IMMEDIATE`, so one process migrates and others wait.

    sqlite-utils would begin a deferred transaction of its own, which fails as soon as two processes meet; inside
    ours it only makes savepoints.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version >= VERSION:
        return
    from sqlite_utils import Database

    db = Database(connection, recursive_triggers=False, execute_plugins=False)
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        step(db)
        connection.execute(f"PRAGMA user_version = {number}")
