"""`crp-mcp doctor`: whether everything is as it should be, and where things are. Changes nothing."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crp_mcp import __version__
from crp_mcp.app.settings import Settings
from crp_mcp.errors import CrpError

from . import common

if TYPE_CHECKING:
    from crp_mcp.config import ServerConfig


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, how it is, what to do if it is not well."""

    what: str
    ok: bool
    says: str


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="a configuration of upstream servers to check as well")
    common.add_store(parser)
    common.add_json(parser)


def run(options: argparse.Namespace) -> int:
    settings = common.settings_of(options, host=True)
    checks: list[tuple[str, Callable[[], str]]] = [
        ("version", lambda: f"crp-mcp {__version__}, Python {sys.version.split()[0]}, {sys.executable}"),
        ("registry", lambda: check_registry(settings)),
        ("store", lambda: check_store(settings)),
        ("keys", lambda: check_keys(settings)),
        ("tokens", check_tokens),
        ("policy", lambda: check_policy(settings.policy)),
        ("conversation", lambda: f"host process {settings.host_key or 'unknown'}, project {settings.project}"),
        ("roots", lambda: check_roots(settings)),
        ("hooks", lambda: check_hooks(settings)),
    ]
    findings = [look(what, check) for what, check in checks]
    if options.config:
        findings += check_config(Path(options.config))
    if options.json:
        common.print_json({"ok": all(f.ok for f in findings), "findings": [asdict(f) for f in findings]})
    else:
        for finding in findings:
            common.print_text(f"{'ok     ' if finding.ok else 'PROBLEM'} {finding.what}: {finding.says}")
    return 0 if all(finding.ok for finding in findings) else 1


def look(what: str, check: Callable[[], str]) -> Finding:
    """Run one check; a typed error is its finding."""
    try:
        return Finding(what, True, check())
    except CrpError as error:
        return Finding(what, False, str(error))


def check_store(settings: Settings) -> str:
    """Where the store is, what it holds, how long it keeps it, and whether the file is sound."""
    from crp_mcp.core.ages import size_text
    from crp_mcp.core.model import DAY, ToolPolicy
    from crp_mcp.errors import StoreError
    from crp_mcp.store import open_store, store_file

    path = store_file(Path(settings.store))
    if not path.exists():
        blocked = where_blocked(path)
        if blocked is not None:
            raise StoreError(f"{path}: cannot be made, {blocked} is no folder you may write to; choose another --store")
        return f"{path}: none yet; it is made (0600) with the first captured result"
    with open_store(Path(settings.store), create=False) as store:
        stats = store.stats(check=True)
    if stats.integrity not in (None, "ok"):
        raise StoreError(f"{path}: damaged ({stats.integrity}); move it away, a new one is made by itself")
    c = stats.counters
    kept = ToolPolicy().retention // DAY
    return (
        f"{path}: {c.entries:,} results ({c.pinned} pinned) of {size_text(c.payload_bytes)} in "
        f"{size_text(stats.file_bytes + stats.wal_bytes)} on disk, "
        f"each kept {kept} days unless its tool says otherwise; integrity ok"
    )


def check_policy(text: str) -> str:
    """What the operator's policy enforces, and what of it is not enforced here."""
    from crp_mcp.core.safety import parse_policy

    report = parse_policy(text).report()
    said = "; ".join(f"{name}={value}" for name, value in report["enforced"].items())
    other = ", ".join(report["not_enforced_here"])
    return said + (f"; understood, not enforced here: {other}" if other else "")


def check_roots(settings: Settings) -> str:
    """Which folders context requests may read."""
    return ", ".join(settings.roots) or f"no files are read; {settings.project} does not look like a project"


def check_hooks(settings: Settings) -> str:
    """Whether a hook's turns and the results of its host's servers found each other."""
    from crp_mcp.core.ages import iso_time
    from crp_mcp.relay.hooking import SERVER
    from crp_mcp.store import open_store, scopes, store_file

    if not store_file(Path(settings.store)).exists():
        return "nothing recorded yet"
    with open_store(Path(settings.store), create=False) as store:
        alone = store.ask(scopes.hook_alone, settings.scope(), SERVER)
    if not alone:
        return "every hook of this project found its conversation, or none was called"
    name, at = alone[0]
    return (
        f"{len(alone)} of this project's conversations were made by a hook that knew of no server of its host "
        f"(the last: {name}, used {iso_time(at)}); servers join at their next call. If they never do, "
        f"give hook and servers the same --store and the same project folder (CLAUDE_PROJECT_DIR)"
    )


