"""Whatever JSON comes from either side: each request of the host is answered once, in JSON, and nothing raises."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.wire.commands import CallOwn, Capture, Open

from .playbook import MODERN, Playbook, own_side, request


def words(text: str) -> list[str]:
    return text.split()


KEYS = words("""
name uri cursor nextCursor tools prompts resources resourceTemplates capabilities instructions result task taskId
resultType content _meta arguments ref argument requestId progressToken level notifications protocolVersion outputSchema
uriTemplate ui ttlMs cacheScope resourceSubscriptions dev.crp/x
io.modelcontextprotocol/subscriptionId io.modelcontextprotocol/protocolVersion
""")
METHODS = words("""
initialize server/discover ping tools/list tools/call prompts/list prompts/get resources/list resources/read
resources/templates/list resources/subscribe resources/unsubscribe completion/complete logging/setLevel
subscriptions/listen tasks/get x/y
""")
NOTES = words("""
cancelled initialized progress message roots/list_changed tools/list_changed subscriptions/acknowledged x
""")
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4), st.sampled_from(["mine", "s", "t", "{x}"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)
ANSWERS = st.one_of(
    VALUES.map(lambda value: {"result": value}),
    VALUES.map(lambda value: {"error": value}),
    st.just({"error": {"code": -32601}}),
)


def converse(play: Playbook, method: str, params: Any, answers: list[dict], notes: list[tuple[str, Any]]) -> None:
    """Ask once; the servers answer with what is given, in turn, until the host has its answer."""
    for name, value in notes:
        play.host({"method": f"notifications/{name}", "params": value})
        for server in play.proxy.links:
            play.server(server, {"method": f"notifications/{name}", "params": value})
    todo = play.host({"jsonrpc": "2.0", "id": "q", "method": method, "params": params})
    turn, seen = 0, []
    while todo:
        command = todo.pop(0)
        if isinstance(command, Capture | CallOwn):
            todo += play.settled(command.key, None if isinstance(command, Capture) else b"{}")
        elif isinstance(command, Open):
            todo += play.opened(command.server)
        elif type(command) is tuple and command[0] == "host":
            seen.append(command[1])
        elif type(command) is tuple and "id" in command[1] and "method" in command[1]:
            answer = answers[turn % len(answers)] if turn < 20 else {"error": {"code": 1}}
            turn += 1
            todo += play.server(command[0], {"id": command[1]["id"], **answer})
    answered = [message for message in seen if message.get("id") == "q" and "method" not in message]
    if not answered:
        # A server was never ready, or never asked: time gives the answer.
        seen += [m for to, m in (c for c in play.wait(10**6) if type(c) is tuple) if to == "host"]
        answered = [message for message in seen if message.get("id") == "q" and "method" not in message]
    endless = method == "subscriptions/listen"
    assert len(answered) == 1 or (endless and not answered), (seen, play.logs)


CONVERSATION = (
    st.sampled_from(METHODS),
    VALUES,
    st.lists(ANSWERS, min_size=1, max_size=4),
    st.lists(st.tuples(st.sampled_from(NOTES), VALUES), max_size=2),
)


@given(*CONVERSATION)
def test_in_place(method: str, params: Any, answers: list[dict], notes: list) -> None:
    """One answer, whatever the server makes of it."""
    play = Playbook.in_place(own_side(["mine"], ["scratch://{id}"], said="Ours."))
    converse(play, method, params, answers, notes)


@given(st.booleans(), *CONVERSATION)
def test_aggregated(modern: bool, method: str, params: Any, answers: list[dict], notes: list) -> None:
    """One answer, whatever the servers make of it."""
    play = Playbook.aggregate("s", "t", own=own_side(["mine"], ["scratch://{id}"], said="Ours."))
    if modern and isinstance(params, dict):
        params = {**params, "_meta": MODERN}
    converse(play, method, params, answers, notes)


@given(st.sampled_from(METHODS), VALUES, VALUES)
def test_a_conversation_goes_on_after_anything(method: str, params: Any, answer: Any) -> None:
    """An odd exchange does not spoil the next one."""
    play = Playbook.in_place(own_side(["mine"]))
    for command in play.host({"id": 1, "method": method, "params": params}):
        if type(command) is tuple and command[0] == "s":
            play.server("s", {"id": command[1]["id"], "result": answer})
    ping = request(2, "x/ping")
    assert play.host(ping) == [("s", ping)]
    answered = play.server("s", {"id": 2, "result": answer})
    assert [json.dumps(message["result"]) for _, message in answered] == [json.dumps(answer)]
