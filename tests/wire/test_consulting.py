"""Calls the relay is asked about first, and calls of its own."""

from __future__ import annotations

import json
from typing import Any

from crp_mcp.core.wire.commands import Answered, Consult
from tests.wire.playbook import Playbook, own_side

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read", "arguments": {"a": 1}}}
RESULT: dict[str, Any] = {"content": [{"type": "text", "text": "x"}]}


def held() -> tuple[Playbook, Consult]:
    """A call that waits for the relay's word."""
    play = Playbook.in_place(own_side()._replace(consults=lambda server, tool, definition: tool == "read"))
    (asked,) = play.host(CALL)
    assert isinstance(asked, Consult)
    assert (asked.server, asked.tool, asked.arguments) == ("s", "read", b'{"a": 1}')
    return play, asked


def test_a_call_goes_on_when_the_relay_has_nothing_to_say() -> None:
    """It reaches its server as the host sent it."""
    play, asked = held()
    (sent,) = play.shown(play.proxy.consulted(asked.key, None, 0.0))
    assert sent == ("s", CALL)


def test_an_answer_of_the_relay_stands_in_for_the_call() -> None:
    """The server never hears of it."""
    play, asked = held()
    (told,) = play.shown(play.proxy.consulted(asked.key, json.dumps(RESULT).encode(), 0.0))
    assert told == ("host", {"jsonrpc": "2.0", "id": 1, "result": RESULT})


def test_a_call_given_up_while_it_is_held_is_never_made() -> None:
    """Whatever the relay says later."""
    play, asked = held()
    play.host({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert play.shown(play.proxy.consulted(asked.key, None, 0.0)) == []


def test_a_call_of_our_own_is_answered_to_us_alone() -> None:
    """The host sees neither request nor answer; an error is no result."""
    play = Playbook.in_place()
    for answer, expected in (({"result": RESULT}, RESULT), ({"error": {"code": -1, "message": "no"}}, None)):
        (sent,) = play.shown(play.proxy.call_for_us(5, "s", "read", b'{"a":1}', {"k": 1}, 0.0))
        server, request = sent
        assert server == "s"
        assert request["params"] == {"name": "read", "arguments": {"a": 1}, "_meta": {"k": 1}}
        (told,) = play.server("s", {"jsonrpc": "2.0", "id": request["id"], **answer})
        assert isinstance(told, Answered)
        assert told.key == 5
        assert (json.loads(told.result) if isinstance(told.result, bytes) else None) == expected


def test_a_call_of_our_own_ends_with_its_server() -> None:
    """Nobody waits for ever."""
    play = Playbook.in_place()
    play.shown(play.proxy.call_for_us(5, "s", "read", b"{}", {}, 0.0))
    assert [told for told in play.closed("s") if isinstance(told, Answered)] == [Answered(5, None)]
