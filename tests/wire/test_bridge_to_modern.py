"""Hosts of the handshake in front of servers of 2026-07-28: conversations with the core alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crp_mcp.core.wire.bridges.rounds import MAX_ROUNDS
from crp_mcp.core.wire.commands import Answered, Capture, Close, Load, Open

from .playbook import META, Playbook, error, note, request, result

BACK = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}, "tasks": {}}
INFO = {"name": "host", "version": "1"}
ENVELOPE = {
    META + "protocolVersion": "2026-07-28",
    META + "clientCapabilities": {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}},
    META + "clientInfo": INFO,
}
STAMP = {META + "serverInfo": {"name": "new", "version": "2"}}
OFFERS = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True},
    "logging": {},
    "extensions": {"io.modelcontextprotocol/tasks": {}, "x.y/z": {}},
}
FORM = {"mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
ELICIT = {"method": "elicitation/create", "params": FORM}
YES = {"action": "accept", "content": {"who": "me"}}


def discovered(ident: object, **more: Any) -> dict:
    members = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": OFFERS, "ttlMs": 5}
    return result(ident, **{**members, "cacheScope": "public", "_meta": STAMP, **more})


def refused(capabilities: dict = BACK, version: str = "2025-11-25", **rules: Any) -> tuple[Playbook, dict]:
    """A host that greets a server which knows no handshake: what that is asked then."""
    play = Playbook.in_place(**rules)
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": INFO}
    ((_, hello),) = play.host(request(0, "initialize", **params))
    if hello["method"] == "initialize":
        ((_, hello),) = play.server("s", error(hello["id"], -32022))
    assert hello["method"] == "server/discover"
    return play, hello


def bridged(*args: Any, **options: Any) -> Playbook:
    """The handshake is complete; the stream of announcements is open."""
    play, hello = refused(*args, **options)
    play.server("s", discovered(hello["id"]))
    ((_, listen),) = play.host(note("notifications/initialized"))
    acknowledge(play, listen)
    return play


def acknowledge(play: Playbook, listen: dict) -> list:
    tag = {META + "subscriptionId": listen["id"]}
    wanted = listen["params"]["notifications"]
    return play.server("s", note("notifications/subscriptions/acknowledged", notifications=wanted, _meta=tag))


def call(play: Playbook, ident: object, **params: Any) -> dict:
    ((to, sent),) = play.host(request(ident, "tools/call", name="t", **params))
    assert to == "s"
    return sent


def asks(sent: dict, state: str | None = "st", **requests: dict) -> dict:
    more = {"requestState": state} if state is not None else {}
    return result(sent["id"], resultType="input_required", **({"inputRequests": requests} if requests else {}), **more)


def test_the_handshake_is_answered_from_discovery() -> None:
    """Extensions where both have them; the name from the stamp; what is not known passes."""
    play, hello = refused({**BACK, "extensions": {"x.y/z": {}}})
    assert hello["params"]["_meta"][META + "clientInfo"] == INFO
    assert "tasks" not in hello["params"]["_meta"][META + "clientCapabilities"]
    ((to, opened),) = play.server("s", discovered(hello["id"], instructions="Mind.", x=1))
    assert to == "host"
    assert opened == result(
        0,
        protocolVersion="2025-11-25",
        capabilities={**OFFERS, "extensions": {"x.y/z": {}}},
        serverInfo={"name": "new", "version": "2"},
        instructions="Mind.",
        x=1,
    )


def test_a_server_that_refuses_both_is_passed_on() -> None:
    """The host gets the error that it would have got."""
    play = Playbook.in_place()
    ((_, hello),) = play.host(request(0, "initialize", protocolVersion="2025-06-18"))
    ((_, probe),) = play.server("s", error(hello["id"], -32602, "not like this"))
    refusal = play.server("s", error(probe["id"], -32601))
    assert refusal == [("host", error(0, -32602, "not like this"))]
    play.host(request(1, "initialize", protocolVersion="2025-06-18"))
    greeted = result(1, capabilities={"tools": {}})
    assert play.server("s", greeted) == [("host", greeted)]
    tools = request(2, "tools/list")
    assert play.host(tools) == [("s", tools)]


@pytest.mark.parametrize("known", [True, False])
def test_what_is_sent_behind_a_greeting_is_answered(known: bool) -> None:
    """Before the server has refused it, and after: each request gets its own answer, whatever becomes of it."""
    play = Playbook.in_place()
    play.host(request(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=INFO))
    early = [request(1, "tools/list"), request(2, "x/y")]
    assert [play.host(one) for one in early] == [[("s", one)] for one in early]
    ((_, probe),) = play.server("s", error(0, -32600 if known else -32601))
    assert (probe["method"], probe["id"]) == ("server/discover", 3)
    assert play.host(request(4, "x/z")) == []
    assert play.host(note("notifications/initialized")) == []
    assert play.server("s", error(1, -32602)) == [("host", error(1, -32602))]
    late = play.server("s", discovered(probe["id"]) if known else error(probe["id"], -32601))
    assert late[0][1].get("error", {}).get("code") == (None if known else -32601)
    sent = next(message for to, message in late if to == "s" and message["method"] == "x/z")
    assert ("_meta" in sent["params"]) is known
    assert play.server("s", result(2, early=1)) == [("host", result(2, early=1))]
    assert play.server("s", result(sent["id"], late=1)) == [("host", result(4, late=1))]


def test_requests_that_went_before_a_bridge_can_be_cancelled_and_garbled() -> None:
    """The server is told under the id it knows; an answer that cannot be read ends its own request."""
    play = Playbook.in_place()
    play.host(request(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=INFO))
    for ident in (1, 2):
        play.host(request(ident, "x/y"))
    ((_, probe),) = play.server("s", error(0, -32601))
    play.server("s", discovered(probe["id"]))
    gone = note("notifications/cancelled", requestId=1)
    assert play.host(gone) == [("s", gone)]
    assert play.server("s", result(1)) == []
    ((to, failed),) = play.server("s", b'{"id":2,"result":{]}')
    assert (to, failed["id"], failed["error"]["code"]) == ("host", 2, -32000)


def test_a_connection_that_is_spoilt_by_the_handshake_is_begun_anew() -> None:
    """Some servers serve one era on each connection: the first request decides."""
    play, probe = refused()
    commands = play.server("s", error(probe["id"], -32600))
    assert [command for command in commands if type(command) is not tuple] == [Close("s"), Open("s", 0.0)]
    ((_, probe),) = play.opened("s")
    assert probe["method"] == "server/discover"
    assert play.server("s", discovered(probe["id"]))[0][1]["result"]["protocolVersion"] == "2025-11-25"


def test_every_request_gets_the_envelope() -> None:
    """And what the host itself put into `_meta` stays; the level is there once it is set."""
    play = bridged()
    sent = call(play, 1, arguments={"a": 1.50}, _meta={"progressToken": "p", "k": 1})
    assert sent["params"] == {
        "name": "t",
        "arguments": {"a": 1.5},
        "_meta": {"progressToken": "p", "k": 1, **ENVELOPE},
    }
    progress = note("notifications/progress", progressToken="p", progress=1)
    assert play.server("s", progress) == [("host", progress)]
    assert play.host(request(2, "logging/setLevel", level="info")) == [("host", result(2))]
    ((_, sent),) = play.host({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})
    assert sent["params"] == {"_meta": {**ENVELOPE, META + "logLevel": "info"}}
    assert play.host(request(4, "ping")) == [("host", result(4))]
    for dropped in ("roots/list_changed", "progress"):
        assert play.host(note(f"notifications/{dropped}")) == []
    ((_, told),) = play.host(note("notifications/cancelled", requestId=1))
    assert told["method"] == "notifications/cancelled"


def test_results_lose_the_words_of_the_era() -> None:
    """All other bytes stay, in their order."""
    play = bridged()
    sent = call(play, 1)
    line = (
        b'{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete" , "content":[ 1.500 ],"ttlMs":1,"x":1e2,"_meta":'
        b'{"io.modelcontextprotocol/serverInfo":{}},"cacheScope":"public"}}' % int(sent["id"])
    )
    (capture,) = play.server("s", line)
    assert isinstance(capture, Capture)
    assert b'"resultType":"complete" ,' in capture.result  # type: ignore[operator]
    (command,) = play.proxy.settled(capture.key, None, 0.0)
    assert b"".join(command.pieces) == (  # type: ignore[union-attr,arg-type]
        b'{"jsonrpc":"2.0","id":1,"result":{"content":[ 1.500 ],"x":1e2}}'
    )
    sent = call(play, 2)
    (capture,) = play.server("s", result(sent["id"], content=[], resultType="complete", _meta=STAMP))
    summary = {"content": [], "resultType": "complete", "_meta": {**STAMP, "dev.crp/k": 1}}
    ((_, got),) = play.settled(capture.key, json.dumps(summary).encode())
    assert got == result(2, content=[], _meta={"dev.crp/k": 1})


def test_what_older_hosts_would_refuse() -> None:
    """Structured content and output schemas that are no objects: the one becomes text, the other is left out."""
    play = bridged()
    sent = call(play, 1)
    (capture,) = play.server("s", result(sent["id"], resultType="complete", structuredContent=[1, 2]))
    ((_, got),) = play.settled(capture.key, None)
    assert got == result(1, content=[{"type": "text", "text": "[1, 2]"}])
    sent = call(play, 2)
    (capture,) = play.server("s", result(sent["id"], content=[{"type": "text", "text": "x"}], structuredContent=None))
    assert play.settled(capture.key, None) == [("host", result(2, content=[{"type": "text", "text": "x"}]))]
    ((_, sent),) = play.host(request(3, "tools/list"))
    tools = [
        {"name": "a", "outputSchema": {"type": "array"}, "x": 1.5},
        {"name": "b", "outputSchema": {"type": "object"}},
    ]
    play.proxy.own = play.proxy.own._replace(may_replace=lambda *_: False)
    play.proxy.tools._own = play.proxy.own
    ((_, listed),) = play.server("s", result(sent["id"], tools=tools, resultType="complete"))
    assert listed["result"]["tools"] == [{"name": "a", "x": 1.5}, tools[1]]


@pytest.mark.parametrize(("code", "method", "fresh"), [
    (-32602, "resources/read", -32002), (-32602, "tools/call", -32602), (-32022, "tools/call", -32602),
    (-32021, "tools/call", -32600), (-32020, "prompts/get", -32603), (-32050, "tools/call", -32050),
])  # fmt: skip
def test_error_codes(code: int, method: str, fresh: int) -> None:
    """As the revisions before have them; message and data stay."""
    play = bridged()
    ((_, sent),) = play.host(request(1, method, uri="x://y", name="t"))
    failure = {"code": code, "message": "no", "data": {"n": 2**70}}
    ((_, got),) = play.server("s", {"jsonrpc": "2.0", "id": sent["id"], "error": failure})
    assert got["error"] == {**failure, "code": fresh}


def test_questions_are_asked_as_requests() -> None:
    """Several at once; when all are answered the call is made again with the answers and the state."""
    play = bridged()
    sent = call(play, 1, arguments={"a": 1}, _meta={"progressToken": 7})
    said = play.server("s", asks(sent, "opaque", a=ELICIT, b={"method": "roots/list"}))
    (_, elicit), (_, roots) = said
    assert (elicit["method"], elicit["params"]) == ("elicitation/create", FORM)
    assert (roots["method"], "params" in roots) == ("roots/list", False)
    assert play.host(result(roots["id"], roots=[])) == []
    ((to, again),) = play.host(result(elicit["id"], **YES))
    assert to == "s"
    assert again["id"] != sent["id"]
    assert again["params"] == {
        "name": "t",
        "arguments": {"a": 1},
        "_meta": {"progressToken": 7, **ENVELOPE},
        "inputResponses": {"b": {"roots": []}, "a": YES},
        "requestState": "opaque",
    }
    ((_, third),) = play.server("s", asks(again, None, c=ELICIT))
    ((_, last),) = play.host(result(third["id"], action="decline"))
    assert last["params"]["inputResponses"] == {"c": {"action": "decline"}}
    assert "requestState" not in last["params"]
    assert play.server("s", result(sent["id"], content=[])) == []
    (capture,) = play.server("s", result(last["id"], resultType="complete", content=[]))
    assert play.settled(capture.key, None) == [("host", result(1, content=[]))]


def test_questions_in_the_words_of_the_hosts_revision() -> None:
    """Before 2025-11-25 there is one mode, and content is one block."""
    play = bridged({"elicitation": {}, "sampling": {}}, "2025-06-18")
    block = {"type": "text", "text": "x"}
    sample = {"messages": [{"role": "user", "content": [block]}, {"role": "user", "content": [block, block]}]}
    requests = {"a": ELICIT, "b": {"method": "sampling/createMessage", "params": sample}}
    (_, elicit), (_, sampling) = play.server("s", asks(call(play, 1), **requests))
    assert elicit["params"] == {key: value for key, value in FORM.items() if key != "mode"}
    assert [message["content"] for message in sampling["params"]["messages"]] == [block, [block, block]]


def test_a_page_to_visit() -> None:
    """It has an id in the handshake era, and the host hears when it is done with."""
    play = bridged()
    url = {"method": "elicitation/create", "params": {"mode": "url", "url": "https://x", "message": "Go"}}
    ((_, asked),) = play.server("s", asks(call(play, 1), a=url))
    ident = asked["params"]["elicitationId"]
    ((_, again),) = play.host(result(asked["id"], action="accept"))
    said = play.server("s", result(again["id"], content=[], resultType="complete"))
    assert said[0] == ("host", note("notifications/elicitation/complete", elicitationId=ident))
    assert isinstance(said[1], Capture)


def test_a_question_the_host_refuses_ends_the_call() -> None:
    """Its error is the call's, and the other questions are taken back."""
    play = bridged()
    (_, one), (_, two) = play.server("s", asks(call(play, 1), a=ELICIT, b=ELICIT))
    (_, taken), (_, answer) = play.host(error(one["id"], -1, "User rejected"))
    assert (taken["method"], taken["params"]["requestId"]) == ("notifications/cancelled", two["id"])
    assert answer == error(1, -1, "User rejected")
    assert play.host(result(two["id"], **YES)) == []


