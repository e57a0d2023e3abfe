"""Servers that die, hang, come late or cannot be started: every request is answered, and the next one works again."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from .host import MODERN_META, Host, fixture, in_place, proxied


@pytest.mark.parametrize("meta", [{}, MODERN_META], ids=["handshake", "modern"])
@pytest.mark.parametrize(("how", "said"), [({"code": 3}, "exited with code 3"), ({"signal": 9}, "SIGKILL")])
def test_a_call_whose_server_dies_says_so(tmp_path: Path, meta: dict, how: dict, said: str) -> None:
    """The calls in flight get results that are errors, other requests protocol errors; the next call restarts it."""
    with Host(in_place(tmp_path)) as host:
        if not meta:
            host.initialize()
        waiting = host.post("tools/call", {"name": "slow", "arguments": {"seconds": 30}, "_meta": meta})
        answer = host.call("crash", how, meta=meta)["result"]
        other = host.wait(waiting)["result"]
        for result in (answer, other):
            assert result["isError"]
            assert said in result["content"][0]["text"]
            assert result.get("resultType") == ("complete" if meta else None)
        again = host.text("pid", meta=meta)
        assert again["initializations"] == (0 if meta else 1)


def test_a_restarted_server_is_put_back_where_it_was(tmp_path: Path) -> None:
    """The host's own handshake, its log level and its subscriptions are repeated."""
    with Host(in_place(tmp_path)) as host:
        host.initialize({"roots": {"listChanged": True}})
        host.request("logging/setLevel", {"level": "info"})
        host.request("logging/setLevel", {"level": "error"})
        for uri in ("a", "b"):
            host.request("resources/subscribe", {"uri": f"fixture://fixture/{uri}"})
        host.request("resources/unsubscribe", {"uri": "fixture://fixture/a"})
        host.call("crash")
        seen = [json.loads(line) for line in host.text("received")]
        assert [m["method"] for m in seen[:2]] == ["initialize", "notifications/initialized"]
        assert seen[0]["params"]["capabilities"] == {"roots": {"listChanged": True}}
        assert host.text("levels") == ["error"]
        assert host.text("subscribed") == ["subscribe fixture://fixture/b"]


def test_a_question_of_a_dead_server_is_taken_back(tmp_path: Path) -> None:
    """The host is told that nobody waits for its user any more, and a late answer does no harm."""
    with Host(in_place(tmp_path)) as host:
        host.initialize()
        asking = host.post("tools/call", {"name": "elicit"})
        question = host.wait_other("elicitation/create")
        host.post("tools/call", {"name": "crash"})
        host.wait(asking)
        assert host.wait_other("notifications/cancelled")["params"]["requestId"] == question["id"]
        host.send({"id": question["id"], "result": {"action": "accept"}})
        assert host.text("echo", {"text": "alive"}) == "alive"


def test_a_server_that_crashes_at_start(tmp_path: Path) -> None:
    """`initialize` is answered with what happened; we stay."""
    with Host(in_place(tmp_path, "--crash-at-start=7")) as host:
        for _ in range(3):
            assert "exited with code 7" in host.initialize()["error"]["message"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [(["/no/such/command"], "'/no/such/command' was not found"), ([os.devnull], "Permission denied")],
)
def test_a_command_that_cannot_be_started(tmp_path: Path, argv: list[str], said: str) -> None:
    """The error names the command and the reason."""
    with Host(proxied(tmp_path, [{"name": "x", "argv": argv}], in_place=True)) as host:
        assert said in host.initialize()["error"]["message"]


def test_a_call_that_takes_too_long(tmp_path: Path) -> None:
    """It fails with the time that passed, and the server is told to stop."""
    with Host(in_place(tmp_path, spec={"timeout": 0.5})) as host:
        host.initialize()
        result = host.call("slow", {"seconds": 30})["result"]
        assert result["isError"]
        assert "did not answer within 0.5 s" in result["content"][0]["text"]
        assert len(host.text("cancelled")) == 1


def test_progress_gives_a_call_more_time_up_to_a_ceiling(tmp_path: Path) -> None:
    """Each sign of progress starts the time anew; the ceiling stays."""
    with Host(in_place(tmp_path, spec={"timeout": 1.0, "ceiling": 3.0})) as host:
        host.initialize()
        moving = host.call("progress", {"steps": 6, "delay": 0.3}, meta={"progressToken": 1})
        assert moving["result"]["content"][0]["text"] == "done"
        begun = time.monotonic()
        endless = host.call("progress", {"steps": 100, "delay": 0.3}, meta={"progressToken": 2})
        assert endless["result"]["isError"]
        assert 2.5 < time.monotonic() - begun < 10


