"""Erasure: what is chosen, everything built on it, what can be rebuilt from the rest, and doing all of that at once.

A plan changes nothing and can be shown. Carried out, each group of items that hang together is one transaction:
tombstones, removal, what stands in with receipts that supersede. Afterwards the store's file is cleaned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from crp_mcp.core.model import Entry, Persistence, Scope
from crp_mcp.core.shape import read_shape
from crp_mcp.errors import BadRequest, NotFound, Refused
from crp_mcp.proof.eccr import parse_leaf
from crp_mcp.store import SqliteStore, Stub, erase
from crp_mcp.store.ids import number_of

from .choosing import Chooser, Selection, text_of
from .matching import Matcher
from .rebuilding import Left, Made, Rebuilder
from .remaining import Remains, Rest, emptied, rest_of
from .sealing import Gone, Sealer, item_of

TRIES = 5
BATCH = 400
"""Items taken out in one transaction, unless more hang together."""
WHOLE_FILE = 256 << 20
"""Store files up to this size are cleaned at once, also when nobody asked; larger ones by `crp-mcp sweep`."""


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one entry."""

    entry: Entry
    action: str
    """`purge`, `keep other rows`, or `rebuild`."""
    because: str | None = None
    """The item it was built on; None where it was chosen itself."""
    removed: int = 0
    kept: int = 0
    """Rows, where only some are taken out."""


