"""Reads stored results back, a page of tokens at a time. Never captured or summarised again."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crp_mcp.core.ages import age_text
from crp_mcp.core.folding import unique_names
from crp_mcp.core.freshness import is_current, warning
from crp_mcp.core.model import Entry, Kind, Scope
from crp_mcp.core.shape import rows_at, shape_from_json
from crp_mcp.core.shape.cells import to_value
from crp_mcp.core.shape.model import Shape
from crp_mcp.core.summary import render_summary
from crp_mcp.errors import BadRequest, NotFound
from crp_mcp.query.names import gone_text
from crp_mcp.store import Filters, Head, Sealed, Store, Stub

from .labels import Guard
from .sealing import Sealer
from .service import Counter

BYTES_A_TOKEN = 8
"""What a page reads for each token it may have; long runs of blanks have more, and get a shorter page."""
ROWS_AT_ONCE = 200
MAX_ROWS = 5_000
MAX_CELL = 2_000
"""Characters of one cell in a page of rows; longer ones are cut, and say so."""
CHUNKS_NAMED = 20
"""Results of a stream that are named to somebody who asks for the stream."""


@dataclass(frozen=True, slots=True)
class RawPage:
    """A piece of a payload: text, byte offsets, the payload's size."""

    text: str
    start: int
    end: int
    size: int


@dataclass(frozen=True, slots=True)
class RowsPage:
    """A page of rows as CSV under one header."""

    text: str
    start: int
    count: int
    total: int | None
    done: bool


@dataclass(slots=True)
class Reader:
    """Entries as pages. `counter` loads on first use."""

    store: Store
    sealer: Sealer
    counter: Callable[[], Counter]
    now: Callable[[], float]
    guard: Guard | None = None

    def entry(self, scope: Scope, reference: str) -> Entry:
        """The entry of an id or pinned name. Raises NotFound; of one that is gone it says what it was, and when.

        Raises Withheld for one that is labelled above the clearance of `scope`.
        """
        try:
            found = self.store.get(scope, reference)
        except NotFound:
            self._refuse_stream(scope, reference)
            raise
        if self.guard is not None and not (isinstance(found, Stub) and found.tool_call_args is None):
            self.guard.check(scope, found)
        if isinstance(found, Stub):
            raise NotFound(gone_text(found))
        return self.sealer.raised(found)

    def _refuse_stream(self, scope: Scope, reference: str) -> None:
        """Raise BadRequest where the reference is a stream: it says which results are in it, and how all are read."""
        page = self.store.list(scope, filters=Filters(stream_id=reference), limit=CHUNKS_NAMED + 1, within="project")
        chunks = [one.scratch_id for one in page.entries if self.may_see(scope, one)]
        if chunks:
            more = " and older ones" if len(chunks) > CHUNKS_NAMED else ""
            raise BadRequest(
                f"{reference} is a stream of results, newest first {', '.join(chunks[:CHUNKS_NAMED])}{more}: read one "
                f"of them, or query all as one table: SELECT * FROM {reference}"
            )

    def may_see(self, scope: Scope, entry: Entry | Stub) -> bool:
        """Whether an entry may be shown to `scope`. Nothing is recorded."""
        return self.guard is None or self.guard.clears(scope, entry)

    def withheld(self, scope: Scope, entries: Sequence[Entry | Stub], *, recorded: bool = False) -> str | None:
        """The sentence that says which of these are withheld from `scope`; None where none is.

        That is recorded, unless it was already.
        """
        above = [entry for entry in entries if not self.may_see(scope, entry)]
        if self.guard is None or not above:
            return None
        if not recorded:
            self.guard.record(scope, above)
        return self.guard.sentence(scope, above)

    def visible(self, scope: Scope, entries: Sequence[Entry]) -> frozenset[str]:
        """The ids of those that may be shown to `scope`; the others are recorded as withheld."""
        if self.guard is None:
            return frozenset(entry.scratch_id for entry in entries)
        guard = self.guard
        above = [entry for entry in entries if not guard.clears(scope, entry)]
        if above:
            guard.record(scope, above)
        hidden = {entry.scratch_id for entry in above}
        return frozenset(entry.scratch_id for entry in entries if entry.scratch_id not in hidden)

    def shape(self, entry: Entry) -> Shape:
        """What the entry's payload was parsed as."""
        if entry.structured is None:
            raise BadRequest(f"{entry.scratch_id} has no structure; use view raw")
        return shape_from_json(entry.structured)

    def summary(self, entry: Entry, policy_summary: Any) -> str:
        """The entry's summary; made now, with a receipt of its own, where the result went on untouched."""
        if entry.summary is not None:
            return entry.summary
        counter = self.counter()
        text = render_summary(
            self.shape(entry),
            scratch_id=entry.scratch_id,
            tool=entry.tool_name,
            count=counter.count,
            options=policy_summary,
        )
        salt = self.store.salt(entry.scope, entry.scratch_id)

        def seal(head: Head, sealed: Entry) -> Sealed:
            labelled = replace(sealed, label=entry.label)
            return self.sealer.summary(head, labelled, salt=salt, summary=text, now=self.now())

        return self.store.set_summary(entry.scope, entry.scratch_id, text, None, seal).summary or text

    def raw(self, entry: Entry, offset: int, max_tokens: int) -> RawPage:
        """Exact text from a byte offset on, as much as fits. Raises BadRequest past the end."""
        size = entry.payload_bytes
        if offset > size or (offset == size and size):
            raise BadRequest(f"offset {offset} is past the end: {entry.scratch_id} has {size} bytes")
        data = self.store.read(entry.payload_id, offset, max_tokens * BYTES_A_TOKEN + 8)
        skipped = leading_continuation(data) if offset else 0
        text = decode_start(data[skipped:])
        cut = self.counter().cut(text, max_tokens)
        start = offset + skipped
        return RawPage(cut, start, start + len(cut.encode()), size)

    def rows(
        self, entry: Entry, offset: int, limit: int, max_tokens: int, columns: Sequence[str] | None = None
    ) -> RowsPage:
        """Rows `offset`.. as CSV with a header, as many as fit. Raises BadRequest where there are no rows."""
        shape = self.shape(entry)
        if shape.kind not in (Kind.TABULAR, Kind.LIST) or shape.rows is None:
            raise BadRequest(f"{entry.scratch_id} is {shape.kind.value}, it has no rows; use view raw")
        if offset >= shape.rows and shape.rows:
            raise BadRequest(f"offset {offset} is past the end: {entry.scratch_id} has {shape.rows} rows")
        names = unique_names([column.name for column in shape.columns]) if shape.columns is not None else ["value"]
        picked = pick_columns(names, columns, entry.scratch_id)
        lines = [csv_line([names[i] for i in picked])]
        wanted, counter = min(limit, MAX_ROWS), self.counter()
        budget = max_tokens - counter.count(lines[0])
        taken = 0
        while taken < wanted:
            batch = self._rows(entry, shape, offset + taken, min(ROWS_AT_ONCE, wanted - taken))
            if not batch:
                break
            for row in batch:
                line = csv_line([cell_text(row[i]) if i < len(row) else "" for i in picked])
                budget -= counter.count(line)
                if budget < 0 and taken:
                    return RowsPage("".join(lines), offset, taken, shape.rows, False)
                lines.append(line if budget >= 0 else counter.cut(line, max(1, max_tokens - counter.count(lines[0]))))
                taken += 1
                if budget < 0:
                    break
            if budget < 0:
                break
        return RowsPage("".join(lines), offset, taken, shape.rows, offset + taken >= shape.rows)

    def _rows(self, entry: Entry, shape: Shape, offset: int, limit: int) -> list[tuple[Any, ...]]:
        reader = self.store.open_reader(entry.payload_id)
        return rows_at(reader.read, entry.payload_bytes, shape, offset, limit)

    def freshness(self, entry: Entry) -> str:
        """`captured 4 min ago, fresh` or the note that a stale result is never given without."""
        now = self.now()
        if is_current(entry, now):
            return f"captured {age_text(now - entry.created_at)} ago, fresh"
        instead = entry.superseded_by
        hint = f"{instead} has newer data" if instead else f"call {entry.tool_name} again for current data"
        return f"{warning(entry, now)}; {hint}"


