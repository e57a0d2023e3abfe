"""In place: conversations with the core alone."""

from __future__ import annotations

import json

import pytest

from crp_mcp.core.wire.commands import CallOwn, CancelOwn, Capture, Close, Load, Log, Open, ToHost
from crp_mcp.core.wire.connecting import BACKOFF, LONGEST_HOLD, STEADY_SECONDS
from crp_mcp.core.wire.frame import Cut, Frame, parse_line, spooled_frame
from crp_mcp.core.wire.requests import LATE_SECONDS
from crp_mcp.core.wire.stream import LineScan

from .playbook import MODERN, Playbook, error, note, own_side, request, result


def greeted(play: Playbook) -> Playbook:
    play.host(request(0, "initialize", protocolVersion="2025-11-25", capabilities={}))
    play.server("s", result(0, protocolVersion="2025-11-25", capabilities={"tools": {}}))
    play.host(note("notifications/initialized"))
    return play


def spooled(line: bytes) -> Frame:
    scan = LineScan()
    scan.feed(line)
    scan.finish()
    frame = spooled_frame(scan, "the file", len(line), lambda start, end: line[start:end])
    assert isinstance(frame, Frame)
    return frame


def test_messages_pass_in_both_directions() -> None:
    """Requests, answers, notifications: the same messages, the same ids."""
    play = greeted(Playbook.in_place())
    ping, pong, event = request("a", "x/y", n=1), result("a", n=2), note("notifications/x")
    assert play.host(ping) == [("s", ping)]
    assert play.server("s", event) == [("host", event)]
    assert play.server("s", pong) == [("host", pong)]
    assert play.host(event) == [("s", event)]


def test_a_second_handshake_that_is_refused_leaves_the_first_one_standing() -> None:
    """The refusal is the host's, the server is tried in no other era, and greeted as before when it starts again."""
    play = greeted(Playbook.in_place())
    bad, ping = request(1, "initialize"), request("a", "ping")
    assert play.host(bad) == [("s", bad)]
    assert play.host(ping) == [("s", ping)]
    assert play.server("s", error(1, -32602)) == [("host", error(1, -32602))]
    assert play.server("s", result("a")) == [("host", result("a"))]
    play.closed("s")
    play.host(request(2, "ping"))
    ((_, hello),) = play.opened("s")
    assert (hello["method"], hello["params"]["protocolVersion"]) == ("initialize", "2025-11-25")


def test_a_result_is_captured_before_the_host_sees_it() -> None:
    """The capture is told everything of the call; None forwards what came, bytes replace it."""
    play = greeted(Playbook.in_place())
    call = request(1, "tools/call", name="t", arguments={"q": 1}, _meta={"dev.crp/raw": True})
    answer = result(1, content=[])
    for fresh, seen in ((None, answer), (b'{"content":[1]}', result(1, content=[1]))):
        assert play.host(call) == [("s", call)]
        (capture,) = play.server("s", answer)
        assert isinstance(capture, Capture)
        assert (capture.server, capture.tool, capture.arguments) == ("s", "t", b'{"q": 1}')
        assert (capture.meta, capture.modern, capture.definition) == (b'{"dev.crp/raw": true}', False, None)
        assert capture.result == b'{"content": []}'
        assert play.settled(capture.key, fresh) == [("host", seen)]


def test_what_is_no_finished_result_is_never_captured() -> None:
    """Errors, questions to the user, tasks of both eras."""
    play = greeted(Playbook.in_place())
    for answer in (
        error(1, -5),
        result(1, resultType="input_required", inputRequests={}),
        result(1, resultType="task", taskId="x"),
        result(1, resultType="something new"),
        result(1, task={"taskId": "x"}),
    ):
        play.host(request(1, "tools/call", name="t"))
        assert play.server("s", answer) == [("host", answer)]


