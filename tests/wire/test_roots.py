"""The host's roots: who is asked, when, and what a host that stays silent costs."""

from __future__ import annotations

from typing import Any

import pytest

from crp_mcp.core.wire.commands import CallOwn
from crp_mcp.core.wire.roots import KEPT_SECONDS, SECONDS
from tests.wire.playbook import META, MODERN, Playbook, own_side

ROOTS = [{"uri": "file:///home/bo/shop", "name": "shop"}]


def call(number: int, name: str = "request_context", **meta: Any) -> dict[str, Any]:
    params: dict[str, Any] = {"name": name, "arguments": {"query": "x"}, **({"_meta": meta} if meta else {})}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def opened(*, declares: bool = True, wanted: bool = True) -> tuple[Playbook, list[tuple[str, ...]]]:
    """A host that is through its handshake, and what our own side learnt of its roots."""
    learnt: list[tuple[str, ...]] = []
    own = own_side(tools=("request_context", "scratch_list"))
    play = Playbook.aggregate("s", own=own._replace(learn_roots=learnt.append if wanted else None))
    capabilities = {"roots": {"listChanged": True}} if declares else {}
    params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "h"}}
    ((_, greeting),) = play.host({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    play.server("s", {"jsonrpc": "2.0", "id": greeting["id"], "result": {"capabilities": {}, "serverInfo": {}}})
    play.host({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return play, learnt


def is_call(told: Any, name: str = "request_context") -> bool:
    return isinstance(told, CallOwn) and told.target == name


def test_roots_are_asked_for_once_when_a_tool_works_with_files() -> None:
    """The call goes on with the answer; the next one does not ask again."""
    play, learnt = opened()
    ((to, question),) = play.host(call(1))
    assert (to, question["method"]) == ("host", "roots/list")
    assert play.host(call(2)) == []
    first, second = play.host({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": ROOTS}})
    assert is_call(first)
    assert is_call(second)
    assert learnt == [("file:///home/bo/shop",)]
    (third,) = play.host(call(3))
    assert is_call(third)


def test_roots_are_asked_for_again_once_they_have_changed() -> None:
    """The server hears of the change as well."""
    play, learnt = opened()
    ((_, question),) = play.host(call(1))
    play.host({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": ROOTS}})
    told = play.host({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    assert ("s", {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}) in told
    ((_, again),) = play.host(call(2))
    assert again["id"] != question["id"]
    play.host({"jsonrpc": "2.0", "id": again["id"], "result": {"roots": []}})
    assert learnt[-1] == ()


def test_a_host_of_the_new_era_is_asked_in_the_answer() -> None:
    """It makes the call again with its roots; they hold for a while, since it cannot tell of a change."""
    play, learnt = opened()
    able = {**MODERN, META + "clientCapabilities": {"roots": {}}}
    ((to, asked),) = [told for told in play.host(call(1, **able)) if told[0] == "host"]
    result = asked["result"]
    assert (to, result["resultType"]) == ("host", "input_required")
    ((key, question),) = result["inputRequests"].items()
    assert question == {"method": "roots/list"}
    again = call(2, **able)
    again["params"] |= {"inputResponses": {key: {"roots": ROOTS}}, "requestState": result["requestState"]}
    assert [is_call(told) for told in play.host(again)] == [True]
    assert [is_call(told) for told in play.host(call(3, **able))] == [True]
    assert learnt == [("file:///home/bo/shop",)]
    play.wait(KEPT_SECONDS + 1)
    ((_, later),) = play.host(call(4, **able))
    assert later["result"]["resultType"] == "input_required"
    unanswered = call(5, **able)
    unanswered["params"] |= {"inputResponses": {}, "requestState": result["requestState"]}
    assert [is_call(told) for told in play.host(unanswered)] == [True]
    assert learnt[-1] == ()


@pytest.mark.parametrize("what", ["host declares none", "nobody wants them", "other tool", "2026-07-28"])
def test_nobody_is_asked_without_a_reason(what: str) -> None:
    """A call that needs no roots, or a host that must not be asked, is served at once."""
    play, _ = opened(declares=what != "host declares none", wanted=what != "nobody wants them")
    name = "scratch_list" if what == "other tool" else "request_context"
    told = play.host(call(1, name, **(MODERN if what == "2026-07-28" else {})))
    assert [one for one in told if is_call(one, name)]
    assert not any(one[0] == "host" for one in told if isinstance(one, tuple) and not isinstance(one, CallOwn))


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32601, "message": "no"}},
        {"result": {}},
        {"result": {"roots": "x"}},
        {"result": {"roots": [1, {"uri": 3}]}},
    ],
)
def test_an_answer_without_roots_is_none(answer: dict[str, Any]) -> None:
    """Whatever a host says, its call is served."""
    play, learnt = opened()
    ((_, question),) = play.host(call(1))
    (told,) = play.host({"jsonrpc": "2.0", "id": question["id"], **answer})
    assert is_call(told)
    assert learnt == [()]


def test_a_silent_host_waits_a_few_seconds_once() -> None:
    """Then it counts as one without roots."""
    play, learnt = opened()
    play.host(call(1))
    assert play.proxy.next_deadline() == pytest.approx(play.now + SECONDS)
    assert play.wait(SECONDS - 0.1) == []
    (told,) = play.wait(0.2)
    assert is_call(told)
    assert learnt == [()]
    (second,) = play.host(call(2))
    assert is_call(second)


def test_a_call_given_up_while_the_host_is_asked_is_not_served() -> None:
    """Its answer would reach nobody."""
    play, _ = opened()
    ((_, question),) = play.host(call(1))
    play.host({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert play.host({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": ROOTS}}) == []
