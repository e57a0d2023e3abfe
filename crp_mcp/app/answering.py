"""Answers the frames of the proxy: captures, what is asked before a call, values that are lent, our own tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson

from crp_mcp.core.model import Entry, Scope, ToolCall
from crp_mcp.errors import BadRequest, Refused
from crp_mcp.log import log
from crp_mcp.mcp.tools.answers import HEADERS_KEY
from crp_mcp.mcp.tools.own import OwnTools
from crp_mcp.relay.conversation import Conversations
from crp_mcp.relay.lending import Lender, Wanted
from crp_mcp.relay.lifecycle import Lifecycle, acts, name_from
from crp_mcp.relay.service import Job, Outcome, Service
from crp_mcp.relay.spooled import read_spooled
from crp_mcp.relay.streams import Streams
from crp_mcp.relay.turns import Turns
from crp_mcp.relay.using import Ask, NeedsCall

from .ground import Ground

Reply = tuple[dict[str, Any], bytes, "Callable[[], object] | None"]


@dataclass(slots=True)
class Answerer:
    """`forget`: drops what was derived from entries that were evicted."""

    ground: Ground
    service: Service
    tools: OwnTools
    conversations: Conversations
    lender: Lender
    turns: Turns
    life: Lifecycle
    streams: Streams
    forget: Callable[[Scope, Sequence[str]], bool]

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
            except (BadRequest, Refused) as error:
                # Of the turn or the policy that the request names.
                result = self.tools.refuse(error, scope)
        elif op == "read_resource":
            result = self.tools.read_resource(str(header.get("uri")), scope)
        elif op == "complete":
            result = self.tools.complete(str(header.get("prefix")), scope)
        else:
            raise BadRequest(f"unknown request {op!r}")
        return {}, orjson.dumps(result), None

    def job(self, header: Mapping[str, Any], result: bytes) -> Job:
        """A capture job from the proxy's header."""
        definition = header.get("tool")
        raw = str(header.get("arguments") or "{}").encode()
        arguments = _arguments(raw)
        call = ToolCall(str(header["server"]), str(header["name"]), arguments, raw)
        policy = self.ground.policy(call.server, call.tool, definition)
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
            host_key=self.ground.settings.host_key or None,
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
            tuple(map(str, header.get("roots") or ())) if self.ground.settings.host_roots else (),
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
        return max(0, entry.raw_token_count - self.ground.counter().count(entry.summary))

    def _lend(self, header: Mapping[str, Any], blob: bytes, scope: Scope) -> Reply:
        definition = header.get("tool")
        server, tool = str(header["server"]), str(header["name"])
        wanted = Wanted(server, tool, blob, self.ground.policy(server, tool, definition), definition)
        lent = self.lender.lend(scope, wanted, agreed=header.get("agreed") is True)
        return {"question": lent.question}, lent.arguments or b"", None

    def _capture(self, header: Mapping[str, Any], blob: bytes) -> Reply:
        job, spool = self.job(header, blob), header.get("spool")
        self.life.note_policy(job.scope)
        if spool is None:
            outcome = self.service.capture(job)

            def count() -> None:
                self.service.count_later(outcome)
                self.life.buffer.give_back(self.forget)

            return _captured(outcome, count if outcome.uncounted or self.life.buffer.owes else None)
        file = open(spool["path"], "rb")  # noqa: SIM115 - what is left to count is read from it after the answer
        outcome = self.service.settle(
            job, read_spooled(self.ground.store, reader_of(file), spool["start"], spool["end"])
        )

        def later() -> None:
            with file:
                self.service.count_later(outcome)
            self.life.buffer.give_back(self.forget)

        return _captured(outcome, later)


def _captured(outcome: Outcome, later: Callable[[], None] | None) -> Reply:
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
