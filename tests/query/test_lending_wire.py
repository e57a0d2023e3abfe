"""Calls with stored values on the wire: held, asked about in both eras, sent on with the values, or refused."""

from __future__ import annotations

import json
from typing import Any

from crp_mcp.core.wire.commands import Lend, OwnSide
from crp_mcp.core.wire.frame import parse_line
from tests.wire.playbook import MODERN, Playbook, own_side

ASKS = {"title": "x", "body": {"$scratch": "scratch_api_001", "path": "$.body"}}
FORM = {"elicitation": {"form": {}}}
SCHEMA = {"type": "object", "properties": {"body": {"type": "string", "description": "the page"}}}


def side(*opted: str) -> OwnSide:
    return own_side()._replace(accepts=lambda server, tool, definition: tool in opted)


def opened(capabilities: dict[str, Any] | None = None, *opted: str) -> Playbook:
    play = Playbook.in_place(side(*opted))
    params = {"protocolVersion": "2025-11-25", "capabilities": capabilities or {}, "clientInfo": {"name": "h"}}
    play.host({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}}
    play.server("s", {"jsonrpc": "2.0", "id": 0, "result": result})
    play.host({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return play


def call(ident: int = 1, arguments: dict[str, Any] = ASKS, **params: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": ident,
        "method": "tools/call",
        "params": {"name": "update", "arguments": arguments, **params},
    }


def lent(play: Playbook, key: int, arguments: bytes | None, question: str | None = None) -> list[Any]:
    return play.shown(play.proxy.lent(key, arguments, question, play.now))


def test_a_call_of_a_tool_that_did_not_opt_in_passes_untouched() -> None:
    """`$scratch` is a word like any other where nobody opted in, byte for byte."""
    play = opened(FORM)
    params = b'{"name":"update","arguments":{"a":{"$scratch" : "x"}}}'
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}' % params
    [sent] = play.do(play.proxy.from_host(parse_line(line), play.now))
    assert b"".join(sent.pieces) == line


def test_the_relay_is_asked_and_its_arguments_are_sent() -> None:
    """A call of an opted-in tool waits for its arguments, and goes on with them and nothing else changed."""
    play = opened(FORM, "update")
    [held] = play.host(call(_meta={"progressToken": 7}))
    assert isinstance(held, Lend)
    assert (held.server, held.tool, json.loads(held.arguments), held.agreed) == ("s", "update", ASKS, False)
    [(to, message)] = lent(play, held.key, b'{"title":"x","body":"the page"}')
    assert to == "s"
    assert message["params"]["arguments"] == {"title": "x", "body": "the page"}
    assert message["params"]["_meta"] == {"progressToken": 7}


def test_a_refusal_answers_the_call_and_the_server_hears_nothing() -> None:
    """What may not be sent is said to the model, with isError."""
    play = opened(FORM, "update")
    [held] = play.host(call())
    [(to, message)] = play.shown(play.proxy.not_lent(held.key, "It is RESTRICTED.", play.now))
    assert to == "host"
    assert message["result"]["isError"]
    assert "RESTRICTED" in message["result"]["content"][0]["text"]
    assert "not made" in message["result"]["content"][0]["text"]


def test_a_person_is_asked_and_agrees() -> None:
    """In the handshake era the question is an elicitation of ours; after a yes the relay is asked again."""
    play = opened(FORM, "update")
    [held] = play.host(call())
    [(to, question)] = lent(play, held.key, None, "Send it?")
    assert (to, question["method"], question["params"]["message"]) == ("host", "elicitation/create", "Send it?")
    [again] = play.host({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}})
    assert isinstance(again, Lend)
    assert again.agreed
    [(to, message)] = lent(play, again.key, b'{"body":"b"}')
    assert (to, message["params"]["arguments"]) == ("s", {"body": "b"})


def test_a_person_says_no() -> None:
    """Decline, cancel and an error of the host all mean no."""
    for answer in ({"result": {"action": "decline"}}, {"result": {"action": "cancel"}}, {"error": {"code": -1}}):
        play = opened(FORM, "update")
        [held] = play.host(call())
        [(_, question)] = lent(play, held.key, None, "Send it?")
        [(to, message)] = play.host({"jsonrpc": "2.0", "id": question["id"], **answer})
        assert to == "host"
        assert message["result"]["isError"]