@dataclass(slots=True)
class Plan:
    """Everything an erasure would do."""

    selection: Selection
    steps: list[Step] = field(default_factory=list)
    stubs: list[Stub] = field(default_factory=list)
    """Entries that had left already, but whose stubs still hold arguments and a summary."""
    texts: list[erase.LooseText] = field(default_factory=list)
    """Turns that lose their text, facts that go."""

    def is_empty(self) -> bool:
        return not (self.steps or self.stubs or self.texts)


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

    # -- choosing ----------------------------------------------------------------------------------------------

    def plan(self, selection: Selection, *, rows: bool = False) -> Plan:
        """Everything `selection` chooses and everything built on it. Raises BadRequest, or NotFound for an id."""
        if selection.is_empty():
            raise BadRequest("nothing is chosen: give ids, --tool, --conversation, --argument or --matching")
        matcher = Matcher(selection.matching) if selection.matching else None
        chooser = Chooser(self.store)
        chosen, stubs = chooser.entries(selection, matcher)
        plan = Plan(selection, stubs=stubs, texts=chooser.texts(selection, matcher))
        rests = {e.scratch_id: self._rest(e, matcher) for e in chosen} if rows and matcher else {}
        self._spread(plan, chosen, rests)
        return plan

    def plan_of(self, entries: Sequence[Entry]) -> Plan:
        """The plan for entries already in hand."""
        plan = Plan(Selection(tuple(entry.scratch_id for entry in entries)))
        self._spread(plan, list(entries), {})
        return plan

    def _rest(self, entry: Entry, matcher: Matcher | None) -> Rest | None:
        shape = self.rebuilder.shape(entry)
        return None if shape is None or matcher is None else rest_of(self._payload(entry), shape, matcher)

    def _payload(self, entry: Entry) -> bytes:
        return b"".join(self.store.iter_payload(entry.payload_id))

    # -- spreading ---------------------------------------------------------------------------------------------

    def _spread(self, plan: Plan, chosen: list[Entry], rests: Mapping[str, Rest | None]) -> None:
        """Add a step for every chosen entry, and for all that was built on them, sources first."""
        steps: dict[tuple[str, str, str], Step] = {}
        for entry in chosen:
            rest = rests.get(entry.scratch_id)
            step = (
                Step(entry, "purge") if rest is None else Step(entry, "keep other rows", None, rest.removed, rest.kept)
            )
            steps[_key(entry)] = step
        self._prefer_rebuilding(plan.selection, chosen, steps)
        waiting = list(chosen)
        while waiting:
            source = waiting.pop()
            for name in self.store.ask(erase.built_on, source.scope, source.scratch_id):
                built = self.store.get(source.scope, name)
                if isinstance(built, Entry) and _key(built) not in steps:
                    steps[_key(built)] = Step(built, self._downstream(built, steps), source.scratch_id)
                    waiting.append(built)
        plan.steps = sorted(steps.values(), key=lambda s: (s.entry.scope.tenant, number_of(s.entry.scratch_id) or 0))

    def _prefer_rebuilding(
        self, selection: Selection, chosen: list[Entry], steps: dict[tuple[str, str, str], Step]
    ) -> None:
        """What was chosen for its content only, and was made from others that were, is rebuilt like all downstream."""
        if selection.matching is None:
            return
        matcher = Matcher(selection.matching)
        for entry in chosen:
            if entry.scratch_id in selection.ids or matcher.in_text(text_of(entry.tool_call_args)):
                continue
            sources = self.store.ask(erase.sources_of, entry.scope, entry.scratch_id)
            hit = [name for name, _ in sources if (entry.scope.tenant, entry.scope.project, name) in steps]
            if hit:
                steps[_key(entry)] = Step(entry, self._downstream(entry, steps), hit[0])

    def _downstream(self, entry: Entry, steps: Mapping[tuple[str, str, str], Step]) -> str:
        sources = self.store.ask(erase.sources_of, entry.scope, entry.scratch_id)
        left = any(
            (entry.scope.tenant, entry.scope.project, name) not in steps
            or steps[entry.scope.tenant, entry.scope.project, name].action != "purge"
            for name, _ in sources
        )
        return "rebuild" if left and self.rebuilder.can(entry) else "purge"

    # -- doing -------------------------------------------------------------------------------------------------

    def carry_out(self, plan: Plan, *, reason: str, why: str = "purged", rows: bool = False) -> Report:
        """Do what the plan says, planning anew what changed meanwhile, and clean the file. Raises StoreError."""
        report = Report()
        matcher = Matcher(plan.selection.matching) if plan.selection.matching else None
        for group in _groups(plan):
            self._surely(group, report, _Order(reason, why, matcher, rows))
        self._loose(plan, report, reason, why)
        report.pending = not self.clean()
        return report

    def clean(self, most_bytes: int | None = None) -> bool:
        """Leave no byte of what was erased in any file. False where that must wait: ask again."""
        tidied = self.tidy()
        return self.store.scrub(most_bytes) and tidied

    def sweep(self, report: Report | None = None, *, most_bytes: int | None = None) -> Report:
        """Purge what has reached the end of its retention, and finish what was left to do."""
        report = report or Report()
        while expired := self.store.expired(self.now(), BATCH):
            whole = [self.store.get(entry.scope, entry.scratch_id) for entry in expired]
            for group in _groups(self.plan_of([entry for entry in whole if isinstance(entry, Entry)])):
                self._surely(group, report, _Order("retention", "expired"))
        if facts := self.store.ask(erase.expired_facts, self.now()):
            self._loose(Plan(Selection(), texts=facts), report, "retention", "expired")
        report.pending = not self.clean(most_bytes)
        return report

    def forget_one(self, scope: Scope, reference: str) -> Report:
        """Erase one entry at the wish of a model: unpinned, of its own conversation, nothing of others built on it."""
        entry = self.store.get(scope, reference)
        if isinstance(entry, Stub):
            raise NotFound(f"{entry.scratch_id} is gone already ({entry.why})")
        plan = self.plan_of([entry])
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
        for group in _groups(plan):
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
        raise Refused("what is to be erased is in use and keeps changing; try again")

    def _again(self, group: list[Step]) -> list[Step]:
        """The group as it is now."""
        there = [self.store.get(step.entry.scope, step.entry.scratch_id) for step in group if step.because is None]
        return self.plan_of([entry for entry in there if isinstance(entry, Entry)]).steps

    def _do(self, group: list[Step], report: Report, order: _Order) -> None:
        if not group:
            return
        now, scope = self.now(), group[0].entry.scope
        made = self._rebuild(group, order, now)
        gone = [self._gone(step.entry) for step in group]
        stones = [self.sealer.tombstone(one, now) for one in gone]
        names = tuple(step.entry.scratch_id for step in group)
        facts = {key for name in names for key in self.store.ask(erase.facts_on, scope, name)}
        work = erase.Work(
            Scope(scope.tenant, scope.project),
            names,
            rebuilt=tuple(one.rebuilt for one in made.values()),
            facts=tuple(facts),
            stones=tuple(erase.StoneRow(s.gone.id, s.gone.digest, s.body) for s in stones),
            why=order.why,
            at=now,
        )
        self.store.erase(work, lambda head: self.sealer.tombstoned(head, stones, order.reason, now))
        report.rebuilt |= {name: one.scratch_id for name, one in made.items()}
        report.purged += names
        report.tombstones += len(stones)
        report.texts += len(facts)
        self.forget(scope, names)

    def _rebuild(self, group: list[Step], order: _Order, now: float) -> dict[str, Made]:
        """What stands in for the entries of a group, sources first."""
        made: dict[str, Made] = {}
        left: dict[str, Remains] = {}
        for step in group:
            entry = step.entry
            name = entry.scratch_id
            if step.because is None:
                rest = self._rest(entry, order.matcher) if order.rows else None
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
        for name, leaf in self.store.ask(erase.sources_of, entry.scope, entry.scratch_id):
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
            scope, now = Scope(tenant, project), self.now()
            stubs = [one for one in plan.stubs if (one.scope.tenant, one.scope.project) == (tenant, project)]
            texts = [one for one in plan.texts if (one.scope.tenant, one.scope.project) == (tenant, project)]
            names = tuple(stub.scratch_id for stub in stubs)
            traces = self.store.ask(erase.traces, scope, names) if names else {}
            gone = [
                Gone(stub.scope, stub.scratch_id, digest)
                for stub in stubs
                if (digest := traces[stub.scratch_id].digest) is not None
            ]
            stones = [self.sealer.tombstone(one, now) for one in gone]
            work = erase.Work(
                scope,
                (),
                stubs=names,
                receipts=tuple(digest for trace in traces.values() for digest in trace.receipts),
                turns=tuple(one.key for one in texts if one.what == "turn"),
                facts=tuple(one.key for one in texts if one.what == "fact"),
                stones=tuple(erase.StoneRow(s.gone.id, s.gone.digest, s.body) for s in stones),
                why=why,
                at=now,
            )
            self.store.erase(work, lambda head, s=stones, t=now: self.sealer.tombstoned(head, s, reason, t))  # type: ignore[misc]
            report.stubs += names
            report.texts += len(texts)
            report.tombstones += len(stones)


