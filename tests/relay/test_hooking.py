"""A host's hooks: real turns, in the conversation its servers capture into, and nothing more than was opted in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crp_mcp.errors import BadRequest
from crp_mcp.relay.hooking import SERVER, Hooks, last_said, read_event
from crp_mcp.store import scopes
from crp_mcp.store import turns as turn_rows
from tests.relay.support import Bench, order_rows, text_result

INPUTS = Path(__file__).resolve().parents[1] / "data" / "hooks"
SESSION = "8c35adc1-7b0e-4f5e-9f5c-0d7c2a1e9b11"


def hooks(at: Bench, *hosts: str) -> Hooks:
    engine = at.engine
    return Hooks(
        engine.store,
        engine.now,
        engine.turns,
        engine.using,
        engine.service,
        lambda server, tool: engine.policy(server, tool),
        "local",
        engine.settings.project,
        hosts or ("9:9", "1:1"),
    )


def event(name: str) -> object:
    return read_event((INPUTS / f"{name}.json").read_bytes())


def by_host(at: Bench, tool: str = "read_query") -> str:
    """A capture of a server process that was told of no conversation."""
    header = {"op": "capture", "server": "shop", "name": tool, "arguments": "{}", "meta": {}}
    reply, _, _ = at.engine.handle(header, json.dumps(text_result(json.dumps(order_rows(3)))).encode())
    return str(reply["scratch_id"])


def test_a_prompt_is_a_declared_turn_of_the_conversation_the_host_is_in(at: Bench) -> None:
    """Found by the common ancestor and the folder; its words pin what they refer to."""
    made = by_host(at)
    entry = at.engine.store.get(at.scope, made)
    done = hooks(at).record(event("user_prompt"), ())
    assert done[0] == "turn 2 of user"
    pinned = at.engine.store.get(at.scope, "orders")
    assert (pinned.scratch_id, pinned.persistence.value) == (made, "PINNED")
    log = at.engine.store.ask(turn_rows.list_turns, entry.scope)
    assert [(turn.number, turn.role, turn.declared) for turn in log] == [(2, "user", True), (1, "unknown", False)]


def test_a_session_that_begins_is_joined_by_the_hosts_servers(at: Bench) -> None:
    """The hook's session id names the conversation; a server of the same host finds it at its next call."""
    by_host(at)
    hooks(at, "1:1").record(event("session_start"), ())
    at.clock.at += 1
    made = by_host(at)
    assert at.engine.store.get(at.scope, made).scope.conversation == SESSION


def test_a_hook_without_a_known_host_makes_a_conversation_of_its_own(at: Bench) -> None:
    """Named after the session."""
    by_host(at)
    hooks(at, "7:7").record(event("user_prompt"), ())
    names = {one.scope.conversation for one in at.engine.store.conversations()}
    assert SESSION in names


def test_a_hook_that_fires_twice_counts_once(at: Bench) -> None:
    """The same words at the same moment are one message; later they are another one."""
    first = hooks(at)
    assert first.record(event("user_prompt"), ())
    assert first.record(event("user_prompt"), ()) == ()
    at.clock.at += 60
    assert first.record(event("user_prompt"), ())


def test_built_in_tools_are_captured_only_where_opted_in(at: Bench) -> None:
    """And those of MCP servers never: they come through the proxy."""
    mine = hooks(at)
    assert mine.record(event("post_tool_use"), ()) == ()
    assert mine.record(event("post_tool_use_mcp"), ("*",)) == ()
    (said,) = mine.record(event("post_tool_use"), ("Bash", "Read"))
    entry = at.engine.store.get(at.scope, said.removeprefix("captured "))
    assert (entry.server, entry.tool_name) == ("claude-code", "Bash")
    assert entry.tool_call_args["command"] == "ls -1 src"
    assert b"main.py" in b"".join(at.engine.store.iter_payload(entry.payload_id))


def test_the_end_of_an_answer_is_the_assistants_turn(at: Bench) -> None:
    """Its text is the last of the transcript."""
    lines = [
        b'{"type": "user", "message": {"content": "hi"}}',
        b'{"type": "assistant", "message": {"content": [{"type": "text", "text": "Three orders."}]}}',
        b'{"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "x"}]}}',
        b"not json",
    ]
    assert hooks(at).record(event("stop"), (), last_said(lines)) == ("turn 1 of assistant",)
    assert hooks(at).record(event("stop"), ()) == ()


def test_a_tool_that_failed_is_an_error(at: Bench) -> None:
    """Its error is its result, whole."""
    assert hooks(at).record(event("post_tool_use_failure"), ()) == ()
    (said,) = hooks(at).record(event("post_tool_use_failure"), ("Bash",))
    entry = at.engine.store.get(at.scope, said.removeprefix("captured "))
    assert (entry.is_error, entry.kind.value, entry.tool_name) == (True, "error", "Bash")
    assert b"Command exited with non-zero status code 1" in b"".join(at.engine.store.iter_payload(entry.payload_id))


def test_a_tools_result_is_kept_as_it_was_given(at: Bench) -> None:
    """Numbers of any size, spacing and text that is no character: what can be kept is kept exactly."""
    response = '{"id": 12345678901234567890123, "rate": 1.10, "text": "a\\ud800b"}'
    given = json.loads((INPUTS / "post_tool_use.json").read_text())
    text = json.dumps(given).replace(json.dumps(given["tool_response"]), response)
    (said,) = hooks(at).record(read_event(text.encode()), ("Bash",))
    entry = at.engine.store.get(at.scope, said.removeprefix("captured "))
    kept = b"".join(at.engine.store.iter_payload(entry.payload_id)).decode()
    assert kept == response.replace("\\ud800", "\\ufffd")


def test_what_a_subagent_says_is_no_turn(at: Bench) -> None:
    """Its tools' results are results of the session."""
    for name in ("user_prompt", "stop_with_text"):
        inside = {**json.loads((INPUTS / f"{name}.json").read_text()), "agent_id": "a1", "agent_type": "Explore"}
        assert hooks(at).record(read_event(json.dumps(inside).encode()), ()) == ()


def test_fields_nobody_knows_change_nothing(at: Bench) -> None:
    """Also where known ones have a type of their own."""
    odd = {"hook_event_name": "Stop", "session_id": 3, "last_assistant_message": ["x"], "new": {"a": [1]}}
    assert hooks(at).record(read_event(json.dumps(odd).encode()), ()) == ()
    assert hooks(at).record(event("stop_with_text"), ()) == ("turn 1 of assistant",)


def test_a_conversation_a_hook_made_alone_is_known_until_a_server_captures_into_it(at: Bench) -> None:
    """One that began with the session is expected to be joined, so it is none."""
    scope = at.engine.settings.scope()

    def alone() -> list[str]:
        return [name for name, _ in at.engine.store.ask(scopes.hook_alone, scope, SERVER)]

    hooks(at, "8:8").record(event("session_start"), ())
    assert alone() == []
    other = {**json.loads((INPUTS / "user_prompt.json").read_text()), "session_id": "another"}
    hooks(at, "7:7").record(read_event(json.dumps(other).encode()), ())
    assert alone() == ["another"]
    at.host_call("read_query", text_result("[1]"), meta={"dev.crp/conversation": "another"})
    assert alone() == []


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"hook_event_name": 3}'])
def test_what_is_no_hook_input_is_refused(data: bytes) -> None:
    """With a sentence, not a traceback."""
    with pytest.raises(BadRequest):
        read_event(data)
