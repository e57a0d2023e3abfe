"""Which servers to start, from a command line or a config file. Knows no processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from crp_mcp.config.names import derived_name
from crp_mcp.mcp.spawn import child_environment
from crp_mcp.mcp.spec import UpstreamSpec

if TYPE_CHECKING:
    from crp_mcp.config import ServerConfig


def in_place(argv: Sequence[str], *, name: str | None = None, timeout: float | None = None) -> UpstreamSpec:
    """The one server that is wrapped in place: its environment is ours as it is, since the host chose it."""
    return UpstreamSpec(name or derived_name(argv), tuple(argv), timeout=timeout)


def from_config(server: ServerConfig, environment: Mapping[str, str]) -> UpstreamSpec:
    """One server of a config file. Raises ConfigError for one that cannot be reached over stdio."""
    command, args = server.stdio()
    return UpstreamSpec(
        server.name,
        (command, *args),
        env=child_environment(environment, server.env, server.inherit_env),
        cwd=server.cwd,
        prefix=server.prefix,
        allow=server.allow,
        deny=server.deny,
        era=server.era,
        timeout=server.timeout,
        shared=server.shared,
    )
