"""What an erasure is about: entries by id, tool, conversation, argument or content, and texts outside of entries."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from crp_mcp.core.model import Entry
from crp_mcp.core.shape import shape_from_json
from crp_mcp.errors import BadRequest, NotFound
from crp_mcp.store import SqliteStore, Stub, descent

from .matching import Matcher, has_value
from .remaining import has_row

PAGE = 500


@dataclass(frozen=True, slots=True)
class Selection:
    """What is to be erased. What is given narrows; nothing given chooses nothing."""

    ids: tuple[str, ...] = ()
    tool: str | None = None
    """Glob of a tool, or of `server:tool`."""
    conversation: str | None = None
    argument: str | None = None
    """A value, or `name=value`."""
    matching: str | None = None

    def is_empty(self) -> bool:
        return not (self.ids or self.tool or self.conversation or self.argument or self.matching)


@dataclass(slots=True)
class Chooser:
    """Finds what a selection chooses in one store."""

    store: SqliteStore

    def entries(self, wanted: Selection, matcher: Matcher | None) -> tuple[list[Entry], list[Stub]]:
        """The entries that are chosen, and stubs of entries that had gone before. Raises NotFound, BadRequest."""
        found, stubs = list[Entry](), list[Stub]()
        candidates: Iterable[Entry] = self._all()
        if wanted.ids:
            named = [one for reference in wanted.ids for one in self._named(reference, wanted.conversation)]
            candidates = [one for one in named if isinstance(one, Entry)]
            stubs = [one for one in named if isinstance(one, Stub)]
            if wanted.tool or wanted.conversation or wanted.argument or matcher:
                stubs = []
        found = [entry for entry in candidates if self._is_chosen(entry, wanted, matcher)]
        if not wanted.ids:
            stubs = list(self._stubs(wanted, matcher))
        return found, stubs

    def _named(self, reference: str, conversation: str | None) -> list[Entry | Stub]:
        found: list[Entry | Stub] = []
        for scope in self.store.spaces():
            try:
                found.append(self.store.get(scope, reference))
            except NotFound:
                continue
        if not found:
            raise NotFound(f"no entry {reference!r} here: `crp-mcp scratch list` shows what there is")
        if len(found) > 1 and conversation is None:
            where = ", ".join(f"{one.scope.tenant} {one.scope.project}".strip() for one in found)
            raise BadRequest(f"{reference} means several entries, of {where}: say whose with --conversation")
        return found

    def _all(self) -> Iterator[Entry]:
        cursor: str | None = None
        while True:
            page = self.store.list(None, cursor=cursor, limit=PAGE, within="store")
            for entry in page.entries:
                whole = self.store.get(entry.scope, entry.scratch_id)
                if isinstance(whole, Entry):
                    yield whole
            cursor = page.cursor
            if cursor is None:
                return

    def _is_chosen(self, entry: Entry, wanted: Selection, matcher: Matcher | None) -> bool:
        if wanted.tool and not _fits(wanted.tool, entry.server, entry.tool_name):
            return False
        if wanted.conversation and entry.scope.conversation != wanted.conversation:
            return False
        if wanted.argument and not _argued(entry.tool_call_args, wanted.argument):
            return False
        return matcher is None or self._matches(entry, matcher)

    def _matches(self, entry: Entry, matcher: Matcher) -> bool:
        around = "\n".join(filter(None, (text_of(entry.tool_call_args), entry.summary, entry.name)))
        if matcher.in_text(around) or matcher.in_pieces(self.store.iter_payload(entry.payload_id)):
            return True
        shape = None if entry.structured is None else shape_from_json(entry.structured)
        if shape is None or shape.columns is None or not matcher.may_be_a_cell(c.name for c in shape.columns):
            return False
        return has_row(self.payload(entry), shape, matcher)

    def _stubs(self, wanted: Selection, matcher: Matcher | None) -> Iterator[Stub]:
        for text in self.store.ask(lambda db: list(descent.loose_texts(db))):
            if text.what != "stub":
                continue
            found = self.store.get(text.scope, text.id)
            if not isinstance(found, Stub):
                continue
            if wanted.tool and not _fits(wanted.tool, found.server, found.tool_name):
                continue
            if wanted.conversation and text.scope.conversation != wanted.conversation:
                continue
            if wanted.argument and not _argued(found.tool_call_args or {}, wanted.argument):
                continue
            if matcher is None or matcher.in_text(text.text):
                yield found

    def texts(self, wanted: Selection, matcher: Matcher | None) -> list[descent.LooseText]:
        """Turns and facts that match; all turns of a conversation that goes as a whole."""
        if wanted.ids or wanted.tool or wanted.argument or not (matcher or wanted.conversation):
            return []
        loose = self.store.ask(lambda db: [text for text in descent.loose_texts(db) if text.what != "stub"])
        if wanted.conversation:
            loose = [text for text in loose if text.scope.conversation == wanted.conversation]
        return [text for text in loose if matcher is None or matcher.in_text(text.text)]

    def payload(self, entry: Entry) -> bytes:
        return b"".join(self.store.iter_payload(entry.payload_id))


def _fits(glob: str, server: str, tool: str) -> bool:
    return fnmatch.fnmatchcase(f"{server}:{tool}" if ":" in glob else tool, glob)


def _argued(arguments: Mapping[str, object], wanted: str) -> bool:
    name, equals, value = wanted.partition("=")
    return has_value(arguments, wanted) or bool(equals and has_value(arguments, value, name))


def text_of(arguments: Mapping[str, object]) -> str:
    return json.dumps(arguments, ensure_ascii=False, default=str)
