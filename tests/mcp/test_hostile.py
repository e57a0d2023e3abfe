"""Any frame whatever, from either side: the proxy lives, and whoever waits gets an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .host import Host, in_place

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with Host(in_place(tmp_path_factory.mktemp("hostile"))) as host:
        host.initialize()
        yield host


def answer_line(text: str) -> str:
    return '{"jsonrpc":"2.0","id":@ID@,"result":%s}' % text  # noqa: UP031


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (answer_line("NaN"), "cannot be read"),
        (answer_line('{"content":[{"type":"text","text":"tr'), "cannot be read"),
        (answer_line('{"a":tru}'), "cannot be read"),
        (answer_line('{"a":"\x01"}'), "cannot be read"),
        (answer_line("[" * 100_000 + "]" * 100_000), "cannot be read"),
        (answer_line('{"a":' * 300 + "1" + "}" * 300), "cannot be read"),
        ('{"result":{"content":[}],"jsonrpc":"2.0","id":@ID@}', "cannot be read"),
        ('{"jsonrpc":"2.0","id":@ID@}', "cannot be read"),
        ('{"jsonrpc":"2.0","id":@ID@,"result":' + '"x' * MIB, "cannot be read"),
    ],
)
def test_an_answer_that_is_no_json_fails_its_call_at_once(host: Host, line: str, reason: str) -> None:
    """The call it was meant for gets an error that says so; the connection goes on."""
    result = host.call("raw_line", {"line": line})["result"]
    assert result["isError"]
    assert reason in result["content"][0]["text"]
    assert host.text("echo", {"text": "alive"}) == "alive"


def test_a_lone_surrogate_does_not_leave_the_host_waiting(host: Host) -> None:
    """Strict readers refuse it and wait for ever; it stands for no character, so U+FFFD takes its place."""
    line = answer_line('{"content":[{"type":"text","text":"a\\ud800b \\ud83d\\ude00 \\\\ud800"}]}')
    result = host.call("raw_line", {"line": line})["result"]
    assert result["content"][0]["text"] == "a\ufffdb 😀 \\ud800"


def test_bytes_that_are_not_utf8_arrive_replaced(host: Host) -> None:
    """The message is not lost for one bad byte."""
    line = answer_line('{"content":[{"type":"text","text":"caf?"}]}').encode().replace(b"?", b"\xe9")
    assert host.call("raw_line", {"hex": line.hex()})["result"]["content"][0]["text"] == "caf\ufffd"


@pytest.mark.parametrize(
    "line",
    [
        "Server ready on stdio!",
        "",
        "   ",
        '{"level":"info"}',
        "[]",
        "[1,2]",
        "{",
        '{"jsonrpc":"2.0","result":{}',
        '{"jsonrpc":"2.0","error":{"code":1}',
        '{"jsonrpc":"2.0","id":"never asked","result":tru}',
        '{"jsonrpc":"2.0","method":17}',
        "\x00\x1b[2J",
    ],
)
def test_noise_of_a_server_does_no_harm(host: Host, line: str) -> None:
    """Stray prints and nonsense between messages are dropped; the answer behind them arrives."""
    good = answer_line('{"content":[]}')
    assert host.call("raw_line", {"line": line + "\n" + good})["result"] == {"content": []}


STRAYS = [
    '{"jsonrpc":"2.0","id":"@ID@","result":{"content":[]}}',
    '{"jsonrpc":"2.0","id":"never asked","result":{}}',
    '{"jsonrpc":"2.0","result":{"content":[]}}',
    '{"jsonrpc":"2.0","error":{"code":-32603,"message":"?"}}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}',
    '{"jsonrpc":"2.0","id":{"a":1},"result":{}}',
    '{"jsonrpc":"2.0","id":true,"error":{"code":-32603,"message":"?"}}',
    '[{"jsonrpc":"2.0","id":987654321,"result":{}}]',
    '{"jsonrpc":"2.0","result":{"content":["' + "x" * 2 * MIB + '"]}}',
]


@pytest.mark.parametrize("line", STRAYS)
def test_an_answer_with_an_id_of_nobody_ends_the_only_call(host: Host, line: str) -> None:
    """It can only be that call's. The call gets an error at once that says so; the connection goes on."""
    assert host.text("echo", {"text": "nothing else is asked"})
    result = host.call("raw_line", {"line": line})["result"]
    assert result["isError"]
    assert "sent an answer whose id is that of no request" in result["content"][0]["text"]
    assert host.text("echo", {"text": "alive"}) == "alive"
    assert not host.unexpected()


@pytest.mark.parametrize("line", STRAYS)
def test_an_answer_with_an_id_of_nobody_among_many_calls_is_dropped(host: Host, line: str) -> None:
    """Nobody knows whose it is; the calls get their own answers."""
    slow = host.post("tools/call", {"name": "slow", "arguments": {"seconds": 0.3}})
    good = answer_line('{"content":[]}')
    assert host.call("raw_line", {"line": line + "\n" + good})["result"] == {"content": []}
    assert not host.wait(slow)["result"].get("isError")


