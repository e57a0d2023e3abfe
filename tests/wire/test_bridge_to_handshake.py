"""Hosts of 2026-07-28 in front of servers of the handshake: conversations with the core alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crp_mcp.core.wire.bridges.held import HELD_SECONDS
from crp_mcp.core.wire.bridges.meeting import PROBE_SECONDS
from crp_mcp.core.wire.commands import Answered, Capture, Close, Load, Log, OwnSide, ServerRules
from crp_mcp.core.wire.inplace import InPlace

from .playbook import META, MODERN, Playbook, error, note, own_side, request, result

BACK = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}}
ABLE = {**MODERN, META + "clientCapabilities": BACK, META + "clientInfo": {"name": "h", "version": "1"}}
OFFERS = {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "logging": {}, "tasks": {}}
INFO = {"name": "old", "version": "3"}
STAMP = {META + "serverInfo": INFO}
FORM = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
YES = {"action": "accept", "content": {"who": "me"}}


def sealed() -> OwnSide:
    return own_side()._replace(secret=lambda: b"k" * 32)


def bridged(meta: dict = ABLE, **rules: Any) -> Playbook:
    """A host that has listed the tools; the server knew no probe and was greeted."""
    play = Playbook.in_place(sealed(), **rules)
    ((_, probe),) = play.host(request(0, "tools/list", _meta=meta))
    assert probe["method"] == "server/discover"
    ((_, hello),) = play.server("s", error(probe["id"], -32601))
    sent = play.server("s", result(hello["id"], capabilities=OFFERS, serverInfo=INFO, protocolVersion="2025-06-18"))
    assert [m["method"] for _, m in sent] == ["notifications/initialized", "tools/list"]
    play.server("s", result(sent[1][1]["id"], tools=[]))
    return play


def call(play: Playbook, ident: object, name: str = "t", meta: dict = ABLE, **more: Any) -> Any:
    """The server's id of a call that was sent to it."""
    said = play.host(request(ident, "tools/call", name=name, _meta=meta, **more))
    (sent,) = [m for to, m in said if to == "s" and m.get("method") == "tools/call"]
    return sent["id"]


def held(said: list) -> tuple[Any, dict]:
    """State and questions of the one answer the host got."""
    ((to, answer),) = said
    assert (to, answer["result"]["resultType"]) == ("host", "input_required")
    return answer["result"]["requestState"], answer["result"]["inputRequests"]


def back(play: Playbook, ident: object, state: str, responses: dict, name: str = "t", meta: dict = ABLE) -> list:
    params = {"name": name, "_meta": meta, "requestState": state, "inputResponses": responses}
    return play.host(request(ident, "tools/call", **params))


def finished(play: Playbook, said: list) -> dict:
    """What the host gets for a call whose result is recorded."""
    (capture,) = said
    assert isinstance(capture, Capture)
    ((to, answer),) = play.settled(capture.key, None)
    assert to == "host"
    return answer


def test_the_server_is_greeted_in_the_hosts_name() -> None:
    """With what its first request said of it; roots cannot change later."""
    play = Playbook.in_place(sealed())
    ((_, probe),) = play.host(request(1, "tools/list", _meta={**ABLE, "progressToken": 5, "k": 1}))
    assert probe["params"] == {"_meta": {**ABLE, "k": 1}}
    ((_, hello),) = play.server("s", error(probe["id"], -32601))
    assert hello["params"] == {
        "protocolVersion": "2025-11-25",
        "capabilities": {**BACK, "roots": {}},
        "clientInfo": {"name": "h", "version": "1"},
    }
    _, (_, listed) = play.server("s", result(hello["id"], capabilities=OFFERS))
    assert listed["params"] == {"_meta": {"k": 1, "progressToken": int(listed["id"])}}


def test_a_server_that_stays_silent_is_greeted() -> None:
    """After a while; what the host asked for waits."""
    play = Playbook.in_place(sealed())
    play.host(request(1, "tools/list", _meta=ABLE))
    assert play.wait(PROBE_SECONDS - 0.1) == []
    said = play.wait(0.1)
    assert [m["method"] for _, m in said][-1] == "initialize"


