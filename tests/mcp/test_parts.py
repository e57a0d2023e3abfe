"""The parts of the stdio transport by themselves: framing, pipes, spool, environment, commands, log."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.wire.frame import Cut, Frame, Malformed
from crp_mcp.errors import UpstreamError
from crp_mcp.mcp import framing, sources
from crp_mcp.mcp.framing import LineReader
from crp_mcp.mcp.sinks import open_sink
from crp_mcp.mcp.sources import open_source
from crp_mcp.mcp.spawn import child_environment, resolve_command, start_process
from crp_mcp.mcp.spec import UpstreamSpec, Ways
from crp_mcp.mcp.spool import Spool, sweep

LIMIT = framing.IN_MEMORY


@given(
    st.lists(st.sampled_from([b"", b"\r", b'{"id":1,"method":"a"}', b'{"id":2,"result":{}}\r', b"junk"]), max_size=8),
    st.lists(st.integers(1, 9), min_size=1, max_size=9),
)
def test_lines_are_the_same_however_they_are_cut(lines: list[bytes], sizes: list[int]) -> None:
    """Any chunking, line ends of both kinds, empty lines, a last line without an end."""
    data = b"\n".join(lines)
    whole = [*LineReader(Spool(Path("unused"))).feed(data)]
    reader, found, at = LineReader(Spool(Path("unused"))), [], 0
    while at < len(data):
        size = sizes[at % len(sizes)]
        found += reader.feed(data[at : at + size])
        at += size
    assert [repr_of(message) for message in found] == [repr_of(message) for message in whole]
    last = reader.finish()
    assert (last is None) == (not lines or not lines[-1].strip())


def repr_of(message: object) -> object:
    return (message.id, message.method, message.forward()) if isinstance(message, Frame) else message


@pytest.mark.parametrize("extra", [-1, 0, 1, 3 * LIMIT])
def test_long_lines_go_to_the_spool(tmp_path: Path, extra: int) -> None:
    """Above the limit the message is on disk, for its owner alone, and removed when nothing refers to it."""
    head, tail = b'{"id":1,"result":"', b'"}'
    line = head + b"x" * (LIMIT + extra - len(head) - len(tail)) + tail
    reader = LineReader(Spool(tmp_path))
    found = [message for start in range(0, len(line), 65536) for message in reader.feed(line[start : start + 65536])]
    found += reader.feed(b'\n{"id":2,"method":"next"}\n')
    assert [message.id for message in found if isinstance(message, Frame)] == [b"1", b"2"]
    assert found[0].spooled == (extra > 0)  # type: ignore[union-attr]
    files = list(tmp_path.iterdir())
    assert len(files) == (extra > 0)
    for file in files:
        assert file.stat().st_mode & 0o777 == 0o600
    del found
    assert not list(tmp_path.iterdir())


def test_a_long_broken_line_still_has_an_id(tmp_path: Path) -> None:
    """At its end, too, where many servers write it."""
    line = b'{"result":{"a":"' + b"x" * 2 * LIMIT + b'"]},"jsonrpc":"2.0","id":"k"}\n'
    (found,) = LineReader(Spool(tmp_path)).feed(line)
    assert isinstance(found, Malformed)
    assert found.ids == (b'"k"',)
    assert found.is_answer


TOKENS = (
    b"",
    b"{",
    b'"id"',
    b":",
    b"1",
    b",",
    b'"result"',
    b":",
    b"{",
    b'"content"',
    b":",
    b"[",
    b"]",
    b"}",
    b"}",
    b"",
)


@pytest.mark.parametrize("gap", range(len(TOKENS) - 1))
def test_white_space_between_tokens_is_no_fault(tmp_path: Path, gap: int) -> None:
    """However much there is, at every place where JSON allows it; none of it is held in memory."""
    space = (b" \t\r " * LIMIT)[: 3 * LIMIT]
    line = b"".join(TOKENS[: gap + 1]) + space + b"".join(TOKENS[gap + 1 :]) + b"\n"
    reader = LineReader(Spool(tmp_path))
    found = [message for start in range(0, len(line), 4096) for message in reader.feed(line[start : start + 4096])]
    (message,) = found
    assert isinstance(message, Frame)
    assert (message.id, message.method, message.spooled) == (b"1", None, True)
    assert (message.part("content") or b"").split() in ([b"[]"], [b"[", b"]"], [])
    assert "content" in message.inner


def test_a_long_blank_line_is_no_message(tmp_path: Path) -> None:
    """As a short one is none."""
    assert not [*LineReader(Spool(tmp_path)).feed(b" " * 3 * LIMIT + b"\r\n")]
    assert not list(tmp_path.iterdir())


def test_where_nothing_can_be_stored_lines_stay_in_memory(tmp_path: Path) -> None:
    """A full or missing disk loses nothing."""
    (tmp_path / "file").write_text("in the way")
    line = b'{"id":1,"result":"' + b"x" * 2 * LIMIT + b'"}'
    (found,) = LineReader(Spool(tmp_path / "file")).feed(line + b"\n")
    assert isinstance(found, Frame)
    assert not found.spooled
    assert found.size == len(line)


def test_sweeping_leaves_what_is_in_use(tmp_path: Path) -> None:
    """Only lines of processes that are gone are removed."""
    for name in ("999999999-1.line", f"{os.getppid()}-1.line", "x.line", "999999999-1.txt"):
        (tmp_path / name).touch()
    assert sweep(tmp_path) == 1
    assert len(list(tmp_path.iterdir())) == 3


def run_sink(fd: int, sends: list, reader: int | None = None) -> tuple[bytes, bool]:
    """Send all this, read it back; what arrived, and whether the reader's end was reported."""
    lost = []

    async def run() -> bytes:
        sink = open_sink(fd, on_lost=lambda: lost.append(True), on_queued=lambda: None)
        for pieces in sends:
            sink.send(pieces)
        sink.close()
        arrived = b""
        loop = asyncio.get_running_loop()
        while reader is not None:
            chunk = await loop.run_in_executor(None, os.read, reader, 1 << 20)
            if not chunk:
                break
            arrived += chunk
        # Polled: a thread may still be writing.
        while not sink.closed:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await asyncio.sleep(0)
        return arrived

    return asyncio.run(run()), bool(lost)


