"""Labels: how an upstream's own word may raise one, and who may see what. Withholding is said and recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from crp_mcp.core.model import Entry, Scope
from crp_mcp.errors import Refused
from crp_mcp.proof.lattice import Lattice
from crp_mcp.store import Store, Stub

from .sealing import Sealer

LABEL_KEY = "dev.crp/label"
EVERYONE = "*"
NAMED_MOST = 5
"""Entries that a sentence names; the record has more of them."""


class Withheld(Refused):
    """Something is above the clearance of who asks for it. The sentence says so, and nothing of the content."""

    code = "WITHHELD"


def hints_of(result: bytes) -> tuple[object, ...]:
    """The labels an upstream gave a result, or a block of it, in `_meta`. One that cannot be read counts as unknown."""
    if LABEL_KEY.encode() not in result:
        return ()
    try:
        value = orjson.loads(result)
    except orjson.JSONDecodeError:
        return (None,)
    return tuple(_hints(value)) if isinstance(value, dict) else ()


def _hints(result: dict[str, Any]) -> Iterator[object]:
    content = result.get("content")
    for holder in (result, *(content if isinstance(content, list) else ())):
        for place in (holder, holder.get("resource")) if isinstance(holder, dict) else ():
            meta = place.get("_meta") if isinstance(place, dict) else None
            if isinstance(meta, dict) and LABEL_KEY in meta:
                yield meta[LABEL_KEY]


def label_of(declared: str, hints: Sequence[object], lattice: Lattice) -> str:
    """The declared label, raised by an upstream's hint that is higher; an unknown one counts as the top."""
    return lattice.join((declared, *hints))


@dataclass(frozen=True, slots=True)
class Clearances:
    """Who may see up to which label. Nothing said: everything. The strictest of what is said holds."""

    given: tuple[tuple[str, str], ...]
    lattice: Lattice

    def of(self, scope: Scope) -> str | None:
        """The highest label shown to a scope; None for no limit. An unknown label clears the lowest alone."""
        whom = (EVERYONE, f"tenant:{scope.tenant}", f"conversation:{scope.conversation}")
        ranks = [self._rank(label) for name, label in self.given if name in whom]
        return self.lattice.labels[min(ranks)] if ranks else None

    def clears(self, scope: Scope, label: str) -> bool:
        """Whether a scope may see what carries this label."""
        clearance = self.of(scope)
        return clearance is None or self.lattice.clears(clearance, label)

    def _rank(self, label: str) -> int:
        return self.lattice.labels.index(label) if label in self.lattice.labels else 0


@dataclass(slots=True)
class Guard:
    """Lets through what a scope is cleared for; what is withheld is recorded."""

    store: Store
    sealer: Sealer
    clearances: Clearances
    now: Callable[[], float]

    def clears(self, scope: Scope, entry: Entry | Stub) -> bool:
        """Whether `scope` may see an entry, or what is left of it: by its label, and by its signed ceiling.

        Records nothing.
        """
        if self.clearances.of(scope) is None:
            return True
        clears = self.clearances.clears
        return clears(scope, str(entry.label)) and clears(scope, str(self.sealer.raised(entry).label))

    def check(self, scope: Scope, *entries: Entry | Stub) -> None:
        """Raise Withheld, and record it, unless all of these may be seen by `scope`."""
        above = [entry for entry in entries if not self.clears(scope, entry)]
        if above:
            self.record(scope, above)
            raise Withheld(self.sentence(scope, above))

    def sentence(self, scope: Scope, above: Sequence[Entry | Stub]) -> str:
        """What to say in place of what is withheld."""
        names = ", ".join(entry.scratch_id for entry in above[:NAMED_MOST])
        if len(above) > NAMED_MOST:
            names += f" and {len(above) - NAMED_MOST} more"
        label = self._label(above)
        return (
            f"{names} withheld: labelled {label}, above the clearance of this conversation "
            f"({self.clearances.of(scope)}); the operator sets clearances"
        )

    def _label(self, above: Sequence[Entry | Stub]) -> str:
        return self.sealer.lattice.join(self.sealer.raised(entry).label for entry in above)

    def record(self, scope: Scope, above: Sequence[Entry | Stub]) -> None:
        """One record for everything that was withheld at once."""
        data = {
            "scratch_ids": [entry.scratch_id for entry in above][:100],
            "count": len(above),
            "label": self._label(above),
            "clearance": self.clearances.of(scope),
        }
        now = self.now()
        self.store.append(lambda head: self.sealer.note(head, scope, "WITHHELD", data, now), lambda db: None, scope)
