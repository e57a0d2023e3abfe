"""The public suite's client scenarios, with the proxy between its servers and a client on the SDK: `serve --url`.

Each of them passes with the client alone. What needs a login gets one by `crp-mcp login` first.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.suite import REPO, REVISIONS, run

pytestmark = pytest.mark.real

CLIENT = REPO / "tests" / "servers" / "conformance_client.py"
HANDSHAKE, MODERN = REVISIONS
SCENARIOS = {
    "tools_call": HANDSHAKE,
    "elicitation-sep1034-client-defaults": HANDSHAKE,
    "sse-retry": HANDSHAKE,
    "request-metadata": MODERN,
    "sep-2322-client-request-state": MODERN,
    "http-standard-headers": MODERN,
    "http-custom-headers": MODERN,
    "http-invalid-tool-headers": MODERN,
    "json-schema-2020-12-preservation": MODERN,
    "auth/metadata-default": MODERN,
    "auth/basic-cimd": MODERN,
    "auth/pre-registration": HANDSHAKE,
    "auth/iss-wrong-issuer": MODERN,
}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_server_of_the_suite_sees_a_conforming_client_through_us(
    real_server: Callable[..., list[str]], tmp_path: Path, scenario: str
) -> None:
    """No check fails, and none warns."""
    client = shlex.join([sys.executable, str(CLIENT), "--through", str(tmp_path / "store")])
    chosen = ("--scenario", scenario, "--spec-version", SCENARIOS[scenario], "--timeout", "90000")
    verdicts = run(real_server("conformance"), tmp_path / "out", "client", "--command", client, *chosen)
    checks = {check: status for found in verdicts.values() for check, status in found.items()}
    assert "SUCCESS" in checks.values()
    assert not {check: status for check, status in checks.items() if status in ("FAILURE", "WARNING")}
