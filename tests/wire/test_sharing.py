"""One connection for several hosts: everybody gets their own answers, and nobody those of others."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.wire.frame import Frame, parse_line
from crp_mcp.core.wire.sharing import Renamed, Sharing, Step, ToMember, ToShared

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def frame(**message: Any) -> Frame:
    read = parse_line(json.dumps({"jsonrpc": "2.0", **message}).encode())
    assert isinstance(read, Frame)
    return read


def seen(step: Step) -> Any:
    pieces = step.pieces if isinstance(step, ToShared) else step.message.forward()  # type: ignore[union-attr]
    return json.loads(b"".join(pieces))  # type: ignore[arg-type]


class Line:
    """A `Sharing` with two members; messages are given and seen as Python values."""

    def __init__(self, members: int = 2) -> None:
        self.core = Sharing()
        for member in range(1, members + 1):
            self.core.join(member)

    def says(self, member: int, **message: Any) -> list[Any]:
        return [seen(step) for step in self.core.from_member(member, frame(**message))]

    def server(self, **message: Any) -> list[tuple[int, Any]]:
        steps = self.core.from_server(frame(**message))
        return [(step.member if isinstance(step, ToMember) else 0, seen(step)) for step in steps]


def test_equal_ids_and_tokens_of_two_hosts_are_told_apart() -> None:
    """Each gets its own answer and progress, under the id and token it gave."""
    line = Line()
    params = {"name": "t", "_meta": {"progressToken": 7, "x": 1}}
    first, second = (line.says(member, id=1, method="tools/call", params=params)[0] for member in (1, 2))
    assert first["id"] != second["id"]
    assert first["params"]["_meta"] == {"progressToken": first["id"], "x": 1}
    progress = {"progressToken": second["id"], "progress": 1}
    assert line.server(method="notifications/progress", params=progress) == [
        (2, {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 7, "progress": 1}})
    ]
    assert line.server(id=second["id"], result={"n": 2}) == [(2, {"jsonrpc": "2.0", "id": 1, "result": {"n": 2}})]
    assert line.server(id=first["id"], result={"n": 1}) == [(1, {"jsonrpc": "2.0", "id": 1, "result": {"n": 1}})]
    assert line.server(id=first["id"], result={}) == []


def test_the_server_is_greeted_once() -> None:
    """Who comes while the handshake is on its way, or after it, has the same answer; it is completed once."""
    line = Line(3)
    [sent] = line.says(1, id="a", method="initialize", params={"protocolVersion": "2025-11-25"})
    assert line.says(2, id="b", method="initialize", params={}) == []
    answer = {"protocolVersion": "2025-11-25", "capabilities": {}}
    assert [(member, said["id"]) for member, said in line.server(id=sent["id"], result=answer)] == [(1, "a"), (2, "b")]
    assert line.says(3, id="c", method="initialize", params={}) == [{"jsonrpc": "2.0", "id": "c", "result": answer}]
    assert len(line.says(1, method="notifications/initialized")) == 1
    assert line.says(2, method="notifications/initialized") == []


def test_a_question_reaches_the_host_whose_call_is_the_only_one_in_flight() -> None:
    """With two calls in flight, or none, nobody is asked and the server is told."""
    line = Line()
    question = {"id": 5, "method": "elicitation/create", "params": {}}
    assert "error" in line.server(**question)[0][1]
    [call] = line.says(2, id=1, method="tools/call", params={"name": "t"})
    assert line.server(**question)[0][0] == 2
    assert line.says(2, id=5, result={"action": "accept"}) == [
        {"jsonrpc": "2.0", "id": 5, "result": {"action": "accept"}}
    ]
    line.says(1, id=1, method="tools/call", params={"name": "t"})
    [(to, said)] = line.server(id=6, method="elicitation/create", params={})
    assert to == 0
    assert "not known whose host" in said["error"]["message"]
    assert line.server(id=call["id"], result={})[0][0] == 2


def test_logs_go_to_the_only_caller_and_changes_to_everybody() -> None:
    """A log line may speak of one host's data."""
    line = Line()
    log = {"method": "notifications/message", "params": {"level": "info", "data": "x"}}
    assert line.server(**log) == []
    line.says(1, id=1, method="tools/call", params={"name": "t"})
    assert [member for member, _ in line.server(**log)] == [1]
    assert [member for member, _ in line.server(method="notifications/tools/list_changed")] == [1, 2]


