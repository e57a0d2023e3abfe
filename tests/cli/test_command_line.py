"""The commands as a person or a script runs them: a real process, its output, its exit code."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crp_mcp import __version__
from tests.relay.support import bench, order_rows, text_result


def crp(*arguments: str | Path, given: bytes = b"", check: int | None = 0) -> subprocess.CompletedProcess[bytes]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("CRP_MCP")}
    done = subprocess.run(
        [sys.executable, "-m", "crp_mcp", *map(str, arguments)], input=given, capture_output=True, env=env, timeout=120
    )
    if check is not None:
        assert done.returncode == check, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done


def lines(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a table and a text in it; the table is pinned as `orders`."""
    with bench(tmp_path) as at:
        table = at.capture(text_result(json.dumps(order_rows(900)))).entry.scratch_id
        at.capture(text_result("a short text\x1b[31m with a colour"), tool="read_note")
        at.tool("scratch_pin", scratch_id=table, name="orders")
    return tmp_path / "store"


def test_the_version_is_printed() -> None:
    """--version and exit code 0."""
    assert crp("--version").stdout.decode() == f"crp-mcp {__version__}\n"


def test_no_command_and_a_wrong_one_say_which_there_are() -> None:
    """Usage goes to stderr with exit code 2."""
    for arguments in ((), ("servee",)):
        done = crp(*arguments, check=2)
        assert b"serve" in done.stderr
        assert done.stdout == b""


def test_summarise_prints_one_object_a_file_with_every_promised_member(tmp_path: Path) -> None:
    """Other tools call this one: its members are a contract."""
    rows = json.dumps(order_rows(700)).encode()
    (tmp_path / "rows.json").write_bytes(rows)
    (tmp_path / "note.txt").write_bytes(b"ok 42")
    first, second = lines(crp("summarise", "--json", tmp_path / "rows.json", tmp_path / "note.txt"))
    assert first["kind"] == "tabular"
    assert first["rows"] == 700
    assert first["rows_total"] is None
    assert first["partial"] is False
    assert first["columns"] == ["order_id", "city", "status", "amount"]
    assert first["is_error"] is False
    assert first["summary_tokens"] <= 256
    assert first["raw_bytes"] == len(rows)
    assert first["raw_tokens"] > 5_000
    assert first["provenance_hash"] == "sha256:" + hashlib.sha256(rows).hexdigest()
    assert first["inline"] is False
    assert second["inline"] is True
    assert second["columns"] is None
    assert second["file"] == str(tmp_path / "note.txt")


def test_summarise_goes_on_after_a_file_it_cannot_read(tmp_path: Path) -> None:
    """A missing file is an object with `error`, and exit code 1; the others are summarised."""
    (tmp_path / "bytes.bin").write_bytes(bytes(range(256)) * 40)
    done = crp("summarise", "--json", tmp_path / "none", tmp_path / "bytes.bin", check=1)
    missing, binary = lines(done)
    assert "error" in missing
    assert binary["summary_tokens"] <= 256


def test_summarise_reads_a_whole_result_as_one(tmp_path: Path) -> None:
    """--form call_tool_result: blocks, isError and structuredContent are understood."""
    (tmp_path / "r.json").write_text(
        json.dumps({"content": [{"type": "text", "text": "no such table"}], "isError": True})
    )
    (one,) = lines(crp("summarise", "--json", "--form", "call_tool_result", tmp_path / "r.json"))
    assert one["kind"] == "error"
    assert one["is_error"] is True


def test_summarise_takes_standard_input_and_a_tools_policy(tmp_path: Path) -> None:
    """- is standard input; --registry and --tool choose how it is summarised."""
    registry = tmp_path / "registry.yaml"
    registry.write_text("version: 1\ntools:\n  - match: 'shop:orders'\n    inline_tokens: 0\n    summary: {cap: 60}\n")
    rows = json.dumps(order_rows(3)).encode()
    done = crp("summarise", "--json", "--registry", registry, "--tool", "shop:orders", "-", given=rows)
    (one,) = lines(done)
    assert one["inline"] is False
    assert one["summary_tokens"] <= 60


@pytest.mark.parametrize(
    "arguments",
    [
        ["summarise", "no\x1b[31mfile"],
        ["summarise", "x", "--tool", "no\x1b]0;colon\x07"],
        ["scratch", "list", "more\x1b[2J"],
        ["scratch", "get", "no\x1bid", "--store", "no\x1bstore"],
        ["receipt", "verify", "no\u202efile\x1b"],
        ["\x1b[31m"],
    ],
    ids=repr,
)
def test_what_is_refused_drives_no_terminal(arguments: list[str]) -> None:
    """Names of files and arguments are anybody's: their controls reach neither stream as they are."""
    done = crp(*arguments, check=None)
    assert done.returncode in (1, 2)
    said = (done.stdout + done.stderr).decode()
    assert said.strip()
    assert all(letter.isprintable() or letter in "\r\n\t" for letter in said)


def test_a_wrong_tool_name_is_explained() -> None:
    """--tool wants SERVER:NAME."""
    done = crp("summarise", "--tool", "orders", "-", check=1)
    assert b"SERVER:NAME" in done.stderr


