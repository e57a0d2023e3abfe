"""Many servers as one: conversations with the core alone."""

from __future__ import annotations

import json

import pytest

from crp_mcp.core.wire.commands import CallOwn, Capture, Close, Open
from crp_mcp.core.wire.opening import caching, union
from crp_mcp.core.wire.reception import OPENING_SECONDS, PROBE_SECONDS

from .playbook import META, MODERN, Playbook, error, note, own_side, request, result


def greeted(play: Playbook, *names: str) -> Playbook:
    hellos = play.host(request(0, "initialize", protocolVersion="2025-06-18", capabilities={"roots": {}}))
    for name, hello in hellos:
        assert hello["params"] == {"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}}
        play.server(name, result(hello["id"], capabilities={"tools": {}}, instructions=f"of {name}"))
    play.host(note("notifications/initialized"))
    return play


def test_the_host_is_answered_when_all_have_answered() -> None:
    """With the union of what they can do, every server's instructions, and ours."""
    play = Playbook.aggregate("a", "b", own=own_side(["mine"], ["scratch://{id}"], said="Ours."))
    (_, one), (_, two) = play.host(request("h", "initialize", protocolVersion="2025-06-18"))
    capabilities = {"tools": {}, "resources": {"subscribe": True}, "logging": {}}
    assert play.server("a", result(one["id"], capabilities=capabilities, instructions="A.")) == []
    ((_, opened),) = play.server("b", result(two["id"], capabilities={"resources": {"subscribe": False}}))
    assert opened["id"] == "h"
    assert opened["result"] == {
        "protocolVersion": "2025-06-18",
        "capabilities": {
            "tools": {"listChanged": True},
            "resources": {"subscribe": True},
            "logging": {},
            "completions": {},
        },
        "serverInfo": {"name": "crp-mcp", "version": "0"},
        "instructions": "# a\nA.\n\nOurs.",
    }
    assert [m["method"] for _, m in play.host(note("notifications/initialized"))] == ["notifications/initialized"] * 2


def test_an_unknown_version_is_answered_with_the_latest() -> None:
    """As the handshake asks for."""
    play = Playbook.aggregate()
    ((_, opened),) = play.host(request(0, "initialize", protocolVersion="1999-01-01"))
    assert opened["result"]["protocolVersion"] == "2025-11-25"


def test_a_server_that_comes_late_is_announced() -> None:
    """The host does not wait for it for ever, and is told to list again when it is there."""
    play = Playbook.aggregate("a", "late")
    (_, one), (_, two) = play.host(request(0, "initialize"))
    play.server("a", result(one["id"], capabilities={"tools": {}}))
    assert play.wait(OPENING_SECONDS - 1) == []
    ((to, opened),) = play.wait(1)
    assert (to, opened["id"]) == ("host", 0)
    play.host(note("notifications/initialized"))
    said = play.server("late", result(two["id"], capabilities={"tools": {}, "prompts": {}}))
    assert [m["method"] for to, m in said if to == "late"] == ["notifications/initialized"]
    assert {m["method"] for to, m in said if to == "host"} == {
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
    }


def test_servers_that_fail_to_open_are_left_out() -> None:
    """One refuses, one ends, one is not there: the host is answered with the rest."""
    play = Playbook.aggregate("a", "refuses", "ends")
    hellos = dict(play.host(request(0, "initialize")))
    ((_, asked),) = play.server("refuses", error(hellos["refuses"]["id"], -32022, "newer only"))
    assert asked["method"] == "server/discover"
    assert play.server("refuses", error(asked["id"], -32601))[0] == Close("refuses")
    play.closed("ends")
    ((_, opened),) = play.server("a", result(hellos["a"]["id"], capabilities={"tools": {}}))
    assert opened["result"]["capabilities"] == {"tools": {"listChanged": True}}
    assert {log.fields["server"] for log in play.logs if log.event == "server_left_out"} == {"refuses", "ends"}


def test_a_host_that_forgets_to_say_initialized() -> None:
    """Its first request starts the sessions."""
    play = Playbook.aggregate("a")
    ((_, hello),) = play.host(request(0, "initialize"))
    play.server("a", result(hello["id"], capabilities={"tools": {}}))
    assert [m["method"] for _, m in play.host(request(1, "tools/list"))] == ["notifications/initialized", "tools/list"]


def test_pages_are_followed_until_one_repeats() -> None:
    """A cursor that was there before ends the listing."""
    play = greeted(Playbook.aggregate("a"))
    ((_, asked),) = play.host(request(1, "tools/list", cursor="of the host", _meta={"progressToken": 1, "k": 2}))
    assert asked["params"] == {"_meta": {"k": 2}}
    for cursor in ("p1", "p2"):
        ((_, asked),) = play.server("a", result(asked["id"], tools=[{"name": f"t_{cursor}"}], nextCursor=cursor))
        assert asked["params"]["cursor"] == cursor
    ((_, listed),) = play.server("a", result(asked["id"], tools=[{"name": "last"}], nextCursor="p1"))
    assert listed["result"] == {"tools": [{"name": "last"}, {"name": "t_p1"}, {"name": "t_p2"}]}


def test_the_tools_of_a_server_that_fails_stay_known() -> None:
    """So that the list does not change with every crash, and a call starts it again."""
    play = greeted(Playbook.aggregate("a"))
    ((_, asked),) = play.host(request(1, "tools/list"))
    play.server("a", result(asked["id"], tools=[{"name": "t"}]))
    play.closed("a")
    assert play.host(request(2, "tools/list")) == [Open("a", 0.0)]
    ((_, listed),) = play.closed("a", "could not be started")
    assert listed["result"]["tools"] == [{"name": "t"}]


def test_a_call_before_any_listing() -> None:
    """The servers are asked first; then it goes where it belongs, under the server's own name."""
    play = greeted(Playbook.aggregate("a", "b"))
    asked = dict(play.host(request(1, "tools/call", name="b_t", arguments={})))
    play.server("a", result(asked["a"]["id"], tools=[{"name": "t"}]))
    ((to, call),) = play.server("b", result(asked["b"]["id"], tools=[{"name": "t"}]))
    assert (to, call["params"]) == ("b", {"name": "t", "arguments": {}})
    (capture,) = play.server("b", result(call["id"], content=[]))
    assert isinstance(capture, Capture)
    assert (capture.server, capture.tool, capture.definition) == ("b", "t", {"name": "t"})
    assert play.settled(capture.key, None) == [("host", result(1, content=[]))]
    assert play.host(request(2, "tools/call", name="nobody"))[0][1]["error"]["code"] == -32602


def test_a_listing_cancelled_by_the_host() -> None:
    """Every server that was asked is told; late answers change nothing."""
    play = greeted(Playbook.aggregate("a", "b"))
    asked = dict(play.host(request(1, "tools/list")))
    told = dict(play.host(note("notifications/cancelled", requestId=1)))
    assert {name: m["params"]["requestId"] for name, m in told.items()} == {n: m["id"] for n, m in asked.items()}
    assert play.server("a", result(asked["a"]["id"], tools=[])) == []


def test_ask_around_until_one_has_it() -> None:
    """The next is asked after an error that says so; another error is the answer."""
    play = greeted(Playbook.aggregate("a", "b", "c"))
    for name in ("a", "b", "c"):
        play.proxy._reception._info[name]["capabilities"] = {"resources": {}}  # type: ignore[attr-defined]
    ((to, asked),) = play.host(request(1, "resources/read", uri="x://y"))
    assert to == "a"
    ((to, asked),) = play.server("a", error(asked["id"], -32002))
    assert to == "b"
    ((to, asked),) = play.closed("b")
    assert to == "c"
    ((to, answer),) = play.server("c", error(asked["id"], -32000, "mine, but broken"))
    assert (to, answer["error"]["message"]) == ("host", "mine, but broken")


def test_tasks_belong_to_who_began_them() -> None:
    """What is asked about a task goes to its server."""
    play = greeted(Playbook.aggregate("a", "b"))
    asked = dict(play.host(request(1, "tools/list")))
    for name in ("a", "b"):
        play.server(name, result(asked[name]["id"], tools=[{"name": f"of_{name}"}]))
    ((_, call),) = play.host(request(2, "tools/call", name="of_b"))
    assert play.server("b", result(call["id"], task={"taskId": "t7"})) == [("host", result(2, task={"taskId": "t7"}))]
    assert play.host(request(3, "tasks/get", taskId="t7"))[0][0] == "b"


def test_levels_and_subscriptions_go_to_all_or_one() -> None:
    """The level to whoever logs; a subscription to the resource's own server, and again after a restart."""
    play = greeted(Playbook.aggregate("a", "b"))
    for name in ("a", "b"):
        play.proxy._reception._info[name]["capabilities"] = {"logging": {}, "resources": {}}  # type: ignore[attr-defined]
    asked = dict(play.host(request(1, "logging/setLevel", level="info")))
    assert play.server("a", result(asked["a"]["id"])) == []
    assert play.server("b", error(asked["b"]["id"], -32601)) == [("host", result(1))]
    asked = dict(play.host(request(2, "resources/list")))
    play.server("a", result(asked["a"]["id"], resources=[{"uri": "x://a"}]))
    play.server("b", result(asked["b"]["id"], resources=[{"uri": "x://b"}, {"uri": "x://a"}]))
    ((to, _),) = play.host(request(3, "resources/subscribe", uri="x://b"))
    assert to == "b"
    play.closed("b")
    play.host(request(4, "tools/list"))
    ((_, hello),) = play.opened("b")
    sent = [m for _, m in play.server("b", result(hello["id"], capabilities={}))]
    assert [m["method"] for m in sent][:3] == ["notifications/initialized", "logging/setLevel", "resources/subscribe"]


def test_discovery_is_the_union() -> None:
    """And the host may keep it for the shortest time, in the narrowest scope."""
    play = Playbook.aggregate("a", "b", own=own_side(said="Ours."))
    asked = dict(play.host(request(1, "server/discover", _meta=MODERN)))
    assert asked["a"]["params"] == {"_meta": MODERN}
    play.server("a", result(asked["a"]["id"], capabilities={"tools": {}}, ttlMs=5, cacheScope="public"))
    ((_, found),) = play.server(
        "b", result(asked["b"]["id"], capabilities={"prompts": {}}, ttlMs=9, cacheScope="private")
    )
    assert found["result"] == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": True}, "prompts": {}},
        "ttlMs": 5,
        "cacheScope": "private",
        "_meta": {META + "serverInfo": {"name": "crp-mcp", "version": "0"}},
        "instructions": "Ours.",
    }


