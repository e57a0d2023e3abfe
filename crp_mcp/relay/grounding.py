"""What is evidence besides results: facts of a project, and what was said in a conversation, as it may see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from crp_mcp.core.claims import Evidence, Source, said_evidence
from crp_mcp.core.model import Entry, Fact, FactStatus, Scope, Turn
from crp_mcp.errors import NotFound
from crp_mcp.store import SqliteStore, descent, facts, turns

from .reading import Reader

FACTS_MOST = 50
TURNS_MOST = 100
OWN_LABEL = "INTERNAL"
"""The least label of what somebody said: what has no label of its own."""


def turn_evidence(store: SqliteStore, reader: Reader, scope: Scope) -> list[Evidence]:
    """What the user said and what was decided, oldest first. What the model said proves nothing, so it is left out."""
    if reader.guard is not None and not reader.guard.clearances.clears(scope, OWN_LABEL):
        return []
    found = store.ask(turns.list_turns, scope, TURNS_MOST)
    return [
        said_evidence(f"turn:{turn.number}", _words(turn))
        for turn in reversed(found)
        if _words(turn) and _all_seen(store, reader, scope, store.ask(descent.behind_turn, scope, turn.number))
    ]


def _words(turn: Turn) -> str:
    if turn.decision is not None:
        return "\n".join(
            f"{turn.decision[k]}." for k in ("chosen", "rationale") if isinstance(turn.decision.get(k), str)
        )
    return (turn.text or "") if turn.role == "user" else ""


def _all_seen(store: SqliteStore, reader: Reader, scope: Scope, ids: Iterable[str]) -> bool:
    found = [entry_of(store, scope, one) for one in ids]
    return all(reader.may_see(scope, entry) for entry in found if entry is not None)


def entry_of(store: SqliteStore, scope: Scope, scratch_id: str) -> Entry | None:
    """A stored result; None for what is gone."""
    try:
        found = store.get(scope, scratch_id)
    except NotFound:
        return None
    return found if isinstance(found, Entry) else None


def fact_sources(
    store: SqliteStore, reader: Reader, scope: Scope, besides: Sequence[Entry]
) -> list[tuple[Fact, Entry]]:
    """Facts that hold, oldest first, each with the result it was taken from; none whose result is evidence itself."""
    given = {entry.scratch_id for entry in besides}
    out = []
    for fact in reversed(store.ask(facts.search, scope, "", FACTS_MOST)):
        if fact.status is not FactStatus.ACTIVE or fact.source is None or fact.source in given:
            continue
        source = entry_of(store, scope, fact.source)
        if source is not None and reader.may_see(scope, source):
            out.append((fact, source))
    return out


def as_fact(fact: Fact, evidence: Evidence) -> Evidence:
    """The evidence of a fact: the whole result that it was taken from, known by the fact's name."""
    return Evidence(
        f"fact:{fact.id}", evidence.load, evidence.tool, evidence.server, evidence.args, evidence.provenance_hash,
        evidence.names, evidence.columns, evidence.mentions, Source.FACT, (evidence.scratch_id,),
    )  # fmt: skip
