"""The composition root of worker and command line: every part of one store, each joined to those it needs."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from crp_mcp.core.model import Entry, ToolPolicy
from crp_mcp.core.safety import parse_policy
from crp_mcp.mcp.tools.getting import GetTool
from crp_mcp.mcp.tools.life import LifeTools
from crp_mcp.mcp.tools.own import OwnTools
from crp_mcp.mcp.tools.query import QueryTool
from crp_mcp.query.desk import Desk
from crp_mcp.relay.auditing import Auditor
from crp_mcp.relay.buffer import Buffer
from crp_mcp.relay.conversation import Conversations
from crp_mcp.relay.erasure import WHOLE_FILE, Eraser
from crp_mcp.relay.facts import Facts
from crp_mcp.relay.headers import Headers
from crp_mcp.relay.lending import Lender
from crp_mcp.relay.lifecycle import Lifecycle
from crp_mcp.relay.querying import Querier
from crp_mcp.relay.reading import Reader
from crp_mcp.relay.rebuilding import Rebuilder
from crp_mcp.relay.receipts import Receipts
from crp_mcp.relay.searching import Finder
from crp_mcp.relay.service import Service
from crp_mcp.relay.streams import Streams
from crp_mcp.relay.turns import Turns
from crp_mcp.relay.using import Using

from .answering import Answerer, Reply
from .checking import Checking
from .context import context_tools
from .derived import Derived
from .ground import Ground, open_ground
from .memory import give_back
from .settings import Settings

SWEEP_EVERY = 600.0
"""Seconds between two looks for what has reached the end of its retention."""


class Engine:
    """One store with everything around it. `handle` answers the worker's frames; the command line uses the parts.

    A part is joined when it is first asked for, which `open_engine` does in one thread, for all of them.
    """

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.settings, self.store, self.keyring = ground.settings, ground.store, ground.keyring
        self.counter, self.now, self._sealer = ground.counter, ground.now, ground.sealer
        self._swept_at = float("-inf")

    def handle(self, header: Mapping[str, Any], blob: bytes) -> Reply:
        """Answer one request of the proxy. Raises CrpError for what the proxy must be told."""
        return self.answerer.handle(header, blob)

    def policy(self, server: str, tool: str) -> ToolPolicy:
        """What the registry says now of a tool."""
        return self.ground.policy(server, tool)

    def upkeep(self) -> None:
        """What may wait for a quiet moment: the log goes back into the store's file, what is too old is purged."""
        self.store.checkpoint()
        now = time.monotonic()
        if now - self._swept_at > SWEEP_EVERY:
            self._swept_at = now
            self.store.sweep_uploads()
            self.derived.sweep()
            self.eraser.sweep(most_bytes=WHOLE_FILE)
            give_back()

    def close(self) -> None:
        """Seal the chain if this process added to it, and let go of everything."""
        self.desk.close()
        if self._sealer.linked:
            self.auditor.seal()
        self.store.checkpoint()
        self.store.close()

    # -- whose request it is, and what holds for it

    @cached_property
    def conversations(self) -> Conversations:
        own = self.settings
        return Conversations(
            self.store, own.tenant, own.project, own.host_key, self.now, new_conversation, own.conversation
        )

    @cached_property
    def turns(self) -> Turns:
        return Turns(self.store, self.now)

    @cached_property
    def buffer(self) -> Buffer:
        return Buffer(self.store, self._sealer, self.now, self.settings.limits())

    @cached_property
    def life(self) -> Lifecycle:
        operator = parse_policy(self.settings.policy)
        return Lifecycle(self.store, self._sealer, self.now, self.turns, self.buffer, self.ground.guard, operator)

    @cached_property
    def streams(self) -> Streams:
        return Streams(self.store, self.now)

    @cached_property
    def headers(self) -> Headers:
        return Headers(self.store, self.buffer, self.now)

    # -- capturing

    @cached_property
    def service(self) -> Service:
        return Service(
            self.store,
            self._sealer,
            self.counter,
            self.now,
            secrets.token_bytes,
            self.headers.of_entries,
            self.ground.guard,
            self.life.captured,
        )

    # -- reading

    @cached_property
    def reader(self) -> Reader:
        return Reader(self.store, self._sealer, self.counter, self.now, self.ground.guard)

    @cached_property
    def desk(self) -> Desk:
        guard = self.ground.guard
        return Desk(self.store, self.settings.tables, check=guard.check, clears=guard.clears)

    @cached_property
    def finder(self) -> Finder:
        return Finder(self.reader, self.desk, self.counter)

    @cached_property
    def querier(self) -> Querier:
        return Querier(self.store, self.desk, self._sealer, self.counter, self.now, secrets.token_bytes)

    @cached_property
    def lender(self) -> Lender:
        return Lender(self.store, self.reader, self.finder, self._sealer, self.now, self.settings.confirm)

    @cached_property
    def using(self) -> Using:
        policy_of = self.ground.policy_of
        return Using(self.store, self._sealer, self.now, self.reader, self.turns, self.buffer, policy_of)

    @cached_property
    def checking(self) -> Checking:
        return Checking(self.ground, self.reader, self.using, self.headers)

    @cached_property
    def facts(self) -> Facts:
        def summary(entry: Entry) -> str:
            return self.reader.summary(entry, self.ground.policy_of(entry).summary)

        return Facts(self.store, self._sealer, self.now, summary, self.ground.guard)

    # -- proof and erasure

    @cached_property
    def receipts(self) -> Receipts:
        return Receipts(self.store, self.keyring, self._sealer, self.now, self.ground.ceilings)

    @cached_property
    def auditor(self) -> Auditor:
        return Auditor(self.store, self.keyring, self._sealer, self.now)

    @cached_property
    def derived(self) -> Derived:
        return Derived(self.settings, self.store, self.desk, self.checking)

    @cached_property
    def eraser(self) -> Eraser:
        policy_of, tables = self.ground.policy_of, self.settings.tables
        rebuilder = Rebuilder(self.store, self._sealer, self.counter, secrets.token_bytes, policy_of, tables)
        return Eraser(self.store, self._sealer, rebuilder, self.now, self.derived.forget, self.derived.tidy)

    # -- what the host sees

    @cached_property
    def tools(self) -> OwnTools:
        return OwnTools(
            reader=self.reader,
            get=GetTool(self.reader, self.finder, self.receipts, self.using, self.ground.policy_of, self._meta_of),
            query=QueryTool(self.querier, self.reader),
            receipts=self.receipts,
            eraser=self.eraser,
            life=LifeTools(self.using, self.facts),
            headers=self.headers,
            context=context_tools(self.ground, self.reader, self.using, self.headers),
            checking=self.checking.tool,
        )

    @cached_property
    def answerer(self) -> Answerer:
        return Answerer(
            ground=self.ground,
            service=self.service,
            tools=self.tools,
            conversations=self.conversations,
            lender=self.lender,
            turns=self.turns,
            life=self.life,
            streams=self.streams,
            forget=self.derived.forget,
        )

    def _meta_of(self, entry: Entry, given: str | None) -> Mapping[str, Any]:
        return self.service.answer_meta(entry, None if given is None else self.counter().count(given))


def open_engine(settings: Settings, *, create: bool = True, now: Callable[[], float] = time.time) -> Engine:
    """Open everything. Raises StoreError, KeyringError, ConfigError or BadRequest before any tool runs.

    `create`: make store and keys where there are none. `now`: the clock, in epoch seconds.
    """
    engine = Engine(open_ground(settings, create=create, now=now))
    for part, value in vars(Engine).items():
        if isinstance(value, cached_property):
            getattr(engine, part)
    return engine


def new_conversation() -> str:
    """A new conversation's id."""
    return "conv_" + secrets.token_hex(8)
