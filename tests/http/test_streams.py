"""Event streams of handshake clients: what comes on which, what comes again, and clients that read slowly."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from crp_mcp.mcp.http.stream import KEPT_BYTES, Keep, Stream
from crp_mcp.mcp.spool import Spool
from tests.http.support import Front, fixture, headers_of, initialize, messages

ASK = {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}


def call(tool: str, arguments: object = None, ident: object = 5, **params: object) -> dict:
    return {"id": ident, "method": "tools/call", "params": {"name": tool, "arguments": arguments or {}, **params}}


def test_a_soon_answer_is_plain_json(front: Front) -> None:
    """Nothing came before it, so there is no need for events."""
    answer = front.session().post(call("echo", {"text": "x"}))
    assert answer.headers["content-type"] == "application/json"
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_events_carry_ids_and_the_first_is_empty(front: Front) -> None:
    """A client of the latest handshake revision is given an id to come back with before anything happens."""
    session = front.session()
    with session.stream(call("progress", {"steps": 2}, _meta={"progressToken": 1})) as events:
        assert events.response.headers["mcp-session-id"] == session.id
        assert events.response.headers["cache-control"] == "no-cache, no-transform"
        found = list(events)
    assert (found[0]["data"], found[0]["retry"]) == ("", "1000")
    assert all(event["id"] for event in found)
    assert len({event["id"] for event in found}) == len(found) == 4
    assert json.loads(found[-1]["data"])["id"] == 5


def test_clients_of_older_revisions_get_no_empty_event(front: Front) -> None:
    """They would not understand it."""
    opened = front.post(initialize(version="2025-06-18"))
    headers = {"mcp_session_id": opened.headers["mcp-session-id"], "mcp_protocol_version": "2025-06-18"}
    message = {"jsonrpc": "2.0", **call("progress", {"steps": 1}, _meta={"progressToken": 1})}
    text = front.post(message, **headers).text
    assert "data: \n" not in text
    assert text.startswith("event: message\nid: ")


@pytest.mark.parametrize(
    ("tool", "method", "reply"),
    [
        ("elicit", "elicitation/create", {"result": {"action": "accept", "content": {"who": "me"}}}),
        (
            "sample",
            "sampling/createMessage",
            {"result": {"role": "assistant", "content": {"type": "text", "text": "y"}}},
        ),
        ("roots", "roots/list", {"result": {"roots": [{"uri": "file:///x"}]}}),
        ("elicit", "elicitation/create", {"error": {"code": -1, "message": "no", "data": [1]}}),
    ],
)
def test_a_servers_question_comes_on_the_stream_of_its_call(front: Front, tool: str, method: str, reply: dict) -> None:
    """The client answers it with a POST of its own, and the call goes on."""
    session = front.session(ASK)
    with session.stream(call(tool)) as events:
        question = events.message()
        assert question["method"] == method
        assert session.post({"id": question["id"], **reply}).status_code == 202
        answer = events.message()
    said = json.loads(answer["result"]["content"][0]["text"])
    assert {key: said[key] for key in reply} == reply


def test_what_belongs_to_no_request_comes_on_the_get_stream(front: Front) -> None:
    """A change of the tools is told there, also when it happened before the stream was opened."""
    session = front.session()
    assert session.text("grow", {"tool": "early"}) == "grown"
    with session.stream() as events:
        assert events.message()["method"] == "notifications/tools/list_changed"
        assert session.text("grow", {"tool": "late"}) == "grown"
        assert events.message()["method"] == "notifications/tools/list_changed"


def test_log_messages_come_on_the_stream_of_the_call(front: Front) -> None:
    """They are sent before the answer, on the same response, as they came."""
    found = messages(front.session().post(call("burst", {"count": 2})))
    assert [one["method"] for one in found[:-1]] == ["notifications/message"] * 2
    assert found[-1]["id"] == 5


def test_a_broken_stream_is_taken_up_again_where_it_broke(front: Front) -> None:
    """A GET with the last id that was read brings the rest, the answer included, and only that."""
    session = front.session()
    message = call("progress", {"steps": 20, "delay": 0.02}, _meta={"progressToken": "p"})
    with session.stream(message) as events:
        events.next()
        seen = [events.next() for _ in range(3)]
    with session.stream(last_event_id=seen[-1]["id"]) as events:
        rest = [json.loads(event["data"]) for event in events if event["data"]]
    steps = [json.loads(event["data"])["params"]["progress"] for event in seen]
    steps += [one["params"]["progress"] for one in rest[:-1]]
    assert steps == list(range(20))
    assert rest[-1]["result"]["content"][0]["text"] == "done"


def test_a_finished_stream_is_read_again_from_any_of_its_ids(front: Front) -> None:
    """The connection may break after the answer was sent and before it arrived."""
    session = front.session()
    with session.stream(call("progress", {"steps": 3}, _meta={"progressToken": "p"})) as events:
        found = list(events)
    with session.stream(last_event_id=found[2]["id"]) as events:
        again = [event for event in events if event["data"]]
    assert [event["data"] for event in again] == [event["data"] for event in found[3:]]


def test_an_event_id_of_nothing_is_refused(front: Front) -> None:
    """400, with what to do; another session's ids are no better."""
    one, other = front.session(), front.session()
    with one.stream(call("progress", {"steps": 1}, _meta={"progressToken": "p"})) as events:
        last = list(events)[-1]["id"]
    for session, ident in ((one, "x"), (one, "r99-1"), (one, "g-x"), (other, last.replace("r", "r9"))):
        headers = {"accept": "text/event-stream", "mcp-session-id": session.id, "last-event-id": ident}
        assert front.client.get("/mcp", headers=headers).status_code == 400


