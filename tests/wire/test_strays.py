"""Answers that match no request: whose they may be, and whose they cannot."""

from __future__ import annotations

from typing import Any

import pytest

from .playbook import MODERN, Playbook, error, note, request, result

STRAY = result("nobody's", content=[])
NULL = error(None, -32601)


def calling(*methods: str, **params: Any) -> Playbook:
    """A host that has sent these, under the ids 1, 2, …; nothing is answered."""
    play = Playbook.in_place(era="2026-07-28")
    for ident, method in enumerate(methods, 1):
        play.host(request(ident, method, **params))
    return play


@pytest.mark.parametrize("stray", [STRAY, result("1", content=[]), NULL, {"result": {}}, {"id": [1], "error": {}}])
def test_the_only_call_is_failed(stray: dict) -> None:
    """At once, with what happened; its real answer, late, reaches nobody."""
    play = calling("tools/call", name="t")
    ((to, said),) = play.server("s", stray)
    assert (to, said["id"], said["result"]["isError"]) == ("host", 1, True)
    assert said["result"]["content"][0]["text"] == (
        "The MCP server 's' sent an answer whose id is that of no request; "
        "this was the only one that it had not answered. The call may have taken effect."
    )
    assert play.server("s", result(1, content=[])) == []
    assert play.host(request(2, "tools/call", name="t")) == [("s", request(2, "tools/call", name="t"))]
    assert play.server("s", result(1, content=[])) == []


def test_other_requests_get_protocol_errors() -> None:
    """As with everything else that goes wrong with them."""
    ((_, said),) = calling("tools/list").server("s", STRAY)
    assert (said["id"], said["error"]["code"]) == (1, -32000)


def test_among_several_nobody_is_failed() -> None:
    """Also where nobody waits for the other one any more: its answer may still come."""
    assert calling("tools/list", "ping").server("s", STRAY) == []
    play = calling("tools/list", "ping")
    play.host(note("notifications/cancelled", requestId=2))
    assert play.server("s", STRAY) == []
    assert calling().server("s", STRAY) == []


def test_what_ends_some_day_is_not_counted() -> None:
    """A stream is always open; the call beside it is still the only one."""
    play = calling("subscriptions/listen", "ping", _meta=MODERN)
    assert [said["id"] for _, said in play.server("s", STRAY)] == [2]
    assert play.server("s", STRAY) == []


def test_a_second_answer_is_not_taken_for_another_call() -> None:
    """Some servers answer twice, or after a call was given up."""
    play = calling("ping")
    play.server("s", result(1))
    play.host(request(2, "tools/call", name="t"))
    assert play.server("s", result(1)) == []
    assert play.server("s", error(1, -32603)) == []


def test_the_answer_to_a_notification_is_not_taken_for_another_call() -> None:
    """Some servers refuse notifications, under no id. Once they have answered what came after, that is over."""
    play = calling("initialize")
    play.server("s", result(1, capabilities={}))
    play.host(note("notifications/initialized"))
    play.host(request(2, "ping"))
    for stray in (NULL, {"error": {"code": -32601}}, {"id": None, "result": {}}, {"result": None}):
        assert play.server("s", stray) == []
    play.server("s", result(2))
    play.host(request(3, "tools/call", name="t"))
    assert [said["id"] for _, said in play.server("s", NULL)] == [3]


def test_a_result_with_content_is_no_answer_to_a_notification() -> None:
    """So whoever waits is told, whatever was sent before."""
    play = calling("initialize")
    play.server("s", result(1, capabilities={}))
    play.host(note("notifications/initialized"))
    play.host(request(2, "tools/call", name="t"))
    assert [said["id"] for _, said in play.server("s", {"result": {"content": []}})] == [2]


def test_calls_that_wait_for_the_handshake_are_not_meant() -> None:
    """Nothing but the handshake was sent: it has failed, and the server is left out."""
    play = Playbook.aggregate("a", "b")
    hellos = dict(play.host(request(0, "initialize")))
    play.server("b", result(hellos["b"]["id"], capabilities={"tools": {}}))
    said = play.server("a", result("nobody's", capabilities={}))
    assert [one[1]["id"] for one in said if one[0] == "host"] == [0]
    assert [log.fields["server"] for log in play.logs if log.event == "server_left_out"] == ["a"]