@pytest.mark.parametrize(("asked", "says"), [
    ({"a": {"method": "roots/list"}}, "roots"), ({"a": {"method": "x/y"}}, "kind"), ({"a": 5}, "kind"),
    ({"a": {"method": "elicitation/create", "params": {"mode": "url"}}}, "url"), ({}, "which"),
])  # fmt: skip
def test_questions_that_cannot_be_asked(asked: dict, says: str) -> None:
    """The call gets an error; nothing is answered in the host's name."""
    play = bridged({"elicitation": {}})
    sent = call(play, 1)
    ((to, answer),) = play.server("s", asks(sent, None, **asked))
    assert (to, answer["id"], answer["error"]["code"]) == ("host", 1, -32603)
    assert says in answer["error"]["message"]


def test_a_server_that_only_wants_the_call_later() -> None:
    """It is made again after a pause, with the state alone."""
    play = bridged()
    sent = call(play, 1)
    assert play.server("s", asks(sent, "s1")) == []
    due = play.proxy.next_deadline()
    assert due is not None
    ((_, again),) = play.wait(due - play.now)
    assert again["params"] == {"name": "t", "_meta": ENVELOPE, "requestState": "s1"}


def test_rounds_have_an_end() -> None:
    """A server that never has enough does not go on for ever."""
    play = bridged()
    sent = call(play, 1)
    for _ in range(MAX_ROUNDS):
        ((_, asked),) = play.server("s", asks(sent, a=ELICIT))
        ((_, sent),) = play.host(result(asked["id"], **YES))
    ((_, answer),) = play.server("s", asks(sent, a=ELICIT))
    assert str(MAX_ROUNDS) in answer["error"]["message"]