def test_scratch_list_and_get_show_what_is_stored(store: Path) -> None:
    """Entries newest first; rows by name; terminal escapes in data do not reach the terminal."""
    listed = lines(crp("scratch", "list", "--store", store, "--json"))[0]["entries"]
    assert [entry["tool_name"] for entry in listed] == ["read_note", "read_query"]
    assert listed[1]["persistence"] == "PINNED"
    assert listed[1]["freshness_ttl"] == "PT300S"
    rows = crp("scratch", "get", "orders", "--view", "rows", "--limit", "2", "--store", store).stdout.decode()
    assert rows.splitlines() == ["order_id,city,status,amount", "0,Oslo,open,0.0", "1,Rome,closed,1.25"]
    raw = crp("scratch", "get", listed[0]["scratch_id"], "--view", "raw", "--store", store).stdout
    assert b"\x1b" not in raw


def test_scratch_export_writes_the_exact_bytes(store: Path, tmp_path: Path) -> None:
    """To a file of one's own (0600), or to standard output."""
    whole = json.dumps(order_rows(900)).encode()
    assert crp("scratch", "export", "orders", "--store", store).stdout == whole
    target = tmp_path / "out.json"
    crp("scratch", "export", "orders", "-o", target, "--store", store)
    assert target.read_bytes() == whole
    assert target.stat().st_mode & 0o777 == 0o600


def test_scratch_pin_unpin_and_stats(store: Path) -> None:
    """Pins can be set and taken off from outside; stats count them."""
    assert lines(crp("scratch", "stats", "--store", store, "--json"))[0]["counters"]["pinned"] == 1
    assert b"unpinned" in crp("scratch", "unpin", "orders", "--store", store).stdout
    assert lines(crp("scratch", "stats", "--store", store, "--json"))[0]["counters"]["pinned"] == 0
    missing = crp("scratch", "get", "orders", "--store", store, check=1)
    assert b"orders" in missing.stderr


def test_looking_at_a_store_that_is_not_there_makes_none(tmp_path: Path) -> None:
    """Exit code 1, a sentence, and nothing on the disk."""
    done = crp("scratch", "list", "--store", tmp_path / "none", check=1)
    assert b"crp-mcp: store " in done.stderr
    assert not (tmp_path / "none").exists()


def test_doctor_says_where_things_are_and_changes_nothing(tmp_path: Path, store: Path) -> None:
    """Well with a store and without; a damaged store and a server that is not there are problems."""
    fresh = tmp_path / "fresh"
    assert lines(crp("doctor", "--json", "--store", fresh))[0]["ok"] is True
    assert not fresh.exists()
    whole = crp("doctor", "--store", store).stdout.decode()
    assert str(store) in whole
    assert "kept 30 days" in whole
    config = tmp_path / "servers.json"
    secret = {"SECRET": "s3cret"}
    servers = {
        "gone": {"command": "no-such-program", "env": secret},
        "here": {"command": sys.executable, "env": secret},
    }
    config.write_text(json.dumps({"mcpServers": servers}))
    done = crp("doctor", "--store", store, "--config", config, check=1)
    assert b"no-such-program" in done.stdout
    assert b"SECRET" in done.stdout
    assert b"s3cret" not in done.stdout + done.stderr
    (fresh / "x").parent.mkdir()
    (fresh / "scratch.db").write_bytes(b"not a database at all" * 100)
    unmakeable = crp("doctor", "--store", config / "store", check=1)
    assert b"PROBLEM store" in unmakeable.stdout
    damaged = crp("doctor", "--store", fresh, check=1)
    assert b"PROBLEM store" in damaged.stdout
    assert (fresh / "scratch.db").read_bytes() == b"not a database at all" * 100


@pytest.mark.real
@pytest.mark.skipif(sys.platform == "win32", reason="there a process is ended without a word")
def test_a_demo_that_is_ended_leaves_nothing_behind(tmp_path: Path) -> None:
    """Neither its folder, which has what its tools returned, nor a process."""
    started = tmp_path / "started"
    os.mkfifo(started)
    server = [sys.executable, "-c", f"import sys; open({f'{started}'!r}, 'w').close(); sys.stdin.read()"]
    folder = tmp_path / "t"
    folder.mkdir()
    argv = [sys.executable, "-m", "crp_mcp", "demo", "--", *server]
    demo = subprocess.Popen(argv, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": f"{folder}"})
    started.read_bytes()  # until the server of the demo is there
    assert list(folder.iterdir())
    demo.terminate()
    demo.communicate(timeout=30)
    assert demo.returncode == 128 + signal.SIGTERM
    assert list(folder.iterdir()) == []


def test_the_demo_runs_on_real_data(tmp_path: Path) -> None:
    """The README's first command: calls both ways, follow-ups, fewer tokens, nothing left behind."""
    report = lines(crp("demo", "--json", "--store", tmp_path / "kept"))[0]
    assert report["relayed_tokens"] < report["direct_tokens"] / 100
    by_name = {call["call"]: call for call in report["calls"]}
    assert by_name["current_python"]["direct_tokens"] == by_name["current_python"]["relayed_tokens"]
    assert all(call["relayed_tokens"] <= 2_000 for call in report["calls"])
    pages = [after for after in report["follow_ups"] if "rows" in after["call"]]
    assert pages
    assert "901-905 of" in pages[0]["text"]


def test_serving_two_ways_at_once_is_refused(tmp_path: Path) -> None:
    """--config, --url and -- COMMAND exclude each other, with a sentence."""
    for both in (
        ("--config", tmp_path / "x.json", "--", "cat"),
        ("--url", "http://h", "--config", tmp_path / "x.json"),
    ):
        done = crp("serve", *both, check=1)
        assert b"give one of --config FILE, --url URL and -- COMMAND" in done.stderr
        assert done.stdout == b""
    assert b"belong to --url" in crp("serve", "--header", "A: b", "--", "cat", check=1).stderr
