"""The examples do what they say when they are run as their first lines tell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]


def test_labels_are_laundered_and_documents_resurrected_in_a_naive_memory_only() -> None:
    """Both attacks succeed there; here every one is refused, for the reason that is shown."""
    done = subprocess.run(
        [sys.executable, REPO / "examples" / "launder_and_resurrect.py"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    naive, ours = done.stdout.split("This memory")
    assert "Meridian is still there" in naive
    assert "BROKEN" not in ours
    for refusal in ("BAD_SIGNATURE", "DUPLICATE_KEY", "COUNT_MISMATCH", "withheld", "TOMBSTONED", "VALID"):
        assert refusal in ours