def test_a_modern_server_is_left_alone() -> None:
    """Its answer to the probe is the only thing that came between."""
    play = Playbook.in_place(sealed())
    ((_, probe),) = play.host(request(1, "tools/list", _meta=ABLE))
    ((_, sent),) = play.server("s", result(probe["id"], supportedVersions=["2026-07-28"]))
    assert sent == request(1, "tools/list", _meta=ABLE)
    again = request(2, "ping", _meta=ABLE)
    assert play.host(again) == [("s", again)]


def test_results_get_what_the_era_asks_for() -> None:
    """Stamped, typed, and lists not to be kept; what is there already stays."""
    play = bridged()
    ((_, sent),) = play.host(request(1, "resources/read", uri="x://y", _meta={**ABLE, "v": 2}))
    assert sent["params"] == {"uri": "x://y", "_meta": {"v": 2}}
    line = b'{"jsonrpc":"2.0","id":%b,"result":{"contents":[],"x":1.50,"ttlMs":7}}' % json.dumps(sent["id"]).encode()
    ((_, got),) = play.server("s", line)
    assert got == result(1, contents=[], x=1.5, ttlMs=7, resultType="complete", cacheScope="private", _meta=STAMP)
    assert play.server("s", line) == []
    ident = call(play, 2)
    answer = finished(play, play.server("s", result(ident, content=[], _meta={"a": 1, "dev.crp/x": 2})))
    assert answer == result(2, content=[], resultType="complete", _meta={**STAMP, "a": 1})


def test_the_capture_has_the_bytes_that_came() -> None:
    """Nothing of ours is in what is recorded."""
    play = bridged()
    ident = call(play, 1)
    raw = b'{"content":[ {"type":"text","text":"1e400"} ],"n":1.500}'
    (capture,) = play.server("s", b'{"id":%b,"result":%b}' % (json.dumps(ident).encode(), raw))
    assert capture.result == raw
    ((_, answer),) = play.settled(capture.key, b'{"content":[],"resultType":"complete"}')
    assert answer["result"] == {"content": [], "resultType": "complete"}


def test_a_question_holds_the_call() -> None:
    """The host's next request goes on with it; the server has seen one call."""
    play = bridged()
    ident = call(play, 1, arguments={"a": 1})
    question = {**request("e1", "elicitation/create", **FORM)}
    state, questions = held(play.server("s", question))
    ((key, asked),) = questions.items()
    assert asked == {"method": "elicitation/create", "params": FORM}
    params = {"name": "t", "arguments": {"a": 1}, "_meta": ABLE}
    said = play.host(request(2, "tools/call", **params, requestState=state, inputResponses={key: YES, "more": {}}))
    assert said == [("s", result("e1", **YES))]
    answer = finished(play, play.server("s", result(ident, content=[])))
    assert (answer["id"], answer["result"]["content"]) == (2, [])
    assert play.proxy.next_deadline() is None


def test_several_rounds_and_several_questions() -> None:
    """A question that comes while the call is held is asked in the next round; so is one that was not answered."""
    play = bridged()
    ident = call(play, 1)
    state, first = held(play.server("s", request(10, "roots/list")))
    assert list(first.values()) == [{"method": "roots/list"}]
    assert play.server("s", request(11, "sampling/createMessage", messages=[], maxTokens=1)) == []
    (key,) = first
    said = back(play, 2, state, {key: {"roots": []}})
    assert said[0] == ("s", result(10, roots=[]))
    state, second = held(said[1:])
    assert [asked["method"] for asked in second.values()] == ["sampling/createMessage"]
    state, again = held(back(play, 3, state, {}))
    assert again == second
    assert back(play, 4, state, {key: {"role": "user"} for key in again}) == [("s", result(11, role="user"))]
    assert finished(play, play.server("s", result(ident, content=[])))["id"] == 4


