"""`crp-mcp context`: the same context on the command line, as text, as JSON, explained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crp_mcp.cli.main import run
from tests.relay.support import bench, text_result


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "auth.py").write_text("def open_session(user):\n    '''Open one.'''\n    return user\n")
    return tmp_path


def test_text_goes_to_stdout_and_what_is_said_of_it_to_stderr(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The context alone is on stdout; the line about it, and how it came about, are on stderr."""
    assert run(["context", "open session", "--root", str(tree), "--store", str(tree / "none"), "--explain"]) == 0
    out, err = capsys.readouterr()
    assert "def open_session(user):" in out
    assert "simple-keyword ranked" in err
    assert "shown at depth 9" in err
    assert not (tree / "none").exists()


def test_json_is_the_whole_assembled_context(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` prints the AssembledContext by its names, content included."""
    command = ["context", "--focus", "open_session", "--root", str(tree), "--store", str(tree / "none"), "--json"]
    assert run(command) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["fragments"][0]["uko_node"] == "uko-py:function/auth.open_session"
    assert "return user" in made["fragments"][0]["content"]
    assert made["context_hash"].startswith("sha256:")
    assert made["applied"]["focus"]


def test_a_folder_that_is_none_and_an_empty_request_are_said(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mistakes are a sentence on stderr."""
    assert run(["context", "x", "--root", str(tree / "missing")]) == 1
    assert run(["context", "--root", str(tree)]) == 1
    assert "--root" in capsys.readouterr().err


def test_a_cursor_goes_on_where_there_is_a_store(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Named on stderr and in the JSON; without a store it is refused."""
    for number in range(12):
        (tree / f"part_{number}.md").write_text(f"# Session {number}\n\n" + "open a session and close it " * 20)
    command = ["context", "session", "--root", str(tree), "--max-tokens", "500", "--json", "--store"]
    assert run([*command, str(tree / "none"), "--cursor", "1.2.3"]) == 1
    with bench(tree) as at:
        at.capture(text_result("1"))
    capsys.readouterr()
    seen: list[str] = []
    more: list[str] = []
    while more or not seen:
        assert run([*command, str(tree / "store"), *more]) == 0
        made = json.loads(capsys.readouterr().out)
        shown = [one["uko_node"] for one in made["fragments"]]
        assert shown
        assert not set(shown) & set(seen)
        seen += shown
        more = ["--cursor", made["cursor"]] if "cursor" in made else []
    assert all(any(f"part_{number}.md" in uri for uri in seen) for number in range(12))
