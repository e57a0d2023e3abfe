"""Servers that could not be asked, as one over HTTP without a login: nothing is concluded, and the host is told why."""

from __future__ import annotations

import json

import pytest

from crp_mcp.core.wire.commands import Close, Open

from .playbook import MODERN, Playbook, own_side, request, result

AWAY = {"dev.crp/http": {"status": 401, "wwwAuthenticate": "Bearer x", "reached": False}}
SECRET = own_side()._replace(secret=lambda: b"k" * 32)


def refusal(ident: object, code: int = -32000, data: object = AWAY) -> dict:
    text = "The MCP server 's' wants a login (HTTP 401)."
    return {"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": text, "data": data}}


def told(said: list) -> dict:
    """The one error the host got."""
    (answer,) = [message for to, message in [one for one in said if type(one) is tuple] if to == "host"]
    return answer["error"]


def asked(play: Playbook, said: list) -> tuple[object, str]:
    """What the server is asked, after its connection was opened again if it has to be."""
    if any(isinstance(one, Open) for one in said):
        said = play.opened("s")
    ((_, message),) = [one for one in said if type(one) is tuple and one[0] == "s"]
    return message["id"], message["method"]


def test_a_probe_that_was_turned_away_says_nothing_of_the_era() -> None:
    """The host's request fails with the reason, data and all; the next one probes again."""
    play = Playbook.in_place(SECRET)
    for number in range(8):
        ident, method = asked(play, play.host(request(number, "tools/list", _meta=MODERN)))
        assert method == "server/discover"
        said = play.server("s", refusal(ident))
        assert any(isinstance(one, Close) for one in said)
        assert told(said) == refusal(number)["error"]
        play.wait(1.0)
    ident, _ = asked(play, play.host(request(9, "tools/list", _meta=MODERN)))
    ((_, sent),) = play.server("s", result(ident, supportedVersions=["2026-07-28"], capabilities={}))
    assert (sent["method"], sent["id"]) == ("tools/list", 9)


def test_a_hosts_own_probe_that_was_turned_away() -> None:
    """It is passed back, and the next request is not bridged for it."""
    play = Playbook.in_place(SECRET)
    ident, _ = asked(play, play.host(request(1, "server/discover", _meta=MODERN)))
    assert told(play.server("s", refusal(ident)))["data"] == AWAY
    assert asked(play, play.host(request(2, "tools/list", _meta=MODERN)))[1] == "server/discover"


def test_a_handshake_that_was_turned_away_is_not_tried_in_the_other_era() -> None:
    """The host gets the error of its `initialize`, and nothing else is sent."""
    play = Playbook.in_place(SECRET)
    ident, _ = asked(play, play.host(request(1, "initialize", protocolVersion="2025-11-25", capabilities={})))
    said = play.server("s", refusal(ident))
    assert told(said)["data"] == AWAY
    assert len(said) == 1


def test_a_greeting_of_ours_that_was_turned_away() -> None:
    """Among many servers, and where we bridge: whoever waits is told why."""
    play = Playbook.in_place(SECRET, era="handshake")
    ident, method = asked(play, play.host(request(1, "tools/list", _meta=MODERN)))
    assert method == "initialize"
    assert told(play.server("s", refusal(ident))) == refusal(1)["error"]
    assert asked(play, play.host(request(2, "tools/list", _meta=MODERN)))[1] == "initialize"


@pytest.mark.parametrize(
    ("code", "data"),
    [
        (-32022, {"supported": ["2026-07-28"], "requested": "x"}),
        (-32021, {"requiredCapabilities": {}}),
        (-32020, None),
    ],
)
def test_an_error_of_the_modern_era_is_an_answer_of_it(code: int, data: object) -> None:
    """The server speaks 2026-07-28: it is not greeted."""
    play = Playbook.in_place(SECRET)
    ident, _ = asked(play, play.host(request(1, "tools/list", _meta=MODERN)))
    ((_, sent),) = play.server("s", refusal(ident, code, data))
    assert sent["method"] == "tools/list"


@pytest.mark.parametrize(
    ("code", "data"),
    [
        (-32601, None),
        (-32601, {"dev.crp/http": {"status": 404}}),
        (-32022, {"supported": ["2025-11-25"]}),
        (-32000, "dev.crp/http"),
        (-32000, {"dev.crp/http": 1}),
    ],
)
def test_any_other_error_is_that_of_a_server_of_the_handshake(code: int, data: object) -> None:
    """It is greeted."""
    play = Playbook.in_place(SECRET)
    ident, _ = asked(play, play.host(request(1, "tools/list", _meta=MODERN)))
    ((_, sent),) = play.server("s", json.loads(json.dumps(refusal(ident, code, data))))
    assert sent["method"] == "initialize"
