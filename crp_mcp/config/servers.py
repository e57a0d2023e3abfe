"""The upstream servers of a config file: Claude's and Cursor's `mcpServers`, VS Code's `servers`. Starts nothing.

Hosts add keys of their own; those are let pass. A key that looks like one of ours misspelt is an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crp_mcp.errors import ConfigError

from .expand import Expander, folders_of, read_env_file
from .fields import Field, is_writable, unknown_key
from .http import HttpConfig
from .jsonc import decode, parse_jsonc
from .own import read_own
from .remote import OAuthConfig, read_remote

ERAS = {
    "auto": "auto",
    "handshake": "handshake",
    "legacy": "handshake",
    "2026-07-28": "2026-07-28",
    "modern": "2026-07-28",
}
OWN_SECTION = "crp"
_LAUNCH_KEYS = ("command", "args", "env", "envFile", "cwd", "url", "headers", "headersFile", "auth")
_KEYS = (*_LAUNCH_KEYS, "prefix", "allow", "deny", "era", "timeout", "inherit_env", "shared", "disabled")
_FOREIGN = frozenset(
    {
        "type",
        "transport",
        "alwaysLoad",
        "alwaysAllow",
        "autoApprove",
        "trust",
        "enabled",
        "tools",
        "enabledTools",
        "disabledTools",
        "headersHelper",
        "oauth",
        "description",
        "icon",
        "name",
        "version",
        "gallery",
        "dev",
        "sandbox",
        "sandboxEnabled",
    }
)
"""Keys of other hosts, let pass in silence; any other unknown key is let pass with a warning."""
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,128}")
_PREFIX = re.compile(r"[A-Za-z0-9_-]{1,24}")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One upstream server. Exactly one of `command` and `url` is set. Secrets are kept out of the repr."""

    name: str
    command: str | None = None
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    transport: str = "auto"
    """Of a `url`: `http` (streamable HTTP), `sse` (the older one), or whichever it answers."""
    oauth: OAuthConfig | None = None
    pass_through: str | None = None
    """Header of a client of ours whose value goes to this server as `Authorization`."""
    prefix: str | None = None
    """What its tools' names get in front, always; None: only where two servers' names collide."""
    allow: tuple[str, ...] = ()
    """Globs of upstream tool names; none allow all. `deny` is stronger."""
    deny: tuple[str, ...] = ()
    era: str = "auto"
    timeout: float | None = None
    """Seconds without an answer or progress; None: the default."""
    inherit_env: tuple[str, ...] = ()
    """Names of our own variables the child gets too; a `*` at the end takes all that begin so (`true` is `*`)."""
    shared: bool = False
    disabled: bool = False
    file: str = ""
    """The config file it stands in."""

    def stdio(self) -> tuple[str, tuple[str, ...]]:
        """Command and arguments to start. Raises ConfigError for a server that is reached over HTTP."""
        if self.command is None:
            raise ConfigError(f"server {self.name!r} is reached over HTTP: there is no program to start")
        return self.command, self.args


@dataclass(frozen=True, slots=True)
class Config:
    """A config file, read. Disabled servers are in the list, marked; nothing of theirs is expanded."""

    servers: tuple[ServerConfig, ...]
    registry: Path | None = None
    store: Path | None = None
    clearance: tuple[tuple[str, str], ...] = ()
    """Who may see up to which label: pairs of whom (`*`, `tenant:NAME`, `conversation:NAME`) and label."""
    policy: str | None = None
    """The operator's CRP-Safety-Policy."""
    budget: Mapping[str, int] = field(default_factory=dict)
    """Most bytes and entries of store and conversation, where they are not the usual ones."""
    roots: tuple[Path, ...] | None = None
    """Folders whose files a context request may read; None: the host's project."""
    window: int | None = None
    """Tokens of the model's context window."""
    http: HttpConfig | None = None
    """Who may come in over HTTP; None: nothing is said of it."""
    warnings: tuple[str, ...] = ()
    """Sentences for a person: what was let pass or left out, and why."""

    def enabled(self) -> tuple[ServerConfig, ...]:
        return tuple(server for server in self.servers if not server.disabled)


def load_config(path: Path, env: Mapping[str, str] | None = None) -> Config:
    """Read a config file. Raises ConfigError with file, line and field, and what to do."""
    try:
        raw = path.read_bytes()
    except OSError as problem:
        raise ConfigError(f"{path}: cannot be read ({problem.strerror}); check --config") from None
    return parse_config(decode(raw, str(path)), path, os.environ if env is None else env)


def parse_config(text: str, path: Path, env: Mapping[str, str]) -> Config:
    """Read the text of a config file; `path` names it in errors and anchors relative paths. Raises ConfigError."""
    document = parse_jsonc(text, str(path))
    top = Field(document, (), document.data)
    expander = Expander(env, folders_of(path), path.absolute().parent)
    warnings: list[str] = []
    servers: dict[str, ServerConfig] = {}
    for entry in _entries(top):
        name = str(entry.path[-1])
        if name in servers:
            raise entry.error("stands under `mcpServers` and `servers`; remove one")
        server = _server(entry, name, path, expander, warnings)
        if server is not None:
            servers[name] = server
    own = read_own(top.member(OWN_SECTION), path, expander)
    return Config(tuple(servers.values()), warnings=tuple(warnings), **own)


