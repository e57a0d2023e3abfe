"""The composition root of worker and command line: store, keys, registry, counter, service and tools, joined."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from crp_mcp.config import LiveRegistry
from crp_mcp.core.model import Entry, Scope, ToolCall, ToolPolicy
from crp_mcp.core.safety import parse_policy
from crp_mcp.errors import BadRequest, Refused
from crp_mcp.keys import Keyring, load_keyring
from crp_mcp.log import log
from crp_mcp.mcp.spool import sweep as sweep_spool
from crp_mcp.mcp.tools.answers import HEADERS_KEY
from crp_mcp.mcp.tools.life import LifeTools
from crp_mcp.mcp.tools.own import OwnTools, reference_of
from crp_mcp.mcp.tools.query import QueryTool
from crp_mcp.proof.lattice import Lattice
from crp_mcp.query.desk import Desk
from crp_mcp.relay.auditing import Auditor
from crp_mcp.relay.buffer import Buffer
from crp_mcp.relay.ceilings import Ceilings
from crp_mcp.relay.conversation import Conversations
from crp_mcp.relay.erasure import WHOLE_FILE, Eraser
from crp_mcp.relay.facts import Facts
from crp_mcp.relay.headers import headers_of
from crp_mcp.relay.labels import Clearances, Guard
from crp_mcp.relay.lending import Lender, Wanted
from crp_mcp.relay.lifecycle import Lifecycle, acts, name_from
from crp_mcp.relay.querying import Querier
from crp_mcp.relay.reading import Reader
from crp_mcp.relay.rebuilding import Rebuilder, sweep_leftovers
from crp_mcp.relay.receipts import Receipts
from crp_mcp.relay.sealing import Sealer
from crp_mcp.relay.searching import Finder
from crp_mcp.relay.service import Counter, Job, Outcome, Service
from crp_mcp.relay.spooled import read_spooled
from crp_mcp.relay.streams import Streams
from crp_mcp.relay.turns import Turns
from crp_mcp.relay.using import Ask, NeedsCall, Using
from crp_mcp.store import SqliteStore, open_store, store_file

from .checking import Checking
from .context import context_tools
from .memory import give_back
from .settings import Settings

SWEEP_EVERY = 600.0
"""Seconds between two looks for what has reached the end of its retention."""

Reply = tuple[dict[str, Any], bytes, "Callable[[], object] | None"]


class LazyCounter:
    """The token counter, loaded by whoever needs it first; once for the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counter: Counter | None = None

    @property
    def loaded(self) -> bool:
        """Whether asking for it costs nothing."""
        return self._counter is not None

    def __call__(self) -> Counter:
        if self._counter is None:
            with self._lock:
                if self._counter is None:
                    from crp_mcp.tokens import open_counter

                    self._counter = open_counter()
                    give_back()
        return self._counter


