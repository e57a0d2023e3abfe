"""What is imported before a host gets its first answer: start-up is promised in milliseconds."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = [
    "mcp",
    "mcp_types",
    "pydantic",
    "sqlite3",
    "sqlite_utils",
    "nacl",
    "rfc8785",
    "yaml",
    "toktok",
    "tiktoken",
    "zstandard",
    "msgspec",
    "difflib",
    "tempfile",
    "crp_mcp.core.registry",
    "crp_mcp.core.shape",
    "crp_mcp.store",
    "crp_mcp.tokens",
    "crp_mcp.keys",
]


@pytest.mark.parametrize("modules", ["crp_mcp.cli.main, crp_mcp.cli.serve, crp_mcp.app.port, crp_mcp.app.settings"])
def test_the_way_to_the_first_answer_imports_nothing_heavy(modules: str):
    """Serving a wrapped server loads neither the SDK nor the store, the counter, the registry or YAML."""
    code = f"import sys, {modules}; from crp_mcp.config import registry_paths; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(HEAVY) & set(out.stdout.split()) == set()