@pytest.mark.parametrize("how", ["refuses", "is silent"])
def test_servers_of_the_handshake_make_the_host_fall_back(how: str) -> None:
    """Where none speaks the newer protocol, the probe is refused in good time, and the host greets."""
    play = Playbook.aggregate("old", "older")
    asked = dict(play.host(request(1, "server/discover", _meta=MODERN)))
    play.server("old", error(asked["old"]["id"], -32601))
    said = play.server("older", error(asked["older"]["id"], -32601)) if how == "refuses" else play.wait(PROBE_SECONDS)
    (refusal,) = [m for to, m in said if to == "host"]
    assert refusal["error"]["code"] == -32601
    assert "old, older" in refusal["error"]["message"]
    commands = play.host(request(2, "initialize"))
    assert [(to, m["method"]) for to, m in commands] == [("old", "initialize"), ("older", "initialize")]


def test_servers_that_differ_are_bridged_where_they_must_be() -> None:
    """The older one is greeted in the host's name; the host sees them as one."""
    play = Playbook.aggregate("new", "old")
    asked = dict(play.host(request(1, "server/discover", _meta=MODERN)))
    play.server("new", result(asked["new"]["id"], capabilities={"tools": {}}, ttlMs=9, cacheScope="public"))
    said = dict(play.server("old", error(asked["old"]["id"], -32601)))
    assert said["old"]["method"] == "initialize"
    play.server("new", result(said["new"]["id"], capabilities={"tools": {}}, ttlMs=9, cacheScope="public"))
    *told, (to, found) = play.server("old", result(said["old"]["id"], capabilities={"tools": {}, "prompts": {}}))
    assert [m["method"] for _, m in told] == ["notifications/initialized"]
    assert (to, found["result"]["capabilities"]) == ("host", {"tools": {"listChanged": True}, "prompts": {}})
    assert (found["result"]["ttlMs"], found["result"]["cacheScope"]) == (9, "private")
    asked = dict(play.host(request(2, "tools/list", _meta=MODERN)))
    assert asked["new"]["params"]["_meta"] == MODERN
    assert asked["old"]["params"] == {}


