"""`crp-mcp serve`: the relay itself, over stdio. What a host starts; so what it imports is counted in milliseconds."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crp_mcp.app.upstreams import from_config, in_place
from crp_mcp.errors import ConfigError
from crp_mcp.log import LEVELS, log, set_level
from crp_mcp.mcp.start import start_servers

if TYPE_CHECKING:
    from crp_mcp.app.port import Port
    from crp_mcp.app.settings import Settings
    from crp_mcp.config import Config
    from crp_mcp.mcp.front import Front
    from crp_mcp.mcp.spec import ServerSpec


def add(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "crp-mcp serve [--http HOST:PORT] [--no-tools] [options] [-- COMMAND ARGS... | --url URL | --config FILE]"
    )
    parser.add_argument("upstream", nargs="*", metavar="COMMAND", help="after --: the one server to stand in front of")
    parser.add_argument("--config", metavar="FILE", help="stand in front of all the `mcpServers` of this file")
    parser.add_argument("--url", help="stand in front of the one server at this URL")
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="send this to the server at --url; ${VAR} and ${file:PATH} keep secrets out of the command line",
    )
    parser.add_argument(
        "--transport",
        choices=("auto", "http", "sse"),
        default="auto",
        help="of the server at --url: streamable HTTP, or the older one (default: the first it answers)",
    )
    parser.add_argument(
        "--era",
        choices=("auto", "handshake", "2026-07-28"),
        default="auto",
        help="what the one server is spoken to in; hosts of the other era are bridged "
        "(default: what the host speaks, where the server can)",
    )
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="serve many clients over HTTP, at http://HOST:PORT/mcp, instead of one over stdio; "
        "an address that others can reach needs tokens or OAuth (docs/http.md)",
    )
    parser.add_argument(
        "--token-file", metavar="FILE", help="with --http: lines of `TOKEN TENANT [CLEARANCE]`; who may come in"
    )
    parser.add_argument("--no-tools", action="store_true", help="do not offer the scratch tools here")
    parser.add_argument("--name", help="what the one server is called in the registry (default: from its command)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="longest wait without a sign of progress")
    parser.add_argument(
        "--store", metavar="FOLDER", help="where results are kept (default: the platform's data folder)"
    )
    parser.add_argument("--registry", metavar="FILE", help="a tool registry of your own, over the shipped one")
    parser.add_argument("--policy", metavar="TEXT", help='safety policy, such as "tool-output-stale=exclude"')
    parser.add_argument("--log-level", choices=LEVELS, help="default: warning; info with --http")


def run(options: argparse.Namespace) -> int:
    set_level(options.log_level or ("info" if options.http else "warning"))
    if sum(map(bool, (options.upstream, options.url, options.config))) > 1:
        raise ConfigError("give one of --config FILE, --url URL and -- COMMAND")
    if (options.header or options.transport != "auto") and not options.url:
        raise ConfigError("--header and --transport belong to --url; a config file has `headers` and `type`")
    if options.era != "auto" and not (options.upstream or options.url):
        raise ConfigError("--era belongs to --url URL or -- COMMAND; a config file has `era` for each server")
    config = _config(options)
    specs, settings = _specs(options, config), _settings(options, config)
    _check_policy(settings.policy)
    if options.http or options.token_file:
        return _serve_http(options, config, specs, settings)
    started = start_servers(specs)
    # The servers start meanwhile; the event loop is loaded while the first request is on its way.
    from crp_mcp.app.port import Port
    from crp_mcp.mcp.front import Front

    port = Port(settings, tools=not options.no_tools)
    front = Front(
        specs, port, in_place=bool(options.upstream or options.url), spool_dir=settings.spool, started=started
    )
    import asyncio

    return asyncio.run(_serve(front, port))


def _serve_http(
    options: argparse.Namespace, config: Config | None, specs: Sequence[ServerSpec], settings: Settings
) -> int:
    from dataclasses import replace

    from crp_mcp.app.http import serve_http
    from crp_mcp.config.http import HttpConfig

    if not options.http:
        raise ConfigError("--token-file belongs to --http")
    http = (config.http if config else None) or HttpConfig()
    if options.token_file:
        http = replace(http, token_file=Path(options.token_file).expanduser())
    if http.authenticates and (config is None or config.roots is None):
        # Whoever comes in over the network has no business in the files of the folder we were started in.
        settings = settings._replace(roots=(), host_roots=False)
    in_place = bool(options.upstream or options.url)
    return serve_http(options.http, specs, settings, http, in_place=in_place, tools=not options.no_tools)


def _check_policy(text: str) -> None:
    """Refuse a wrong policy before any server is started. Raises BadRequest."""
    if text:
        from crp_mcp.core.safety import parse_policy

        parse_policy(text)


async def _serve(front: Front, port: Port) -> int:
    from crp_mcp.mcp.stdio import run_front

    try:
        return await run_front(front)
    finally:
        await port.close()


def _settings(options: argparse.Namespace, config: Config | None) -> Settings:
    from crp_mcp.app.settings import budget_of, load_settings

    return load_settings(
        store=options.store,
        registry=options.registry,
        config_store=config.store if config else None,
        config_registry=config.registry if config else None,
        clearance=config.clearance if config else (),
        policy=options.policy if options.policy is not None else config.policy if config else None,
        budget=budget_of(config.budget) if config and config.budget else None,
        roots=config.roots if config else None,
        window=config.window if config else None,
        host_roots=True,
    )


def _config(options: argparse.Namespace) -> Config | None:
    if not options.config:
        return None
    from crp_mcp.config import load_config

    config = load_config(Path(options.config))
    for warning in config.warnings:
        log("warning", "config", reason=warning)
    return config


def _specs(options: argparse.Namespace, config: Config | None) -> Sequence[ServerSpec]:
    if config is not None:
        return [from_config(server, os.environ) for server in config.enabled()]
    if options.upstream:
        return [in_place(options.upstream, name=options.name, timeout=options.timeout, era=options.era)]
    if options.url:
        from crp_mcp.app.upstreams import remote_in_place

        how = {name: getattr(options, name) for name in ("transport", "name", "timeout", "era")}
        return [remote_in_place(options.url, options.header, environment=os.environ, **how)]
    return []
