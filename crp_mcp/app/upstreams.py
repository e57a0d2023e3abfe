"""Which servers to reach, from a command line or a config file. Knows no processes, and connects nowhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from crp_mcp.config.names import derived_name
from crp_mcp.errors import ConfigError
from crp_mcp.mcp.spawn import child_environment
from crp_mcp.mcp.spec import OAuth, PassThrough, RemoteSpec, ServerSpec, UpstreamSpec, Ways

if TYPE_CHECKING:
    from crp_mcp.config import ServerConfig

TOKENS_ENV = "CRP_MCP_TOKENS"


def in_place(
    argv: Sequence[str], *, name: str | None = None, timeout: float | None = None, era: str = "auto"
) -> UpstreamSpec:
    """The one server that is wrapped in place: its environment is ours as it is, since the host chose it."""
    return UpstreamSpec(name or derived_name(argv), tuple(argv), ways=Ways(era=era, timeout=_checked(timeout)))


def _checked(timeout: float | None) -> float | None:
    """A `--timeout`. Raises ConfigError."""
    if timeout is not None:
        from crp_mcp.config.fields import LONGEST_SECONDS  # most name none, and start-up is measured

        if not 0 < timeout <= LONGEST_SECONDS:
            raise ConfigError(f"--timeout must be a number of seconds above 0 and at most {LONGEST_SECONDS} (30 days)")
    return timeout


def remote_in_place(
    url: str,
    headers: Sequence[str] = (),
    *,
    transport: str = "auto",
    name: str | None = None,
    timeout: float | None = None,
    era: str = "auto",
    environment: Mapping[str, str],
) -> RemoteSpec:
    """The one server over HTTP of a command line. `headers`: `Name: value`, in which `${VAR}` and `${file:PATH}` stand.

    Raises:
        ConfigError: what was wrong, without any value.
    """
    from crp_mcp.config.expand import Expander
    from crp_mcp.config.remote import header_problem

    expander, timeout = Expander(environment, {}), _checked(timeout)
    url = expander.text(url, "--url")
    parts = _address(url)
    found: dict[str, str] = {}
    for number, header in enumerate(headers, 1):
        key, colon, value = header.partition(":")
        value = expander.text(value, f"--header {number}").strip()
        problem = header_problem(key.strip(), value) if colon else "is no `Name: value`"
        if problem:
            raise ConfigError(f"--header {number} {problem}")
        found[key.strip().lower()] = value
    return RemoteSpec(
        name or parts,
        url,
        transport=transport,
        headers=found,
        tokens=tokens_folder(environment),
        ways=Ways(era=era, timeout=timeout),
    )


def _address(url: str) -> str:
    """The host of a URL, which is its server's name where it has no other. Raises ConfigError."""
    from urllib.parse import urlsplit  # most have no remote server

    from crp_mcp.config.fields import is_address

    if not is_address(url):
        raise ConfigError("--url is no address of a server: write http://HOST/PATH or https://HOST/PATH")
    return urlsplit(url).hostname or ""


def tokens_folder(environment: Mapping[str, str]) -> str:
    """Where tokens of logins are kept: a folder of the user's, whichever store is used."""
    named = environment.get(TOKENS_ENV)
    if named:
        return os.path.abspath(os.path.expanduser(named))
    from crp_mcp.store.place import default_folder

    folder = default_folder(environment, sys.platform)
    return str((folder.parent if folder.suffix in (".db", ".sqlite", ".sqlite3") else folder) / "tokens")


def from_config(server: ServerConfig, environment: Mapping[str, str]) -> ServerSpec:
    """One server of a config file."""
    if server.url is not None:
        return _remote(server, environment)
    command, args = server.stdio()
    return UpstreamSpec(
        server.name,
        (command, *args),
        env=child_environment(environment, server.env, server.inherit_env),
        cwd=server.cwd,
        ways=_ways(server),
    )


def _ways(server: ServerConfig) -> Ways:
    return Ways(
        prefix=server.prefix,
        allow=server.allow,
        deny=server.deny,
        era=server.era,
        timeout=server.timeout,
        shared=server.shared,
    )


def _remote(server: ServerConfig, environment: Mapping[str, str]) -> RemoteSpec:
    import shlex

    oauth = server.oauth
    auth: OAuth | PassThrough | None = None
    if server.pass_through is not None:
        auth = PassThrough(server.pass_through)
    elif oauth is not None:
        auth = OAuth(
            oauth.scopes,
            oauth.client_id,
            oauth.client_secret,
            oauth.client_metadata_url,
            oauth.redirect_port,
            oauth.grant,
            oauth.issuer,
        )
    return RemoteSpec(
        server.name,
        server.url or "",
        transport=server.transport,
        headers=server.headers,
        auth=auth,
        tokens=tokens_folder(environment),
        account=server.name,
        login=f"crp-mcp login {shlex.quote(server.name)} --config {shlex.quote(server.file)}",
        ways=_ways(server),
    )