def test_an_answer_that_does_not_wait_for_the_host() -> None:
    """The server gave up on its question, and its result is there when the host comes back."""
    play = bridged()
    ident = call(play, 1)
    state, questions = held(play.server("s", request(10, "elicitation/create", **FORM)))
    assert play.server("s", note("notifications/cancelled", requestId=10)) == []
    assert play.server("s", result(ident, content=[], isError=True)) == []
    answer = finished(play, back(play, 2, state, dict.fromkeys(questions, YES)))
    assert (answer["id"], answer["result"]["isError"]) == (2, True)


@pytest.mark.parametrize("change", ["mac", "other call", "other arguments", "round", "number", "text", "long", "used"])
def test_a_state_that_is_not_ours_for_this_call(change: str) -> None:
    """Refused, and the held call stays as it is."""
    play = bridged()
    call(play, 1)
    state, questions = held(play.server("s", request(10, "elicitation/create", **FORM)))
    responses = dict.fromkeys(questions, YES)
    mark, mac = state.rsplit(".", 1)
    wrong = {
        "mac": f"{mark}.{'0' * 64}",
        "round": state.replace(".1.", ".2."),
        "number": state.replace("held-2", "held-3"),
        "text": "crp-mcp-held-é",
        "long": f"crp-mcp-held-{'9' * 5000}.1.{mac}",
    }.get(change, state)
    more = {"name": "u"} if change == "other call" else {"arguments": {"a": 2}} if change == "other arguments" else {}
    if change == "used":
        assert back(play, 2, state, responses) == [("s", result(10, **YES))]
    params = {"name": "t", "_meta": ABLE, "requestState": wrong, "inputResponses": responses, **more}
    ((to, refusal),) = play.host(request(3, "tools/call", **params))
    assert (to, refusal["error"]["code"]) == ("host", -32602)
    assert "requestState" in refusal["error"]["message"]
    if change != "used":
        assert back(play, 4, state, responses) == [("s", result(10, **YES))]


def test_a_host_that_never_returns_leaves_nothing_behind() -> None:
    """The server's question gets an error, its call is cancelled, the state is good for nothing."""
    play = bridged()
    ident = call(play, 1)
    state, questions = held(play.server("s", request(10, "elicitation/create", **FORM)))
    assert play.wait(HELD_SECONDS - 1) == []
    (_, refusal), (_, cancel) = play.wait(1)
    assert (refusal["id"], refusal["error"]["code"]) == (10, -32001)
    assert cancel == note("notifications/cancelled", requestId=ident, reason=cancel["params"]["reason"])
    assert play.server("s", result(ident, content=[])) == []
    assert back(play, 2, state, dict.fromkeys(questions, YES))[0][1]["error"]["code"] == -32602
    assert play.proxy.next_deadline() is None
    bridge: Any = play.proxy.links["s"].bridge
    assert (bridge._asks, bridge._by_outer, bridge._asked) == ({}, {}, {})


def test_cancelling_a_call_that_goes_on() -> None:
    """Before and after it was held, the server is told under its own id."""
    play = bridged()
    ident = call(play, 1)
    state, questions = held(play.server("s", request(10, "elicitation/create", **FORM)))
    assert play.host(note("notifications/cancelled", requestId=1)) == []
    back(play, 2, state, dict.fromkeys(questions, YES))
    ((to, told),) = play.host(note("notifications/cancelled", requestId=2))
    assert (to, told["params"]["requestId"]) == ("s", ident)
    assert play.server("s", result(ident, content=[])) == []


def test_a_server_that_ends_while_a_call_is_held() -> None:
    """The state leads nowhere, and says so."""
    play = bridged()
    call(play, 1)
    state, questions = held(play.server("s", request(10, "elicitation/create", **FORM)))
    assert play.closed("s") == []
    play.host(request(2, "tools/list", _meta=ABLE))
    ((_, hello),) = play.opened("s")
    assert hello["method"] == "initialize"
    play.server("s", result(hello["id"], capabilities=OFFERS))
    assert back(play, 3, state, dict.fromkeys(questions, YES))[0][1]["error"]["code"] == -32602


