"""`crp-mcp login`: get a token for a server over HTTP, through a browser, and keep it for `crp-mcp serve`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from crp_mcp.errors import ConfigError
from crp_mcp.mcp.spec import OAuth, PassThrough, RemoteSpec

from . import common


def add(parser: argparse.ArgumentParser) -> None:
    add_server(parser)
    parser.add_argument("--scope", action="append", metavar="SCOPE", help="ask for this scope (default: the server's)")
    parser.add_argument("--client-id", metavar="ID", help="a client registered there already (default: register one)")
    parser.add_argument(
        "--client-secret", metavar="TEXT", help="its secret, if it has one: ${VAR} or ${file:PATH} stand for the value"
    )
    parser.add_argument(
        "--client-metadata-url", metavar="URL", help="where our client id metadata document is, if you publish one"
    )
    parser.add_argument("--redirect-port", type=int, metavar="PORT", help="come back to this port of 127.0.0.1")
    parser.add_argument("--no-browser", action="store_true", help="print the address only, open no browser")


def add_server(parser: argparse.ArgumentParser) -> None:
    """Which server is meant."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a server of the config file")
    parser.add_argument("--config", metavar="FILE", help="the file whose `mcpServers` has it")
    parser.add_argument("--url", help="a server that is not in a config file")


def run(options: argparse.Namespace) -> int:
    import asyncio

    spec = with_options(server_of(options), options)
    from crp_mcp.mcp.remote.login import log_in

    login = asyncio.run(log_in(spec, lambda url: _show(url, browser=not options.no_browser)))
    ends = _ends(login.expires_at)
    renewed = ", renewed by itself" if login.refresh_token else ""
    scope = f", scope {login.scope}" if login.scope else ""
    common.print_text(f"logged in to {spec.name}{scope}; the token {ends}{renewed}")
    return 0


def server_of(options: argparse.Namespace) -> RemoteSpec:
    """The server that the command line means. Raises ConfigError."""
    from crp_mcp.app.upstreams import from_config, remote_in_place

    if bool(options.url) == bool(options.name):
        raise ConfigError("name one server: NAME with --config FILE, or --url URL")
    if options.url:
        return remote_in_place(options.url, environment=os.environ)
    if not options.config:
        raise ConfigError(f"say with --config FILE where {options.name!r} is configured, or give its --url")
    from crp_mcp.config import load_config

    servers = {server.name: server for server in load_config(Path(options.config)).enabled()}
    if options.name not in servers:
        raise ConfigError(f"{options.config} has no server {options.name!r}; it has: {', '.join(servers) or 'none'}")
    spec = from_config(servers[options.name], os.environ)
    if not isinstance(spec, RemoteSpec):
        raise ConfigError(f"server {options.name!r} is a program, not one over HTTP: there is nothing to log in to")
    if isinstance(spec.auth, PassThrough):
        raise ConfigError(f"server {options.name!r} gets its client's own credentials (passThrough): no login is kept")
    if "authorization" in map(str.lower, spec.headers):
        raise ConfigError(f"server {options.name!r} has a header Authorization, which is stronger than any login")
    return spec


def with_options(spec: RemoteSpec, options: argparse.Namespace) -> RemoteSpec:
    """The server with what the command line says of the login. Scopes come to those that there are already."""
    from crp_mcp.config.expand import Expander
    from crp_mcp.mcp.remote.tokens import TokenFile

    auth = spec.auth if isinstance(spec.auth, OAuth) else OAuth()
    scopes: list[str] = []
    if options.scope:
        earlier = TokenFile(spec.tokens, spec.url, spec.account).read()
        scopes = [*(earlier.scope or "" if earlier else "").split(), *auth.scopes, *" ".join(options.scope).split()]
    secret = options.client_secret
    given = {
        "scopes": tuple(dict.fromkeys(scopes)),
        "client_id": options.client_id,
        "client_secret": Expander(os.environ, {}).text(secret, "--client-secret") if secret else None,
        "client_metadata_url": options.client_metadata_url,
        "redirect_port": options.redirect_port,
    }
    return spec._replace(auth=auth._replace(**{key: value for key, value in given.items() if value}))


def _show(url: str, *, browser: bool) -> None:
    common.print_text(f"Open this address in a browser to log in:\n\n{url}\n")
    sys.stdout.flush()
    if browser:
        import threading
        import webbrowser

        # Some browsers are waited for until they end, and the answer comes here meanwhile.
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _ends(at: float | None) -> str:
    return "does not end" if at is None else f"ends in {max(0.0, at - time.time()) / 60:.0f} min"