def test_white_space_of_a_server_is_no_fault(host: Host) -> None:
    """Megabytes of it between the tokens of an answer."""
    good = answer_line('{"content":[]}')
    for part in (":", ",", "{", "}"):
        line = good.replace(part, part + " " * 3 * MIB, 1) if part != "}" else good[:-1] + " " * 3 * MIB + "}"
        assert host.call("raw_line", {"line": line})["result"] == {"content": []}


def test_a_batch_of_a_server_is_taken_apart(host: Host) -> None:
    """Protocol 2025-03-26 allowed batches; their messages arrive one by one."""
    note = '{"jsonrpc":"2.0","method":"notifications/x-batched"}'
    assert host.call("raw_line", {"line": f"[{note},{answer_line('{}')}]"})["result"] == {}
    host.wait_other("notifications/x-batched")


def test_line_ends_chunks_and_blank_lines(host: Host) -> None:
    """CRLF, empty lines, and a message that comes in many pieces."""
    assert host.call("raw_line", {"line": answer_line("{}"), "end": "\r\n\r\n\n"})["result"] == {}
    message = b'{"jsonrpc":"2.0","id":"slow one","method":"ping"}\r\n'
    for byte in message:
        host.write(bytes([byte]))
    assert host.wait("slow one")["result"] == {}


@pytest.mark.parametrize(
    ("line", "code", "ident"),
    [
        (b"hello", -32700, None),
        (b'{"jsonrpc":"2.0","id":"k1","method":"ping"', -32700, "k1"),
        (b'{"jsonrpc":"2.0","method":"ping","params":{"n":NaN},"id":71}', -32700, 71),
        (b"[]", -32600, None),
        (b"17", -32700, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":72,"method":{}}', -32600, 72),
        (b'{"jsonrpc":"2.0","id":73}', -32600, 73),
        (b'{"jsonrpc":"2.0","id":74,"method":"ping","params":' + b"[" * 5000 + b"]" * 5000 + b"}", -32600, 74),
        (b'{"jsonrpc":"2.0","id":75,"method":"ping","params":"' + b"x" * 2 * MIB + b'}', -32700, 75),
    ],
)  # fmt: skip
def test_what_the_host_gets_for_nonsense(host: Host, line: bytes, code: int, ident: object) -> None:
    """An error with the right code, and with the id where one can be made out."""
    host.write(line + b"\n")
    assert host.wait(ident)["error"]["code"] == code
    assert host.text("echo", {"text": "alive"}) == "alive"


def test_a_batch_of_the_host_is_taken_apart(host: Host) -> None:
    """Each request of it is answered by itself."""
    batch = [{"jsonrpc": "2.0", "id": f"b{n}", "method": "ping"} for n in range(3)]
    host.write(json.dumps(batch).encode() + b"\n")
    assert [host.wait(f"b{n}")["result"] for n in range(3)] == [{}, {}, {}]


def test_an_unreadable_answer_of_the_host_reaches_the_server_as_an_error(host: Host) -> None:
    """The server does not wait for ever for what cannot be read."""

    def mangled(message: dict) -> None:
        host.write(b'{"jsonrpc":"2.0","id":%d,"result":{"a":}}\n' % message["id"])

    host.replies["elicitation/create"] = mangled
    assert host.text("elicit")["error"]["code"] == -32603


FRAMES = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.builds(
        lambda top, cut: json.dumps(top).encode()[: cut or None],
        st.dictionaries(
            st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]),
            st.recursive(
                st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
                lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
                max_leaves=6,
            ),
        ),
        st.integers(0, 60),
    ),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frame=FRAMES, fragment=st.integers(1, 50))
def test_any_frame_from_the_host(host: Host, frame: bytes, fragment: int) -> None:
    """After anything at all, an honest request is answered."""
    frame = frame.replace(b"\n", b" ") + b"\n"
    for start in range(0, len(frame), fragment):
        host.write(frame[start : start + fragment])
    assert host.text("echo", {"text": "alive"}) == "alive"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frame=FRAMES)
def test_any_frame_from_a_server(host: Host, frame: bytes) -> None:
    """Whatever a server writes, its next good answer arrives."""
    good = answer_line('{"content":[]}').encode()
    ident = host.post("tools/call", {"name": "raw_line", "arguments": {"hex": (frame + b"\n" + good).hex()}})
    while "error" not in (answer := host.wait(ident)) and answer["result"] != {"content": []}:
        # The frame happened to be an answer to this very call.
        assert "result" in answer
        break
    assert host.text("echo", {"text": "alive"}) == "alive"
