"""`crp-mcp check`: one text or many lines, against files or the store, with exit codes a script can rely on."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.cli.main import run

SHOPS = b'[{"shop": "Harbour", "staff": 14}, {"shop": "Station", "staff": 21}]'
FAILED = {"content": [{"type": "text", "text": "upstream answered 500"}], "isError": True}
BLOCK = {"content": [{"type": "text", "text": SHOPS.decode()}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shops.json").write_bytes(SHOPS)
    (tmp_path / "failed.json").write_text(json.dumps(FAILED))
    (tmp_path / "result.json").write_text(json.dumps(BLOCK))
    return tmp_path


def crp(folder: Path, *arguments: str, given: str | bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "crp_mcp", *arguments]
    data = given.encode() if isinstance(given, str) else given
    return subprocess.run(command, input=data, capture_output=True, check=False, timeout=60, cwd=folder)


def run_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str, given: str
) -> tuple[int, str, str]:
    """The same inside this process: exit code, stdout, stderr."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    code = run(["check", *arguments])
    return (code, *capsys.readouterr())


def rows(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_text_against_files(folder: Path) -> None:
    """A verdict a claim; 1 where a file contradicts it, with the right value; 0 where none does."""
    done = crp(folder, "check", "--against", "shops.json", given="There are 3 shops. Station has the most staff.")
    assert done.returncode == 1
    assert done.stdout.decode().splitlines() == [
        "contradicted (NUMBER_CHANGED): There are 3 shops.",
        "    stated 3, found 2 [shops.json]",
        "supported: Station has the most staff.",
        "    found Station (21) [shops.json]",
    ]
    (folder / "answer.md").write_text("There are 2 shops.")
    assert crp(folder, "check", "answer.md", "--against", "result.json").returncode == 0


def test_json_has_what_was_found_and_where(folder: Path) -> None:
    """One object a claim, offsets into the text included."""
    (row,) = rows(crp(folder, "check", "--json", "--against", "shops.json", given="Hello! There are 3 shops."))
    (finding,) = row["evidence"]
    assert (row["verdict"], row["distortion"], row["attribution"]) == (
        "contradicted",
        "NUMBER_CHANGED",
        "TOOL_GROUNDED",
    )
    assert (finding["found"], finding["stated"], finding["scratch_id"]) == ("2", "3", "shops.json")
    assert "Hello! There are 3 shops."[row["start"] : row["end"]] == row["claim"] == "There are 3 shops."


def test_a_batch_answers_every_line_and_always_ends_well(folder: Path) -> None:
    """Paths are relative to the working folder, whole results are recognised, no line ends the others."""
    lines = [
        b'{"id": "a", "claim": "There are 2 shops.", "against": ["shops.json"]}',
        b'{"id": "b", "claim": "There are 5 shops.", "against": ["result.json"]}',
        b'{"id": "c", "claim": "The call succeeded.", "against": ["failed.json"]}',
        b"not json",
        b'{"id": NaN, "claim": "x", "against": []}',
        b'{"id": "d", "claim": "x", "against": ["missing.json"]}',
        b'{"id": "e", "claim": "x", "against": ["a\\u0000b", "."]}',
        b'{"id": "f", "claim": "x", "against": 7}',
        b'{"id": "g"}',
        b'\xff\xfe{"id"',
        b"[" * 100_000,
        b'{"id": "h", "claim": "\\ud800 There are 3 shops.", "against": "shops.json"}',
    ]
    (folder / "batch.jsonl").write_bytes(b"\n\n".join(lines))
    done = crp(folder, "check", "--json", "--batch", "batch.jsonl")
    found = rows(done)
    assert (done.returncode, done.stderr, len(found)) == (0, b"", len(lines))
    assert [row["id"] for row in found] == ["a", "b", "c", None, "NaN", "d", "e", "f", "g", None, None, "h"]
    assert [row["verdict"] for row in found[:3]] == ["supported", "contradicted", "contradicted"]
    assert {row["verdict"] for row in found[3:-1]} == {"unverifiable"}
    assert all(
        set(row) == {"id", "verdict", "attribution", "distortion", "evidence", "reason"} and row["reason"]
        for row in found
    )
    assert found[5]["reason"] == "cannot read missing.json: No such file or directory"


@pytest.mark.parametrize("data", [b"", b"\xff\x00" * 500, b"[" * 50_000, b'{"a":' * 990 + b"1" + b"}" * 990])
def test_a_file_of_anything_is_read_without_a_traceback(
    folder: Path, data: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And decides nothing."""
    (folder / "odd").write_bytes(data)
    code, out, err = run_here(monkeypatch, capsys, folder, "--against", "odd", given="Harbour has 14 staff.")
    assert (code, err) == (0, "")
    assert out.startswith("unverifiable")


def test_a_text_against_the_store(folder: Path) -> None:
    """The latest conversation's results, or the ids that are named; the check is in the audit chain."""
    store = ("--store", "store")
    crp(folder, "capture", "--tool", "town:shops", *store, given=SHOPS)
    done = crp(folder, "check", *store, given="There are 3 shops.")
    assert done.returncode == 1
    assert b"stated 3, found 2 [scratch_shops_001]" in done.stdout
    (row,) = rows(crp(folder, "check", "--json", *store, "--ids", "scratch_shops_001", given="There are 2 shops."))
    assert row["verdict"] == "supported"
    assert b"DISTORTION_DETECTED" in crp(folder, "audit", "export", *store).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--against", "missing"), "missing: cannot be read"),
        (("missing", "--against", "shops.json"), "missing: cannot be read"),
        (("--batch", "missing"), "missing: cannot be read"),
        (("--against", "shops.json", "--ids", "x"), "--against"),
        (("--store", "nowhere"), "nowhere"),
    ],
)
def test_mistakes_are_a_sentence(
    folder: Path,
    arguments: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On stderr, with exit code 1 and nothing on stdout."""
    code, out, err = run_here(monkeypatch, capsys, folder, *arguments, given="There are 2 shops.")
    assert (code, out) == (1, "")
    assert err.startswith("crp-mcp: ")
    assert said in err


def hook(folder: Path, check: str, **more: Any) -> dict[str, Any] | None:
    event = {"hook_event_name": "Stop", "session_id": "s", "last_assistant_message": "There are 3 shops.", **more}
    done = crp(folder, "hook", "--store", "store", "--check", check, given=json.dumps(event))
    assert (done.returncode, done.stderr) == (0, b"")
    return dict(json.loads(done.stdout)) if done.stdout else None


def test_a_hook_hands_a_wrong_answer_back_once_with_the_right_values(folder: Path) -> None:
    """Blocked where that is configured, but never twice; else shown; silent where nothing is wrong."""
    event = {"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Read", "tool_response": SHOPS.decode()}
    crp(folder, "hook", "--store", "store", "--tools", "Read", given=json.dumps(event))
    sent_back = hook(folder, "block")
    assert sent_back is not None
    assert sent_back["decision"] == "block"
    assert "stated 3, found 2" in sent_back["reason"]
    for shown in (hook(folder, "block", stop_hook_active=True), hook(folder, "report")):
        assert shown is not None
        assert list(shown) == ["systemMessage"]
        assert "stated 3, found 2" in shown["systemMessage"]
    assert hook(folder, "block", last_assistant_message="There are 2 shops.") is None


def test_a_hook_says_by_what_a_claim_is_contradicted(folder: Path) -> None:
    """What the user said is not what the tools returned."""
    said = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "The launch budget is 4000 euros."}
    crp(folder, "hook", "--store", "store", given=json.dumps(said))
    event = {"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Read", "tool_response": SHOPS.decode()}
    crp(folder, "hook", "--store", "store", "--tools", "Read", given=json.dumps(event))
    shown = hook(folder, "report", last_assistant_message="The launch budget is 5000 euros. There are 3 shops.")
    assert shown is not None
    first, *lines = shown["systemMessage"].splitlines()
    assert first == (
        "crp-mcp: claims of this answer: not what was said in this conversation: 1; not what the tools returned: 1"
    )
    assert len(lines) == 2


def test_a_sentence_may_call_a_file_by_its_name(folder: Path) -> None:
    """Of many files the one whose name the sentence has is what it is held against."""
    for name in "abcdefg":
        (folder / f"{name}.json").write_text('[{"x": 1}]')
    (folder / "boats.json").write_text('[{"hull": "A"}, {"hull": "B"}]')
    files = [*(f"{name}.json" for name in "abcdefg"), "boats.json", "a.json"]
    done = crp(folder, "check", "--json", "--against", *files, given="There are 2 boats.")
    assert [json.loads(line)["verdict"] for line in done.stdout.splitlines()] == ["supported"]