def _groups(plan: Plan) -> Iterator[list[Step]]:
    """Steps that hang together, each group whole; lone ones in batches of one tenant and project."""
    parent: dict[tuple[str, str, str], tuple[str, str, str]] = {}

    def root(key: tuple[str, str, str]) -> tuple[str, str, str]:
        while parent.get(key, key) != key:
            key = parent[key]
        return key

    for step in plan.steps:
        if step.because is not None:
            source = (step.entry.scope.tenant, step.entry.scope.project, step.because)
            parent[root(_key(step.entry))] = root(source)
    together: dict[tuple[str, str, str], list[Step]] = {}
    for step in plan.steps:
        together.setdefault(root(_key(step.entry)), []).append(step)
    batch: list[Step] = []
    for group in together.values():
        mixed = batch and _space(batch[0]) != _space(group[0])
        if batch and (mixed or len(batch) + len(group) > BATCH):
            yield _ordered(batch)
            batch = []
        batch += group
    if batch:
        yield _ordered(batch)


def _ordered(steps: list[Step]) -> list[Step]:
    return sorted(steps, key=lambda step: number_of(step.entry.scratch_id) or 0)


def _space(step: Step) -> tuple[str, str]:
    return step.entry.scope.tenant, step.entry.scope.project


def _key(entry: Entry) -> tuple[str, str, str]:
    return entry.scope.tenant, entry.scope.project, entry.scratch_id