def _entries(top: Field) -> list[Field]:
    places = [top.member("mcpServers"), top.member("servers"), top.member("mcp").member("servers")]
    present = [place for place in places if place.value is not None]
    if not present:
        raise top.error("has neither `mcpServers` nor `servers`: name at least one server there")
    return [entry for place in present for entry in place.mapping().values()]


def _server(entry: Field, name: str, path: Path, expander: Expander, warnings: list[str]) -> ServerConfig | None:
    if not _NAME.fullmatch(name) or not is_writable(name):
        raise entry.error("is not a usable server name: use 1 to 128 printable characters")
    keys = entry.mapping()
    _check_keys(entry, warnings)
    if "disabled" in keys and keys["disabled"].flag():
        return ServerConfig(name, disabled=True)
    launch = _launch(entry, keys, path, expander)
    if "url" in keys and "headersHelper" in keys:
        warnings.append(f"{keys['headersHelper'].place()}: no program is run for headers here; use headersFile or auth")
    if launch.get("command") is not None:
        inner = _without_ourselves(launch["command"], launch["args"])
        if inner is None:
            warnings.append(f"{entry.place()}: server {name!r} starts crp-mcp itself, so it is left out here")
            return None
        launch["command"], launch["args"] = inner
    ways = _ways(keys, name)
    if ways.get("shared") and launch.get("pass_through"):
        raise keys["shared"].error("cannot be: each client's own credentials are handed on (passThrough)")
    return ServerConfig(name, **launch, **ways, file=str(path))


def _check_keys(entry: Field, warnings: list[str]) -> None:
    for key, found in entry.mapping().items():
        if key in _KEYS or key in _FOREIGN:
            continue
        guess = unknown_key(key, _KEYS)
        if guess is not None:
            raise found.error(f"is not a known key; did you mean `{guess}`?")
        warnings.append(f"{found.place()}: `{key}` has no meaning here and is let pass")


def _launch(entry: Field, keys: Mapping[str, Field], path: Path, expander: Expander) -> dict[str, Any]:
    """How to reach the server. An `envFile` comes first, `env` over it."""
    if ("command" in keys) == ("url" in keys):
        raise entry.error("needs `command` (a program to start) or `url`, and not both")
    if "url" in keys:
        return read_remote(keys, path.absolute().parent, expander)
    folder = path.absolute().parent
    file = keys["envFile"].path_under(folder, expander) if "envFile" in keys else None
    env = _env_file(keys["envFile"], file) if file is not None else {}
    cwd = keys["cwd"].path_under(folder, expander) if "cwd" in keys else None
    return {
        "command": os.path.expanduser(keys["command"].text(expander, empty=False)),
        "args": tuple(one.text(expander) for one in keys["args"].items()) if "args" in keys else (),
        "env": env | _variables(keys, expander),
        "cwd": None if cwd is None else str(cwd),
    }


def _variables(keys: Mapping[str, Field], expander: Expander) -> dict[str, str]:
    given = keys["env"].mapping() if "env" in keys else {}
    for name, one in given.items():
        if not name or "=" in name or not is_writable(name):
            raise one.error("is not the name of an environment variable")
    return {name: one.text(expander) for name, one in given.items()}


def _env_file(where: Field, file: Path) -> dict[str, str]:
    try:
        return read_env_file(decode(file.read_bytes(), str(file)))
    except OSError as problem:
        raise where.error(f"names {file}, which cannot be read ({problem.strerror})") from None


def _ways(keys: Mapping[str, Field], name: str) -> dict[str, Any]:
    """How the server is treated: our own keys."""
    read: dict[str, Callable[[Field], object]] = {
        "allow": lambda one: one.names(empty="names no tool; leave it out to allow all, or set `disabled: true`"),
        "deny": lambda one: one.names(),
        "era": lambda one: ERAS[one.one_of(tuple(ERAS))],
        "timeout": lambda one: one.timeout(),
        "inherit_env": _inherited,
        "shared": lambda one: one.flag(),
        "prefix": lambda one: _prefix(one, name),
    }
    return {key: reader(keys[key]) for key, reader in read.items() if key in keys and keys[key].value is not None}


def _inherited(one: Field) -> tuple[str, ...]:
    if isinstance(one.value, bool):
        return ("*",) if one.value else ()
    return one.names()


def _prefix(one: Field, name: str) -> str | None:
    if one.value is False:
        return None
    prefix = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:24] if one.value is True else one.value
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise one.error("must be true (the server's name) or 1 to 24 letters, digits, `_` and `-`")
    return prefix


def _without_ourselves(command: str, args: tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
    """The entry with an in-place `crp-mcp serve -- COMMAND` taken off; None for crp-mcp with nothing behind it.

    A host's own file may be read while we stand in it: starting ourselves again would never end.
    """
    program = re.split(r"[\\/]", command)[-1].lower().removesuffix(".exe").removesuffix(".cmd")
    as_module = "-m" in args and args[args.index("-m") + 1 : args.index("-m") + 2] in (("crp_mcp",), ("crp-mcp",))
    if program != "crp-mcp" and not (program.startswith("python") and as_module):
        return command, args
    inner = args[args.index("--") + 1 :] if "--" in args else ()
    return (inner[0], inner[1:]) if inner else None
