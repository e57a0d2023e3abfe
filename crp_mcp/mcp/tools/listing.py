"""Runs `scratch_list`: stored results a line each, told apart by what they were asked, as many as one answer holds."""

from __future__ import annotations

from dataclasses import dataclass

from crp_mcp.core.ages import age_text, rows_text, size_text
from crp_mcp.core.freshness import is_current
from crp_mcp.core.model import Entry, Kind, Persistence, Scope
from crp_mcp.core.nameless import nothing_stored
from crp_mcp.core.summary.clean import beginning, clean
from crp_mcp.errors import BadRequest
from crp_mcp.relay.reading import Reader
from crp_mcp.store import Filters

from .answers import answer
from .arguments import Arguments
from .definitions import MAX_TOKENS

LIST_LIMIT = 20
LIST_MOST = 200
ASKED_WIDTH = 60
"""Characters of a call's arguments on its line."""
LINE_OF_OURS = 60
"""Tokens kept for our own line, its cursor included."""


@dataclass(slots=True)
class ListTool:
    """Listings of one store."""

    reader: Reader

    def call(self, given: Arguments, scope: Scope) -> dict[str, object]:
        """The `tools/call` result. Raises BadRequest for what is wrong with the call."""
        tool = given.text("tool")
        kind = given.text("kind")
        pinned = given.flag("pinned")
        stream = given.text("stream")
        cursor = given.text("cursor")
        limit = given.whole("limit", LIST_LIMIT, low=1, high=LIST_MOST)
        given.done()
        filters = Filters(kind=kind_of(kind), tool=tool, pinned=pinned, stream_id=stream)
        page = self.reader.store.list(scope, filters=filters, cursor=cursor, limit=limit)
        if not page.entries:
            filtered = tool or kind or stream or pinned is not None
            return answer("no stored results match" if filtered else nothing_stored(scope.conversation))
        seen = self.reader.visible(scope, page.entries)
        lines = [self.line(entry) if entry.scratch_id in seen else withheld(entry) for entry in page.entries]
        fitting = self._fitting(lines)
        if fitting < len(lines):
            page = self.reader.store.list(scope, filters=filters, cursor=cursor, limit=fitting)
            lines = lines[: len(page.entries)]
        more = "" if page.cursor is None else f"; more with cursor {page.cursor}"
        count = f"{len(lines)} stored result" + ("" if len(lines) == 1 else "s")
        return answer(f"{count}, newest first{more}", "\n".join(lines), {"cursor": page.cursor})

    def _fitting(self, lines: list[str]) -> int:
        """How many of the lines one answer holds, one at least. Bytes are an upper bound of tokens."""
        room = MAX_TOKENS - LINE_OF_OURS
        if sum(len(line.encode()) + 1 for line in lines) <= room:
            return len(lines)
        count = self.reader.counter().count
        for number, line in enumerate(lines):
            room -= count(line + "\n")
            if room < 0:
                return max(1, number)
        return len(lines)

    def line(self, entry: Entry) -> str:
        """One entry on one line."""
        age = self.reader.now() - entry.created_at
        parts = [
            entry.scratch_id,
            f"{entry.server}:{entry.tool_name}{asked(entry)}",
            entry.kind.value,
            None if entry.rows is None else rows_text(entry.rows),
            size_text(entry.payload_bytes),
            f"{age_text(age)} ago",
            "fresh" if is_current(entry, self.reader.now()) else "stale",
            f"stream {clean(entry.stream_id)}" if entry.stream_id else None,
            named(entry),
        ]
        return " · ".join(part for part in parts if part)


def asked(entry: Entry) -> str:
    """What the call asked, as far as a line has room: results of one tool look alike otherwise."""
    arguments = entry.tool_call_args if entry.origin == "capture" else {"sql": entry.tool_call_args.get("sql")}
    text = ", ".join(str(value) for value in arguments.values() if value not in (None, "", [], {}))
    return f"({beginning(' '.join(text.split()), ASKED_WIDTH)})" if text else ""


def withheld(entry: Entry) -> str:
    return f"{entry.scratch_id} · withheld: labelled {entry.label}, above the clearance of this conversation"


def named(entry: Entry) -> str | None:
    """How an entry is pinned or called."""
    if entry.persistence is Persistence.PINNED:
        return f'pinned as "{entry.name}"' if entry.name else "pinned"
    return f'called "{entry.name}"' if entry.name else None


def kind_of(text: str | None) -> Kind | None:
    """The kind of that name. Raises BadRequest with the names there are."""
    if text is None:
        return None
    try:
        return Kind(text)
    except ValueError:
        raise BadRequest(f"kind: {text[:40]!r} is none of {', '.join(Kind)}") from None