def test_servers_kept_to_one_era() -> None:
    """Each is spoken to in its own, and bridged to where the host's is the other one."""
    play = Playbook.aggregate("a", "b", rules={"a": {"era": "2026-07-28"}, "b": {"era": "handshake"}})
    said = dict(play.host(request(1, "server/discover", _meta=MODERN)))
    assert {name: m["method"] for name, m in said.items()} == {"a": "server/discover", "b": "initialize"}
    play = Playbook.aggregate("a", "b", rules={"a": {"era": "2026-07-28"}, "b": {"era": "handshake"}})
    said = dict(play.host(request(1, "initialize", protocolVersion="2025-06-18", capabilities={})))
    assert {name: m["method"] for name, m in said.items()} == {"a": "server/discover", "b": "initialize"}


def test_modern_requests_need_no_discovery() -> None:
    """A client that knows the era begins with what it wants: the server is asked first whether it knows it too."""
    play = Playbook.aggregate("a", own=own_side(["mine"]))
    ((_, probe),) = play.host(request(1, "tools/list", _meta=MODERN))
    assert (probe["method"], probe["params"]) == ("server/discover", {"_meta": MODERN})
    ((_, asked),) = play.server("a", result(probe["id"], supportedVersions=["2026-07-28"], capabilities={}))
    ((_, listed),) = play.server("a", result(asked["id"], tools=[{"name": "t"}], ttlMs=3, cacheScope="public"))
    assert listed["result"]["tools"] == [{"name": "mine"}, {"name": "t"}]
    assert (listed["result"]["ttlMs"], listed["result"]["cacheScope"]) == (3, "public")
    (call,) = play.host(request(2, "tools/call", name="mine", _meta=MODERN))
    assert isinstance(call, CallOwn)
    assert call.modern


