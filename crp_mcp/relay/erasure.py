"""Erasure, carried out: each group of items that hang together is one transaction; afterwards the file is cleaned.

A transaction has tombstones, removal, and what stands in with receipts that supersede. What goes is planned before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from crp_mcp.core.model import Entry, Persistence, Scope
from crp_mcp.core.shape import read_shape
from crp_mcp.errors import NotFound, Refused
from crp_mcp.proof.eccr import parse_leaf
from crp_mcp.store import SqliteStore, Stub, descent, erase

from .choosing import Selection
from .leaving import Gone, Loose, Stone, said_of
from .matching import Matcher
from .planning import BATCH, Plan, Planner, Step, groups_of, space_of
from .rebuilding import Left, Made, Rebuilder
from .remaining import Remains, emptied
from .sealing import Sealer, item_of

Question = Callable[..., list[descent.LooseText]]
TRIES = 5
IN_USE = "what is to be erased is in use and keeps changing; try again"
WHOLE_FILE = 256 << 20
"""Store files up to this size are cleaned at once, also when nobody asked; larger ones by `crp-mcp sweep`."""


@dataclass(slots=True)
class Report:
    """What was done. `pending`: another process still reads from the store's log, so bytes may stand there."""

    purged: list[str] = field(default_factory=list)
    rebuilt: dict[str, str] = field(default_factory=dict)
    """Old id -> id of what stands in."""
    stubs: list[str] = field(default_factory=list)
    texts: int = 0
    tombstones: int = 0
    pending: bool = False
    finished: int = 0
    """Earlier transactions of erasures whose bytes had had to wait, and are now in no file any more."""


@dataclass(frozen=True, slots=True)
class _Order:
    """How an erasure is done: its reason in the records, the word in the stubs, and what rows it is about."""

    reason: str
    why: str
    matcher: Matcher | None = None
    rows: bool = False