@dataclass(slots=True)
class Engine:
    """One store with everything around it. `handle` answers the worker's frames; the command line uses the parts."""

    settings: Settings
    store: SqliteStore
    keyring: Keyring
    registry: LiveRegistry
    counter: LazyCounter
    service: Service
    reader: Reader
    tools: OwnTools
    conversations: Conversations
    desk: Desk
    receipts: Receipts
    eraser: Eraser
    auditor: Auditor
    lender: Lender
    turns: Turns
    life: Lifecycle
    using: Using
    facts: Facts
    streams: Streams
    checking: Checking
    now: Callable[[], float] = field(default=time.time)
    _swept_at: float = field(default=float("-inf"), init=False)

    def handle(self, header: Mapping[str, Any], blob: bytes) -> Reply:
        """Answer one request of the proxy. Raises CrpError for what the proxy must be told."""
        op = header.get("op")
        if op == "capture":
            return self._capture(header, blob)
        meta = header.get("meta") or {}
        scope = self.conversations.scope(meta)
        self.life.note_policy(scope)
        if op == "lend":
            return self._lend(header, blob, scope)
        if op == "before":
            return self._before(header, scope, meta)
        if op == "tool":
            try:
                ask = self.ask(header, scope)
                result = self.tools.call(str(header.get("name")), header.get("arguments"), scope, ask)
            except NeedsCall as needed:
                return call_again(needed.entry), b"", None
        elif op == "read_resource":
            result = self.tools.read_resource(str(header.get("uri")), scope)
        elif op == "complete":
            result = self.tools.complete(str(header.get("prefix")), scope)
        else:
            raise BadRequest(f"unknown request {op!r}")
        return {}, orjson.dumps(result), None

    def upkeep(self) -> None:
        """What may wait for a quiet moment: the log goes back into the store's file, what is too old is purged."""
        self.store.checkpoint()
        now = time.monotonic()
        if now - self._swept_at > SWEEP_EVERY:
            self._swept_at = now
            self.store.sweep_uploads()
            self.desk.sweep()
            self.checking.forget()
            self.eraser.sweep(most_bytes=WHOLE_FILE)
            give_back()

    def close(self) -> None:
        """Seal the chain if this process added to it, and let go of everything."""
        self.desk.close()
        if self.eraser.sealer.linked:
            self.auditor.seal()
        self.store.checkpoint()
        self.store.close()

    def policy(self, server: str, tool: str, definition: Mapping[str, Any] | None = None) -> ToolPolicy:
        """What the registry says now; it follows its files."""
        return self.registry.current().policy(server, tool, definition)

    def job(self, header: Mapping[str, Any], result: bytes) -> Job:
        """A capture job from the proxy's header."""
        definition = header.get("tool")
        raw = str(header.get("arguments") or "{}").encode()
        arguments = _arguments(raw)
        call = ToolCall(str(header["server"]), str(header["name"]), arguments, raw)
        policy = self.policy(call.server, call.tool, definition)
        meta = header.get("meta") or {}
        scope = self.conversations.scope(meta)
        keep = policy.passthrough or has_interface(definition) or meta.get("dev.crp/raw") is True
        return Job(
            call,
            scope,
            policy,
            result,
            modern=bool(header.get("modern")),
            keep=keep,
            host_key=self.settings.host_key or None,
            turn_id=self._turn(scope, meta),
            acts=acts(definition),
            supersedes=header.get("supersedes"),
            stream_id=self.streams.of_call(scope, call),
            name=name_from(meta),
            audited=self.life.operator.audits,
        )

    def ask(self, header: Mapping[str, Any], scope: Scope) -> Ask:
        """Who asks for one of our own tools. Raises BadRequest or Refused for a turn or policy that is none."""
        meta = header.get("meta") or {}
        declares = header.get("name") == "record_turn"
        return Ask(
            scope,
            None if declares else self.turns.of_call(scope, meta),
            self.life.policy(meta),
            header.get("refreshed") or {},
            frozenset(header.get("servers") or ()),
            window_of(meta),
            tuple(map(str, header.get("roots") or ())) if self.settings.host_roots else (),
        )

    def _turn(self, scope: Scope, meta: Mapping[str, Any]) -> int:
        """A result is captured whatever its request said of turns."""
        try:
            return self.turns.of_call(scope, meta)
        except BadRequest as error:
            log("warning", "turn_ignored", reason=str(error))
            return self.turns.of_call(scope, {})

    def _before(self, header: Mapping[str, Any], scope: Scope, meta: Mapping[str, Any]) -> Reply:
        """What to answer in place of a call: nothing, a result that is still fresh, or why it is not made."""
        job = self.job(header, b"")
        try:
            again = self.life.before(job.call, scope, job.policy, meta, job.turn_id)
        except Refused as refused:
            result: dict[str, Any] = {"content": [{"type": "text", "text": str(refused)}], "isError": True}
            headers = self.tools.headers(scope)
        else:
            if again is None:
                return {"action": "call"}, b"", None
            result, headers = again.result, self.tools.headers(scope, [again.entry], self._saved(again.entry))
        meta_out: dict[str, Any] = {**(result.get("_meta") or {}), HEADERS_KEY: dict(headers)}
        result = {**result, "_meta": meta_out, **({"resultType": "complete"} if job.modern else {})}
        return {"action": "answer"}, orjson.dumps(result), None

    def _saved(self, entry: Entry) -> int | None:
        """Tokens of an entry less those given in its place; None where they are not counted yet."""
        if entry.raw_token_count is None or entry.summary is None:
            return None if entry.raw_token_count is None else 0
        return max(0, entry.raw_token_count - self.counter().count(entry.summary))

    def _lend(self, header: Mapping[str, Any], blob: bytes, scope: Scope) -> Reply:
        definition = header.get("tool")
        server, tool = str(header["server"]), str(header["name"])
        wanted = Wanted(server, tool, blob, self.policy(server, tool, definition), definition)
        lent = self.lender.lend(scope, wanted, agreed=header.get("agreed") is True)
        return {"question": lent.question}, lent.arguments or b"", None

    def _capture(self, header: Mapping[str, Any], blob: bytes) -> Reply:
        job, spool = self.job(header, blob), header.get("spool")
        self.life.note_policy(job.scope)
        if spool is None:
            outcome = self.service.capture(job)

            def count() -> None:
                self.service.count_later(outcome)
                self.life.buffer.give_back()

            return _captured(outcome, count)
        file = open(spool["path"], "rb")  # noqa: SIM115 - what is left to count is read from it after the answer
        outcome = self.service.settle(job, read_spooled(self.store, reader_of(file), spool["start"], spool["end"]))

        def later() -> None:
            with file:
                self.service.count_later(outcome)
            self.life.buffer.give_back()

        return _captured(outcome, later)


