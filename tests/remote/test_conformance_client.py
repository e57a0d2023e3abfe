"""The public conformance suite's client scenarios, with us as the client of its servers: transport, headers, logins."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.suite import failing, required, run

from .support import SERVERS

COMMAND = f"{sys.executable} {SERVERS / 'conformance_client.py'}"
FEW = {
    "2025-11-25": ("sse-retry", "auth/metadata-var2", "auth/scope-step-up"),
    "2026-07-28": (
        "request-metadata",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "auth/scope-retry-limit",
        "auth/authorization-server-migration",
    ),
}
"""What is looked at each time, besides what `tests/conformance` does; with CRP_EXHAUSTIVE=1 all that is required."""


@pytest.mark.real
@pytest.mark.parametrize("revision", list(FEW))
def test_all_that_is_required_of_a_client(
    revision: str, real_server: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each scenario alone, since each starts several processes; none fails, and each checks something."""
    suite = real_server("conformance")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    wanted = required(suite, revision).client if os.environ.get("CRP_EXHAUSTIVE") == "1" else FEW[revision]
    found: dict[str, list[str]] = {}
    for number, scenario in enumerate(wanted):
        how = ("client", "--command", COMMAND, "--scenario", scenario, "--spec-version", revision, "--timeout", "90000")
        verdicts = run(suite, tmp_path / str(number), *how)
        merged = {check: status for one in verdicts.values() for check, status in one.items()}
        found |= failing({scenario: merged}, [scenario])
    assert found == {}