def pick_columns(names: Sequence[str], wanted: Sequence[str] | None, scratch_id: str) -> list[int]:
    """Positions of the wanted columns. Raises BadRequest naming those that exist."""
    if not wanted:
        return list(range(len(names)))
    wanted = list(dict.fromkeys(wanted))
    missing = [name for name in wanted if name not in names]
    if missing:
        there = ", ".join(names[:40]) + (f" and {len(names) - 40} more" if len(names) > 40 else "")
        raise BadRequest(f"columns: {scratch_id} has no column {missing[0]!r}; it has {there}")
    return [names.index(name) for name in wanted]


def cell_text(value: Any) -> str:
    """One cell as text: the literal it is in JSON, long ones cut."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value if len(value) <= MAX_CELL else f"{value[:MAX_CELL]}… ({len(value)} characters)"
    shown = to_value(value)
    size = f" ({shown.size} characters)" if shown.size else ""
    return f"{shown.text}…{size}" if shown.cut else shown.text


def csv_line(cells: Sequence[str]) -> str:
    """One CSV line, newline included."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def leading_continuation(data: bytes) -> int:
    """How many bytes at the start belong to a character that began before them."""
    skipped = 0
    while skipped < min(3, len(data)) and 0x80 <= data[skipped] < 0xC0:
        skipped += 1
    return skipped


def decode_start(data: bytes) -> str:
    """The longest whole text at the start of UTF-8 bytes that may end inside a character."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if len(data) - error.start < 4:
            return data[: error.start].decode("utf-8", "replace")
        return data.decode("utf-8", "replace")
