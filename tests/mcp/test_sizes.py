"""P5: messages of any size, in both directions, in time proportional to their size and without filling memory."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .host import MODERN_META, Host, fixture, in_place, proxied

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with Host(in_place(tmp_path_factory.mktemp("sizes"), replace=10**9)) as host:
        host.initialize()
        yield host


def resident(pid: int, key: str = "VmHWM") -> int:
    """Peak memory of a process, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise KeyError(key)


@pytest.mark.parametrize("size", [1, 65_535, 65_536, MIB - 60, MIB, MIB + 1, 5 * MIB, 16 * MIB + 3])
def test_results_of_every_size(host: Host, size: int) -> None:
    """Around each buffer's edge, the text arrives whole."""
    text = host.text("sized", {"bytes": size})
    assert len(str(text)) == size


@pytest.mark.parametrize("size", [65_536, MIB, 3 * MIB, 18 * MIB])
def test_arguments_of_every_size(host: Host, size: int) -> None:
    """A long request reaches its server, also when it is too long for memory."""
    assert len(host.text("echo", {"text": "é" * (size // 2)})) == size // 2


def test_a_long_listing(tmp_path: Path) -> None:
    """A `tools/list` of many megabytes is read, changed where it must be, and arrives."""
    with Host(in_place(tmp_path, own=True, replace=1)) as host:
        host.initialize()
        host.call("grow", {"tool": "x" * 2 * MIB})
        names = [tool["name"] for tool in host.request("tools/list")["result"]["tools"]]
        assert len(names[-3]) == 2 * MIB
        assert names[-2:] == ["scratch_get", "scratch_list"]


def test_a_long_message_with_a_long_meta(tmp_path: Path) -> None:
    """Where the message is too long for memory, it is still one of its era, and arrives whole."""
    with Host(in_place(tmp_path)) as host:
        meta = {**MODERN_META, "x.y/z": "m" * 20_000}
        answer = host.call("echo", {"text": "t" * 2 * MIB}, meta)["result"]
        assert len(answer["content"][0]["text"]) == 2 * MIB
        assert answer["resultType"] == "complete"


@pytest.mark.parametrize("order", ["id-first", "result-first"])
def test_a_long_result_where_the_id_stands_elsewhere(tmp_path: Path, order: str) -> None:
    """The id may stand behind the result, and must be given back as it came where names were changed."""
    servers = [{"name": name, "argv": fixture(f"--name={name}", f"--order={order}")} for name in ("a", "b")]
    with Host(proxied(tmp_path, servers)) as host:
        host.initialize()
        assert len(host.text("b_sized", {"bytes": 4 * MIB})) == 4 * MIB


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_long_results_do_not_fill_memory(host: Host) -> None:
    """A hundred megabytes pass with a few of memory, whether the host reads at once or not."""
    before = resident(host.process.pid)
    line = host.wait_line(host.post("tools/call", {"name": "sized", "arguments": {"bytes": 100 * MIB}}), 60)
    assert len(line) > 100 * MIB
    assert resident(host.process.pid) - before < 16 * MIB


def test_a_server_that_takes_nothing_holds_up_nobody_else(tmp_path: Path) -> None:
    """What is sent to it waits on disk beyond a limit; the other servers' calls pass, and it gets all once it reads."""
    with Host(
        proxied(tmp_path, [{"name": "a", "argv": fixture("--name=a")}, {"name": "b", "argv": fixture()}])
    ) as host:
        host.initialize()
        pid = host.text("a_pid")["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            texts = [f"{n}" + "x" * 900_000 for n in range(80)]
            calls = [host.post("tools/call", {"name": "a_echo", "arguments": {"text": text}}) for text in texts]
            assert host.text("b_echo", {"text": "alive"}) == "alive"
        finally:
            os.kill(pid, signal.SIGCONT)
        for ident, text in zip(calls, texts, strict=True):
            assert host.wait(ident)["result"]["content"][0]["text"] == text


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_a_host_that_does_not_read(tmp_path: Path) -> None:
    """Floods of small messages wait in their pipes, not in our memory."""
    import subprocess

    command = in_place(tmp_path)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin
    assert process.stdout
    params = b'{"name":"burst","arguments":{"count":200,"bytes":500000}}'
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}\n' % params)
    end = time.monotonic() + 2
    while time.monotonic() < end:
        assert resident(process.pid) < 100 * MIB
        time.sleep(0.05)
    with os.fdopen(os.dup(process.stdout.fileno()), "rb", buffering=MIB) as lines:
        while b'"id"' not in lines.readline()[:60]:
            pass
    process.stdin.close()
    assert process.wait(20) == 0
    process.stdout.close()


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_our_work_grows_with_size_and_no_faster(host: Host) -> None:
    """Five times the bytes cost us about five times the processor time (wall time would measure the others too)."""

    def seconds(size: int) -> float:
        begun = processor_seconds(host.process.pid)
        host.wait_line(host.post("tools/call", {"name": "sized", "arguments": {"bytes": size}}), 60)
        return processor_seconds(host.process.pid) - begun

    small = min(seconds(20 * MIB) for _ in range(2))
    assert min(seconds(100 * MIB) for _ in range(2)) < 7 * small + 0.1


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_long_result_holds_up_nobody_else(tmp_path: Path) -> None:
    """While one server's hundred megabytes come in, another's calls are answered."""
    servers = [{"name": name, "argv": fixture(f"--name={name}")} for name in ("big", "small")]
    with Host(proxied(tmp_path, servers, replace=1000)) as host:
        host.initialize()
        host.request("tools/list")
        flood = host.post("tools/call", {"name": "big_sized", "arguments": {"bytes": 100 * MIB}})
        waits = []
        while not host.unexpected():
            begun = time.perf_counter()
            host.text("small_echo", {"text": "quick"})
            waits.append(time.perf_counter() - begun)
        assert "summary of" in host.wait(flood)["result"]["content"][0]["text"]
        assert len(waits) > 5
        assert sorted(waits)[len(waits) * 9 // 10] < 0.5
