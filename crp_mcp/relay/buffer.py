"""Keeps the buffer within its budget (SPEC-029 §11): what is evicted, when a pin is refused, when it is full."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from crp_mcp.core.model import Entry, Scope
from crp_mcp.core.safety import SafetyPolicy
from crp_mcp.errors import Refused
from crp_mcp.store import Counters, Head, Sealed, SqliteStore, limits

from .sealing import Sealer
from .turns import GAP_SECONDS

GIB, MIB = 1 << 30, 1 << 20
PINNED_SHARE = 0.8
"""Share of a budget that pins may fill: the rest is for what is to come."""
SPARE = 500
"""Evicting goes on until 1/500 of the budget is free, so that a full buffer is not tidied at every call."""
BATCH = 200
TURN_SECONDS = 1800.0
"""An entry older than this is of no turn at hand, even if its conversation never went on."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Most bytes on disk, and entries, of the store and of one conversation."""

    store_bytes: int = 2 * GIB
    store_entries: int = 100_000
    conversation_bytes: int = 512 * MIB
    conversation_entries: int = 100_000


@dataclass(frozen=True, slots=True)
class _Limit:
    """One budget that counts: of the store (no conversation) or of a conversation."""

    scope: Scope | None
    bytes: int
    entries: int

    def over(self, counters: Counters, spare: int = 0) -> bool:
        room_bytes, room_entries = (self.bytes // SPARE, self.entries // SPARE) if spare else (0, 0)
        return counters.stored_bytes > self.bytes - room_bytes or counters.entries > self.entries - room_entries


@dataclass(slots=True)
class Buffer:
    """The limits of one store."""

    store: SqliteStore
    sealer: Sealer
    now: Callable[[], float]
    budget: Budget
    evicted: bool = False
    """Whether something was evicted whose bytes are still on the disk."""
    _derived: dict[Scope, list[str]] = field(default_factory=dict, init=False)
    """Evicted entries, by tenant and project, of which something derived may be left."""

    def make_room(self, scope: Scope, newest: Entry, policy: SafetyPolicy) -> bool:
        """Evict until everything fits. True where it does not: all that is left is pinned or still in use."""
        if not self.is_over(scope):
            return False
        full = False
        for limit in self._limits(scope):
            if not limit.over(self.store.counters(limit.scope)):
                continue
            if policy.evicts:
                self._evict(limit, scope, newest)
            full = limit.over(self.store.counters(limit.scope)) or full
        if full:
            self._say_full(scope, newest)
        return full

    def is_over(self, scope: Scope) -> bool:
        """Whether more is kept than the budget allows: what is pinned or in use alone does not fit."""
        totals = self.store.ask(limits.totals, scope)
        return any(limit.over(counters) for limit, counters in zip(self._limits(scope), totals, strict=True))

    def is_full(self, scope: Scope) -> bool:
        """Whether nothing more fits."""
        for limit in self._limits(scope):
            counters = self.store.counters(limit.scope)
            if counters.entries >= limit.entries or counters.stored_bytes >= limit.bytes:
                return True
        return False

    def may_pin(self, entry: Entry) -> None:
        """Raise Refused where pins fill too much of the budget already."""
        for limit in self._limits(entry.scope):
            counters = self.store.counters(limit.scope)
            pinned = self.store.ask(limits.pinned_bytes, limit.scope)
            if counters.pinned + 1 > PINNED_SHARE * limit.entries or pinned > PINNED_SHARE * limit.bytes:
                of = "this conversation" if limit.scope else "the store"
                raise Refused(
                    f"{entry.scratch_id} is not pinned: pins fill {PINNED_SHARE:.0%} of the budget of {of} "
                    f"({counters.pinned} pinned); unpin others, or have the operator raise the budget"
                )

    @property
    def owes(self) -> bool:
        """Whether `give_back` has something to do."""
        return self.evicted or bool(self._derived)

    def give_back(self, forget: Callable[[Scope, Sequence[str]], bool]) -> None:
        """Return the bytes of what was evicted to the disk.

        `forget` drops what was derived from entries; False: not all of it yet, so it is asked again.
        """
        if self.evicted:
            self.evicted = False
            self.store.sweep_uploads()
            self.store.shrink()
        derived, self._derived = self._derived, {}
        for space, ids in derived.items():
            if not forget(space, ids):
                self._derived.setdefault(space, []).extend(ids)

    def _limits(self, scope: Scope) -> tuple[_Limit, ...]:
        budget = self.budget
        return (
            _Limit(scope, budget.conversation_bytes, budget.conversation_entries),
            _Limit(None, budget.store_bytes, budget.store_entries),
        )

    def _evict(self, limit: _Limit, scope: Scope, newest: Entry) -> None:
        while True:
            counters = self.store.counters(limit.scope)
            too_many = counters.entries - (limit.entries - limit.entries // SPARE)
            too_much = counters.stored_bytes - (limit.bytes - limit.bytes // SPARE)
            if too_many <= 0 and too_much <= 0:
                return
            if not self._evict_some(limit, scope, newest, too_many, too_much):
                return

    def _evict_some(self, limit: _Limit, scope: Scope, newest: Entry, too_many: int, too_much: int) -> int:
        now, gone = self.now(), list[limits.Evicted]()

        def change(db: sqlite3.Connection) -> int:
            conversation = limits.conversation_row(db, limit.scope) if limit.scope else None
            times = now, now - TURN_SECONDS, now - GAP_SECONDS
            found = limits.candidates(db, conversation, *times, newest.scratch_id, BATCH)
            chosen, size = list[int](), 0
            for one in found:
                if len(chosen) >= too_many and size >= too_much:
                    break
                chosen.append(one.seq)
                size += one.stored_bytes
            gone.extend(limits.evict(db, chosen, now))
            return len(gone)

        def seal(head: Head) -> Sealed:
            return self.sealer.evicted(head, gone, "budget", now)

        count = self.store.append(seal, change, scope)
        self.evicted = self.evicted or count > 0
        for one in gone:
            self._derived.setdefault(replace(one.entry.scope, conversation=""), []).append(one.entry.scratch_id)
        return count

    def _say_full(self, scope: Scope, newest: Entry) -> None:
        data = {"scratch_id": newest.scratch_id}
        now = self.now()
        self.store.append(
            lambda head: self.sealer.note(head, scope, "SCRATCH_FULL", data, now, newest.turn_id),
            lambda db: None,
            scope,
        )
