"""`crp-mcp context`: the same context on the command line, as text, as JSON, explained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crp_mcp.cli.main import run


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
