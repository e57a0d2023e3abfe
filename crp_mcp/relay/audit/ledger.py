"""What the records of a chain say is there, was taken away, was signed: kept beside the store while it is audited.

It stands in the survey's scratch database, so that memory does not grow with the chain.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

import orjson

from crp_mcp.proof.chain import Record
from crp_mcp.store.descent import fact_item, turn_item

TABLES = """
CREATE TABLE said.call (digest, session, id, seq INTEGER, tool, input, fixed, seen DEFAULT 0);
CREATE TABLE said.gone (digest, session, id, seq INTEGER, stone, how, rest);
CREATE TABLE said.issued (receipt, session, id, seq INTEGER, supersedes);
CREATE TABLE said.pin (id, session, seq INTEGER, pinned, PRIMARY KEY (id, session)) WITHOUT ROWID;
CREATE TABLE said.promoted (fact, source, supersedes, seq INTEGER, at REAL, receipt);
CREATE TABLE said.erased (fact, receipt, seq INTEGER);
CREATE TABLE said.replaced (id, old, session, seq INTEGER);
CREATE TABLE said.given (receipt, leaf INTEGER, item, PRIMARY KEY (receipt, leaf)) WITHOUT ROWID;
CREATE TABLE said.refused (rejection, seq INTEGER);
CREATE TABLE said.stored (receipt, copies, PRIMARY KEY (receipt)) WITHOUT ROWID;
CREATE TABLE said.off (receipt PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE said.built (space, source, entry, PRIMARY KEY (space, source, entry)) WITHOUT ROWID;
CREATE TABLE said.held (payload INTEGER PRIMARY KEY);
"""
INDEXES = """
CREATE INDEX said.call_digest ON call (digest);
CREATE INDEX said.call_id ON call (id, session);
CREATE INDEX said.gone_digest ON gone (digest);
CREATE INDEX said.gone_id ON gone (id, session);
CREATE INDEX said.issued_receipt ON issued (receipt);
CREATE INDEX said.issued_supersedes ON issued (supersedes);
CREATE INDEX said.promoted_fact ON promoted (fact);
CREATE INDEX said.promoted_receipt ON promoted (receipt);
CREATE INDEX said.replaced_old ON replaced (old, session);
"""
_AT_ONCE = 1_000
_KINDS = {
    "call": 7,
    "gone": 7,
    "issued": 5,
    "pin": 4,
    "promoted": 6,
    "erased": 3,
    "given": 3,
    "replaced": 4,
    "refused": 2,
}
_COLUMNS = {"call": "(digest, session, id, seq, tool, input, fixed)"}


class Ledger:
    """Filled by `over`, then asked. `session`: the conversation that is asked about; `seen`: whether it has records."""

    def __init__(self, db: sqlite3.Connection, session: str | None) -> None:
        self.db = db
        self.session = session
        self.seen = False
        self._waiting: dict[str, list[tuple[Any, ...]]] = {kind: [] for kind in _KINDS}
        self._promoted: tuple[Any, ...] | None = None
        for statement in filter(str.strip, TABLES.split(";")):
            db.execute(statement)

    def over(self, records: Iterable[Record]) -> Iterator[Record]:
        """Pass records on, noting what they say."""
        for number, record in enumerate(records, 1):
            with suppress(ValueError, KeyError, TypeError):  # no record at all: a fault of the chain, named there
                self._note(record.seq, orjson.loads(record.body))
            if number % _AT_ONCE == 0:
                self._write()
            yield record
        self._write()
        for statement in filter(str.strip, INDEXES.split(";")):
            self.db.execute(statement)

    def ask(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self.db.execute(sql, values).fetchall()

    def _note(self, seq: int, record: dict[str, Any]) -> None:
        event, session, data = record["event_type"], record["session_id"], record["data"]
        self.seen = self.seen or session == self.session
        promoted, self._promoted = self._promoted, None
        name = _text(data.get("scratch_id"))
        if event == "TOOL_CALL" and name and "reused" not in data:
            named = (_text(data.get(key)) for key in ("tool_name", "input_hash", "entry_hash"))
            self._add("call", _text(data["output_hash"]), session, name, seq, *named)
        elif event == "RECEIPT_ISSUED":
            receipt = _text(data["receipt"])
            self._add("issued", receipt, session, name, seq, _text(data.get("supersedes")))
            self._note_given(receipt, session, data)
            if promoted is not None:
                self._add("promoted", *promoted, receipt)
        elif event in ("PINNED", "UNPINNED") and name:
            self._add("pin", name, session, seq, int(event == "PINNED"))
        elif event == "TOMBSTONED" and name:
            self._add("gone", _text(data["item_digest"]), session, name, seq, _text(data["tombstone"]), "purged", None)
        elif event == "TOMBSTONED":
            self._note_loose(seq, session, data)
        elif event == "EVICTED" and name:
            self._add("gone", None, session, name, seq, None, "evicted", _text(data.get("stub_hash")))
        elif event == "PROMOTED":
            at = datetime.fromisoformat(record["timestamp"]).timestamp()
            self._promoted = (_number(data["fact"]), name, _number(data.get("supersedes")), seq, at)
        elif event == "REINVOKED" and name:
            self._add("replaced", name, _text(data.get("supersedes")), session, seq)
        elif event == "RECEIPT_REJECTED":
            self._add("refused", _text(data.get("rejection")), seq)

    def _note_given(self, receipt: str | None, session: str, data: dict[str, Any]) -> None:
        """Which leaves of a context are of facts and turns; a row without a leaf says that the record tells of them."""
        if "facts" in data or "turns" in data:
            self._add("given", receipt, -1, None)
        for leaf, key in data.get("facts", ()):
            self._add("given", receipt, _number(leaf), fact_item(key))
        for leaf, key in data.get("turns", ()):
            self._add("given", receipt, _number(leaf), turn_item(session, key))

    def _note_loose(self, seq: int, session: str, data: dict[str, Any]) -> None:
        """A fact or the words of a turn that were erased; with a tombstone for each leaf that contexts have of them."""
        what = "fact" if "fact" in data else "turn"
        key = _number(data[what])
        if what == "fact":
            self._add("erased", key, None, seq)
        if "item_digest" in data:
            digest, stone = _text(data["item_digest"]), _text(data["tombstone"])
            self._add("gone", digest, session, f"{what} {key}", seq, stone, "loose", None)

    def _add(self, kind: str, *values: object) -> None:
        self._waiting[kind].append(values)

    def _write(self) -> None:
        for kind, rows in self._waiting.items():
            if rows:
                marks = ", ".join("?" * _KINDS[kind])
                self.db.executemany(f"REPLACE INTO said.{kind} {_COLUMNS.get(kind, '')} VALUES ({marks})", rows)
                rows.clear()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and abs(value) < 2**63 else None
