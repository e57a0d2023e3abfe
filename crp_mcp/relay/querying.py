"""Queries as the model sees them: one page of rows, and an entry of its own for all of them.

The entry says what it was made from, carries their highest label, expires with the earliest of them, and has a receipt
over all of them. It is never `latest`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from crp_mcp.core.ages import is_fresh, iso_time
from crp_mcp.core.model import Entry, Kind, Scope, SummaryOptions, ToolClass, Volatility
from crp_mcp.core.shape import shape_to_json
from crp_mcp.core.shape.cells import load_json, to_value
from crp_mcp.core.shape.columns import BATCH, TableStats
from crp_mcp.core.shape.model import Column, Shape
from crp_mcp.core.summary import render_summary
from crp_mcp.query.answers import Answer
from crp_mcp.query.desk import Desk
from crp_mcp.store import CaptureDraft, Head, Sealed, Store

from .reading import cell_text, csv_line
from .sealing import Sealer, Source, canonical_arguments, item_of
from .service import Counter

TOOL = "scratch_query"
SERVER = "crp-mcp"
SLUG = "query"
SAMPLES = 3
LINE_TOKENS, SOURCE_TOKENS = 60, 24
"""Tokens of the line above the rows, and of each result named in it with its age."""
INDEX_EVERY = 500
_BETWEEN = ",\n"
_BY_HASTE = (Volatility.REALTIME, Volatility.VOLATILE, Volatility.STABLE, Volatility.STATIC)


@dataclass(frozen=True, slots=True)
class QueryPage:
    """The first rows of a result as CSV, and the entry that holds all of them; None where nothing stored was read."""

    entry: Entry | None
    inputs: tuple[Entry, ...]
    text: str
    shown: int
    kept: int
    """Rows that can be read on from the entry."""
    total: int
    """Rows the query has."""
    notes: tuple[str, ...] = ()
    cut: bool = False
    """The one row shown is longer than the page, and only its beginning."""
    streams: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(stream_id, ids of its chunks) of streams that were read as one table."""


