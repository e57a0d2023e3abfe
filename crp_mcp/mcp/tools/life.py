"""Runs `scratch_pin` and `record_turn`: what keeps an entry, and what says that a turn went by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crp_mcp.core.model import Entry, Persistence
from crp_mcp.errors import BadRequest, Refused
from crp_mcp.relay.facts import Facts
from crp_mcp.relay.using import Ask, Using

from .answers import answer
from .arguments import Arguments

LONGEST_TEXT = 100_000


@dataclass(slots=True)
class LifeTools:
    """Pins, promotions and turns over one store."""

    using: Using
    facts: Facts

    def pin(self, given: Arguments, ask: Ask) -> dict[str, Any]:
        """`scratch_pin`. Raises CrpError for what is wrong with the call."""
        reference = str(given.text("scratch_id", required=True)).removeprefix("scratch://").strip()
        name = given.text("name", limit=200)
        unpin, promote = given.flag("unpin") or False, given.flag("promote") or False
        given.done()
        if unpin and promote:
            raise BadRequest("scratch_pin: `unpin` and `promote` exclude each other: only a pinned result is promoted")
        line, handles = self.set_pin(ask, reference, name, unpin=unpin, promote=promote)
        return answer(line, None, handles)

    def set_pin(
        self, ask: Ask, reference: str, name: str | None, *, unpin: bool = False, promote: bool = False
    ) -> tuple[str, dict[str, Any]]:
        """Pin, unpin or promote an entry: the sentence to say, and handles. Raises NotFound, BadRequest, Refused."""
        before, said = self.using.find(ask.scope, reference)
        if promote:
            self.facts.may_promote(before)  # before it is pinned: what is refused changes nothing
        if unpin:
            line, entry = self._unpin(before, ask)
        else:
            line, entry = self._pin(before, name, ask)
        handles: dict[str, Any] = {"scratch_id": entry.scratch_id, "name": entry.name}
        if promote:
            fact, old = self.facts.promote(entry, ask.scope, ask.turn)
            line += f"; promoted to fact {fact.id}" + (f", which supersedes fact {old.id}" if old else "")
            handles["fact"] = fact.id
        return line + (f"; {said}" if said else ""), handles

    def _pin(self, before: Entry, name: str | None, ask: Ask) -> tuple[str, Entry]:
        entry, taken_from = self.using.pin(before, name, {"reason": "asked"}, asked_in=ask.scope)
        as_name = f' as "{entry.name}"' if entry.name else ""
        moved = f"; {taken_from} had that name before and stays pinned" if taken_from else ""
        return f"{entry.scratch_id} pinned{as_name}{moved}", entry

    def _unpin(self, before: Entry, ask: Ask) -> tuple[str, Entry]:
        if ask.policy.audits:
            raise Refused(f"{before.scratch_id} stays pinned: everything is kept for audit (tool-output-retain=audit)")
        entry = self.using.unpin(before)
        said = "unpinned" if before.persistence is Persistence.PINNED else "was not pinned"
        return f"{entry.scratch_id} {said}", entry

    def record_turn(self, given: Arguments, ask: Ask) -> dict[str, Any]:
        """`record_turn`. Raises CrpError for what is wrong with the call."""
        role = str(given.text("role", required=True))
        text = given.text("text", limit=LONGEST_TEXT)
        number = given.whole("turn", 0, high=2**31 - 1) or None
        decision = given.mapping("decision")
        if decision is not None and not (decision.get("question") or decision.get("chosen")):
            raise BadRequest(
                "record_turn: `decision` says nothing; give {question, chosen, alternatives, rationale}, at least "
                "question or chosen"
            )
        given.done()
        turn, said = self.using.declared(ask, role, text, number, decision)
        return answer("; ".join([f"turn {turn.number} recorded", *said]), None, {"turn": turn.number})
