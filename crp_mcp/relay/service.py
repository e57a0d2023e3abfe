"""The application service: the one place where pure decisions meet store, keys, counter and clock.

Captures results; synchronous, called from threads of the worker or by the command line. The order of what happens
to a result is decided here and nowhere else: shape, decide, summarise, then one transaction, then the answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from crp_mcp.core.model import Entry, Persistence, Scope, ToolCall, ToolClass, ToolPolicy
from crp_mcp.core.payload import (
    Scan,
    Structured,
    extract_payload,
    replace_with_summary,
    strip_reserved,
    text_blocks,
)
from crp_mcp.core.payload.memory import scan_bytes
from crp_mcp.core.plan import Text, Verdict, decide, render_all, text_of, visible_texts
from crp_mcp.core.shape import read_shape, shape_to_json
from crp_mcp.core.shape.model import Shape
from crp_mcp.store import CaptureDraft, Head, Sealed, Store, WrittenPayload

from .labels import Guard, hints_of, label_of
from .sealing import Sealer, canonical_arguments

COUNT_AT_ONCE = 256 * 1024
"""Payloads up to this many bytes have their tokens counted before the answer; larger ones after it."""


class RunningCount(Protocol):
    """Counts a text that comes in pieces."""

    @property
    def exact(self) -> bool: ...
    def feed(self, data: bytes) -> None: ...
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


class Sink(Protocol):
    """Takes bytes: a payload writer, a hash."""

    def write(self, piece: bytes) -> None: ...


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
class Reading:
    """What capturing learnt of a result before deciding: payload, shape, and the texts a model would see."""

    form: str
    shape: Shape
    texts: tuple[Text, ...]
    payload: Callable[[Sink], object]
    """Writes the payload's bytes."""
    rewrite: Callable[..., Iterable[bytes]]
    """`replace_with_summary` or its twin, for this result."""
    strip: Callable[[], Iterable[bytes] | None]
    """The result without keys that are ours alone; None where there are none."""
    written: WrittenPayload | None = None
    """Set where the payload had to be written to be read at all."""
    labels: tuple[object, ...] = ()
    """Labels the upstream gave it: they may only raise the declared one."""


def read_result(result: bytes) -> Reading:
    """Payload, shape and visible texts of a result in memory. Never raises."""
    payload = extract_payload(result)
    shape = read_shape(payload.data, form=payload.form, is_error=payload.is_error)
    if payload.form == "text":
        texts: tuple[Text, ...] = (text_of(0, payload.data, shape),)
    elif _is_one_piece(scan := scan_bytes(result)):
        texts = (text_of(None, result, shape),)
    else:
        own = payload.structured is Structured.OTHER
        raw = (scan.members or {}).get("structuredContent") if own else None
        structured = None if raw is None else bytes(raw)
        texts = visible_texts(text_blocks(result), payload.structured, structured, shape, read_shape)

    def strip() -> Iterable[bytes] | None:
        stripped = strip_reserved(result)
        return None if stripped is result else (stripped,)

    def rewrite(*args: Any, **options: Any) -> Iterable[bytes]:
        return (replace_with_summary(result, *args, **options),)

    write = payload.data
    return Reading(
        payload.form, shape, texts, lambda writer: writer.write(write), rewrite, strip, labels=hints_of(result)
    )


def _is_one_piece(scan: Scan[Any]) -> bool:
    """Whether a result's blocks cannot be told apart: too many of them, or no list at all. It is then one text."""
    return scan.blocks is None and (scan.members is None or "content" in scan.members)


def read_text(data: bytes) -> Reading:
    """The same for one text block's bytes, without a result around them. Any bytes at all."""
    shape = read_shape(data)
    return Reading(
        "text", shape, (text_of(0, data, shape),), lambda writer: writer.write(data), lambda: (), lambda: None
    )


