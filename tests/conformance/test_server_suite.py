"""The public conformance suite against our fixture server: directly, and with the proxy's HTTP front before it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.suite import FIXTURE, REVISIONS, Verdicts, failing, free_port, listening, required, run

pytestmark = pytest.mark.real

Suite = list[str]
DIRECT = [sys.executable, str(FIXTURE)]
TARGETS = {"stdio": ("2026-07-28",), "url": REVISIONS, "shared": REVISIONS}
"""The fixture behind the proxy: in place as a program, in place over HTTP, as one program shared by all sessions of a
config file. A program of its own for each handshake session would do nothing but start, for a minute."""
NOT_EXERCISED = {
    "server-sse-priming-event",
    "server-sse-disconnect-resume",
    "server-sse-retry-field",
    "server-sse-streams-functional",
    "incoming-sse-event",
    "stream-closed",
}
"""Checks of what an event stream can do beyond an answer; the proxy answers these requests in plain JSON."""


@pytest.fixture(scope="session")
def suite(real_server: Callable[..., Suite]) -> Suite:
    return real_server("conformance")


@pytest.fixture(scope="session")
def direct(suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdicts]:
    """What the suite says of the fixture itself, by revision."""
    folder, port = tmp_path_factory.mktemp("direct"), free_port()
    with listening([*DIRECT, "--port", str(port)], port, folder / "log") as url:
        return {revision: judged(suite, folder, url, revision) for revision in REVISIONS}


def judged(suite: Suite, folder: Path, url: str, revision: str) -> Verdicts:
    return run(suite, folder / revision, "server", "--url", url, "--requirements", revision)


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_fixture_fulfils_all_that_is_required(suite: Suite, direct: dict[str, Verdicts], revision: str) -> None:
    """The baseline: every required scenario, in either revision."""
    assert not failing(direct[revision], required(suite, revision).server)


@pytest.mark.parametrize("target", TARGETS)
def test_the_proxy_fulfils_what_is_required_and_changes_nothing_else(
    suite: Suite, direct: dict[str, Verdicts], tmp_path: Path, target: str
) -> None:
    """Every required scenario; on all others no check is worse than without us."""
    port, upstream = free_port(), free_port()
    serve = [sys.executable, "-m", "crp_mcp", "serve", "--store", str(tmp_path / "store")]
    front = [*serve, "--http", f"127.0.0.1:{port}"]
    config = tmp_path / "servers.json"
    entry = {"command": DIRECT[0], "args": DIRECT[1:], "shared": True}
    config.write_text(json.dumps({"mcpServers": {"fixture": entry}}))
    behind = {
        "stdio": ["--", *DIRECT],
        "url": ["--url", f"http://127.0.0.1:{upstream}/mcp"],
        "shared": ["--config", str(config)],
    }
    with (
        listening([*DIRECT, "--port", str(upstream)], upstream, tmp_path / "upstream.log"),
        listening([*front, *behind[target]], port, tmp_path / "log") as url,
    ):
        through = {revision: judged(suite, tmp_path, url, revision) for revision in TARGETS[target]}
    for revision in through:
        assert not failing(through[revision], required(suite, revision).server), revision
        assert not worse(direct[revision], through[revision]), revision


def worse(direct: Verdicts, through: Verdicts) -> list[tuple[str, str, str, str]]:
    """Scenario, check and both verdicts wherever the proxy does not do as well as the server alone."""
    rank = {"SUCCESS": 0, "INFO": 0, "SKIPPED": 0, "WARNING": 1, "FAILURE": 2}
    found = []
    for scenario, checks in direct.items():
        for check, status in checks.items():
            now = through.get(scenario, {}).get(check, "missing")
            if (now == "missing" and check in NOT_EXERCISED) or status == "FAILURE":
                continue
            if rank.get(now, 3) > rank[status]:
                found.append((scenario, check, status, now))
    new = {(name, check): s for name, checks in through.items() for check, s in checks.items() if s == "FAILURE"}
    found += [(name, check, "", s) for (name, check), s in new.items() if direct.get(name, {}).get(check) != s]
    return list(dict.fromkeys(found))
