"""The store of one conversation as a corpus: a snapshot for one request, bounded however much is stored."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from crp_mcp.core.assemble.bm25 import Bm25
from crp_mcp.core.assemble.corpus import CONVERSATION, EPHEMERAL, PERSISTENT, About, Ranked
from crp_mcp.core.assemble.words import count_terms
from crp_mcp.core.freshness import Use, is_current, needed, plan_use, warning
from crp_mcp.core.model import Entry, Fact, FactStatus, Persistence, Turn
from crp_mcp.core.references import resolve
from crp_mcp.core.request.nodes import Node
from crp_mcp.core.safety import Stale
from crp_mcp.errors import NotFound
from crp_mcp.relay.reading import Reader, decode_start
from crp_mcp.relay.service import Counter
from crp_mcp.relay.using import Ask, Using
from crp_mcp.store import Filters, SqliteStore, Stub, facts, history, turns
from crp_mcp.store.ids import number_of

from . import stored
from .links import Links
from .origins import Origins
from .relations import Relations, derived_from

ENTRIES_MOST = 300
"""The newest entries of the conversation that words are looked up in; pins, and what is named, come on top."""
TURNS_MOST = 200
FACTS_MOST = 300
FACTS_FOUND = 50
"""The newest facts, and so many older ones that hold a word of the question."""
PAST_MOST = 100
OPENING = 2_048
"""Bytes of a payload that words are looked up in, beside its summary."""
BACKEND = "store"

Words = dict[tuple[str, ...], Counts[str]]
"""By tenant, project, URI and name: URIs are counted anew for every tenant, names are given later."""


@dataclass(slots=True)
class Tiers:
    """Entries, turns and facts as `asks` may see them. Implements `Corpus`.

    `known` keeps words between requests, `links` what calls took out of earlier results.
    """

    store: SqliteStore
    reader: Reader
    using: Using
    counter: Callable[[], Counter]
    asks: Ask
    now: float
    known: Words
    links: Links
    items: dict[str, Entry | Stub | Turn | Fact] = field(default_factory=dict)
    withheld: dict[str, Entry | Stub] = field(default_factory=dict)
    """What is above the clearance of whoever asks, by id; also what withheld facts and turns come from."""
    _index: Bm25 = field(default_factory=Bm25)
    _order: list[str] = field(default_factory=list)
    about_past: bool = False
    _past: list[str] = field(default_factory=list)
    _relations: Relations = field(init=False)
    _used: set[tuple[str, ...]] = field(default_factory=set)

    backends = frozenset((BACKEND,))

    def __post_init__(self) -> None:
        self._relations = Relations(self.store, self.links, self.items)

    @property
    def origins(self) -> Origins:
        return Origins(self.reader, self.store, self.asks.scope)

    def load(self, *, past: bool, words: str = "") -> None:
        """Take the snapshot. `past`: also what was removed or superseded long ago. `words`: what facts may hold."""
        scope, self.about_past = self.asks.scope, past
        newest = self.store.list(scope, limit=ENTRIES_MOST).entries
        pinned = self.store.list(scope, filters=Filters(pinned=True), limit=ENTRIES_MOST).entries
        for entry in {one.scratch_id: one for one in (*newest, *pinned)}.values():
            self._take(entry)
        known: list[Fact] = self.store.ask(facts.search, scope, "", FACTS_MOST)
        if words and len(known) == FACTS_MOST:
            known += self.store.ask(lambda db: facts.search(db, scope, words, FACTS_FOUND, some=True))
        for fact in {one.id: one for one in known}.values():
            if self._may_see(fact):
                self._keep(stored.fact_uri(fact), fact, fact.content)
        for turn in self.store.ask(turns.list_turns, scope, TURNS_MOST):
            if (turn.text or turn.decision) and self._may_see(turn):
                node = stored.turn_node(turn)
                self._keep(node.uri, turn, f"{node.title}\n{node.body}")
        if past:
            self._load_past()
        for gone in self.known.keys() - self._used:
            del self.known[gone]

    def _load_past(self) -> None:
        window = history.Window()
        ids = self.store.ask(history.gone, self.asks.scope, window, PAST_MOST)
        ids += self.store.ask(history.superseded, self.asks.scope, PAST_MOST)
        for scratch_id in ids:
            found = self.store.get(self.asks.scope, scratch_id)
            if isinstance(found, Stub) and not self.reader.may_see(self.asks.scope, found):
                self.withheld[scratch_id] = found
            elif isinstance(found, Stub):
                node = stored.stub_node(found)
                self._keep(node.uri, found, f"{node.title}\n{node.relations}\n{node.summary}")
                self._past.append(node.uri)
            else:
                self._take(found)
                if (uri := stored.entry_uri(scratch_id)) in self.items:
                    self._past.append(uri)

    def _take(self, entry: Entry) -> None:
        uri = stored.entry_uri(entry.scratch_id)
        if uri in self.items:
            return
        if self.reader.may_see(self.asks.scope, entry):
            self._keep(uri, entry, None)
        else:
            self.withheld[entry.scratch_id] = entry

    def _may_see(self, item: Fact | Turn) -> bool:
        if self.origins.may_see(item):
            return True
        self.withheld |= self.origins.withheld_of(item)
        return False

    def _keep(self, uri: str, item: Entry | Stub | Turn | Fact, text: str | None) -> None:
        if isinstance(item, Entry):
            key = (item.scope.tenant, item.scope.project, uri, item.name or "")
            self._used.add(key)
            words = self.known.get(key)
            if words is None:
                words = self.known[key] = count_terms([self._text(item)])
        else:
            words = count_terms([text or ""])
        self.items[uri] = item
        self._index.add(words)
        self._order.append(uri)

    def _text(self, entry: Entry) -> str:
        parts = [entry.scratch_id, entry.server, entry.tool_name, entry.name or "", stored.arguments_text(entry)]
        parts += [entry.kind.value, entry.tool_class.value, entry.summary or ""]
        parts.append(decode_start(self.store.read(entry.payload_id, 0, OPENING)))
        return "\n".join(parts)

    # -- Corpus

    def search(self, terms: Mapping[str, float], limit: int) -> Ranked:
        return [(self._order[number], score) for number, score in self._index.search(terms)[:limit]]

    def resolve(self, reference: str) -> Sequence[str]:
        if reference in self.items:
            return (reference,)
        name = reference.removeprefix("uko-tool:entry/").removeprefix("scratch://")
        if name.startswith("uko-"):
            return ()
        found = self.store_entry(name)
        return () if found is None else (found,)

    def store_entry(self, name: str) -> str | None:
        """The URI of an entry by id, pinned name or phrase, wherever in the project it is. Raises Withheld."""
        try:
            entry, _ = self.using.find(self.asks.scope, name)
        except NotFound:
            gone = self._stub(name)
            return None if gone is None else gone
        self._take(entry)
        return stored.entry_uri(entry.scratch_id)

    def _stub(self, name: str) -> str | None:
        if number_of(name) is None:
            return None
        try:
            found = self.store.get(self.asks.scope, name)
        except NotFound:
            return None
        if isinstance(found, Stub) and not self.reader.may_see(self.asks.scope, found):
            self.withheld[name] = found
            return None
        if isinstance(found, Stub):
            self.items.setdefault(stored.entry_uri(name), found)
        return stored.entry_uri(name)

    def referred(self, query: str | None) -> list[str]:
        """The entries a question's words refer to ("those results"); none where nothing speaks for one."""
        found = resolve(query, self.using.candidates(self.asks.scope)) if query else None
        meant = () if found is None else (found.id,) if found.id is not None else found.several
        return [uri for one in meant if (uri := self.store_entry(one)) is not None]

    def neighbours(self, uri: str) -> Iterable[tuple[str, str]]:
        return self._relations.of(uri)

    def about(self, uri: str) -> About | None:
        item = self.items.get(uri)
        if isinstance(item, Entry):
            pinned = item.persistence is Persistence.PINNED
            return About(
                uri,
                EPHEMERAL,
                item.created_at,
                past=item.superseded_by is not None,
                since=item.stale_since if item.superseded_by else None,
                chosen=pinned,
            )
        if isinstance(item, Stub):
            return About(uri, EPHEMERAL, item.created_at, past=True, since=item.gone_at)
        if isinstance(item, Turn):
            return About(uri, CONVERSATION, item.at, chosen=item.decision is not None)
        if isinstance(item, Fact):
            stale = item.status is not FactStatus.ACTIVE
            return About(uri, PERSISTENT, item.created_at, past=stale, chosen=not stale)
        return None

    def chosen(self) -> Sequence[str]:
        found = [about for uri in self.items if (about := self.about(uri)) is not None and about.chosen]
        return [about.uri for about in sorted(found, key=lambda one: (-one.at, one.uri))]

    def past(self) -> Sequence[str]:
        return list(dict.fromkeys(self._past))

    def node(self, uri: str) -> Node | None:
        item = self.items.get(uri)
        if isinstance(item, Stub):
            return stored.stub_node(item)
        if isinstance(item, Turn):
            return stored.turn_node(item)
        if isinstance(item, Fact):
            return stored.fact_node(item)
        return None if item is None else self._entry_node(item)

    def _entry_node(self, entry: Entry) -> Node | None:
        whole = self.store.get(entry.scope, entry.scratch_id)
        if not isinstance(whole, Entry):
            return None
        said: list[tuple[str, Sequence[str]]] = []
        said.append(("arguments", [stored.arguments_text(whole)] if whole.tool_call_args else []))
        said.append(("used in turns", [str(turn) for turn in whole.referenced_by]))
        said.append(("derived from", derived_from(whole)))
        said.append(("depends on", self._relations.depends().get(whole.scratch_id, ())))
        said.append(("supersedes", [whole.supersedes] if whole.supersedes else []))
        if self._use(whole) is Use.EXCLUDE:
            return stored.entry_node(whole, None, "", []).at_most(0)
        size = min(whole.payload_bytes, stored.BODY_MOST)
        body = decode_start(self.store.read(whole.payload_id, 0, size))
        return stored.entry_node(whole, stored.summary_of(whole, self.counter().count), body, said)

    def _use(self, entry: Entry) -> Use:
        use = plan_use(entry, self.now, self.asks.policy.stale, may_reinvoke=False)
        # Who asks about the past means old readings; with their note they cannot pass for current ones.
        asked = self.about_past and self.asks.policy.stale is not Stale.EXCLUDE
        return Use.WARN if asked and use is Use.EXCLUDE else use

    def note(self, uri: str) -> str:
        item = self.items.get(uri)
        if isinstance(item, Fact):
            return (
                "" if item.status is FactStatus.ACTIVE else f"NOTE: this fact is {item.status.value}: {item.flag or ''}"
            )
        if not isinstance(item, Entry) or is_current(item, self.now):
            return ""
        return needed(item, self.now) if self._use(item) is Use.EXCLUDE else warning(item, self.now)