@dataclass(slots=True)
class Service:
    """Everything a capture needs of the world. One for a process; safe from several threads."""

    store: Store
    sealer: Sealer
    counter: Callable[[], Counter]
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
        outcome = self._settle(job, reading)
        if self.guard is None or self.guard.clears(job.scope, outcome.entry):
            return outcome
        self.guard.record(job.scope, [outcome.entry])
        answer = withheld(self.guard.sentence(job.scope, [outcome.entry]), self.answer_meta(outcome.entry), job.modern)
        return Outcome(outcome.entry, (answer,), outcome.uncounted)

    def _settle(self, job: Job, reading: Reading) -> Outcome:
        verdict = Verdict() if job.keep else decide(reading.shape, reading.texts, job.policy, self._over)
        if not verdict.summarise:
            entry = self._commit(job, reading, None, ())
            return Outcome(entry, reading.strip(), self._uncounted(entry, reading))
        scratch_id = self.store.reserve_id(job.scope.tenant, slug_of(job))
        summaries = render_all(
            verdict,
            reading.shape,
            scratch_id=scratch_id,
            tool=job.call.tool,
            count=self.counter().count,
            options=job.policy.summary,
        )
        entry = self._commit(job, reading, scratch_id, summaries)
        return Outcome(entry, self._answer(job, reading, entry, summaries, verdict), self._uncounted(entry, reading))

    def count_later(self, outcome: Outcome) -> None:
        """Fill in the token count of a large result, after its answer went out."""
        if not outcome.uncounted:
            return
        counts = [self._count_text(text) for text in outcome.uncounted]
        if None not in counts:
            self.store.set_token_count(outcome.entry.scope, outcome.entry.scratch_id, sum(filter(None, counts)))

    def _count_text(self, text: Text) -> int | None:
        """Exact number of tokens; None for a text with no place to cut it for megabytes."""
        running = self.counter().running()
        for piece in text.pieces():
            running.feed(piece)
        count = running.total()
        return count if running.exact else None

    def _over(self, data: bytes, limit: int) -> bool:
        return self.counter().over(data.decode("utf-8", "replace"), limit)

    def _commit(self, job: Job, reading: Reading, scratch_id: str | None, summaries: tuple[str, ...]) -> Entry:
        now, salt = self.now(), self.random_bytes(16)
        sent = "\n".join(summaries) if summaries else None
        arguments = canonical_arguments(job.call.arguments, job.call.arguments_json)
        draft = CaptureDraft(
            scope=job.scope,
            server=job.call.server,
            tool_name=job.call.tool,
            tool_call_args=redact(job.call.arguments, job.policy.redact_args),
            created_at=now,
            salt=salt,
            slug=slug_of(job),
            scratch_id=scratch_id,
            raw_token_count=self._count(reading) if summaries else None,
            summary=sent,
            structured=shape_to_json(reading.shape),
            freshness_ttl=job.policy.ttl,
            kind=reading.shape.kind,
            tool_class=job.policy.tool_class,
            label=label_of(job.policy.sensitivity, reading.labels, self.sealer.lattice),
            is_error=reading.shape.is_error,
            rows=reading.shape.rows,
            rows_total=reading.shape.rows_total,
            partial=reading.shape.partial,
            inline=sent is None,
            volatility=job.policy.volatility,
            expires_at=int(now) + job.policy.retention,
            form=reading.form,
            sent_tokens=sum(map(self.counter().count, summaries)) if summaries else None,
            call_hash=hashlib.sha256(f"{job.call.server}\0{job.call.tool}\0".encode() + arguments).digest(),
            host_key=job.host_key,
            turn_id=job.turn_id,
            stream_id=job.stream_id,
            supersedes=job.supersedes,
            persistence=Persistence.PINNED if job.audited else Persistence.EPHEMERAL,
        )

        def seal(head: Head, entry: Entry) -> Sealed:
            return self.sealer.capture(
                head, entry, salt=salt, arguments=arguments, sent=sent, more=_kept(entry) if job.audited else ()
            )

        entry = self.store.commit_capture(draft, reading.written or self._write(reading), seal)
        if self.after is not None:
            self.after(job, entry)
        return entry

    def _write(self, reading: Reading) -> WrittenPayload:
        with self.store.open_payload() as writer:
            reading.payload(writer)
            return writer.close()

    def _count(self, reading: Reading) -> int | None:
        if sum(text.size for text in reading.texts) > COUNT_AT_ONCE:
            return None
        return sum(self.counter().count_bytes(b"".join(text.pieces())) for text in reading.texts)

    @staticmethod
    def _uncounted(entry: Entry, reading: Reading) -> tuple[Text, ...]:
        return () if entry.raw_token_count is not None else reading.texts

    def _answer(
        self, job: Job, reading: Reading, entry: Entry, summaries: tuple[str, ...], verdict: Verdict
    ) -> Iterable[bytes]:
        replaced: dict[int, str | None] = {}
        structured: str | None = None
        waiting = list(summaries)
        for text in verdict.summarise:
            summary = waiting.pop(0) if waiting else None
            if text.block is None:
                structured = summary
            else:
                replaced[text.block] = summary
        return reading.rewrite(
            replaced,
            self.answer_meta(entry, sum(map(self.counter().count, summaries))),
            modern=job.modern,
            structured_summary=structured,
            keep_structured=not verdict.drop_structured,
        )

    def answer_meta(self, entry: Entry, sent: int | None = None) -> dict[str, Any]:
        """`_meta` members of an answer that stands for an entry. `sent`: the tokens given in its place."""
        known = sent is not None and entry.raw_token_count is not None
        saved = max(0, (entry.raw_token_count or 0) - (sent or 0)) if known else None
        return {"dev.crp/scratch_id": entry.scratch_id, "dev.crp/headers": dict(self.headers([entry], saved))}


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
