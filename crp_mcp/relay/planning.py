"""What an erasure would do: what is chosen, everything built on it, and what can be made anew. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from crp_mcp.core.model import Entry, Scope
from crp_mcp.errors import BadRequest
from crp_mcp.store import SqliteStore, Stub, descent
from crp_mcp.store.ids import number_of

from .choosing import Chooser, Selection, text_of
from .matching import Matcher
from .rebuilding import Rebuilder
from .remaining import Rest, rest_of

BATCH = 400
"""Items taken out in one transaction, unless more hang together."""

Key = tuple[str, str, str]
"""Tenant, project, id."""


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
    texts: list[descent.LooseText] = field(default_factory=list)
    """Turns that lose their text and facts that go, by themselves."""
    along: list[descent.LooseText] = field(default_factory=list)
    """The same, because of an entry that goes."""

    def is_empty(self) -> bool:
        return not (self.steps or self.stubs or self.texts)


@dataclass(slots=True)
class Planner:
    """Plans erasures in one store."""

    store: SqliteStore
    rebuilder: Rebuilder

    def plan(self, selection: Selection, *, rows: bool = False) -> Plan:
        """Everything `selection` chooses and everything built on it. Raises BadRequest, or NotFound for an id."""
        if selection.is_empty():
            raise BadRequest("nothing is chosen: give ids, --tool, --conversation, --argument or --matching")
        matcher = Matcher(selection.matching) if selection.matching else None
        chooser = Chooser(self.store)
        chosen, stubs = chooser.entries(selection, matcher)
        plan = Plan(selection, stubs=stubs, texts=chooser.texts(selection, matcher))
        rests = {_key(e): self.rest(e, matcher) for e in chosen} if rows and matcher else {}
        self._spread(plan, chosen, rests)
        return plan

    def plan_of(self, entries: Sequence[Entry]) -> Plan:
        """The plan for entries already in hand."""
        plan = Plan(Selection(tuple(entry.scratch_id for entry in entries)))
        self._spread(plan, list(entries), {})
        return plan

    def rest(self, entry: Entry, matcher: Matcher | None) -> Rest | None:
        """What is left of an entry without the rows that match; None where it goes as a whole."""
        shape = self.rebuilder.shape(entry)
        if shape is None or matcher is None:
            return None
        return rest_of(b"".join(self.store.iter_payload(entry.payload_id)), shape, matcher)

    def _spread(self, plan: Plan, chosen: list[Entry], rests: Mapping[Key, Rest | None]) -> None:
        """Add a step for every chosen entry, and for all that was built on them, sources first."""
        steps: dict[Key, Step] = {}
        for entry in chosen:
            rest = rests.get(_key(entry))
            step = (
                Step(entry, "purge") if rest is None else Step(entry, "keep other rows", None, rest.removed, rest.kept)
            )
            steps[_key(entry)] = step
        self._prefer_rebuilding(plan.selection, chosen, steps)
        waiting: list[Entry | Stub] = [*plan.stubs, *chosen]
        while waiting:
            source = waiting.pop()
            for name in self.store.ask(descent.built_on, source.scope, source.scratch_id):
                built = self.store.get(source.scope, name)
                if isinstance(built, Entry) and _key(built) not in steps:
                    steps[_key(built)] = Step(built, self._downstream(built, steps), source.scratch_id)
                    waiting.append(built)
        plan.steps = sorted(steps.values(), key=lambda s: (s.entry.scope.tenant, number_of(s.entry.scratch_id) or 0))
        self._add_texts(plan)

    def _add_texts(self, plan: Plan) -> None:
        """Facts that were promoted from what goes, and answers that used it."""
        known = {(text.what, text.key) for text in plan.texts}
        gone: list[Entry | Stub] = [*(step.entry for step in plan.steps), *plan.stubs]
        for one in gone:
            for question in (descent.texts_of_facts, descent.answers_with):
                for text in self.store.ask(question, one.scope, one.scratch_id):
                    if (text.what, text.key) not in known:
                        known.add((text.what, text.key))
                        plan.along.append(text)

    def _prefer_rebuilding(self, selection: Selection, chosen: list[Entry], steps: dict[Key, Step]) -> None:
        """What was chosen for its content only, and was made from others that were, is rebuilt like all downstream."""
        if selection.matching is None:
            return
        matcher = Matcher(selection.matching)
        for entry in chosen:
            if entry.scratch_id in selection.ids or matcher.in_text(text_of(entry.tool_call_args)):
                continue
            sources = self.store.ask(descent.sources_of, entry.scope, entry.scratch_id)
            hit = [name for name, _ in sources if (entry.scope.tenant, entry.scope.project, name) in steps]
            if hit:
                steps[_key(entry)] = Step(entry, self._downstream(entry, steps), hit[0])

    def _downstream(self, entry: Entry, steps: Mapping[Key, Step]) -> str:
        """A query is run again if a source is left, and none had left before: over what left nothing can be run."""
        left = False
        for name, _ in self.store.ask(descent.sources_of, entry.scope, entry.scratch_id):
            step = steps.get((entry.scope.tenant, entry.scope.project, name))
            if step is None and not isinstance(self.store.get(entry.scope, name), Entry):
                return "purge"
            left = left or step is None or step.action != "purge"
        return "rebuild" if left and self.rebuilder.can(entry) else "purge"


def groups_of(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Steps that hang together, each group whole; lone ones in batches of one tenant and project."""
    parent: dict[Key, Key] = {}

    def root(key: Key) -> Key:
        while parent.get(key, key) != key:
            key = parent[key]
        return key

    for step in steps:
        if step.because is not None:
            source = (step.entry.scope.tenant, step.entry.scope.project, step.because)
            parent[root(_key(step.entry))] = root(source)
    together: dict[Key, list[Step]] = {}
    for step in steps:
        together.setdefault(root(_key(step.entry)), []).append(step)
    batch: list[Step] = []
    for group in together.values():
        mixed = batch and space_of(batch[0]) != space_of(group[0])
        if batch and (mixed or len(batch) + len(group) > BATCH):
            yield _ordered(batch)
            batch = []
        batch += group
    if batch:
        yield _ordered(batch)


def space_of(step: Step) -> Scope:
    """Tenant and project of a step."""
    return Scope(step.entry.scope.tenant, step.entry.scope.project)


def _ordered(steps: list[Step]) -> list[Step]:
    return sorted(steps, key=lambda step: number_of(step.entry.scratch_id) or 0)


def _key(entry: Entry) -> Key:
    return entry.scope.tenant, entry.scope.project, entry.scratch_id
