"""Lends stored values to calls: whether a tool may have one, whether a person agreed, and the value exactly as stored.

This moves data that nobody looked at from one server to another. So the target's registry entry must name the source,
the target's sensitivity is the limit, and a person is asked unless the operator said that it need not be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crp_mcp.core.ages import size_text
from crp_mcp.core.model import Entry, Scope, ToolPolicy
from crp_mcp.core.registry.lookup import tool_matches
from crp_mcp.core.substitution import Slot, fill, find_slots, wants_text
from crp_mcp.core.summary.clean import clean
from crp_mcp.errors import BadRequest, NotFound, Refused
from crp_mcp.proof.chain import salted_hash
from crp_mcp.store import Head, Sealed, Store, Stub

from .reading import Reader
from .sealing import Sealer
from .searching import Finder, value_json

FIRST_LINE = 80
MOST_BYTES = 32 << 20
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that asks for stored values. `definition`: the target tool as its server listed it."""

    server: str
    tool: str
    arguments: bytes
    policy: ToolPolicy
    definition: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Lent:
    """What becomes of it: `arguments` to send; or a `question` a person must agree to first."""

    arguments: bytes | None = None
    question: str | None = None


@dataclass(slots=True)
class Lender:
    """Prepares the arguments of calls. `confirm`: a person is asked."""

    store: Store
    reader: Reader
    finder: Finder
    sealer: Sealer
    now: Callable[[], float]
    confirm: bool = True

    def lend(self, scope: Scope, wanted: Wanted, *, agreed: bool) -> Lent:
        """The arguments with stored values in place, or the question to ask before.

        Raises Refused, NotFound or BadRequest with the rule; then the call is not made.
        """
        target = f"{wanted.server}:{wanted.tool}"
        if not wanted.policy.accepts_scratch_from:
            raise Refused(f"{target} takes no stored values: its registry entry names no source (accepts_scratch_from)")
        try:
            slots = find_slots(wanted.arguments)
        except ValueError as error:
            raise BadRequest(str(error)) from None
        entries = [self._entry(scope, slot, wanted) for slot in slots]
        texts = [self._text(entry, slot, wanted) for slot, entry in zip(slots, entries, strict=True)]
        if sum(map(len, texts)) > MOST_BYTES:
            raise Refused(f"these values have over {MOST_BYTES >> 20} MB together, too much for one call")
        filled = fill(wanted.arguments, list(zip(slots, texts, strict=True)))
        check_schema(filled, wanted)
        if self.confirm and not agreed and slots:
            return Lent(question=question_of(target, slots, entries, texts))
        for slot, entry, text in zip(slots, entries, texts, strict=True):
            self._record(entry, slot, text, target, agreed)
        return Lent(arguments=filled)

    # -- inside

    def _entry(self, scope: Scope, slot: Slot, wanted: Wanted) -> Entry:
        try:
            entry = self.reader.entry(scope, slot.reference)
        except NotFound as error:
            raise NotFound(f"{error}; $scratch takes a scratch_id or a pinned name, no other words") from None
        target = f"{wanted.server}:{wanted.tool}"
        for source in self._origins(scope, entry):
            allowed = wanted.policy.accepts_scratch_from
            if not any(tool_matches(glob, source.server, source.tool_name) for glob in allowed):
                raise Refused(
                    f"{target} takes no stored values from {source.server}:{source.tool_name} ({source.scratch_id}); "
                    f"its registry entry accepts {', '.join(allowed)}"
                )
        lattice = self.sealer.lattice
        limit = wanted.policy.max_sensitivity or wanted.policy.sensitivity
        if lattice.rank(entry.label) > lattice.rank(limit):
            raise Refused(f"{entry.scratch_id} is {entry.label}; {target} takes nothing above {limit}")
        return entry

    def _origins(self, scope: Scope, entry: Entry) -> list[Entry]:
        """The captures a result goes back to; itself where it is one. Raises Refused where one cannot be known."""
        waiting, seen, found = [(entry, 0)], {entry.scratch_id}, []
        while waiting:
            one, depth = waiting.pop()
            if one.origin != "query":
                found.append(one)
                continue
            for source in one.tool_call_args.get("derivedFrom", ()):
                scratch_id = str(source.get("scratch_id"))
                if scratch_id in seen:
                    continue
                seen.add(scratch_id)
                try:
                    inner: Entry | Stub | None = self.store.get(scope, scratch_id)
                except NotFound:
                    inner = None
                if inner is None or isinstance(inner, Stub) or depth > _DEEPEST:
                    raise Refused(f"{entry.scratch_id} was made from {scratch_id}, which is gone: it is not passed on")
                waiting.append((inner, depth + 1))
        return found

    def _text(self, entry: Entry, slot: Slot, wanted: Wanted) -> str:
        """The value as JSON text: at a path the value there; without one the whole, as text or as JSON."""
        if slot.path is not None:
            return value_json(self.finder.value(entry, slot.path))
        schema = (wanted.definition or {}).get("inputSchema")
        if entry.payload_bytes > MOST_BYTES:
            raise Refused(f"{entry.scratch_id} has {size_text(entry.payload_bytes)}, too much for one call")
        if wants_text(schema, slot.keys) is not False:
            return json.dumps(self._whole_text(entry), ensure_ascii=False)
        return value_json(self.finder.value(entry, "$"))

    def _whole_text(self, entry: Entry) -> str:
        if entry.form == "text":
            return self.store.read(entry.payload_id, 0, entry.payload_bytes).decode("utf-8", "replace")
        return self.finder.whole_text(entry)

    def _record(self, entry: Entry, slot: Slot, text: str, target: str, agreed: bool) -> None:
        salt = self.store.salt(entry.scope, entry.scratch_id)
        data = {
            "target": target,
            "argument": ".".join(map(str, slot.keys)),
            "value_hash": salted_hash(salt, text.encode("utf-8", "surrogatepass")),
            "confirmed": "asked" if agreed else "operator",
        }

        def seal(head: Head) -> Sealed:
            return self.sealer.event(head, entry, "SUBSTITUTED", data, self.now())

        self.store.append(seal, lambda db: None, entry.scope)