def test_a_call_cancelled_while_its_user_is_asked() -> None:
    """The question is taken back; a late answer goes nowhere."""
    play = bridged()
    sent = call(play, 1)
    ((_, asked),) = play.server("s", asks(sent, a=ELICIT))
    ((to, taken),) = play.host(note("notifications/cancelled", requestId=1))
    assert (to, taken["params"]["requestId"]) == ("host", asked["id"])
    assert play.host(result(asked["id"], **YES)) == []
    assert play.server("s", result(sent["id"], content=[])) == []


def test_the_time_a_user_takes_is_not_the_servers() -> None:
    """While a question is open only the ceiling counts; then the server has its time again."""
    play = bridged(idle=10)
    ((_, asked),) = play.server("s", asks(call(play, 1), a=ELICIT))
    for _ in range(30):
        assert play.wait(5) == []
    ((_, again),) = play.host(result(asked["id"], **YES))
    assert play.wait(9) == []
    said = play.wait(1)
    assert {to for to, _ in said} == {"s", "host"}
    told = dict(said)
    assert told["s"]["params"]["requestId"] == int(again["id"])
    assert "did not answer within 10 s" in told["host"]["result"]["content"][0]["text"]


def test_a_server_that_ends_takes_its_questions_along() -> None:
    """The host is told, and the call fails; the next one finds the server discovered again."""
    play = bridged()
    ((_, asked),) = play.server("s", asks(call(play, 1), a=ELICIT))
    said = play.closed("s")
    assert [m.get("method") for _, m in said] == ["notifications/cancelled", None]
    assert play.host(result(asked["id"], **YES)) == []
    play.host(request(2, "tools/list"))
    ((_, hello),) = play.opened("s")
    assert hello["method"] == "server/discover"
    sent = [m["method"] for _, m in play.server("s", discovered(hello["id"]))]
    assert sent == ["subscriptions/listen", "tools/list"]


