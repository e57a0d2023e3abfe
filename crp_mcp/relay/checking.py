"""Claims held against what is stored: which results are evidence, the verdicts, and the record of them.

How a sentence is read is core/claims; how an answer is worded is the tools'.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from crp_mcp.core.claims import Attribution, Evidence, Options, Outcome, Verdict, check_claims, claims_of, make_evidence
from crp_mcp.core.model import Entry, Scope
from crp_mcp.core.shape import shape_from_json
from crp_mcp.errors import NotFound
from crp_mcp.proof.chain import salted_digest, salted_hash
from crp_mcp.store import SqliteStore

from . import grounding
from .labels import Withheld
from .reading import Reader
from .sealing import Sealer
from .using import Ask, Using

LATEST = 50
"""So many of a conversation's newest results are evidence, besides those a text cites."""
READ_BYTES = 32 << 20
"""Larger payloads are not read whole: what is said of them stays undecided. Parsed they take several times as much."""
KEPT_BYTES = 16 << 20
"""Payloads of results whose parsed form is kept from one check to the next, together."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Verdicts in the order of the text, the entries they rest on by id, and what must be said of those."""

    verdicts: tuple[Verdict, ...]
    entries: dict[str, Entry]
    notes: dict[str, str]
    """By id: that a result was stale."""
    withheld: str | None = None
    """The sentence that says which of the newest results were no evidence, being above the clearance."""

    @property
    def attributed(self) -> int:
        """Claims that a result decided, either way; not those that only a fact or a turn did."""
        return sum(_of_tool(verdict) for verdict in self.verdicts)

    @property
    def distorted(self) -> int:
        return sum(verdict.outcome is Outcome.CONTRADICTED and _of_tool(verdict) for verdict in self.verdicts)


def _of_tool(verdict: Verdict) -> bool:
    return verdict.checked and verdict.attribution in (Attribution.TOOL_GROUNDED, Attribution.MIXED)


def _sources(entry: Entry) -> tuple[str, ...]:
    """The results that the answer of a query was computed from."""
    made = entry.tool_call_args.get("derivedFrom", ()) if entry.origin == "query" else ()
    return tuple(str(one.get("scratch_id")) for one in made if isinstance(one, dict))


