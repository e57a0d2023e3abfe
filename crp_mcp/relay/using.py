"""Using an entry: found by id, name or phrase, checked for staleness, noted as referenced, pinned where asked.

Every use goes through here, so that a stale one is never given as current (SPEC-029 §4.2, §5.3, §7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from crp_mcp.core.freshness import Use, is_current, plan_use
from crp_mcp.core.model import DAY, Entry, Persistence, Scope, ToolPolicy, Turn
from crp_mcp.core.nameless import nothing_stored
from crp_mcp.core.references import Candidate, Resolution, candidate_of, resolve, resolve_phrase
from crp_mcp.core.safety import SafetyPolicy
from crp_mcp.core.shape import shape_from_json
from crp_mcp.errors import BadRequest, NotFound, Refused
from crp_mcp.log import log
from crp_mcp.store import Filters, Head, Sealed, SqliteStore
from crp_mcp.store import turns as turn_rows
from crp_mcp.store.ids import number_of

from .buffer import Buffer
from .labels import Withheld
from .reading import Reader
from .sealing import Sealer
from .turns import Turns, name_in, nothing_sealed, what_to_keep

LOOK_BACK = 200
"""A phrase means one of so many latest results of the conversation, or a pinned one."""
LONGEST_SAID = 120
"""Characters of a reference that an answer says again."""
AUTO_PIN = 2
"""Declared turns that must have referenced a named entry before it is pinned by itself (SPEC-029 §5.3)."""
RECENT_TURNS = 100

PINNED_RETENTION = 365 * DAY
"""Seconds a pinned entry is kept, unless its tool's declared retention is shorter than the usual one: that holds."""


def pinned_until(entry: Entry, policy: ToolPolicy) -> int:
    """Retention epoch of an entry once it is pinned. What was made from others never outlives them."""
    if entry.origin != "capture" or policy.retention < ToolPolicy().retention:
        return entry.expires_at
    return max(entry.expires_at, int(entry.created_at) + max(PINNED_RETENTION, policy.retention))


@dataclass(frozen=True, slots=True)
class Ask:
    """Who asks, and under which rules. `refreshed`: stale entries that were called anew for this request, and what
    came of it (None: the call was not possible). `servers`: those that whoever asks can call.
    """

    scope: Scope
    turn: int | None = None
    policy: SafetyPolicy = field(default_factory=SafetyPolicy)
    refreshed: Mapping[str, str | None] = field(default_factory=dict)
    servers: frozenset[str] = frozenset()
    window: int | None = None
    """Tokens of the model's context window, where whoever asks said so."""
    roots: tuple[str, ...] = ()
    """URIs of the folders that the host works in."""


@dataclass(frozen=True, slots=True)
class Used:
    """An entry to be given. `use`: FRESH, WARN (with the note) or EXCLUDE (not at all). `said`: sentences to add."""

    entry: Entry
    use: Use
    said: tuple[str, ...] = ()


