"""The worker as the proxy sees it: a real child process that may die at any moment."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.app.engine import open_engine
from crp_mcp.app.port import Port
from crp_mcp.app.settings import Settings
from crp_mcp.core.model import ToolCall
from crp_mcp.relay.frames import encode_frame, read_frame
from crp_mcp.relay.pool import WorkerClient, WorkerFailed
from crp_mcp.relay.ports import CapturedCall, RawResult

FLOOD = json.dumps([{"n": n, "word": f"word {n}"} for n in range(2_000)])


def settings(folder: Path) -> Settings:
    return Settings(str(folder / "a store"), project=str(folder), host_key="1:1")


@asynccontextmanager
async def port(folder: Path) -> AsyncIterator[Port]:
    made = Port(settings(folder))
    try:
        yield made
    finally:
        await made.close()


def captured(tool: str = "query") -> CapturedCall:
    return CapturedCall(ToolCall("shop", tool, {}, b"{}"), {}, False, None, "shop")


def raw(text: str) -> RawResult:
    return RawResult(json.dumps({"content": [{"type": "text", "text": text}]}).encode())


def run(work: Callable[[Port], Awaitable[Any]], folder: Path) -> Any:
    async def inside() -> Any:
        async with port(folder) as made:
            return await work(made)

    return asyncio.run(inside())


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be deleted on Windows")
@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_store_deleted_while_it_is_open_is_made_afresh(tmp_path: Path, what: str) -> None:
    """Every id that is shown can be read: nothing is written to a file that no longer has a name."""

    def delete() -> None:
        folder = Path(settings(tmp_path).store)
        if what == "folder":
            away = folder.rename(folder.with_name("away"))  # at one stroke: the worker may tidy up at this moment
            shutil.rmtree(away, ignore_errors=True)
        else:
            for file in folder.glob("scratch.db*"):
                file.unlink()

    async def work(made: Port) -> None:
        assert await made.capture(captured(), raw(FLOOD)) is not None
        delete()
        for _ in range(2):
            answer = await made.capture(captured(), raw(FLOOD))
            assert answer is not None
            shown = json.loads(answer)["_meta"]["dev.crp/scratch_id"]
            page = await made.call_tool("scratch_get", {"scratch_id": shown, "view": "rows", "offset": 1999}, {}, True)
            assert page["content"][1]["text"] == "n,word\n1999,word 1999\n"

    run(work, tmp_path)


def test_a_flood_is_captured_by_the_worker_and_read_back_through_it(tmp_path: Path) -> None:
    """The proxy hands bytes over and gets the result to send; our tools answer from the same store."""

    async def work(made: Port) -> None:
        answer = await made.capture(captured(), raw(FLOOD))
        assert answer is not None
        result = json.loads(answer)
        made_id = result["_meta"]["dev.crp/scratch_id"]
        page = await made.call_tool("scratch_get", {"scratch_id": made_id, "view": "rows", "offset": 1999}, {}, True)
        assert page["content"][1]["text"] == "n,word\n1999,word 1999\n"
        assert page["resultType"] == "complete"

    run(work, tmp_path)


def test_a_small_result_goes_on_untouched(tmp_path: Path) -> None:
    """The worker says: forward it."""
    assert run(lambda made: made.capture(captured(), raw("ok 42")), tmp_path) is None


def test_many_requests_are_in_flight_at_once(tmp_path: Path) -> None:
    """Answers find their requests in whatever order they come."""

    async def work(made: Port) -> list[Any]:
        return list(await asyncio.gather(*(made.capture(captured(f"t{n}"), raw(FLOOD)) for n in range(20))))

    ids = [json.loads(answer)["_meta"]["dev.crp/scratch_id"] for answer in run(work, tmp_path)]
    assert len(set(ids)) == 20


def test_a_killed_worker_is_replaced_and_nothing_stored_is_lost(tmp_path: Path) -> None:
    """After kill -9 the next capture goes to a new worker; the id from before still reads."""

    async def work(made: Port) -> None:
        first = json.loads(await made.capture(captured(), raw(FLOOD)) or b"")["_meta"]["dev.crp/scratch_id"]
        os.kill(made.worker_pid or 0, signal.SIGKILL)
        second = json.loads(await made.capture(captured(), raw(FLOOD)) or b"")["_meta"]["dev.crp/scratch_id"]
        assert second != first
        page = await made.call_tool("scratch_get", {"scratch_id": first, "view": "raw"}, {}, False)
        assert not page["isError"]

    run(work, tmp_path)


def test_a_store_that_cannot_be_used_lets_results_through_marked(tmp_path: Path) -> None:
    """The tool ran: its result reaches the host whole, with a mark that it was not recorded."""
    (tmp_path / "a store").mkdir()
    (tmp_path / "a store" / "scratch.db").write_bytes(b"this is no database, and somebody may want it" * 100)

    async def work(made: Port) -> bytes | None:
        return await made.capture(captured(), raw(FLOOD))

    result = json.loads(run(work, tmp_path) or b"")
    assert result["content"][0]["text"] == FLOOD
    assert result["_meta"] == {"dev.crp/captured": False}


def test_our_tools_say_so_when_the_store_cannot_be_used(tmp_path: Path) -> None:
    """An error result with the sentence of the store, not a crash."""
    (tmp_path / "a store").mkdir()
    (tmp_path / "a store" / "scratch.db").write_bytes(b"this is no database")
    answer = run(lambda made: made.call_tool("scratch_list", {}, {}, False), tmp_path)
    assert answer["isError"]
    assert "scratch.db" in answer["content"][0]["text"]


def test_a_spooled_result_is_captured_from_its_file(tmp_path: Path) -> None:
    """A span of a file is as good as bytes in memory."""
    body = json.dumps({"content": [{"type": "text", "text": FLOOD}]}).encode()
    spool = tmp_path / "spooled"
    spool.write_bytes(b'{"result":' + body + b"}")
    span = RawResult(None, spool, 10, 10 + len(body))
    answer = run(lambda made: made.capture(captured(), span), tmp_path)
    made_id = json.loads(answer)["_meta"]["dev.crp/scratch_id"]
    engine = open_engine(settings(tmp_path))
    entry = engine.reader.entry(engine.settings.scope(), made_id)
    assert b"".join(engine.store.iter_payload(entry.payload_id)) == FLOOD.encode()
    engine.close()


def test_a_worker_that_dies_at_once_is_not_started_for_ever() -> None:
    """After three deaths in a row the proxy waits before the next try, and says so."""

    async def work() -> list[str]:
        client = WorkerClient([sys.executable, "-c", "raise SystemExit(3)"])
        said = []
        for _ in range(5):
            with pytest.raises(WorkerFailed) as failed:
                await client.call({"op": "x"}, timeout=10)
            said.append(str(failed.value))
        await client.close()
        return said

    said = asyncio.run(work())
    assert "keeps dying" in said[-1]


def test_a_worker_that_does_not_answer_is_stopped() -> None:
    """The proxy never waits longer than it was told to."""

    async def work() -> None:
        client = WorkerClient([sys.executable, "-c", "import time; time.sleep(60)"])
        with pytest.raises(WorkerFailed, match="did not answer within"):
            await client.call({"op": "x"}, timeout=0.5)
        await client.close()
        assert client.pid is None

    asyncio.run(work())


def spawn(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "crp_mcp.app.worker", settings(folder).to_text()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def test_garbage_in_a_frame_ends_the_worker(tmp_path: Path) -> None:
    """A stream that is no longer frames cannot be trusted: the worker ends by itself."""
    with spawn(tmp_path) as process:
        assert process.stdin is not None
        process.stdin.write(b"\xff" * 64)
        process.stdin.flush()
        assert process.wait(20) == 0


def test_an_unknown_request_is_answered_under_its_number(tmp_path: Path) -> None:
    """Nothing is left waiting, and the worker ends when its stdin does."""
    with spawn(tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        head, _ = encode_frame({"id": 7, "op": "nonsense"})
        process.stdin.write(head)
        process.stdin.flush()
        frame = read_frame(process.stdout.read)
        process.stdin.close()
        assert frame is not None
        assert frame[0]["id"] == 7
        assert frame[0]["code"] == "BAD_REQUEST"
        assert process.wait(20) == 0


def test_files_of_the_project_do_not_become_our_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host starts us in the user's project: a secrets.py or orjson.py there is none of ours."""
    for name in ("secrets", "orjson", "queue", "crp_mcp"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the project')\n")
    monkeypatch.chdir(tmp_path)
    assert run(lambda made: made.capture(captured(), raw("ok 42")), tmp_path) is None