def test_a_call_goes_on_when_its_client_has_left(front: Front) -> None:
    """In these revisions a broken connection cancels nothing."""
    session = front.session()
    with session.stream(call("progress", {"steps": 10, "delay": 0.02}, _meta={"progressToken": "p"})) as events:
        last = [events.next() for _ in range(2)][-1]
    with session.stream(last_event_id=last["id"]) as events:
        assert [json.loads(event["data"]) for event in events if event["data"]][-1]["id"] == 5
    assert not session.text("cancelled")


def test_a_cancelled_call_ends_with_an_error(front: Front) -> None:
    """The client names its own id; its stream does not stay open, and the server is told."""
    session = front.session()
    with session.stream(
        call("progress", {"steps": 1000, "delay": 0.05}, "mine", _meta={"progressToken": "p"})
    ) as events:
        events.message()
        note = {"method": "notifications/cancelled", "params": {"requestId": "mine", "reason": "enough"}}
        assert session.post(note).status_code == 202
        last = [json.loads(event["data"]) for event in events if event["data"]][-1]
    assert (last["id"], last["error"]["code"]) == ("mine", -32800)
    assert len(session.text("cancelled")) <= 1


def test_requests_with_equal_ids_get_their_own_answers(front: Front) -> None:
    """Also within one session."""
    session = front.session()

    def ask(n: int) -> bool:
        answer = session.call("echo", {"text": f"n{n}"}, ident="same")
        return answer["id"] == "same" and answer["result"]["content"][0]["text"] == f"n{n}"

    with ThreadPoolExecutor(20) as pool:
        assert all(pool.map(ask, range(200)))


def test_the_newest_get_stream_gets_the_messages(front: Front) -> None:
    """Each message is sent once; when the newest is gone, the one before it takes over."""
    session = front.session()
    with session.stream() as older:
        with session.stream() as newer:
            newer.next()
            session.text("grow", {"tool": "a"})
            assert newer.message()["method"] == "notifications/tools/list_changed"
        front.wait_log("http", method="GET")
        session.text("grow", {"tool": "b"})
        assert older.message()["method"] == "notifications/tools/list_changed"


@pytest.mark.parametrize("form", ["text", "structured"])
@pytest.mark.parametrize("order", ["id-first", "result-first"])
def test_large_results_arrive_whole(tmp_path, form: str, order: str) -> None:
    """8 MB, as JSON and as an event, whatever the order of the message's members."""
    with Front(tmp_path / "store", "--no-tools", "--", *fixture(f"--order={order}")) as front:
        session = front.session()
        arguments = {"bytes": 8_000_000, "form": form}
        raw = {"dev.crp/raw": True}
        plain = messages(session.post(call("sized", arguments, "big", _meta=raw)))[-1]
        assert plain["id"] == "big"
        assert len(plain["result"]["content"][0]["text"]) > 7_000_000
        modern = front.modern("tools/call", {"name": "sized", "arguments": arguments}, meta=raw)
        assert messages(modern)[-1]["result"]["content"] == plain["result"]["content"]