@dataclass(slots=True)
class Checker:
    """Checks texts against one store."""

    store: SqliteStore
    sealer: Sealer
    reader: Reader
    using: Using
    now: Callable[[], float]
    _kept: OrderedDict[tuple[str, str], tuple[Evidence, int]] = field(default_factory=OrderedDict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def check(
        self, ask: Ask, text: str, references: Sequence[str] | None = None, *, require_citation: bool = False
    ) -> Checked:
        """Every claim of `text` with its verdict, recorded. `references`: ids, names or phrases; None is the newest.

        Raises NotFound or Withheld for a reference.
        """
        entries, known = self._evidence_of(ask, text, references)
        must_cite = require_citation or ask.policy.must_cite
        options = Options(require_citation=must_cite, known_ids=known, picked=bool(references))
        evidence = [self.evidence(entry) for entry in entries]
        if not references:
            evidence += self._besides(ask.scope, entries)
        verdicts = tuple(check_claims(text, evidence, options=options))
        named = {finding.scratch_id for verdict in verdicts for finding in verdict.findings}
        used = {entry.scratch_id: entry for entry in entries if entry.scratch_id in named}
        self._record(ask, verdicts, used)
        withheld = None if references else self._withheld(ask.scope)
        return Checked(verdicts, used, self._notes(ask, used.values()), withheld)

    def newest(self, scope: Scope, limit: int = LATEST) -> list[Entry]:
        """The newest results of a conversation that it may see, oldest first."""
        page = self.store.list(scope, limit=limit).entries
        shown = self.reader.visible(scope, page)
        found = [self.store.get(scope, entry.scratch_id) for entry in page if entry.scratch_id in shown]
        newest = [entry for entry in reversed(found) if isinstance(entry, Entry)]
        return self._sources_of(scope, newest) + newest

    def evidence(self, entry: Entry) -> Evidence:
        """An entry as evidence; its payload is read when a claim first needs it, and what it holds is kept a while."""
        key = (entry.scope.tenant, entry.scratch_id)
        names = tuple(name for name in (entry.name, entry.tool_class.value) if name)
        with self._lock:
            kept = self._kept.pop(key, None)
            found = replace(kept[0], names=names) if kept is not None else self._made(entry, names)
            if entry.payload_bytes <= KEPT_BYTES:
                self._kept[key] = (found, entry.payload_bytes)
                while sum(size for _, size in self._kept.values()) > KEPT_BYTES:
                    self._kept.popitem(last=False)
        return found

    def forget(self, ids: Iterable[str] | None = None) -> None:
        """Let go of what was parsed of these, or of everything."""
        gone = None if ids is None else set(ids)
        with self._lock:
            for key in [key for key in self._kept if gone is None or key[1] in gone]:
                del self._kept[key]

    # -- inside

    def _withheld(self, scope: Scope) -> str | None:
        """Said where the newest results are the evidence; `newest` has recorded it."""
        return self.reader.withheld(scope, self.store.list(scope, limit=LATEST).entries, recorded=True)

    def _sources_of(self, scope: Scope, entries: Sequence[Entry]) -> list[Entry]:
        """Results that answers of queries were computed from and that are not among these: they are what decides."""
        given = {entry.scratch_id for entry in entries}
        wanted = dict.fromkeys(one for entry in entries for one in _sources(entry) if one not in given)
        found = (grounding.entry_of(self.store, scope, one) for one in wanted)
        return [entry for entry in found if entry is not None and self.reader.may_see(scope, entry)]

    def _besides(self, scope: Scope, entries: Sequence[Entry]) -> list[Evidence]:
        """Facts of the project and turns of the conversation, where nobody chose the results."""
        known = grounding.fact_sources(self.store, self.reader, scope, entries)
        facts = [grounding.as_fact(fact, self.evidence(source)) for fact, source in known]
        return facts + grounding.turn_evidence(self.store, self.reader, scope)

    def _made(self, entry: Entry, names: Sequence[str]) -> Evidence:
        return make_evidence(
            entry.scratch_id,
            lambda: b"".join(self.store.iter_payload(entry.payload_id)),
            shape=None if entry.structured is None else shape_from_json(entry.structured),
            form=entry.form,
            is_error=entry.is_error,
            tool=entry.tool_name,
            server=entry.server,
            args=entry.tool_call_args,
            provenance_hash=entry.provenance_hash,
            names=names,
            size=entry.payload_bytes,
            derived_from=_sources(entry),
            largest=READ_BYTES,
        )

    def _evidence_of(
        self, ask: Ask, text: str, references: Sequence[str] | None
    ) -> tuple[list[Entry], tuple[str, ...]]:
        """Entries oldest first, and the ids that exist but are none of them: withheld, gone, or not asked about."""
        if references:
            entries = [self.using.find(ask.scope, one)[0] for one in references]
        else:
            entries = self.newest(ask.scope)
        found = {entry.scratch_id: entry for entry in entries}
        known: list[str] = []
        for cited in dict.fromkeys(one for claim in claims_of(text) for one in claim.cited):
            if cited in found:
                continue
            known.append(cited)
            try:
                entry = self.reader.entry(ask.scope, cited)
            except Withheld:
                continue
            except NotFound:
                if not self._was(ask.scope, cited):
                    known.pop()
                continue
            if not references:
                found[entry.scratch_id] = entry
        return sorted(found.values(), key=lambda entry: entry.created_at), tuple(known)

    def _was(self, scope: Scope, scratch_id: str) -> bool:
        """Whether there was such a result, which is gone."""
        try:
            self.store.get(scope, scratch_id)
        except NotFound:
            return False
        return True

    def _record(self, ask: Ask, verdicts: Sequence[Verdict], entries: dict[str, Entry]) -> None:
        """One record for each result that a claim rests on, a second one where the claim distorts it."""
        salts = {one: self.store.salt(entry.scope, one) for one, entry in entries.items()}
        said: list[tuple[str, Entry, dict[str, Any]]] = []
        for verdict in verdicts:
            rests_on = [finding.scratch_id for finding in verdict.findings if finding.scratch_id in entries]
            for scratch_id in dict.fromkeys(rests_on):
                salt = salts[scratch_id]
                here = replace(entries[scratch_id], scope=ask.scope, turn_id=ask.turn)
                claim_hash = salted_hash(salt, verdict.claim.text.encode("utf-8", "surrogatepass"))
                digest = salted_digest(salt, here.provenance_hash)
                data = {"claim_hash": claim_hash, "provenance_hash": digest, "verdict": str(verdict.outcome)}
                said.append(("TOOL_CLAIM_CHECKED", here, data))
                if verdict.distortion is not None:
                    wrong = {"claim_hash": claim_hash, "provenance_hash": digest, "distortion": str(verdict.distortion)}
                    said.append(("DISTORTION_DETECTED", here, wrong))
        if said:
            now = self.now()
            self.store.append(lambda head: self.sealer.events(head, said, now), lambda db: None, ask.scope)

    def _notes(self, ask: Ask, entries: Iterable[Entry]) -> dict[str, str]:
        """Values of these are given: that is a use, and what is stale is said to be."""
        notes = {}
        for entry in entries:
            self.using.use(ask, entry, explicit=True)
            fresh = self.reader.freshness(entry)
            if not fresh.endswith(", fresh"):
                notes[entry.scratch_id] = fresh
        return notes