def test_a_late_answer_is_dropped(tmp_path: Path) -> None:
    """An answer after its time reaches nobody, and its id is not confused with a new request's."""
    with Host(in_place(tmp_path, spec={"timeout": 0.4})) as host:
        host.initialize()
        line = '{"jsonrpc":"2.0","id":%d,"result":{"content":[],"late":true}}'
        ident = host.post("tools/call", {"name": "slow", "arguments": {"seconds": 30}})
        assert host.wait(ident)["result"]["isError"]
        host.call("raw_line", {"line": line % ident + '\n{"jsonrpc":"2.0","id":@ID@,"result":{}}'})
        host.next_id = ident - 1
        assert host.text("echo", {"text": "fresh"}) == "fresh"
        assert not host.unexpected()


def test_a_server_that_closes_its_output(tmp_path: Path) -> None:
    """A process that runs on without its output is no server any more."""
    script = "import os,sys,time\nfor line in sys.stdin: os.close(1); time.sleep(60)"
    with Host(proxied(tmp_path, [{"name": "x", "argv": [sys.executable, "-S", "-c", script]}], in_place=True)) as host:
        assert "closed its output" in host.initialize()["error"]["message"]


def test_a_server_that_leaves_while_its_child_keeps_the_pipe(tmp_path: Path) -> None:
    """The end of the process is seen although its output stays open; what it wrote last still arrives."""
    script = (
        "import subprocess,sys\nsys.stdin.readline()\n"
        "subprocess.Popen(['sleep','60'])\n"
        'print(\'{"jsonrpc":"2.0","method":"notifications/last"}\',flush=True)\nsys.exit(5)'
    )
    with Host(proxied(tmp_path, [{"name": "x", "argv": [sys.executable, "-S", "-c", script]}], in_place=True)) as host:
        assert "exited with code 5" in host.initialize()["error"]["message"]
        host.wait_other("notifications/last")


@pytest.mark.parametrize("whole", [True, False])
def test_a_server_that_dies_before_the_end_of_its_line(tmp_path: Path, whole: bool) -> None:
    """An answer that is whole all the same arrives; half of one is no answer, and its request hears of the end."""
    line = '{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"last"}}'
    script = f"import os,sys\nsys.stdin.readline()\nos.write(1,{line[: None if whole else -9].encode()!r})\nos._exit(5)"
    with Host(proxied(tmp_path, [{"name": "x", "argv": [sys.executable, "-S", "-c", script]}], in_place=True)) as host:
        said = host.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})["error"]["message"]
        assert ("exited with code 5" in said) is not whole


def test_one_dead_server_of_many_holds_up_nobody(tmp_path: Path) -> None:
    """It is left out, its tools stay known once seen, and the others work."""
    servers = [
        {"name": "good", "argv": fixture("--name=good")},
        {"name": "dead", "argv": fixture("--crash-at-start=1")},
        {"name": "gone", "argv": ["/no/such/command"]},
    ]
    with Host(proxied(tmp_path, servers)) as host:
        assert host.initialize()["result"]["serverInfo"]["name"] == "crp-mcp"
        assert "echo" in {tool["name"] for tool in host.request("tools/list")["result"]["tools"]}
        assert host.text("echo", {"text": "alive"}) == "alive"


def test_one_mute_server_of_many_holds_up_nobody_longer_than_its_timeout(tmp_path: Path) -> None:
    """The opening, the listing, and the call of a name that only it could own."""
    mute = {"name": "mute", "argv": [sys.executable, "-S", "-c", "import sys\nfor line in sys.stdin: pass"]}
    with Host(proxied(tmp_path, [{"name": "good", "argv": fixture()}, {**mute, "timeout": 1.0}])) as host:
        for ask in (
            host.initialize,
            lambda: host.request("tools/list"),
            lambda: host.request("tools/call", {"name": "no_such_tool"}),
        ):
            begun = time.monotonic()
            answer = ask()
            assert time.monotonic() - begun < 4
        assert answer["error"]["code"] == -32602
        assert host.text("echo", {"text": "alive"}) == "alive"
