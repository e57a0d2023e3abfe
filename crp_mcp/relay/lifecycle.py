"""What a capture does to what was there before: names, takes the place of, makes stale, casts doubt, makes room.

Called after every capture and before some calls; what a model is told of an entry is in `using`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from crp_mcp.core.ages import age_text
from crp_mcp.core.freshness import is_current, shares_a_value
from crp_mcp.core.model import Entry, Scope, ToolCall, ToolPolicy
from crp_mcp.core.naming import tidy_name
from crp_mcp.core.registry.lookup import tool_matches
from crp_mcp.core.safety import SafetyPolicy, policy_for
from crp_mcp.errors import Refused
from crp_mcp.proof.chain import salted_digest, salted_hash
from crp_mcp.store import Head, Sealed, SqliteStore, changes, scopes
from crp_mcp.store import turns as turn_rows

from .buffer import Buffer
from .labels import Guard
from .sealing import Sealer, canonical_arguments
from .service import Job
from .turns import Turns, nothing_sealed

FRESH_KEY = "dev.crp/fresh"
"""`_meta` of a call that must reach its server, whatever is stored."""
NAME_KEY = "dev.crp/name"
RAW_KEY = "dev.crp/raw"
"""`_meta` of a call whose result is wanted as its server gave it."""
INLINE_BYTES = 64 * 1024
"""A stored result up to this size is given again as it was; of a larger one the summary."""


@dataclass(frozen=True, slots=True)
class Again:
    """A result that is given in place of a call, and the entry it stands for."""

    result: dict[str, Any]
    entry: Entry


@dataclass(slots=True)
class Lifecycle:
    """The rules of one store. `operator`: the operator's safety policy."""

    store: SqliteStore
    sealer: Sealer
    now: Callable[[], float]
    turns: Turns
    buffer: Buffer
    guard: Guard
    operator: SafetyPolicy
    _noted: bool = field(default=False, init=False)

    def policy(self, meta: Mapping[str, Any]) -> SafetyPolicy:
        """What holds for a request. Raises BadRequest or Refused for a policy it may not ask for."""
        return policy_for(self.operator, meta)

    def note_policy(self, scope: Scope) -> None:
        """Have the audit trail say so where another policy holds in this store from now on; once for a process."""
        if self._noted:
            return
        made = self.operator.trail()
        found = list[dict[str, Any]]()

        def note(db: sqlite3.Connection) -> None:
            if (before := _policy_in(db)) != made:
                scopes.set_policy(db, json.dumps(made))
                found.append({"from": before, "to": made})

        def seal(head: Head) -> Sealed:
            return self.sealer.note(head, scope, "POLICY_CHANGED", found[0], self.now()) if found else Sealed()

        if self.store.ask(_policy_in) != made:
            self.store.append(seal, note, scope)  # asked again inside: another process may have come first
        self._noted = True

    # -- after a capture -------------------------------------------------------------------------------------------

    def captured(self, job: Job, entry: Entry) -> None:
        """Everything that follows from a new entry."""
        if job.name:
            name = job.name
            self._change(entry.scope, lambda db: turn_rows.give_name(db, entry.scope, entry.scratch_id, name))
        if job.supersedes:
            self._supersede(job.supersedes, entry)
        if job.policy.invalidates or job.acts:
            self._invalidate(job, entry)
        self._doubt(entry)
        self.buffer.make_room(entry.scope, entry, self.operator)

    def _supersede(self, old: str, entry: Entry) -> None:
        now, data = self.now(), {"supersedes": old}
        self.store.append(
            lambda head: self.sealer.event(head, entry, "REINVOKED", data, now),
            lambda db: changes.supersede(db, entry.scope, old, entry.scratch_id, now),
            entry.scope,
        )

    def _invalidate(self, job: Job, entry: Entry) -> None:
        """A write: what the registry says it changes, and what was about the same thing if the tool says it writes."""
        why = f"{entry.tool_name} may have changed it since"

        def change(db: sqlite3.Connection) -> None:
            hit = [
                one.seq
                for one in changes.live(db, entry.scope)
                if one.scratch_id != entry.scratch_id
                and (
                    any(tool_matches(glob, one.server, one.tool) for glob in job.policy.invalidates)
                    or (job.acts and one.server == entry.server and shares_a_value(job.call.arguments, one.arguments))
                )
            ]
            changes.make_stale(db, hit, self.now(), why)

        self._change(entry.scope, change)

    def _doubt(self, entry: Entry) -> None:
        """The same call gave another value than before: what was made from that is in doubt."""
        before: tuple[str, str] | None = self.store.ask(changes.before, entry.scope, entry.scratch_id)
        if before is None or before[1] == entry.provenance_hash:
            return
        old, why = before[0], f"its source {before[0]} was read again as {entry.scratch_id} and differs"

        def change(db: sqlite3.Connection) -> None:
            changes.flag_facts(db, entry.scope, old, why)
            changes.make_stale(db, changes.built_on(db, entry.scope, old), self.now(), why)

        self._change(entry.scope, change)

    def _change(self, scope: Scope, change: Callable[[sqlite3.Connection], object]) -> None:
        self.store.append(nothing_sealed, change, scope)

    # -- before a call ---------------------------------------------------------------------------------------------

    def before(
        self, call: ToolCall, scope: Scope, policy: ToolPolicy, meta: Mapping[str, Any], turn: int | None
    ) -> Again | None:
        """What to give in place of calling: a stored result that is still fresh. None: call.

        Raises:
            Refused: nothing can be recorded any more, and the policy says that everything must be.
        """
        if self.operator.audits and self.buffer.is_full(scope):
            raise Refused(
                f"{call.tool} was not called: every result must be kept (tool-output-retain=audit) and the buffer is "
                "full; the operator must raise its budget"
            )
        if not policy.reuse or meta.get(FRESH_KEY) is True or meta.get(RAW_KEY) is True:
            return None
        entry = self.store.ask(changes.newest_of_call, scope, call_hash(call))
        if entry is None or entry.is_error or not is_current(entry, self.now()) or not self.guard.clears(scope, entry):
            return None
        now = self.now()
        self.store.append(
            lambda head: self._reused(head, call, entry, scope, turn),
            lambda db: turn_rows.refer(db, scope, entry.scratch_id, turn, "injected", now),
            scope,
        )
        return Again(self._again(entry), entry)

    def _reused(self, head: Head, call: ToolCall, entry: Entry, scope: Scope, turn: int | None) -> Sealed:
        salt = self.store.salt(scope, entry.scratch_id)
        arguments = canonical_arguments(call.arguments, call.arguments_json)
        data = {
            "scratch_id": entry.scratch_id,
            "tool_name": entry.tool_name,
            "input_hash": salted_hash(salt, arguments),
            "output_hash": salted_digest(salt, entry.provenance_hash),
            "reused": True,
        }
        return self.sealer.note(head, scope, "TOOL_CALL", data, self.now(), turn)

    def _again(self, entry: Entry) -> dict[str, Any]:
        age = age_text(self.now() - entry.created_at)
        said = (
            f"Answered from {entry.scratch_id}, captured {age} ago and still fresh; {entry.tool_name} was not called. "
            f"`_meta` {FRESH_KEY}: true calls it."
        )
        note = {"type": "text", "text": said}
        if entry.summary is not None or entry.payload_bytes > INLINE_BYTES:
            return {"content": [note, {"type": "text", "text": entry.summary or ""}], "isError": False}
        data = self.store.read(entry.payload_id, 0, entry.payload_bytes)
        if entry.form == "text":
            return {"content": [note, {"type": "text", "text": data.decode("utf-8", "replace")}], "isError": False}
        result: dict[str, Any] = orjson.loads(data)
        content = result.get("content")
        return {**result, "content": [note, *(content if isinstance(content, list) else ())]}


def _policy_in(db: sqlite3.Connection) -> dict[str, Any]:
    """The operator's policy that the audit trail knows of; nothing noted is the default one."""
    known = scopes.policy(db)
    before: dict[str, Any] = json.loads(known) if known else SafetyPolicy().trail()
    return before


def call_hash(call: ToolCall) -> bytes:
    """Digest of tool and canonical arguments: equal calls have equal ones."""
    arguments = canonical_arguments(call.arguments, call.arguments_json)
    return hashlib.sha256(f"{call.server}\0{call.tool}\0".encode() + arguments).digest()


def name_from(meta: Mapping[str, Any]) -> str | None:
    """The name a caller gives the result of its call."""
    name = meta.get(NAME_KEY)
    return tidy_name(name) if isinstance(name, str) else None


def acts(definition: Mapping[str, Any] | None) -> bool:
    """Whether a tool says outright that it writes. An absent annotation says nothing."""
    said = (definition or {}).get("annotations")
    return isinstance(said, Mapping) and (said.get("readOnlyHint") is False or said.get("destructiveHint") is True)
