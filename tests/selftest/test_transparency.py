"""The report on real servers is empty: standing in their path changes nothing but what it names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.suite import FIXTURE, free_port, listening
from tests.mcp.host import fixture

pytestmark = pytest.mark.real

SERVERS = {
    "git": ["--call", 'git_status={{"repo_path":"{folder}"}}'],
    "time": [],
    "sqlite": ["--call", 'read_query={{"query":"select 1 as a"}}'],
    "fetch": [],
    "everything": [
        "--call",
        'trigger-long-running-operation={{"duration":0.2,"steps":2}}',
        "--cancel",
        'trigger-long-running-operation={{"duration":5,"steps":25}}',
    ],
    "filesystem": ["--call", 'list_directory={{"path":"{folder}"}}'],
    "memory": ["--call", "read_graph={{}}"],
}
ARGUMENTS = {
    "git": ["-r", "{folder}"],
    "sqlite": ["--db-path", "{folder}/data base.db"],
    "filesystem": ["{folder}"],
}


def report(*arguments: str, folder: Path) -> tuple[int, dict]:
    command = [sys.executable, "-m", "crp_mcp", "selftest", "--json", *arguments]
    env = {**os.environ, "MEMORY_FILE_PATH": str(folder / "memory.json")}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=600, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


AT_EVERY_RUN = ("git", "sqlite", "everything")
OTHERS = pytest.mark.skipif(os.environ.get("CRP_EXHAUSTIVE") != "1", reason="takes minutes; CRP_EXHAUSTIVE=1 runs it")


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in AT_EVERY_RUN else OTHERS) for name in SERVERS])
def test_nothing_of_a_real_server_changes(
    name: str, real_server: Callable[..., list[str]], git_repository: Path
) -> None:
    """Every feature, in each era the server speaks, token by token."""
    filled = [
        [part.format(folder=git_repository) for part in parts] for parts in (SERVERS[name], ARGUMENTS.get(name, []))
    ]
    code, found = report(*filled[0], "--", *real_server(name, *filled[1]), folder=git_repository)
    wrong = [one for server in found["servers"] for one in server["findings"] if not one["same"]]
    assert not wrong
    assert code == 0


def test_a_proxy_that_changes_something_is_caught(tmp_path: Path) -> None:
    """The report is not empty by construction: without its tools named, ours are a difference."""
    from crp_mcp.selftest.expected import Ours
    from crp_mcp.selftest.peer import open_program
    from crp_mcp.selftest.probes import Era, Known, listing
    from crp_mcp.selftest.runner import HANDSHAKE, Target, _Session

    serve = [sys.executable, "-m", "crp_mcp", "serve", "--store", str(tmp_path / "store"), "--", *fixture()]
    target = Target(
        "fixture", lambda: open_program(fixture(), None, None, 20), lambda: open_program(serve, None, None, 20), Ours()
    )
    session = _Session(target, Era(HANDSHAKE))
    with session.connected():
        found = [session.open()[0], *session.run(listing(Era(HANDSHAKE)), Known())]
    assert {one.feature for one in found if not one.same} == {"opening", "tools/list", "resources/templates/list"}


def test_nothing_of_a_server_over_http_changes(tmp_path: Path) -> None:
    """The conformance fixture at a URL, in both eras: `serve --url` against a client that goes there itself."""
    port = free_port()
    calls = ("--call", "test_tool_with_progress={}", "--call", "test_multiple_content_types={}")
    with listening([sys.executable, str(FIXTURE), "--port", str(port)], port, tmp_path / "log") as url:
        code, found = report(*calls, "--url", url, folder=tmp_path)
    assert not [one for server in found["servers"] for one in server["findings"] if not one["same"]]
    assert code == 0
