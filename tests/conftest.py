"""Fixtures every test may use: the shared cases, real upstream servers. What is missing is skipped, with the reason."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import real_servers
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

CommandLine = list[str]

# No deadline: a loaded machine must not fail a test. In CI the same examples every time, at the desk new ones.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


def missing(reason: str) -> None:
    """Skip the test; where CRP_REQUIRE_REAL=1 nothing real may be missing, so fail it."""
    if os.environ.get("CRP_REQUIRE_REAL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared cases and vectors: `shared` beside the project's folder, or $CRP_SHARED."""
    folder = Path(os.environ.get("CRP_SHARED") or ROOT.parent / "shared")
    if not folder.is_dir():
        pytest.skip(f"no shared cases at {folder}; set CRP_SHARED")
    return folder


@pytest.fixture(scope="session")
def shared_cases(shared: Path) -> Path:
    """The folder of shared tool outputs and claims."""
    return shared / "cases"


@pytest.fixture(scope="session")
def shared_vectors(shared: Path) -> Path:
    """The folder of shared test vectors (RFC 8785, RFC 9162, ECCR, Ed25519, JSON parsing)."""
    return shared / "vectors"


@pytest.fixture(scope="session")
def real_server() -> Callable[..., CommandLine]:
    """The command line that starts a real upstream server: `real_server("git", "-r", folder)`.

    Names are those of scripts/real_servers.py. A server that is not installed skips the test with what to run.
    """

    def command(name: str, *arguments: str | Path) -> CommandLine:
        if not real_servers.installed(name):
            missing(f"{name} is not installed; run: python scripts/real_servers.py install {name}")
        return [*real_servers.command(name), *map(str, arguments)]

    return command


@pytest.fixture(scope="session")
def require_real(real_server: Callable[..., CommandLine]) -> Callable[..., None]:
    """Skip (in CI: fail) unless all of these real servers are installed: `require_real("git", "sqlite")`."""

    def require(*names: str) -> None:
        for name in names:
            real_server(name)

    return require


@pytest.fixture
def git_repository(tmp_path: Path) -> Path:
    """A small Git repository of one's own: three commits on `main`, the same hashes every time."""
    folder = tmp_path / "a repository"
    folder.mkdir()
    when = {"GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z"}
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    env = {**os.environ, **when, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*arguments: str) -> None:
        subprocess.run(["git", *who, *arguments], cwd=folder, env=env, check=True, capture_output=True)

    git("init", "--quiet", "--initial-branch=main")
    for number in range(1, 4):
        (folder / f"file {number}.txt").write_text(f"line {number}\n" * number)
        git("add", "--all")
        git("commit", "--quiet", "--message", f"Commit number {number}")
    return folder
