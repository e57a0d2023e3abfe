"""The application service: the one place where pure decisions meet store, keys, counter and clock.

Captures results; synchronous, called from threads of the worker or by the command line. The order of what happens
to a result is decided here and nowhere else: shape, decide, summarise, then one transaction, then the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import orjson

from crp_mcp.core.model import Entry, Persistence, Scope, ToolCall, ToolClass, ToolPolicy
from crp_mcp.core.plan import Text, Verdict, decide, render_all
from crp_mcp.core.shape import shape_to_json
from crp_mcp.store import CaptureDraft, Head, Sealed, Store, WrittenPayload

from .labels import Guard, label_of
from .results import Reading, read_result
from .sealing import Sealer, call_hash_of, canonical_arguments

T = TypeVar("T")

COUNT_AT_ONCE = 256 * 1024
"""Payloads up to this many bytes have their tokens counted before the answer; larger ones after it."""
COUNT_FORWARDED = 16 * 1024
"""The same for what is forwarded as it came, whose answer needs no count: so few cost less than a second write."""


class RunningCount(Protocol):
    """Counts a text that comes in pieces."""

    @property
    def exact(self) -> bool: ...
    def feed(self, data: bytes | memoryview) -> None: ...
    def total(self) -> int: ...


class Counter(Protocol):
    """The part of the token counter that capturing needs."""

    @property
    def name(self) -> str: ...
    def count(self, text: str) -> int: ...
    def count_bytes(self, data: bytes) -> int: ...
    def over(self, text: str, limit: int) -> bool: ...
    def cut(self, text: str, limit: int) -> str: ...
    def running(self) -> RunningCount: ...


class CounterSource(Protocol):
    """Has the counter do something, in its own thread; `loaded`: without having to load it first."""

    @property
    def loaded(self) -> bool: ...
    def run(self, work: Callable[[Counter], T]) -> T: ...


@dataclass(frozen=True, slots=True)
class Job:
    """One result to capture, and what is known of the call it answers."""

    call: ToolCall
    scope: Scope
    policy: ToolPolicy
    result: bytes
    modern: bool = False
    keep: bool = False
    """Forward whatever the size: a passthrough tool, a tool with a user interface, a caller that asked for raw."""
    host_key: str | None = None
    turn_id: int | None = None
    acts: bool = False
    """The tool says outright that it writes."""
    supersedes: str | None = None
    """The stale entry this call was made again for."""
    stream_id: str | None = None
    name: str | None = None
    """A name for the entry; it is not pinned by that."""
    audited: bool = False
    """Everything is kept for an audit (`tool-output-retain=audit`)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`answer`: the pieces of the JSON to send instead; None: the result goes on as it came."""

    entry: Entry
    answer: Iterable[bytes] | None
    uncounted: tuple[Text, ...] = ()
    """Texts whose tokens are still to be counted for `raw_token_count`; what they are read from must still be there."""

    @property
    def result(self) -> bytes | None:
        """The JSON to send instead, whole."""
        return None if self.answer is None else b"".join(self.answer)


@dataclass(frozen=True, slots=True)
class Summaries:
    """The summaries of one result, which name its id; their tokens all told."""

    scratch_id: str
    texts: tuple[str, ...]
    tokens: int


@dataclass(slots=True)
class Service:
    """Everything a capture needs of the world. One for a process; safe from several threads."""

    store: Store
    sealer: Sealer
    counter: CounterSource
    """Loads the counter on first use: asked only when bytes cannot decide."""
    now: Callable[[], float]
    random_bytes: Callable[[int], bytes]
    headers: Callable[[Sequence[Entry], int | None], Mapping[str, str]] = field(default=lambda entries, saved: {})
    guard: Guard | None = None
    after: Callable[[Job, Entry], None] | None = None
    """What follows from a new entry, before its answer is made."""

    def capture(self, job: Job) -> Outcome:
        """Capture one result in full and say what the host gets. Raises StoreError where it cannot be recorded."""
        return self.settle(job, read_result(job.result))

    def settle(self, job: Job, reading: Reading) -> Outcome:
        """Decide, summarise, store, answer: what follows once a result has been read."""
        outcome = self._settle(job, reading.asked(job.call.arguments))
        if self.guard is None or self.guard.clears(job.scope, outcome.entry):
            return outcome
        self.guard.record(job.scope, [outcome.entry])
        answer = withheld(self.guard.sentence(job.scope, [outcome.entry]), self.answer_meta(outcome.entry), job.modern)
        return Outcome(outcome.entry, (answer,), outcome.uncounted)

    def _settle(self, job: Job, reading: Reading) -> Outcome:
        verdict = Verdict() if job.keep else decide(reading.shape, reading.texts, job.policy, self._over)
        if not verdict.summarise:
            entry, _ = self._commit(job, reading, None)
            return Outcome(entry, reading.strip(), self._uncounted(entry, reading))

        def summarise(counter: Counter, scratch_id: str) -> Summaries:
            count, tool, options = counter.count, job.call.tool, job.policy.summary
            texts = render_all(verdict, reading.shape, scratch_id=scratch_id, tool=tool, count=count, options=options)
            return Summaries(scratch_id, texts, sum(map(count, texts)))

        entry, made = self._commit(job, reading, summarise)
        assert made is not None
        return Outcome(entry, self._answer(job, reading, entry, made, verdict), self._uncounted(entry, reading))

    def count_later(self, outcome: Outcome) -> None:
        """Fill in the token count of a large result, after its answer went out."""
        if not outcome.uncounted:
            return
        counts = [self._count_text(text) for text in outcome.uncounted]
        if None not in counts:
            self.store.set_token_count(outcome.entry.scope, outcome.entry.scratch_id, sum(filter(None, counts)))

    def _count_text(self, text: Text) -> int | None:
        """Exact number of tokens; None for a text with no place to cut it for megabytes."""
        run = self.counter.run
        running = run(lambda counter: counter.running())
        for piece in text.pieces():
            view = memoryview(piece)
            for at in range(0, len(view), COUNT_AT_ONCE):
                run(partial(_feed, running, view[at : at + COUNT_AT_ONCE]))
        count = run(lambda _: running.total())
        return count if running.exact else None

    def _over(self, data: bytes, limit: int) -> bool:
        return self.counter.run(lambda counter: counter.over(data.decode("utf-8", "replace"), limit))

    def _commit(
        self, job: Job, reading: Reading, summarise: Callable[[Counter, str], Summaries] | None
    ) -> tuple[Entry, Summaries | None]:
        """Store everything. The summaries are made for the id that is next; where that was taken, for one that is ours.

        They are not made while the store is written, so that no other writer waits for the counting thread.
        """
        payload, tokens = reading.written or self._write(reading), self._count(reading, inline=summarise is None)
        arguments = canonical_arguments(job.call.arguments, job.call.arguments_json)
        if summarise is None:
            return self._store(job, self._draft(job, reading, arguments, tokens, None), payload, arguments), None
        tenant, slug = job.scope.tenant, slug_of(job)
        made = self.counter.run(partial(_call, summarise, self.store.next_id(tenant, slug)))
        try:
            draft = self._draft(job, reading, arguments, tokens, made)
            return self._store(job, draft, payload, arguments, made), made
        except _IdTaken:
            made = self.counter.run(partial(_call, summarise, self.store.reserve_id(tenant, slug)))
            draft = replace(self._draft(job, reading, arguments, tokens, made), scratch_id=made.scratch_id)
            return self._store(job, draft, payload, arguments, made), made

    def _store(
        self, job: Job, draft: CaptureDraft, payload: WrittenPayload, arguments: bytes, made: Summaries | None = None
    ) -> Entry:
        def seal(head: Head, entry: Entry) -> Sealed:
            if made and entry.scratch_id != made.scratch_id:
                raise _IdTaken
            more = _kept(entry) if job.audited else ()
            return self.sealer.capture(head, entry, salt=draft.salt, arguments=arguments, sent=draft.summary, more=more)

        entry = self.store.commit_capture(draft, payload, seal)
        if self.after is not None:
            self.after(job, entry)
        return entry

    def _draft(
        self, job: Job, reading: Reading, arguments: bytes, tokens: int | None, made: Summaries | None
    ) -> CaptureDraft:
        now, shape = self.now(), reading.shape
        return CaptureDraft(
            scope=job.scope,
            server=job.call.server,
            tool_name=job.call.tool,
            tool_call_args=redact(job.call.arguments, job.policy.redact_args),
            created_at=now,
            salt=self.random_bytes(16),
            slug=slug_of(job),
            raw_token_count=tokens,
            structured=shape_to_json(shape),
            freshness_ttl=job.policy.ttl,
            kind=shape.kind,
            tool_class=job.policy.tool_class,
            label=label_of(job.policy.sensitivity, reading.labels, self.sealer.lattice),
            is_error=shape.is_error,
            rows=shape.rows,
            rows_total=shape.rows_total,
            partial=shape.partial,
            summary="\n".join(made.texts) if made else None,
            sent_tokens=made.tokens if made else None,
            inline=made is None,
            volatility=job.policy.volatility,
            expires_at=int(now) + job.policy.retention,
            form=reading.form,
            call_hash=call_hash_of(job.call.server, job.call.tool, arguments),
            host_key=job.host_key,
            turn_id=job.turn_id,
            stream_id=job.stream_id,
            supersedes=job.supersedes,
            persistence=Persistence.PINNED if job.audited else Persistence.EPHEMERAL,
        )

    def _write(self, reading: Reading) -> WrittenPayload:
        with self.store.open_payload() as writer:
            reading.payload(writer)
            return writer.close()

    def _count(self, reading: Reading, *, inline: bool) -> int | None:
        size = sum(text.size for text in reading.texts)
        if size > (COUNT_FORWARDED if inline else COUNT_AT_ONCE) or (inline and not self.counter.loaded):
            return None
        whole = [b"".join(text.pieces()) for text in reading.texts]
        return self.counter.run(lambda counter: sum(map(counter.count_bytes, whole)))

    @staticmethod
    def _uncounted(entry: Entry, reading: Reading) -> tuple[Text, ...]:
        return () if entry.raw_token_count is not None else reading.texts

    def _answer(
        self, job: Job, reading: Reading, entry: Entry, summaries: Summaries, verdict: Verdict
    ) -> Iterable[bytes]:
        replaced: dict[int, str | None] = {}
        structured: str | None = None
        waiting = list(summaries.texts)
        for text in verdict.summarise:
            summary = waiting.pop(0) if waiting else None
            if text.block is None:
                structured = summary
            else:
                replaced[text.block] = summary
        return reading.rewrite(
            replaced,
            self.answer_meta(entry, summaries.tokens),
            modern=job.modern,
            structured_summary=structured,
            keep_structured=not verdict.drop_structured,
        )

    def answer_meta(self, entry: Entry, sent: int | None = None) -> dict[str, Any]:
        """`_meta` members of an answer that stands for an entry. `sent`: the tokens given in its place."""
        known = sent is not None and entry.raw_token_count is not None
        saved = max(0, (entry.raw_token_count or 0) - (sent or 0)) if known else None
        return {"dev.crp/scratch_id": entry.scratch_id, "dev.crp/headers": dict(self.headers([entry], saved))}


class _IdTaken(Exception):
    """Another capture came between: nothing of this one was stored."""


def _call(summarise: Callable[[Counter, str], Summaries], scratch_id: str, counter: Counter) -> Summaries:
    return summarise(counter, scratch_id)


def _feed(running: RunningCount, piece: bytes | memoryview, _: Counter) -> None:
    """One piece at a time, so that a long count keeps nobody else from the counting thread."""
    running.feed(piece)


def _kept(entry: Entry) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """The record that an entry is kept for an audit: its shape, never its content."""
    columns = (entry.structured or {}).get("columns")
    shape = {
        "kind": entry.kind.value,
        "rows": entry.rows,
        "columns": len(columns) if isinstance(columns, list) else None,
        "bytes": entry.payload_bytes,
    }
    known = {key: value for key, value in shape.items() if value is not None}
    return (("PINNED", {"scratch_id": entry.scratch_id, "reason": "audit", **known}),)


def withheld(sentence: str, meta: Mapping[str, Any], modern: bool) -> bytes:
    """The result a host gets in place of one that is above its clearance."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": sentence}], "isError": False, "_meta": dict(meta)}
    return orjson.dumps({**result, "resultType": "complete"} if modern else result)


def slug_of(job: Job) -> str:
    """Middle part of the id: the tool's class, or its name where it has none."""
    return job.call.tool if job.policy.tool_class is ToolClass.OTHER else job.policy.tool_class.value


def redact(arguments: Mapping[str, Any], names: tuple[str, ...]) -> Mapping[str, Any]:
    """The arguments as they are kept: values of the named ones are left out."""
    if not names:
        return arguments
    return {key: "[redacted]" if key in names else value for key, value in arguments.items()}