def test_a_host_that_cannot_ask_is_told_so() -> None:
    """Without elicitation there is nobody to agree, so the call is refused; the answer names the switch."""
    play = opened({}, "update")
    [held] = play.host(call())
    [(to, message)] = lent(play, held.key, None, "Send it?")
    assert to == "host"
    assert "CRP_MCP_CONFIRM" in message["result"]["content"][0]["text"]


def test_a_cancelled_call_takes_its_question_back() -> None:
    """When the host gives the call up, the dialogue is withdrawn and a late yes changes nothing."""
    play = opened(FORM, "update")
    [held] = play.host(call())
    [(_, question)] = lent(play, held.key, None, "Send it?")
    said = play.host({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert [m["params"]["requestId"] for to, m in said if to == "host"] == [question["id"]]
    assert not play.host({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})
    assert not lent(play, held.key, b"{}")


def asked_for(play: Playbook, message: dict[str, Any]) -> Lend:
    """What is to be lent for a call; the server may be asked at the same time what era it is of."""
    [held] = [said for said in play.host(message) if isinstance(said, Lend)]
    return held


def test_in_the_modern_era_the_call_is_made_again_with_the_answer() -> None:
    """The question is an input_required result; the server sees the repeated call without what answered it."""
    play = Playbook.in_place(side("update"))
    meta = {**MODERN, "io.modelcontextprotocol/clientCapabilities": FORM}
    held = asked_for(play, call(1, _meta=meta))
    [(to, asked)] = lent(play, held.key, None, "Send it?")
    result = asked["result"]
    assert (to, asked["id"], result["resultType"]) == ("host", 1, "input_required")
    [(key, request)] = result["inputRequests"].items()
    assert request["method"] == "elicitation/create"
    answer = {"inputResponses": {key: {"action": "accept", "content": {}}}, "requestState": result["requestState"]}
    known = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    play.server("s", {"jsonrpc": "2.0", "id": "crp-mcp-1", "result": known})
    again = asked_for(play, call(2, _meta=meta, **answer))
    assert again.agreed
    [(to, message)] = lent(play, again.key, b'{"body":"b"}')
    assert to == "s"
    assert message["params"] == {"name": "update", "arguments": {"body": "b"}, "_meta": meta}


def test_a_forged_state_is_no_agreement() -> None:
    """An answer counts only with a state of ours, for the very arguments it was given for, and once."""
    play = Playbook.in_place(side("update"))
    meta = {**MODERN, "io.modelcontextprotocol/clientCapabilities": FORM}
    answer = {"inputResponses": {"crp-mcp": {"action": "accept"}}}
    held = asked_for(play, call(1, _meta=meta, requestState="crp-mcp-lend-1", **answer))
    assert not held.agreed
    [(_, asked)] = lent(play, held.key, None, "Send it?")
    state = asked["result"]["requestState"]
    other = {"body": {"$scratch": "scratch_api_002"}}
    forged = asked_for(play, call(2, other, _meta=meta, requestState=state, **answer))
    assert not forged.agreed


def test_only_opted_in_tools_get_a_schema_that_admits_it() -> None:
    """The listed schema of an opted-in tool takes a reference in place of any argument; others keep their bytes."""
    play = opened({}, "update")
    play.host({"jsonrpc": "2.0", "id": 5, "method": "tools/list"})
    tools = [{"name": name, "inputSchema": SCHEMA} for name in ("update", "other")]
    [(_, listed)] = play.server("s", {"jsonrpc": "2.0", "id": 5, "result": {"tools": tools}})
    update, other = listed["result"]["tools"]
    assert other["inputSchema"] == SCHEMA
    body = update["inputSchema"]["properties"]["body"]
    assert body["description"] == "the page"
    assert [part["type"] for part in body["anyOf"]] == ["string", "object"]
    assert "$scratch" in body["anyOf"][1]["properties"]
