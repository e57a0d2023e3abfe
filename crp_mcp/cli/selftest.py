"""`crp-mcp selftest`: what standing in the path of a server changes, feature by feature."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from crp_mcp.errors import ConfigError
from crp_mcp.selftest.expected import Ours
from crp_mcp.selftest.peer import open_program
from crp_mcp.selftest.probes import Known
from crp_mcp.selftest.report import as_json, as_text, summed
from crp_mcp.selftest.runner import Target, examine

from . import common


def add(parser: argparse.ArgumentParser) -> None:
    parser.usage = "crp-mcp selftest [options] (-- COMMAND ARGS... | --url URL | --config FILE)"
    parser.add_argument("upstream", nargs="*", metavar="COMMAND", help="after --: the server to try")
    parser.add_argument("--config", metavar="FILE", help="try each of the `mcpServers` of this file")
    parser.add_argument("--url", metavar="URL", help="try the server at this URL, over streamable HTTP")
    parser.add_argument("--call", action="append", default=[], metavar="NAME=JSON", help="a tool to call, as it stands")
    parser.add_argument(
        "--cancel", action="append", default=[], metavar="NAME=JSON", help="a call that takes long, to cancel"
    )
    parser.add_argument("--no-tools", action="store_true", help="without the scratch tools, as `serve --no-tools`")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS", help="longest wait for an answer")
    common.add_json(parser)


def run(options: argparse.Namespace) -> int:
    if sum(map(bool, (options.upstream, options.url, options.config))) != 1:
        raise ConfigError("give one of -- COMMAND, --url URL and --config FILE")
    calls, cancels = _calls(options.call), _calls(options.cancel)
    same, reports = True, []
    with common.passing_folder("crp-mcp-selftest-") as folder:
        for target in targets(options, folder):
            findings = summed(examine(target, Known(calls, cancels)))
            same = same and all(one.same for one in findings)
            reports.append(as_json(target.name, findings))
            if not options.json:
                common.print_text(as_text(target.name, findings))
    if options.json:
        common.print_json({"same": same, "servers": reports})
    return 0 if same else 1


def _calls(given: Sequence[str]) -> list[tuple[str, str]]:
    calls = []
    for one in given:
        name, _, arguments = one.partition("=")
        try:
            good = isinstance(json.loads(arguments or "{}"), dict)
        except ValueError:
            good = False
        if not good:
            raise ConfigError(f"--call {name}: what follows the = must be a JSON object")
        calls.append((name, arguments or "{}"))
    return calls


def targets(options: argparse.Namespace, folder: Path) -> Iterator[Target]:
    """The servers to try. The store is a throw-away one."""
    if options.url:
        yield remote(options, folder)
        return
    if options.upstream:
        yield program(Path(options.upstream[0]).name, options.upstream, None, None, options, folder)
        return
    from crp_mcp.app.upstreams import from_config
    from crp_mcp.config import load_config
    from crp_mcp.mcp.spec import UpstreamSpec

    for server in load_config(Path(options.config)).enabled():
        spec = from_config(server, os.environ)
        if not isinstance(spec, UpstreamSpec):
            raise ConfigError(f"{server.name}: only servers that are programs can be tried with --config")
        yield program(spec.name, spec.argv, spec.env, spec.cwd, options, folder)


def program(
    name: str,
    argv: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: str | None,
    options: argparse.Namespace,
    folder: Path,
) -> Target:
    """A server that is a program, directly and in place behind us."""
    flags = ["--no-tools"] if options.no_tools else []
    ours = [sys.executable, "-m", "crp_mcp", "serve", "--store", str(folder / "store"), *flags, "--", *argv]
    return Target(
        name,
        lambda: open_program(argv, env, cwd, options.timeout),
        lambda: open_program(ours, env, cwd, options.timeout),
        what_is_ours(tools=not options.no_tools),
    )


def remote(options: argparse.Namespace, folder: Path) -> Target:
    """A server over HTTP, directly and behind us over stdio."""
    from crp_mcp.selftest.remote import open_url

    flags = ["--no-tools"] if options.no_tools else []
    ours = [sys.executable, "-m", "crp_mcp", "serve", "--store", str(folder / "store"), *flags, "--url", options.url]
    return Target(
        options.url.partition("?")[0],
        lambda: open_url(options.url, {}, options.timeout),
        lambda: open_program(ours, None, None, options.timeout),
        what_is_ours(tools=not options.no_tools),
        programs=False,
    )


def what_is_ours(*, tools: bool) -> Ours:
    """What `serve` adds."""
    if not tools:
        return Ours()
    from crp_mcp.app.port import INSTRUCTIONS
    from crp_mcp.mcp.tools.definitions import OWN_NAMES, RECEIPT_TEMPLATE, RESOURCE_TEMPLATE

    templates = frozenset(str(one["uriTemplate"]) for one in (RECEIPT_TEMPLATE, RESOURCE_TEMPLATE))
    return Ours(OWN_NAMES, templates, INSTRUCTIONS)