def test_a_host_that_cannot_be_asked() -> None:
    """The server gets the protocol's error, and if the call fails by it, the host hears what it needs to declare."""
    none = {**MODERN, META + "clientCapabilities": {"elicitation": {}}}
    play = bridged(none)
    ident = call(play, 1, meta=none)
    url = {"mode": "url", "url": "https://x", "message": "Go", "elicitationId": "7"}
    asked = [request(1, "roots/list"), request(2, "sampling/createMessage"), request(3, "elicitation/create", **url)]
    codes = [play.server("s", one)[0][1]["error"]["code"] for one in asked]
    assert codes == [-32601, -32601, -32602]
    ((_, answer),) = play.server("s", error(ident, -32603, "cannot"))
    assert answer["error"]["code"] == -32021
    assert answer["error"]["data"]["requiredCapabilities"] == {
        "roots": {},
        "sampling": {},
        "elicitation": {"url": {}},
    }
    ident = call(play, 2, meta=none)
    play.server("s", request(4, "roots/list"))
    assert finished(play, play.server("s", result(ident, content=[])))["result"]["content"] == []


def test_what_one_request_declares_does_not_count_for_another() -> None:
    """The capabilities are those of the request that is under way."""
    play = bridged()
    call(play, 1, meta=MODERN)
    assert play.server("s", request(1, "roots/list"))[0][1]["error"]["code"] == -32601