def test_streams_survive_a_restart() -> None:
    """The server's part is opened anew under the same id of the host's."""
    play = Playbook.aggregate("a", rules={"a": {"era": "2026-07-28"}})
    play.host(request(7, "subscriptions/listen", _meta=MODERN, notifications={"toolsListChanged": True}))
    play.closed("a")
    play.host(request(8, "tools/list", _meta=MODERN))
    sent = play.opened("a")
    again = next(m for _, m in sent if m["method"] == "subscriptions/listen")
    event = note("notifications/tools/list_changed", _meta={META + "subscriptionId": again["id"]})
    ((_, seen),) = play.server("a", event)
    assert seen["params"]["_meta"] == {META + "subscriptionId": 7}
    ((_, ended),) = play.server("a", result(again["id"], resultType="complete"))
    assert ended["id"] == 7


def test_progress_of_unknown_calls_is_not_passed() -> None:
    """One server cannot speak for another's call."""
    play = greeted(Playbook.aggregate("a", "b"))
    asked = dict(play.host(request(1, "tools/list")))
    for name in ("a", "b"):
        play.server(name, result(asked[name]["id"], tools=[{"name": f"of_{name}"}]))
    play.host(request(2, "tools/call", name="of_a", _meta={"progressToken": 5}))
    progress = note("notifications/progress", progressToken=5, progress=1)
    assert play.server("b", progress) == []
    assert play.server("a", progress) == [("host", progress)]


def test_unions() -> None:
    """Objects merge, flags add up, for the rest the first one stands; caching is the strictest of all."""
    assert union({"a": {"x": True}, "b": 1}, {"a": {"x": False, "y": {}}, "b": 2, "c": []}) == {
        "a": {"x": True, "y": {}}, "b": 1, "c": [],
    }  # fmt: skip
    assert caching([]) == {"ttlMs": 0, "cacheScope": "private"}
    assert caching([{"ttlMs": 5, "cacheScope": "public"}, {}]) == {"ttlMs": 0, "cacheScope": "private"}
    assert json.dumps(union({}, {"a": 2**70})) == json.dumps({"a": 2**70})


MUTE = {"mute": {"handshake": 3.0, "idle": 3.0}}


def with_a_mute_one(rules: dict | None = None) -> Playbook:
    """Greeted after the mute server's own time: the host has its answer, and the mute one is started anew if asked."""
    play = Playbook.aggregate("good", "mute", rules={"mute": {**MUTE["mute"], **(rules or {})}})
    hellos = dict(play.host(request(0, "initialize")))
    assert play.server("good", result(hellos["good"]["id"], capabilities={"tools": {}})) == []
    assert play.wait(2.9) == []
    (to, opened), closed = play.wait(0.1)
    assert (closed, to, opened["id"]) == (Close("mute"), "host", 0)
    play.host(note("notifications/initialized"))
    return play