@dataclass(slots=True)
class Querier:
    """Runs queries for a scope and keeps their results."""

    store: Store
    desk: Desk
    sealer: Sealer
    counter: Callable[[], Counter]
    now: Callable[[], float]
    random_bytes: Callable[[int], bytes]

    def query(self, scope: Scope, sql: str, max_tokens: int) -> QueryPage:
        """Run one SELECT. Raises BadRequest, Refused or NotFound with what to do; StoreError where nothing is kept."""
        now = self.now()
        answer = self.desk.query(scope, sql, now)
        notes, kept = notes_of(answer), len(answer.rows)
        text, shown, cut = self._page(answer, max(max_tokens // 2, max_tokens - self._said(answer, notes)))
        entry = self._keep(scope, sql, answer, now) if answer.inputs else None
        return QueryPage(entry, answer.inputs, text, shown, kept, answer.total, notes, cut, answer.streams)

    def _said(self, answer: Answer, notes: Sequence[str]) -> int:
        """About how many tokens our own line above the rows has: that, too, is part of the page."""
        chunks = sum(len(members) for _, members in answer.streams)
        sources = len(answer.inputs) - chunks + 2 * len(answer.streams)
        return self.counter().count("; NOTE: ".join(notes)) + LINE_TOKENS + SOURCE_TOKENS * sources

    def _page(self, answer: Answer, max_tokens: int) -> tuple[str, int, bool]:
        """Rows as CSV, how many those are, and whether the only one is cut."""
        count, cut = self.counter().count, self.counter().cut
        lines = [csv_line(answer.columns)]
        left = max_tokens - count(lines[0])
        if left < 0:
            lines, left = [cut(lines[0], max_tokens)], 0
        for shown, row in enumerate(answer.rows):
            line = csv_line([cell_text(cell) for cell in orjson.loads(row)])
            left -= count(line)
            if left < 0:
                if not shown and (part := cut(line, left + count(line))):
                    return "".join(lines) + part, 1, True  # half a row is more than none; the entry has it whole
                return "".join(lines), shown, False
            lines.append(line)
        return "".join(lines), len(answer.rows), False

    def _keep(self, scope: Scope, sql: str, answer: Answer, now: float) -> Entry:
        payload = result_json(answer)
        shape = shape_of(answer)
        sources = [
            Source(one.scratch_id, item_of(self.sealer.raised(one), self.store.salt(scope, one.scratch_id)))
            for one in answer.inputs
        ]
        label, expires_at = self.sealer.ceiling_of([source.item for source in sources])
        arguments = derivation(sql, answer.inputs, now, whole_chunks(answer))
        canonical = canonical_arguments(arguments, orjson.dumps(arguments))
        scratch_id = self.store.reserve_id(scope.tenant, SLUG)
        summary = render_summary(
            shape, scratch_id=scratch_id, tool=TOOL, count=self.counter().count, options=SummaryOptions()
        )
        salt = self.random_bytes(16)
        draft = CaptureDraft(
            scope=scope,
            server=SERVER,
            tool_name=TOOL,
            tool_call_args=arguments,
            created_at=now,
            salt=salt,
            scratch_id=scratch_id,
            summary=summary,
            structured=shape_to_json(shape),
            freshness_ttl=ttl_of(answer.inputs, now),
            kind=shape.kind,
            tool_class=ToolClass.SQL,
            label=label,
            rows=shape.rows,
            rows_total=shape.rows_total,
            partial=shape.partial,
            volatility=min((one.volatility for one in answer.inputs), key=_BY_HASTE.index),
            expires_at=expires_at,
            origin="query",
            call_hash=hashlib.sha256(f"{SERVER}\0{TOOL}\0".encode() + canonical).digest(),
        )

        def seal(head: Head, entry: Entry) -> Sealed:
            return self.sealer.derived(head, entry, salt=salt, arguments=canonical, sources=sources, sent=summary)

        return self.store.commit_capture(draft, self.store.write_payload(payload), seal)


def derivation(sql: str, inputs: Sequence[Entry], now: float, whole: Collection[str] = ()) -> dict[str, Any]:
    """What a result was made of: the query, its time, and every input with the hash of its bytes.

    `whole`: ids of partial ones of which the rest was read as well.
    """
    sources = [{"scratch_id": one.scratch_id, "provenance_hash": one.provenance_hash} for one in inputs]
    made: dict[str, Any] = {"sql": sql, "now": iso_time(now), "derivedFrom": sources}
    if partial := [one for one in partial_sources(inputs) if one not in whole]:
        made["partial"] = partial
    return made


def partial_sources(inputs: Sequence[Entry]) -> list[str]:
    """Ids of the captures that are not all of it, also where a result was made from them a step before."""
    found: dict[str, None] = {}
    for one in inputs:
        if one.origin == "query":
            found.update(dict.fromkeys(one.tool_call_args.get("partial", ())))
        if one.partial:
            found[one.scratch_id] = None
    return list(found)


def whole_chunks(answer: Answer) -> frozenset[str]:
    """The chunks of streams that are all there: each page of a listing is partial, and together they are not."""
    return frozenset(
        chunk
        for stream, members in answer.streams
        if not stream_notes(stream, [one for one in answer.inputs if one.scratch_id in members])
        for chunk in members
    )


def result_json(answer: Answer) -> bytes:
    """The rows of an answer as one JSON document, a line each. Equal answers give equal bytes."""
    return _opening(answer) + _BETWEEN.join(answer.rows).encode("utf-8", "replace") + b"\n]}"


def _opening(answer: Answer) -> bytes:
    return b'{"columns":%b,"rows":[\n' % orjson.dumps(list(answer.columns))


def shape_of(answer: Answer) -> Shape:
    """The shape of `result_json`, from the rows themselves: what they are is known and need not be found out."""
    stats = TableStats()
    head: list[list[Any]] = []
    for at in range(0, len(answer.rows), BATCH):
        rows = [load_json(row.encode("utf-8", "replace")) for row in answer.rows[at : at + BATCH]]
        stats.feed_columns(answer.columns, zip(*rows, strict=True))
        head += rows[: SAMPLES - len(head)]
    kept, total = len(answer.rows), answer.total
    return Shape(
        kind=Kind.TABULAR if kept else Kind.EMPTY,
        source="json_columns_rows",
        rows=kept,
        rows_total=total if total > kept else None,
        partial=total > kept,
        partial_why=f"the first {kept} of {total} rows are kept" if total > kept else None,
        columns=stats.finish() if kept else tuple(Column(name, (), 0) for name in answer.columns),
        path="rows",
        head=tuple(tuple(map(to_value, row)) for row in head),
        row_index=row_index(answer),
        reader={"path": ["rows"]},
    )


def row_index(answer: Answer) -> tuple[tuple[int, int], ...]:
    """(row, byte offset) of every so many rows of `result_json`; none for a result that is read at once anyway."""
    if len(answer.rows) <= INDEX_EVERY:
        return ()
    at, found = len(_opening(answer)), []
    for number, row in enumerate(answer.rows):
        if number % INDEX_EVERY == 0:
            found.append((number, at))
        at += len(row.encode("utf-8", "replace")) + len(_BETWEEN)
    return tuple(found)


def ttl_of(inputs: Sequence[Entry], now: float) -> int | None:
    """Seconds until the first of the inputs is stale; a result is no fresher than what it was made from."""
    ends = [one.created_at + one.freshness_ttl for one in inputs if one.freshness_ttl is not None]
    return max(0, int(min(ends) - now)) if ends else None


def notes_of(answer: Answer) -> tuple[str, ...]:
    """What a reader must know of the inputs: which are partial, which columns were converted, which texts were not."""
    notes = []
    chunks = {chunk: stream for stream, members in answer.streams for chunk in members}
    for one in answer.inputs:
        if one.partial and one.scratch_id not in chunks:
            notes.append(_partial_note(one.scratch_id, one.rows, one.rows_total))
        for source in one.tool_call_args.get("partial", ()) if one.origin == "query" else ():
            notes.append(f"{one.scratch_id} was made from {source}, which is partial")
    for stream, members in answer.streams:
        notes += stream_notes(stream, [one for one in answer.inputs if one.scratch_id in members])
    if answer.converted:
        pairs = ", ".join(f"{name} ({beside})" for name, beside in answer.converted[:8])
        more = f" and {len(answer.converted) - 8} more" if len(answer.converted) > 8 else ""
        notes.append(f"numbers and ISO dates made from text, originals in brackets: {pairs}{more}")
    return (*notes, *answer.cautions)


def stream_notes(stream: str, chunks: Sequence[Entry]) -> list[str]:
    """What the chunks of a stream lack together: each page of a listing is partial, and all of them may be whole."""
    failed = [one.scratch_id for one in chunks if one.kind is Kind.ERROR]
    notes = [f"{', '.join(failed)} of {stream} failed and has no rows in it"] if 0 < len(failed) < len(chunks) else []
    good = [one for one in chunks if one.kind is not Kind.ERROR]
    if not any(one.partial for one in good):
        return notes
    rows = sum(one.rows or 0 for one in good)
    total = max((one.rows_total for one in good if one.rows_total is not None), default=None)
    if good[-1].partial and (total is None or total > rows):
        notes.append(_partial_note(stream, rows, total))
    return notes


def _partial_note(name: str, rows: int | None, total: int | None) -> str:
    stored = "" if rows is None else f": {rows:,} rows are stored"
    whole = f", {total:,} exist at the source" if total is not None else ""
    return f"{name} is partial{stored}{whole}; this answer is about the stored ones alone"


def stale_of(inputs: Sequence[Entry], now: float) -> list[Entry]:
    """The inputs that are no longer fresh."""
    return [one for one in inputs if not is_fresh(now - one.created_at, one.freshness_ttl)]


__all__ = ["Querier", "QueryPage", "derivation", "notes_of", "result_json", "stale_of"]
