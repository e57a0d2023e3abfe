"""Promotion: a pinned result of lasting worth becomes a fact of the project (SPEC-029 §5.4). Only when asked for."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from crp_mcp.core.ages import iso_time
from crp_mcp.core.freshness import is_current
from crp_mcp.core.model import Entry, Fact, FactStatus, Kind, Persistence, Scope, Volatility
from crp_mcp.errors import NotFound, Refused
from crp_mcp.store import Head, Sealed, SqliteStore, changes, facts

from .labels import Guard
from .sealing import Sealer, Source, item_of
from .turns import nothing_sealed

LASTING = (Volatility.STABLE, Volatility.STATIC)
MAX_ARGUMENTS = 600
"""Characters of a call's arguments in a fact."""


@dataclass(slots=True)
class Facts:
    """The facts of the projects of one store. `summary`: an entry's summary, made if it has none yet."""

    store: SqliteStore
    sealer: Sealer
    now: Callable[[], float]
    summary: Callable[[Entry], str]
    guard: Guard | None = None

    def promote(self, entry: Entry, asked_in: Scope, turn: int | None = None) -> tuple[Fact, Fact | None]:
        """Keep what an entry says as a fact: it, and the fact it supersedes. A fact does not outlive its source.

        Raises:
            Refused: the entry is not pinned, of a kind of data that does not last, stale, or an error.
        """
        if entry.persistence is not Persistence.PINNED:
            raise Refused(f"{entry.scratch_id} is not promoted: only a pinned result becomes a fact; pin it first")
        self.may_promote(entry)
        content = statement(entry, self.summary(entry) if entry.kind is not Kind.SCALAR else self._value(entry))
        digest = "sha256:" + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        now, known = self.now(), self._same_call(entry)
        salt = self.store.salt(entry.scope, entry.scratch_id)
        source = Source(entry.scratch_id, item_of(self.sealer.raised(entry), salt))
        made: list[tuple[Fact, Fact | None]] = []

        def change(db: sqlite3.Connection) -> tuple[Fact, Fact | None]:
            made.append(
                facts.add(
                    db,
                    entry.scope,
                    content=content,
                    content_hash=digest,
                    source=entry.scratch_id,
                    about=known,
                    importance=importance(entry),
                    now=now,
                    ttl=entry.freshness_ttl,
                    expires_at=entry.expires_at,
                )
            )
            return made[0]

        def seal(head: Head) -> Sealed:
            fact, old = made[0]
            data = {"scratch_id": entry.scratch_id, "fact": fact.id}
            promoted = ("PROMOTED", data if old is None else {**data, "supersedes": old.id})
            return self.sealer.assembled(
                head, asked_in, sources=[source], output_hash=digest, turn_id=turn, now=now, first=(promoted,)
            )[0]

        return self.store.append(seal, change, entry.scope)

    def may_promote(self, entry: Entry) -> None:
        """Raises Refused for what can become no fact, pinned or not."""
        why = self._refusal(entry)
        if why is not None:
            raise Refused(f"{entry.scratch_id} is not promoted: {why}")

    def search(self, scope: Scope, words: str, limit: int = 20) -> list[Fact]:
        """The facts of a project that hold all the words, best first. Each is counted as used once more."""
        found = self._visible(scope, self.store.ask(facts.search, scope, words, limit))
        if found:
            self.store.append(nothing_sealed, lambda db: facts.accessed(db, found), scope)
        return found

    def _visible(self, scope: Scope, found: list[Fact]) -> list[Fact]:
        """Those whose source may be seen: a fact has the label of what it was made from."""
        if self.guard is None:
            return found
        guard, above, shown = self.guard, list[Entry](), list[Fact]()
        for fact in found:
            try:
                source = self.store.get(scope, fact.source or "")
            except NotFound:
                continue
            if isinstance(source, Entry) and not guard.clears(scope, source):
                above.append(source)
            elif isinstance(source, Entry) or guard.clearances.of(scope) is None:
                shown.append(fact)
        if above:
            guard.record(scope, above)
        return shown

    def set_status(self, scope: Scope, key: int, status: FactStatus, why: str | None = None) -> Fact:
        """Change what a fact counts as. Raises NotFound."""
        return self.store.append(nothing_sealed, lambda db: facts.set_status(db, scope, key, status, why), scope)

    def _refusal(self, entry: Entry) -> str | None:
        if entry.volatility not in LASTING:
            return f"{entry.volatility.value} readings have no lasting truth; only STABLE and STATIC ones do"
        if entry.is_error or entry.kind in (Kind.ERROR, Kind.EMPTY):
            return "it is an error or empty"
        if not is_current(entry, self.now()):
            return f"it is stale; call {entry.tool_name} again first"
        return None

    def _same_call(self, entry: Entry) -> tuple[str, ...]:
        """The entry and its earlier revisions: a fact from one of these is the same fact, changed."""
        before: list[Entry] = self.store.ask(changes.revisions, entry.scope, entry.scratch_id)
        return tuple(dict.fromkeys([entry.scratch_id, *(one.scratch_id for one in before), entry.supersedes or ""]))

    def _value(self, entry: Entry) -> str:
        return self.store.read(entry.payload_id, 0, entry.payload_bytes).decode("utf-8", "replace").strip()


def statement(entry: Entry, value: str) -> str:
    """A full statement: tool, arguments, value, time. It says by itself what it is about."""
    arguments = orjson.dumps(dict(entry.tool_call_args), default=str, option=orjson.OPT_SORT_KEYS).decode()
    if len(arguments) > MAX_ARGUMENTS:
        arguments = arguments[:MAX_ARGUMENTS] + "…"
    called = f"{entry.name}: " if entry.name else ""
    return f"{called}{entry.server}:{entry.tool_name} {arguments} gave {value} (at {iso_time(entry.created_at)})"


def importance(entry: Entry) -> float:
    """0.5 for what was just pinned, more for what was named and referenced often; at most 1."""
    return min(1.0, 0.5 + (0.1 if entry.name else 0.0) + 0.1 * len(entry.referenced_by))
