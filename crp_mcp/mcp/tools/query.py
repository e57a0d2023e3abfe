"""Runs `scratch_query`: arguments in, one page of rows and the way to the rest out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crp_mcp.core.freshness import is_current
from crp_mcp.core.model import Entry, Scope
from crp_mcp.relay.querying import Querier, QueryPage
from crp_mcp.relay.reading import Reader

from .answers import answer
from .arguments import Arguments
from .definitions import MAX_TOKENS, MAX_TOKENS_LIMIT

LONGEST_SQL = 20_000


@dataclass(slots=True)
class QueryTool:
    """`scratch_query` over one store."""

    querier: Querier
    reader: Reader

    def call(self, given: Arguments, scope: Scope) -> tuple[dict[str, Any], tuple[Entry, ...]]:
        """The result of one call, and the entries it read. Raises CrpError for what is wrong with it."""
        sql = str(given.text("sql", required=True, limit=LONGEST_SQL))
        max_tokens = given.whole("max_tokens", MAX_TOKENS, low=16, high=MAX_TOKENS_LIMIT)
        given.done()
        page = self.querier.query(scope, sql, max_tokens)
        scratch_id = page.entry.scratch_id if page.entry is not None else None
        more = page.shown if page.shown < page.kept and scratch_id else None
        handles = {"scratch_id": scratch_id, "total": page.total, "next_offset": more}
        return answer(self.line(page), page.text, handles), page.inputs

    def line(self, page: QueryPage) -> str:
        """Our own words: how many rows, where the rest is, what it was made from and how old that is."""
        what = f"rows 1-{page.shown} of {page.total:,}" if page.shown else f"0 of {page.total:,} rows"
        if page.total > page.kept:
            what += f" (the first {page.kept:,} are kept)"
        parts = [what]
        if page.cut:
            what += ", cut: it is longer than max_tokens"
            parts[0] = what
        if page.entry is not None:
            parts[0] = f"{page.entry.scratch_id}: {what}"
            if page.shown < page.kept:
                parts.append(f'next: scratch_get {page.entry.scratch_id}, view "rows", offset {page.shown}')
        elif page.shown < page.kept:
            parts.append("more with max_tokens")
        if page.inputs:
            parts.append("from " + ", ".join(self._sources(page)))
        return "; ".join([*parts, *(f"NOTE: {note}" for note in page.notes)])

    def _sources(self, page: QueryPage) -> list[str]:
        """Every input with its age; a stream with the age of its stalest, or else oldest, chunk."""
        chunks = {chunk for _, members in page.streams for chunk in members}
        said = []
        for stream, members in page.streams:
            entries = [one for one in page.inputs if one.scratch_id in members]
            worst = min(entries, key=lambda one: (is_current(one, self.reader.now()), one.created_at))
            count = f"{len(entries)} chunk{'' if len(entries) == 1 else 's'}"
            said.append(f"{stream} ({count}; {worst.scratch_id} {self.reader.freshness(worst)})")
        alone = [one for one in page.inputs if one.scratch_id not in chunks]
        return said + [f"{one.scratch_id} ({self.reader.freshness(one)})" for one in alone]
