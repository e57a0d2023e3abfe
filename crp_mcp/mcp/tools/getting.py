"""Runs `scratch_get`: arguments in, one view or page of a stored result out, with our own line above it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from crp_mcp.core.ages import iso_duration, iso_time
from crp_mcp.core.freshness import Use, needed
from crp_mcp.core.model import Entry, ToolPolicy
from crp_mcp.core.shape import shape_to_json
from crp_mcp.errors import Refused, Rejected
from crp_mcp.relay.reading import RawPage, Reader
from crp_mcp.relay.receipts import Receipts
from crp_mcp.relay.searching import Finder, TextPage
from crp_mcp.relay.using import Ask, Using

from .answers import add_to_line, answer
from .arguments import Arguments
from .definitions import MAX_TOKENS, MAX_TOKENS_LIMIT, VIEWS

ROWS_LIMIT = 1_000
CONTEXT_LINES = 2
NUMBERS_TOKENS = 36
"""Tokens of the counts and offsets in our own line above a page."""


@dataclass(slots=True)
class GetTool:
    """`scratch_get` over one store. `policy` tells how a tool's summaries are made."""

    reader: Reader
    finder: Finder
    receipts: Receipts
    using: Using
    policy: Callable[[Entry], ToolPolicy]
    meta: Callable[[Entry, str | None], Mapping[str, Any]]
    """`_meta` of an answer about an entry; the text is what was given of it."""

    def call(self, given: Arguments, ask: Ask) -> dict[str, Any]:
        """The result of one call. Raises CrpError for what is wrong with it."""
        reference = given.text("scratch_id", required=True)
        view = given.choice("view", VIEWS, "summary")
        offset = given.whole("offset", 0)
        few = given.whole("limit", -1, low=1)
        limit = ROWS_LIMIT if few < 0 else few
        columns = given.texts("columns")
        max_tokens = given.whole("max_tokens", MAX_TOKENS, low=16, high=MAX_TOKENS_LIMIT)
        path, grep = given.text("path"), given.text("grep")
        context = given.whole("context", CONTEXT_LINES, high=50)
        block = given.whole("block", 0) or None
        given.done()
        found, said = self.using.find(ask.scope, reference_of(str(reference)))
        max_tokens = self._room(found, max_tokens, said)
        explicit = view != "summary" or not (grep is None and path is None and block is None)
        used = self.using.use(ask, found, explicit=explicit)
        if used.use is Use.EXCLUDE:
            return self._excluded(used.entry)
        if path is not None and grep is None:
            page = self.finder.path(used.entry, path, block, offset, max_tokens, None if few < 0 else few)
            result = self._text_page(used.entry, page)
        else:
            result = self._view(used.entry, view, offset, limit, columns, max_tokens, grep, context, block)
        return add_to_line(result, *([said] if said else []), *used.said)

    def _room(self, entry: Entry, max_tokens: int, said: str | None) -> int:
        """What is left of an answer's tokens beside our own line."""
        line = f"{entry.scratch_id}; {self.reader.freshness(entry)}; {said or ''}"
        return max(max_tokens // 2, max_tokens - self.reader.counter().count(line) - NUMBERS_TOKENS)

    def _excluded(self, entry: Entry) -> dict[str, Any]:
        line = needed(entry, self.reader.now()) + '; view "raw" or "rows" gives the old data as such'
        return answer(line, None, {"scratch_id": entry.scratch_id, "excluded": True})

    def _view(
        self,
        entry: Entry,
        view: str,
        offset: int,
        limit: int,
        columns: list[str] | None,
        max_tokens: int,
        grep: str | None,
        context: int,
        block: int | None,
    ) -> dict[str, Any]:
        if grep is not None:
            return self._grep(entry, grep, block, context, offset, limit, max_tokens)
        if block is not None:
            return self._block(entry, block, view, offset, limit, max_tokens, columns)
        if view == "rows":
            return self._rows(entry, offset, limit, max_tokens, columns)
        if view == "raw":
            return self._text_page(entry, self.reader.raw(entry, offset, max_tokens))
        if view == "receipt":
            return self._receipt(entry)
        text = self.summary(entry) if view == "summary" else provenance_text(entry)
        result = answer(f"{entry.scratch_id}: {self.reader.freshness(entry)}", text, {"scratch_id": entry.scratch_id})
        return {**result, "_meta": dict(self.meta(entry, text))}

    def summary(self, entry: Entry) -> str:
        return self.reader.summary(entry, self.policy(entry).summary)

    def _rows(
        self, entry: Entry, offset: int, limit: int, max_tokens: int, columns: list[str] | None
    ) -> dict[str, Any]:
        page = self.reader.rows(entry, offset, limit, max_tokens, columns)
        end = page.start + page.count
        what = f"rows {page.start + 1}-{end} of {page.total:,}" if page.count else f"0 of {page.total:,} rows"
        total = f" ({entry.rows_total:,} exist at the source)" if entry.rows_total and entry.partial else ""
        more = "" if page.done else f"; next_offset {end}"
        line = f"{entry.scratch_id}: {what}{total}{more}; {self.reader.freshness(entry)}"
        handles = {"scratch_id": entry.scratch_id, "total": page.total, "next_offset": None if page.done else end}
        return {**answer(line, page.text, handles), "_meta": dict(self.meta(entry, page.text))}

    def _block(
        self,
        entry: Entry,
        block: int,
        view: str,
        offset: int,
        limit: int,
        max_tokens: int,
        columns: list[str] | None,
    ) -> dict[str, Any]:
        if view == "rows":
            part = replace(entry, structured=shape_to_json(self.finder.block_shape(entry, block)))
            return self._rows(part, offset, limit, max_tokens, columns)
        return self._text_page(entry, self.finder.block(entry, block, offset, max_tokens))

    def _text_page(self, entry: Entry, page: TextPage | RawPage) -> dict[str, Any]:
        done = page.end >= page.size
        more = "" if done else f"; next_offset {page.end}"
        unit = page.what if isinstance(page, TextPage) else "bytes"
        what = "all" if done and page.start == 0 else f"{unit} {page.start}-{page.end} of"
        line = f"{entry.scratch_id}: {what} {page.size:,} {unit}{more}; {self.reader.freshness(entry)}"
        handles = {"scratch_id": entry.scratch_id, "total": page.size, "next_offset": None if done else page.end}
        return {**answer(line, page.text, handles), "_meta": dict(self.meta(entry, page.text))}

    def _grep(
        self, entry: Entry, pattern: str, block: int | None, context: int, offset: int, limit: int, max_tokens: int
    ) -> dict[str, Any]:
        found = self.finder.grep(
            entry, pattern, block=block, context=context, offset=offset, limit=limit, max_tokens=max_tokens
        )
        end = offset + found.count
        done = end >= found.total
        what = (
            f"matching lines {offset + 1}-{end} of {found.total:,}" if found.count else f"{found.total:,} lines match"
        )
        more = "" if done else f"; next_offset {end}"
        line = f"{entry.scratch_id}: {what}, of {found.lines:,} lines{more}; {self.reader.freshness(entry)}"
        handles = {"scratch_id": entry.scratch_id, "total": found.total, "next_offset": None if done else end}
        return {**answer(line, found.text, handles), "_meta": dict(self.meta(entry, found.text))}

    def _receipt(self, entry: Entry) -> dict[str, Any]:
        """The receipt in force for an entry, verified now and held against it. A refusal is said and recorded."""
        row = self.reader.store.get(entry.scope, entry.scratch_id)  # as it is kept: its label not raised
        try:
            found = self.receipts.verify_of(row if isinstance(row, Entry) else entry)
        except Rejected as refusal:
            raise Refused(f"{entry.scratch_id}: receipt {entry.receipt} is REJECTED: {refusal}") from refusal
        line = f"{entry.scratch_id}: receipt {found.digest} over {len(found.leaves)} sources"
        handles = {"scratch_id": entry.scratch_id, "receipt": found.digest}
        return {**answer(f"{line}; verified", found.body.decode(), handles), "_meta": dict(self.meta(entry, None))}


def reference_of(text: str) -> str:
    """An id or name, whether given bare or as a resource URI."""
    return text.removeprefix("scratch://").strip()


def provenance_text(entry: Entry) -> str:
    """Where a result came from and what proves it, a line each; no content."""
    ttl = "as long as it is kept" if entry.freshness_ttl is None else iso_duration(entry.freshness_ttl)
    facts = {
        "tool": f"{entry.server}:{entry.tool_name}",
        "arguments": ", ".join(sorted(entry.tool_call_args)) or "none",
        "captured_at": iso_time(entry.created_at),
        "freshness_ttl": ttl,
        "volatility": entry.volatility.value,
        "kind": entry.kind.value,
        "rows": entry.rows,
        "rows_total": entry.rows_total,
        "bytes": entry.payload_bytes,
        "raw_tokens": entry.raw_token_count,
        "payload": "the text exactly as received" if entry.form == "text" else "the result JSON exactly as received",
        "provenance_hash": entry.provenance_hash,
        "receipt": entry.receipt,
        "label": entry.label,
        "kept_until": iso_time(entry.expires_at),
        "persistence": entry.persistence.value,
        "supersedes": entry.supersedes,
        "superseded_by": entry.superseded_by,
        "stale_since": None if entry.stale_since is None else iso_time(entry.stale_since),
        "stale_why": entry.stale_why,
        "turn": entry.turn_id,
        "referenced_by": ", ".join(map(str, entry.referenced_by)) or None,
        "stream_id": entry.stream_id,
    }
    return "\n".join(f"{key}: {value}" for key, value in facts.items() if value is not None)
