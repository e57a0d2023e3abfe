"""A name for a server that was given as a command line only. Pure text work; it knows launchers, and no server."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LAUNCHERS = frozenset({
    "npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "deno", "node", "uv", "uvx", "pipx", "python", "docker",
    "podman", "cmd", "sh", "bash", "zsh", "env", "sudo",
})  # fmt: skip
_WORDS = frozenset({"run", "exec", "dlx", "x", "tool", "install", "start", "/c", "/d", "/s"})
_FILE_NAMES = frozenset({
    "index", "main", "server", "cli", "app", "mcp", "start", "run", "__main__", "dist", "build", "src", "lib", "bin",
    "out",
})  # fmt: skip
_WITH_VALUE = frozenset({
    "-e", "--env", "-v", "--volume", "--mount", "--name", "--network", "--env-file", "-p", "--package", "--from",
    "--with", "-w", "--directory",
})  # fmt: skip
_SHELLS = frozenset({"sh", "bash", "zsh"})
_SCRIPT = frozenset({"-c", "-lc", "-ic", "-ec", "--command", "--eval"})


def derived_name(command: Sequence[str]) -> str:
    """A name for a server wrapped in place, out of its command line: the package, image, module or program it runs.

    `npx -y @scope/server-git@1.2 /repo` gives `server-git`. Launchers and their options are passed over; a script
    with an everyday name gives its folder's. What cannot be told apart gives the program's own name.
    """
    program = _plain(command[0]) if command else ""
    if not _is_launcher(program):
        return program or "server"
    launcher = program
    arguments = iter(command[1:])
    for argument in arguments:
        if argument in _SCRIPT:
            # A script may hold anything, secrets too: at most the program it ends with is named.
            return derived_name(_last_command(next(arguments, ""))) if launcher in _SHELLS else program
        if argument in ("-m", "--module"):
            return _plain(next(arguments, program).replace(".", "-"))
        if argument in _WITH_VALUE:
            value = next(arguments, "")
            if argument in ("--from", "--package", "-p"):
                return _package(value) or program
        elif _is_launcher(_plain(argument)):
            launcher = _plain(argument)
        elif not (argument.startswith("-") or argument in _WORDS or "=" in argument):
            return _package(argument) or program
    return program


def _last_command(script: str) -> list[str]:
    """Words of the last simple command of a shell script, without variables set before it."""
    words = re.split(r"&&|[|;&\n]+", script.strip(" \t\n;&"))[-1].split()
    while words and ("=" in words[0] or words[0] == "exec"):
        del words[0]
    return [word.strip("'\"") for word in words]


def _is_launcher(program: str) -> bool:
    return re.sub(r"[\d.]+$", "", program) in _LAUNCHERS


def _plain(path: str) -> str:
    """The last part of a path, without a program's or script's extension."""
    last = re.split(r"[\\/]", path.rstrip("\\/"))[-1]
    return re.sub(r"\.(exe|cmd|bat|ps1|py|js|mjs|cjs|ts|sh|jar)$", "", last, flags=re.IGNORECASE)


def _package(argument: str) -> str:
    """The name in `@scope/name@version`, `registry/owner/image:tag`, or a path to a script."""
    parts = [part for part in re.split(r"[\\/]", argument) if part not in ("", ".", "..")]
    while len(parts) > 1 and _plain(parts[-1]).lower() in _FILE_NAMES:
        parts.pop()
    return re.split(r"[@=<>~:\[]", _plain(parts[-1]) if parts else "", maxsplit=1)[0]