def test_a_call_cancelled_while_its_result_is_captured_is_not_answered() -> None:
    """The capture goes on: the tool has run."""
    play = greeted(Playbook.in_place())
    play.host(request(1, "tools/call", name="t"))
    (capture,) = play.server("s", result(1, content=[]))
    assert play.host(note("notifications/cancelled", requestId=1)) == []
    assert play.settled(capture.key, None) == []


def test_cancelling_our_own_tool() -> None:
    """It is told to stop, and whatever it still says is dropped."""
    play = greeted(Playbook.in_place(own_side(["mine"])))
    (call,) = play.host(request(1, "tools/call", name="mine"))
    assert isinstance(call, CallOwn)
    assert play.host(note("notifications/cancelled", requestId=1)) == [CancelOwn(call.key)]
    assert play.settled(call.key, b"{}") == []


def test_an_upstream_tool_with_the_name_of_ours_gets_the_prefix() -> None:
    """Both stay callable."""
    play = greeted(Playbook.in_place(own_side(["mine"])))
    play.host(request(1, "tools/list"))
    ((_, listed),) = play.server("s", result(1, tools=[{"name": "mine", "x": 1}, {"name": "theirs"}]))
    assert [tool["name"] for tool in listed["result"]["tools"]] == ["s_mine", "theirs", "mine"]
    assert play.host(request(2, "tools/call", name="s_mine")) == [("s", request(2, "tools/call", name="mine"))]
    assert isinstance(play.host(request(3, "tools/call", name="mine"))[0], CallOwn)


def test_output_schemas_go_only_where_a_summary_may_come() -> None:
    """The rest of the definition keeps its members."""
    play = greeted(Playbook.in_place(own_side(may_replace=lambda server, tool, definition: tool == "a")))
    play.host(request(1, "tools/list"))
    tools = [{"name": name, "outputSchema": {}, "_meta": {"k": 1}} for name in "ab"]
    ((_, listed),) = play.server("s", result(1, tools=[*tools, {"no": "name"}, 5]))
    assert listed["result"]["tools"] == [{"name": "a", "_meta": {"k": 1}}, tools[1], {"no": "name"}, 5]


def test_ours_are_listed_where_the_server_has_no_tools() -> None:
    """Without asking it where it said so, after its refusal where it did not."""
    play = Playbook.in_place(own_side(["mine"]))
    play.host(request(1, "tools/list"))
    assert play.server("s", error(1, -32601)) == [("host", result(1, tools=[{"name": "mine"}]))]
    play.host(request(2, "tools/list"))
    assert play.server("s", error(2, -32000)) == [("host", error(2, -32000))]
    play.host(request(3, "initialize"))
    ((_, opened),) = play.server("s", result(3, capabilities={"prompts": {}}))
    assert opened["result"]["capabilities"] == {"prompts": {}, "tools": {}}
    assert play.host(request(4, "tools/list")) == [("host", result(4, tools=[{"name": "mine"}]))]


@pytest.mark.parametrize("modern", [True, False])
@pytest.mark.parametrize("many", [True, False])
def test_what_we_have_told_of_is_there_in_a_server_that_knows_nothing_of_it(modern: bool, many: bool) -> None:
    """Resources and completions are ours alone then: lists are empty, other names are not found, none is unknown."""
    own = own_side(["mine"], ["scratch://{id}"])
    play = Playbook.aggregate("s", own=own) if many else Playbook.in_place(own)
    if modern:
        ((_, probe),) = play.host(request(0, "server/discover", _meta=MODERN))
        play.server("s", result(probe["id"], resultType="complete", supportedVersions=["2026-07-28"], capabilities={}))
    else:
        ((_, hello),) = play.host(request(0, "initialize", protocolVersion="2025-11-25", capabilities={}))
        play.server("s", result(hello["id"], protocolVersion="2025-11-25", capabilities={}))
        play.host(note("notifications/initialized"))

    def asked(method: str, **params: object) -> dict:
        said = play.host(request(1, method, **params, **({"_meta": MODERN} if modern else {})))
        while said[0][0] == "s":
            said = play.server("s", error(said[0][1]["id"], -32601))
        return said[0][1]

    assert asked("resources/list")["result"]["resources"] == []
    assert len(asked("resources/templates/list")["result"]["resourceTemplates"]) == 1
    assert asked("resources/read", uri="x://y")["error"]["code"] == (-32602 if modern else -32002)
    completed = asked("completion/complete", ref={"type": "ref/prompt", "name": "p"})["result"]
    assert (completed["completion"]["values"], completed.get("resultType")) == ([], "complete" if modern else None)
    assert asked("prompts/list").get("result", {"prompts": []})["prompts"] == []