def test_a_large_result_after_a_notification_is_one_event(front: Front) -> None:
    """An event has no limit of ours; it is read back word for word."""
    session = front.session()
    line = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n'
    line += '{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"' + "x" * 3_000_000 + '"}]},"id":@ID@}'
    found = messages(session.post(call("raw_line", {"line": line}, _meta={"dev.crp/raw": True})))
    assert found[0]["method"] == "notifications/message"
    assert len(found[1]["result"]["content"][0]["text"]) == 3_000_000


def test_a_slow_reader_holds_up_nobody_else(front: Front) -> None:
    """While one client does not read its large answer, another one's calls pass, in the same session too."""
    session, other = front.session(), front.session()
    arguments = {"bytes": 40_000_000}
    with session.stream(call("sized", arguments, _meta={"dev.crp/raw": True})) as events:
        assert events.response.status_code == 200
        for n in range(20):
            assert other.text("echo", {"text": f"o{n}"}) == f"o{n}"
            assert session.text("echo", {"text": f"s{n}"}) == f"s{n}"
        size = sum(len(chunk) for chunk in events.response.iter_raw())
    assert size > 40_000_000


def test_an_event_that_broke_off_in_the_middle_comes_again(front: Front) -> None:
    """A large answer that was only begun is sent whole to the client that comes back."""
    session = front.session()
    line = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n'
    line += '{"jsonrpc":"2.0","id":@ID@,"result":{"content":[{"type":"text","text":"' + "y" * 3_000_000 + '"}]}}'
    message = call("raw_line", {"line": line}, _meta={"dev.crp/raw": True})
    with session.stream(message) as events:
        raw = events.response.iter_raw()
        seen = b""
        while seen.count(b"\nid: ") + seen.startswith(b"id: ") < 2:
            seen += next(raw)
    first = next(line for line in seen.decode().splitlines() if line.startswith("id: ") and not line.endswith("-0"))
    with session.stream(last_event_id=first.removeprefix("id: ")) as events:
        answer = events.message()
    assert len(answer["result"]["content"][0]["text"]) == 3_000_000


@pytest.mark.parametrize(("size", "kept"), [(10, 500), (1_000, 262), (900_000, 18), (20_000_000, 0)])
def test_answers_that_nobody_comes_back_for_do_not_pile_up(tmp_path, size: int, kept: int) -> None:
    """The latest can still be had; what is large waits on disk, and memory holds little of all."""
    spool = Spool(tmp_path)
    keep = Keep(spool, lambda: 0.0)
    streams: list[Stream] = []
    for n in range(600 if size < 10_000 else 25):
        streams.append(Stream(f"r{n}"))
        streams[-1].put((b"x" * size,), last=True)
        for gone in keep.too_much(streams):
            streams.remove(gone)
    assert [stream.name for stream in streams] == [f"r{at}" for at in range(n + 1 - kept, n + 1)]
    assert sum(stream.queued for stream in streams) <= KEPT_BYTES
    spool.close()


def test_an_answer_that_cannot_be_asked_for_is_let_go(tmp_path) -> None:
    """A client that left before it was told of its stream cannot come back for it."""
    with Front(tmp_path / "store", "--", *fixture()) as front:
        session = front.session()
        body = json.dumps({"jsonrpc": "2.0", **call("progress", {"steps": 5, "delay": 0.02})}).encode()
        head = {"host": "localhost", "content-length": str(len(body)), **headers_of(session.headers)}
        lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
        with socket.create_connection((front.client.base_url.host, front.client.base_url.port or 0)) as left:
            left.sendall("\r\n".join(lines).encode() + body)
        assert session.text("echo", {"text": "and the call goes on"})
        with session.stream(last_event_id="r2-0") as events:
            assert events.response.status_code == 400