class NeedsCall(Exception):
    """An entry is stale and its tool must be called again before the request can be answered."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry.scratch_id)
        self.entry = entry


@dataclass(slots=True)
class Using:
    """Uses of entries in one store."""

    store: SqliteStore
    sealer: Sealer
    now: Callable[[], float]
    reader: Reader
    turns: Turns
    buffer: Buffer
    tool_policy: Callable[[Entry], ToolPolicy]
    _known: dict[tuple[str, str, str], Candidate] = field(default_factory=dict, init=False)

    # -- finding ---------------------------------------------------------------------------------------------------

    def find(self, scope: Scope, reference: str) -> tuple[Entry, str | None]:
        """The entry of an id, a name or a phrase; and for a phrase what decided. Raises NotFound, Withheld."""
        try:
            return self.reader.entry(scope, reference), None
        except NotFound:
            if number_of(reference) is not None:
                raise
            earlier = self.candidates(scope)
            found = resolve_phrase(reference, earlier)
        if found.id is None:
            why = found.why if earlier else nothing_stored(scope.conversation)
            what = "means several results, ask for one" if found.several else "refers to nothing stored"
            raise NotFound(f"{_quoted(reference)} {what}: {why}; `scratch_list` shows what there is")
        return self.reader.entry(scope, found.id), _resolved(reference, found)

    def candidates(self, scope: Scope) -> list[Candidate]:
        """The results of a conversation that a phrase may mean, oldest first; never those of another one."""
        recent = self.store.list(scope, limit=LOOK_BACK).entries
        pinned = self.store.list(scope, filters=Filters(pinned=True), limit=LOOK_BACK).entries
        shown = {entry.scratch_id for entry in recent}
        older = [entry for entry in pinned if entry.scratch_id not in shown]
        entries = [*reversed(older), *reversed(recent)]
        said = self._said(scope)
        captured = [entry for entry in entries if entry.origin == "capture"]
        found = [self._candidate(entry, said) for entry in captured]
        # Nothing is remembered of what is gone, and ids are counted anew for every tenant.
        self._known = {_key(entry): one for entry, one in zip(captured, found, strict=True)}
        return found

    def _candidate(self, entry: Entry, said: Mapping[int, str]) -> Candidate:
        known = self._known.get(_key(entry))
        if known is None:
            whole = self.store.get(entry.scope, entry.scratch_id)
            structured = whole.structured if isinstance(whole, Entry) else None
            shape = shape_from_json(structured or {"kind": entry.kind.value, "source": "text"})
            known = candidate_of(
                entry.scratch_id,
                entry.tool_name,
                entry.tool_call_args,
                shape,
                server=entry.server,
                tool_class=entry.tool_class,
                said=said.get(entry.turn_id or 0, ""),
            )
        return replace(known, name=entry.name)

    def _said(self, scope: Scope) -> dict[int, str]:
        """What the assistant said at the end of each turn, or in the next one."""
        turns = self.store.ask(turn_rows.list_turns, scope, RECENT_TURNS)
        found: dict[int, str] = {}
        words = ""
        for turn in turns:  # newest first
            words = turn.text or "" if turn.role == "assistant" else words
            found[turn.number] = words
            words = "" if turn.role == "user" else words
        return found

    # -- staleness -------------------------------------------------------------------------------------------------

    def use(self, ask: Ask, entry: Entry, *, explicit: bool) -> Used:
        """How an entry is given. `explicit`: its data was asked for as it was, so it is given with its age at least.

        Raises NeedsCall where its tool must be called first.
        """
        fresh = ask.refreshed.get(entry.scratch_id)
        if fresh is not None:
            newer = self.reader.entry(ask.scope, fresh)
            self._note(ask, newer, "injected")
            return Used(
                newer, Use.FRESH, (f"{entry.tool_name} was called again; {fresh} supersedes {entry.scratch_id}",)
            )
        may = not explicit and entry.scratch_id not in ask.refreshed and self._may_call(ask, entry)
        use = plan_use(entry, self.now(), ask.policy.stale, may_reinvoke=may)
        if use is Use.REINVOKE:
            raise NeedsCall(entry)
        if explicit and use is Use.EXCLUDE:
            use = Use.WARN
        said = () if use is Use.EXCLUDE else self._note(ask, entry, "injected")
        if use is Use.WARN:
            self._record(entry, "STALE_USED", {"age_s": int(self.now() - entry.created_at)}, ask)
        return Used(entry, use, said)

    def note(self, ask: Ask, entry: Entry) -> None:
        """Note that an entry was used together with others, and whether it was stale then."""
        self._note(ask, entry, "injected")
        if not is_current(entry, self.now()):
            self._record(entry, "STALE_USED", {"age_s": int(self.now() - entry.created_at)}, ask)

    def _may_call(self, ask: Ask, entry: Entry) -> bool:
        """The registry says it is safe, somebody can make the call, and the arguments are known in full."""
        policy = self.tool_policy(entry)
        return (
            policy.reinvoke
            and entry.origin == "capture"
            and entry.server in ask.servers
            and not set(policy.redact_args) & set(entry.tool_call_args)
        )

    # -- references and pins ---------------------------------------------------------------------------------------

    def _note(self, ask: Ask, entry: Entry, how: str) -> tuple[str, ...]:
        """Note the use; a named entry that two declared turns referenced is pinned, and the reason said."""
        turns = self.turns.used(ask.scope, entry, ask.turn, how)
        if len(turns) < AUTO_PIN or entry.name is None or entry.persistence is Persistence.PINNED:
            return ()
        why = f"referenced in turns {', '.join(map(str, turns))}"
        try:
            self.pin(entry, None, {"reason": "auto", "turns": list(turns)})
        except Refused as refused:
            log("info", "not_pinned", reason=str(refused))
            return ()
        return (f"pinned automatically: {why}",)

    def pin(
        self, entry: Entry, name: str | None, data: Mapping[str, Any], *, asked_in: Scope | None = None
    ) -> tuple[Entry, str | None]:
        """Pin an entry: it, and the id of the one that had the name before. Raises Refused, BadRequest.

        A name stays where whoever asks (`asked_in`) may not see the entry that has it.
        """
        entry, asker = self.sealer.raised(entry), asked_in or entry.scope
        may_take = frozenset(self._holder(asker, name)) if name is not None else None
        if entry.persistence is not Persistence.PINNED:
            self.buffer.may_pin(entry)
        until = pinned_until(entry, self.tool_policy(entry))
        salt = self.store.salt(entry.scope, entry.scratch_id)

        def seal(head: Head, one: Entry) -> Sealed:
            if one.expires_at == entry.expires_at:
                return self.sealer.event(head, one, "PINNED", data, self.now())
            labelled = replace(one, label=entry.label)
            return self.sealer.extended(head, labelled, salt=salt, event="PINNED", data=data, now=self.now())

        pinned = self.store.pin(
            entry.scope,
            entry.scratch_id,
            seal,
            name=name,
            reason=str(data["reason"]),
            expires_at=until,
            may_take=may_take,
        )
        return pinned.entry, pinned.taken_from

    def _holder(self, asker: Scope, name: str) -> Iterator[str]:
        """The id of the entry a name may be taken from: of the one that has it, if whoever asks may see that."""
        try:
            holder = self.store.get(asker, name)
        except NotFound:
            return
        if isinstance(holder, Entry) and self.reader.may_see(asker, holder):
            yield holder.scratch_id

    def unpin(self, entry: Entry) -> Entry:
        """Take pin and name off an entry; nothing is recorded where it had none."""
        data = {"reason": "asked"}
        return self.store.unpin(
            entry.scope,
            entry.scratch_id,
            lambda head, one: self.sealer.event(head, one, "UNPINNED", data, self.now()),
        )

    def declared(
        self, ask: Ask, role: str, text: str | None, number: int | None, decision: Mapping[str, Any] | None
    ) -> tuple[Turn, tuple[str, ...]]:
        """Log a declared turn; note what a user's words refer to, and pin it where they ask for that."""
        turn = self.turns.declare(ask.scope, role, text, number, decision)
        if role != "user" or not text:
            return turn, ()
        wanted = what_to_keep(text)
        earlier = self.candidates(ask.scope)
        found = resolve(wanted or text, earlier)
        if wanted and found.id is None:
            found = resolve(text, earlier)
        if found.id is None:
            return turn, (f"nothing pinned: {found.why}",) if wanted else ()
        try:
            entry = self.reader.entry(ask.scope, found.id)
        except Withheld as withheld:
            return turn, (str(withheld),)
        said = self._note(replace(ask, turn=turn.number), entry, "resolved")
        return turn, (*said, *self._keep(entry, name_in(text, kept=wanted is not None), turn, wanted is not None))

    def _keep(self, entry: Entry, name: str | None, turn: Turn, keep: bool) -> tuple[str, ...]:
        if keep:
            try:
                pinned, _ = self.pin(entry, name, {"reason": "user", "turn": turn.number})
            except (Refused, BadRequest) as refused:
                return (f"{entry.scratch_id} is not pinned: {refused}" if name else str(refused),)
            return (f"{pinned.scratch_id} pinned" + (f' as "{pinned.name}"' if pinned.name else ""),)
        if name is None or entry.name is not None:
            return (f"refers to {entry.scratch_id}",)
        given = self.store.append(
            nothing_sealed, lambda db: turn_rows.give_name(db, entry.scope, entry.scratch_id, name), entry.scope
        )
        if not given:
            return (f'refers to {entry.scratch_id}, which is not called "{name}": that name is in use',)
        return (f'{entry.scratch_id} is called "{name}"',)

    def _record(self, entry: Entry, event: str, data: Mapping[str, Any], ask: Ask) -> None:
        now = self.now()
        said = {"scratch_id": entry.scratch_id, "class": entry.volatility.value, **data}
        self.store.append(
            lambda head: self.sealer.note(head, ask.scope, event, said, now, ask.turn), lambda db: None, ask.scope
        )


def _key(entry: Entry) -> tuple[str, str, str]:
    return entry.scope.tenant, entry.scope.project, entry.scratch_id


def _quoted(reference: str) -> str:
    return repr(reference if len(reference) <= LONGEST_SAID else reference[: LONGEST_SAID - 1] + "…")


def _resolved(reference: str, found: Resolution) -> str:
    others = f"; it could also be {', '.join(found.others)}" if found.others else ""
    return f"{_quoted(reference)} is {found.id}: {found.why}{others}"