def test_pages_that_must_be_visited_first() -> None:
    """The error that carries them is no error of this era: the host is asked to, and the call is made again."""
    play = bridged()
    ident = call(play, 1, arguments={"a": 1})
    page = {"mode": "url", "url": "https://x", "message": "Go", "elicitationId": "7"}
    refusal = {"id": ident, "error": {"code": -32042, "message": "first", "data": {"elicitations": [page]}}}
    state, questions = held(play.server("s", refusal))
    ((key, asked),) = questions.items()
    assert asked["params"] == {"mode": "url", "url": "https://x", "message": "Go"}
    params = {"name": "t", "arguments": {"a": 1}, "_meta": ABLE}
    ((to, sent),) = play.host(
        request(2, "tools/call", **params, requestState=state, inputResponses={key: {"action": "accept"}})
    )
    assert (to, sent["params"]) == ("s", {"name": "t", "arguments": {"a": 1}})
    assert finished(play, play.server("s", result(sent["id"], content=[])))["id"] == 2
    ident = call(play, 3, meta=MODERN)
    ((_, answer),) = play.server("s", {**refusal, "id": ident})
    assert answer["error"]["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}


def test_roots_asked_for_at_the_start_wait_for_a_call() -> None:
    """They are the one thing servers ask for outside of one; the call is made with them answered."""
    play = bridged()
    assert play.server("s", request(1, "roots/list")) == []
    assert play.server("s", request(2, "elicitation/create", **FORM))[0][1]["error"]["code"] == -32601
    ((_, listed),) = play.host(request(1, "tools/list", _meta=ABLE))
    assert listed["method"] == "tools/list"
    state, questions = held(play.host(request(2, "tools/call", name="t", _meta=ABLE)))
    said = back(play, 3, state, {key: {"roots": []} for key in questions})
    assert said[0] == ("s", result(1, roots=[]))
    assert said[1][1]["params"] == {"name": "t"}
    assert finished(play, play.server("s", result(said[1][1]["id"], content=[])))["id"] == 3


def test_calls_that_ask_run_one_at_a_time() -> None:
    """Once a tool has asked. A held one stands back, so that a user who is slow holds up nobody."""
    play = bridged()
    call(play, 1)
    state, questions = held(play.server("s", request(10, "elicitation/create", **FORM)))
    second = call(play, 2)
    assert play.host(request(3, "tools/call", name="t", _meta=ABLE)) == []
    assert call(play, 4, "other")
    # The first wants to go on: not before the second is done.
    assert back(play, 5, state, dict.fromkeys(questions, YES)) == []
    said = play.server("s", result(second, content=[]))
    assert [said[0][1]["method"], type(said[1])] == ["tools/call", Capture]
    assert play.server("s", result(said[0][1]["id"], content=[]))[0] == ("s", result(10, **YES))
    # One that waits its turn can be given up.
    assert play.host(request(6, "tools/call", name="t", _meta=ABLE)) == []
    assert play.host(note("notifications/cancelled", requestId=6)) == []


def test_several_calls_at_once_before_it_is_known_who_asks() -> None:
    """All of one host: the question goes to it with the latest; the answer reaches the server by its own id."""
    play = bridged()
    first, second = call(play, 1), call(play, 2, "u")
    ((_, answer),) = play.server("s", request(10, "elicitation/create", **FORM))
    assert answer["id"] == 2
    state, questions = answer["result"]["requestState"], answer["result"]["inputRequests"]
    assert back(play, 3, state, dict.fromkeys(questions, YES), name="u") == [("s", result(10, **YES))]
    assert finished(play, play.server("s", result(first, content=[])))["id"] == 1
    assert finished(play, play.server("s", result(second, content=[])))["id"] == 3


def test_progress_comes_under_the_hosts_token() -> None:
    """Of the request that is under way; while the call is held nobody waits for it."""
    play = bridged()
    ident = call(play, 1, meta={**ABLE, "progressToken": "p"})
    progress = note("notifications/progress", progressToken=ident, progress=1, x=None)
    assert play.server("s", progress) == [
        ("host", note("notifications/progress", progressToken="p", progress=1, x=None))
    ]
    state, questions = held(play.server("s", request(10, "elicitation/create", **FORM)))
    assert play.server("s", progress) == []
    back(play, 2, state, dict.fromkeys(questions, YES), meta={**ABLE, "progressToken": 9})
    ((_, seen),) = play.server("s", progress)
    assert seen["params"]["progressToken"] == 9


def test_a_host_that_can_do_more_later() -> None:
    """The server is greeted anew, unless a tool was called: then it may keep something in its memory."""
    play = bridged(MODERN)
    commands = play.host(request(1, "tools/list", _meta=ABLE))
    assert commands[0] == Close("s")
    ((_, hello),) = play.opened("s")
    assert hello["params"]["capabilities"] == {**BACK, "roots": {}}
    sent = play.server("s", result(hello["id"], capabilities=OFFERS))
    assert sent[-1][1]["method"] == "tools/list"
    play = bridged(MODERN)
    call(play, 1, meta=MODERN)
    assert [m["method"] for _, m in play.host(request(2, "tools/list", _meta=ABLE))] == ["tools/list"]


def test_questions_and_answers_that_are_not_in_memory() -> None:
    """A long question is loaded to be asked; a long result passes where it lies."""
    from .test_inplace import spooled

    play = bridged()
    ident = call(play, 1)
    line = json.dumps(request(10, "elicitation/create", **FORM)).encode()
    (load,) = play.shown(play.proxy.from_server("s", spooled(line), 0.0))
    assert isinstance(load, Load)
    state, questions = held(play.server("s", line))
    replies = {key: {"action": "accept", "content": {"who": "m" * 20_000}} for key in questions}
    retry = request(2, "tools/call", name="t", _meta=ABLE, inputResponses=replies, requestState=state)
    assert play.shown(play.proxy.from_host(spooled(json.dumps(retry).encode()), 0.0))[0].server == ""
    ((_, replied),) = play.host(retry)
    assert len(replied["result"]["content"]["who"]) == 20_000
    answer = spooled(b'{"jsonrpc":"2.0","id":%b,"result":{"content":[]}}' % json.dumps(ident).encode())
    (capture,) = play.proxy.from_server("s", answer, 0.0)
    assert isinstance(capture, Capture)
    (command,) = play.proxy.settled(capture.key, None, 0.0)
    kept = [piece for piece in command.pieces if not isinstance(piece, bytes)]  # type: ignore[union-attr]
    assert kept
    written = b"".join(piece for piece in command.pieces if isinstance(piece, bytes))  # type: ignore[union-attr]
    assert b'"resultType":"complete"' in written


def test_an_answer_that_cannot_be_read_ends_its_call() -> None:
    """Under the host's id, or when it comes back."""
    play = bridged()
    ident = call(play, 1)
    ((to, said),) = play.server("s", b'{"id":%b,"result":{' % json.dumps(ident).encode())
    assert (to, said["id"], said["error"]["code"]) == ("host", 1, -32603)


def test_without_a_key_nothing_is_held() -> None:
    """A state that anybody could forge is not given."""
    play = Playbook(InPlace(ServerRules("s", era="handshake"), own_side()))
    play.do(play.proxy.open("s", 0.0))
    play.do(play.proxy.server_opened("s", 0.0))
    ((_, hello),) = play.host(request(1, "tools/call", name="t", _meta=ABLE))
    play.server("s", result(hello["id"], capabilities=OFFERS))
    assert play.server("s", request(10, "roots/list"))[0][1]["error"]["code"] == -32601


def test_a_server_that_refuses_the_handshake_too() -> None:
    """Whoever waits is told why."""
    play = Playbook.in_place(sealed())
    ((_, probe),) = play.host(request(1, "tools/list", _meta=ABLE))
    ((_, hello),) = play.server("s", error(probe["id"], -32601))
    said = play.server("s", error(hello["id"], -32000, "never"))
    (failed,) = [m for to, m in (one for one in said if type(one) is tuple) if to == "host"]
    assert failed["error"]["code"] == -32000
    assert [log.event for log in play.logs if isinstance(log, Log)][-1] == "server_closed"


def test_log_levels_of_calls_under_way() -> None:
    """The server is set to the most talkative; each message goes on only if a call under way wants it."""
    play = bridged()
    wants = {level: {**ABLE, META + "logLevel": level} for level in ("error", "debug", "loud")}
    said = play.host(request(1, "tools/call", name="t", _meta=wants["error"]))
    assert [m["method"] for _, m in said] == ["logging/setLevel", "tools/call"]
    first = said[1][1]["id"]
    info = note("notifications/message", level="info", data=1)
    assert play.server("s", info) == []
    said = play.host(request(2, "tools/call", name="u", _meta=wants["debug"]))
    assert said[0][1]["params"] == {"level": "debug"}
    assert play.server("s", info) == [("host", info)]
    play.server("s", result(said[1][1]["id"], content=[]))
    assert play.server("s", info) == []
    play.server("s", result(first, content=[]))
    assert [m["method"] for _, m in play.host(request(3, "tools/call", name="t", _meta=wants["loud"]))] == [
        "tools/call"
    ]


def test_our_own_calls_ask_nobody() -> None:
    """What our own side calls is not the host's doing: the server hears that nobody can be asked."""
    play = bridged()
    ((_, sent),) = play.shown(play.proxy.call_for_us(1, "s", "t", b"{}", ABLE, 0.0))
    assert sent["params"] == {"name": "t", "arguments": {}}
    assert play.server("s", request(10, "roots/list"))[0][1]["error"]["code"] == -32601
    (answered,) = play.server("s", result(sent["id"], content=[]))
    assert isinstance(answered, Answered)
    assert answered.result is not None


def test_a_host_that_greets_after_all() -> None:
    """The connection was opened for the other era: it is begun anew, without a bridge."""
    play = bridged()
    commands = play.host(request(1, "initialize", protocolVersion="2025-06-18", capabilities={}))
    assert commands[0] == Close("s")
    (opened,) = play.opened("s")
    assert (opened[0], opened[1]["method"], opened[1]["id"]) == ("s", "initialize", 1)
    play.server("s", result(1, capabilities={"tools": {}}))
    tools = request(2, "tools/list")
    assert play.host(tools) == [("s", tools)]
