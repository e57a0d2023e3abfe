"""Answers context requests: takes the snapshot, has it assembled, signs a receipt over the fragments, notes the use."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crp_mcp.core.assemble.assembling import assemble
from crp_mcp.core.assemble.reply import Reply
from crp_mcp.core.model import DAY, Entry, Fact, Scope, Turn
from crp_mcp.core.request.models import ContextBudget, ContextFragment, ContextRequest, TemporalScope
from crp_mcp.proof.chain import salted_digest
from crp_mcp.proof.eccr import Item
from crp_mcp.relay.reading import Reader
from crp_mcp.relay.sealing import Sealer, Source, item_of, text_hash
from crp_mcp.relay.service import Counter
from crp_mcp.relay.using import Ask, Using
from crp_mcp.store import Head, Sealed, SqliteStore, Stub, descent, history
from crp_mcp.workspace.code import code_parsers
from crp_mcp.workspace.corpus import Workspace, open_workspace
from crp_mcp.workspace.roots import folders_of, within

from . import stored
from .cursors import CursorError, cursor_of, read_cursor
from .joined import Joined
from .links import Links
from .origins import OWN_LABEL
from .tiers import Tiers, Words

OWN_RETENTION = 30 * DAY


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply with what was recorded of it. `receipt`: digest; None where nothing was delivered."""

    reply: Reply
    receipt: str | None
    said: tuple[str, ...] = ()
    cursor: str | None = None
    """Where the next answer goes on; None where nothing is left, or nothing could be delivered."""
    used: tuple[Entry, ...] = ()
    """Entries of which more than the name was delivered."""
    saved: int | None = None
    """Their tokens less those that were delivered of them; None where not all of them are counted."""
    withheld: str | None = None
    """The sentence that says what is above the clearance of whoever asks."""