def test_a_mute_server_holds_up_a_listing_for_its_own_time() -> None:
    """Its handshake has the server's timeout, the first and the one after a restart; so has a listing."""
    play = with_a_mute_one()
    (_, asked), reopened = play.host(request(1, "tools/list"))
    assert reopened == Open("mute", 0.0)
    assert [m["method"] for _, m in play.opened("mute")] == ["initialize"]
    assert play.server("good", result(asked["id"], tools=[{"name": "t"}])) == []
    assert play.host(request(3, "tools/call", name="t"))[0][0] == "good"
    assert play.wait(2.9) == []
    listed = [m for to, m in (said for said in play.wait(0.1) if type(said) is tuple) if to == "host"]
    assert [m["result"]["tools"] for m in listed] == [[{"name": "t"}]]
    assert play.host(request(2, "tools/call", name="t"))[0][0] == "good"


def test_a_server_that_greets_but_does_not_list() -> None:
    """Its own timeout counts for the listing, too."""
    play = greeted(Playbook.aggregate("good", "mute", rules=MUTE))
    asked = dict(play.host(request(1, "tools/list")))
    assert play.server("good", result(asked["good"]["id"], tools=[{"name": "t"}])) == []
    told, listed = sorted(play.wait(3.0), reverse=True)
    assert (told[0], told[1]["method"]) == ("mute", "notifications/cancelled")
    assert listed[1]["result"]["tools"] == [{"name": "t"}]


def test_without_a_timeout_the_handshake_has_a_minute() -> None:
    """The host is answered long before; the late server is announced if it comes."""
    play = Playbook.aggregate("good", "slow")
    hellos = dict(play.host(request(0, "initialize")))
    play.server("good", result(hellos["good"]["id"], capabilities={"tools": {}}))
    assert [to for to, _ in play.wait(OPENING_SECONDS)] == ["host"]
    assert play.wait(59.0 - OPENING_SECONDS) == []
    assert play.wait(1.0) == [Close("slow")]


@pytest.mark.parametrize(
    ("rules", "name"),
    [({"prefix": "m"}, "t"), ({"prefix": "m", "deny": ("secret*",)}, "m_secrets"), ({"allow": ("a*",)}, "b")],
)
def test_a_name_that_no_silent_server_could_own_is_unknown_at_once(rules: dict, name: str) -> None:
    """Its prefix and its rules say so; nobody is asked and nothing is started."""
    play = with_a_mute_one(rules)
    (_, asked), _ = play.host(request(1, "tools/list"))
    play.server("good", result(asked["id"], tools=[]))
    ((_, refusal),) = play.host(request(2, "tools/call", name=name))
    assert (refusal["id"], refusal["error"]["code"]) == (2, -32602)


def test_a_name_that_a_silent_server_may_own_waits_for_its_own_time() -> None:
    """Nobody else is asked again, and then it is unknown."""
    play = with_a_mute_one()
    (_, asked), _ = play.host(request(1, "tools/list"))
    play.server("good", result(asked["id"], tools=[]))
    play.closed("mute")
    assert play.host(request(2, "tools/call", name="t")) == [Open("mute", 0.5)]
    said = [m for to, m in (one for one in play.wait(3.0) if type(one) is tuple) if to == "host"]
    assert [(m["id"], m["error"]["code"]) for m in said] == [(2, -32602)]


def test_a_tool_that_was_added_is_called_without_a_listing() -> None:
    """A server said that it has others now; who learnt of one elsewhere can call it at once."""
    play = greeted(Playbook.aggregate("a", "b"))
    listing = play.host(request(1, "tools/list"))
    for to, asked in listing:
        play.server(to, result(asked["id"], tools=[{"name": f"{to}_old"}]))
    play.server("a", note("notifications/tools/list_changed"))
    ((to, asked),) = play.host(request(2, "tools/call", name="new"))
    assert (to, asked["method"]) == ("a", "tools/list")
    ((to, called),) = play.server("a", result(asked["id"], tools=[{"name": "a_old"}, {"name": "new"}]))
    assert (to, called["params"]["name"]) == ("a", "new")
    ((_, unknown),) = play.host(request(3, "tools/call", name="other"))
    assert unknown["error"]["code"] == -32602


def test_a_version_that_nobody_speaks_is_refused_with_those_that_are() -> None:
    """Also where we answer alone."""
    for play in (Playbook.aggregate("a"), Playbook.aggregate()):
        ((to, said),) = play.host(request(1, "tools/list", _meta={**MODERN, META + "protocolVersion": "2099-01-01"}))
        supported = {"supported": ["2026-07-28"], "requested": "2099-01-01"}
        assert (to, said["error"]["code"], said["error"]["data"]) == ("host", -32022, supported)
