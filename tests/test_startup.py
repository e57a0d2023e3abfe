"""What is imported before a host gets its first answer: start-up is promised in milliseconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HEAVY = {
    "mcp", "mcp_types", "pydantic", "sqlite3", "sqlite_utils", "nacl", "rfc8785", "yaml", "toktok", "tiktoken",
    "zstandard", "msgspec", "crp_mcp.core.registry", "crp_mcp.core.shape", "crp_mcp.store.sqlite", "crp_mcp.tokens",
    "crp_mcp.keys", "dataclasses", "inspect", "hashlib", "secrets", "shutil", "ssl",
}  # fmt: skip

SERVE = """
import sys
import crp_mcp.cli.main, crp_mcp.cli.serve, crp_mcp.app.port
crp_mcp.cli.serve.add(crp_mcp.cli.main.Parser(formatter_class=crp_mcp.cli.main.Formatter))
from crp_mcp.app.settings import load_settings
load_settings(store=sys.argv[1], env={"HOME": sys.argv[1]})
print(*sys.modules)
"""


def test_the_way_to_the_first_answer_imports_nothing_heavy(tmp_path: Path) -> None:
    """Serving a wrapped server loads neither the SDK nor the store, the counter, the registry or YAML at first."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}  # coverage loads sqlite3
    out = subprocess.run([sys.executable, "-c", SERVE, tmp_path], capture_output=True, text=True, check=True, env=env)
    assert HEAVY & set(out.stdout.split()) == set()