def test_a_modern_host_that_never_asked_what_there_is() -> None:
    """The list of resources that `server/discover` would have told of is there all the same."""
    play = Playbook.in_place(own_side(["mine"], ["scratch://{id}"]))
    ((_, probe),) = play.host(request(1, "resources/list", _meta=MODERN))
    said = play.server("s", result(probe["id"], supportedVersions=["2026-07-28"], capabilities={}))
    ((_, answer),) = play.server("s", error(said[0][1]["id"], -32601))
    assert answer["result"]["resources"] == []


def test_a_restart_repeats_the_handshake_before_anything_else() -> None:
    """What waits is sent once the server is ready again."""
    play = greeted(Playbook.in_place())
    play.host(request(1, "logging/setLevel", level="debug"))
    play.server("s", result(1))
    play.closed("s")
    call = request(2, "tools/call", name="t")
    assert play.host(call) == [Open("s", 0.0)]
    ((_, hello),) = play.opened("s")
    assert (hello["method"], hello["params"]["protocolVersion"]) == ("initialize", "2025-11-25")
    sent = play.server("s", result(hello["id"]))
    assert [m.get("method") for _, m in sent] == ["notifications/initialized", "logging/setLevel", "tools/call"]
    assert sent[-1] == ("s", call)
    assert sent[1][1]["params"] == {"level": "debug"}


def test_a_restart_repeats_no_subscription_that_was_given_up() -> None:
    """However the two requests were spelled."""
    play = greeted(Playbook.in_place())
    for ident, method, extra in ((1, "subscribe", {"_meta": {"progressToken": 1}}), (2, "unsubscribe", {})):
        play.host(request(ident, f"resources/{method}", uri="x://y", **extra))
        play.server("s", result(ident))
    play.closed("s")
    play.host(request(3, "x/y"))
    ((_, hello),) = play.opened("s")
    assert [message["method"] for _, message in play.server("s", result(hello["id"]))] == [
        "notifications/initialized",
        "x/y",
    ]


def test_a_restart_that_fails_answers_what_waits() -> None:
    """By an error of the server's own, or by ending again."""
    play = greeted(Playbook.in_place())
    play.closed("s")
    play.host(request(1, "x"))
    ((_, hello),) = play.opened("s")
    said = play.server("s", error(hello["id"], -1, "not today"))
    assert said[0] == Close("s")
    assert "did not complete the handshake" in said[1][1]["error"]["message"]
    play.host(request(2, "x"))
    ((_, failed),) = play.closed("s", "could not be started: gone")
    assert failed["id"] == 2
    assert "gone" in failed["error"]["message"]


def test_a_server_that_keeps_failing_rests_longer_each_time() -> None:
    """The first restart is at once; past the longest hold requests fail at once; a good run begins anew."""
    play = Playbook.in_place()
    play.closed("s")
    delays = []
    for _ in BACKOFF:
        (opening, *_) = play.host(request(1, "x"))
        if not isinstance(opening, Open):
            assert "keeps failing" in opening[1]["error"]["message"]
            break
        delays.append(opening.delay)
        play.closed("s")
    assert delays == [seconds for seconds in BACKOFF if seconds <= LONGEST_HOLD]
    play.now += BACKOFF[-1]
    assert play.host(request(2, "x")) == [Open("s", 0.0)]
    play.opened("s")
    play.now += STEADY_SECONDS
    play.closed("s")
    assert play.host(request(3, "x")) == [Open("s", 0.0)]