def test_results_of_types_the_host_cannot_know() -> None:
    """A clear error, unless it has an extension that may define them."""
    play = bridged()
    ((_, answer),) = play.server("s", result(call(play, 1)["id"], resultType="task", taskId="t"))
    assert "'task'" in answer["error"]["message"]
    play = bridged({"extensions": {"io.modelcontextprotocol/tasks": {}}})
    ((_, answer),) = play.server("s", result(call(play, 1)["id"], resultType="task", taskId="t"))
    assert answer["result"] == {"resultType": "task", "taskId": "t"}


def test_announcements_come_through_one_stream() -> None:
    """As plain notifications; what belongs to no stream of ours is nobody's."""
    play, hello = refused()
    play.server("s", discovered(hello["id"]))
    ((_, listen),) = play.host(note("notifications/initialized"))
    assert listen["params"] == {"notifications": {"toolsListChanged": True}, "_meta": ENVELOPE}
    changed = lambda ident: note("notifications/tools/list_changed", _meta={META + "subscriptionId": ident})  # noqa: E731
    assert play.server("s", changed(listen["id"])) == []
    assert acknowledge(play, listen) == []
    assert play.server("s", changed(listen["id"])) == [("host", note("notifications/tools/list_changed"))]
    assert play.server("s", changed(99)) == []
    # The server ends the stream: it is opened again after a while.
    assert play.server("s", result(listen["id"], resultType="complete")) == []
    ((_, again),) = play.wait(60)
    assert again["params"] == listen["params"]


