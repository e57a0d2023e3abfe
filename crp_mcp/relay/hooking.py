"""What a host's hook tells us, read and recorded: a user's prompt, the end of an answer, a built-in tool's result.

Knows Claude Code's hook input. A hook is only heard: it never changes what the host does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import orjson

from crp_mcp.core.model import Scope, ToolCall, ToolPolicy, Turn
from crp_mcp.core.wire.scan import members
from crp_mcp.core.wire.sound import repair_surrogates
from crp_mcp.errors import BadRequest
from crp_mcp.store import SqliteStore, scopes
from crp_mcp.store import turns as turn_rows

from .conversation import IDLE_SECONDS, MAX_NAME
from .service import Job, Service
from .turns import Turns, nothing_sealed
from .using import Ask, Using

SERVER = "claude-code"
"""What a host's built-in tools are captured under."""
FOREIGN = "mcp__*"
"""Tools of MCP servers: their results come through the proxy."""
TWICE_SECONDS = 10.0
"""The same words within this time are the same message: some hosts run a hook twice."""
FAILURE = "PostToolUseFailure"
NEW_SESSION = ("startup", "clear", "resume")
MAX_TEXT = 100_000


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One hook call. `text`: the prompt, or what the assistant said last."""

    kind: str
    session: str
    source: str = ""
    text: str | None = None
    transcript: str | None = None
    tool: str = ""
    arguments: Mapping[str, Any] | None = None
    arguments_json: bytes = b"{}"
    response: str | None = None
    """What a tool returned: its text, or its JSON as it was given; None where there is nothing of it."""
    failed: bool = False
    """Whether `response` says how the tool failed."""
    again: bool = False
    """An answer that was sent back once already: sending it back again could go on for ever."""
    inside: bool = False
    """Said within a subagent: its words are neither the user's nor the answer."""


def read_event(data: bytes) -> HookEvent:
    """The event of a hook's input. Raises BadRequest for what is none."""
    data = repair_surrogates(data)
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise BadRequest("hook: standard input is not the JSON object a hook is given") from None
    if not isinstance(value, dict) or not isinstance(value.get("hook_event_name"), str):
        raise BadRequest("hook: the input has no `hook_event_name`")
    arguments, spans = value.get("tool_input"), members(data)
    failed = value["hook_event_name"] == FAILURE
    response = value.get("error" if failed else "tool_response")
    if response is not None and not isinstance(response, str):
        response = _raw(data, spans["error" if failed else "tool_response"])
    return HookEvent(
        value["hook_event_name"],
        _text(value.get("session_id"))[:MAX_NAME],
        _text(value.get("source")),
        _text(value.get("prompt") or value.get("last_assistant_message"))[:MAX_TEXT] or None,
        _text(value.get("transcript_path")) or None,
        _text(value.get("tool_name")),
        arguments if isinstance(arguments, dict) else {},
        _raw(data, spans["tool_input"]).encode() if isinstance(arguments, dict) else b"{}",
        response,
        failed,
        value.get("stop_hook_active") is True,
        isinstance(value.get("agent_id"), str),
    )


def _raw(data: bytes, span: tuple[int, int]) -> str:
    """JSON as it was given: numbers of any size stay what they are."""
    return data[slice(*span)].decode()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def last_said(lines: Iterable[bytes]) -> str | None:
    """The assistant's last words in a transcript (one JSON object a line); lines that are none are skipped."""
    said = None
    for line in lines:
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        message = value.get("message") if isinstance(value, dict) and value.get("type") == "assistant" else None
        content = message.get("content") if isinstance(message, dict) else None
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
        said = "\n".join(text for text in texts if isinstance(text, str)) or said
    return said[:MAX_TEXT] if said else None


@dataclass(slots=True)
class Hooks:
    """Records hook events. `policy` is the registry's word on a tool; `hosts` are the keys of our ancestors."""

    store: SqliteStore
    now: Callable[[], float]
    turns: Turns
    using: Using
    service: Service
    policy: Callable[[str, str], ToolPolicy]
    tenant: str
    project: str
    hosts: Sequence[str]

    def record(self, event: HookEvent, tools: Sequence[str], said: str | None = None) -> tuple[str, ...]:
        """Record an event; what was done, for a log. `tools`: globs of built-in tools to capture, opted in."""
        scope = self._scope(event)
        if event.kind == "UserPromptSubmit" and event.text and not event.inside:
            return self._turn(scope, "user", event.text)
        if event.kind == "Stop" and (event.text or said) and not event.inside:
            return self._turn(scope, "assistant", event.text or said or "")
        if event.kind in ("PostToolUse", FAILURE) and self._wanted(event.tool, tools) and event.response is not None:
            return (f"captured {self._capture(scope, event, event.response)}",)
        return ()

    def ask_of(self, event: HookEvent) -> Ask:
        """Who an event speaks for: its conversation, in the turn that goes on there."""
        scope = self._scope(event)
        last: Turn | None = self.store.ask(turn_rows.last, scope)
        return Ask(scope, last.number if last is not None else None)

    def _scope(self, event: HookEvent) -> Scope:
        """The session's conversation; else the one our host is in; else a new one, which the host's servers join."""
        now = self.now()
        mine = Scope(self.tenant, self.project, event.session or "hook")
        known = any(one.scope.conversation == mine.conversation for one in self.store.conversations(mine))
        begins = event.kind == "SessionStart" and event.source in NEW_SESSION
        if not known and not begins:
            for host in self.hosts:
                found = self.store.conversation_of(self.tenant, self.project, host, since=now - IDLE_SECONDS)
                if found is not None:
                    return Scope(self.tenant, self.project, found)
        if not known or begins:
            self.store.touch_conversation(mine, self.hosts[0] if self.hosts else None, now)
        if not known and not begins:
            self.store.append(nothing_sealed, lambda db: scopes.made_by_hook(db, mine), mine)
        return mine

    def _turn(self, scope: Scope, role: str, text: str) -> tuple[str, ...]:
        last: Turn | None = self.store.ask(turn_rows.last, scope)
        again = last is not None and last.declared and (last.role, last.text) == (role, text)
        if again and last is not None and self.now() - last.at < TWICE_SECONDS:
            return ()
        turn, did = self.using.declared(Ask(scope), role, text, None, None)
        return (f"turn {turn.number} of {role}", *did)

    @staticmethod
    def _wanted(tool: str, globs: Sequence[str]) -> bool:
        return not fnmatchcase(tool, FOREIGN) and any(fnmatchcase(tool, glob) for glob in globs)

    def _capture(self, scope: Scope, event: HookEvent, response: str) -> str:
        error = {"isError": True} if event.failed else {}
        result = orjson.dumps({"content": [{"type": "text", "text": response}], **error})
        call = ToolCall(SERVER, event.tool, dict(event.arguments or {}), event.arguments_json)
        policy = self.policy(SERVER, event.tool)
        job = Job(call, scope, policy, result, keep=True, turn_id=self.turns.of_call(scope, {}))
        return self.service.capture(job).entry.scratch_id