def test_a_sink_sends_everything_in_order(tmp_path: Path) -> None:
    """Small messages, large ones, and cuts of files, through a pipe that takes 64 KiB at a time."""
    file = Spool(tmp_path).new()
    file.write(b"0123456789" * 100_000)
    read_end, write_end = os.pipe()
    sends = [(b"a",), (b"x" * 300_000, Cut(file, 5, 900_000)), (b"",), (Cut(file, 0, 0), b"z")]
    arrived, lost = run_sink(write_end, sends, read_end)
    os.close(read_end)
    assert arrived == b"a\n" + b"x" * 300_000 + (b"0123456789" * 100_000)[5:900_000] + b"\n\nz\n"
    assert not lost


def test_a_sink_whose_reader_is_gone_says_so() -> None:
    """Once, and takes nothing more."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    assert run_sink(write_end, [(b"a",), (b"b",)]) == (b"", True)


def test_files_and_devices_have_a_thread(tmp_path: Path) -> None:
    """The event loop cannot watch them; they work all the same."""
    target = tmp_path / "out"
    fd = os.open(target, os.O_WRONLY | os.O_CREAT)
    run_sink(fd, [(b"a",), (b"x" * 1_000_000, b"y")])
    assert target.read_bytes() == b"a\n" + b"x" * 1_000_000 + b"y\n"

    async def read() -> bytes:
        chunks: list[bytes] = []
        done = asyncio.Event()

        def take(chunk: bytes) -> None:
            chunks.append(chunk)
            if not chunk:
                done.set()

        source = open_source(os.open(target, os.O_RDONLY), take)
        await asyncio.wait_for(done.wait(), 10)
        source.close()
        return b"".join(chunks)

    assert asyncio.run(read()) == target.read_bytes()
    assert not sources.is_watchable(os.open(os.devnull, os.O_RDONLY))


def test_environment_of_a_server_among_others() -> None:
    """A minimal set, what is inherited by name or beginning, what the config says; nothing else."""
    ours = {"PATH": "/bin", "HOME": "/h", "SECRET": "s", "NODE_A": "1", "NODE_B": "2", "PROXY": "p", "LANG": "C"}
    assert child_environment(ours, {"TOKEN": "t", "HOME": "/other"}, ["PROXY", "NODE_*"], windows=False) == {
        "PATH": "/bin", "HOME": "/other", "NODE_A": "1", "NODE_B": "2", "PROXY": "p", "LANG": "C", "TOKEN": "t",
    }  # fmt: skip
    assert child_environment({"Path": "p", "SystemRoot": "r", "x": "y"}, {}, ["X"], windows=True) == {
        "Path": "p", "SystemRoot": "r", "x": "y",
    }  # fmt: skip
    assert child_environment({"A": "1"}, {}, ["*"], windows=False) == {"A": "1"}


@pytest.mark.parametrize(
    ("argv", "files", "expected"),
    [
        (["npx", "-y", "p"], ["C:\\node\\npx.cmd"], ["C:\\node\\npx.cmd", "-y", "p"]),
        (["uvx", "p"], ["C:\\a b\\uvx.exe", "C:\\node\\uvx.cmd"], ["C:\\a b\\uvx.exe", "p"]),
        (["npx"], ["C:\\node\\npx"], ["npx"]),
        (["C:\\a b\\tool"], ["C:\\a b\\tool.bat"], ["C:\\a b\\tool.bat"]),
        (["tool.EXE"], ["C:\\node\\tool.EXE"], ["C:\\node\\tool.EXE"]),
        (["gone"], [], ["gone"]),
    ],
)
def test_commands_on_windows(argv: list[str], files: list[str], expected: list[str]) -> None:
    """`npx` is `npx.cmd` there; a file without one of the known endings is not a command."""
    found = resolve_command(
        argv, windows=True, path="C:\\a b;C:\\node", pathext=".EXE;.CMD;.BAT", exists=files.__contains__
    )
    assert found == expected
    assert resolve_command(argv, windows=False) == argv


@pytest.mark.parametrize(
    ("argv", "cwd", "said"),
    [
        (["no-such-command-anywhere"], None, "'no-such-command-anywhere' was not found"),
        ([sys.executable], "/no/such/folder", "its folder /no/such/folder does not exist"),
        ([os.path.dirname(__file__)], None, "Permission denied"),
    ],
)
def test_what_cannot_be_started(argv: list[str], cwd: str | None, said: str) -> None:
    """The error says what is missing."""
    with pytest.raises(UpstreamError, match=said.replace("/", ".")):
        start_process(argv, None, cwd)


def test_specs_show_no_secrets() -> None:
    """Neither arguments nor environment."""
    spec = UpstreamSpec("n", ("cmd", "--token=secret"), env={"K": "secret"}, ways=Ways(timeout=5))
    assert "secret" not in repr(spec)
    assert "secret" not in f"{spec}"
    assert (spec.ways.rules(spec.name).idle, spec.ways.rules("n").name) == (5, "n")


def test_log_lines() -> None:
    """One JSON object a line, shortened to fit, and never a wait for whoever does not read them."""
    script = (
        "import os\nfrom crp_mcp.log import log, set_level\n"
        "set_level('info')\nlog('debug','hidden')\nlog('info','shown',n=1,what='é'*9000,odd=object())\n"
        "for n in range(1000): log('error','flood',text='x'*300)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE)
    assert process.wait(20) == 0
    assert process.stderr
    first, *rest = process.stderr.read().splitlines()
    process.stderr.close()
    assert json.loads(first)["event"] == "shown"
    assert len(first) <= 4000
    assert 1 < len(rest) < 1000
    assert all(json.loads(line)["event"] == "flood" for line in rest)