def test_subscriptions_change_the_stream() -> None:
    """The new one stands before the old one goes; the host hears when it is honoured."""
    play = bridged()
    ((_, listen),) = play.host(request(1, "resources/subscribe", uri="x://1"))
    assert listen["params"]["notifications"] == {"toolsListChanged": True, "resourceSubscriptions": ["x://1"]}
    (_, old), (to, answer) = acknowledge(play, listen)
    assert (old["method"], to, answer) == ("notifications/cancelled", "host", result(1))
    assert play.host(request(2, "resources/subscribe", uri="x://1")) == [("host", result(2))]
    ((_, listen),) = play.host(request(3, "resources/subscribe", uri="x://2"))
    ignored = note(
        "notifications/subscriptions/acknowledged",
        notifications={"resourceSubscriptions": ["x://1"]},
        _meta={META + "subscriptionId": listen["id"]},
    )
    said = play.server("s", ignored)
    assert said[-1][1]["error"]["code"] == -32602
    (_, listen), (to, answer) = play.host(request(4, "resources/unsubscribe", uri="x://1"))
    assert listen["params"]["notifications"] == {"toolsListChanged": True}
    assert (to, answer) == ("host", result(4))


def test_a_long_question_is_loaded() -> None:
    """It has to be seen whole; a long result does not."""
    from .test_inplace import spooled

    play = bridged()
    sent = call(play, 1)
    line = json.dumps(asks(sent, a=ELICIT)).encode()
    (load,) = play.shown(play.proxy.from_server("s", spooled(line), 0.0))
    assert isinstance(load, Load)
    ((_, asked),) = play.server("s", line)
    # So long an answer of the host's goes on as it lies.
    answer = spooled(json.dumps(result(json.loads(json.dumps(asked["id"])), **YES)).encode())
    (command,) = play.proxy.from_host(answer, 0.0)
    assert any(not isinstance(piece, bytes) for piece in command.pieces)  # type: ignore[union-attr]


def test_our_own_calls_ask_nobody() -> None:
    """What our own side calls is not the host's doing: a question ends it."""
    play = bridged()
    ((to, sent),) = play.shown(play.proxy.call_for_us(1, "s", "t", b"{}", {}, 0.0))
    assert (to, sent["params"]) == ("s", {"name": "t", "arguments": {}, "_meta": ENVELOPE})
    (answered,) = play.server("s", asks(sent, a=ELICIT))
    assert answered == Answered(1, None)


def test_a_host_that_forgets_to_say_initialized() -> None:
    """Its first request opens the stream."""
    play, hello = refused()
    play.server("s", discovered(hello["id"]))
    said = play.host(request(1, "tools/list"))
    assert [m["method"] for _, m in said] == ["subscriptions/listen", "tools/list"]
    assert play.host(request(2, "ping")) == [("host", result(2))]