def test_time_limits() -> None:
    """Idle time, progress, the ceiling; the server is told, and a late answer is dropped."""
    play = greeted(Playbook.in_place(idle=10, ceiling=25))
    play.host(request(1, "tools/call", name="t", _meta={"progressToken": "p"}))
    for _ in range(3):
        assert play.wait(8) == []
        play.server("s", note("notifications/progress", progressToken="p", progress=1))
    (cancelled, answer) = play.wait(2)
    assert cancelled == ("s", note("notifications/cancelled", requestId=1, reason="timed out"))
    assert answer[1]["result"]["isError"]
    assert play.server("s", result(1, content=[])) == []


def test_the_clock_stands_while_the_user_is_asked() -> None:
    """A question may lie open for long; its answer gives the call its time anew."""
    play = greeted(Playbook.in_place(idle=10, ceiling=100))
    play.host(request(1, "tools/call", name="t"))
    play.server("s", request(9, "elicitation/create"))
    assert play.wait(60) == []
    play.host(result(9, action="accept"))
    assert play.wait(9) == []
    assert len(play.wait(2)) == 2


def test_tokens_of_one_value_are_one_token() -> None:
    """Progress counts whatever way the server spells the token."""
    play = greeted(Playbook.in_place(idle=10))
    play.host(b'{"id":1,"method":"x","params":{"_meta":{"progressToken":"\\u0061\\/"}}}')
    play.wait(6)
    play.server("s", note("notifications/progress", progressToken="a/"))
    assert play.wait(6) == []


def test_an_id_is_not_used_twice_at_once() -> None:
    """Neither while a request is under way, nor while its late answer may still come."""
    play = greeted(Playbook.in_place(idle=10))
    play.host(request(1, "x"))
    ((_, second),) = play.host(request(1, "y"))
    assert second["id"] != 1
    assert play.server("s", result(second["id"], y=1)) == [("host", result(1, y=1))]
    play.wait(10)
    ((_, third),) = play.host(request(1, "z"))
    assert third["id"] != 1
    assert play.server("s", result(1, late=True)) == []
    assert play.server("s", result(third["id"])) == [("host", result(1))]
    play.host(request(1, "w"))
    play.wait(10)
    play.wait(LATE_SECONDS)
    assert play.host(request(1, "v")) == [("s", request(1, "v"))]


def test_ids_of_one_value_are_one_id() -> None:
    """A server may spell the id in its own way."""
    play = greeted(Playbook.in_place())
    for sent, back in ((b'"\\u0061b"', b'"ab"'), (b'"\\/"', b'"/"')):
        play.host(b'{"id":%b,"method":"x"}' % sent)
        ((_, answer),) = play.server("s", b'{"id":%b,"result":{}}' % back)
        assert answer["result"] == {}


@pytest.mark.parametrize("ident", [b"9007199254740993", b"-9007199254740992", b"1.0", b"1e3", b"1.5", b"9" * 40])
def test_an_id_that_a_server_may_change_is_kept_from_it(ident: bytes) -> None:
    """Servers hold numbers as doubles: such a request goes under a text, and its answer under the very id."""
    play = greeted(Playbook.in_place())
    ((_, asked),) = play.host(b'{"jsonrpc":"2.0","id":%b,"method":"x"}' % ident)
    assert isinstance(asked["id"], str)
    back = parse_line(b'{"jsonrpc":"2.0","id":%b,"result":{}}' % json.dumps(asked["id"]).encode())
    sent = [one for one in play.proxy.from_server("s", back, play.now) if isinstance(one, ToHost)]
    assert b'"id":' + ident + b"," in b"".join(bytes(piece) for piece in sent[0].pieces)  # type: ignore[arg-type]


def test_a_listening_stream_has_no_time_limit() -> None:
    """It ends when one side wants it to."""
    play = Playbook.in_place(idle=10, era="2026-07-28")
    play.host(request(1, "subscriptions/listen", _meta=MODERN, notifications={}))
    assert play.wait(10**9) == []
    assert play.server("s", result(1)) == [("host", result(1))]