def _captured(outcome: Outcome, later: Callable[[], None]) -> Reply:
    answer = outcome.result
    reply = {"scratch_id": outcome.entry.scratch_id, "action": "forward" if answer is None else "replace"}
    return reply, answer or b"", later


def reader_of(file: BinaryIO) -> Callable[[int, int], bytes]:
    """Bytes of a file from one offset up to another; from one thread at a time."""

    def read(start: int, end: int) -> bytes:
        file.seek(start)
        return file.read(end - start)

    return read


def has_interface(definition: Mapping[str, Any] | None) -> bool:
    """Whether a tool's result feeds a user interface (MCP Apps): captured, never replaced."""
    meta = (definition or {}).get("_meta")
    return isinstance(meta, dict) and ("ui" in meta or any(key.startswith("ui/") for key in meta))


def _arguments(raw: bytes) -> Mapping[str, Any]:
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def open_engine(settings: Settings, *, create: bool = True, now: Callable[[], float] = time.time) -> Engine:
    """Open everything. Raises StoreError, KeyringError or ConfigError before any tool runs.

    `create`: make store and keys where there are none. `now`: the clock, in epoch seconds.
    """
    if not create and not store_file(Path(settings.store)).exists():
        open_store(Path(settings.store), create=False)  # says so: "no store" tells more than "no key"
    keyring = load_keyring(settings.keys, create=create)
    store = open_store(Path(settings.store), create=create, clock=now)
    registry = LiveRegistry(tuple(map(Path, settings.registry)), cache=settings.cache)
    counter = LazyCounter()
    sealer = Sealer(keyring, Lattice(registry.registry.labels))
    ceilings = Ceilings(store, keyring, sealer.lattice)
    sealer.raised = ceilings.raised

    turns = Turns(store, now)
    buffer = Buffer(store, sealer, now, settings.limits())

    def headers(used: Sequence[Entry], saved: int | None) -> Mapping[str, str]:
        return headers_in(used[0].scope, used, saved)

    def headers_in(
        scope: Scope, used: Sequence[Entry] = (), saved: int | None = None, receipt: str | None = None
    ) -> Mapping[str, str]:
        full = buffer.is_over(scope)
        return headers_of(used, store.counters(scope), now(), saved=saved, full=full, receipt=receipt)

    guard = Guard(store, sealer, Clearances(settings.clearance, sealer.lattice), now)
    life = Lifecycle(store, sealer, now, turns, buffer, guard, parse_policy(settings.policy))
    service = Service(store, sealer, counter, now, secrets.token_bytes, headers, guard, life.captured)
    reader = Reader(store, sealer, counter, now, guard)

    def policy_of(entry: Entry) -> ToolPolicy:
        return registry.current().policy(entry.server, entry.tool_name, None)

    desk = Desk(store, settings.tables, check=guard.check, clears=guard.clears)
    querier = Querier(store, desk, sealer, counter, now, secrets.token_bytes)
    finder = Finder(reader, desk, counter)
    lender = Lender(store, reader, finder, sealer, now, settings.confirm)
    receipts = Receipts(store, keyring, sealer, now, ceilings)
    rebuilder = Rebuilder(store, sealer, counter, secrets.token_bytes, policy_of, settings.tables)

    def forget(scope: Scope, ids: Sequence[str]) -> bool:
        checking.forget(ids)
        return desk.forget(scope, ids)

    buffer.forget = forget
    eraser = Eraser(store, sealer, rebuilder, now, forget, _tidier(store, desk, settings))
    using = Using(store, sealer, now, reader, turns, buffer, policy_of)
    checking = Checking(store, sealer, reader, using, counter, now, headers_in)
    facts = Facts(store, sealer, now, lambda entry: reader.summary(entry, policy_of(entry).summary), guard)

    def meta_of(entry: Entry, given: str | None) -> Mapping[str, Any]:
        return service.answer_meta(entry, None if given is None else counter().count(given))

    tools = OwnTools(
        reader,
        policy_of,
        QueryTool(querier, reader),
        finder,
        meta_of,
        receipts,
        eraser,
        LifeTools(using, facts),
        headers_in,
        context_tools(settings, store, sealer, reader, using, counter, now, headers_in),
        checking.tool,
    )
    conversations = Conversations(
        store, settings.tenant, settings.project, settings.host_key, now, new_conversation, settings.conversation
    )
    auditor = Auditor(store, keyring, sealer, now)
    return Engine(
        settings,
        store,
        keyring,
        registry,
        counter,
        service,
        reader,
        tools,
        conversations,
        desk,
        receipts,
        eraser,
        auditor,
        lender,
        turns,
        life,
        using,
        facts,
        Streams(store, now),
        checking,
        now,
    )


