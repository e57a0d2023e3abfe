"""All the client scenarios the public conformance suite requires, with us as the client of its servers.

`tests/conformance` has some of them at every run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.suite import REVISIONS, failing, required, run

from .support import SERVERS

COMMAND = f"{sys.executable} {SERVERS / 'conformance_client.py'}"


@pytest.mark.real
@pytest.mark.skipif(os.environ.get("CRP_EXHAUSTIVE") != "1", reason="takes minutes; CRP_EXHAUSTIVE=1 runs it")
@pytest.mark.parametrize("revision", REVISIONS)
def test_all_that_is_required_of_a_client(
    revision: str, real_server: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each scenario alone, since each starts several processes; none fails, and each checks something."""
    suite = real_server("conformance")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    found: dict[str, list[str]] = {}
    for number, scenario in enumerate(required(suite, revision).client):
        how = ("client", "--command", COMMAND, "--scenario", scenario, "--spec-version", revision, "--timeout", "90000")
        verdicts = run(suite, tmp_path / str(number), *how)
        merged = {check: status for one in verdicts.values() for check, status in one.items()}
        found |= failing({scenario: merged}, [scenario])
    assert found == {}
