"""Which turn a call belongs to, and what a declared turn does: it is logged, and "keep that" pins what it refers to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from crp_mcp.core.model import Entry, Scope, Turn
from crp_mcp.core.naming import tidy_name
from crp_mcp.errors import BadRequest
from crp_mcp.store import Head, Sealed, SqliteStore
from crp_mcp.store import turns as rows

TURN_KEY = "dev.crp/turn"
GAP_SECONDS = 30.0
"""Where nobody declares turns, so long without a call begins a new one."""
MAX_TURN = 2**31
ROLES = ("user", "assistant")

_KEEP = re.compile(
    r"""\b(?:save|keep|remember|pin|hold\s+on\s+to)\s+
        (?: (?:that|this|those|these|the|my|our|all)\s+(?!i\b|we\b|you\b|he\b|she\b|they\b|it\b|to\b)\w+
          | (?:it|that|this|those|them|these)
                (?=\s*(?:$|[.,;:!?)]|\b(?:as|for|under|please|too|around|safe|handy|somewhere)\b))
        ) [^.!?]*
      | \buse\s+(?:it|that|this|those|these|them|the)\b[^.!?]*\b(?:going\s+forward|from\s+now\s+on)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""SPEC-029 §5.3's words, with what they are said of. "Keep going" and "remember that we …" ask for no result."""
_NOT = re.compile(r"(?:n['\u2019]t|\bnot|\bnever|\bno\s+need\s+to)\s+(?:\w+\s+)?$", re.IGNORECASE)
_NAME = re.compile(
    r"""\b(?:call|name) (?:it|that|this|them|those|the \w+)?\s*["'“‘]([^"'”’]{1,80})["'”’]""", re.IGNORECASE
)
_AS = re.compile(r"""\b(?:as|under)\s+["'“‘]([^"'”’]{1,80})["'”’]""", re.IGNORECASE)
_AS_THE = re.compile(
    r"""\b(?:as|under|call\s+(?:it|that|this|them|those))\s+(?:the|my|our)\s+((?:[\w-]+\s+){0,3}[\w-]+)\s*(?:$|[.,;:!?])""",
    re.IGNORECASE,
)


def what_to_keep(text: str) -> str | None:
    """The part of a user's words that asks for a result to be kept (SPEC-029 §5.3), or None."""
    for found in _KEEP.finditer(text):
        if not _NOT.search(text[: found.start()]):
            return found[0]
    return None


def name_in(text: str, *, kept: bool = False) -> str | None:
    """The name a user's words give a result: `call it "q3 revenue"`, `save that as "budget"`.

    `kept`: the words ask to keep it; then a name needs no quotes where they end with it: `keep it as the budget`.
    """
    found = _NAME.search(text) or _AS.search(text) or (_AS_THE.search(text) if kept else None)
    return tidy_name(found[1]) if found else None


def nothing_sealed(head: Head) -> Sealed:
    """For what is not part of the audit trail."""
    return Sealed()


@dataclass(slots=True)
class Turns:
    """The turns of conversations."""

    store: SqliteStore
    now: Callable[[], float]

    def of_call(self, scope: Scope, meta: Mapping[str, Any]) -> int:
        """The turn a call is part of, made where it is new. Raises BadRequest for a declared one that is no number."""
        declared = meta.get(TURN_KEY)
        found: tuple[Turn, float] | None = self.store.ask(rows.at_hand, scope)
        last, active = found or (None, 0.0)
        if declared is not None:
            if isinstance(declared, bool) or not isinstance(declared, int) or not 0 < declared < MAX_TURN:
                raise BadRequest(f"{TURN_KEY} must be a whole number from 1 on")
            if last is not None and last.number == declared and last.declared:
                return declared
            return self._begin(scope, number=declared, declared=True).number
        if last is not None and (last.declared or self.now() - active < GAP_SECONDS):
            return last.number
        return self._begin(scope, declared=False).number

    def declare(
        self, scope: Scope, role: str, text: str | None, number: int | None, decision: Mapping[str, Any] | None
    ) -> Turn:
        """Log a turn the host or the model declared."""
        if role not in ROLES:
            raise BadRequest(f"role: {role[:40]!r} is none of {', '.join(ROLES)}")
        return self._begin(scope, number=number, declared=True, role=role, text=text, decision=decision)

    def used(self, scope: Scope, entry: Entry, turn: int | None, how: str) -> tuple[int, ...]:
        """Note that a turn used an entry. Returns the declared turns that referenced it so far, if this was new."""
        now = self.now()
        new = self.store.append(
            nothing_sealed, lambda db: rows.refer(db, scope, entry.scratch_id, turn, how, now), scope
        )
        return self.store.ask(rows.declared_references, scope, entry.scratch_id) if new else ()

    def _begin(self, scope: Scope, *, declared: bool, role: str = "unknown", **more: Any) -> Turn:
        now = self.now()
        return self.store.append(
            nothing_sealed, lambda db: rows.begin(db, scope, now, role=role, declared=declared, **more), scope
        )