def _tidier(store: SqliteStore, desk: Desk, settings: Settings) -> Callable[[], bool]:
    """What an erasure removes besides the store's own rows: derived tables, and spooled lines nobody reads any more."""

    def tidy() -> bool:
        sweep_spool(settings.spool)
        sweep_leftovers(settings.tables)
        desk.sweep()
        return all([desk.forget(scope, ()) for scope in store.spaces()])  # noqa: C419 - each is to be asked

    return tidy


def window_of(meta: Mapping[str, Any]) -> int | None:
    """The size of the model's window, where a request says it. Raises BadRequest for what is no size."""
    value = meta.get("dev.crp/window")
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise BadRequest("dev.crp/window must be a whole number of tokens, from 1 on")
    return value


def call_again(entry: Entry) -> dict[str, Any]:
    """What the proxy must know to call an entry's tool again."""
    arguments = orjson.dumps(dict(entry.tool_call_args)).decode()
    return {
        "again": {
            "scratch_id": entry.scratch_id,
            "server": entry.server,
            "name": entry.tool_name,
            "arguments": arguments,
        }
    }


def new_conversation() -> str:
    """A new conversation's id."""
    return "conv_" + secrets.token_hex(8)


__all__ = ["Engine", "Scope", "has_interface", "new_conversation", "open_engine", "reference_of"]
