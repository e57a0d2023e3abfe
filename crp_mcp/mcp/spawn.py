"""Starting a server's process: what it is called on each platform, what it may see, how it is told apart from us.

Imports little: the first server is started before anything else is loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from crp_mcp.errors import UpstreamError

MINIMAL_POSIX = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
MINIMAL_WINDOWS = (
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
)
PIPE_BYTES = 1024 * 1024


def child_environment(
    ours: Mapping[str, str], extra: Mapping[str, str], inherit: Iterable[str] = (), *, windows: bool = os.name == "nt"
) -> dict[str, str]:
    """The environment of a server that shares us with others: a minimal set, what the config names, what it inherits.

    `inherit`: names of further variables of ours; a `*` at the end takes all that begin so.
    """
    wanted = set(MINIMAL_WINDOWS if windows else MINIMAL_POSIX)
    heads = []
    for name in inherit:
        if name.endswith("*"):
            heads.append(name[:-1])
        else:
            wanted.add(name.upper() if windows else name)
    env = {
        name: value
        for name, value in ours.items()
        if (name.upper() if windows else name) in wanted or any(name.startswith(head) for head in heads)
    }
    return {**env, **extra}


def resolve_command(
    argv: Sequence[str],
    *,
    windows: bool,
    path: str = "",
    pathext: str = ".COM;.EXE;.BAT;.CMD",
    exists: Callable[[str], bool] = os.path.isfile,
) -> list[str]:
    """The argv to start. On Windows, `npx` and its like are `npx.cmd`, which must be named in full to be started."""
    if not windows or not argv:
        return list(argv)
    return [_find_windows(argv[0], path, pathext, exists), *argv[1:]]


def _find_windows(command: str, path: str, pathext: str, exists: Callable[[str], bool]) -> str:
    suffixes = [suffix.lower() for suffix in pathext.split(";") if suffix]
    names = [command] if command.lower().endswith(tuple(suffixes)) else [command + suffix for suffix in suffixes]
    folders = [""] if "\\" in command or "/" in command else [f"{folder}\\" for folder in path.split(";") if folder]
    for folder in folders:
        for name in names:
            if exists(folder + name):
                return folder + name
    return command


def start_process(argv: Sequence[str], env: Mapping[str, str] | None, cwd: str | None) -> subprocess.Popen[bytes]:
    """Start a server with pipes at its stdin and stdout, in a process group of its own.

    Raises:
        UpstreamError: it cannot be started; the text completes "The MCP server X …".
    """
    seen = os.environ if env is None else env
    windows = os.name == "nt"
    command = resolve_command(argv, windows=windows, path=seen.get("PATH", ""), pathext=seen.get("PATHEXT", ""))
    options: dict[str, Any] = {"creationflags": 0x200} if windows else {"start_new_session": True}
    if sys.platform == "linux":
        options["pipesize"] = PIPE_BYTES
    try:
        return _popen(command, env, cwd, options)
    except FileNotFoundError as error:
        if cwd is not None and not os.path.isdir(cwd):
            raise UpstreamError(f"could not be started: its folder {cwd} does not exist") from error
        raise UpstreamError(f"could not be started: the command {argv[0]!r} was not found") from error
    except OSError as error:
        raise UpstreamError(f"could not be started: {argv[0]!r}: {error.strerror}") from error


def _popen(
    command: list[str], env: Mapping[str, str] | None, cwd: str | None, options: dict[str, Any]
) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, env=env, cwd=cwd, bufsize=0, **options)
    except PermissionError:
        if options.pop("pipesize", None) is None:
            raise
        # Users have a limit on what their pipes may take in all.
        return _popen(command, env, cwd, options)