@dataclass(slots=True)
class Requester:
    """Context on request over one store and the workspace's roots."""

    store: SqliteStore
    sealer: Sealer
    reader: Reader
    using: Using
    counter: Callable[[], Counter]
    now: Callable[[], float]
    random_bytes: Callable[[int], bytes]
    roots: Sequence[Path] = ()
    _words: Words = field(default_factory=dict, init=False)
    _links: Links | None = field(default=None, init=False)
    _workspace: Workspace | None = field(default=None, init=False)
    _folders: tuple[Path, ...] = field(default=(), init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    """One request at a time: the index and the words kept between requests are shared."""

    def request(
        self,
        ask: Ask,
        request: ContextRequest,
        budget: ContextBudget,
        *,
        why: bool = False,
        cursor: str | None = None,
        if_hash: str | None = None,
    ) -> Answer:
        """Assemble, record and receipt; with a cursor, what the answer before left out. Nothing is recorded of a
        context that whoever asks has already: `if_hash` is its hash.

        Raises BadRequest (a depth, backend or strategy), CursorError, Withheld.
        """
        with self._lock:
            return self._request(ask, request, budget, why, cursor, if_hash)

    def _request(
        self,
        ask: Ask,
        request: ContextRequest,
        budget: ContextBudget,
        why: bool,
        cursor: str | None,
        if_hash: str | None,
    ) -> Answer:
        page = None if cursor is None else read_cursor(cursor, request)
        before: dict[str, int] = self.store.ask(history.given_before, ask.scope, page.number) if page else {}
        if page is not None and not before:
            raise CursorError("request_context: `cursor` is of another conversation; leave it out to begin anew")
        corpus = self.corpus(ask, request)
        implied = [] if request.focus else corpus.tiers.referred(request.query)
        reply = assemble(
            request, corpus, budget=budget, count=self.counter().count, why=why, implied=implied, before=before
        )
        if page is not None and not reply.found_digest.startswith(page.found):
            raise CursorError(
                "request_context: `cursor` is stale: what is stored, or a file, has changed since; leave it out to "
                "begin anew"
            )
        withheld = self.reader.withheld(ask.scope, list(corpus.tiers.withheld.values()))
        if not reply.fragments or reply.context.context_hash == if_hash:
            return Answer(reply, None, withheld=withheld)
        receipt, number = self._seal(ask, corpus, reply, page.number if page else None)
        used = self._entries(corpus, reply)
        said = tuple(word for one in used for word in self.using.use(ask, one, explicit=True).said)
        more = cursor_of(number, request, reply.found_digest) if reply.more else None
        return Answer(reply, receipt, said, more, tuple(used), saved_by(used, reply), withheld)

    def corpus(self, ask: Ask, request: ContextRequest) -> Joined:
        """The snapshot a request is answered from."""
        if self._links is None:
            self._links = Links(self.store)
        tiers = Tiers(self.store, self.reader, self.using, self.counter, ask, self.now(), self._words, self._links)
        past = request.temporal in (TemporalScope.HISTORICAL, TemporalScope.ALL) or request.as_of is not None
        tiers.load(past=past, words=" ".join((request.query or "", request.purpose, *request.entities)))
        return Joined(tiers, self.workspace(ask))

    def folders(self, ask: Ask) -> tuple[Path, ...]:
        """The folders whose files a request may read: those of the settings, and those its host works in."""
        return within(self.roots, folders_of(ask.roots))

    def workspace(self, ask: Ask) -> Workspace | None:
        """The workspace as its files are now; None where no root is allowed. Read on first need."""
        folders = self.folders(ask)
        if not folders:
            return None
        if self._workspace is None or self._folders != folders:
            self._workspace, self._folders = open_workspace(folders, code_parsers()), folders
        self._workspace.refresh()
        return self._workspace

    def _seal(self, ask: Ask, corpus: Joined, reply: Reply, previous: int | None) -> tuple[str, int]:
        now = self.now()
        items = [corpus.tiers.items.get(one.uko_node) for one in reply.fragments]
        sources = [
            Source(source_id(ask.scope, one.uko_node, item), self._item(corpus, one, now))
            for one, item in zip(reply.fragments, items, strict=True)
        ]
        sources += self._behind(corpus, reply, {one.id for one in sources})
        given = {
            "facts": [[leaf, one.id] for leaf, one in enumerate(items) if isinstance(one, Fact)],
            "turns": [[leaf, one.number] for leaf, one in enumerate(items) if isinstance(one, Turn)],
        }
        made: list[str] = []

        def seal(head: Head) -> Sealed:
            sealed, receipt = self.sealer.assembled(
                head,
                ask.scope,
                sources=sources,
                output_hash=text_hash(reply.text),
                turn_id=ask.turn,
                now=now,
                more=given,
            )
            made.append(receipt.digest)
            return sealed

        number = self.store.append(seal, lambda db: self._remember(db, ask, reply, now, previous), ask.scope)
        return made[0], number

    def _remember(self, db: sqlite3.Connection, ask: Ask, reply: Reply, now: float, previous: int | None) -> int:
        tiers = (reply.tiers["P"], reply.tiers["C"], reply.tiers["E"])
        return history.add_assembly(
            db,
            ask.scope,
            history.Assembly(
                0,
                now,
                ask.turn,
                reply.intent.text,
                reply.context.total_tokens,
                reply.budget,
                tiers,
                len(reply.fragments),
                reply.context.context_hash,
            ),
            [(one.uko_node, one.detail_depth) for one in reply.fragments] if reply.more else (),
            previous,
        )

    def _item(self, corpus: Joined, fragment: ContextFragment, now: float) -> Item:
        """The leaf of one fragment: an entry's own, or the salted digest of what else was delivered."""
        found = corpus.tiers.items.get(fragment.uko_node)
        if isinstance(found, Entry):
            return item_of(self.sealer.raised(found), self.store.salt(found.scope, found.scratch_id))
        if isinstance(found, Stub) and found.salt is not None:
            return item_of(self.sealer.raised(found), found.salt)
        digest = "sha256:" + hashlib.sha256(fragment.content.encode("utf-8", "replace")).hexdigest()
        label, ends = OWN_LABEL, [int(now) + OWN_RETENTION]
        if isinstance(found, (Fact, Turn)):
            label = corpus.tiers.origins.label_of(found)
            ends += [source.expires_at for source in corpus.tiers.origins.sources_of(found)]
        if isinstance(found, Fact) and found.expires_at:
            ends.append(found.expires_at)
        return Item(salted_digest(self.random_bytes(16), digest), label, min(ends))

    def _behind(self, corpus: Joined, reply: Reply, known: set[str]) -> list[Source]:
        """The entries that delivered facts and turns come from, and that were not delivered themselves."""
        items = [corpus.tiers.items.get(one.uko_node) for one in reply.fragments]
        loose = [one for one in items if isinstance(one, (Fact, Turn))]
        found = {leaf.id: leaf for one in loose for leaf in corpus.tiers.origins.leaves_of(one)}
        return [leaf for name, leaf in found.items() if name not in known]

    def _entries(self, corpus: Joined, reply: Reply) -> list[Entry]:
        """The entries of which more than the name was delivered."""
        shown = [corpus.tiers.items.get(one.uko_node) for one in reply.fragments if one.detail_depth > 0]
        return [one for one in shown if isinstance(one, Entry)]


def saved_by(used: Sequence[Entry], reply: Reply) -> int | None:
    """Tokens of entries less those delivered of them, never negative."""
    raw = [one.raw_token_count for one in used]
    if not used or None in raw:
        return None
    uris = {stored.entry_uri(one.scratch_id) for one in used}
    sent = sum(one.token_count for one in reply.fragments if one.uko_node in uris)
    return max(0, sum(filter(None, raw)) - sent)


def source_id(scope: Scope, uri: str, item: Entry | Stub | Turn | Fact | None) -> str:
    """The id under which a purge looks for what a fragment was made of: an entry's is its scratch_id."""
    if isinstance(item, Fact):
        return descent.fact_item(item.id)
    if isinstance(item, Turn):
        return descent.turn_item(scope.conversation, item.number)
    if isinstance(item, Stub) and item.salt is None:
        return uri  # purged, or left under an older version: no digest of it was ever signed for
    return uri.removeprefix("uko-tool:entry/")