def test_an_updated_resource_is_told_to_those_who_subscribed_and_given_up_with_the_last() -> None:
    """Another host's subscription outlives one's own."""
    line = Line()
    for member in (1, 2):
        assert len(line.says(member, id=1, method="resources/subscribe", params={"uri": "a:b"})) == 1
    updated = {"method": "notifications/resources/updated", "params": {"uri": "a:b"}}
    assert [member for member, _ in line.server(**updated)] == [1, 2]
    assert line.says(1, id=2, method="resources/unsubscribe", params={"uri": "a:b"}) == [
        {"jsonrpc": "2.0", "id": 2, "result": {}}
    ]
    assert [member for member, _ in line.server(**updated)] == [2]
    [gone] = [seen(step) for step in line.core.leave(2) if "unsubscribe" in str(seen(step))]
    assert gone["params"] == {"uri": "a:b"}


def test_a_stream_of_the_new_era_has_the_id_its_host_knows() -> None:
    """Events name the request that opened the stream."""
    line = Line()
    listening = {"method": "subscriptions/listen", "params": {"notifications": {}}}
    streams = [line.says(member, id=9, **listening)[0]["id"] for member in (1, 2)]
    event = {"method": "notifications/tools/list_changed", "params": {"_meta": {SUBSCRIPTION: streams[1]}}}
    [(member, said)] = line.server(**event)
    assert (member, said["params"]["_meta"][SUBSCRIPTION]) == (2, 9)
    [cancelled] = line.says(1, method="notifications/cancelled", params={"requestId": 9})
    assert cancelled["params"]["requestId"] == streams[0]


def test_who_leaves_is_taken_back_and_answered_for() -> None:
    """Calls are cancelled, open questions end in an error, late answers go nowhere."""
    line = Line()
    [call] = line.says(1, id=1, method="tools/call", params={"name": "t"})
    line.server(id=5, method="sampling/createMessage", params={})
    left = [seen(step) for step in line.core.leave(1)]
    assert {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call["id"]}} in left
    assert any(said.get("id") == 5 and "error" in said for said in left)
    assert line.server(id=call["id"], result={}) == []


def test_an_answer_under_its_hosts_id_is_forwarded_under_it_and_can_have_another() -> None:
    """The bytes that came carry the connection's own id; they never leave so."""
    came = frame(id="shared-1", result={"id": "shared-1"})
    mine = Renamed(came, b"42")
    assert json.loads(b"".join(mine.forward())) == {"jsonrpc": "2.0", "id": 42, "result": {"id": "shared-1"}}  # type: ignore[arg-type]
    assert json.loads(b"".join(mine.forward([mine.with_id(b'"z"')])))["id"] == "z"  # type: ignore[arg-type]


@given(st.integers(0, 2**32), st.integers(2, 5))
def test_every_call_is_answered_once_to_its_caller(seed: int, members: int) -> None:
    """Whatever the order in which hosts ask and the server answers."""
    chance, line = random.Random(seed), Line(members)
    open_calls: dict[Any, tuple[int, int]] = {}
    asked = answered = 0
    for _ in range(60):
        if open_calls and chance.random() < 0.5:
            wire_id = chance.choice(list(open_calls))
            member, number = open_calls.pop(wire_id)
            [(to, said)] = line.server(id=wire_id, result={"for": [member, number]})
            assert (to, said["id"], said["result"]) == (member, number, {"for": [member, number]})
            answered += 1
        else:
            member, number = chance.randint(1, members), chance.randint(1, 3)
            if (member, number) in open_calls.values():
                continue
            [sent] = line.says(member, id=number, method="tools/call", params={"name": "t"})
            open_calls[sent["id"]] = (member, number)
            asked += 1
    assert answered + len(open_calls) == asked