def where_blocked(path: Path) -> Path | None:
    """The nearest thing above a file that is to be made, if it is in the way; None where the file can be made."""
    above = next(parent for parent in path.parents if parent.exists())
    return None if above.is_dir() and os.access(above, os.W_OK | os.X_OK) else above


def check_keys(settings: Settings) -> str:
    """Which key signs."""
    from crp_mcp.keys import load_keyring

    if not settings.keys.exists() and not any(name.startswith("CRP_MCP_KEY") for name in os.environ):
        return f"{settings.keys}: none yet; one is made (0600) with the first captured result"
    return f"signing with {load_keyring(settings.keys, create=False).kid}"


def check_registry(settings: Settings) -> str:
    """Which registry files are in force."""
    from crp_mcp.config import load_registry, shipped_registry_path

    own = [path for path in map(Path, settings.registry) if path.exists()]
    load_registry(own)
    return " over ".join(map(str, [*own, shipped_registry_path()]))


def check_tokens() -> str:
    """Which counter counts, and that it does."""
    from crp_mcp.tokens import open_counter

    counter = open_counter()
    return (
        f"{counter.name}, {counter.count('The quick brown fox jumps over the lazy dog.')} tokens for a sentence of 10"
    )


def check_config(path: Path) -> Iterator[Finding] | list[Finding]:
    """One finding for the file, and one for each server: whether its program is there, and what it is given."""
    from crp_mcp.config import load_config

    try:
        config = load_config(path)
    except CrpError as error:
        return [Finding("config", False, str(error))]
    findings = [Finding("config", True, f"{path}: {len(config.servers)} servers")]
    if config.policy is not None:
        findings.append(Finding("config policy", True, check_policy(config.policy)))
    if config.roots is not None:
        findings.append(Finding("config roots", True, ", ".join(map(str, config.roots)) or "none: no files are read"))
    findings += [Finding("config", True, warning) for warning in config.warnings]
    for server in config.servers:
        if server.disabled:
            findings.append(Finding(f"server {server.name}", True, "disabled"))
            continue
        findings.append(look(f"server {server.name}", lambda server=server: check_server(server)))  # type: ignore[misc]
    return findings


def check_server(server: object) -> str:
    """Whether a server's program can be found, or who we are to one over HTTP. Names only, never values."""
    from crp_mcp.config import ServerConfig
    from crp_mcp.errors import ConfigError

    assert isinstance(server, ServerConfig)
    if server.url is not None:
        return check_remote(server)
    command, args = server.stdio()
    found = shutil.which(command, path=server.env.get("PATH"))
    if found is None:
        raise ConfigError(f"program {command!r} is not on the PATH")
    names = ", ".join(sorted(server.env)) or "none"
    return f"{found} with {len(args)} arguments; variables of its own: {names}"


def check_remote(server: ServerConfig) -> str:
    """Where a server over HTTP is, and what it is told of us. Connects nowhere."""
    from crp_mcp.app.upstreams import from_config
    from crp_mcp.mcp.remote.tokens import TokenFile, describe, is_private, shown_address
    from crp_mcp.mcp.spec import PassThrough, RemoteSpec

    spec = from_config(server, os.environ)
    assert isinstance(spec, RemoteSpec)
    names = ", ".join(sorted(spec.headers)) or "none"
    if isinstance(spec.auth, PassThrough):
        credentials = f"its client's own credentials ({spec.auth.inbound}) are handed on"
    elif "authorization" in map(str.lower, spec.headers):
        credentials = "the header Authorization says who we are"
    else:
        credentials = describe(TokenFile(spec.tokens, spec.url, spec.account).read(), spec)
    plain = " (plain http: anyone on the way can read it)" if not is_private(spec.url) else ""
    return f"{shown_address(spec.url)}{plain}; headers of its own: {names}; {credentials}"