@dataclass(slots=True)
class Eraser:
    """Plans and carries out. `forget` removes what else was derived from entries on disk; False where it must wait."""

    store: SqliteStore
    sealer: Sealer
    rebuilder: Rebuilder
    now: Callable[[], float]
    forget: Callable[[Scope, Sequence[str]], bool] = lambda scope, ids: True
    tidy: Callable[[], bool] = lambda: True
    """Removes caches of what is gone and spooled lines of dead processes; False where it must wait."""

    @property
    def planner(self) -> Planner:
        return Planner(self.store, self.rebuilder)

    def plan(self, selection: Selection, *, rows: bool = False) -> Plan:
        """Everything `selection` chooses and everything built on it. Raises BadRequest, or NotFound for an id."""
        return self.planner.plan(selection, rows=rows)

    def carry_out(self, plan: Plan, *, reason: str, why: str = "purged", rows: bool = False) -> Report:
        """Do what the plan says, planning anew what changed meanwhile, and clean the file. Raises StoreError."""
        report, waiting = Report(), self.store.ask(descent.waiting)
        matcher = Matcher(plan.selection.matching) if plan.selection.matching else None
        for group in groups_of(plan.steps):
            self._surely(group, report, _Order(reason, why, matcher, rows))
        self._loose(plan, report, reason, why)
        return self._cleaned(report, waiting)

    def clean(self, most_bytes: int | None = None) -> bool:
        """Leave no byte of what was erased in any file. False where that must wait: ask again."""
        tidied = self.tidy()
        return self.store.scrub(most_bytes) and tidied

    def sweep(self, report: Report | None = None, *, most_bytes: int | None = None) -> Report:
        """Purge what has reached the end of its retention, and finish what was left to do."""
        report, waiting = report or Report(), self.store.ask(descent.waiting)
        while expired := self.store.expired(self.now(), BATCH):
            whole = [self.store.get(entry.scope, entry.scratch_id) for entry in expired]
            there = [entry for entry in whole if isinstance(entry, Entry)]
            for group in groups_of(self.planner.plan_of(there).steps):
                self._surely(group, report, _Order("retention", "expired"))
        while stubs := self.store.ask(descent.expired_stubs, self.now(), BATCH):
            self._loose(Plan(Selection(), stubs=stubs), report, "retention", "expired")
        if facts := self.store.ask(descent.expired_facts, self.now()):
            self._loose(Plan(Selection(), texts=facts), report, "retention", "expired")
        return self._cleaned(report, waiting, most_bytes)

    def _cleaned(self, report: Report, waiting: int, most_bytes: int | None = None) -> Report:
        report.pending = not self.clean(most_bytes)
        report.finished = 0 if report.pending else waiting
        return report

    def forget_one(self, scope: Scope, reference: str) -> Report:
        """Erase one entry at the wish of a model: unpinned, of its own conversation, nothing of others built on it."""
        entry = self.store.get(scope, reference)
        if isinstance(entry, Stub):
            raise NotFound(f"{entry.scratch_id} is gone already ({entry.why})")
        plan = self.planner.plan_of([entry])
        for step in plan.steps:
            name = step.entry.scratch_id
            what = name if step.because is None else f"{name}, which was made from it,"
            if step.entry.scope != scope:
                raise Refused(
                    f"{what} belongs to another conversation: ask the operator (`crp-mcp purge {entry.scratch_id}`)"
                )
            if step.entry.persistence is Persistence.PINNED:
                raise Refused(f"{what} is pinned: unpin it first")
        report = Report()
        for group in groups_of(plan.steps):
            self._surely(group, report, _Order("forget", "purged"))
        report.pending = not self.clean(WHOLE_FILE)
        return report

    def _surely(self, group: list[Step], report: Report, order: _Order) -> None:
        """Do it, planned anew where something was built on an item meanwhile."""
        for _ in range(TRIES):
            try:
                return self._do(group, report, order)
            except (erase.PlanChanged, NotFound):
                group = self._again(group)
        raise Refused(IN_USE)

    def _again(self, group: list[Step]) -> list[Step]:
        """The group as it is now."""
        names = {step.entry.scratch_id for step in group}
        first = [step.entry for step in group if step.because is None or step.because not in names]
        there = [self.store.get(entry.scope, entry.scratch_id) for entry in first]
        return self.planner.plan_of([entry for entry in there if isinstance(entry, Entry)]).steps

    def _do(self, group: list[Step], report: Report, order: _Order) -> None:
        if not group:
            return
        now, scope = self.now(), space_of(group[0])
        made = self._rebuild(group, order, now)
        gone = [self._gone(step.entry) for step in group]
        names = tuple(step.entry.scratch_id for step in group)
        texts = self._along(scope, names, (descent.texts_of_facts, descent.answers_with))
        stones = [self.sealer.tombstone(one, now) for one in (*gone, *self._delivered(texts))]
        facts = tuple(text.key for text in texts if text.what == "fact")
        work = erase.Work(
            scope,
            names,
            rebuilt=tuple(one.rebuilt for one in made.values()),
            facts=facts,
            stones=_rows(stones),
            why=order.why,
            at=now,
        )
        self.store.erase(work, lambda head: self.sealer.tombstoned(head, stones, order.reason, now))
        report.rebuilt |= {name: one.scratch_id for name, one in made.items()}
        report.purged += names
        report.tombstones += len(stones)
        report.texts += len(facts)
        self.forget(scope, names)

    def _along(self, scope: Scope, names: Sequence[str], questions: Sequence[Question]) -> list[descent.LooseText]:
        """The facts and turns that lose their words because of entries."""
        found = [text for name in names for question in questions for text in self.store.ask(question, scope, name)]
        return list({(text.what, text.key): text for text in found}.values())

    def _delivered(self, texts: Sequence[descent.LooseText]) -> list[Gone]:
        """An item for every leaf that a context has of facts and turns that go: each was salted by itself."""
        return [
            Gone(text.scope, text.id, digest, said=said_of(text))
            for text in texts
            for digest in self.store.ask(descent.delivered, text.scope, text.item)
        ]

    def _rebuild(self, group: list[Step], order: _Order, now: float) -> dict[str, Made]:
        """What stands in for the entries of a group, sources first."""
        made: dict[str, Made] = {}
        left: dict[str, Remains] = {}
        for step in group:
            entry = step.entry
            name = entry.scratch_id
            if step.because is None:
                rest = self.planner.rest(entry, order.matcher) if order.rows else None
                if rest is not None:
                    made[name] = self.rebuilder.without_rows(entry, rest, order.matcher, now)
                    left[name] = Remains(rest.payload, read_shape(rest.payload))
                    continue
            elif step.action == "rebuild":
                sources = self._sources(entry, made, left)
                built = self.rebuilder.derived(entry, sources, left, now) if sources else None
                if built is not None and not (order.matcher and order.matcher.in_bytes(built.payload)):
                    made[name], left[name] = built, Remains(built.payload, built.shape)
                    continue
            left[name] = emptied(self.rebuilder.shape(entry))
        return made

    def _sources(self, entry: Entry, made: Mapping[str, Made], left: Mapping[str, Remains]) -> list[Left]:
        """What remains of an entry's sources, in their order: purged ones left out, others replaced."""
        found = []
        for name, leaf in self.store.ask(descent.sources_of, entry.scope, entry.scratch_id):
            if name in made:
                new = made[name]
                found.append(Left(name, new.scratch_id, new.item, new.rebuilt.payload.provenance_hash))
            elif name not in left:
                source = self.store.get(entry.scope, name)
                if isinstance(source, Entry):
                    found.append(Left(name, name, parse_leaf(leaf)[0], source.provenance_hash))
        return found

    def _gone(self, entry: Entry) -> Gone:
        salt = self.store.salt(entry.scope, entry.scratch_id)
        return Gone(entry.scope, entry.scratch_id, item_of(entry, salt).digest, entry.turn_id)

    def _loose(self, plan: Plan, report: Report, reason: str, why: str) -> None:
        """Stubs, turns and facts, by tenant and project."""
        scopes = {(one.tenant, one.project) for one in (*(s.scope for s in plan.stubs), *(t.scope for t in plan.texts))}
        for tenant, project in sorted(scopes):
            stubs = [one for one in plan.stubs if (one.scope.tenant, one.scope.project) == (tenant, project)]
            texts = [one for one in plan.texts if (one.scope.tenant, one.scope.project) == (tenant, project)]
            for tried in range(1, TRIES + 1):
                try:
                    self._loose_in(Scope(tenant, project), stubs, texts, report, _Order(reason, why))
                    break
                except erase.PlanChanged:  # a context delivered one of the texts meanwhile
                    if tried == TRIES:
                        raise Refused(IN_USE) from None

    def _loose_in(
        self,
        scope: Scope,
        stubs: Sequence[Stub],
        texts: Sequence[descent.LooseText],
        report: Report,
        order: _Order,
    ) -> None:
        now, names = self.now(), tuple(stub.scratch_id for stub in stubs)
        traces = self.store.ask(descent.traces, scope, names) if names else {}
        gone = [
            Gone(stub.scope, stub.scratch_id, digest)
            for stub in stubs
            if (digest := traces[stub.scratch_id].digest) is not None
        ]
        built = self._along(scope, names, (descent.texts_of_facts,))
        texts = list({(text.what, text.key): text for text in (*texts, *built)}.values())
        delivered = self._delivered(texts)
        stones = [self.sealer.tombstone(one, now) for one in (*gone, *delivered)]
        work = erase.Work(
            scope,
            (),
            stubs=names,
            receipts=tuple(digest for trace in traces.values() for digest in trace.receipts),
            turns=tuple(one.key for one in texts if one.what == "turn"),
            facts=tuple(one.key for one in texts if one.what == "fact"),
            stones=_rows(stones),
            why=order.why,
            at=now,
        )
        known = {(one.scope, one.id) for one in delivered}
        loose = [Loose(one.scope, said_of(one)) for one in texts if (one.scope, one.id) not in known]
        self.store.erase(work, lambda head: self.sealer.tombstoned(head, stones, order.reason, now, loose))
        report.stubs += names
        report.texts += len(texts)
        report.tombstones += len(stones)


def _rows(stones: Sequence[Stone]) -> tuple[erase.StoneRow, ...]:
    return tuple(erase.StoneRow(stone.gone.id, stone.gone.digest, stone.body) for stone in stones)
