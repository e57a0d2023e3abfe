"""The name derived from a server's command line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.config import derived_name


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("npx -y @modelcontextprotocol/server-everything", "server-everything"),
        ("npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /home/me", "server-filesystem"),
        ("npx -p @scope/name tool-of-it", "name"),
        ("uvx mcp-server-git --repository /r", "mcp-server-git"),
        ("uvx --from mcp-server-sqlite==2025.4.25 mcp-server-sqlite --db-path x", "mcp-server-sqlite"),
        ("uv --directory /x run --with y mcp-redis", "mcp-redis"),
        ("python3.11 -m mcp_server_time", "mcp_server_time"),
        ("/venv/bin/mcp-server-fetch", "mcp-server-fetch"),
        ("C:\\Tools\\dbhub.exe --dsn postgres://x", "dbhub"),
        ("cmd /c npx -y @scope/name", "name"),
        ("node /opt/my-server/dist/index.js", "my-server"),
        ("python server.py", "server"),
        ("docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server:latest", "github-mcp-server"),
        ("docker run -i --rm -v /a:/b mcp/notion", "notion"),
        ("env KEY=1 mcp-redis", "mcp-redis"),
        ("npx", "npx"),
        ("", "server"),
    ],
)
def test_a_name_out_of_a_command_line(command: str, name: str):
    """The package, image, module or script that a launcher runs gives the name."""
    assert derived_name(command.split()) == name


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["sh", "-c", "TOKEN=s3cret exec mcp-redis --password s3cret"], "mcp-redis"),
        (["bash", "-lc", "cd /s3cret && uvx mcp-server-git --key s3cret"], "mcp-server-git"),
        (["sh", "-c", "server s3cret"], "server"),
        (["sh", "-c", ""], "server"),
        (["python3", "-c", "run('s3cret')"], "python3"),
        (["env", "KEY=s3cret", "sh", "-c", "'mcp-x' s3cret"], "mcp-x"),
    ],
)
def test_nothing_else_of_a_script_gets_into_the_name(command: list[str], name: str):
    """Names stand in logs, errors and the store; a script on the command line may hold secrets."""
    assert derived_name(command) == name


@given(st.lists(st.text(max_size=12), max_size=6))
def test_any_command_line_gives_some_text(command: list[str]):
    """Whatever the command line is, there is an answer."""
    assert isinstance(derived_name(command), str)