def test_an_answer_that_nobody_asked_for_goes_nowhere() -> None:
    """From the host and from the server; both are logged."""
    play = greeted(Playbook.in_place())
    assert play.host(result(5)) == []
    assert play.server("s", result(6)) == []
    assert {log.event for log in play.logs} == {"host_answer_unexpected", "answer_unexpected"}


def test_a_long_result_is_captured_and_forwarded_from_where_it_lies() -> None:
    """Nothing of it is loaded; only the members that must change are replaced."""
    play = greeted(Playbook.in_place())
    play.host(request(1, "tools/call", name="t"))
    line = b'{"result":{"content":[],"_meta":{"dev.crp/x":1,"y":2}},"id":1}'
    (capture,) = play.shown(play.proxy.from_server("s", spooled(line), 0.0))
    assert capture.result == Cut("the file", 10, 54)
    (sent,) = play.proxy.settled(capture.key, None, 0.0)
    assert sent.pieces == (Cut("the file", 0, 32), b'{"y":2}', Cut("the file", 53, len(line)))


def test_a_long_listing_is_loaded_first() -> None:
    """It must be changed, so it has to be seen whole."""
    play = greeted(Playbook.in_place(own_side(["mine"])))
    play.host(request(1, "tools/list"))
    line = b'{"id":1,"result":{"tools":[{"name":"a"}]}}'
    (load,) = play.shown(play.proxy.from_server("s", spooled(line), 0.0))
    assert isinstance(load, Load)
    ((_, listed),) = play.server("s", line)
    assert [tool["name"] for tool in listed["result"]["tools"]] == ["a", "mine"]


@pytest.mark.parametrize("sender", ["", "s"])
def test_a_long_message_is_loaded_where_what_decides_is_long_too(sender: str) -> None:
    """Its `_meta` says which era it is of, and may hold what only we may write; an error's data as well."""
    play = greeted(Playbook.in_place())
    play.host(request(1, "tools/call", name="t"))
    meta = {"dev.crp/x": 1, "y": "z" * 20_000}
    for inner in ({"params": {"_meta": meta}, "method": "x/y"}, {"result": {"_meta": meta}}, {"error": {"code": 1}}):
        line = json.dumps({"id": 1, **inner}).encode()
        if ("method" in inner) == (sender == ""):
            feed = play.proxy.from_host if sender == "" else lambda frame, now: play.proxy.from_server("s", frame, now)
            assert [(type(one), one.server) for one in play.shown(feed(spooled(line), 0.0))] == [(Load, sender)]


def test_odd_parameters_do_no_harm() -> None:
    """They are the server's to refuse."""
    play = greeted(Playbook.in_place(own_side(["mine"], ["scratch://{id}"])))
    for params in (
        b"[]",
        b'"x"',
        b"5",
        b'{"name":5,"_meta":7,"arguments":[]}',
        b'{"_meta":{"progressToken":{}}}',
        b"{}",
    ):
        for method in (b"tools/call", b"resources/read", b"completion/complete", b"tools/list", b"initialize"):
            sent = play.host(b'{"id":1,"method":"%b","params":%b}' % (method, params))
            assert [to for to, _ in sent] == ["s"]
            while sent[0][0] == "s":
                # A server that refuses the handshake is asked whether it knows the newer protocol.
                sent = play.server("s", error(sent[0][1]["id"], -32602))
            assert sent[0][1]["error"]["code"] == -32602


def test_chatter_on_standard_output_is_logged_ever_more_seldom() -> None:
    """A server that prints without end must not fill the host's log; what it answers in between is still read."""
    play = greeted(Playbook.in_place())
    logged = []
    for _ in range(3_000):
        logged += [one for one in play.proxy.from_server("s", parse_line(b"y"), 0.0) if isinstance(one, Log)]
    assert 10 <= len(logged) < 40
    assert logged[-1].fields["times"] == 2048
    play.host(request(1, "tools/list"))
    assert play.server("s", result(1, tools=[]))