def check_schema(arguments: bytes, wanted: Wanted) -> None:
    """Check filled arguments against the target's own input schema. Raises BadRequest that names the place."""
    schema = (wanted.definition or {}).get("inputSchema")
    if not isinstance(schema, Mapping):
        return
    import jsonschema

    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError:
        return  # a schema nobody can check is the server's own matter
    fault = next(iter(kind(schema).iter_errors(json.loads(arguments))), None)
    if fault is not None:
        place = ".".join(map(str, fault.absolute_path)) or "the arguments"
        raise BadRequest(
            f"with the stored value in place, {place} does not fit the input schema of {wanted.server}:{wanted.tool} "
            f"({fault.validator}: {str(fault.validator_value)[:80]}); use path to pick another part"
        )


def question_of(target: str, slots: Sequence[Slot], entries: Sequence[Entry], texts: Sequence[str]) -> str:
    """What a person is asked: from where to where, how much, and how it begins."""
    lines = [f"Send stored data to {target}?"]
    for slot, entry, text in zip(slots, entries, texts, strict=True):
        value = json.loads(text) if text[:1] == '"' else text
        first = clean(value.lstrip().split("\n", 1)[0][: FIRST_LINE * 2])[:FIRST_LINE]
        part = f" at {slot.path}" if slot.path else ""
        lines.append(
            f"- argument {'.'.join(map(str, slot.keys))}: {entry.scratch_id}{part}, from {entry.server}:"
            f"{entry.tool_name}, {size_text(len(text.encode('utf-8', 'replace')))}, label {entry.label}; "
            f"begins: {first}"
        )
    return "\n".join(lines)
