"""Which servers to start, from a command line or a config file. Knows no processes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from crp_mcp.mcp.spawn import child_environment
from crp_mcp.mcp.spec import UpstreamSpec

if TYPE_CHECKING:
    from crp_mcp.config import ServerConfig

_RUNNERS = frozenset(
    {"npx", "npm", "exec", "uvx", "uv", "tool", "run", "pipx", "python", "python3", "py", "node", "deno", "bun", "bunx",
     "docker", "podman", "env", "sh", "bash", "cmd", "sudo"}
)  # fmt: skip
_AFFIXES = re.compile(
    r"^(mcp[-_]server[-_]|server[-_]mcp[-_]|mcp[-_]|server[-_])|([-_]mcp[-_]server|[-_]server|[-_]mcp)$"
)
_ENTRY_FILES = frozenset(
    {"index", "main", "server", "cli", "__main__", "app", "start", "dist", "build", "bin", "src", "mcp"}
)


def in_place(argv: Sequence[str], *, name: str | None = None, timeout: float | None = None) -> UpstreamSpec:
    """The one server that is wrapped in place: its environment is ours as it is, since the host chose it."""
    return UpstreamSpec(name or server_name(argv), tuple(argv), timeout=timeout)


def from_config(server: ServerConfig, environment: Mapping[str, str]) -> UpstreamSpec:
    """One server of a config file. Raises ConfigError for one that cannot be reached over stdio."""
    command, args = server.stdio()
    inherited = server.inherit_env if isinstance(server.inherit_env, tuple) else ("*",) if server.inherit_env else ()
    return UpstreamSpec(
        server.name,
        (command, *args),
        env=child_environment(environment, server.env, inherited),
        cwd=server.cwd,
        prefix=server.prefix,
        allow=server.allow if server.allow is not None else (),
        deny=server.deny,
        era=server.era,
        timeout=server.timeout,
        shared=server.shared,
    )


def server_name(argv: Sequence[str]) -> str:
    """What to call a server that is known by its command alone: `uvx mcp-server-git --repository .` is `git`.

    The first word that is neither a runner nor an option, without version, path, ending and the usual affixes; for
    files with a name that says nothing (`dist/index.js`), the folder above them.
    """
    for word in argv:
        bare = PurePath(word.replace("\\", "/")).name
        if bare.lower().removesuffix(".exe").removesuffix(".cmd") in _RUNNERS or word.startswith("-") or "=" in word:
            continue
        name = _plain(word)
        if name:
            return name
    return "server"


def _plain(word: str) -> str:
    parts = [part for part in word.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    for part in reversed(parts):
        bare = re.sub(r"\.(py|js|mjs|cjs|ts|exe|cmd|jar|pyz)$", "", part.lstrip("@").split("@")[0])
        if bare.lower() in _ENTRY_FILES:
            continue
        previous = None
        while previous != bare:
            previous, bare = bare, _AFFIXES.sub("", bare) or bare
        return re.sub(r"[^A-Za-z0-9_-]+", "-", bare).strip("-_").lower()[:32]
    return ""
